"""Is a run alive? Answered from the process table by what a process is, never by our own pattern.

Our own programs arrive over stdin and carry no pattern in their arguments, so they cannot match.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from posixpath import basename

from gpu_tui.core.readings import Process
from gpu_tui.core.sweep import Roster

LAUNCHERS = ("python", "torchrun", "accelerate", "deepspeed", "mpirun", "srun")
SHELLS = ("sh", "bash", "dash", "zsh", "ash")
PROMPTS = (*SHELLS, "fish", "csh", "tcsh", "ksh")
# Programs of Python that serve people and do not train; a patrol of ours among them. What follows such a name may be a
# version or a part of it (pip3.11, jupyter-lab): pipeline.py and ray_train.py are somebody's own.
_SERVICE = re.compile(
    r"(?:gpu[-_]tui|pytest|jupyter\w*|ipykernel\w*|tensorboard|wandb|http\.server|supervisord|gunicorn|uvicorn|visdom"
    r"|mlflow|aim|ray|streamlit|gradio|code-server|networkd-dispatcher|unattended-upgrade|fail2ban|aptd?|apt_check|pip)"
    r"(?:[-.0-9].*)?"
)
_OF_RAY = "-packages/ray/"  # its dashboard and monitors write to files, too
# Programs of Python that a person waits for: prompts, installers, builders, downloaders, monitors.
_TOOL = re.compile(
    r"ipython|bpython|ptpython|i?pdb|pudb|conda|mamba|poetry|pipenv|pdm|virtualenv|venv|build|setup|cmake|ninja|meson"
    r"|tox|nox|mypy|huggingface-cli|hf|modelscope|kaggle|gdown|aws|s3cmd|gsutil|gcloud|dvc|yt-dlp|nvitop|gpustat|glances"
)
SSH_SERVERS = ("sshd", "dropbear")
_SESSION = re.compile(r"sshd(?:-session)?: \S+@")
MULTIPLEXERS = ("tmux", "screen", "zellij", "abduco", "dtach")


@dataclass(frozen=True, slots=True)
class Run:
    """The queue's runner and the processes that train, as the table shows them."""

    runners: tuple[Process, ...] = ()
    trainers: tuple[Process, ...] = ()

    @property
    def alive(self) -> bool:
        """Anything of the run exists."""
        return bool(self.runners or self.trainers)


def find_run(
    processes: Sequence[Process],
    queue_file: str | None,
    roster: Roster | None,
    drivers: Collection[int] = (),
) -> Run:
    """Find the run: shells that were given the queue file, launchers below them or naming a cell.

    `drivers`: PIDs that run the queue, by the files that they have open.
    """
    living = [process for process in processes if process.state not in ("Z", "X")]
    runners = tuple(
        p for p in living if p.pid in drivers or (queue_file and _runs_queue(p, queue_file))
    )
    below = descendants(living, {process.pid for process in runners})
    configs, names = cell_words(roster)
    trainers = tuple(
        process
        for process in living
        if is_launcher(process) and (process.pid in below or names_one(process, configs, names))
    )
    return Run(runners, trainers)


def cell_words(roster: Roster | None) -> tuple[set[str], set[str]]:
    """The words by which arguments name a cell: file names of configs, and names of cells."""
    if roster is None:
        return set(), set()
    return {basename(cell.config) for cell in roster.cells}, {cell.name for cell in roster.cells}


def find_trainers(processes: Sequence[Process], gpu_pids: Iterable[int]) -> tuple[Process, ...]:
    """Without a queue: launchers that use a GPU or whose script is about training."""
    using = set(gpu_pids)
    return tuple(
        process
        for process in processes
        if process.state not in ("Z", "X")
        and (process.pid in using or (is_launcher(process) and trains(process)))
    )


def is_launcher(process: Process) -> bool:
    """A program that people start trainings with."""
    program = basename(process.argv[0]) if process.argv else process.name
    return program.startswith(LAUNCHERS)


def works(process: Process) -> bool:
    """A launcher that was given a script, and no service for people."""
    if not is_launcher(process) or len(process.argv) < 2:
        return False
    words = {_script(process), *process.argv[1:4]}
    return not any(_SERVICE.fullmatch(word) or _OF_RAY in word for word in words)


def is_tool(process: Process) -> bool:
    """Somebody waits for it, and sees how it ends; `conda run` is for something else."""
    return _TOOL.fullmatch(_script(process)) is not None and "run" not in process.argv


def is_typed_at(process: Process) -> bool:
    """A shell that runs no script and no command: somebody sits at it, or it waits for one who left."""
    words = process.argv
    if not words or basename(words[0]).lstrip("-") not in PROMPTS:
        return False
    return all(
        word.startswith("--") or (word.startswith("-") and "c" not in word) for word in words[1:]
    )


def _script(process: Process) -> str:
    first = next((word for word in process.argv[1:] if not word.startswith("-")), "")
    return basename(first).removesuffix(".py")


def trainings_below(processes: Sequence[Process]) -> Mapping[int, Process]:
    """Of each process at or below which programs may train, the topmost of these. All at once: a box may list as many
    panes as processes.
    """
    table = {one.pid: one for one in processes}
    below: dict[int, list[Process]] = {}
    for one in table.values():
        below.setdefault(one.ppid, []).append(one)
    order = [one for one in table.values() if one.ppid not in table]
    for one in order:  # grows on the way, each process once
        order += below.get(one.pid, ())
    found: dict[int, Process] = {}
    for one in reversed(order):  # from the leaves; of two children the first one counts
        if one.state not in ("Z", "X") and works(one) and not is_tool(one):
            found[one.pid] = one
        if one.pid in found:
            found[one.ppid] = found[one.pid]
    return found


def trains(process: Process) -> bool:
    """By a word of its arguments it is about training."""
    return any(
        "train" in basename(word) or "finetune" in basename(word) for word in process.argv[1:]
    )


def _runs_queue(process: Process, queue_file: str) -> bool:
    if not process.argv or basename(process.argv[0]).lstrip("-") not in SHELLS:
        return False
    wanted = basename(queue_file)
    return any(basename(word) == wanted for word in process.argv[1:])


def names_one(process: Process, configs: set[str], names: set[str]) -> bool:
    """Whether an argument is the name of a cell, or the file name of its config."""
    return bool(cells_named(process, configs, names))


def cells_named(process: Process, configs: set[str], names: set[str]) -> set[str]:
    """The cells that the arguments name, by name or by config; a config without folder and `.yaml` counts as a name."""
    words = {basename(part) for word in process.argv[1:] for part in word.split("=", 1)}
    return {word.removesuffix(".yaml") for word in words & configs} | (words & names)


def descendants(processes: Sequence[Process], roots: set[int]) -> set[int]:
    """The processes below these, at any depth."""
    found = set(roots)
    grew = bool(roots)
    while grew:
        more = {p.pid for p in processes if p.ppid in found} - found
        found |= more
        grew = bool(more)
    return found - roots


@dataclass(frozen=True, slots=True)
class Session:
    """What a run hangs on. `kind`: tmux (or screen), ssh (it ends with the connection), none."""

    kind: str
    pid: int | None = None  # of the sshd that serves the connection


def session_of(processes: Sequence[Process], run: Run) -> Session:
    """The session of a run, from its ancestors.

    A process whose shell hangs on an sshd gets a SIGHUP with it, unless it was told to ignore that,
    which the table does not show.
    """
    table = {process.pid: process for process in processes}
    first = next(iter((*run.runners, *run.trainers)), None)
    seen: set[int] = set()
    while first is not None and first.pid not in seen:
        seen.add(first.pid)
        if first.name.lower().startswith(MULTIPLEXERS):
            return Session("tmux")
        if _serves_one(first, table.get(first.ppid)):
            return Session("ssh", first.pid)
        first = table.get(first.ppid)
    return Session("none")


def _serves_one(process: Process, parent: Process | None) -> bool:
    """It is the process of sshd or dropbear for one connection: a child of the listener, or one that
    inetd started (`-i`), which says whose session it is.
    """
    kind = next((name for name in SSH_SERVERS if process.name.lower().startswith(name)), None)
    if kind is None:
        return False
    if parent is not None and parent.name.lower().startswith(kind):
        return True
    return "-i" in process.argv or _SESSION.match(" ".join(process.argv)) is not None
