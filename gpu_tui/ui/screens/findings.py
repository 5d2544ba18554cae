"""Findings: all of them by severity, with evidence and remedy of the one under the cursor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, cast

from textual import on
from textual.binding import BindingType
from textual.widget import Widget

from gpu_tui.core.findings import Finding
from gpu_tui.core.speech import say
from gpu_tui.ui.clipboard import Copies
from gpu_tui.ui.keys import bindings
from gpu_tui.ui.panes.pane import Moment, nothing_matches
from gpu_tui.ui.screens.filtered import FilteredCard
from gpu_tui.ui.text.calm import no_findings
from gpu_tui.ui.text.findings import age_of, columns_of, finding_detail, finding_row, finding_text
from gpu_tui.ui.text.marks import more_below
from gpu_tui.ui.text.timeline import words_of
from gpu_tui.ui.widgets.detail import Detail
from gpu_tui.ui.widgets.near import NearCursor
from gpu_tui.ui.widgets.rows import Rows


class FindingsScreen(FilteredCard):
    """Dismissed with the id of the finding to go to. Reads only."""

    TITLE_WORDS = "Findings"
    CONTEXTS = ("findings", "overlay")
    READS_FINDINGS = True
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("findings", dangerous=False)]

    def __init__(self, moment: Moment) -> None:
        super().__init__(moment)
        self._list = Rows(id="finding-rows")
        self._whole = Detail(id="finding-detail")
        self._near = NearCursor()

    def content(self) -> Iterable[Widget]:
        """The list above, one finding whole below."""
        yield self._list
        yield self._whole
        yield from self.filter_widgets()

    def listed(self) -> Widget:
        """The findings."""
        return self._list

    def on_mount(self) -> None:
        """The keys are for the list."""
        super().on_mount()
        self.set_focus(self._list)

    def paint(self, moment: Moment) -> None:
        """Worst first."""
        rows = self._list
        found = self.fits.select(moment.fleet.findings, words_of)
        if not moment.fleet.findings:
            rows.put(no_findings(moment.fleet, rows.size.width))
        elif not found:
            rows.put(nothing_matches(self.fits.wanted, rows.size.width))
        else:
            self._rows(moment, found)
        self._edge()
        self._detail()

    def _edge(self) -> None:
        """How many findings the filter left, and how many are out of sight."""
        rows, total = self._list, len(self.moment.fleet.findings)
        count = len(rows.lines) if rows.here is not None else 0
        kept = say("{findings} of {total}", findings=count, total=total) if self.fits else ""
        self.edge(f"{kept}  {more_below(rows.hidden)}".strip())

    def _rows(self, moment: Moment, found: Sequence[Finding]) -> None:
        """A line each, painted near the cursor only: of a sweep that failed there are thousands."""
        now, width = moment.fleet.taken_at, self._list.size.width
        names = [view.name for view in moment.fleet.instances]
        columns = columns_of(moment.fleet.findings, width)
        look = (width, columns, hash(tuple(names)))
        keys = [one.id for one in found]
        lines = self._near.lines(
            keys,
            self._list.heir(keys),
            lambda n: (found[n], look, age_of(found[n], now)),
            lambda n: finding_row(found[n], now, width, names, columns),
        )
        self._list.put(lines, keys)

    def _detail(self) -> None:
        rows = self._list
        detail = self._whole
        chosen = next((f for f in self.moment.fleet.findings if f.id == rows.here), None)
        width = detail.size.width
        lines = finding_detail(chosen, width, self.moment.zone) if chosen else []
        detail.about(rows.here, lines)

    @on(Rows.Moved, "#finding-rows")
    def _moved(self, event: Rows.Moved) -> None:
        if self._near.at_edge(event.key, len(self._list.lines)):
            self.paint(self.moment)
            return
        self._edge()
        self._detail()

    def action_evidence(self) -> None:
        """To its place in the log."""
        if self._list.here is not None:
            self.dismiss(self._list.here)

    def action_copy(self) -> None:
        """All that stands below of the one under the cursor, a line for each thing that is said."""
        found = next((f for f in self.moment.fleet.findings if f.id == self._list.here), None)
        if found is not None:
            text = finding_text(found, self.moment.zone)
            cast("Copies", self.app).copy(text, say("the finding is copied"))

    @on(Rows.Chosen, "#finding-rows")
    def _chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        self.dismiss(event.key)


class ActingFindings(FindingsScreen):
    """The same, where findings may be acknowledged."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("findings", dangerous=True)]
    READ_ONLY = False

    def __init__(self, moment: Moment, acknowledge: Callable[[str], None]) -> None:
        super().__init__(moment)
        self._acknowledge = acknowledge

    def action_acknowledge(self) -> None:
        """Hide the finding under the cursor until it is another one."""
        key = self._list.here
        if key is not None:
            self._acknowledge(key)
