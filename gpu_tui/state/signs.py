"""Signs of life of single cells: checkpoints under whatever name, in directories that are called by their cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from gpu_tui.core import metrics
from gpu_tui.core.log_cells import AHEAD
from gpu_tui.core.readings import FileTable
from gpu_tui.core.required import names_of
from gpu_tui.state.instance import InstanceState
from gpu_tui.state.witness import box_time


def signs_of_life(kept: InstanceState) -> Mapping[str, float]:
    """When the newest checkpoint in each cell's own directory was written, by the box's clock.

    A time that lies ahead is another clock's, and no sign.
    """
    table, known = kept.value(metrics.FILES), kept.joined.signs
    if table is None:
        return {}
    if known is None or known[0] is not table:
        kept.joined.signs = known = (table, _signs(kept, table))
    return known[1]


def _signs(kept: InstanceState, table: FileTable) -> Mapping[str, float]:
    good = kept.tracks[metrics.FILES.name].good
    read_at = box_time(kept.tracks, good.taken_at) if good else None
    if read_at is None:
        return {}
    times = {
        directory: stat.mtime
        for directory, stat in table.signs.items()
        if stat.mtime <= read_at + AHEAD
    }
    return by_cell(times)


def written_by_name(kept: InstanceState, table: FileTable) -> Mapping[str, float]:
    """When each name of the paths was written last, by the box; once for a table: there may be tens of thousands."""
    if kept.joined.written is None or kept.joined.written[0] is not table:
        parts: dict[str, float] = {}
        for path, stat in table.found.items():
            for part in path.split("/"):
                if stat.mtime > parts.get(part, -inf):
                    parts[part] = stat.mtime
        kept.joined.written = (table, by_cell(parts))
    return kept.joined.written[1]


def by_cell(times: Mapping[str, float]) -> Mapping[str, float]:
    """Times of directories as those of the cells that these may be of: one may be called by its cell and a time."""
    names: dict[str, float] = {}
    for directory, at in times.items():
        for name in names_of(directory):
            names[name] = max(at, names.get(name, at))
    return names


def quiet_since_sign(kept: InstanceState, names: Iterable[str], files_at: float) -> float | None:
    """Seconds before `files_at`, by the box, since a checkpoint of one of these cells was written."""
    known = signs_of_life(kept)
    times = [known[name] for name in names if name in known]
    return max(0.0, files_at - max(times)) if times else None
