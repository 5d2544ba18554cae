"""The lines of a job's log that its scheduler's end explains. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_tui.core.alarms import ECHO_WITHIN, Alarm, by_sigkill
from gpu_tui.core.scheduler_end import LastEnd, line_end, rank

# Labels of what a program and its launcher print when a signal ends them.
ENDED_BY_SIGNAL = frozenset(
    {"killed", "nccl", "hang", "cuda_error", "exception", "network", "traceback", "warning"}
)
ENDS_WITHIN = 100  # lines: what other nodes print of a signal may come before the scheduler's line


def explained(alarms: Iterable[Alarm], says: LastEnd) -> frozenset[str]:
    """The labels of those `alarms` that a scheduler's end of the job explains.

    These are the lines that report the end or a signal to the program, and those that the program prints after the
    scheduler's line. A failure before that line is not explained.
    """
    if says.end is None:
        return frozenset()
    by_label = {alarm.label: alarm for alarm in alarms}
    line = scheduler_line(by_label.values())
    if says.again:  # alarms that are not past are of the present attempt
        return frozenset(
            one.label
            for one in by_label.values()
            if one is line or (one.past and _by_the_end(one, line))
        )
    found = {label for label, alarm in by_label.items() if _by_the_end(alarm, line)}
    killed = by_label.get("killed")
    raised = by_label.get("traceback")
    if killed is not None and raised is not None and "killed" in found:
        below = killed.last_number - raised.number
        if killed.path == raised.path and 0 <= below <= ECHO_WITHIN and raised.count == 1:
            found.add("traceback")  # of a KeyboardInterrupt
    return frozenset(found)


def scheduler_line(alarms: Iterable[Alarm]) -> Alarm | None:
    """The line by slurmstepd that says best who ended the job. A failure of the node is labelled `hardware`."""
    lines = [one for one in alarms if line_end(one.text, step=True) is not None]
    return max(lines, key=lambda one: rank(one.text), default=None)


def _by_the_end(alarm: Alarm, line: Alarm | None) -> bool:
    """Whether the end explains one alarm; `line`: the scheduler's own line in the log."""
    if alarm.label == "preempted" or alarm is line:
        return True
    if alarm.label not in ENDED_BY_SIGNAL:
        return False
    if line is not None and line.path == alarm.path:
        after = alarm.number - line.number
        return after >= 0 or (
            alarm.label == "killed" and after >= -ENDS_WITHIN and not by_sigkill(alarm)
        )
    return alarm.label == "killed" and not by_sigkill(alarm)
