"""The one line on top: what lives, what is wrong, what it costs, what time it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

from rich.text import Text

from gpu_tui.core import metrics, units
from gpu_tui.core.campaign import Outlook
from gpu_tui.core.findings import Severity
from gpu_tui.core.sample import Freshness
from gpu_tui.core.speech import counted, say
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.views import FleetView
from gpu_tui.ui.text.calm import reading
from gpu_tui.ui.text.marks import fit, line
from gpu_tui.ui.text.outlook import short
from gpu_tui.ui.text.signs import SEVERITY_GLYPH, is_new

# What is kept and how many words it is said in, as it grows narrower; the rate outlives every word.
STEPS = (
    *((5, 3), (5, 2), (5, 1), (4, 2), (4, 1), (3, 2), (3, 1), (2, 2), (2, 1)),
    *((5, 0), (4, 0), (3, 0), (2, 0), (1, 0)),
)


def pulse(fleet: FleetView) -> tuple[int, int, int, int]:
    """How many boxes are live, stale, not reached or not read yet, and off."""
    live = stale = lost = off = 0
    for view in fleet.instances:
        if view.verdict is Verdict.OFF:
            off += 1
        elif not view.link.live or view.last_contact is None:
            lost += 1
        elif view.freshness(metrics.GPUS) is Freshness.STALE:
            stale += 1
        else:
            live += 1
    return live, stale, lost, off


def burn(fleet: FleetView, *, words: bool = False) -> tuple[str, str]:
    """Money per hour and spent so far, per currency; `+2?` counts the boxes without a price, in `words` or not."""
    rates: dict[str, float] = {}
    spent: dict[str, float] = {}
    partly: set[str] = set()  # currencies of which some was spent before we looked
    unpriced = 0
    for view in fleet.instances:
        cost = view.cost
        unit = cost.currency or ""
        if cost.per_hour is None:
            unpriced += 1
        else:
            rates[unit] = rates.get(unit, 0.0) + cost.per_hour
        if cost.spent is not None:
            spent[unit] = spent.get(unit, 0.0) + cost.spent
            if not view.spent_exact:
                partly.add(unit)
    for listed in fleet.unlisted:  # it is in no fleet file, and it costs all the same
        if listed.price is None:
            unpriced += 1
        else:
            unit = listed.price.currency
            rates[unit] = rates.get(unit, 0.0) + listed.price.amount
    per_hour = " + ".join(units.money(amount, unit) for unit, amount in rates.items())
    gone = (
        units.money(amount, unit, at_least=unit in partly, cents_to=100)
        for unit, amount in spent.items()
    )
    so_far = " + ".join(known for known in gone if known != units.UNKNOWN)
    more = f" +{unpriced}?" if unpriced else ""
    if unpriced and words:
        more = say(" + {boxes} of unknown price", boxes=counted(unpriced, "box"))
    return (f"{per_hour}/h{more}" if per_hour else ""), so_far


def header(
    fleet: FleetView,
    width: int,
    badges: Sequence[str],
    zone: tzinfo | None,
    outlook: Outlook | None = None,
) -> Text:
    """The one line on top. Where it is narrow, words go first, then the least important pieces."""
    for keep, words in STEPS:
        body, tail = _header_parts(fleet, badges, zone, outlook, words=words, keep=keep)
        room = width - body.cell_len - tail.cell_len
        if room >= 0:
            return line(body, " " * room, tail)
    return fit(body, width)


def _header_parts(
    fleet: FleetView,
    badges: Sequence[str],
    zone: tzinfo | None,
    outlook: Outlook | None,
    *,
    words: int,
    keep: int,
) -> tuple[Text, Text]:
    """Left and right half. `words` 3 writes all words, 2 all but those of a price, 1 only those of the boxes, less none.

    `keep` 5 keeps everything: spent 5, cells and end 4, sweep 3, rate 2, time 1.
    """
    left = line((" gpu-tui ", "brand"), " ")
    for badge in badges:
        left.append_text(line((f" {say(badge)} ", "badge"), " "))
    cells, ends = ("", "") if outlook is None else short(outlook, fleet.taken_at, zone)
    if keep >= 3:
        left.append_text(line((fleet.sweep or say("no sweep"), "strong"), "  "))
    if cells and keep >= 4:
        left.append_text(line((cells, "accent"), "  "))
    if ends and keep >= 4:
        left.append_text(line((ends, "text"), "  "))
    live, stale, lost, off = pulse(fleet)
    new = sum(is_new(view) for view in fleet.instances)
    for number, glyph, word, style in (
        (live, "●", "live", "level-ok"),
        (stale, "◐", "stale", "stale"),
        (lost - new, "⊘", "unreachable", "level-act"),
        (new, "◔", "connecting", "muted"),
        (off, "◌", "off", "muted"),
    ):
        if number:
            left.append_text(line((_counted(glyph, number, say(word), words > 0), style), "  "))
    left.append(" ")
    found = False
    for severity in (Severity.FATAL, Severity.SERIOUS, Severity.WARN):
        number = sum(finding.severity is severity for finding in fleet.findings)
        if number:
            found = True
            text = _counted(SEVERITY_GLYPH[severity], number, say(str(severity)), words > 1)
            left.append_text(line((text, f"severity-{severity}"), "  "))
    if not found and live + stale:  # of boxes that nobody has read, nothing is known
        calm = (say("✓ no findings") if words > 1 else "✓", "level-ok")
        soon = (say("reading…") if words > 1 else "…", "muted")
        left.append_text(line(soon if new or reading(fleet) else calm, "  "))
    rate, spent = burn(fleet, words=words > 2)
    right = line()
    if rate and keep >= 2:
        right.append_text(line((rate, "money"), "  "))
    if spent and keep >= 5:
        right.append_text(line((say("{spent} spent", spent=spent), "money"), "  "))
    moment = datetime.fromtimestamp(fleet.taken_at, UTC).astimezone(zone).strftime("%H:%M:%S")
    right.append_text(line((moment, "muted"), " "))
    return left, right


def _counted(glyph: str, number: int, word: str, words: bool) -> str:
    return f"{glyph} {number} {word}" if words else f"{glyph}{number}"
