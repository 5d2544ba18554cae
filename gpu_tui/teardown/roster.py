"""Which cells there should be, and which of them ended well, as the box has it now."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpu_tui.core.artifact import layout_of
from gpu_tui.core.evidence import Cells
from gpu_tui.core.fleet import Instance
from gpu_tui.core.proof import NO_COPY, NO_END
from gpu_tui.core.queue_done import claim_of, doubts
from gpu_tui.core.queue_history import CellRun, QueueHistory
from gpu_tui.core.required import required_of
from gpu_tui.core.sweep import Roster, RosterCell
from gpu_tui.parse.queue_file import decode_roster
from gpu_tui.parse.queue_log import parse_queue_line
from gpu_tui.teardown.box import SURVEY_LIMIT, TEXT_CAP, read_text, shell_path
from gpu_tui.teardown.older import zone_of
from gpu_tui.transport.base import Connection

NO_LOG = "the fleet file names no log of the queue (queue.log): nothing says how it ended"
_WRITTEN = re.compile(r"[0-9]{1,11}\b", re.ASCII)
_LOGIN = re.compile(r"(?:^| )([+-])([01][0-9])([0-5][0-9]) *$", re.ASCII)
COPY_FAILED = 2  # the exit code of run_one.sh where it trained, and the copy to the results did not come about


async def read_roster(connection: Connection, instance: Instance) -> Roster | None:
    """The cells that the fleet file names, else the queue file, read now; None where there is neither, or
    it cannot be read whole.
    """
    if names := instance.results.cells:
        return Roster(tuple(RosterCell(at, name, name, "", 0) for at, name in enumerate(names, 1)))
    if instance.queue.file is None:
        return None
    data = await read_text(connection, instance.queue.file)
    return None if data is None else decode_roster(data)


async def read_cells(connection: Connection, instance: Instance, roster: Roster) -> Cells:
    """The roster joined with what the queue's log says of each cell."""
    queue, history = instance.queue, QueueHistory()
    told = await _milestones(connection, queue.log) if queue.log else Milestones()
    for line in told.lines:
        event = parse_queue_line(line)
        if event is not None:
            history = history.fold(event)
    zone = zone_of(history.done.stamp if history.done else None, told.written, told.login)
    cells = replace(
        cells_of(roster, history),
        required=required_of(instance.results),
        began=began(roster, history, zone),
        trained_in=layout_of(instance).checkpoints,
    )
    if queue.log is None:
        return replace(cells, unfinished=tuple((name, NO_LOG) for name in cells.names))
    return cells


def cells_of(roster: Roster, history: QueueHistory) -> Cells:
    """What each planned cell came to. A name that stands twice, a line that is no cell or was not read, and
    a closing line that contradicts the cells' own end lines are doubt.
    """
    names = tuple(dict.fromkeys(cell.name for cell in roster.cells))
    ends = {name: _end(history.runs.get(name)) for name in names}
    claim = claim_of(history, {*names, *history.runs})
    return Cells(
        finished=tuple(name for name in names if ends[name] is None),
        unfinished=tuple((name, end) for name, end in ends.items() if end is not None),
        doubtful=(
            *(f"{name} stands twice" for name in roster.duplicates),
            *(f"no cell: {line}" for line in roster.rejected),
            *((f"{roster.dropped} more lines were not read",) if roster.dropped else ()),
            *(doubts(claim, history) if claim else ()),
        ),
        closed=history.done is not None,
    )


def joined(several: Sequence[Cells]) -> Cells | None:
    """The cells of all queues of one box. A name that several have ended well only where all of them say so."""
    if not several:
        return None
    states: dict[str, str] = {}
    starts: dict[str, float] = {}
    for cells in several:
        states |= {name: state for name, state in cells.unfinished if name not in states}
        starts |= {name: max(at, starts.get(name, at)) for name, at in cells.began}
    finished = dict.fromkeys(name for cells in several for name in cells.finished)
    return replace(
        several[0],
        finished=tuple(name for name in finished if name not in states),
        unfinished=tuple(states.items()),
        doubtful=tuple(dict.fromkeys(doubt for cells in several for doubt in cells.doubtful)),
        closed=all(cells.closed for cells in several),
        began=tuple(starts.items()),
    )


def began(
    roster: Roster, history: QueueHistory, zone: float | None
) -> tuple[tuple[str, float], ...]:
    """(cell, epoch second) of each last start whose time is known. `zone`: seconds that stamps are ahead of UTC."""
    names = dict.fromkeys(cell.name for cell in roster.cells)
    runs = ((name, history.runs.get(name)) for name in names)
    return tuple(
        (name, run.started - zone)
        for name, run in runs
        if zone is not None and run is not None and run.started is not None
    )


def _end(run: CellRun | None) -> str | None:
    """None for a cell that came to its end, else what became of it."""
    if run is None:
        return "no start line"
    if not run.ended:
        return NO_END
    if run.exit_code == COPY_FAILED:
        return NO_COPY
    return None if run.exit_code == 0 else f"exit {run.exit_code}"


@dataclass(frozen=True, slots=True)
class Milestones:
    """The queue log's own lines; when it was last written, in epoch seconds; how far our own login's wall time
    is ahead of UTC, in seconds.
    """

    lines: Sequence[str] = ()
    written: float | None = None
    login: float | None = None


async def _milestones(connection: Connection, path: str) -> Milestones:
    """The queue log's own lines, found on the box: a log full of progress bars can be huge."""
    mark, log = secrets.token_hex(8), shell_path(path)
    program = (
        f"tr '\\r' '\\n' <{log} 2>/dev/null | grep -a -e '^=== Queue' -e '] STARTING ' "
        f"-e '] FINISHED ' -e 'QUEUE DONE' | tail -n 20000\necho {mark}\n"
        f"{{ stat -c %Y -- {log} || stat -f %m -- {log}; }} 2>/dev/null | head -n 1; date +%z\n"
    )
    done = await connection.run(program, limit=SURVEY_LIMIT, stdout_cap=TEXT_CAP)
    lines = done.stdout.decode("utf-8", "replace").split("\n")
    if mark not in lines:
        return Milestones()
    at = lines.index(mark)
    times = " ".join(lines[at + 1 :])
    written, login = _WRITTEN.match(times), _LOGIN.search(times)
    return Milestones(
        lines[:at],
        float(written[0]) if written else None,
        float(f"{login[1]}1") * (int(login[2]) * 3600 + int(login[3]) * 60) if login else None,
    )
