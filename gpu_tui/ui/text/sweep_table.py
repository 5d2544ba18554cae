"""The cells of all queues as one table. It moves sideways so far that the sorted column is in sight."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.text import Text

from gpu_tui.core import units
from gpu_tui.core.campaign import Trust
from gpu_tui.core.cell_table import Best, Order, Row, best_of, columns_of, metric_title, value_of
from gpu_tui.core.speech import say
from gpu_tui.core.sweep import CellState
from gpu_tui.core.thinned import even
from gpu_tui.ui.text.jobs import words_of
from gpu_tui.ui.text.marks import ABSENT, UNKNOWN, arrow, fit, line, spark
from gpu_tui.ui.text.names import cut_name
from gpu_tui.ui.text.signs import box_style
from gpu_tui.ui.text.sweep import state_of

Points = Sequence[tuple[float, float | None]]
TITLES = {"box": "queue"}
CELLS = {
    "task": 14, "box": 13, "state": 1, "loss": 8, "epochs": 7, "took": 7, "left": 7, "cost": 9,
    "limit": 7, "restarts": 8, "node": 10,
}  # fmt: skip
METRIC = 8
TITLE = 14  # the most that the title of a metric gets, where there is room for words
HISTORY = 12
MARK, NAME = 2, 18
WORDS = 100  # from this width on the state is written beside its sign
STATE = 13
JOB_STATE = 24  # where a scheduler says more than the state
LESS = ("task", "box")
LEFT = ("cell", "task", "box", "state", "node")  # words, the others are numbers


@dataclass(frozen=True, slots=True)
class Sheet:
    """How one table is painted: what is known of all its rows. `charted` are marked rows with their style,
    `cells` and `boxes` the names of all.
    """

    columns: tuple[str, ...]
    best: Best
    order: Order
    width: int
    name: int = NAME
    history: int = 0  # cells of the loss history; 0 leaves it out
    charted: Mapping[str, str] = field(default_factory=dict)
    cells: tuple[str, ...] = ()
    boxes: tuple[str, ...] = ()
    jobs: bool = False


def sheet_of(rows: Sequence[Row], order: Order, width: int, charted: Mapping[str, str]) -> Sheet:
    """The columns that fit, the sorted one among them, and the best values."""
    every, jobs = columns_of(rows), any(row.scheduled for row in rows)
    name = NAME if width >= 70 else max(8, min(NAME, width // 4))
    others = [column for column in every if column != "cell" and _told(rows, column)]
    room = width - MARK - name
    shown = _fitting(others, room, width, jobs=jobs)
    for words in LESS:  # where it is narrow, how a cell stands matters more than these
        if "loss" not in shown and words in others and words != order.column:
            others.remove(words)
            shown = _fitting(others, room, width, jobs=jobs)
    while order.column in others and order.column not in shown and others:
        others = others[1:]
        shown = _fitting(others, room, width, jobs=jobs)
    spare = room - sum(_cells(column, width, jobs=jobs) + 1 for column in shown)
    history = HISTORY if "loss" in shown and spare > HISTORY else 0
    name = min(name + max(0, spare - (history + 1 if history else 0)), 32)
    cells = tuple(row.cell.name for row in rows)
    boxes = tuple(dict.fromkeys(row.box for row in rows))
    return Sheet(
        tuple(shown), best_of(rows, every), order, width, name, history, charted, cells, boxes, jobs
    )


def _told(rows: Sequence[Row], column: str) -> bool:
    """Whether any row has something to say there; the state always has."""
    return column in ("state", "box", "loss") or any(
        value_of(row, column) is not None for row in rows
    )


def _fitting(columns: Sequence[str], room: int, width: int, *, jobs: bool) -> list[str]:
    shown: list[str] = []
    for column in columns:
        room -= _cells(column, width, jobs=jobs) + 1
        if room < 0:
            break
        shown.append(column)
    return shown


def _cells(column: str, width: int, *, jobs: bool) -> int:
    if column == "state" and width >= WORDS:
        return JOB_STATE if jobs else STATE
    if column not in CELLS and width >= WORDS:
        return min(TITLE, max(METRIC, cell_len(title_of(column)) + 1))  # one for the arrow
    return CELLS.get(column, METRIC)


def title_of(column: str) -> str:
    """A column in words."""
    if column.startswith("metric:"):
        return metric_title(column.removeprefix("metric:"))
    return say(TITLES.get(column, column))


def table_head(sheet: Sheet) -> Text:
    """The titles; the sorted one shows which way."""
    text = line(" " * MARK, fit(_title("cell", sheet), sheet.name))
    for column in sheet.columns:
        right = column not in LEFT
        text.append_text(
            line(
                " ",
                fit(
                    _title(column, sheet), _cells(column, sheet.width, jobs=sheet.jobs), right=right
                ),
            )
        )
        if column == "loss" and sheet.history:
            text.append_text(line(" ", fit(line((say("history"), "faint")), sheet.history)))
    return text


def _title(column: str, sheet: Sheet) -> Text:
    if sheet.order.column != column:
        narrow = column == "state" and sheet.width < WORDS
        return line(("" if narrow else title_of(column), "faint"))
    room = sheet.name if column == "cell" else _cells(column, sheet.width, jobs=sheet.jobs)
    title = line((title_of(column), "heading"))
    if title.cell_len >= room:
        title.truncate(room - 1)
    return line(title, (arrow(falling=sheet.order.falling), "accent"))


def table_row(row: Row, sheet: Sheet, losses: Points) -> Text:
    """One cell of one queue."""
    style = sheet.charted.get(row.key)
    running = row.cell.state is CellState.RUNNING
    tone = "stale" if row.trust is not Trust.LIVE and running else "strong" if running else "text"
    name = cut_name(row.cell.name, sheet.name, sheet.cells)
    text = line(("■ ", style) if style else "  ", fit(line((name, tone)), sheet.name))
    for column in sheet.columns:
        right = column not in LEFT
        text.append_text(
            line(
                " ",
                fit(
                    _value(row, column, sheet),
                    _cells(column, sheet.width, jobs=sheet.jobs),
                    right=right,
                ),
            )
        )
        if column == "loss" and sheet.history:
            values = even(losses, min(sheet.history, len(losses)))
            drawn = spark(values, sheet.history, "history")
            text.append_text(line(" ", fit(drawn, sheet.history)))
    return text


def _value(row: Row, column: str, sheet: Sheet) -> Text:
    cell = row.cell
    stale = row.trust is not Trust.LIVE and cell.state in (CellState.RUNNING, CellState.CANNOT_TELL)
    match column:
        case "task":
            return _word(cell.task)
        case "box":
            return line((cut_name(row.box, CELLS["box"], sheet.boxes), box_style(row.box)))
        case "state":
            glyph, word, style = words_of(cell) if row.scheduled else state_of(cell)
            return line(
                (
                    glyph if sheet.width < WORDS else f"{glyph} {word}",
                    "stale" if stale else style,
                )
            )
        case "epochs":
            if cell.epoch is None:
                return _nothing(row)
            return line((f"{cell.epoch}/{cell.epochs or UNKNOWN}", "text"))
        case "node":
            return _word(cell.node and cut_name(cell.node, CELLS["node"]))
        case "restarts":
            return line((str(cell.restarts), "level-watch")) if cell.restarts else _word(None)
        case "limit" if cell.limit_left_seconds is None or cell.state is not CellState.RUNNING:
            return _word(None)
        case "took" | "left" | "limit":
            seconds = value_of(row, column)
            if not isinstance(seconds, float | int) or not math.isfinite(seconds):
                return _nothing(row)
            return line((units.span(seconds, fine=column == "took"), "stale" if stale else "muted"))
        case "cost":
            known = row.cost is not None
            return (
                line((units.money(row.cost or 0.0, row.currency), "money"))
                if known
                else _nothing(row)
            )
    return _number(row, column, sheet)


def _number(row: Row, column: str, sheet: Sheet) -> Text:
    """A loss or a metric; the best one of its task wears a star."""
    value = value_of(row, column)
    if not isinstance(value, float | int):
        return _nothing(row)
    if not math.isfinite(value):
        return line((units.number(value), "level-act"))
    best = sheet.best.get((row.cell.task, column)) == value and row.cell.state is CellState.FINISHED
    return line(
        ("★", "accent") if best else "", (units.number(value), "strong" if best else "text")
    )


def _word(word: str | None) -> Text:
    return line((word, "muted")) if word else line((ABSENT, "absent"))


def _nothing(row: Row) -> Text:
    """`?` where it should be known by now, `–` where there is nothing to know yet."""
    begun = row.cell.state in (CellState.RUNNING, CellState.CANNOT_TELL)
    return line((UNKNOWN, "unknown")) if begun else line((ABSENT, "absent"))
