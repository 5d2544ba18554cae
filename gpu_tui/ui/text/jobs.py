"""The queue of a scheduler as rows: what squeue or kubectl shows at a glance, with how far each job is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from gpu_tui.core import units
from gpu_tui.core.listing import reason_of
from gpu_tui.core.speech import headed, joined, say, told
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.core.thinned import even
from gpu_tui.state.settled import is_fresh
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.text.marks import ABSENT, Piece, fit, fitted, line, spark
from gpu_tui.ui.text.names import cut_name
from gpu_tui.ui.text.sweep import (
    course,
    exit_of,
    left_of,
    loss_of,
    progress_of,
    state_of,
    took_of,
)

NAME, WHOLE_NAME = 12, 24
STATUS, WHOLE_STATUS = 21, 30
NARROW = 46  # below it the status is its sign alone
WHY, GRAPH = 20, 24  # from so many spare cells on
NUMBERS = frozenset({"loss", "took", "job age", "restarts", "gpus", "exit", "limit"})


@dataclass(frozen=True, slots=True)
class Column:
    """One column that may be left out: its title, its cells, whether any row has something there, and its text."""

    title: str
    width: int
    has: Callable[[Cell], bool]
    text: Callable[[Cell], Text]


@dataclass(frozen=True, slots=True)
class Sheet:
    """The columns that fit a list, from left to right. Widths are in cells; 0 leaves one out."""

    name: int
    status: int
    columns: tuple[Column, ...]
    why: int = 0
    graph: int = 0
    names: tuple[str, ...] = ()

    @property
    def look(self) -> object:
        """All that a row is painted by besides its cell."""
        titles = tuple(column.title for column in self.columns)
        return self.name, self.status, titles, self.why, self.graph, hash(self.names)


def _word(text: str | None, width: int) -> Text:
    return line((cut_name(text, width), "muted")) if text else line((ABSENT, "absent"))


def _limit(cell: Cell) -> Text:
    """The time left of its limit; of a job that waits the whole limit."""
    left = cell.limit_left_seconds
    if left is None or cell.state is not CellState.RUNNING:
        whole = cell.limit_seconds if cell.state is CellState.PENDING else None
        return (
            line((ABSENT, "absent"))
            if whole is None
            else line((units.span(whole, fine=False), "muted"))
        )
    late = cell.eta_seconds is not None and cell.eta_seconds > left
    return line((units.span(left, fine=False), "level-watch" if late else "text"))


def _count(value: int | None, style: str = "muted") -> Text:
    return line((str(value), style)) if value else line((ABSENT, "absent"))


def _age(cell: Cell) -> Text:
    age = cell.age_seconds
    return line((ABSENT, "absent")) if age is None else line((units.age(age), "muted"))


# In each list the column that is dropped last is first.
LIMIT = Column(
    "limit", 7, lambda c: c.limit_left_seconds is not None or bool(c.limit_seconds), _limit
)
LOSS = Column("loss", 8, lambda c: c.loss is not None, loss_of)
NODE = Column("node", 10, lambda c: c.node is not None, lambda c: _word(c.node, 10))
TOOK = Column("took", 7, lambda c: c.duration_seconds is not None, took_of)
AGE = Column("job age", 7, lambda c: c.age_seconds is not None, _age)
RESTARTS = Column(
    "restarts", 8, lambda c: bool(c.restarts), lambda c: _count(c.restarts, "level-watch")
)
TASK = Column("partition", 9, lambda c: c.task is not None, lambda c: _word(c.task, 9))
SPACE = Column("namespace", 9, lambda c: c.task is not None, lambda c: _word(c.task, 9))
GPUS = Column("gpus", 4, lambda c: bool(c.gpus), lambda c: _count(c.gpus))
EXIT = Column("exit", 4, lambda c: c.exit_code is not None, exit_of)
BY_VALUE: dict[str, tuple[Column, ...]] = {
    "slurm": (LIMIT, LOSS, NODE, TOOK, TASK, RESTARTS, GPUS, EXIT),
    "kubernetes": (RESTARTS, AGE, NODE, LOSS, LIMIT, EXIT, GPUS, SPACE),
}
# From left to right, after the status and the epoch.
ORDER = (LOSS, TOOK, AGE, LIMIT, RESTARTS, GPUS, EXIT, NODE, TASK, SPACE)
FIXED = 7 + 1 + 7 + 1  # epoch and left, with a blank each


def sheet_of(kind: str, cells: Sequence[Cell], width: int) -> Sheet:
    """The columns of a list of the scheduler `kind`: a column without a value in any row has no room."""
    names = tuple(cell.name for cell in cells)
    longest = max(map(len, names), default=NAME)
    name = max(6, min(NAME, width // 4))
    status = 1 if width < NARROW else min(STATUS, width - name - FIXED - 1)
    spare = width - name - 1 - status - FIXED
    shown = []
    for column in BY_VALUE.get(kind, ()):
        if column is SPACE and len({cell.task for cell in cells}) < 2:
            continue  # it would say the same in each row
        if spare > column.width and any(map(column.has, cells)):
            shown.append(column)
            spare -= column.width + 1
    more = min(max(0, spare), max(0, min(longest, WHOLE_NAME) - name))
    name, spare = name + more, spare - more
    if status > 1 and spare > WHOLE_STATUS - status:
        spare, status = spare - (WHOLE_STATUS - status), WHOLE_STATUS
    why = spare - 1 if spare > WHY and any(cell.why for cell in cells) else 0
    graph = min(GRAPH, spare - 1) if not why and spare > GRAPH and LOSS in shown else 0
    if status > 1 and not why and not graph:
        status += max(0, spare)
    columns = tuple(column for column in ORDER if column in shown)
    return Sheet(name, status, columns, why, graph, names)


def head(sheet: Sheet) -> Text:
    """The titles above the rows."""
    pieces: list[Piece] = []
    rows = [
        ("status" if sheet.status > 1 else "", sheet.status, False),
        ("cell", sheet.name, False),
        ("epoch", 7, True),
        ("left", 7, True),
    ]
    rows += [(column.title, column.width, column.title in NUMBERS) for column in sheet.columns]
    rows += [("history", sheet.graph, False), ("why", sheet.why, False)]
    for title, cells, right in rows:
        if cells:
            pieces += (*fitted((say(title), "faint"), cells, right=right), " ")
    return line(*pieces[:-1])


def row(view: InstanceView, cell: Cell, sheet: Sheet) -> Text:
    """One job, or the waiting tasks of an array."""
    stale = not view.link.live
    sign, words, style = status_of(view, cell)
    tone = "strong" if cell.state is CellState.RUNNING else "stale" if stale else "text"
    said = f"{sign} {words}" if sheet.status > 1 else sign
    parts = [
        fit(line((said, "stale" if stale else style)), sheet.status),
        fit(line((_name(cell, sheet), tone)), sheet.name),
        fit(progress_of(cell), 7, right=True),
        fit(left_of(cell), 7, right=True),
    ]
    parts += [
        fit(column.text(cell), column.width, right=column.title in NUMBERS)
        for column in sheet.columns
    ]
    if sheet.graph:
        losses = course(view, cell)
        values = even(losses, min(sheet.graph, len(losses)))
        parts.append(fit(spark(values, sheet.graph, "history") if values else line(), sheet.graph))
    if sheet.why:
        why = (note(cell) or "").removeprefix(f"{cell.status}: ")
        parts.append(fit(line((why, "muted")), sheet.why))
    return line(parts[0], *(piece for part in parts[1:] for piece in (" ", part)))


def _name(cell: Cell, sheet: Sheet) -> str:
    """Its name, cut to the column; of a waiting array the task numbers are kept."""
    if cell.tasks > 1 and cell_len(cell.name) > sheet.name:
        return cut_name(cell.job or "", sheet.name)
    return cut_name(cell.name, sheet.name, sheet.names)


def status_of(view: InstanceView, cell: Cell) -> tuple[str, str, str]:
    """The status of a row: `first look` while an instance is new and the state is not known."""
    if cell.state is CellState.CANNOT_TELL and is_fresh(view):
        return "◔", say("first look"), "muted"
    return words_of(cell)


def words_of(cell: Cell) -> tuple[str, str, str]:
    """Its sign, the scheduler's own word where that says more than the state, and its style."""
    sign, word, style = state_of(cell)
    if cell.halted or cell.still_seconds is not None:
        return sign, word, style
    own = cell.status or ""
    if cell.state is CellState.PENDING:
        own = reason_of(cell) or ""
    plain = own.casefold() in PLAIN or cell.state in (CellState.CANNOT_TELL, CellState.SUSPICIOUS)
    words = word if plain or not own else own
    if cell.tasks > 1:
        words = say("{tasks} wait", tasks=cell.tasks) + ("" if plain else f": {words}")
    elif cell.state is CellState.PENDING and cell.waited is not None:
        words = f"{words} {units.age(cell.waited)}"
    elif cell.state is CellState.RUNNING and cell.node_state:
        sign, style, words = "▲", "level-watch", say("{state}, node out", state=words)
    return sign, words, style


# Words of a scheduler that say no more than the state.
PLAIN = frozenset({"pending", "running", "completed", "complete", "succeeded", "failed", "error"})


_WAITED = re.compile(r"\bfor [0-9]{1,9} (?:s|min|h|days?)\b")  # the reason itself says for how long


def note(cell: Cell) -> str | None:
    """Why it is as it is, how long it waits and when it is expected to begin; None where there is nothing to say."""
    said = [told(cell.why)] if cell.why else []
    if cell.node_state and cell.state is not CellState.PENDING:  # there it is in the reason
        said.append(headed(say("out of service"), cell.node_state))
    if cell.state is CellState.PENDING and cell.waited is not None:
        if _WAITED.search(cell.why or "") is None:
            said.append(say("waits for {age}", age=units.spoken(cell.waited)))
        expected = _until_start(cell)
        if expected is not None:
            said.append(say("expected to start in {span}", span=units.spoken(expected)))
    return joined(said) or None


def no_log(cell: Cell) -> str:
    """The answer to a key that asks for the log of tasks that wait."""
    return say("{tasks} tasks wait: none has a log", tasks=cell.tasks)


def _until_start(cell: Cell) -> float | None:
    """Seconds until the scheduler expects to start it, as of the same clock as its age."""
    if cell.expected_at is None or cell.submitted_at is None or cell.age_seconds is None:
        return None
    left = cell.expected_at - (cell.submitted_at + cell.age_seconds)
    return left if left > 0 else None
