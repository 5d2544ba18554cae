"""Which exception a person has to mend, told by the order of the lines: the one that the others only pass on.

Hydra and loggers announce a traceback with a line of their own; a loader's worker and a group hand on, below their own
exception, the one that they wrap. What comes below such a line is its continuation, as in a chain of exceptions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from gpu_tui.core.findings import Severity
from gpu_tui.core.logs import LogLine, Mark

NEAR = 2  # lines from an announcement, or from a group, to the head of the traceback below it
WENT_ON = 3  # reports of progress after which a new failure may be announced

_LINK = LogLine("above exception", Mark("traceback", Severity.NONE, alarm=False))
_ORIGINAL = re.compile(r"\bOriginal Traceback \(most recent call last\)")
_GROUP = re.compile(r"ExceptionGroup: .{0,400}\(\d{1,9} sub-exceptions?\)\s*$")
_FIRST = re.compile(r"^[ |]*\+-\+-{4,40} 1 -{4,40}$")  # of the exceptions of a group
_BARS = re.compile(r"^ {1,80}\| [ |]{0,80}(?=\S)")
_FINAL = re.compile(
    r"(?:(?:[A-Za-z_]\w{0,60}\.){1,8}[A-Z]\w{0,80}|[A-Z][a-z\d]\w{0,60}[A-Z]\w{0,60})(?:: |$)"
)
# A launcher tells that a worker failed, and raises because of it: what failed stands above.
_LAUNCHER = re.compile(
    r"exit ?code|local_rank|ChildFailed|elastic|\bExited with\b|non-zero exit|\bsrun\b|\bmpirun\b|SIG[A-Z]{3,4}\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Trail:
    above: int | None = None  # the number of a line whose exception is told below it
    inside: bool = False  # a traceback, until its exception is told
    linked: bool = False  # that traceback goes on with what stands above it
    failed: bool = False  # an exception was told, and what comes now may be its echo
    went_on: int = 0


@dataclass(slots=True)
class Raised:
    """The logs of one attempt, line by line."""

    _trails: dict[str, _Trail] = field(default_factory=dict)  # by path

    def read(self, line: LogLine, number: int, path: str) -> Iterator[LogLine]:
        """The line as its alarm is to be judged, behind a link to what is above it where it belongs to that."""
        if line.open:
            yield line
            return
        trail = self._trails.setdefault(path, _Trail())
        if line.mark.label == "traceback" and line.mark.alarm:
            near = trail.above is not None and number - trail.above <= NEAR
            trail.linked = near or _ORIGINAL.search(line.text) is not None
            trail.inside, trail.above = True, None
            if trail.linked:
                yield _LINK
            yield line
            return
        line = self._unwrapped(trail, line)
        if line.mark.alarm and line.mark.label not in ("nan", "inf"):
            self._told(trail, line, number)
        elif _FIRST.match(line.text) and trail.above is not None:
            trail.above = number
        elif line.progress is not None:
            trail.went_on += 1
            trail.failed = trail.failed and trail.went_on < WENT_ON
        yield line

    def _unwrapped(self, trail: _Trail, line: LogLine) -> LogLine:
        """Without the bars of a group; a final exception that triage does not know is one all the same."""
        if not trail.inside:
            return line
        text = _BARS.sub("", line.text)
        if line.mark.alarm:
            return line if text == line.text else replace(line, text=text)
        if trail.linked and line.mark.label == "benign" and _FINAL.match(text):
            return replace(line, text=text, mark=Mark("exception", Severity.FATAL, alarm=True))
        return line

    def _told(self, trail: _Trail, line: LogLine, number: int) -> None:
        wraps = trail.inside and _GROUP.search(line.text) is not None
        announces = (
            not trail.inside
            and not trail.failed
            and line.mark.label == "exception"
            and _LAUNCHER.search(line.text) is None
        )
        trail.above = number if wraps or announces else None
        trail.failed = trail.failed or (trail.inside and not wraps)
        trail.inside = trail.linked = False
        trail.went_on = 0

    def forget(self, path: str) -> None:
        """What stood in one log is history."""
        self._trails.pop(path, None)
