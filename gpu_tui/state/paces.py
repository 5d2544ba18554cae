"""How fast the jobs of a scheduler run, across gpu-tui runs: a `check` by cron looks once, and one look shows no speed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gpu_tui.core.fleet import Instance
from gpu_tui.core.in_time import Pace, pace_of
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.state.history import CONTACT_EVERY, History
from gpu_tui.state.runs_before import box_of

COUNTER = "paces"
KEPT = 200  # jobs of one box
LONGEST = 100_000  # characters in the history
SPACED = 1800.0  # seconds between two points of one job
NEEDED = 600.0  # seconds from a point to now before a speed is computed


class Point(NamedTuple):
    """A job's place: `share` of its way, 0–1, at our time `at`."""

    at: float
    share: float


class Paces:
    """Keeps two earlier places of each running job that has a time limit. A job that starts again has none."""

    def __init__(self, history: History, instance: Instance) -> None:
        self._history, self._name, self._box = history, instance.name, box_of(instance)
        self._seen: dict[str, tuple[str, Point, Point]] | None = (
            None  # by cell: its attempt, older, newer
        )
        self._written_at: float | None = None

    def update(self, cells: Iterable[Cell], now: float) -> Mapping[str, Pace]:
        """The paces at `now`, by name: by the followed log, otherwise by the progress since an earlier look. Writes the history."""
        if self._seen is None:
            self._seen = self._read()
        paces: dict[str, Pace] = {}
        seen: dict[str, tuple[str, Point, Point]] = {}
        for cell in cells:
            if (pace := pace_of(cell)) is not None:
                paces[cell.name] = pace
            if cell.state is not CellState.RUNNING or cell.ends_by is None or len(seen) >= KEPT:
                continue
            points = self._points(cell, now)
            if points is None:
                continue
            seen[cell.name] = points
            if pace is None and not cell.halted and cell.still_seconds is None:
                since = _since(cell, points[1], now)
                paces.update({cell.name: since} if since else {})
        changed = seen != self._seen
        self._seen = seen
        if changed and (
            self._written_at is None or not 0 <= now - self._written_at < CONTACT_EVERY
        ):
            self._written_at = now
            self._write(now)
        return paces

    def _points(self, cell: Cell, now: float) -> tuple[str, Point, Point] | None:
        attempt, share = f"{cell.job}:{cell.started_at}", cell.share
        known = (self._seen or {}).get(cell.name)
        if share is None:
            return known if known and known[0] == attempt else None
        here = Point(now, share)
        if known is None or known[0] != attempt or share < known[2].share or now < known[2].at:
            return attempt, here, here
        return (attempt, known[2], here) if now - known[2].at >= SPACED else known

    def _read(self) -> dict[str, tuple[str, Point, Point]]:
        try:
            box, rows = json.loads(self._history.counter(self._name, COUNTER) or "[]")
            found = {
                str(name): (str(attempt), _point(older), _point(newer))
                for name, (attempt, older, newer) in list(rows.items())[:KEPT]
            }
        except (ValueError, TypeError, AttributeError, RecursionError):
            return {}
        return found if box == self._box else {}

    def _write(self, now: float) -> None:
        text = json.dumps([self._box, self._seen])
        if len(text) <= LONGEST:
            self._history.set_counter(self._name, COUNTER, text, now)


def _point(row: list[object]) -> Point:
    at, share = (float(number) for number in row)  # type: ignore[arg-type]
    if not (math.isfinite(at) and 0 <= share <= 1):
        raise ValueError(row)
    return Point(at, share)


def _since(cell: Cell, then: Point, now: float) -> Pace | None:
    """The pace since `then`. Where its log counts epochs alone, it may be one epoch further than it says."""
    share = cell.share
    if share is None or now - then.at < NEEDED or share <= then.share:
        return None
    more = 1 / cell.epochs if cell.epochs and not cell.steps else 0.0
    least = max(0.0, 1 - share - more) / (share - then.share + more)
    return Pace(
        (1 - share) / (share - then.share) * (now - then.at),
        least * (now - then.at),
        share,
        cell.epochs,
    )
