"""Lines that differ in their digits only are read for progress once: after that it is known where what stands.

The patterns tell no digits apart beyond what a cast keeps (`triage_digits`), so all lines of one cast
match alike, in the same places. Where the code around them looks at the digits themselves (is one number
smaller than another one, is a digit part of a name), the draft is not `sure`, and each such line is
read in full.
"""

from __future__ import annotations

from functools import lru_cache
from math import isfinite

from gpu_tui.core.logs import Progress
from gpu_tui.parse.progress_draft import Draft, Finding, made
from gpu_tui.parse.triage_digits import casts

KEPT = 2_048  # casts
LONGEST = 1_024  # characters of a line that is worth it


class Shape:
    """How to read all lines of one cast; `sure` is false where each must be read in full."""

    __slots__ = ("_findings", "_phase", "_report", "sure")

    def __init__(self, draft: Draft | None) -> None:
        """Of the draft of one of them; None where they are no report at first sight."""
        self.sure = draft is None or draft.sure
        self._report = draft is not None and draft.report
        self._findings: list[Finding] = draft.findings if draft is not None else []
        self._phase = draft.phase if draft is not None else None

    def read(self, text: str) -> tuple[bool, Progress | None]:
        """Whether it could be read in this way, and what the line reports."""
        if not self._report:
            return True, None
        ints: dict[str, int] = {}
        floats: dict[str, float] = {}
        metrics: dict[str, float] = {}
        for one in self._findings:
            value = one.read(text[one.start : one.stop])
            if value is None or isfinite(value) is not one.finite:
                return False, None
            if one.kind == "ints":
                ints[one.name] = value  # type: ignore[assignment]
            else:
                (floats if one.kind == "floats" else metrics)[one.name] = value
        return True, made(ints, floats, metrics, self._phase)


class Shapes(dict[bytes, Shape]):
    """The shapes of the lines seen lately."""

    def keep(self, key: bytes, draft: Draft | None) -> None:
        """What was learned of one line."""
        if len(self) >= KEPT:
            self.clear()
        self[key] = Shape(draft)


@lru_cache(8)  # it is asked for by several in turn
def shape_key(text: str) -> bytes | None:
    """Equal for lines of one shape; None for a line that is read by itself."""
    if len(text) > LONGEST or "\n" in text:
        return None
    found = casts([text.encode("utf-8", "surrogatepass")])
    return found[0] if found else None
