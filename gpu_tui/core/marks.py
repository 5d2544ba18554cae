"""Times that a person marks: which anchor of an instance a word means, and what may not be said. Pure."""

from __future__ import annotations

from difflib import get_close_matches

from gpu_tui.core.clock import rfc3339
from gpu_tui.core.clocks import applies
from gpu_tui.core.profile import ClockFact, Profile

WORDS = ("stopped", "created", "deadline", "since")
SLACK = 60.0  # seconds by which a person's minute may miss ours
OWN = "deadline:date"  # a date that no clock of the platform takes


class MarkError(ValueError):
    """What cannot be marked. `text` says why, `next` what can."""

    def __init__(self, text: str, next: str) -> None:
        super().__init__(text)
        self.text = text
        self.next = next


def anchor_of(profile: Profile | None, variant: str | None, what: str, clock: str | None) -> str:
    """The anchor that `mark NAME WHAT TIME [--clock ID]` sets, by its name in the history.

    A deadline without a clock is the end of the rental where the platform has one, else the only date
    that its account waits for, else a date of the person's own. Raises MarkError.
    """
    facts = [fact for fact in (profile.clocks if profile else ()) if applies(fact, variant)]
    if what in ("stopped", "created"):
        if clock is not None:
            raise MarkError(
                f"{what} belongs to the instance, not to one clock", "Leave --clock away."
            )
        return f"{what}_at"
    if clock is not None:
        return _of_clock(facts, what, clock)
    if what == "since":
        raise MarkError("since needs a clock that it counts", _choice(_counting(facts)))
    if any(fact.anchor == "rental_end" for fact in facts):
        return "rental_end"
    dates = [fact for fact in facts if fact.anchor == "manual" and not fact.after]
    waiting = [fact for fact in dates if fact.when == "account"]
    return f"deadline:{waiting[0].id}" if len(waiting) == 1 else OWN


def refuse(what: str, at: float, now: float, last_contact: float | None) -> None:
    """Raises MarkError for a time that cannot be true."""
    if what != "deadline" and at > now + SLACK:
        raise MarkError(
            f"{what} {rfc3339(at)} is in the future",
            f"It is {rfc3339(now)}; for something to come use: deadline.",
        )
    if what == "deadline" and at <= now:
        raise MarkError(f"the deadline {rfc3339(at)} is over", "Give a time to come, like: in 2d.")
    if what == "stopped" and last_contact is not None and at < last_contact - SLACK:
        raise MarkError(
            f"it still answered at {rfc3339(last_contact)}, after that time",
            "Give a later time; without a mark the count begins at that last contact.",
        )


def _of_clock(facts: list[ClockFact], what: str, clock: str) -> str:
    fact = next((fact for fact in facts if fact.id == clock), None)
    if fact is None:
        close = get_close_matches(clock, [fact.id for fact in facts], n=1)
        hint = f"Did you mean {close[0]}?" if close else _choice(facts)
        raise MarkError(f"no clock here is called {clock!r}", hint)
    if what == "since" and not fact.after:
        raise MarkError(
            f"{clock} has no fixed length to count from a beginning",
            "Mark when it fires instead: deadline TIME.",
        )
    return f"{what}:{clock}"


def _counting(facts: list[ClockFact]) -> list[ClockFact]:
    return [fact for fact in facts if fact.after]


def _choice(facts: list[ClockFact]) -> str:
    names = ", ".join(fact.id for fact in facts)
    return f"Name one with --clock: {names}." if names else "This platform has no such clock."
