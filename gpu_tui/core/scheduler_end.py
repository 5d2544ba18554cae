"""How a scheduler ended a job, which lines of the job's log that end explains, and the sentence for it. Pure.

A log line that reports an end from outside (`CANCELLED AT`, `Terminated`) does not say who decided it. The scheduler
does: by the state of the job, by its accounts, or by what slurmstepd prints into the log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from gpu_tui.core.findings import Severity


class End(StrEnum):
    """Who or what ended the last attempt of a job."""

    CANCELLED = "cancelled"  # by its own user, or by a user who is not known
    REMOVED = "removed"  # cancelled by another user
    LIMIT = "limit"
    REQUEUED = "requeued"  # by a person
    PREEMPTED = "preempted"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class Join:
    """How the log lines of a job with such an end are reported.

    `kind`: the finding that the explained lines are evidence of; None: they are no finding. `most`: the worst severity
    of the other lines. `words`: the end in words.
    """

    kind: str | None
    words: str
    most: Severity = Severity.FATAL


JOINS: Mapping[End, Join] = {
    End.CANCELLED: Join(None, "cancelled", Severity.WARN),
    End.REMOVED: Join("crashed", "cancelled by another user"),
    End.LIMIT: Join("time_limit", "its time limit ran out"),
    End.REQUEUED: Join(None, "requeued", Severity.WARN),
    End.PREEMPTED: Join("preempted", "preempted"),
    End.NODE: Join("hardware", "its node failed"),
}
# By state word of Slurm and of Kubernetes. REQUEUED is in the accounts only.
WORDS: Mapping[str, End] = {
    "CANCELLED": End.CANCELLED,
    "TIMEOUT": End.LIMIT,
    "PREEMPTED": End.PREEMPTED,
    "REQUEUED": End.REQUEUED,
    "NODE_FAIL": End.NODE,
    "Suspended": End.CANCELLED,
    "Terminating": End.CANCELLED,
    "Deleted": End.CANCELLED,
    "DeadlineExceeded": End.LIMIT,
    "Evicted": End.PREEMPTED,
    "Preempting": End.PREEMPTED,
}


@dataclass(frozen=True, slots=True)
class LastEnd:
    """The last end of one job, as its scheduler reports it.

    `end`: how the last attempt ended, if it did; `live`: the job is not over; `again`: it runs after that end.
    """

    end: End | None = None
    live: bool = False
    again: bool = False

    @property
    def most(self) -> Severity:
        """The worst severity of lines that the end does not explain."""
        return Severity.FATAL if self.end is None or self.again else JOINS[self.end].most


BACK = ", back in the queue"
# slurmstepd's words for the end of a job or a step (slurmd/slurmstepd/req.c, Slurm 20.11 to 24.11).
_STEPD = re.compile(
    r"\*\*\* (JOB|STEP) \S{1,40} (?:ON \S{1,255} )?CANCELLED AT \S{1,40}(?: DUE TO ([A-Z ]{4,40}?))?(?:,| \*\*\*|$)"
)
_DUE: Mapping[str, End] = {
    "TIME LIMIT": End.LIMIT,
    "PREEMPTION": End.PREEMPTED,
    "JOB REQUEUE": End.REQUEUED,
    "NODE FAILURE": End.NODE,
}
_TAKEN = re.compile(r"preempt|pre-empt|reclaim|evict|interruption", re.IGNORECASE)
_LIMIT = re.compile(r"time ?limit|timed?[- ]?out|wall ?(?:time|clock)", re.IGNORECASE)


def line_end(text: str, *, step: bool = False) -> End | None:
    """The end of the job that slurmstepd's line reports; with `step` also that of a step. None for any other line."""
    found = _STEPD.search(text, 0, 400)
    if found is None or (found[1] == "STEP" and not step):
        return None
    return End.CANCELLED if found[2] is None else _DUE.get(found[2])


def is_more_exact(text: str, than: str) -> bool:
    """Whether a line says better than another one who ended the job."""
    return rank(text) > rank(than)


def rank(text: str) -> int:
    """How well a line says who ended the job. 0: no line of slurmstepd; then a step, a step with a reason, a job, a job with a reason."""
    found = _STEPD.search(text, 0, 400)
    if found is None:
        return 0
    return 1 + 2 * (found[1] == "JOB") + (found[2] is not None)


def kind_of(text: str, says: LastEnd) -> str:
    """The finding of a line about an end from outside that no end of the job explains.

    Only the scheduler's own word makes it `preempted`; of a job that is still there a program may announce that.
    """
    if (end := line_end(text, step=True)) is not None:
        return JOINS[end].kind or "crashed"
    if says.live and _TAKEN.search(text):
        return "preempted"
    return "time_limit" if says.live and _LIMIT.search(text) else "crashed"


@dataclass(frozen=True, slots=True)
class Attempt:
    """The attempt before the present one. `reached`: its last epoch; `began`: the first epoch of the present attempt,
    None until it reports one. `unit`: the word for both, epoch or step. `exact`: its log was read to its end.
    """

    end: End | None
    restarts: int = 0
    reached: int | None = None
    began: int | None = None
    unit: str = "epoch"
    exact: bool = True

    @property
    def lost(self) -> int | None:
        """Epochs that are computed again; None where that is not known."""
        if self.reached is None or self.began is None or self.unit != "epoch":
            return None
        return max(0, self.reached - self.began + 1)


def ended_words(end: End, attempt: Attempt) -> str:
    """`preempted after epoch 7`."""
    return _after(JOINS[end].words, attempt)


def again_words(attempt: Attempt, *, waits: bool) -> str:
    """`preempted after epoch 7, back in the queue`; once it runs, `…; ran again from epoch 1, 7 epochs lost`."""
    words = _after(JOINS[attempt.end].words if attempt.end is not None else "put back", attempt)
    if waits:
        return f"{words}{BACK}"
    if attempt.began is None:
        return f"{words}; runs again"
    lost = attempt.lost
    if lost and not attempt.exact:
        return f"{words}; ran again from epoch {attempt.began}, at least {lost} epochs lost"
    if not lost and attempt.unit == "step":
        return f"{words}; went on from step {attempt.began}"
    if not lost:
        return f"{words}; went on from epoch {attempt.began}"
    if lost == 1:
        return f"{words}; ran again from epoch {attempt.began}, 1 epoch lost"
    return f"{words}; ran again from epoch {attempt.began}, {lost} epochs lost"


def with_restart(words: str, restarts: int, *, waits: bool) -> str:
    """The sentence of `again_words` with the count of restarts."""
    if not waits:
        return f"{words}; restart {restarts}"
    return f"{words.removesuffix(BACK)}, back in the queue, restart {restarts}"


def _after(words: str, attempt: Attempt) -> str:
    if attempt.reached is None:
        return words
    later = "" if attempt.exact else " or later"
    if attempt.unit == "step":
        return f"{words} after step {attempt.reached}{later}"
    return f"{words} after epoch {attempt.reached}{later}"
