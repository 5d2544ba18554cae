"""The whole sweep: its end, its money, what to move, and every cell in one table that can be sorted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.binding import BindingType
from textual.widget import Widget

from gpu_tui.core import units
from gpu_tui.core.cell_export import to_csv, to_markdown
from gpu_tui.core.cell_table import Order, Row, as_listed, columns_of, in_order, rows_of
from gpu_tui.core.mask import masked
from gpu_tui.core.rebalance import suggest
from gpu_tui.core.redact import redact
from gpu_tui.core.speech import counted, say
from gpu_tui.new_file import write_new
from gpu_tui.ui.keys import Key, bindings
from gpu_tui.ui.panes.pane import Moment, nothing_matches
from gpu_tui.ui.plot import Curve, logarithmic, render_curves
from gpu_tui.ui.screens.filtered import FilteredCard
from gpu_tui.ui.text.bounds import flow
from gpu_tui.ui.text.jobs import no_log
from gpu_tui.ui.text.marks import fit, line, more_below, wrap
from gpu_tui.ui.text.outlook import lane_head, lane_row, lane_why, outlook_lines
from gpu_tui.ui.text.sweep import course, state_words
from gpu_tui.ui.text.sweep_table import Points, sheet_of, table_head, table_row
from gpu_tui.ui.widgets.near import NearCursor
from gpu_tui.ui.widgets.paint import Block
from gpu_tui.ui.widgets.rows import Rows

CURVES = 6  # more lines in one chart nobody can tell apart
BOTH = 26  # lines of a card in which the table and a chart stand together
ROOMY = 32  # lines in which the queues are shown unasked
ROOMY_CHART = 44  # and a chart beside them
CHART_SHARE = 0.45
AT_ONCE = 1.0  # seconds in which the past of a log is read
ROWS_LEFT = 5  # of the table under everything else
CHART_LEFT = 14  # lines of the chart with its legend where it stands in place of the table


class SweepScreen(FilteredCard):
    """Dismissed with the key of the cell to go to. Reads only."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("sweep")]
    CONTEXTS = ("sweep", "overlay")
    AUTO_FOCUS = "#sweep-rows"

    def __init__(self, moment: Moment) -> None:
        super().__init__(moment)
        self._head = Block(id="sweep-head")
        self._table = Rows(id="sweep-rows")
        self._chart = Block(id="sweep-chart")
        self._order = Order()
        self._marked: list[str] = []  # keys of rows, in the order they were marked
        self._charting = False
        self._by_time = False
        self._queues: bool | None = None  # None: where there is room
        self._near = NearCursor()

    def content(self) -> Iterable[Widget]:
        """Sums, cells, chart, filter."""
        yield self._head
        yield self._table
        yield self._chart
        yield from self.filter_widgets()

    def listed(self) -> Widget:
        """The cells."""
        return self._table

    def title_words(self) -> str:
        """Which sweep."""
        return say("Sweep · {what}", what=self.moment.fleet.sweep or say("without a name"))

    # --- painting -----------------------------------------------------------------------------

    def paint(self, moment: Moment) -> None:
        """Everything as it is now."""
        width, height = self._frame.content_size
        if width < 1 or height < 1:
            return
        top = self._summary(moment, width, whole=self._whole)
        rows = self._rows()
        tight = height < ROOMY or (self._queues and len(top) > height - ROWS_LEFT)
        if self._whole and tight:  # a page of its own, in place of the cells
            self._head.put([])
            self._chart.put([])
            self._table.display = True
            self._table.put(top)
            self.edge(more_below(self._table.hidden))
            return
        covered = self._charting and height < BOTH
        top = [*_first(top, max(1, height - (CHART_LEFT if covered else ROWS_LEFT))), line()]
        self._head.put(top)
        keys = {row.key for row in rows}
        self._marked = [key for key in self._marked if key in keys]
        below = max(0, height - len(top) - int(self.filtering))
        tall = self._chart_height(below, height)
        self._show_table(tall < below)
        self._paint_table(rows, width)
        self._chart.put(self._chart_lines(rows, width, tall) if tall else [])

    def _show_table(self, seen: bool) -> None:
        """Show or hide the table. Hidden, it leaves its focus to nobody: the filter would take it, and each key."""
        if not seen and self.focused is self._table:
            self.set_focus(None)
        before, self._table.display = self._table.display, seen
        if seen and not before and self.focused is None:
            self.call_after_refresh(self._table.focus)

    def _summary(self, moment: Moment, width: int, *, whole: bool) -> list[Text]:
        """The outlook; the whole of it has a row for each queue."""
        outlook, now = moment.outlook, moment.fleet.taken_at
        plan = suggest(outlook)
        rows = outlook_lines(outlook, plan, now, moment.zone, width, brief=not whole)
        if whole and outlook.lanes:
            lanes = [lane_row(one, outlook, now, moment.zone, width) for one in outlook.lanes]
            rows += [line(), lane_head(width), *lanes]
            if width < 100:
                rows += lane_why(outlook, width)
        return rows

    @property
    def _whole(self) -> bool:
        """The queues are shown: as somebody wants, else where there is room for them beside the cells."""
        if self._queues is not None:
            return self._queues
        height = self._frame.content_size.height
        few = len(self.moment.outlook.lanes) <= height // 3
        return few and height >= (ROOMY_CHART if self._charting else ROOMY)

    def _chart_height(self, below: int, height: int) -> int:
        """Lines of the chart; all there are where it cannot stand under the table."""
        if not self._charting:
            return 0
        return int(height * CHART_SHARE) if height >= BOTH else below

    def _rows(self) -> list[Row]:
        """The rows that the filter keeps, in order, the waiting tasks of an array as one."""
        return in_order(as_listed(self._kept()), self._order)

    def _kept(self) -> list[Row]:
        return self.fits.select(rows_of(one.lane for one in self.moment.outlook.lanes), _words)

    def _paint_table(self, rows: list[Row], width: int) -> None:
        charted = {key: f"box-{n % CURVES + 1}" for n, key in enumerate(self._marked)}
        sheet = sheet_of(rows, self._order, width, charted)
        look = (
            sheet.columns,
            sheet.best,
            sheet.order.column,
            width,
            sheet.name,
            sheet.history,
            hash((sheet.cells, sheet.boxes)),
        )

        def seen(n: int) -> object:
            losses = self._losses(rows[n])
            return rows[n], look, charted.get(rows[n].key), len(losses), losses[-1:]

        keys = [row.key for row in rows]
        lines = self._near.lines(
            keys,
            self._table.heir(keys),
            seen,
            lambda n: table_row(rows[n], sheet, self._losses(rows[n])),
        )
        self._table.put(lines, keys, table_head(sheet))
        if not rows:
            nothing = [line((say("no cell is known yet"), "muted"))]
            self._table.put(nothing_matches(self.fits.wanted, width) if self.fits else nothing)
        more = more_below(self._table.hidden) if self._table.display else ""
        count = sum(row.cell.tasks for row in rows)
        self.edge(f"{counted(count, 'cell')}  {more}".rstrip())

    # --- chart --------------------------------------------------------------------------------

    def _chart_lines(self, rows: list[Row], width: int, tall: int) -> list[Text]:
        """The marked cells, else the one under the cursor."""
        marked = self._marked or ([self._table.key] if self._table.key else [])
        if not rows:
            return self._nothing(width, tall)
        by_key = {row.key: row for row in rows}
        shown = [by_key[key] for key in marked if key in by_key][:CURVES]
        curves = [Curve(self._course(row), f"box-{n + 1}") for n, row in enumerate(shown)]
        axis = (
            say("time since the first loss")
            if self._by_time
            else say("epochs, or steps where a run has none")
        )
        scale = say(" (log)") if logarithmic(curves) else ""
        legend = [line((say("loss{scale} by ", scale=scale), "faint"), (axis, "muted"))]
        for row, curve in zip(shown, curves, strict=True):
            last = next((v for _, v in reversed(curve.points) if v is not None), None)
            value = units.number(last) if last is not None else say("no losses seen")
            if self._by_time and last is None and self._losses(row):
                value = say("logged before it was watched")
            legend.append(
                line(("━ ", curve.style), (row.cell.name, "text"), (f" {value}", "muted"))
            )
        said = flow([fit(piece, min(width, piece.cell_len)) for piece in legend], width)
        tall = max(0, tall - len(said))
        across = units.span if self._by_time else units.count
        chart = render_curves(curves, width, max(1, tall), across=across)
        drawn = chart.split("\n")[:tall]
        blank = [line()] * (tall - len(drawn))
        return [*said, *(line(row) for row in drawn), *blank]

    def _nothing(self, width: int, tall: int) -> list[Text]:
        """Why there is no chart, in the place of one."""
        if self.fits:
            words = nothing_matches(self.fits.wanted, width)
        else:
            words = wrap(say("no chart: no cell of any queue is known yet"), width, "muted")
        return [*words[:tall], *[line()] * (tall - len(words))]

    def _losses(self, row: Row) -> Points:
        view = self.moment.fleet[row.box]
        return course(view, row.cell)

    def _course(self, row: Row) -> Points:
        """Losses by how far the run had come, or by seconds since the first one."""
        view = self.moment.fleet[row.box]
        if not self._by_time:
            return view.courses.get(row.cell.name, ())
        timed = _when_seen(view.series.get(f"loss:{row.cell.name}", ()))
        return [(at - timed[0][0], value) for at, value in timed]

    def footer_keys(self) -> list[Key]:
        """Where the chart covers the table, its own keys come first."""
        keys = super().footer_keys()
        if self._charting and not self._table.display:
            keys.sort(key=lambda key: key.action not in ("curves", "axis"))
        return keys

    # --- keys ---------------------------------------------------------------------------------

    def action_sort(self, way: str) -> None:
        """By the column to the right or to the left; before the first one, as the queues stand."""
        every = ("", *columns_of(rows_of(one.lane for one in self.moment.outlook.lanes)))
        here = every.index(self._order.column) if self._order.column in every else 0
        column = every[(here + int(way)) % len(every)]
        self._order = Order(column, self._order.falling)
        self.show(self.moment)

    def action_flip(self) -> None:
        """Largest first, or smallest first."""
        self._order = Order(self._order.column or "cell", not self._order.falling)
        self.show(self.moment)

    def action_mark(self) -> None:
        """Take the cell under the cursor into the chart, or out of it."""
        key = self._table.here
        if key is None:
            return
        if key in self._marked:
            self._marked.remove(key)
        elif len(self._marked) >= CURVES:
            self.app.notify(
                say("{curves} cells at most: unmark one with space", curves=CURVES), timeout=3
            )
        else:
            self._marked.append(key)
        self.show(self.moment)

    def action_curves(self) -> None:
        """Show or hide the chart."""
        self._charting = not self._charting
        self.show(self.moment)

    def action_axis(self) -> None:
        """By time, or by how far the run had come."""
        self._by_time = not self._by_time
        self._charting = True
        self.show(self.moment)

    def action_queues(self) -> None:
        """Show or hide the queues."""
        self._queues = not self._whole
        self.show(self.moment)

    async def action_save(self, form: str) -> None:
        """Each cell that the filter keeps, without secrets, to a new file in the working directory."""
        rows = masked(in_order(self._kept(), self._order), redact)
        stem = re.sub(r"[^\w.-]+", "_", self.moment.fleet.sweep or "sweep", flags=re.ASCII).lstrip(
            "."
        )
        stamp = datetime.fromtimestamp(self.moment.fleet.taken_at, UTC).strftime("%Y%m%dT%H%M%SZ")
        path = Path.cwd() / f"{stem[:80] or 'sweep'}-cells-{stamp}.{form}"
        try:
            text = to_csv(rows) if form == "csv" else to_markdown(rows)
            await asyncio.to_thread(write_new, path, text)
        except OSError as wrong:
            self.app.notify(
                say("not saved: {strerror} ({path})", strerror=wrong.strerror, path=path),
                severity="error",
            )
            return
        self.app.notify(say("{rows} saved to {path}", rows=counted(len(rows), "cell"), path=path))

    def leave(self) -> None:
        """Leave the chart where it covers the table, then the card."""
        if self._charting and not self._table.display:
            self.action_curves()
        else:
            super().leave()

    @on(Rows.Moved, "#sweep-rows")
    def _moved(self, event: Rows.Moved) -> None:
        event.stop()
        if (self._charting and not self._marked) or self._near.at_edge(
            event.key, len(self._table.lines)
        ):
            self.show(self.moment)

    @on(Rows.Chosen, "#sweep-rows")
    def _chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        row = next((row for row in self._rows() if row.key == event.key), None)
        if row is not None and row.cell.tasks > 1:
            self.app.notify(no_log(row.cell), timeout=3)
        else:
            self.dismiss(event.key)


def _first(rows: list[Text], most: int) -> list[Text]:
    """As many as there is room for, and how many more there are."""
    below = len(rows) - most + 1
    if below < 2:
        return rows
    return [*rows[: most - 1], line((say("▼ {below} more lines: v", below=below), "muted"))]


def _when_seen(points: Points) -> Points:
    """The losses whose time is known: those of the first look were logged some time before, all but the last.

    Where none but that one is left there is no course in time.
    """
    first = sum(at - points[0][0] < AT_ONCE for at, _ in points)
    return points[first - 1 :] if first < len(points) else ()


def _words(row: Row) -> str:
    """What the filter looks at."""
    return f"{row.cell.name} {row.cell.task or ''} {row.box} {state_words(row.cell)}"
