"""Draws the time line of findings and of this session's past events: a lane for each box, below it a row for each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

from rich.cells import cell_len
from rich.text import Text

from gpu_tui.core import units
from gpu_tui.core.findings import BOUNDS, Finding, Severity
from gpu_tui.core.speech import counted, say, told
from gpu_tui.state.news import CELL_FINISHED
from gpu_tui.state.views import FleetView, Past
from gpu_tui.ui.text.marks import fit, line
from gpu_tui.ui.text.names import cut_name
from gpu_tui.ui.text.signs import BOUND_SIGN, SEVERITY_GLYPH, box_style

LANES_MOST = 8
NAME, NAME_MOST = 14, 26
SHORT = 900.0  # seconds below which the axis needs seconds
LEAST_SPAN = 60.0  # seconds of a lane
LEAST = 20  # cells of a lane that still says something
ROOMY, NARROW = 110, 76
DATED = 12  # cells of a time with its day
LOGGED, MEASURED = "≡", " "  # a finding that stands in a log can be opened there


def by_time(findings: Sequence[Finding]) -> list[Finding]:
    """The newest first; of one moment the worst first."""
    return sorted(findings, key=lambda one: (-one.at, one.severity.rank, one.instance))


def entries(fleet: FleetView) -> list[tuple[str, Finding, Past | None]]:
    """Key, finding, and its past event (None: it is current), the newest first."""
    rows: list[tuple[str, Finding, Past | None]] = [(one.id, one, None) for one in fleet.findings]
    rows += [(one.key or one.finding.id, one.finding, one) for one in fleet.past]
    return sorted(rows, key=lambda row: (-row[1].at, row[1].severity.rank, row[1].instance))


def lanes(
    findings: Sequence[Finding],
    now: float,
    width: int,
    zone: tzinfo | None,
    chosen: Finding | None = None,
) -> list[Text]:
    """One lane per box, the worst finding of each moment on it, and the times below.

    A finding is drawn from when it was first seen to when it was last seen; `chosen` stands out.
    """
    longest = max((cell_len(one.instance) for one in findings), default=0) + 2
    side = max(NAME, min(NAME_MOST, longest)) if width >= ROOMY else NAME
    room = width - side - 2
    if not findings or room < LEAST:
        return []
    span = max(LEAST_SPAN, now - min(one.first_seen for one in findings))
    start = now - span

    def cell(at: float) -> int:
        return max(0, min(room - 1, int((at - start) / span * room)))

    boxes = list(dict.fromkeys(one.instance for one in by_time(findings)))
    rows = []
    for box in boxes[:LANES_MOST]:
        cells: list[tuple[str, str]] = [("·", "track")] * room
        own = [one for one in findings if one.instance == box]
        for one in sorted(own, key=lambda one: -one.severity.rank):
            style = f"severity-{one.severity}"
            for at in range(cell(one.first_seen), cell(one.last_seen)):
                cells[at] = ("━", style)
        for one in sorted(own, key=lambda one: (one is chosen, -one.severity.rank)):
            mark = "◆" if one is chosen else _glyph(one)
            style = "accent" if one is chosen else f"severity-{one.severity}"
            cells[cell(one.last_seen)] = (mark, style)
        name = fit(line(("▌", box_style(box)), (cut_name(box, side - 1, boxes), "strong")), side)
        rows.append(line(name, "  ", *cells))
    if len(boxes) > LANES_MOST:
        more = say(
            "and {boxes}",
            boxes=counted(len(boxes) - LANES_MOST, "more box"),
        )
        rows.append(line((" " * (side + 2) + more, "muted")))
    rows.append(line(" " * (side + 2), (_axis(start, span, room, zone), "faint")))
    return rows


def _glyph(finding: Finding) -> str:
    """The glyph of the finding's severity; an event has a glyph of its own."""
    if finding.severity is Severity.NONE:
        return "✓" if finding.kind == CELL_FINISHED else "·"
    return SEVERITY_GLYPH[finding.severity]


def _axis(start: float, span: float, room: int, zone: tzinfo | None) -> str:
    """Times under the lanes: at the left edge, about every twenty cells, and `now` at the right."""
    days = day_of(start, zone) != day_of(start + span, zone)
    count = max(1, room // 24)
    out = ""
    for n in range(count):
        at = round(n * room / count)
        if len(out) <= at:
            out = out.ljust(at) + _time(
                start + span * at / room, zone, days=days, seconds=span < SHORT
            )
    now = say("now")
    return out[: room - cell_len(now) - 1].ljust(room - cell_len(now)) + now


def dated(findings: Sequence[Finding], now: float, zone: tzinfo | None) -> bool:
    """Some of them are not of today: times have a day before them."""
    times = [one.at for one in findings]
    days = {day_of(at, zone) for at in (min(times, default=now), max(times, default=now))}
    return days != {day_of(now, zone)}


def event_row(
    finding: Finding,
    now: float,
    width: int,
    zone: tzinfo | None,
    names: Sequence[str] = (),
    *,
    with_days: bool = True,
    with_bounds: bool = False,
    past: Past | None = None,
) -> Text:
    """The row of one finding: time, severity, box, kind and evidence; `names` are those of all boxes.

    A past one is dimmed and says whether it ended or was acknowledged.
    """
    wide = width >= ROOMY
    style = f"severity-{finding.severity}" if past is None else "faint"
    days = day_of(finding.at, zone) != day_of(now, zone)
    logged = LOGGED if finding.source.startswith("log:") else MEASURED
    kind = say(finding.kind.replace("_", " "))
    narrow = width < NARROW
    place = 36 if wide else 18 if narrow else 22
    box = cut_name(finding.instance, place, names)
    time = _time(finding.at, zone, days=days, seconds=not days and not narrow)
    clock = DATED if with_days else 5 if narrow else 8
    bound = BOUND_SIGN["latest"] if finding.basis in BOUNDS else ""
    shown = f"{bound}{time.strip()}" if bound else time
    spare = int(with_bounds)
    title = 20 if wide else 13 if narrow else 13 + DATED - clock
    fixed = line(
        (f"{shown:>{clock + spare}} ", "faint"),
        fit(line((f"{_glyph(finding)} {kind}", style)), title),
        " ",
        ("▌", box_style(finding.instance)),
        fit(line((box, "strong"), (f" {finding.cell}" if finding.cell else "", "text")), place),
        (f"{'×' + str(finding.count) if finding.count > 1 else '':>5} ", "muted"),
        (logged, "accent"),
        " ",
    )
    room = width - fixed.cell_len
    return (
        line(fixed, fit(line(*_became(past, now, zone), (told(finding.evidence), "muted")), room))
        if room > 8
        else fit(fixed, width)
    )


def _became(past: Past | None, now: float, zone: tzinfo | None) -> list[tuple[str, str]]:
    if past is None or not (past.ended or past.acknowledged):
        return []
    time = _time(past.at, zone, days=day_of(past.at, zone) != day_of(now, zone)).strip()
    if past.acknowledged:
        return [(say("✓ acknowledged {time}", time=time) + " ", "faint")]
    return [(say("✓ over since {time}", time=time) + " ", "faint")]


def words_of(finding: Finding) -> str:
    """What a filter looks at."""
    parts = (finding.kind.replace("_", " "), finding.kind, finding.severity, finding.instance)
    return " ".join((*parts, finding.cell or "", finding.evidence, say(parts[0])))


def summary(findings: Sequence[Finding], total: int, width: int, over: int = 0) -> Text:
    """The number of findings of each severity, with the glyphs explained if there is room; `over` more are past."""
    pieces: list[tuple[str, str]] = []
    for severity in (Severity.FATAL, Severity.SERIOUS, Severity.WARN):
        count = sum(one.severity is severity for one in findings)
        if count:
            pieces.append(
                (f"{SEVERITY_GLYPH[severity]} {count} {say(severity)}   ", f"severity-{severity}")
            )
    shown = (
        say("{findings} of {total}", findings=len(findings), total=total)
        if len(findings) != total
        else counted(total, "finding")
    )
    past = say(", {over} over", over=over) if over else ""
    counts = line(*pieces, (shown + past, "muted"))
    long = line(counts, (say("   ≡ stands in a log: enter opens the line"), "faint"))
    if long.cell_len <= width:
        return long
    short = line(counts, (say("   ≡ stands in a log"), "faint"))
    return short if short.cell_len <= width else counts


def day_of(at: float, zone: tzinfo | None) -> str:
    """The day of a moment as a row writes it."""
    return units.day(datetime.fromtimestamp(at, UTC).astimezone(zone))


def _time(at: float, zone: tzinfo | None, *, days: bool, seconds: bool = False) -> str:
    there = datetime.fromtimestamp(at, UTC).astimezone(zone)
    clock = f"{there:%H:%M:%S}" if seconds and not days else f"{there:%H:%M}"
    return f"{units.day(there):>6} {clock}" if days else clock
