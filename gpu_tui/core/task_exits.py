"""Reads srun's reports about the tasks of a step: which ended badly, and whether the whole step is over.

Without --kill-on-bad-exit srun lets the other tasks of a step run when one fails. Their reports below the failure are
no sign that the failed task went on. The lines are as Slurm 22.05 prints them, src/srun and src/api.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_EXIT = re.compile(
    r"^(?:\d{1,5}: )?srun: error: [\w.\[\],-]{1,200}: tasks? ([\d,-]{1,200}): (\w.{0,80})"
)
_OVER = re.compile(
    r"^(?:srun: (?:Force Terminated|Job step aborted|forcing job termination|Terminating |"
    r"launch/slurm: _step_signal: Terminating )|slurmstepd.{0,80}: error: \*\*\* STEP .{1,40} CANCELLED)"
)
_LAST = "srun: Force Terminated"  # the last line about a step
_LABEL = re.compile(r"^(\d{1,4}): |^\[rank(\d{1,4})\]:")
TASKS_MOST = 4_096  # a hostile log may name any number of tasks


@dataclass(slots=True)
class TaskExits:
    """The exits of tasks in the logs of one attempt."""

    line: str | None = None  # the last one that says that a task failed by itself
    at: tuple[str, int] | None = None  # the log and the number of the last line that reports an end
    _gone: set[int] = field(default_factory=set)
    _over: bool = False  # the step is ended
    _closed: bool = False  # and nothing more is printed about it
    _tasks: int = 0  # at least so many, by the labels of their lines

    @property
    def partial(self) -> bool:
        """Whether some tasks of a step failed and others may still run. Ranks are counted from 0 without a gap."""
        if not self._gone or self._over:
            return False
        return len(self._gone) < max(self._tasks, 1 + max(self._gone))

    def read_line(self, text: str, path: str = "", number: int = 0) -> None:
        """Read one line of a log."""
        if label := _LABEL.match(text):
            self._tasks = max(self._tasks, 1 + int(label[1] or label[2]))
        if "srun" not in text and "slurmstepd" not in text:
            return
        over, found = _OVER.match(text), _EXIT.match(text)
        if self._closed and (over or found):
            self._begin()
        if over or found:
            self.at = path, number
        if over:
            self._over, self._closed = True, text.startswith(_LAST)
        elif found:
            if not self._over and found[2] != "Terminated":
                self.line = text
            if len(self._gone) <= TASKS_MOST:
                self._gone.update(_numbers(found[1]))

    def note_progress(self) -> None:
        """Note a report of progress: after the end of a step it is of the next one."""
        if self._gone and not self.partial:
            self._begin()

    def _begin(self) -> None:
        self._gone.clear()
        self._over = self._closed = False


def by_srun(text: str) -> bool:
    """Whether srun or slurmstepd wrote the line."""
    return text.startswith(("srun: ", "slurmstepd"))


def reports_exit(text: str) -> bool:
    """Whether the line is srun's report of a task that ended badly, which does not say why."""
    return _EXIT.match(text) is not None


def _numbers(text: str) -> list[int]:
    """The task numbers of `0,3-5`."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (last or first).isdigit() and len(last or first) < 7:
            found += range(int(first), min(int(last or first), int(first) + TASKS_MOST) + 1)
    return found[:TASKS_MOST]
