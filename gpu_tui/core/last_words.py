"""Whether a program says that it ended by itself: who is killed has no time for it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

WORDS_WITHIN = (
    12  # lines: behind its word a program still names what it saved, and how long it took
)

_RUN = r"(?:(?:pre-?|fine-?)?(?:train|tun|fitt)ing|run|job|experiment|optimi[sz]ation|script)"
_OVER = r"(?:completed?|finished|done|ended|over|stopped|converged)"
_ENDED = re.compile(
    rf"\b{_RUN}\b(?: (?:loop|process|has|have|is|was|been|now|successfully)){{0,3}}[ :!]{{1,2}}{_OVER}\b"
    rf"|\b{_OVER}(?: the| with)? {_RUN}\b"
    rf"|^\W*(?:all )?{_OVER}\W*$"
    r"|^real\s+\d+m\d",
    re.IGNORECASE,
)
_STOPPED_EARLY = re.compile(
    r"\bearly.?stopp(?:ed|ing)\b(?!\W{0,3}(?:\d|counter|patience|callback|monitor|enabled|is\b|no\b|round))"
    r"|signaling trainer to stop|`max_\w+=\S+` reached",
    re.IGNORECASE,
)
_ONE_OF_MANY = re.compile(r"\b(?:epoch|step|iter\w*|fold|round)\W{0,3}\d", re.IGNORECASE)


def says_its_end(lines: Iterable[str]) -> bool:
    """One of the last lines of a log is about the end of the whole run, not of one epoch."""
    return any(
        _STOPPED_EARLY.search(text) or (_ENDED.search(text) and not _ONE_OF_MANY.search(text))
        for text in lines
    )
