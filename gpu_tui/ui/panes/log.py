"""Log: the tail of one log of the selected box, its alarms, and what to do about them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from gpu_tui.core.logs import LogSource
from gpu_tui.core.metrics import JOBS
from gpu_tui.core.ports import FleetControl
from gpu_tui.core.sweep import CellState
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.state.views import InstanceView
from gpu_tui.state.views import LogView as Followed
from gpu_tui.ui.keys import bindings
from gpu_tui.ui.panes.pane import Moment, Pane
from gpu_tui.ui.ports import FleetStore
from gpu_tui.ui.text import units
from gpu_tui.ui.text.filters import Filter
from gpu_tui.ui.text.logs import mark_style, remedy_of
from gpu_tui.ui.text.marks import line, wrap
from gpu_tui.ui.widgets.logview import LogView
from gpu_tui.ui.widgets.paint import Block

EMPTY = LogBuffer(1)


class LogPane(Pane):
    """Shows the running cell's log unless the user chose another one of the same instance."""

    NUMBER, NAME, TITLE, CONTEXT, FILTERS = 5, "log", "Log", "log", True
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("log")]

    def __init__(self, store: FleetStore, control: FleetControl | None) -> None:
        super().__init__()
        self.view = LogView(id="log-view")
        self._block = Block(id="remedy")
        self._store = store
        self._control = control
        # instance -> cell (None for the queue's log), or one log of a cell that has several
        self._chosen: dict[str, str | LogSource | None] = {}

    def content(self) -> Iterable[Widget]:
        """The tail, and the remedy under it."""
        yield self.view
        yield self._block

    def paint(self, moment: Moment) -> None:
        """The chosen log as it is now."""
        instance = moment.selected
        followed = self._pick(instance) if instance else None
        if instance is None or followed is None:
            self.view.look_at(EMPTY)
            self._remedy("no log is followed here")
            self.entitle(instance.name if instance else "")
            return
        self.view.look_at(self._store.log(instance.name, followed.source) or EMPTY)
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

    def _caption(self, view: InstanceView, log: Followed) -> None:
        name = log.source.cell or PurePosixPath(log.source.path).name
        if sum(one.source.cell == log.source.cell for one in view.logs) > 1:
            name += f" · {PurePosixPath(log.source.path).name}"
        place = f"{[one.source for one in view.logs].index(log.source) + 1}/{len(view.logs)}"
        words = [
            "following"
            if self.view.following
            else f"paused · {self.view.below} below"
            if self.view.below
            else "paused"
        ]
        if log.last_at is not None:
            words.append(f"last line {units.age(view.taken_at - log.last_at)} ago")
        if log.skipped_bytes:
            words.append(f"starts {units.size(log.skipped_bytes)} in")
        if log.first:
            words.append(f"{units.counted(log.first, 'older line')} dropped, alarms kept")
        if self.view.matched is not None:
            words.append(f"{units.counted(self.view.matched, 'line')} match")
        self.entitle(f"{view.name} · {name} · {place}", " · ".join(words))
        entry = self.view.line_here()
        text = remedy_of(entry.mark.label) if entry is not None else None
        if log.error:
            self._remedy(f"cannot follow {log.source.path}: {log.error}", style="level-watch")
        elif entry is None or text is None:
            self._remedy("")
        else:
            self._remedy(text, entry.mark.label.replace("_", " "), mark_style(entry))

    def _remedy(self, text: str, label: str = "", style: str = "muted") -> None:
        """At most two lines under the log."""
        width = self.view.size.width
        lead = line((f"{label} ", style), ("→ ", "accent")) if label else line()
        rows = wrap(text, width, "text" if label else style, indent=lead.cell_len)[:2]
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
        self._again()

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
            self._again()

    def source(self) -> LogSource | None:
        """The log on screen."""
        view = self.moment.selected if self.moment else None
        followed = self._pick(view) if view else None
        return followed.source if followed else None

    def _again(self) -> None:
        if self.moment is not None:
            self.show(self.moment)

    def action_pause(self) -> None:
        """Pause, or follow the tail again."""
        self.view.pause()
        self._again()

    def action_alarm(self, way: str) -> None:
        """To the next alarm in one direction, or a word that there is none."""
        if not self.view.to_alarm(int(way)):
            where = "below" if int(way) > 0 else "above"
            self.app.notify(f"no further alarm {where}", timeout=2)
        self._again()

    def action_shift(self, way: str) -> None:
        """Scroll sideways."""
        self.view.shift(int(way))

    # --- the rest -----------------------------------------------------------------------------

    def keep_only(self, fits: Filter) -> None:
        """Another filter over the whole buffer."""
        self.view.keep_only(fits)
        self._again()

    def action_copy(self) -> None:
        """What is in sight, to the clipboard."""
        self.app.copy_to_clipboard("\n".join(self.view.texts))
        self.app.notify(f"{units.counted(len(self.view.texts), 'line')} copied", markup=False)

    def action_save(self) -> None:
        """Every kept line, to a new file in the working directory."""
        view, source = self.moment.selected if self.moment else None, self.source()
        buffer = self._store.log(view.name, source) if view and source else None
        if view is None or source is None or buffer is None:
            return
        stem = source.cell or PurePosixPath(source.path).stem
        clean = "".join(c if c.isalnum() or c in "._-" else "_" for c in f"{view.name}-{stem}")
        path = Path.cwd() / f"{clean}-{buffer.end}.log"
        try:
            with path.open("x", encoding="utf-8") as file:
                for entry in buffer.slice(buffer.first, buffer.end):
                    file.write(entry.text + "\n")
        except OSError as wrong:
            self.app.notify(f"not saved: {wrong.strerror} ({path})", severity="error", markup=False)
            return
        self.app.notify(f"{units.counted(len(buffer), 'line')} saved to {path}", markup=False)


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
