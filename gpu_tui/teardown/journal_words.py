"""The journal for a person: one line per record, the events in words, everything foreign made harmless."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_tui.core import units
from gpu_tui.core.ending import OpenEnd
from gpu_tui.core.evidence import Identity
from gpu_tui.core.plain import plain
from gpu_tui.core.proof import some
from gpu_tui.core.seen import phrase_of
from gpu_tui.teardown.journal import Record

GOOD = frozenset({"confirmed-gone", "stated"})
BAD = frozenset({"still-there", "unknown"})
LOUD = frozenset({"permit", "intent", "call", "abandon", "override", "exception"})
_COLOUR = {"good": "32", "bad": "31;1", "loud": "33"}


def record_line(record: Record, name_width: int, *, colour: bool = False) -> str:
    """When, which instance, what, and on what; the event in colour where there is one."""
    event = f"{record.event:<14}"
    if colour and (kind := kind_of(record.event)) is not None:
        event = f"\x1b[{_COLOUR[kind]}m{event}\x1b[0m"
    when = plain(record.at, 40).replace("T", " ").replace("Z", "")
    line = f"{when}  {plain(record.instance, 60):<{name_width}}  {event}  {about(record)}"
    return line.rstrip()


def kind_of(event: str) -> str | None:
    """Good, bad or loud; None for what only explains."""
    for kind, events in (("good", GOOD), ("bad", BAD), ("loud", LOUD)):
        if event in events:
            return kind
    return None


def about(record: Record) -> str:
    """What one record says, in words."""
    detail = record.detail
    word = detail.get
    match record.event:
        case "open":
            said = f"{word('verb')}, by {record.actor}"
        case "plan":
            said = f"deletes {_list(word('deletes')) or 'nothing'}; "
            said += _work(word("running"))
        case "manifest" | "pulled":
            said = f"{word('files')} files, {_size(word('bytes'))}"
            if left := _list(word("names")):
                said += f"; links and empty directories that are not pulled: {left}"
        case "matched":
            said = f"list {str(word('digest'))[:16]}"
        case "loaded":
            bad = _list(word("bad"))
            said = f"{word('files')} files" + (f", not good: {bad}" if bad else "")
        case "cells":
            said = f"{word('files')} files of {_list(word('cells'))}"
        case "override":
            said = f"typed “{word('typed')}”"
        case "acknowledged":
            said = f"{word('resource')} ({word('fate')})"
        case "exception":
            said = f"typed “{word('typed')}”: {_list(word('names'))}"
        case "confirmed" | "stated":
            said = f"typed “{word('typed')}”"
        case "abandon":
            said = f"typed “{word('typed')}”; lost: {_list(word('paths')) or 'no file'}"
        case "permit" | "intent" | "call":
            said = f"{word('verb')} of {word('provider_id') or 'the box'}"
            said += ", by hand in the console" if word("console") is True else ""
        case "answer":
            said = f"{word('kind')}: {word('text')}"
        case "read-back":
            said = str(word("error") or word("state"))
        case "confirmed-gone":
            said = f"the provider says {word('outcome') or word('provider') or 'so'}"
        case "still-there":
            said = str(word("reason") or "the provider says that it is not over")
        case "unknown":
            steps = word("outcome") == "steps"
            said = (
                "the steps were given; only a person can see the end" if steps else "nobody knows"
            )
        case "relock":
            said = str(word("reason") or "")
        case _:
            said = _pairs(detail)
    if "refused" in detail:
        said += f"; refused: {detail['refused']}"
    if "settles" in detail:
        said += f" (settles record {detail['settles']})"
    return plain(said, 300)


def statements(end: OpenEnd) -> tuple[str, str, str]:
    """What a person may type of an open end: that it is over, that it is not, which leaves it red, or that
    it is not and shall stay.
    """
    id = Identity(provider_id=end.provider_id)
    phrase = phrase_of(end.instance, id) or end.instance
    return f"{phrase} {end.statement}", f"{phrase} is still there", f"{phrase} is kept on purpose"


def _work(running: object) -> str:
    found = _list(running)
    return f"at work: {found}" if found else "nothing was at work"


def _size(value: object) -> str:
    return units.size(value) if isinstance(value, int) else "of unknown size"


def _list(value: object) -> str:
    names = [str(one) for one in value] if isinstance(value, list) else []
    return some(names)


def _pairs(detail: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in detail.items())
