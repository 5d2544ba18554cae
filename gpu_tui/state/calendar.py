"""All deadlines as a calendar (RFC 5545), so that the phone rings while the laptop is shut. Pure but for `save`.

The UID of an event is made of the instance and the clock, so that a later file moves the event it made
before; SEQUENCE is the minute of the export and so never falls, on whatever machine the file was made.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from gpu_tui.core.clocks import BOUND_WORDS, DangerClock
from gpu_tui.core.thresholds import Threshold
from gpu_tui.new_file import write_new
from gpu_tui.state.views import FleetView

LINE = 75  # octets, the line break not counted
# Minutes, of SEQUENCE: that of 2023-03-28 is 0; it fits 32 bits for 4,000 years.
EPOCH_MINUTES = 28_000_000
_CONTROL = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def deadlines(clocks: Iterable[DangerClock], now: float) -> list[DangerClock]:
    """The clocks that a calendar can show: those with a deadline to come."""
    return [
        clock
        for clock in clocks
        if clock.state == "running" and clock.deadline is not None and clock.deadline > now
    ]


def calendar(view: FleetView) -> str:
    """The file's whole text."""
    now = view.taken_at
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//gpu-tui//danger clocks//EN"]
    lines += ["CALSCALE:GREGORIAN", "METHOD:PUBLISH", f"X-WR-CALNAME:{_text(_name(view))}"]
    for clock in deadlines(view.clocks, now):
        lines += _event(clock, now, view.thresholds)
    lines.append("END:VCALENDAR")
    return "".join(f"{folded}\r\n" for line in lines for folded in fold(line))


def save(path: Path, view: FleetView) -> int:
    """Write the calendar in one step, readable by its owner; the number of deadlines. Raises OSError."""
    write_new(path, calendar(view), replace=True, mode=0o600)
    return len(deadlines(view.clocks, view.taken_at))


def uid(clock: DangerClock) -> str:
    """The same for one clock of one instance for ever, whatever its deadline is."""
    text = "\x1f".join((clock.instance, clock.id, clock.subject or ""))
    return f"{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}@gpu-tui"


def fold(line: str) -> Iterator[str]:
    """Physical lines of at most 75 octets, never cut inside a character; the rest begins with a space."""
    room, row, size = LINE, "", 0
    for char in line:
        octets = len(char.encode("utf-8"))
        if size + octets > room:
            yield row
            row, size = " ", 1
        row += char
        size += octets
    yield row


def _name(view: FleetView) -> str:
    return f"GPU deadlines: {view.sweep}" if view.sweep else "GPU deadlines"


def _event(clock: DangerClock, now: float, thresholds: Sequence[Threshold]) -> Iterator[str]:
    deadline = clock.deadline or now
    yield "BEGIN:VEVENT"
    yield f"UID:{uid(clock)}"
    yield f"DTSTAMP:{_stamp(now)}"
    yield f"SEQUENCE:{_sequence(now)}"
    yield f"DTSTART:{_stamp(deadline)}"
    yield "DURATION:PT15M"
    yield f"SUMMARY:{_text(_summary(clock))}"
    yield f"DESCRIPTION:{_text(_description(clock))}"
    yield "CATEGORIES:gpu-tui"
    yield f"STATUS:{'CONFIRMED' if clock.bound == 'exact' else 'TENTATIVE'}"
    yield "TRANSP:TRANSPARENT"
    for before in _alarms(clock, deadline - now, thresholds):
        yield "BEGIN:VALARM"
        yield "ACTION:DISPLAY"
        yield f"TRIGGER:-{_duration(before)}"
        yield f"DESCRIPTION:{_text(_summary(clock))}"
        yield "END:VALARM"
    yield "END:VEVENT"


def _alarms(clock: DangerClock, left: float, thresholds: Sequence[Threshold]) -> list[int]:
    """Whole minutes, as seconds, before the deadline; only those to come, at least one."""
    found = {int(at // 60) * 60 for one in thresholds if (at := one.left(clock.after))}
    ahead = sorted((at for at in found if 0 < at < left), reverse=True)
    return ahead or [min(300, int(left) // 2)]


def _summary(clock: DangerClock) -> str:
    bound = f" ({BOUND_WORDS[clock.bound]})" if clock.bound in BOUND_WORDS else ""
    subject = f" {clock.subject}" if clock.subject and clock.subject not in clock.what else ""
    return f"{clock.instance}{subject}: {clock.what}{bound}"


def _description(clock: DangerClock) -> str:
    began = (
        f" counted from the {_BASES[clock.started_basis]}" if clock.started_basis in _BASES else ""
    )
    bound = BOUND_WORDS.get(clock.bound)
    rows = [
        f"What happens: {clock.what}.",
        f"What to do: {clock.avoid}",
        f"This is the time {bound}{f',{began}' if began else ''}." if bound else "",
        clock.note if clock.note and clock.note != clock.what else "",
        f"Clock {clock.id}; {clock.confidence} confidence, verified {clock.verified}: {clock.source}",
        "The fact is over 6 months old: check it again." if clock.stale_fact else "",
    ]
    return "\n".join(row for row in rows if row)


_BASES = {
    "last-contact": "last contact",
    "first-seen": "first time it was seen",
    "reading": "box's own start",
    "part-rate": "prices that are known",
}


def _sequence(now: float) -> int:
    return max(0, int(now // 60) - EPOCH_MINUTES)


def _stamp(at: float) -> str:
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y%m%dT%H%M%SZ")


def _duration(seconds: int) -> str:
    days, rest = divmod(seconds, 86400)
    hours, minutes, left = rest // 3600, rest % 3600 // 60, rest % 60
    time = "".join(f"{n}{unit}" for n, unit in ((hours, "H"), (minutes, "M"), (left, "S")) if n)
    day = f"{days}D" if days else ""
    return f"P{day}{'T' + time if time else ''}" if day or time else "PT0S"


def _text(text: str) -> str:
    """A TEXT value: what has a meaning is escaped, what has none on a phone is left out."""
    clean = _CONTROL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
    escaped = clean.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")
    return escaped.replace("\n", "\\n")
