"""The names of everything that is sampled, each with the type of its value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from gpu_tui.core.commands import CommandList
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.profile import Sign
from gpu_tui.core.readings import (
    CpuCounters,
    FileTable,
    GpuTable,
    Host,
    Memory,
    MemoryLog,
    Mount,
    PodCards,
    PodUse,
    Process,
    Scores,
)
from gpu_tui.core.shells import Shell
from gpu_tui.core.sweep import Roster

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Metric(Generic[T]):
    """A typed key: `track(GPUS)` is a `Track[GpuTable]`."""

    name: str


GPUS: Metric[GpuTable] = Metric("gpus")
MEMORY: Metric[Memory] = Metric("memory")
CPU: Metric[CpuCounters] = Metric("cpu")
MOUNTS: Metric[tuple[Mount, ...]] = Metric("mounts")
HOST: Metric[Host] = Metric("host")
PROCESSES: Metric[tuple[Process, ...]] = Metric("processes")
ROSTER: Metric[Roster] = Metric("roster")
FILES: Metric[FileTable] = Metric("files")
SCORES: Metric[Scores] = Metric("scores")
SIGNS: Metric[tuple[Sign, ...]] = Metric("signs")
PAST: Metric[MemoryLog] = Metric("past")
SHELLS: Metric[tuple[Shell, ...]] = Metric("shells")
POD_USE: Metric[tuple[PodUse, ...]] = Metric("pod_use")
POD_CARDS: Metric[tuple[PodCards, ...]] = Metric("pod_cards")

# Who else runs jobs here; each is a table of its own, in the order in which they fill the queue pane.
SLURM: Metric[JobTable] = Metric("slurm")
KUBERNETES: Metric[JobTable] = Metric("kubernetes")
SPOOLER: Metric[JobTable] = Metric("task-spooler")
PUEUE: Metric[JobTable] = Metric("pueue")
TMUX: Metric[JobTable] = Metric("tmux")
DETACHED: Metric[JobTable] = Metric("nohup")
FEED: Metric[JobTable] = Metric("feed")
LEFT: Metric[JobTable] = Metric("left")  # what ended before anybody watched
JOBS: tuple[Metric[JobTable], ...] = (
    *(SLURM, KUBERNETES, FEED, SPOOLER, PUEUE, TMUX, DETACHED),
    LEFT,
)
SCHEDULERS: Mapping[str, Metric[JobTable]] = {"slurm": SLURM, "kubernetes": KUBERNETES}
UNRECORDED: tuple[Metric[JobTable], ...] = (TMUX, DETACHED)  # they forget a job that ended
FOUND: tuple[Metric[JobTable], ...] = (TMUX, DETACHED, LEFT)  # discovery, if no setting names runs
COMMANDS: Metric[CommandList] = Metric("commands")  # becomes a table with the process table
