"""What detached programs left that ended before anybody watched: the `nohup.out` of each -> jobs.

`left` text: `stat -c '%Y %n'` of such files; `writers` text: `stat -c %N` of the outputs of processes that
write to one. How a program ended is for its last lines to say; a file that is older than a day is history.
"""

from __future__ import annotations

import re

from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.plain import plain
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.detached import parse_outputs

FILE = "nohup.out"
LATELY = 86_400.0  # seconds
MOST = 16
WHY = "no process writes it any more, and nothing else tells how it ended"
_LEFT = re.compile(rf"([0-9]{{1,11}}) (/.{{0,4000}}/{FILE}|/{FILE})")


def parse_left_over(left: bytes, writers: bytes, box_time: float | None) -> JobTable:
    """The newest of them, oldest first; none where the box's time is not known."""
    written = set(parse_outputs(writers).values())
    found: list[tuple[float, str]] = []
    for line in left.decode("utf-8", "replace").split("\n"):
        match = _LEFT.fullmatch(line)
        if match is None or box_time is None or match[2] in written:
            continue
        if 0 <= box_time - float(match[1]) <= LATELY:
            found.append((float(match[1]), match[2]))
    found.sort()
    jobs = tuple(_job(path, at) for at, path in found[-MOST:])
    return JobTable(FILE, jobs, max(0, len(found) - MOST))


def _job(path: str, at: float) -> Job:
    # With its slash no job that runs is called so: what it logged is nobody else's.
    name = plain("/".join(path.rsplit("/", 2)[-2:]), 60)
    return Job(path, name, CellState.CANNOT_TELL, "left", WHY, finished_at=at, stdout=path)
