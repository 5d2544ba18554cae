"""Whether a program says that it ended by itself: who is killed has no time for it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpu_tui.core.plain import plain

# Lines: behind its word a program still names what it saved, and how long it took.
WORDS_WITHIN = 12

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


_NOT_YET = re.compile(
    r"\b(?:when|whenever|after|until|once|if|not|before|will|upon|while)\b", re.IGNORECASE
)
_ILL = re.compile(
    r"fail|error|abort|kill|interrupt|signal\b|cancel|exception|crash|nan\b|\bexit(?:ed)?\b.{0,12}[1-9]",
    re.IGNORECASE,
)
_HOWEVER = re.compile(r"\b(?:stopped|ended|over)\b|^real\b", re.IGNORECASE)  # well or not
_BARE = re.compile(r"\W*(?:all )?\w+\W*")
_ONE_OF = ("complete", "finished", "done", "ended", "over", "stop", "converged", "real", "reached")
SHOWN = 80


@dataclass(frozen=True, slots=True)
class LastWord:
    """The line that says so, its place among those that were asked; `well`: it says that it ended well; `bare`: it
    does not say what, so a download may have said it.
    """

    place: int
    text: str
    well: bool
    bare: bool = False


def last_word(lines: Sequence[str]) -> LastWord | None:
    """The last of these lines that is about the end of the whole run, not of one epoch."""
    for place in range(len(lines) - 1, -1, -1):
        text = lines[place]
        low = text.lower()
        if not any(word in low for word in _ONE_OF):
            continue
        early = _STOPPED_EARLY.search(text)
        if _NOT_YET.search(text) or not (
            early or (_ENDED.search(text) and not _ONE_OF_MANY.search(text))
        ):
            continue
        ill = (early is None and _HOWEVER.search(text)) or _ILL.search(text)
        bare = _BARE.fullmatch(text) is not None
        return LastWord(place, plain(text.strip(), SHOWN), not ill, bare)
    return None
