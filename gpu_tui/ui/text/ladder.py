"""The teardown ladder as lines, rung by rung, exactly as the gate's view says."""

from __future__ import annotations

from rich.text import Text

from gpu_tui.core.gate import GateView, RungState, RungView
from gpu_tui.ui.text import units
from gpu_tui.ui.text.marks import bar, line, wrap

RUNGS: dict[RungState, tuple[str, str]] = {
    RungState.WAITING: ("·", "rung-waiting"),
    RungState.WORKING: ("▸", "rung-working"),
    RungState.PASSED: ("✓", "rung-passed"),
    RungState.BLOCKED: ("✗", "rung-blocked"),
    RungState.SKIPPED: ("–", "rung-waiting"),
}
OUTCOMES: dict[str, tuple[str, str]] = {
    "gone": ("The instance is gone and the meter is proven stopped.", "safe"),
    "stopped": ("The instance is stopped, as read back from the provider.", "safe"),
    "still-there": (
        "STILL THERE: the call was made, but the meter is not proven stopped.",
        "danger-badge",
    ),
    "unknown": (
        "UNKNOWN: nobody can say whether it stopped. Look at the provider's console.",
        "danger-badge",
    ),
    "steps": ("This platform has no call for it. Do these steps, then read back:", "level-watch"),
    "cancelled": ("Cancelled. Nothing was changed.", "safe"),
}
TITLE = 18


def rung_lines(rung: RungView, width: int) -> list[Text]:
    """One rung: its state, then its evidence."""
    glyph, style = RUNGS[rung.state]
    first = line(
        (f" {glyph} {rung.rung.value} ", style),
        (f"{rung.title:<{TITLE}}", style if rung.state is not RungState.PASSED else "strong"),
    )
    if rung.share is not None and rung.state is RungState.WORKING:
        first.append_text(
            line(bar(rung.share, 16, "rung-working"), (f" {units.percent(rung.share)}", "text"))
        )
    tone = {
        RungState.BLOCKED: "level-act",
        RungState.WAITING: "faint",
        RungState.SKIPPED: "muted",
    }.get(rung.state, "muted")
    indent = first.cell_len
    evidence: list[Text] = []
    for text in rung.lines:
        evidence += wrap(text, width, tone, indent=5 + TITLE)
    if evidence and indent <= 5 + TITLE:
        evidence[0] = line(first, evidence[0][5 + TITLE :])
        rows = evidence
    else:
        rows = [first, *evidence]
    if rung.next:
        rows += wrap(f"→ {rung.next}", width, "accent", indent=5 + TITLE)
    return rows


def ladder(gate: GateView, width: int) -> list[Text]:
    """All rungs, why the gate is closed, and what came of it."""
    rows: list[Text] = []
    for rung in gate.rungs:
        rows += rung_lines(rung, width)
    if gate.needs_acceptance:
        rows += [line(), line(("Running work that this would stop:", "level-watch"))]
        for text in gate.needs_acceptance:
            rows += wrap(text, width, "strong", indent=4)
    if gate.closed_because:
        rows.append(line())
        rows += wrap(f"The gate is shut: {gate.closed_because}", width, "level-act", indent=1)
    if gate.outcome:
        text, style = OUTCOMES.get(gate.outcome, (gate.outcome, "unknown"))
        rows += [line(), *wrap(text, width, style, indent=1)]
        for number, step in enumerate(gate.outcome_lines, 1):
            prefix = f"{number}. " if gate.outcome == "steps" else ""
            rows += wrap(f"{prefix}{step}", width, "strong", indent=3)
    return rows
