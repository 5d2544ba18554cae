"""Findings as lines: what, where, how often, the evidence and the remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo

from rich.cells import cell_len
from rich.text import Text

from gpu_tui.core import units
from gpu_tui.core.findings import BOUNDS, FIRST_LOOK, Finding, Severity
from gpu_tui.core.remedies import CARDS
from gpu_tui.core.speech import headed, say, told
from gpu_tui.state.views import FleetView
from gpu_tui.ui.text.marks import fit, line, wrap
from gpu_tui.ui.text.names import cut_name
from gpu_tui.ui.text.signs import BOUND_SIGN, SEVERITY_GLYPH, box_style

TITLE = 19
NAME, CELL = 12, 14
SMALL, NARROW = 46, 60  # below which there is no column for the count, and none for the cell
ROOMY, ROOMY_TITLE, ROOMY_NAME = 130, 22, 24  # where whole names have room
STRANGERS_SHOWN = 2
LABEL = 10  # cells before what is said of a finding
LABELS = {"inode_full": "inode", "crashed": "exception"}  # where a finding has another name


def columns_of(findings: Sequence[Finding], width: int) -> tuple[int, int, int]:
    """The cells for kind, box and cell: no more than these findings need, the rest is for what they say."""
    kind, name, cell = (TITLE, NAME, CELL) if width < ROOMY else (ROOMY_TITLE, ROOMY_NAME, CELL)
    longest = [
        max((cell_len(text) for text in texts), default=0)
        for texts in zip(*((_kind(f), f.instance, f.cell or "") for f in findings), strict=True)
    ]
    if not longest:
        return kind, name, 0 if width < NARROW else cell
    if width < NARROW:
        return min(kind, longest[0]), min(name, longest[1]), 0
    cell = min(cell, longest[2])
    return min(kind, longest[0]), min(name + CELL - cell, longest[1]), cell


def _kind(finding: Finding) -> str:
    return f"{SEVERITY_GLYPH[finding.severity]} {say(finding.kind.replace('_', ' '))}"


def age_of(finding: Finding, now: float) -> str:
    """For how long it has been so, or how long ago it was logged."""
    age = units.age(now - finding.at)
    return BOUND_SIGN["earliest"] + age if finding.basis in BOUNDS else age


def finding_row(
    finding: Finding,
    now: float,
    width: int,
    names: Sequence[str] = (),
    columns: tuple[int, int, int] | None = None,
) -> Text:
    """One finding in one line; `names` are those of all boxes, `columns` what `columns_of` says."""
    kind, name, room = columns or columns_of((finding,), width)
    cell = line(fit(line((finding.cell or "", "text")), room), " ") if room else line()
    count = f"×{finding.count}" if finding.count > 1 else ""
    times = line(fit(line((count, "muted")), 5, right=True), " ") if width >= SMALL else line()
    style = f"severity-{finding.severity}"
    fixed = line(
        fit(line((_kind(finding), style)), kind),
        " ",
        ("▌", box_style(finding.instance)),
        fit(line((cut_name(finding.instance, name, names), "strong")), name),
        " ",
        cell,
        times,
        fit(line((age_of(finding, now), "muted")), 4, right=True),
    )
    room = width - fixed.cell_len - 2
    if room <= 8:
        return fit(fixed, width)
    return line(fixed, "  ", fit(line((told(finding.evidence), "muted")), room))


def strangers(fleet: FleetView, width: int) -> list[Text]:
    """Who bills and is no row of the list: the worst ones in a line each, and how many more there are."""
    alarms = [
        one
        for one in fleet.beside
        if one.kind == "unlisted_instance" and one.severity.rank <= Severity.SERIOUS.rank
    ]
    rows = []
    for one in alarms[:STRANGERS_SHOWN]:
        style = f"severity-{one.severity}"
        rows.append(
            fit(line((f"{SEVERITY_GLYPH[one.severity]} {told(one.evidence)}", style)), width)
        )
    if len(alarms) > STRANGERS_SHOWN:
        more = say("  and {alarms} more (f)", alarms=len(alarms) - STRANGERS_SHOWN)
        rows.append(fit(line((more, "severity-fatal")), width))
    return rows


def finding_detail(finding: Finding, width: int, zone: tzinfo | None) -> list[Text]:
    """All of one finding: evidence, source, first and last seen, what to do, and the card of its kind."""
    rows = [line((_subject(finding), f"severity-{finding.severity}"))]
    if finding.cell:
        rows[0].append_text(line((_of_cell(finding.cell), "text")))
    for label, text, style in _facts(finding, zone):
        lines = wrap(text, width, style, indent=LABEL)
        if lines:
            lines[0] = line(fit(line((label, "faint")), LABEL), lines[0][LABEL:])
        rows += lines
    return rows


def finding_text(finding: Finding, zone: tzinfo | None) -> str:
    """The same for another program: each thing that is said in one line, as long as it is."""
    head = _subject(finding) + (_of_cell(finding.cell) if finding.cell else "")
    return "\n".join([head, *(headed(label, text) for label, text, _ in _facts(finding, zone))])


def _subject(finding: Finding) -> str:
    kind = say(finding.kind.replace("_", " "))
    return say("{kind} on {instance}", kind=kind, instance=finding.instance)


def _of_cell(cell: str) -> str:
    return say(", cell {cell}", cell=cell)


def _facts(finding: Finding, zone: tzinfo | None) -> Iterator[tuple[str, str, str]]:
    """What it is called, what it is, and how it is drawn."""
    yield say("evidence"), told(finding.evidence), "strong"
    yield say("source"), finding.source, "muted"
    yield say("seen"), _seen(finding, zone), "muted"
    yield say("do"), told(finding.remedy), "accent"
    if card := CARDS.get(LABELS.get(finding.kind, finding.kind)):
        yield say("means"), say(card.symptom), "text"
        yield say("cause"), say(card.cause), "text"
        yield say("fix"), say(card.fix), "text"


def _seen(finding: Finding, zone: tzinfo | None) -> str:
    if finding.standing and finding.count == 1:
        since = _time(finding.first_seen, finding.first_basis, zone)
        if finding.first_basis == FIRST_LOOK:
            return say("since {first} or longer", first=_clock(finding.first_seen, zone))
        return say("since {first}", first=since)
    first = _time(finding.first_seen, finding.first_basis, zone)
    last = _time(finding.last_seen, finding.last_basis, zone)
    times = say(", {count} times", count=finding.count) if finding.count > 1 else ""
    if first == last:
        return f"{first}{times}"
    day = first.rpartition(" ")[0].removeprefix(f"{BOUND_SIGN['latest']} ")
    if day and last.removeprefix(f"{BOUND_SIGN['latest']} ").startswith(f"{day} "):
        last = last.replace(f"{day} ", "", 1)
    return say("{first} to {last}{times}", first=first, last=last, times=times)


def _time(at: float, basis: str, zone: tzinfo | None) -> str:
    """A time in words; `≤` or `before` if it is only a bound."""
    if basis == FIRST_LOOK:
        return say("before {time}", time=_clock(at, zone))
    return f"{BOUND_SIGN['latest']} {_clock(at, zone)}" if basis in BOUNDS else _clock(at, zone)


def _clock(at: float, zone: tzinfo | None) -> str:
    there = datetime.fromtimestamp(at, UTC).astimezone(zone)
    return f"{units.day(there)} {there:%H:%M:%S}"
