"""Which processes may stand on a box that does no work. Pure, and a list of names: all else is work.

A process is judged by the program it is, the script or the `-m` module that an interpreter was given,
never by its other arguments: `--logger tensorboard` makes nobody a TensorBoard.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from posixpath import basename

from gpu_tui.core.readings import Process

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash", "ksh", "fish"})
DEAD = frozenset({"Z", "X"})
ENDLESS = frozenset({"infinity", "inf"})  # how long a sleep is that only keeps a box alive
# Options of interpreters that take the next word, which is no script then.
_PYTHON_VALUES = frozenset({"-W", "-X", "--check-hash-based-pycs"})
_WATCH_VALUES = frozenset({"-n", "--interval", "-q", "--equexit", "-s", "--shotsdir"})
_SHELL_VALUES = frozenset({"--rcfile", "--init-file", "-o", "+o", "-O", "+O"})

INIT = frozenset(
    {
        *("init", "systemd", "(sd-pam)", "docker-init", "tini", "dumb-init", "catatonit", "pause"),
        *("s6-svscan", "s6-supervise", "runsvdir", "supervisord"),
    }
)
DAEMONS = frozenset(
    {
        *("sshd", "sshd-session", "sshd-auth", "dropbear", "sftp-server", "ssh-agent", "gpg-agent"),
        *(
            "tmux",
            "screen",
            "SCREEN",
            "cron",
            "crond",
            "atd",
            "anacron",
            "agetty",
            "login",
            "getty",
        ),
        *("dbus-daemon", "dbus-broker", "dbus-broker-launch", "polkitd", "rsyslogd", "syslogd"),
        *("snapd", "udisksd", "multipathd", "ModemManager", "NetworkManager", "accounts-daemon"),
        *("chronyd", "ntpd", "irqbalance", "acpid", "thermald", "containerd", "dockerd", "rpcbind"),
        *("containerd-shim-runc-v2", "docker-proxy", "auditd", "qemu-ga", "haveged", "lvmetad"),
        *("amazon-ssm-agent", "google_guest_agent", "nginx", "autopanel", "fail2ban-server"),
        *("networkd-dispatcher", "unattended-upgrade-shutdown", "packagekitd", "upowerd", "fwupd"),
        *("nvidia-persistenced", "nv-hostengine", "nv-fabricmanager", "nvidia-smi"),
    }
)
SERVERS = frozenset(
    {
        *("jupyter", "jupyter-lab", "jupyterlab", "jupyter-notebook", "jupyter-server", "notebook"),
        *("jupyter_server", "jupyterhub-singleuser", "tensorboard", "code-server"),
    }
)
WATCHING = frozenset(
    {"sleep", "tail", "less", "more", "top", "htop", "btop", "nvtop", "nvitop", "gpustat"}
)
# What `watch` may run again and again: it only reads. Whatever else it runs may bring results here.
READERS = WATCHING | {
    *(
        "nvidia-smi",
        "rocm-smi",
        "df",
        "du",
        "free",
        "ls",
        "ps",
        "cat",
        "head",
        "wc",
        "grep",
        "date",
    ),
    *("uptime", "who", "w", "squeue", "sinfo", "sacct", "sensors", "vmstat", "iostat", "echo"),
}
IDLE = INIT | DAEMONS | SERVERS | WATCHING
EDITORS = frozenset(
    {".vscode-server", ".cursor-server", "code-server"}
)  # directories of node servers
# These hold a GPU and compute nothing on it.
GPU_TOOLS = frozenset(
    {"nvidia-persistenced", "nv-hostengine", "nvidia-smi", "nvtop", "nvitop", "gpustat"}
)

# How the command of a gpu-tui's own look at a box begins, behind `-c`. It says who it is, and proves nothing.
WATCHERS = ("sampler=$GPU_TUI_SAMPLER role=", 'import os; exec(os.environ.pop("GPU_TUI_PYTHON"))')


def working(
    processes: Sequence[Process], on_gpu: Set[int] = frozenset(), own: Set[int] = frozenset()
) -> tuple[Process, ...]:
    """Every living process that may be work. `own`: our looking at the box, children included."""
    table = {process.pid: process for process in processes}
    return tuple(
        process
        for process in processes
        if process.state not in DEAD
        and process.pid not in own
        and not _is_kernel(process, table)
        and (
            not (_holds_gpu_idly(process) if process.pid in on_gpu else _is_idle(process))
            or _holds_up(process, table)
        )
    )


def watches(process: Process) -> bool:
    """By its command it is a gpu-tui that watches this box. It is work all the same: anybody can be called so."""
    return (
        len(process.argv) > 2 and process.argv[-2] == "-c" and process.argv[-1].startswith(WATCHERS)
    )


def own_tree(processes: Sequence[Process], shell: int, parent: int) -> frozenset[int]:
    """Our own shell, what hangs below it, and the other channels of the same ssh connection.

    Empty where the table does not show the shell below that parent: it is of another machine then.
    """
    table = {process.pid: process for process in processes}
    mine = table.get(shell)
    if mine is None or mine.ppid != parent or _program(mine) not in SHELLS:
        return frozenset()
    server = table.get(parent)
    top = {parent} if server and _program(server).startswith(("sshd", "dropbear")) else {shell}
    # The listening server is the parent of everybody's sessions: never take that one for ours.
    if server and ("[listener]" in " ".join(server.argv) or server.ppid in (0, 1)):
        top = {shell}
    found: set[int] = set(top)
    while more := {p.pid for p in processes if p.ppid in found} - found:
        found |= more
    return frozenset(found)


def _is_idle(process: Process) -> bool:
    program = _program(process)
    if program in SHELLS:
        scripts = list(_scripts(process.argv[1:], "c", _SHELL_VALUES))
        return not scripts or process.pid == 1 or scripts[0] in SERVERS
    if program.startswith("python"):
        return any(name in IDLE for name in _scripts(process.argv[1:], "c", _PYTHON_VALUES, "m"))
    if program == "watch":
        return _only_reads(process.argv[1:])
    if program == "node":
        return any(part in EDITORS for word in process.argv[:2] for part in word.split("/"))
    return program in IDLE or program.startswith("systemd-")


def _only_reads(words: Sequence[str]) -> bool:
    """The command that `watch` repeats, each part of it: `-n 5 -d sh command` (watch(1))."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in _WATCH_VALUES and rest:
            rest.pop(0)
    command = " ".join(rest)
    if not command or re.search(r"[>`]|\$\(", command):
        return False
    parts = (part.split() for part in re.split(r"[;&|\n]+", command))
    return all(basename(part[0]) in READERS for part in parts if part)


def _holds_up(process: Process, table: Mapping[int, Process]) -> bool:
    """It ends by itself, and a shell that somebody types into waits for it: what was typed behind it
    (`sleep 7200 && train`) stands in no command line.
    """
    program, words = _program(process), process.argv[1:]
    if program == "tail":
        return any(word.startswith("--pid") for word in words)
    if program != "sleep" or (words and all(word in ENDLESS for word in words)):
        return False
    shell = table.get(process.ppid)
    if shell is None or shell.pid == 1 or _program(shell) not in SHELLS:
        return False
    return not any(_scripts(shell.argv[1:], "c", _SHELL_VALUES))


def _holds_gpu_idly(process: Process) -> bool:
    names = {_program(process)}
    if _program(process).startswith("python"):
        names = set(_scripts(process.argv[1:], "c", _PYTHON_VALUES, "m"))
    return bool(names & GPU_TOOLS)


def _is_kernel(process: Process, table: Mapping[int, Process]) -> bool:
    """A kernel thread: no words, and a child of kthreadd."""
    if process.argv:
        return False
    parent = process if process.pid == 2 else table.get(2 if process.ppid == 2 else -1)
    return parent is not None and parent.name == "kthreadd" and not parent.argv


def _program(process: Process) -> str:
    """The program's bare name; `sshd: root@pts/0` and `-bash` are what they say first."""
    if not process.argv:
        return process.name
    return basename(process.argv[0].split(": ")[0].rstrip(":")).lstrip("-")


def _scripts(words: Sequence[str], code: str, values: Set[str], module: str = "") -> Iterator[str]:
    """The name of the script or module that an interpreter runs; `-c` where it runs bare code."""
    rest = iter(words)
    for word in rest:
        if word in values:
            next(rest, None)
        elif word.startswith(("-", "+")) and len(word) > 1:
            if word.startswith("--") or word.startswith("+"):
                continue
            for at, letter in enumerate(word[1:], 1):
                if letter == code:
                    yield "-c"
                    return
                if module and letter == module:
                    name = word[at + 1 :] or next(rest, "")
                    yield name.split(".")[0]
                    return
                if module and letter in "WX":
                    break
        else:
            yield basename(word)
            return
