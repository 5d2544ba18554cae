"""Detects trainers that outlived the shell which would have started the next cell. Pure.

The kernel gives the children of a dead process to the nearest subreaper above it, otherwise to PID 1 of the PID
namespace (prctl(2), PR_SET_CHILD_SUBREAPER). A user's systemd, containerd-shim and conmon are subreapers; tmux and sshd
are not. In a container PID 1 may be anything: sshd, `sleep`, tini, supervisord, a start-up script.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from posixpath import basename, join, normpath

from gpu_tui.core.liveness import LAUNCHERS, SHELLS, descendants, is_launcher, is_typed_at
from gpu_tui.core.readings import Process
from gpu_tui.core.shells import Shell, script_of

REAPERS = ("systemd", "containerd-shim", "conmon", "tini", "dumb-init", "docker-init", "catatonit")
# Programs that start one other program and exit with its status.
WRAPPERS = frozenset(
    {
        *("timeout", "env", "nice", "ionice", "nohup", "setsid", "stdbuf", "unbuffer", "script", "time", "taskset"),
        *("numactl", "conda", "mamba", "micromamba", "uv", "poetry", "pipenv", "sudo", "su", "doas", "runuser"),
        *("catchsegv", "strace", "nsys", "ncu", "py-spy", "firejail", "proot", "chroot", "unshare", "flock"),
    }
)  # fmt: skip
# Programs other than shells and Python that run the entries of a list.
DRIVERS = ("xargs", "parallel", "perl", "make", "snakemake", "just", "ts", "tsp", "pueued")


def orphans(
    trainers: Sequence[Process],
    processes: Sequence[Process],
    shells: Mapping[int, Shell],
    cells_of: Callable[[Process], int],
) -> tuple[Process, ...]:
    """The topmost process of each training, if each of them was left to a reaper; otherwise ().

    `cells_of` counts the cells that the arguments of a process name: one means that the process serves that cell alone,
    several mean that it may be a runner. () also if the parent of one is not visible.
    """
    table = {process.pid: process for process in processes if process.state not in ("Z", "X")}
    pids = {trainer.pid for trainer in trainers}
    heads: dict[int, Process] = {}
    for trainer in trainers:
        head = trainer
        while head.ppid in table and head.ppid != 1 and _passes_on(
            table[head.ppid], pids, shells, cells_of
        ):  # fmt: skip
            head = table[head.ppid]
        if cells_of(head) > 1 or not _reaped(head, table):
            return ()
        heads[head.pid] = head
    if not heads or _pid_1_started_them(table.get(1), heads, table):
        return ()
    return tuple(heads[pid] for pid in sorted(heads))


def _passes_on(
    process: Process,
    trainers: Collection[int],
    shells: Mapping[int, Shell],
    cells_of: Callable[[Process], int],
) -> bool:
    """Whether a process belongs to one training: a launcher, a wrapper, one cell's script, or a fork of a dead shell."""
    program = basename(process.argv[0]) if process.argv else process.name
    if program in DRIVERS:
        return False
    if process.pid in trainers or program in WRAPPERS or cells_of(process) == 1:
        return True
    return is_orphaned_subshell(process, shells)


def is_orphaned_subshell(process: Process, shells: Mapping[int, Shell]) -> bool:
    """Whether a process is a subshell (of a pipeline, in brackets) that its shell forked. It has the arguments of its
    shell, but not the script open: bash and dash close it in the child.
    """
    shell = shells.get(process.pid)
    if shell is None or shell.cwd is None:  # its files are not visible
        return False
    word = script_of(process.argv) if _is_shell(process) else None
    # Nothing shows whether a script that comes through a pipe is still open.
    if word is None or word.startswith(("/dev/", "/proc/")):
        return False
    script = shell.script(process.argv)
    return script is not None and script[1] is None and not shell.lists


def _reaped(head: Process, table: Mapping[int, Process]) -> bool:
    parent = table.get(head.ppid)
    if head.ppid == 1:
        return True
    return parent is not None and parent.name.lower().startswith(REAPERS)


def _pid_1_started_them(
    first: Process | None, heads: Mapping[int, Process], table: Mapping[int, Process]
) -> bool:
    """Whether PID 1 itself started the trainings: its arguments name one, or it is a shell or a Python that waits for
    nothing else. An image's start-up script waits for a sleep or sshd of its own.
    """
    if first is None:
        return False
    if any(head.argv and first.argv[-len(head.argv) :] == head.argv for head in heads.values()):
        return True
    if not (_is_shell(first) or is_launcher(first)) or is_typed_at(first):
        return False
    others = [one for one in table.values() if one.ppid == 1 and one.pid not in heads]
    return not others


def _is_shell(process: Process) -> bool:
    return bool(process.argv) and basename(process.argv[0]).lstrip("-") in (
        *SHELLS,
        "ksh",
        "busybox",
    )


def may_start_next(
    processes: Sequence[Process],
    shells: Mapping[int, Shell],
    heads: Sequence[Process],
    file: str | None,
    log: str | None,
) -> bool:
    """Whether a driver of the queue, outside the trainings below `heads`, may still start the next cell."""
    own = descendants(processes, {head.pid for head in heads}) | {head.pid for head in heads}
    return bool(drivers(processes, shells, file, log) - own)


def drivers(
    processes: Sequence[Process],
    shells: Mapping[int, Shell],
    file: str | None,
    log: str | None,
) -> set[int]:
    """PIDs of the shells, Pythons and drivers that were given the queue's file, read it, or write the queue's log."""
    found = set()
    given = None if file is None else basename(file)
    for process in processes:
        if process.state in ("Z", "X"):
            continue
        program = basename(process.argv[0]).lstrip("-") if process.argv else process.name
        drives = _is_shell(process) or program.startswith(LAUNCHERS) or program in DRIVERS
        if not drives or is_orphaned_subshell(process, shells):
            continue
        shell = shells.get(process.pid)
        cwd = shell.cwd if shell else None
        words = [word for word in process.argv[1:] if basename(word) == given]
        reads = [one.path for one in shell.reads] if shell else []
        writes = shell.writes if shell else ()
        if (
            any(cwd is None or file is None or same_path(join(cwd, word), file) for word in words)
            or (file and any(same_path(path, file) for path in reads))
            or (log and any(same_path(path, log) for path in writes))  # `tail -f` only reads it
        ):
            found.add(process.pid)
    return found


def same_path(path: str, named: str) -> bool:
    """Whether a path of the box is the one `named` in a settings file or a log; `named` may begin with `~/`."""
    tail = named[1:] if named.startswith("~/") else f"/{named.lstrip('/')}"
    return normpath(f"/{path}").endswith(normpath(tail))
