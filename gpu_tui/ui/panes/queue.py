"""Queue: the roster as the queue file says, with what became of each cell."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text
from textual import on
from textual.message import Message
from textual.widget import Widget

from gpu_tui.ui.panes.pane import Moment, Pane, more_below
from gpu_tui.ui.text.marks import line, wrap
from gpu_tui.ui.text.sweep import cell_row, queue_head, queue_note, totals
from gpu_tui.ui.widgets.paint import OneLine
from gpu_tui.ui.widgets.rows import Rows


class QueuePane(Pane):
    """The cells of the selected instance."""

    NUMBER, NAME, TITLE, CONTEXT, FILTERS = 4, "queue", "Queue", "queue", True

    class CellChosen(Message):
        """Enter on a cell: show its log."""

        def __init__(self, cell: str) -> None:
            super().__init__()
            self.cell = cell

    def __init__(self) -> None:
        super().__init__()
        self._wanted = ""

    def content(self) -> Iterable[Widget]:
        """The cells, why the one under the cursor is as it is, and the sums."""
        yield Rows(id="cell-rows")
        yield OneLine(id="cell-why")
        yield OneLine(id="queue-total")
        yield OneLine(id="queue-money")

    def paint(self, moment: Moment) -> None:
        """The selected instance's queue."""
        rows = self.query_one(Rows)
        view = moment.selected
        width = rows.size.width
        if view is None or not view.queue.cells:
            note = queue_note(view) if view else line(("no instance selected", "muted"))
            rows.put(wrap(note.plain, width, str(note.spans[0].style) if note.spans else "muted"))
            self._sums([])
            self.entitle(view.name if view else "")
            return
        cells = [
            cell
            for cell in view.queue.cells
            if all(w in f"{cell.name} {cell.state}".casefold() for w in self._wanted.split())
        ]
        rows.put(
            [cell_row(view, cell, width) for cell in cells],
            [f"{cell.index}:{cell.name}" for cell in cells],
            queue_head(width),
        )
        self._sums(totals(view, width))
        self._say_why()
        self.entitle(view.name, more_below(rows.hidden))

    def _sums(self, sums: list[Text]) -> None:
        for number, id in enumerate(("#queue-total", "#queue-money")):
            widget = self.query_one(id, OneLine)
            widget.display = number < len(sums)
            if number < len(sums):
                widget.put(sums[number])
        if not sums:
            self.query_one("#cell-why", OneLine).display = False

    def _say_why(self) -> None:
        why = self.query_one("#cell-why", OneLine)
        key = self.query_one(Rows).key
        view = self.moment.selected if self.moment else None
        cell = next(
            (c for c in (view.queue.cells if view else ()) if f"{c.index}:{c.name}" == key), None
        )
        text = line()
        if cell is not None and cell.why:
            text = line((f"{cell.name}: {cell.why}", "level-watch"))
        elif cell is not None and cell.metrics:
            shown = "  ".join(f"{name} {value:g}" for name, value in list(cell.metrics.items())[:4])
            text = line((f"{cell.name}: {shown}", "muted"))
        why.display = bool(text.plain)
        why.put(text)

    def keep_only(self, wanted: str) -> None:
        """Words that must be in a cell's name or state."""
        self._wanted = wanted.casefold()
        if self.moment is not None:
            self.show(self.moment)

    @on(Rows.Chosen)
    def _chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        self.post_message(self.CellChosen(event.key.partition(":")[2]))

    @on(Rows.Moved)
    def _moved(self, event: Rows.Moved) -> None:
        event.stop()
        self._say_why()
