"""The line of a recording: whether it runs, where it stands, and where its findings came."""

from __future__ import annotations

from rich.text import Text

from gpu_tui.core.findings import Severity
from gpu_tui.core.playhead import Playhead
from gpu_tui.core.speech import say
from gpu_tui.core.units import position
from gpu_tui.ui.text.marks import fit, line
from gpu_tui.ui.text.signs import SEVERITY_GLYPH

LEAST = 10  # cells of a bar that still says something


def tape_line(head: Playhead, width: int) -> Text:
    """In `width` cells: state, position and length, a bar with the worst finding of each place, and their number."""
    state = "▸▸" if head.seeking else "‖" if head.paused or head.ended else "▸"
    speed = "" if head.paused or head.ended else f" ×{head.speed:g}"
    left = line(
        (f" {state}", "accent"),
        (f" {position(head.position)}", "strong"),
        (f"/{position(head.length)}", "muted"),
        (f"{speed} ", "muted"),
    )
    count = len(head.marks)
    more = "+" if head.known_to < head.length else ""
    found = say(
        "{count}{more} moment{s} with findings",
        count=count,
        more=more,
        s="" if count == 1 and not more else "s",
    )
    right = line((f" {found} ", "muted"))
    if head.damage is not None:
        right = line((say(" ends early: {damage} ", damage=head.damage), "level-watch"))
    if width - left.cell_len - right.cell_len < 2 * LEAST:
        short = f" {count}{more} ▲ " if head.damage is None else say(" ends early ")
        right = line((short, "muted" if head.damage is None else "level-watch"))
    room = width - left.cell_len - right.cell_len
    if room < LEAST:
        return fit(line(left, right), width)
    return fit(line(left, *_bar(head, room), right), width)


def _bar(head: Playhead, room: int) -> list[tuple[str, str]]:
    """One cell for each stretch of time: gone by, still to come, not searched yet."""

    def cell(t: float) -> int:
        return max(0, min(room - 1, int(t / head.length * room))) if head.length > 0 else 0

    here, known = cell(head.position), cell(head.known_to)
    cells = [
        ("━", "accent") if at < here else ("─", "muted") if at <= known else ("┄", "track")
        for at in range(room)
    ]
    worst: dict[int, Severity] = {}
    for mark in head.marks:
        at = cell(mark.t)
        worst[at] = min(mark.severity, worst.get(at, mark.severity), key=lambda one: one.rank)
    for at, severity in worst.items():
        cells[at] = (SEVERITY_GLYPH[severity].strip() or "·", f"severity-{severity}")
    glyph, _ = cells[here]
    cells[here] = ("█", "strong") if here not in worst else (glyph, "badge")
    return cells
