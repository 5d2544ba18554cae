"""What a view holds that somebody may want to be told: findings, cells that finished, a sweep that ended.

Pure. Whether it was told before is another question (`gpu_tui/alerts/`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gpu_tui.core import units
from gpu_tui.core.alarms import ENDS
from gpu_tui.core.campaign import Trust
from gpu_tui.core.findings import SEEN, Finding, Severity
from gpu_tui.core.queue_words import english, queue_words
from gpu_tui.core.rules import ended_at
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.core.vanished import BY_LOG, COUNTED
from gpu_tui.state.sweep_outlook import planned, trust_in
from gpu_tui.state.views import FleetView, InstanceView

CELL_FINISHED, SWEEP_FINISHED = "cell_finished", "sweep_finished"
CLOCKS = frozenset({"clock", "low_balance"})  # findings of deadlines
GOOD = frozenset({CELL_FINISHED, SWEEP_FINISHED})
ENDED = frozenset(
    {
        CellState.FINISHED,
        CellState.SYNC_FAILED,
        CellState.FAILED,
        CellState.SUSPICIOUS,
        CellState.SKIPPED,
    }
)
SHOWN_METRICS = 2
SHOWN_KEPT = 2_000  # a sweep of jobs names ever new ones


@dataclass(frozen=True, slots=True)
class News:
    """One event to report. Two with one `key` are the same event seen again; `severity` none = good news.

    `happened` is the time that the box gives, in epoch seconds; None if it gives none. `when` is the best known time,
    and `basis` how that is known, as in a finding. `part` distinguishes two of one kind: a mount, a card, a clock
    (whichever threshold of it was crossed).
    """

    key: str
    kind: str
    severity: Severity
    instance: str
    text: str
    at: float
    cell: str | None = None
    remedy: str = ""
    count: int = 1
    happened: float | None = None
    part: str | None = None
    barer: tuple[str, ...] = ()  # keys of vaguer news about the same crash
    when: float | None = None
    basis: str = SEEN

    @property
    def where(self) -> str:
        """Instance, and cell where there is one."""
        return f"{self.instance} · {self.cell}" if self.cell else self.instance

    @property
    def title(self) -> str:
        """Its kind in words."""
        return self.kind.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Bulletin:
    """What the screen should say at once, worst first; `loud` = also by bell and desktop."""

    news: tuple[News, ...]
    loud: bool = False


def news_of(view: FleetView) -> tuple[News, ...]:
    """Everything in the view that is news to somebody who knows nothing, worst first."""
    found = [_finding(finding) for finding in view.findings]
    for instance in view.instances:
        found += _cells(instance, view.taken_at)
    found += _sweep(view)
    return tuple(sorted(found, key=lambda news: news.severity.rank))


def _finding(finding: Finding) -> News:
    return News(
        key=f"finding:{finding.id}",
        kind=finding.kind,
        severity=finding.severity,
        instance=finding.instance,
        text=finding.evidence,
        at=finding.last_seen,
        cell=finding.cell,
        remedy=finding.remedy,
        count=finding.count,
        part=_part(finding),
        barer=_barer(finding),
        when=finding.at,
        basis=finding.basis,
    )


def _barer(finding: Finding) -> tuple[str, ...]:
    """Keys of vaguer findings for the same crash: a crash is reported once, and a more precise kind later is no news."""
    ends = finding.cell is not None and finding.severity.rank <= Severity.SERIOUS.rank
    if not ends or finding.kind not in ENDS:
        return ()
    barer = ENDS[ENDS.index(finding.kind) + 1 :]
    return tuple(f"finding:{replace(finding, kind=kind).id}" for kind in barer)


def _part(finding: Finding) -> str | None:
    """Without the threshold: the next one of the same clock is a later word about the same thing."""
    if finding.part is None or finding.kind not in CLOCKS:
        return finding.part
    return finding.part.rpartition("@")[0] or finding.part


def _cells(view: InstanceView, now: float) -> Iterator[News]:
    queue = queue_words(view.queue, english).brief
    for cell in view.queue.cells:
        if cell.state is CellState.FINISHED:
            yield News(
                key=f"cell:{view.name}:{cell.name}",
                kind=CELL_FINISHED,
                severity=Severity.NONE,
                instance=view.name,
                text=f"{result_of(cell)} (queue: {queue})",
                at=now,
                cell=cell.name,
                happened=cell.finished_at,
                when=cell.finished_at,
                basis=ended_at(cell)[1],
            )


def result_of(cell: Cell) -> str:
    """How one cell ended, as far as its log or its runner says it: nothing here was loaded or verified."""
    parts = [_ended_by(cell)]
    if cell.duration_seconds is not None:
        parts[0] += f" after {units.words(cell.duration_seconds, fine=True)}"
    if cell.loss is not None and math.isfinite(cell.loss):
        parts.append(f"loss {cell.loss:g}")
    shown = [(name, value) for name, value in cell.metrics.items() if math.isfinite(value)]
    parts += [f"{name} {value:g}" for name, value in shown[:SHOWN_METRICS]]
    return ", ".join(parts)


def _ended_by(cell: Cell) -> str:
    """The source that reports the cell as finished, in words."""
    why = cell.why or ""
    if COUNTED in why:
        return "its log reached the end of its counters"
    if cell.job is None or BY_LOG in why:
        return "its log says finished"
    if cell.listed:
        return "its runner says finished"
    return "it ended with exit 0" if cell.exit_code == 0 else "its log says finished"


def _sweep(view: FleetView) -> Iterator[News]:
    """One, when every cell of every queue has ended; never while a queue was not read, or counts cells
    that nobody has named.
    """
    queued = [one for one in view.instances if planned(one)]
    if any(trust_in(one) is Trust.UNREAD or _nameless(one) for one in queued):
        return
    cells = [cell for one in queued for cell in one.queue.cells]
    if not cells or any(cell.state not in ENDED for cell in cells):
        return
    good = sum(cell.state is CellState.FINISHED for cell in cells)
    rest = "" if good == len(cells) else f", {len(cells) - good} ended in another way"
    yield News(
        key=f"sweep:{len(cells)}",
        kind=SWEEP_FINISHED,
        severity=Severity.NONE,
        instance=view.sweep or "the sweep",
        text=f"every cell has ended: {good} of {len(cells)} finished{rest}{_meters(view)}",
        at=view.taken_at,
        remedy="Pull and verify the results, then stop the meters: gpu-tui pull NAME, then t in the cockpit.",
        happened=max((cell.finished_at or 0.0 for cell in cells), default=0.0) or None,
    )


def _nameless(view: InstanceView) -> bool:
    queue = view.queue
    return queue.more or (not queue.claimed_done and (queue.total or 0) > len(queue.cells))


def _meters(view: FleetView) -> str:
    """What still costs money, per currency."""
    sums: dict[str, float] = {}
    for one in view.instances:
        if one.cost.per_hour:
            currency = one.cost.currency or ""
            sums[currency] = sums.get(currency, 0.0) + one.cost.per_hour
    if not sums:
        return ""
    return "; still billing " + " and ".join(f"{units.money(sums[c], c)}/h" for c in sums)


class Shown:
    """The keys that a screen has shown. Of those that are no news any more the newest SHOWN_KEPT stay, so
    that one that comes and goes is not shown each time.
    """

    def __init__(self) -> None:
        self._keys: dict[str, None] = {}  # the oldest first

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, keys: Iterable[str], now: Collection[str]) -> None:
        """These were shown; `now` are those of all that is news now."""
        self._keys |= dict.fromkeys(keys)
        more = len(self._keys) - SHOWN_KEPT - len(now)
        if more > 0:
            for key in [key for key in self._keys if key not in now][:more]:
                del self._keys[key]


class ScreenNews:
    """News for a screen that nobody else tells: in memory, and what was there at first is none."""

    def __init__(self) -> None:
        self._shown = Shown()
        self._last: Collection[str] = ()  # keys of the last look
        self._looked = False

    def take(self, view: FleetView) -> Sequence[Bulletin]:
        """At most one bulletin: what appeared since the last call."""
        seen = [news for news in news_of(view) if worth_a_toast(news)]
        keys = {news.key for news in seen}
        gone = {key for key in self._last if key not in keys}
        fresh = tuple(
            news for news in seen if news.key not in self._shown and gone.isdisjoint(news.barer)
        )
        first, self._looked = not self._looked, True
        self._shown.add(keys, keys)
        self._last = keys
        if first or not fresh:
            return ()
        return (Bulletin(fresh, loud=any(one.severity is Severity.FATAL for one in fresh)),)


def worth_a_toast(news: News) -> bool:
    """Alarms, deadlines and good news; not what is for later."""
    return news.kind in GOOD or news.kind in CLOCKS or news.severity.rank <= Severity.SERIOUS.rank
