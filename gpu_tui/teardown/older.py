"""Weights that were there before their cell began: the files of an earlier attempt load as well as those of this
one, and nothing but their time tells them apart. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpu_tui.core import units
from gpu_tui.core.evidence import Cells
from gpu_tui.core.required import holding
from gpu_tui.teardown.hashing import written_at

SLACK = 120.0  # seconds; a disk behind the network has a clock of its own
QUARTER = 900.0  # time zones differ by quarters of an hour
ZONE_SLACK = 60.0
LONGEST_OFFSET = 15 * 3600.0


def older(cells: Cells, stamps: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """(cell, why) of each whose newest weights were written before its last start. `stamps`: path below the
    results -> what `stat` said of it. What no time is known of is left out.
    """
    began = dict(cells.began)
    newest: dict[str, float] = {}
    for file in cells.required.weights:
        for directory, path in holding(file, stamps):
            cell, at = cells.required.cell_of(directory, began), written_at(stamps[path])
            if cell is not None and at is not None:
                newest[cell] = max(at, newest.get(cell, at))
    late = ((name, began[name] - at) for name, at in sorted(newest.items()))
    return tuple(
        (name, f"its weights were written {units.words(seconds)} before it last started")
        for name, seconds in late
        if seconds > SLACK
    )


def zone_of(done: float | None, written: float | None, login: float | None) -> float | None:
    """Seconds that the stamps of a queue's log are ahead of UTC. `done`: its closing line's, as if it were UTC;
    `written`: when the log was last written, epoch seconds; `login`: the zone of our own login there, which may
    be another one than that of the shell that ran the queue.
    """
    if done is not None and written is not None:
        zone = round((done - written) / QUARTER) * QUARTER
        if abs(done - written - zone) <= ZONE_SLACK and abs(zone) <= LONGEST_OFFSET:
            return zone
    return login
