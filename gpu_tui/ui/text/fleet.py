"""The fleet as rows: one line per instance, columns by width."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from gpu_tui.core import metrics, units
from gpu_tui.core.campaign import count_once
from gpu_tui.core.cell_table import Order
from gpu_tui.core.clocks import earliest
from gpu_tui.core.findings import Severity
from gpu_tui.core.idle import NO_CARD
from gpu_tui.core.levels import Level, level, share
from gpu_tui.core.queue_words import BAD, queue_words
from gpu_tui.core.sample import STALE_AFTER_PERIODS
from gpu_tui.core.speech import say
from gpu_tui.core.sweep import Queue
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.settled import roster_unread
from gpu_tui.state.views import InstanceView, utilization
from gpu_tui.ui.text.filters import Filter
from gpu_tui.ui.text.marks import (
    ABSENT,
    UNKNOWN,
    Piece,
    arrow,
    bar,
    believed,
    fitted,
    gauge,
    line,
    of_mounts,
)
from gpu_tui.ui.text.names import cut_name
from gpu_tui.ui.text.signs import (
    BOUND_SIGN,
    CLOCK_MARK,
    SEVERITY_GLYPH,
    VERDICTS,
    clock_style,
    verdict,
)

# --- one cell each ----------------------------------------------------------------------------

Shown = Text | tuple[str, str]


def _name(view: InstanceView, width: int, names: Sequence[str] = ()) -> Shown:
    # Who needs nobody stays calm, so that the eye lands on who does.
    worst = view.worst
    loud = worst.rank <= Severity.SERIOUS.rank
    return cut_name(view.name, width, names), f"severity-{worst}" if loud else "strong"


def _verdict(view: InstanceView, width: int) -> Text:
    if view.end is not None:  # a teardown without a proven end says more than what the box does
        still = view.end.outcome == "still-there"
        return line((say("✗ still there") if still else say("✗ end unknown"), "severity-fatal"))
    return verdict(view)


def _gpu(view: InstanceView, width: int) -> Text:
    track = view.track(metrics.GPUS)
    table = track.value
    if table and table.error:
        if table.error.kind in NO_CARD and not table.unread:
            return line((say("no GPU") if width > 5 else ABSENT, "absent"))
        word = table.error.kind if table.error.kind in ("hung", "lost") else "err"
        if table.error.kind in (*NO_CARD, "other-maker"):
            word = "?"  # a card is there, and nothing reads it
        text = line((say(word), "level-act"))
        return believed(text, view.freshness(metrics.GPUS))
    return gauge(utilization(table), Level.OK, view.freshness(metrics.GPUS), max(0, width - 5))


def _vram(view: InstanceView, width: int) -> Text:
    table = view.track(metrics.GPUS).value
    shares = [
        used
        for gpu in (table.gpus if table else ())
        if (used := share(gpu.memory_used, gpu.memory_total)) is not None
    ]
    worst = max(shares, default=None)
    return gauge(worst, level("gpu_memory", worst), view.freshness(metrics.GPUS), max(0, width - 5))


def _memory(view: InstanceView, width: int) -> Text:
    memory = view.track(metrics.MEMORY).value
    used = share(memory.used, memory.limit) if memory else None
    return gauge(used, level("memory", used), view.freshness(metrics.MEMORY))


def _mounts(view: InstanceView, axis: str) -> Text:
    mounts, fresh = view.track(metrics.MOUNTS).value or (), view.freshness(metrics.MOUNTS)
    shares = (share(*mount.counts(axis)) for mount in mounts)
    worst = max((used for used in shares if used is not None), default=None)
    if worst is None:
        fresh = of_mounts(mounts, axis, fresh)
    return gauge(worst, level(axis, worst), fresh)


def _bytes(view: InstanceView, width: int) -> Text:
    return _mounts(view, "bytes")


def _inodes(view: InstanceView, width: int) -> Text:
    return _mounts(view, "inodes")


def _cell(view: InstanceView, width: int) -> Text:
    cell = view.queue.place
    if cell is None:
        if not view.queue.cells:
            return line((UNKNOWN, "unknown") if roster_unread(view) else (ABSENT, "absent"))
        return _ends(view.queue, width)
    if cell.epoch is not None and cell.epochs:
        progress = f"{cell.epoch}/{cell.epochs}"
    else:
        of = "" if view.queue.more else f"/{count_once((view.queue,))[0].total}"
        progress = f"#{cell.index}{of}"  # its place in the queue, and no epoch
    stale = not view.link.live
    style = "stale" if stale else "text"
    room = width - len(progress) - 1
    if cell.share is not None and room >= 14 and not stale:
        graph = line(" ", bar(cell.share, 6, "accent"))
        return line((progress, "strong"), graph, " ", (cell.name, style))
    return line((progress, style if stale else "strong"), " ", (cell.name, style))


def _ends(queue: Queue, width: int) -> Text:
    """How many ended well, and what the others came to where there is room for the words."""
    told, bad = queue_words(queue), queue.count(*BAD)
    words = f"{told.count}{told.bad}"
    if cell_len(words) > width and bad:
        words = say("{count}, {bad} bad", count=told.count.split()[0], bad=bad)
    elif queue.more and cell_len(told.sentence) <= width:
        words = told.sentence
    return line((words, "level-act" if bad else "muted"))


def _clock(view: InstanceView, width: int) -> Shown:
    clock = earliest(view.clocks)
    if clock is None or clock.deadline is None:
        unread = view.last_contact is None and view.verdict is not Verdict.OFF
        return (UNKNOWN, "unknown") if unread else (ABSENT, "absent")
    text = units.countdown(clock.deadline - view.taken_at)
    bound = BOUND_SIGN.get(clock.bound, "")
    style = clock_style(clock.severity, due=clock.due(view.taken_at))
    mark = CLOCK_MARK.get(style, "") if len(bound + text) < width else ""
    return mark + bound + text, style


def _age(view: InstanceView, width: int) -> Shown:
    seen = view.last_contact
    if seen is None:
        return UNKNOWN, "unknown"
    seconds = view.taken_at - seen
    late = seconds > STALE_AFTER_PERIODS * max(1.0, view.instance.poll)
    return units.age(seconds), "stale" if late else "muted"


def _price(view: InstanceView, width: int) -> Shown:
    cost = view.cost
    if cost.per_hour is None:
        return UNKNOWN, "unknown"
    return units.money(cost.per_hour, cost.currency), "money"


def _spent(view: InstanceView, width: int) -> Shown:
    known = view.spent_told
    return known, "unknown" if known == UNKNOWN else "money"


def _platform(view: InstanceView, width: int) -> Shown:
    return view.instance.platform, "muted"


def _uptime(view: InstanceView, width: int) -> Text:
    if view.uptime is None:
        return line((UNKNOWN, "unknown"))
    return believed(
        line((units.span(view.uptime), "muted")),
        view.track(metrics.HOST).freshness(view.taken_at, live=view.link.live),
    )


def _tags(view: InstanceView, width: int) -> Shown:
    return " ".join(view.instance.tags) or ABSENT, "muted"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its title, its width (a floor where it grows), its painter."""

    key: str
    title: str
    width: int
    paint: Callable[[InstanceView, int], Shown]
    right: bool = False
    grows: bool = False


COLUMNS: dict[str, Column] = {
    column.key: column
    for column in (
        Column("name", "instance", 12, _name),
        Column("verdict", "verdict", 13, _verdict),
        Column("gpu", "gpu", 4, _gpu, right=True),
        Column("gpu+", "gpu util", 11, _gpu, right=False),
        Column("vram", "vram", 4, _vram, right=True),
        Column("vram+", "vram", 11, _vram, right=False),
        Column("mem", "mem", 4, _memory, right=True),
        Column("disk", "disk", 4, _bytes, right=True),
        Column("ino", "inod", 4, _inodes, right=True),
        Column("cell", "cell", 11, _cell, grows=True),
        Column("clock", "clock", 9, _clock, right=True),
        Column("age", "age", 4, _age, right=True),
        Column("price", "per h", 6, _price, right=True),
        Column("spent", "spent", 8, _spent, right=True),
        Column("platform", "platform", 11, _platform),
        Column("up", "up", 7, _uptime, right=True),
        Column("tags", "tags", 12, _tags),
    )
}
# What is dropped last comes first; the order on screen is that of ORDER.
SETS: dict[str, tuple[str, ...]] = {
    "overview": (
        "name", "verdict", "gpu", "age", "disk", "ino", "cell", "clock", "mem", "vram",
        "gpu+", "vram+", "price", "platform", "up",
    ),
    "money": ("name", "verdict", "price", "spent", "clock", "up", "age", "cell", "platform"),
    "place": ("name", "verdict", "platform", "tags", "age", "up", "cell", "price"),
}  # fmt: skip
ORDER = (
    "name", "platform", "verdict", "gpu", "gpu+", "vram", "vram+", "mem", "disk", "ino", "tags",
    "cell", "price", "spent", "up", "clock", "age",
)  # fmt: skip
MEASURED = frozenset(
    {"gpu", "gpu+", "vram", "vram+", "mem", "disk", "ino"}
)  # nothing to measure while off
ROOMY = 10  # spare cells that the growing column takes before the name may grow
ROOMIER = 6  # cells more for the name where they are to be had; further ones only for a name that needs them
EDGE = 2  # the mark of the worst finding, and a space


def known_columns(written: str | None) -> tuple[str, ...]:
    """The columns that `written` names with spaces between; the name and the verdict always stand there."""
    named = [key for key in (written or "").split() if key in COLUMNS]
    return tuple(dict.fromkeys(("name", "verdict", *named))) if named else ()


def columns(
    width: int, chosen: Sequence[str] = SETS["overview"], names: Sequence[str] = ()
) -> list[tuple[Column, int]]:
    """The columns that fit into `width` cells with their widths, in screen order. `names` are those of the list."""
    wanted = max(map(cell_len, names), default=0) - COLUMNS["name"].width
    kept: dict[str, Column] = {}
    used = EDGE
    for key in chosen:
        column = COLUMNS[key]
        narrow = kept.get(key.rstrip("+")) if key.endswith("+") else None
        extra = column.width - narrow.width if narrow else column.width + 1
        room = width - (ROOMY if key.endswith("+") and "cell" in kept else 0)
        if used + extra > room and key not in ("name", "verdict"):
            continue
        if narrow:
            del kept[narrow.key]
        kept[key] = column
        used += extra
    spare = max(0, width - used)
    rows = []
    for key in ORDER:
        if key not in kept:
            continue
        column = kept[key]
        grow = 0
        if key == "name" and spare > ROOMY:
            grow = min(spare - ROOMY, max(ROOMIER, wanted))
            spare -= grow
        rows.append((column, column.width + grow))
    return [(column, w + (spare if column.grows else 0)) for column, w in rows]


def head(chosen: Sequence[tuple[Column, int]], order: Order | None = None) -> Text:
    """The titles above the rows; the sorted one shows which way."""
    pieces: list[Piece] = [" " * EDGE]
    for column, width in chosen:
        title = line((say(column.title), "faint"))
        if order is not None and column.key.rstrip("+") == order.column:
            title = line((say(column.title), "heading"))
            title.truncate(width - 1)
            title.append_text(line((arrow(falling=order.falling), "accent")))
        pieces += fitted(title, width, right=column.right)
        pieces.append(" ")
    return line(*pieces)


def row(
    view: InstanceView, chosen: Sequence[tuple[Column, int]], names: Sequence[str] = ()
) -> Text:
    """One instance; `names` are those of the whole list."""
    worst = view.worst
    pieces: list[Piece] = [(SEVERITY_GLYPH[worst], f"severity-{worst}"), (" ", "text")]
    off = view.verdict is Verdict.OFF
    for column, width in chosen:
        blank = off and column.key in MEASURED
        piece: Shown
        if blank:
            piece = ABSENT, "absent"
        elif column.key == "name":
            piece = _name(view, width, names)
        else:
            piece = column.paint(view, width)
        right = column.right or (blank and column.key.endswith("+"))
        pieces += fitted(piece, min(width, 4) if blank else width, right=right)
        pieces.append(" " * (width - 3) if blank and width > 4 else " ")
    return line(*pieces)


def kept(views: Iterable[InstanceView], fits: Filter) -> list[InstanceView]:
    """The boxes that the filter keeps, by name, platform, verdict and tags."""
    return fits.select(views, _words_of, lambda view: view.instance.tags)


def _words_of(view: InstanceView) -> str:
    words = (view.verdict, VERDICTS[view.verdict][1])
    return " ".join((view.name, view.instance.platform, *words, say(words[1]), *view.instance.tags))
