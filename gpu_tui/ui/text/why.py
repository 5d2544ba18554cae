"""Why the selected box stands where it stands: what it needs a human for, under the list of boxes."""

from __future__ import annotations

from rich.text import Text

from gpu_tui.core.findings import Finding
from gpu_tui.core.speech import COMMA, language, say, told
from gpu_tui.state.views import FleetView, InstanceView
from gpu_tui.ui.text.findings import age_of
from gpu_tui.ui.text.marks import fit, line, wrap
from gpu_tui.ui.text.signs import SEVERITY_GLYPH

LEAST = 2  # lines from which something can be said
REMEDY_LINES = 2


def why(fleet: FleetView, view: InstanceView, width: int, room: int) -> list[Text]:
    """At most `room` lines: its findings, the worst first, each with what to do; else why its verdict is what it is."""
    if room < LEAST:
        return []
    found = [finding for finding in fleet.findings if finding.instance == view.name]
    if not found:
        return _verdict(view, width, room)
    rows = [line((say("what {name} needs", name=view.name), "heading"))]
    for at, finding in enumerate(found):
        left = len(found) - at - 1
        said = _said(finding, view, width)
        free = room - len(rows) - (1 if left else 0)
        if free < 1:
            more = say("  and {left} more (f)", left=left + 1)
            return [*rows, line((more, "muted"))]
        rows += said if len(said) <= free else said[:1]
    return rows


def _said(finding: Finding, view: InstanceView, width: int) -> list[Text]:
    """What it is, since when and by what one knows; below it what to do: of a lost link what Vitals says."""
    style = f"severity-{finding.severity}"
    kind = say(finding.kind.replace("_", " "))
    head = line(
        (f"{SEVERITY_GLYPH[finding.severity]} {kind}", style),
        (f"  {age_of(finding, view.taken_at)}", "muted"),
        (f"  {finding.cell}" if finding.cell else "", "strong"),
        (f"  {told(finding.evidence)}", "text"),
    )
    lost = view.link.next if finding.kind == "unreachable" else None
    remedy = f"→ {told(lost or finding.remedy)}"
    return [fit(head, width), *wrap(remedy, width, "accent", indent=2, most=REMEDY_LINES)]


def _verdict(view: InstanceView, width: int, room: int) -> list[Text]:
    reasons = COMMA[language()].join(map(told, view.because))
    if not reasons:
        return []
    words = say("why: {reasons}", reasons=reasons)
    return wrap(words, width, "muted", most=room)
