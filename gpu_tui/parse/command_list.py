"""A plain list of commands -> jobs that wait. Blank lines and `#` lines are no commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_tui.core.commands import CommandList, words_of
from gpu_tui.core.job_names import name_of_command, unique
from gpu_tui.core.jobs import JOBS_KEPT, Job, JobTable
from gpu_tui.core.sweep import CellState

LONGEST = 8_192  # characters of a line that can be a command


def _whole(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Each command with the number of its first line: a backslash at the end goes on in the next one."""
    begun, parts = 0, list[str]()
    for number, raw in enumerate(lines, 1):
        line = raw.removesuffix("\r")
        begun = begun if parts else number
        note = not parts and line.lstrip().startswith("#")
        parts.append(line.removesuffix("\\") if not note else line)
        if note or not line.endswith("\\"):
            yield begun, "".join(parts)
            parts = []
    if parts:
        yield begun, "".join(parts)


def parse_commands(text: str) -> CommandList:
    """The commands, named by what they run; a line that cannot be one is counted in `why` with its number."""
    jobs: list[Job] = []
    argvs: list[tuple[str, ...]] = []
    wrong: list[str] = []
    dropped = 0
    for number, raw in _whole(text.removeprefix("\ufeff").split("\n")):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        words = words_of(line) if len(line) <= LONGEST else ()
        if not words:
            wrong.append(str(number))
            continue
        if len(jobs) >= JOBS_KEPT:
            dropped += 1
            continue
        name = name_of_command(line)
        jobs.append(Job(str(number), name, CellState.PENDING, "planned", index=len(jobs) + 1))
        argvs.append(words)
    many = ", ".join(wrong[:5]) + (" and more" if len(wrong) > 5 else "")
    why = f"not a command: line {many}" if wrong else None
    table = JobTable("commands", unique(jobs), dropped, why, not (wrong or dropped))
    return CommandList(table, tuple(argvs))
