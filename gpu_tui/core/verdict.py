"""The verdict on one instance from independent pieces of evidence: every question stands in one table.

Unknown never counts as idle, "cannot connect" never counts as dead, and a log alone never proves
what is true now. The first question that is answered gives the verdict; of a crash the first cause that
is answered gives the cause; every remark that applies is added as a further reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from gpu_tui.core import units
from gpu_tui.core import verdict_jobs as jobs
from gpu_tui.core.cause import GONE, Cause, cause_of, left_waiting
from gpu_tui.core.cut_short import cut_early, cut_short
from gpu_tui.core.facts import Evidence
from gpu_tui.core.sweep import CellState, Queue, half_well


class Verdict(StrEnum):
    """What an instance is doing, as far as it can be known."""

    RUNNING = "running"
    IDLE = "idle"
    FINISHED = "finished"
    FINISHED_BUT_HUNG = "finished-but-hung"
    STALLED = "stalled"
    CRASHED = "crashed"
    PREEMPTED = "preempted"
    OFF = "off"
    UNREACHABLE = "unreachable"
    CANNOT_TELL = "cannot-tell"


ESCALATES = frozenset({Verdict.CRASHED, Verdict.UNREACHABLE, Verdict.PREEMPTED, Verdict.STALLED})


LAST_WORK = 4  # times `stall_after`: how long a run may compute after its last step


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict, the cause of a crash, and the reasons, first reason first."""

    verdict: Verdict
    because: tuple[str, ...]
    cause: Cause | None = None


Question = Callable[[Evidence], str | None]


def judge(seen: Evidence) -> Judgement:
    """Ask the tables."""
    verdict, reason = next(
        (verdict, reason) for verdict, question in QUESTIONS if (reason := question(seen))
    )
    remarks = tuple(
        text for about, remark in REMARKS if verdict in about and (text := remark(seen))
    )
    if verdict is not Verdict.CRASHED:
        return Judgement(verdict, (reason, *remarks))
    cause, why = cause_of(seen)
    return Judgement(verdict, (why, *remarks), cause)


# --- the verdict -----------------------------------------------------------------------------------


def _provider_off(seen: Evidence) -> str | None:
    # Of a scheduler the provider's id is a job: its end does not switch this box off.
    if seen.provider not in ("stopped", "ended", "gone") or seen.scheduler is not None:
        return None
    return f"the provider says {seen.provider}"


def _marked_off(seen: Evidence) -> str | None:
    return "marked as stopped" if seen.link == "off" else None


def _connecting(seen: Evidence) -> str | None:
    return "not connected yet" if seen.link == "connecting" else None


def _no_link(seen: Evidence) -> str | None:
    if seen.link == "auth":  # it answered
        return f"no access ({seen.link})"
    return f"no connection ({seen.link})" if seen.link != "live" else None


def _ended_but_alive(seen: Evidence) -> str | None:
    if not (seen.ended and seen.alive):
        return None
    return f"{_end_line(seen)}, and a process of the run is still alive"


def _ended_but_busy(seen: Evidence) -> str | None:
    if not (seen.ended and seen.alive is None and seen.works) or seen.settling:
        return None
    return f"{_end_line(seen)}, but a card computes and the process table was not read"


def _ended(seen: Evidence) -> str | None:
    return _end_line(seen) if seen.ended else None


def _end_line(seen: Evidence) -> str:
    queue = seen.queue or Queue()
    said = [
        f"the queue log ends; {queue.count(CellState.FAILED)} of {len(seen.cells)} cells failed"
    ]
    said += [f"{number} {word}" for number, word in half_well(queue.cells)]
    return "; ".join(said)


def _over_but_alive(seen: Evidence) -> str | None:
    quiet = _over_since(seen)
    if quiet is None or (seen.computes and quiet <= LAST_WORK * seen.stall_after):
        return None
    return f"{seen.hung} {units.words(quiet)} ago and does not end"


def _over_and_works(seen: Evidence) -> str | None:
    """The reason for a run at its end that still computes. A last evaluation or a save may be silent for long."""
    quiet = _over_since(seen)
    if quiet is None or not seen.computes:
        return None
    return f"{seen.hung} {units.words(quiet)} ago, and one of its processes still computes"


def _over_since(seen: Evidence) -> float | None:
    """Seconds since anything moved, if every running cell came to its end."""
    if seen.hung is None:
        return None
    if seen.alive and seen.quiet_long:
        return seen.quiet_seconds
    return seen.listed_quiet if jobs.listed_run(seen) and seen.listed_still else None


def _all_halted(seen: Evidence) -> str | None:
    if not seen.halted or seen.quiet_long or seen.listed_still:  # those say for how long
        return None
    return "everything that trains is stopped" if seen.alive or jobs.listed_run(seen) else None


def _alive_but_still(seen: Evidence) -> str | None:
    if not (seen.alive and seen.quiet_long) or seen.only_cpu_works:
        return None
    return f"alive, but nothing moved for {units.words(seen.quiet_seconds)}"


def _alive(seen: Evidence) -> str | None:
    if not seen.alive:
        return None
    if seen.cells:
        return "a process of the run is alive"
    return jobs.listed_run(seen) or "something works, but no queue is known"


def _works_unseen(seen: Evidence) -> str | None:
    """A process table that hides the run is outvoted by a log that grows while a card computes."""
    if seen.alive is True or not (seen.works and seen.log_moves) or seen.rebooted:
        return None
    known = "no process of it is recognised" if seen.alive is False else "no process table was read"
    return f"{known}, but its log moved {units.words(seen.log_quiet)} ago and a card computes"


def _busy_without_queue(seen: Evidence) -> str | None:
    return "a card computes, but no queue is known" if not seen.cells and seen.works else None


def _refused(seen: Evidence) -> str | None:
    refused = seen.queue.refused if seen.queue else None
    return f"the wrapper refused: {refused}" if refused else None


def _queue_unread(seen: Evidence) -> str | None:
    if seen.cells or not seen.has_queue:
        return None
    return "no cell of the queue is known: its file is not there, not read, or names none"


def _table_unread(seen: Evidence) -> str | None:
    if seen.alive is not None:
        return None
    return (
        "the process table was not read"
        if seen.cells
        else "no queue, and no process table was read"
    )


def _log_unread(seen: Evidence) -> str | None:
    if not seen.log_unread:
        return None
    return "no process of the run is left, and the queue's log was not read to its end yet"


def _preempted(seen: Evidence) -> str | None:
    failure = seen.failure
    if failure is None or failure.label != "preempted":
        return None
    return f"the scheduler ended it: {failure.text.strip()}"


def _vanished_without_queue(seen: Evidence) -> str | None:
    """Without a queue an end is a crash only where something says so, whoever watched when it did: a log, the kernel,
    the box that began again, or how far it still was to go.
    """
    if seen.cells:
        return None
    if jobs.listed_over(seen) and any(cell.exit_code is not None for cell in seen.listed):
        return None  # a runner kept the ends: what failed is told of its job
    failed = jobs.last_failed(seen)
    if failed is None:
        failed = seen.seen_alive and seen.failure is not None
    went = seen.went
    lived = seen.seen_alive or went is not None
    told = failed or (lived and (seen.oom_rose or seen.rebooted)) or (went and cut_early(went))
    return "the process that trained is gone" if told else None


def _idle_without_queue(seen: Evidence) -> str | None:
    if seen.cells:
        return None
    if seen.seen_alive:
        return "the process that trained has ended, and nothing says how"
    return "no trainer process" + (" and the GPU is idle" if seen.busy is not None else "")


def _rests_on_unknown_cards(seen: Evidence) -> str | None:
    """No process trains, and that alone does not make a box idle: its cards may work for one that is not seen."""
    rests = jobs.listed_wait(seen) or _idle_without_queue(seen) or _not_started(seen)
    if seen.cards_unknown is None or rests is None:
        return None
    return f"no trainer process, and whether a card works is not known: {seen.cards_unknown}"


def _waits_on_unknown_cards(seen: Evidence) -> str | None:
    return _rests_on_unknown_cards(seen) if jobs.listed_wait(seen) else None


def _not_started(seen: Evidence) -> str | None:
    failed = seen.queue.count(CellState.FAILED) if seen.queue else 0
    return None if seen.started or failed else "the queue has not been started"


def _over(seen: Evidence) -> str | None:
    if not seen.over:
        return None
    if any(cell.logged and cell.exit_code is None for cell in seen.cells):
        return "every cell came to its end, though the queue's own end line is missing"
    return "every cell has its end line, though the queue's own is missing"


def _frozen_but_whole(seen: Evidence) -> str | None:
    if not (seen.full and seen.whole):
        return None
    return f"{seen.full} is full and froze the log, but every cell's artifact is there"


def _frozen(seen: Evidence) -> str | None:
    if not seen.full or _ends_told(seen):
        return None
    return f"no process is left, and {seen.full} is full: the log could not say how it ended"


def _unrecognised(seen: Evidence) -> str | None:
    if not seen.works or seen.seen_alive or _ends_told(seen):
        return None
    return "a card computes, but no process of the queue is recognised"


def _gone(_: Evidence) -> str:
    return GONE


def _ends_told(seen: Evidence) -> bool:
    """Something besides the missing process says that the run ended badly."""
    return bool(seen.failure or seen.exit_code or seen.oom_rose or seen.rebooted)


QUESTIONS: tuple[tuple[Verdict, Question], ...] = (
    (Verdict.OFF, _provider_off),
    (Verdict.OFF, _marked_off),
    (Verdict.CANNOT_TELL, _connecting),
    (Verdict.UNREACHABLE, _no_link),
    # Where a scheduler runs the jobs elsewhere, this box itself says nothing of them.
    (Verdict.CANNOT_TELL, jobs.jobs_unread),
    (Verdict.STALLED, jobs.jobs_silent),
    (Verdict.RUNNING, jobs.jobs_run),
    (Verdict.IDLE, jobs.jobs_wait),
    (Verdict.CANNOT_TELL, jobs.jobs_unclear),
    (Verdict.PREEMPTED, jobs.jobs_preempted),
    (Verdict.FINISHED, jobs.jobs_over),
    (Verdict.IDLE, jobs.no_jobs),
    (Verdict.FINISHED_BUT_HUNG, _ended_but_alive),
    (Verdict.CANNOT_TELL, _ended_but_busy),
    (Verdict.FINISHED, _ended),
    (Verdict.FINISHED_BUT_HUNG, _over_but_alive),
    (Verdict.RUNNING, _over_and_works),
    (Verdict.STALLED, _all_halted),
    (Verdict.STALLED, _alive_but_still),
    (Verdict.STALLED, jobs.listed_still),
    (Verdict.RUNNING, _alive),
    (Verdict.RUNNING, jobs.listed_run),
    (Verdict.RUNNING, _works_unseen),
    (Verdict.CRASHED, _refused),
    (Verdict.RUNNING, _busy_without_queue),
    (Verdict.CANNOT_TELL, _queue_unread),
    (Verdict.CANNOT_TELL, _table_unread),
    # From here on the process table was read, and no process of the run is in it.
    (Verdict.CANNOT_TELL, _log_unread),
    (Verdict.PREEMPTED, _preempted),
    (Verdict.CANNOT_TELL, _waits_on_unknown_cards),
    (Verdict.IDLE, jobs.listed_wait),
    (Verdict.CRASHED, _vanished_without_queue),
    (Verdict.FINISHED, jobs.listed_over),
    (Verdict.CANNOT_TELL, _rests_on_unknown_cards),
    (Verdict.IDLE, _idle_without_queue),
    (Verdict.IDLE, _not_started),
    (Verdict.FINISHED, _over),
    (Verdict.FINISHED, _frozen_but_whole),
    (Verdict.CANNOT_TELL, _frozen),
    (Verdict.CANNOT_TELL, _unrecognised),
    (Verdict.CRASHED, _gone),
)


# --- remarks: what else a person should know ---------------------------------------------------------


def _buffered(seen: Evidence) -> str | None:
    log, artifact = seen.log_quiet, seen.artifact_quiet
    if log is None or artifact is None or log <= seen.stall_after or artifact > seen.stall_after:
        return None
    return (
        f"the log is frozen for {units.words(log)}, but a checkpoint moved {units.words(artifact)} ago: "
        "its stdout is buffered (python -u)"
    )


def _data_bound(seen: Evidence) -> str | None:
    if not seen.data_bound:
        return None
    return "the GPU is near 0 % although the log moves: bound by data or CPU, not idle"


def _runner_gone(seen: Evidence) -> str | None:
    waiting = seen.queue.count(CellState.PENDING) if seen.queue else 0
    if seen.runner is not False or not waiting:
        return None
    return left_waiting(waiting)


def _halted(seen: Evidence) -> str | None:
    return (
        "its processes are stopped (SIGSTOP or Ctrl-Z): kill -CONT wakes them"
        if seen.halted
        else None
    )


def _cpu_and_still(seen: Evidence) -> str | None:
    if not (seen.only_cpu_works and (seen.quiet_long or seen.listed_still)):
        return None
    quiet = seen.quiet_seconds if seen.quiet_long else seen.listed_quiet
    return f"nothing moved for {units.words(quiet)}, though its process computes: buffered stdout looks like this (python -u)"


def _busy_and_still(seen: Evidence) -> str | None:
    if not seen.works:
        return None
    return (
        f"the GPU shows {seen.busy:.0%}: a collective that hangs looks like this, and so does "
        "buffered stdout (python -u)"
    )


def _slow_by_nature(seen: Evidence) -> str | None:
    gap = seen.typical_gap
    if gap is None or gap * 3 < seen.stall_after:
        return None
    return f"it usually gives a sign of life every {units.words(gap)}"


def _unread_end(seen: Evidence) -> str | None:
    if not (seen.ended and seen.alive is None):
        return None
    return "whether a process still hangs is not known yet"


def _waiting_cells(seen: Evidence) -> str | None:
    waiting = seen.queue.count(CellState.PENDING) if seen.queue else 0
    if waiting == 1:
        return "1 cell has not been started"
    return f"{waiting} cells have not been started" if waiting else None


def _blind_before(seen: Evidence) -> str | None:
    """A box on which nothing runs and of which nothing is named."""
    if seen.told_by or seen.cells or seen.listed or seen.seen_alive or seen.alive is not False:
        return None
    return "what ended before this watch began cannot be told: nothing names its log (logs: in the fleet file)"


def _ends_unsaid(seen: Evidence) -> str | None:
    """The reason for runs that are over and whose end nothing explains."""
    names = [cell.name for cell in seen.listed if cut_short(cell) is not None]
    if not names:
        return None
    if len(names) == 1:
        return f"{names[0]} ended without saying how"
    return f"{len(names)} runs ended without saying how, the last is {names[-1]}"


REMARKS: tuple[tuple[frozenset[Verdict], Question], ...] = (
    (frozenset({Verdict.RUNNING}), jobs.jobs_failed_inside),
    (frozenset({Verdict.RUNNING}), _buffered),
    (frozenset({Verdict.RUNNING}), _data_bound),
    (frozenset({Verdict.RUNNING}), jobs.listed_busy_and_still),
    (frozenset({Verdict.RUNNING}), jobs.some_silent),
    (frozenset({Verdict.RUNNING}), _cpu_and_still),
    (frozenset({Verdict.RUNNING, Verdict.STALLED}), _runner_gone),
    (frozenset({Verdict.STALLED}), _halted),
    (frozenset({Verdict.STALLED}), _busy_and_still),
    (frozenset({Verdict.STALLED}), _slow_by_nature),
    (frozenset({Verdict.FINISHED}), _unread_end),
    (frozenset({Verdict.IDLE}), _blind_before),
    (frozenset({Verdict.IDLE, Verdict.CANNOT_TELL}), _ends_unsaid),
    (frozenset({Verdict.CRASHED, Verdict.PREEMPTED}), _waiting_cells),
)
