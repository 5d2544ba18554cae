"""Collects past events of this session: link cuts, replaced logs, finished cells, findings that ended.

They are kept in memory, for the time line; `findings` hold the current ones.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gpu_tui.core import units
from gpu_tui.core.events import LinkChanged
from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.sweep import CELLS_KEPT, CellState
from gpu_tui.state.news import CELL_FINISHED, ENDED, result_of
from gpu_tui.state.views import InstanceView, Past

KEPT = 500  # events of the whole fleet; the oldest are dropped
MISSED = 15.0  # seconds of looks without a finding, after which it has ended
SLACK = 5.0  # seconds between the stamp of a queue's log and our clock
CUT, REPLACED = "link_cut", "log_replaced"
# Kinds of finding without an entry of their own when they end: a link cut is the entry for both.
NOT_ENDED = frozenset({"unreachable", "host_key"})
AWAY = ("connecting", "off", "live")  # states that begin no cut


class Session:
    """Collects from the events and from every view of a fleet."""

    def __init__(self) -> None:
        self._past: OrderedDict[str, Past] = OrderedDict()  # by key; the newest last
        self._cuts: dict[str, LinkChanged] = {}  # by instance: the start of the present cut
        self._live: set[str] = set()
        self._since: dict[str, float] = {}  # by instance: when it was live first
        self._seen: dict[str, Finding] = {}  # by id, at the last look at their box
        self._missed: dict[str, float] = {}  # by id: since when the finding is missing
        self._cells: dict[str, set[str]] = {}  # by instance: cells that have not ended
        self._count = 0

    def link_changed(self, event: LinkChanged) -> None:
        """Take a change of a link. A cut begins when a live link is lost, and ends when it is live again."""
        name, state = event.instance, event.link.state
        if state == "live":
            cut = self._cuts.pop(name, None)
            if cut is not None:
                why = cut.link.error or cut.link.state
                text = f"no connection for {units.words(max(0.0, event.at - cut.at))}: {why}"
                self._add(
                    _event(CUT, name, cut.at, text, "link", Severity.WARN, last=event.at), event.at
                )
            self._live.add(name)
            self._since.setdefault(name, event.at)
        elif state not in AWAY and name in self._live:
            self._live.discard(name)
            self._cuts[name] = event

    def log_replaced(self, instance: str, path: str, cell: str | None, at: float) -> None:
        """Take the replacement of a log: its earlier lines are not in the file any more."""
        text = f"{path} was truncated or replaced: its earlier lines are gone"
        self._add(_event(REPLACED, instance, at, text, f"log:{path}", Severity.NONE, cell=cell), at)

    def look(
        self,
        views: Sequence[InstanceView],
        findings: Iterable[Finding],
        acknowledged: Mapping[str, float],
        now: float,
    ) -> tuple[Past, ...]:
        """Take one look; returns the past events, the newest first. `findings` include acknowledged ones."""
        here = {one.id: one for one in findings}
        live = {view.name for view in views if view.link.live}
        names = {view.name for view in views}
        for view in views:
            self._look_at_cells(view, now)
        for id, one in self._seen.items():
            if id in here or one.kind in NOT_ENDED:
                continue
            if one.instance in names and one.instance not in live:
                self._missed.pop(id, None)  # it is not looked at now
            elif now - self._missed.setdefault(id, now) >= MISSED:
                self._add(one, self._missed[id], ended=True)
        for id in here:
            self._missed.pop(id, None)
            self._past.pop(id, None)
        over = {id for id, at in self._missed.items() if now - at >= MISSED}
        self._seen = {**{id: f for id, f in self._seen.items() if id not in over}, **here}
        self._missed = {id: at for id, at in self._missed.items() if id not in over}
        hidden = [Past(here[id], at, acknowledged=True) for id, at in acknowledged.items() if id in here]  # fmt: skip
        return (*hidden, *reversed(self._past.values()))

    def _look_at_cells(self, view: InstanceView, now: float) -> None:
        open_before = self._cells.get(view.name, set())
        cells = view.queue.cells[-CELLS_KEPT:]
        for cell in cells:
            if cell.state is CellState.FINISHED and cell.name in open_before:
                at = now if cell.finished_at is None else cell.finished_at
                if at < self._since.get(view.name, 0.0) - SLACK:
                    continue  # its log was only being read
                made = _event(
                    CELL_FINISHED, view.name, at, result_of(cell), "queue", Severity.NONE, cell=cell.name
                )  # fmt: skip
                self._add(made, at)
        if cells:
            self._cells[view.name] = {cell.name for cell in cells if cell.state not in ENDED}

    def _add(self, one: Finding, at: float, *, ended: bool = False) -> None:
        self._count += 1
        key = one.id if ended else f"{one.id}:{self._count}"
        self._past.pop(key, None)
        self._past[key] = Past(one, at, key=key, ended=ended)
        while len(self._past) > KEPT:
            self._past.popitem(last=False)


def _event(
    kind: str,
    instance: str,
    at: float,
    text: str,
    source: str,
    severity: Severity,
    *,
    cell: str | None = None,
    last: float | None = None,
) -> Finding:
    """An event in the form of a finding, so that one table draws both."""
    made = Finding(kind, severity, instance, text, source, "", at, at, cell, standing=True)
    return made if last is None else replace(made, last_seen=last)
