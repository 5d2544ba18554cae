"""One message from many items: a title, plain lines, and the items for programs. Pure.

An item is one piece of news as JSON: version 1 of what commands and webhooks get.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from gpu_tui.core.clock import rfc3339
from gpu_tui.core.findings import LOG_DATE, QUEUE_LOG, SEEN, Severity
from gpu_tui.core.plain import plain
from gpu_tui.core.redact import redact
from gpu_tui.state.news import CELL_FINISHED, CLOCKS, GOOD, News

Item = Mapping[str, object]

VERSION = 1
LINES = 12  # of one message; the rest is counted
CELLS_APART = 3  # so many cells of one instance share a line
NAMES = 5
TEXT_WIDTH = 300  # characters of what a box said
SAME = ("sweep", "kind", "instance", "cell", "part")  # two items alike in these are one thing
LATE = 60.0  # seconds; a message about older news says when that happened
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
FIRST_LOOK, OVERFLOW, TEST = "first_look", "overflow", "test"


@dataclass(frozen=True, slots=True)
class Message:
    """What one delivery says. `severity` is that of the worst item, `kind` its kind."""

    id: str
    at: str
    kind: str
    severity: str
    title: str
    lines: tuple[str, ...]
    items: tuple[Item, ...]

    @property
    def text(self) -> str:
        """Title and lines."""
        return "\n".join((self.title, *self.lines))

    def json(self) -> dict[str, object]:
        """The whole message, as commands get it on stdin and as webhooks get it."""
        return {
            "version": VERSION,
            "id": self.id,
            "at": self.at,
            "kind": self.kind,
            "severity": self.severity,
            "title": self.title,
            "text": self.text,
            "items": [dict(item) for item in self.items],
        }


def item_of(news: News, sweep: str | None, secrets: Iterable[str] = ()) -> dict[str, object]:
    """News as an item: what a box said is cut, made plain and freed of what looks like a secret."""
    return {
        "kind": news.kind,
        "severity": news.severity.value,
        "sweep": sweep,
        "instance": plain(news.instance),
        "cell": plain(redact(news.cell, secrets)) if news.cell else None,
        "part": plain(redact(news.part, secrets)) if news.part else None,
        "text": plain(redact(news.text, secrets), TEXT_WIDTH),
        "remedy": plain(redact(news.remedy, secrets), TEXT_WIDTH),
        "count": news.count,
        "at": rfc3339(news.at),
        "happened_at": rfc3339(news.when if news.happened is None else news.happened),
        "happened_basis": news.basis,
    }


def first_look(
    news: Sequence[News],
    sweep: str | None,
    now: float,
    secrets: Iterable[str] = (),
    zone: tzinfo | None = None,
) -> dict[str, object] | None:
    """One item for all that was there before the first look; None where nothing of it is bad."""
    alarms = [one for one in news if one.severity.rank <= Severity.SERIOUS.rank]
    if not alarms:
        return None
    worst = min(alarms, key=lambda one: one.severity.rank)
    fatal = sum(one.severity is Severity.FATAL for one in alarms)
    words = [f"{fatal} fatal"] if fatal else []
    words += [f"{len(alarms) - fatal} serious"] if len(alarms) > fatal else []
    done = sum(one.kind in GOOD for one in news)
    text = (
        f"{' and '.join(words)} at the first look, worst: {worst.where}: {worst.title}"
        f"{_when(worst.kind, worst.when, worst.basis, now, zone)}: "
        f"{redact(worst.text, secrets)}"
    )
    text += f"; ended before it: {done}" if done else ""
    return {
        "kind": FIRST_LOOK,
        "severity": worst.severity.value,
        "sweep": sweep,
        "instance": plain(worst.instance),
        "cell": None,
        "part": None,
        "text": plain(text, TEXT_WIDTH),
        "remedy": "See: gpu-tui check",
        "count": len(alarms),
        "at": rfc3339(now),
        "happened_at": None,
        "happened_basis": None,
    }


def trial(now: float) -> dict[str, object]:
    """An item that says only that this way out works."""
    return {
        "kind": TEST,
        "severity": Severity.NONE.value,
        "sweep": None,
        "instance": None,
        "cell": None,
        "part": None,
        "text": "this is a test: alerts arrive here",
        "remedy": "",
        "count": 1,
        "at": rfc3339(now),
        "happened_at": None,
        "happened_basis": None,
    }


def compose(
    id: str, items: Sequence[Item], *, at: float, held: bool, zone: tzinfo | None = None
) -> Message:
    """One message of all items, the worst first; `held`: they waited for the end of the quiet hours.

    `zone` is the time zone of the text; None: this machine's.
    """
    ordered = sorted(_merged(items), key=_rank)
    worst = ordered[0]
    sweeps = sorted({str(item["sweep"]) for item in ordered if item.get("sweep")})
    lines = list(_lines(ordered, at, zone))
    if len(lines) == 1 and not held:
        title, lines = lines[0], ([f"→ {worst['remedy']}"] if worst.get("remedy") else [])
    else:
        title = f"{len(ordered)} alerts" + (" from the quiet hours" if held else "")
        left = len(lines) - LINES
        lines = lines[:LINES] + ([f"and {left} more: gpu-tui check"] if left > 0 else [])
    head = f"gpu-tui {plain(', '.join(sweeps))}: {title}" if sweeps else f"gpu-tui: {title}"
    return Message(
        id=id,
        at=rfc3339(at) or "",
        kind=str(worst["kind"]),
        severity=str(worst.get("severity", "none")),
        title=head,
        lines=tuple(lines),
        items=tuple(ordered),
    )


def _merged(items: Sequence[Item]) -> list[Item]:
    """Without repetitions: of one thing that came twice the later word, and the higher count."""
    kept: dict[tuple[object, ...], Item] = {}
    for item in items:
        key = tuple(item.get(name) for name in SAME)
        old = kept.pop(key, None)
        counts = [one.get("count") for one in (old, item) if one is not None]
        most = max((count for count in counts if isinstance(count, int)), default=1)
        kept[key] = {**item, "count": most}
    return list(kept.values())


def _lines(items: Sequence[Item], at: float, zone: tzinfo | None) -> Iterator[str]:
    """A line per item; the cells that one instance finished share one."""
    cells: dict[str, list[str]] = {}
    for item in items:
        if item["kind"] == CELL_FINISHED:
            cells.setdefault(str(item.get("instance")), []).append(str(item.get("cell")))
    for item in items:
        names = cells.get(str(item.get("instance")), [])
        if item["kind"] != CELL_FINISHED or len(names) < CELLS_APART:
            yield _line(item, at, zone)
        elif names[0] == str(item.get("cell")):
            shown = ", ".join(names[:NAMES])
            more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
            yield f"{item.get('instance')}: {len(names)} cells finished by their logs: {shown}{more}"


def _rank(item: Item) -> int:
    word = str(item.get("severity", "none"))
    return Severity(word).rank if word in set(Severity) else len(Severity)


def _line(item: Item, at: float, zone: tzinfo | None) -> str:
    if item["kind"] == OVERFLOW:
        return f"{item.get('count', 'some')} older alerts were dropped: too many waited to be delivered"
    if item["kind"] in (FIRST_LOOK, TEST):
        return str(item.get("text", ""))
    where = " · ".join(str(item[key]) for key in ("instance", "cell") if item.get(key))
    kind = str(item["kind"]).replace("_", " ")
    severity = str(item.get("severity", "none"))
    mark = "" if severity == "none" else f"{severity.upper()} "
    count = item.get("count")
    times = (
        f" (×{count})"
        if isinstance(count, int) and count > 1 and item["kind"] != FIRST_LOOK
        else ""
    )
    happened, basis = _epoch(item.get("happened_at")), str(item.get("happened_basis") or "")
    when = _when(str(item["kind"]), happened, basis, at, zone)
    return f"{mark}{where}: {kind}{times}{when}: {item.get('text', '')}"


def _when(kind: str, at: float | None, basis: str, now: float, zone: tzinfo | None) -> str:
    """The time of the news if it differs from the message's: ` at 06:19`, ` at <= 27 Nov 06:19`; else empty."""
    bound = basis == LOG_DATE
    if at is None or kind in CLOCKS or basis not in (SEEN, QUEUE_LOG, LOG_DATE):
        return ""
    if not bound and now - at < LATE:
        return ""
    there, today = (datetime.fromtimestamp(one, UTC).astimezone(zone) for one in (at, now))
    day = "" if there.date() == today.date() else f"{there.day} {MONTHS[there.month - 1]} "
    return f" at {'<= ' if bound else ''}{day}{there:%H:%M}"


def _epoch(text: object) -> float | None:
    """Epoch seconds of an item's RFC 3339 time; None if the text is no such time."""
    try:
        return datetime.fromisoformat(str(text)).timestamp() if text else None
    except (ValueError, OverflowError):
        return None
