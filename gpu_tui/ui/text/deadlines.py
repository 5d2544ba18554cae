"""Danger clocks and what a platform's user should know, as lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.text import Text

from gpu_tui.core import units
from gpu_tui.core.anchors import counts_idleness
from gpu_tui.core.clocks import BOUND_WORDS, FIRED, DangerClock
from gpu_tui.core.speech import counted, headed, quoted, say, told
from gpu_tui.state.views import FleetView, InstanceView
from gpu_tui.ui.text.calm import no_clocks
from gpu_tui.ui.text.marks import UNKNOWN, fit, line, wrap
from gpu_tui.ui.text.signs import BOUND_SIGN, CLOCK_MARK, box_style, clock_style

COUNT, NARROW_COUNT = (
    13,
    11,
)  # cells of a countdown: with its sign, and where there is no room for one
NARROW = 40
HANGING = 72  # below it the words of a clock stand under its countdown, and not behind it
NAMES_SHOWN = 3
BASES = {
    "last-contact": "counted from the last contact",
    "first-seen": "counted from when it was first seen",
    "reading": "counted from the box's own start",
    "part-rate": "counted from the prices that are known",
}
STARTS = {"api": "the provider", "manual": "your mark"}


@dataclass(frozen=True, slots=True)
class Row:
    """One clock, or the same clock of several instances at the same moment (an account's, a platform's)."""

    clock: DangerClock
    instances: tuple[str, ...]


def rows_of(clocks: Iterable[DangerClock]) -> list[Row]:
    """The clocks in their order; those that differ by their instance alone share a row."""
    rows: dict[object, Row] = {}
    for clock in clocks:
        alone = clock.instance if clock.subject else None
        moment = clock.deadline if clock.deadline is not None else clock.started_at
        second = None if moment is None else int(moment)
        key = (clock.id, clock.subject, alone, clock.state, clock.bound, second)
        old = rows.get(key)
        rows[key] = (
            Row(old.clock, (*old.instances, clock.instance))
            if old
            else Row(clock, (clock.instance,))
        )
    return list(rows.values())


def words_of(row: Row) -> str:
    """What a filter looks at."""
    clock = row.clock
    return " ".join((*row.instances, _what(clock), quoted(clock.avoid), clock.severity, clock.id))


def clock_lines(row: Row, now: float, width: int) -> list[Text]:
    """One row. A ticking clock shows its countdown, what dies, what to do and how sure we are."""
    clock = row.clock
    style = clock_style(clock.severity, due=clock.due(now))
    left, count = _left(clock, now), _count(width)
    if count == COUNT and clock.state != "unknown-start":
        left = f"{CLOCK_MARK.get(style, '')} {left}".strip()
    what = _what(clock)
    first = line(
        fit(
            line((left, style if clock.state != "unknown-start" else "unknown")), count, right=True
        ),
        "  ",
        *_boxes(row.instances),
        "  ",
    )
    if first.cell_len + line(what).cell_len <= width:
        rows = [line(first, (what, style))]
    else:
        first.rstrip()
        rows = [first, *wrap(what, width, style, indent=_indent(width))]
    for text in _worth(clock):
        rows += wrap(text, width, "muted", indent=_indent(width))
    rows += wrap(f"→ {quoted(clock.avoid)}", width, "accent", indent=_indent(width))
    return rows + _trust(clock, width)


def _count(width: int) -> int:
    return COUNT if width >= NARROW else NARROW_COUNT


def _indent(width: int) -> int:
    return 4 if width < HANGING else COUNT + 2


def _boxes(names: Sequence[str]) -> list[Text]:
    shown = [line(("▌", box_style(name)), (name, "strong"), " ") for name in names[:NAMES_SHOWN]]
    if len(names) > NAMES_SHOWN:
        shown.append(line((f"+{len(names) - NAMES_SHOWN}", "muted")))
    shown[-1].rstrip()
    return shown


def _left(clock: DangerClock, now: float) -> str:
    """The countdown, or the word that stands for it."""
    deadline = clock.deadline
    if clock.state == "unknown-start":
        return UNKNOWN
    if clock.state == "armed":
        return say("not counting")
    if deadline is None:
        return say("billing") if clock.bills else say("ticking")
    if clock.state == FIRED or deadline <= now:
        return say("fired {now}", now=units.age(now - deadline))
    return BOUND_SIGN.get(clock.bound, "") + units.countdown(deadline - now)


def _what(clock: DangerClock) -> str:
    what = quoted(clock.what)
    return (
        headed(clock.subject, what) if clock.subject and clock.subject not in clock.what else what
    )


def _worth(clock: DangerClock) -> Iterable[str]:
    """What the countdown is worth, and for whom the clock ticks at all."""
    if clock.bound in BOUND_WORDS and clock.deadline is not None:
        may = say("may have fired: ") if clock.state == FIRED else ""
        base = BASES.get(clock.started_basis, "")
        bound = say(BOUND_WORDS[clock.bound])
        yield may + (say("{bound}, {base}", bound=bound, base=say(base)) if base else bound)
    if clock.only:
        yield _whose(clock)
    if clock.why and clock.ticks:
        yield told(clock.why)


def _whose(clock: DangerClock) -> str:
    """Which boxes have it, where nobody said what this one is."""
    return say(
        "only if it is {only} (provider.variant is not set)", only=say(" or ").join(clock.only)
    )


def _trust(clock: DangerClock, width: int) -> list[Text]:
    """How far the clock may be believed."""
    basis = STARTS.get(clock.started_basis)
    start = (
        say(" · start: {basis}", basis=say(basis))
        if basis and clock.state != "unknown-start"
        else ""
    )
    text = say(
        "{confidence} confidence · verified {verified}{start}",
        confidence=say(clock.confidence),
        verified=clock.verified,
        start=start,
    )
    rows = wrap(text, width, "faint", indent=_indent(width))
    if clock.stale_fact:
        rows += wrap(
            say("the fact is over 6 months old: re-check it"),
            width,
            "level-watch",
            indent=_indent(width),
        )
    return rows


def clocks(
    fleet: FleetView, selected: InstanceView | None, width: int, *, first: bool = False
) -> list[Text]:
    """All clocks of the fleet, most urgent first; those that do not count in short; then the platform's own words.

    With `first` those words stand on top; at the first contact with a platform a line there names them.
    """
    now = fleet.taken_at
    ticking = [clock for clock in fleet.clocks if clock.ticks]
    rows: list[Text] = []
    for row in rows_of(ticking):
        rows += clock_lines(row, now, width)
    if not ticking:
        rows += no_clocks(fleet, width)
    rows += armed(fleet, selected, width)
    words = surfaced(selected, width)
    if first and words:
        return [*words, line(), *rows]
    rows = [*rows, line(), *words] if words else rows
    return [*introduction(fleet, selected, width), *rows]


def introduction(fleet: FleetView, selected: InstanceView | None, width: int) -> list[Text]:
    """At the first contact with the selected instance's platform: that there is something to read."""
    profile = selected.profile if selected else None
    if profile is None or profile.id not in fleet.unmet:
        return []
    parts = ((len(profile.conveniences), "convenience"), (len(profile.gotchas), "trap"))
    counts = say(" and ").join(counted(count, noun) for count, noun in parts if count)
    text = say(
        "press i: first time on {title}, {counts} to know", title=profile.title, counts=counts
    )
    return [fit(line((text, "heading")), width)]


def armed(fleet: FleetView, selected: InstanceView | None, width: int) -> list[Text]:
    """What does not tick on the selected instance, and what would start it."""
    found = [
        clock
        for clock in fleet.clocks
        if not clock.ticks and selected is not None and clock.instance == selected.name
    ]
    if not found or selected is None:
        return []
    rows = [line(), line((say("not counting on {name} yet", name=selected.name), "heading"))]
    for clock in found:
        text = headed(_lead(clock), quoted(clock.what))
        why = say(" ({why})", why=told(clock.why)) if clock.why else ""
        rows += wrap(f"{text.rstrip('.')}{why}", width, "muted", indent=2)
        rows += wrap(_whose(clock), width, "muted", indent=4) if clock.only else []
    return rows


LEADS = {  # by what starts a clock
    "balance": "balance gone",
    "rental_end": "rental over",
    "manual": "on a date",
    "signal": "any time",
    "stopped": "once stopped",
    "running": "once it runs",
    "idle": "while it runs idle",
    "stored": "while anything is stored",
    "reading": "when a reading shows it",
}


def _lead(clock: DangerClock) -> str:
    """What would start it, and how long it counts then."""
    trigger = _trigger(clock)
    lead = told(LEADS.get(trigger, trigger))
    if clock.after is None or not clock.early:
        return lead
    after = units.spoken(clock.after)
    return (
        say("{lead}, {after} of warning", lead=lead, after=after)
        if clock.anchor == "signal"
        else say("{lead}, {after} later", lead=lead, after=after)
    )


def _trigger(clock: DangerClock) -> str:
    if clock.anchor != "reading":
        return clock.anchor if clock.anchor in LEADS else clock.starts
    if clock.starts == "storage" and clock.bills:
        return "stored"
    idle = clock.starts == "running" and clock.bills and counts_idleness(clock.id)
    return "idle" if idle else "reading"


def surfaced(selected: InstanceView | None, width: int) -> list[Text]:
    """The conveniences and traps of the selected instance's platform."""
    profile = selected.profile if selected else None
    if profile is None or not (profile.conveniences or profile.gotchas):
        return []
    rows = [line((say("good to know on {title}", title=profile.title), "heading"))]
    for text in profile.conveniences:
        rows += _bullet("+", "level-ok", text, width)
    for gotcha in profile.gotchas:
        rows += _bullet("!", "level-watch", f"{gotcha.symptom}: {gotcha.fix} ({gotcha.id})", width)
    return rows


def _bullet(mark: str, style: str, text: str, width: int) -> list[Text]:
    rows = wrap(text, width, "text", indent=2)
    if rows:
        rows[0] = line((mark, style), " ", (rows[0].plain[2:], "text"))
    return rows
