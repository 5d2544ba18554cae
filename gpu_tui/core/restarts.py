"""A program that ends and is begun anew under the same name: how often, and by whom.

A script that starts it again and again fails without a word; a person who does so tries what is better.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field, replace

from gpu_tui.core.jobs import Job
from gpu_tui.core.run_memory import sign

INIT = 1  # whoever lost its parent is a child of it: that is nobody's loop
A_HABIT = 2  # starts by one and the same script; a person may have started it anew once
A_RUSH = 4  # starts by who knows whom, each at once: a person reads first what went wrong
AT_ONCE = 45.0  # seconds without it, between two looks: no script waits for long


@dataclass(slots=True)
class _Starts:
    times: int = 0  # so far
    scripts: int = 0  # of these: by one and the same script
    rushed: int = 0  # in a row: at once, by who knows whom


@dataclass(slots=True)
class Restarts:
    """Tell it of each new start; it says what the row of the program should."""

    _of: dict[str, _Starts] = field(default_factory=dict)

    def note(self, before: Job, job: Job, at: float, typed: Container[int]) -> None:
        """`job` began at or before `at`, where `before` was; at the shells of `typed` a person sits."""
        starts = self._of.setdefault(job.name, _Starts())
        starts.times += 1
        if before.finished_at is not None and at - before.finished_at > AT_ONCE:
            starts.rushed = 0  # somebody thought about it
            return
        starts.rushed += 1
        parent = job.pids[1:2]
        script = parent and parent != (INIT,) and parent[0] not in typed
        if script and parent == before.pids[1:2]:
            starts.scripts += 1

    def keep(self, names: Container[str]) -> None:
        """Forget who is not among these."""
        self._of = {name: starts for name, starts in self._of.items() if name in names}

    def told(self, job: Job, finding: str) -> Job:
        """The job, with how often it was started again, and the kind of finding where it fails by itself."""
        starts = self._of.get(job.name)
        if starts is None or not job.live:
            return job
        times = f"{starts.times} time{'' if starts.times == 1 else 's'}"
        said = f"it ended and was started again, {times} so far"
        fails = starts.scripts >= A_HABIT or starts.rushed >= A_RUSH
        why = f"{job.why}; {said}" if job.why else said
        return replace(job, why=why, finding=finding if fails else None)


def is_restart(before: Job, job: Job) -> bool:
    """The same program, begun anew."""
    same = before.command is not None and sign(before.command) == sign(job.command)
    return same and before.id != job.id and job.live
