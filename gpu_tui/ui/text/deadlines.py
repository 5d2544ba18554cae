"""Danger clocks and what a platform's user should know, as lines."""

from __future__ import annotations

from rich.text import Text

from gpu_tui.core.clocks import DangerClock
from gpu_tui.state.views import FleetView, InstanceView
from gpu_tui.ui.text import units
from gpu_tui.ui.text.fleet import box_style, clock_style
from gpu_tui.ui.text.marks import UNKNOWN, fit, line, wrap

COUNT = 11


def clock_lines(clock: DangerClock, now: float, width: int) -> list[Text]:
    """One clock. A ticking one shows its countdown, what dies, what to do and how sure we are."""
    due = clock.due(now)
    style = clock_style(clock.severity, due=due)
    left, bound = _left(clock, now)
    what = _what(clock)
    first = line(
        fit(
            line((left, style if clock.state != "unknown-start" else "unknown")), COUNT, right=True
        ),
        "  ",
        ("▌", box_style(clock.instance)),
        (clock.instance, "strong"),
        "  ",
        (what, style),
    )
    if first.cell_len <= width:
        rows = [first]
    else:
        head = first[: len(first) - len(what)]
        head.rstrip()
        rows = [head, *wrap(what, width, style, indent=COUNT + 2)]
    if clock.state == "armed":
        return rows
    if bound:
        rows += wrap(bound, width, "muted", indent=COUNT + 2)
    rows += wrap(f"→ {clock.avoid}", width, "accent", indent=COUNT + 2)
    return rows + _trust(clock, width)


def _left(clock: DangerClock, now: float) -> tuple[str, str]:
    """The countdown, and what it is worth where the start is only bounded."""
    fires = clock.earliest_fires_at
    if clock.state == "unknown-start":
        return UNKNOWN, f"{clock.starts}, but nobody knows since when"
    if clock.state == "armed":
        return "armed", ""
    if fires is None:
        return ("billing" if clock.bills else "ticking"), ""
    if clock.state == "fired" or fires <= now:
        return f"fired {units.age(now - fires)}", "fired" if clock.fires_at else "may have fired"
    if clock.fires_at is None:
        return f"≥ {units.countdown(fires - now)}", "at the earliest: counted from the last contact"
    return units.countdown(fires - now), ""


def _what(clock: DangerClock) -> str:
    if clock.loses:
        return f"loses {clock.loses}"
    if clock.bills:
        return f"bills {clock.bills}"
    return clock.id


def _trust(clock: DangerClock, width: int) -> list[Text]:
    """How far the clock may be believed."""
    start = f" · start: {clock.started_basis}" if clock.started_basis != "unknown" else ""
    text = f"{clock.confidence} confidence · verified {clock.verified}{start}"
    rows = wrap(text, width, "faint", indent=COUNT + 2)
    if clock.stale_fact:
        rows += wrap(
            "the fact is over 6 months old: re-check it", width, "level-watch", indent=COUNT + 2
        )
    return rows


def clocks(fleet: FleetView, selected: InstanceView | None, width: int) -> list[Text]:
    """All clocks of the fleet, most urgent first; armed ones in short; then the platform's own words."""
    now = fleet.taken_at
    ticking = [clock for clock in fleet.clocks if clock.state != "armed"]
    rows: list[Text] = []
    for clock in ticking:
        rows += clock_lines(clock, now, width)
    if not ticking:
        rows.append(line(("no clock is ticking", "level-ok")))
    armed = [
        clock
        for clock in fleet.clocks
        if clock.state == "armed" and selected is not None and clock.instance == selected.name
    ]
    if armed and selected is not None:
        rows += [line(), line((f"armed on {selected.name}: starts when …", "heading"))]
        for clock in armed:
            after = units.span(clock.after) if clock.after else "no fixed time"
            rows += wrap(f"{clock.starts}: {after}, then {_what(clock)}", width, "muted", indent=2)
    return rows + surfaced(selected, width)


def surfaced(selected: InstanceView | None, width: int) -> list[Text]:
    """The conveniences and traps of the selected instance's platform."""
    profile = selected.profile if selected else None
    if profile is None or not (profile.conveniences or profile.gotchas):
        return []
    rows = [line(), line((f"good to know on {profile.title}", "heading"))]
    for text in profile.conveniences:
        rows += _bullet("+", "level-ok", text, width)
    for gotcha in profile.gotchas:
        rows += _bullet("!", "level-watch", f"{gotcha.symptom}: {gotcha.fix} ({gotcha.id})", width)
    return rows


def _bullet(mark: str, style: str, text: str, width: int) -> list[Text]:
    rows = wrap(text, width, "text", indent=2)
    if rows:
        rows[0] = line((mark, style), " ", rows[0][2:])
    return rows
