"""Log: one log of the selected box, its live end and as much of its past as somebody scrolls to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.binding import BindingType
from textual.message import Message
from textual.widget import Widget

from gpu_tui.core import units
from gpu_tui.core.logs import LogSource
from gpu_tui.core.metrics import JOBS
from gpu_tui.core.ports import FleetControl
from gpu_tui.core.speech import counted, say
from gpu_tui.core.sweep import CellState
from gpu_tui.state.log_document import LogDocument
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.state.views import InstanceView
from gpu_tui.state.views import LogView as Followed
from gpu_tui.ui.clipboard import Copies
from gpu_tui.ui.keys import bindings
from gpu_tui.ui.panes.log_caption import remarks
from gpu_tui.ui.panes.log_reach import LogReach
from gpu_tui.ui.panes.log_save import save
from gpu_tui.ui.panes.pane import Moment, Pane, shortly
from gpu_tui.ui.ports import FleetStore
from gpu_tui.ui.text.filters import Filter, FilterError
from gpu_tui.ui.text.logs import advice, mark_style, no_log, unfollowed
from gpu_tui.ui.text.marks import line, wrap
from gpu_tui.ui.text.places import HINT, Place, place_of
from gpu_tui.ui.widgets.logview import LogView
from gpu_tui.ui.widgets.paint import Block
from gpu_tui.ui.widgets.place_bar import PlaceBar

if TYPE_CHECKING:
    from gpu_tui.ui.screens.hits import HitsScreen

EMPTY = LogDocument(LogBuffer(1), reach=False)
REMEDY_SHARE = 4  # of its pane a remedy takes no more than one part of this many


class LogPane(Pane):
    """Shows the running cell's log unless the user chose another one of the same instance."""

    NUMBER, NAME, TITLE, CONTEXT, FILTERS = 5, "log", "Log", "log", True
    SHOWS = "Here stands the log of a run, as it is written."
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("log")]

    DEFAULT_CSS = "LogPane.-empty #remedy { dock: top; }"  # where it is the only sentence

    class Turned(Message):
        """It follows the end again, or it does no more."""

    def __init__(self, store: FleetStore, control: FleetControl | None) -> None:
        super().__init__()
        self.view = LogView(id="log-view")
        self._block = Block(id="remedy")
        self._place_bar = PlaceBar(typed=self._placed, left=self.close_filter)
        self._store = store
        self._control = control
        self._fits = Filter()
        self._follows = True
        self.reach = LogReach(self, self.view, store, control)
        # instance -> cell (None for the queue's log), or one log of a cell that has several
        self._chosen: dict[str, str | LogSource | None] = {}

    def content(self) -> Iterable[Widget]:
        """The log, the remedy under it, and where a place is typed."""
        yield self.view
        yield self._block
        yield self._place_bar

    def paint(self, moment: Moment) -> None:
        """The chosen log as it is now."""
        instance = moment.selected
        followed = self._pick(instance) if instance else None
        if instance is None or followed is None:
            self.view.look_at(EMPTY)
            self.add_class("-empty")
            self._remedy(
                no_log(instance, asks=self._control is not None)
                if instance
                else self.nobody(moment.fleet)
            )
            self.entitle(instance.name if instance else "")
            return
        self.view.look_at(self.reach.document(instance.name, followed.source))
        self.set_class(not self.view.document.numbers, "-empty")
        self.reach.arrive()
        self._caption(instance, followed)

    def _pick(self, view: InstanceView) -> Followed | None:
        """The log the user chose, else the running cell's, else the queue's."""
        errors = stderr_paths(view)
        logs: dict[str | LogSource | None, Followed] = {}
        # Of a job with two logs stdout is what a person means; the other is one key away.
        for log in sorted(view.logs, key=lambda log: log.source.path in errors):
            logs.setdefault(log.source.cell, log)
            logs[log.source] = log
        wanted = [self._chosen[view.name]] if view.name in self._chosen else []
        running = view.queue.running
        if running is not None:
            wanted.append(running.name)
        for cell in (*wanted, None):
            if cell in logs:
                return logs[cell]
        return next(iter(view.logs), None)

    # --- what is said around it -----------------------------------------------------------------

    def _caption(self, view: InstanceView, log: Followed) -> None:
        name = log.source.cell or PurePosixPath(log.source.path).name
        if log.title is not None:
            name += f" · {log.title}"
        elif sum(one.source.cell == log.source.cell for one in view.logs) > 1:
            name += f" · {PurePosixPath(log.source.path).name}"
        if len(view.logs) > 1:
            at = [one.source for one in view.logs].index(log.source) + 1
            name += f" · {at}/{len(view.logs)}"
        if self._follows is not self.view.following:
            self._follows = self.view.following
            self.post_message(self.Turned())
        said = remarks(self.view, view, log, self.reach.searching)
        self.entitle(f"{view.name} · {name}", " · ".join(said))
        self._explain(view, log)

    def _explain(self, view: InstanceView, log: Followed) -> None:
        entry = self.view.line_here()
        label, text = advice(view, entry) if entry is not None else ("", None)
        document = self.view.document
        if log.error:
            self._remedy(unfollowed(log.source.path, log.error), style="level-watch")
        elif not document.numbers and document.tail.upto is not None:
            self._remedy(
                say(
                    "{path} is empty so far: its lines stand here as they come",
                    path=log.source.path,
                )
            )
        elif self.view.nothing_fits:
            words = say("no line kept here matches {wanted}", wanted=shortly(self._fits.wanted))
            self._remedy(
                words
                + (
                    say(": esc empties the filter, B searches the whole file")
                    if document.reach
                    else say(": esc empties the filter")
                )
            )
        elif entry is None or text is None:
            self._remedy("")
        else:
            old = (
                say("history: ") if self.view.current is not None and self.view.current < 0 else ""
            )
            self._remedy(text, old + label, mark_style(entry))

    def _remedy(self, text: str, label: str = "", style: str = "muted") -> None:
        """A few lines under the log; what has no room there ends in an ellipsis."""
        most = max(2, self.size.height // REMEDY_SHARE)
        width = self.view.size.width - 1  # words do not touch the edge
        lead = line((f"{label} ", style), ("→ ", "accent")) if label else line()
        ink = "text" if label else style
        rows = wrap(text, width, ink, indent=lead.cell_len, most=most)
        if rows and label:
            rows[0] = line(lead, rows[0][lead.cell_len :])
        self._block.put(rows)

    # --- which log ----------------------------------------------------------------------------

    def choose(self, view: InstanceView, cell: str | None) -> None:
        """Show this cell's log, following it first where nothing does."""
        self._chosen[view.name] = cell
        known = any(log.source.cell == cell for log in view.logs)
        if not known and self._control is not None:
            self._control.follow_cell(view.name, cell)
        self.again()

    def last_naming(self, instance: str, source: LogSource, word: str) -> int | None:
        """The last kept line of a log that names this."""
        buffer = self._store.log(instance, source)
        if buffer is None:
            return None
        names = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
        numbers = range(buffer.end - 1, buffer.first - 1, -1)
        return next((n for n in numbers if names.search(buffer.text(n))), None)

    def open_at(self, instance: str, source: LogSource, place: Place) -> None:
        """Show one log of one instance at a place, reading what is not loaded; once it is selected.

        Nothing is filtered away there: what was asked for may be what the filter hides.
        """
        super().close_filter()
        self._chosen[instance] = source
        self.reach.want(instance, source, place)
        self.again()

    def action_source(self, way: str) -> None:
        """The next or previous followed log; after the last one come cells not followed yet."""
        view = self.moment.selected if self.moment else None
        if view is None:
            return
        started = [cell.name for cell in view.queue.cells if cell.state is not CellState.PENDING]
        sources: list[str | LogSource] = [log.source for log in view.logs]
        tailed = {log.source.cell for log in view.logs}
        sources += [name for name in started if name not in tailed]
        if not sources:
            return
        now = self._pick(view)
        here = sources.index(now.source) if now else 0
        next_one = sources[(here + int(way)) % len(sources)]
        if isinstance(next_one, str):
            self.choose(view, next_one)
        else:
            self._chosen[view.name] = next_one
            self.again()

    def source(self) -> LogSource | None:
        """The log on screen."""
        view = self.moment.selected if self.moment else None
        followed = self._pick(view) if view else None
        return followed.source if followed else None

    def again(self) -> None:
        """Paint the same moment once more: something of this pane changed."""
        if self.moment is not None:
            self.show(self.moment)

    # --- moving -------------------------------------------------------------------------------

    def action_pause(self) -> None:
        """Pause, or follow the live end again."""
        self.view.pause()
        self.again()

    def action_alarm(self, way: str) -> None:
        """To the next alarm in one direction, or a word that there is none; what was not read is not called empty."""
        found, unread = self.view.to_alarm(int(way))
        where, size = say("below") if int(way) > 0 else say("above"), units.size(unread)
        if unread:
            how = say("B searches the whole file") if self.view.document.reach else ""
            text = say("{size} on the way are not loaded", size=size)
            if not found:
                text = say("no further alarm {where} in what is loaded", where=where) + f" · {text}"
            self.app.notify(f"{text} · {how}" if how else text, timeout=4)
        elif not found:
            self.app.notify(say("no further alarm {where}", where=where), timeout=2)
        self.again()

    def action_shift(self, way: str) -> None:
        """Scroll sideways."""
        self.view.shift(int(way))

    def action_wrap(self) -> None:
        """Long lines over several rows, or cut at the edge."""
        self.view.turn_wrap()
        self.app.notify(
            say("long lines wrap") if self.view.wrap else say("long lines are cut"), timeout=2
        )

    def action_bookmark(self) -> None:
        """Set a bookmark on the line that is meant, or take it away."""
        self.app.notify(self.reach.bookmark(), timeout=2, markup=False)
        self.again()

    def action_to_bookmark(self, way: str) -> None:
        """To the next bookmark in one direction, around the end."""
        if not self.reach.to_bookmark(int(way)):
            self.app.notify(say("no bookmarks in this log; m sets one"), timeout=2)
        self.again()

    def action_place(self) -> None:
        """Type a line, a byte, a share or a time to go to."""
        if self.source() is not None:
            self._place_bar.open(say(HINT))

    def _placed(self, text: str) -> None:
        place = place_of(text)
        if place is None:
            self._place_bar.complain()
            self.app.notify(
                say("{text} is no place in a log", text=text.strip()), timeout=2, markup=False
            )
            return
        self._place_bar.close()
        self.focus_inside()
        self.reach.go(place)
        self.again()

    def close_filter(self) -> bool:
        """Close what is typed into: the place, else the filter."""
        if self._place_bar.close():
            self.focus_inside()
            return True
        return super().close_filter()

    @on(LogView.Moved)
    def _moved(self, event: LogView.Moved) -> None:
        event.stop()
        self.again()

    @on(LogView.Edge)
    def _edge(self, event: LogView.Edge) -> None:
        event.stop()
        self.reach.edge(event.key)

    @on(LogView.Start)
    def _start(self, event: LogView.Start) -> None:
        event.stop()
        self.reach.start()

    # --- the rest -----------------------------------------------------------------------------

    def keep_only(self, fits: Filter) -> None:
        """Another filter over all that is loaded."""
        self._fits = fits
        self.view.keep_only(fits)
        self.again()

    def too_slow(self) -> str:
        """What was found until then stays on screen."""
        sieve = self.view.sieve
        slow = sieve is not None and sieve.gave_up
        return say("too slow: not every line was searched") if slow else ""

    def action_search(self) -> None:
        """Search the whole file on the box for what the filter says."""
        if not self.reach.may_ask():
            return
        if not self._fits:
            self.app.notify(
                say("type a filter first (/), then B searches the whole file on the box")
            )
            self.open_filter()
            return
        try:
            terms = self._fits.terms()
        except FilterError as wrong:
            self.app.notify(str(wrong), severity="warning", markup=False)
            return
        self.reach.search(terms, self._fits.wanted, self._hits)

    def _hits(self, screen: HitsScreen) -> None:
        def chosen(key: str | None) -> None:
            if key is not None:
                super(LogPane, self).close_filter()  # what stands around it matters, too
                self.reach.go_to_hit(screen.hits, int(key))
                self.again()

        self.app.push_screen(screen, chosen)

    def action_copy(self) -> None:
        """What is in sight, to the clipboard."""
        texts = self.view.texts
        said = say("{texts} copied", texts=counted(len(texts), "line"))
        cast("Copies", self.app).copy("\n".join(texts), said)

    def action_save(self) -> None:
        """Every loaded line, to a new file in the working directory."""
        view, source = self.moment.selected if self.moment else None, self.source()
        buffer = self._store.log(view.name, source) if view and source else None
        if view is None or source is None or buffer is None:
            return
        stem = source.cell or PurePosixPath(source.path).stem
        clean = "".join(c if c.isalnum() or c in "._-" else "_" for c in f"{view.name}-{stem}")
        path = Path.cwd() / f"{clean}-{buffer.end}.log"
        self.run_worker(save(self.app, path, self.view.document), group="log-save", exclusive=True)


def stderr_paths(view: InstanceView) -> frozenset[str]:
    """The logs that are the stderr of a job whose stdout is another file."""
    cells = [log.source.cell for log in view.logs]
    if len(set(cells)) == len(cells):
        return frozenset()  # nobody has two logs
    tables = [table for metric in JOBS if (table := view.track(metric).value) is not None]
    return frozenset(
        job.stderr
        for table in tables
        for job in table.jobs
        if job.stderr is not None and job.stderr != job.stdout
    )
