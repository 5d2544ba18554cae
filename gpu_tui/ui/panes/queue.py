"""Queue: the roster as the queue file says, with what became of each cell."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text
from textual import on
from textual.message import Message
from textual.widget import Widget

from gpu_tui.core.listing import in_list_order
from gpu_tui.core.speech import headed, say
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.core.thinned import even
from gpu_tui.state.settled import is_fresh
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.panes.pane import Moment, Pane, nothing_matches
from gpu_tui.ui.text import jobs
from gpu_tui.ui.text.area import area
from gpu_tui.ui.text.filters import Filter
from gpu_tui.ui.text.marks import fit, line, more_below, wrap
from gpu_tui.ui.text.sweep import (
    cell_row,
    course,
    queue_head,
    queue_note,
    results_note,
    state_words,
    totals,
)
from gpu_tui.ui.widgets.near import NearCursor
from gpu_tui.ui.widgets.paint import Block
from gpu_tui.ui.widgets.rows import Rows

FINE = 4  # values of a course for each column, which shows their mean
COURSE_LINES, COURSE_MOST = 6, 12  # spare lines from which losses are drawn, and how high at most
ROOMY = 86  # cells from which there is room for a line about results


def _style(text: Text) -> str:
    return str(text.spans[0].style) if text.spans else "muted"


def _now(view: InstanceView) -> str | None:
    """The row that the cursor starts on."""
    return view.queue.running.key if view.queue.running is not None else None


def _words(cell: Cell) -> str:
    """What the filter looks at."""
    return f"{cell.name} {state_words(cell)}"


def _seen(view: InstanceView, cell: Cell, width: int, look: object = None) -> object:
    """All that a row is made of. `look`: the columns of a scheduler's list."""
    losses = course(view, cell)
    first = cell.state is CellState.CANNOT_TELL and is_fresh(view)
    return view.name, cell, width, view.link.live, first, len(losses), losses[-1:], look


def _course(view: InstanceView, cell: Cell | None, width: int, spare: int) -> list[Text]:
    """Where lines would stay empty: the losses of the cell under the cursor."""
    losses = course(view, cell) if cell is not None else ()
    if cell is None or spare < COURSE_LINES or len(losses) < 2 or width < ROOMY // 2:
        return []
    tall = min(spare - 3, COURSE_MOST)
    drawn = area(even(losses, FINE * width), width, tall, "history")
    return [line((say("loss of {of}", of=cell.name), "muted")), *drawn, line()] if drawn else []


class QueuePane(Pane):
    """The cells of the selected instance."""

    NUMBER, NAME, TITLE, CONTEXT, FILTERS = 4, "queue", "Queue", "queue", True
    SHOWS = "Here stand the runs of one box: how far each is, its loss, when it ends."

    class CellChosen(Message):
        """Enter on a cell: show its log."""

        def __init__(self, cell: str) -> None:
            super().__init__()
            self.cell = cell

    def __init__(self) -> None:
        super().__init__()
        self.rows = Rows(id="cell-rows")
        self._block = Block(id="queue-notes")
        self._fits = Filter()
        self._near = NearCursor()
        self._instance: str | None = None
        self._shown: dict[str, Cell] = {}  # by key

    def content(self) -> Iterable[Widget]:
        """The cells, why the one under the cursor is as it is, and the sums."""
        yield self.rows
        yield self._block

    def paint(self, moment: Moment) -> None:
        """The selected instance's queue."""
        rows = self.rows
        view = moment.selected
        width = rows.size.width
        if view is None or not view.queue.cells:
            note = queue_note(view) if view else line((self.nobody(moment.fleet), "muted"))
            there = results_note(view) if view else None
            notes = [note] if there is None else [note, there]
            rows.put([row for one in notes for row in wrap(one.plain, width, _style(one))])
            self._block.put([])
            self._instance, self._shown = None, {}
            self.entitle(view.name if view else "")
            return
        kept = self._fits.select(view.queue.cells, _words)
        kind = view.instance.scheduler
        cells = kept if kind is None else in_list_order(kept)
        sheet = None if kind is None else jobs.sheet_of(kind, cells, width)
        look = None if sheet is None else sheet.look
        keys = [cell.key for cell in cells]
        self._shown = dict(zip(keys, cells, strict=True))
        start = _now(view) if self._instance != view.name else None
        lines = self._near.lines(
            keys,
            start if start in keys else rows.heir(keys),
            lambda n: _seen(view, cells[n], width, look),
            lambda n: jobs.row(view, cells[n], sheet) if sheet else cell_row(view, cells[n], width),
        )
        total = len(view.queue.cells)
        head = jobs.head(sheet) if sheet else queue_head(view, width)
        if cells:
            rows.put(lines, keys, head)
        else:
            rows.put(nothing_matches(self._fits.wanted, width), head=head)
        if self._instance != view.name:
            self._instance = view.name
            if view.queue.running is not None:
                rows.point(view.queue.running.key)
        self._notes(moment, view, width)
        count = say("{kept} of {views}", kept=len(kept), views=total)
        self.entitle(f"{view.name} · {count}" if self._fits else view.name, more_below(rows.hidden))

    def _notes(self, moment: Moment, view: InstanceView, width: int) -> None:
        """Why the cell under the cursor is as it is, and the sums."""
        cell = self._shown.get(self.rows.here or "")
        why = line()
        if cell is not None and (words := jobs.note(cell)):
            why = line((headed(cell.name, words), "level-watch"))
        elif cell is not None and cell.metrics:
            shown = "  ".join(f"{name} {value:g}" for name, value in list(cell.metrics.items())[:4])
            why = line((f"{cell.name}: {shown}", "muted"))
        notes = [fit(why, width)] if why.plain else []
        if view.instance.queue.useless:
            notes += wrap(queue_note(view).plain, width, "level-watch")
        sums = totals(view, moment.outlook.of(view.name), moment.zone, width)
        if (there := results_note(view)) is not None and width >= ROOMY:
            sums = [fit(there, width), *sums]
        spare = self.content_size.height - 1 - len(self.rows.lines) - len(notes) - len(sums)
        self._block.put([*_course(view, cell, width, spare), *notes, *sums])

    @property
    def cell_here(self) -> str | None:
        """The name of the cell under the cursor."""
        cell = self._shown.get(self.rows.here or "")
        return cell.name if cell is not None else None

    def keep_only(self, fits: Filter) -> None:
        """By a cell's name and state."""
        self._fits = fits
        if self.moment is not None:
            self.show(self.moment)

    @on(Rows.Chosen)
    def _chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        cell = self._shown.get(event.key)
        if cell is not None and cell.tasks > 1:
            self.app.notify(jobs.no_log(cell), timeout=3)
        elif cell is not None:
            self.post_message(self.CellChosen(cell.name))

    @on(Rows.Moved)
    def _moved(self, event: Rows.Moved) -> None:
        event.stop()
        if self.moment is not None and self.moment.selected is not None:
            if self._near.at_edge(event.key, len(self.rows.lines)):
                self.show(self.moment)
            self._notes(self.moment, self.moment.selected, self.rows.size.width)
