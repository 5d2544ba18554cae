"""The history that a monitor on the box wrote before we came, put before our own."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from gpu_tui.core import metrics
from gpu_tui.core.levels import share
from gpu_tui.core.readings import MemoryLog
from gpu_tui.core.sample import NO_TRACK, Track
from gpu_tui.core.series import Point, Series
from gpu_tui.state.traces import SERIES_POINTS
from gpu_tui.state.witness import box_time

GAP = 60.0  # seconds between two rows from which on nothing was recorded


class Past:
    """Seeds the histories once, as soon as the box's clock and its memory limit are known."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}  # history -> our time of the last row that is not ours
        self._path = ""
        self._taken = False

    def look(
        self, tracks: Mapping[str, Track[object]], series: dict[str, Series], zone: float, at: float
    ) -> None:
        """`zone`: seconds that wall time on the box is ahead of UTC. `at`: our time."""
        log = tracks.get(metrics.PAST.name, NO_TRACK).value
        memory = tracks.get(metrics.MEMORY.name, NO_TRACK).value
        box_now = box_time(tracks, at)
        if self._taken or not isinstance(log, MemoryLog) or memory is None or box_now is None:
            return
        self._taken = True
        behind = box_now - at + (0.0 if log.zoned else zone)
        limit = getattr(memory, "limit", None)
        self._seed(
            series,
            log,
            "memory",
            [(p.at - behind, share(p.memory_used, limit)) for p in log.points],
        )
        self._seed(series, log, "gpu", [(p.at - behind, p.gpu) for p in log.points])

    def _seed(
        self, series: dict[str, Series], log: MemoryLog, name: str, points: list[Point]
    ) -> None:
        known = [point for point in points if point[1] is not None]
        own = series.setdefault(name, Series(SERIES_POINTS))
        before = own.begin_with(known, GAP)
        if before is not None:
            self._until[name], self._path = before, log.path

    def basis(self, series: Mapping[str, Series]) -> dict[str, str]:
        """History -> where its first part comes from, as long as it has that part."""
        return {
            name: f"until {datetime.fromtimestamp(until, UTC):%H:%M:%S} UTC read from {self._path}, not seen by us"
            for name, until in self._until.items()
            if next(iter(series[name]), (until + 1, None))[0] <= until
        }
