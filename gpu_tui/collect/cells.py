"""Which cells' logs are worth a channel: told by the queue's log, else by which log moved last. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpu_tui.core.events import LogArrived, LogFailed, Sampled
from gpu_tui.core.fleet import Instance
from gpu_tui.core.log_block import telling
from gpu_tui.core.logs import LogSource
from gpu_tui.core.metrics import FILES
from gpu_tui.core.queue_history import CellFinished, CellStarted, QueueEvent, QueueOpened
from gpu_tui.core.readings import FileTable
from gpu_tui.core.sample import Reading

CELL = "{cell}"
REMEMBERED = 200  # names of one queue's log; ended logs that are read once are fewer still
READ_ONCE = 64
# The box is not trusted: a name becomes part of a path only if it can be nothing but one name.
_NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._ +=@,-]{1,200}\Z")


def is_name(name: str) -> bool:
    """True for a cell name that may become part of a path."""
    return _NAME.match(name) is not None


class Cells:
    """What is known of one box's cells. Feed it the events that pass; each says if anything changed."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._started: list[str] = []
        self._finished: list[str] = []
        self._moved: list[str] = []
        self._queue_silent = instance.queue.log is None
        self.selected: str | None = None

    def source(self, cell: str) -> LogSource:
        """The log of one cell."""
        return LogSource((self._instance.logs or "").replace(CELL, cell), cell)

    def wanted(self, most: int) -> list[str]:
        """At most `most` cells to tail: the selected one, then those that run or ran last."""
        first = [self.selected] if self.selected and is_name(self.selected) else []
        newest = self._started[::-1]
        live = [cell for cell in newest if cell not in self._finished or cell == newest[0]]
        if not self._started and self._queue_silent:
            live = self._moved
        return list(dict.fromkeys([*first, *live]))[:most]

    @property
    def ended(self) -> list[str]:
        """The newest cells that the queue's log has seen ending, oldest first."""
        return self._finished[-READ_ONCE:]

    def select(self, cell: str | None) -> None:
        """A person looks at this cell."""
        self.selected = cell

    def queue_said(self, event: LogArrived | LogFailed) -> bool:
        """The queue's log brought lines, or cannot be read."""
        before = self.wanted(len(self._started) + 2), self.ended
        if isinstance(event, LogFailed):
            self._queue_silent = True
        else:
            told = (line for _, line in telling(event.lines))
            self._fold(line.queue for line in told if line.queue and not line.open)
        return before != (self.wanted(len(self._started) + 2), self.ended)

    def _fold(self, events: Iterable[QueueEvent]) -> None:
        for event in events:
            match event:
                case QueueOpened():
                    self._started, self._finished = [], []
                case CellStarted(name=name) if is_name(name):
                    self._started = _newest(self._started, name)
                    self._finished = [c for c in self._finished if c != name]
                case CellFinished(name=name) if is_name(name):
                    self._finished = _newest(self._finished, name)
                case _:
                    continue

    def sampled(self, event: Sampled) -> bool:
        """The file table tells which logs move, where no queue log does."""
        if event.metric != FILES.name or not isinstance(event.sample, Reading):
            return False
        table = event.sample.value
        pattern = self._instance.logs
        if not isinstance(table, FileTable) or not pattern or CELL not in pattern:
            return False
        head, _, tail = pattern.partition(CELL)
        named = re.compile(f"{re.escape(head)}([^/]+){re.escape(tail)}")
        logs = [
            (file.mtime, match[1])
            for path, file in table.found.items()
            if path != self._instance.queue.log
            and (match := named.fullmatch(path))
            and is_name(match[1])
        ]
        before = self.wanted(8)
        self._moved = [cell for _, cell in sorted(logs, reverse=True)]
        return before != self.wanted(8)


def _newest(names: list[str], name: str) -> list[str]:
    """`names` with `name` at its end, and no more of them than are remembered."""
    return [*(other for other in names if other != name), name][-REMEMBERED:]
