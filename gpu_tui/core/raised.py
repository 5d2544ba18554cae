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

NEAR = 3  # lines from an announcement, or from a group, to the head of the traceback below it
WENT_ON = 3  # reports of progress after which a new failure may be announced

_LINK = LogLine("above exception", Mark("traceback", Severity.NONE, alarm=False))
_AGAIN = LogLine(
    "Traceback (most recent call last):", Mark("traceback", Severity.FATAL, alarm=True)
)
_ORIGINAL = re.compile(r"\bOriginal Traceback \(most recent call last\)")
_GROUP = re.compile(r"ExceptionGroup: .{0,400}\(\d{1,9} sub-exceptions?\)\s*$")
_FIRST = re.compile(r"^[ |]*\+-\+-{4,40} 1 -{4,40}$")  # of the exceptions of a group
_BARS = re.compile(r"^ {1,80}\| [ |]{0,80}(?=\S)")
# Ray quotes the worker's traceback below a line of its own; Java and Julia print the cause last.
_QUOTES = re.compile(r"\bRayTaskError(?:\(\w{1,80}\))?: .{0,300}?\bray::")
_CAUSED = re.compile(r"^\W{0,4}[Cc]aused by: \S")
CAUSED_WITHIN = 400  # lines of frames
# A logger's prefix: time, level and place.
_LEVELS = r"(?:ERROR|CRITICAL|FATAL|WARN(?:ING)?|INFO|DEBUG|EXCEPTION|[Ee]rror|[Cc]ritical)"
_STAMP = re.compile(
    rf"(?=.{{0,160}}(?:\d\d:\d\d|\b{_LEVELS}\b))(?!.*[a-z]{{2}} [a-z]{{2}})[\w\s\[\]()|<>.,:/+#=-]{{4,160}}"
)
_NAME = re.compile(
    rf"(?<=[\s\]|:>)-])(?!{_LEVELS}:)(?:[A-Za-z_]\w{{0,60}}\.){{0,8}}[A-Z]\w{{0,80}}(?:\(\w{{1,60}}\))?(?:: |:?\s*$)"
)
# A launcher tells that a worker failed, and raises because of it: what failed stands above.
LAUNCHER = re.compile(
    r"exit ?code|local_rank|ChildFailed|elastic|\bExited with\b|non-zero exit|\bsrun\b|\bmpirun\b|SIG[A-Z]{3,4}\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Trail:
    above: int | None = None  # the number of a line whose exception is told below it
    inside: bool = False  # a traceback, until its exception is told
    failed: bool = False  # an exception was told, and what comes now may be its echo
    quoted: bool = False  # the next one is what was quoted below it
    told_at: int = -CAUSED_WITHIN  # the number of the last one
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
            trail.inside, trail.above = True, None
            if near or _ORIGINAL.search(line.text) is not None:
                yield _LINK
            yield line
            return
        if line.mark.alarm and line.mark.label not in ("nan", "inf"):
            if trail.quoted or (
                _CAUSED.match(line.text) and number - trail.told_at < CAUSED_WITHIN
            ):
                trail.inside = True
                yield from (_LINK, _AGAIN)
            if trail.inside:
                line = replace(line, text=_unwrapped(_BARS.sub("", line.text)))
            self._told(trail, line, number)
        elif _FIRST.match(line.text) and trail.above is not None:
            trail.above = number
        elif line.progress is not None:
            trail.went_on += 1
            trail.failed = trail.failed and trail.went_on < WENT_ON
        yield line

    def _told(self, trail: _Trail, line: LogLine, number: int) -> None:
        text = line.text.rstrip()
        wraps = trail.inside and (text.endswith(":") or _GROUP.search(text) is not None)
        announces = (
            not trail.inside
            and not trail.failed
            and line.mark.label == "exception"
            and LAUNCHER.search(line.text) is None
        )
        trail.above = number if wraps or announces else None
        trail.quoted, trail.told_at = _QUOTES.search(line.text) is not None, number
        trail.failed = trail.failed or (trail.inside and not wraps)
        trail.inside = False
        trail.went_on = 0

    def forget(self, path: str) -> None:
        """What stood in one log is history."""
        self._trails.pop(path, None)


def stamped(text: str) -> bool:
    """Whether the text is nothing but a logger's prefix."""
    return _STAMP.fullmatch(text) is not None


def _unwrapped(text: str) -> str:
    """The exception without the prefix of its logger."""
    name = _NAME.search(text, 0, 400)
    return text[name.start() :] if name and stamped(text[: name.start()]) else text
