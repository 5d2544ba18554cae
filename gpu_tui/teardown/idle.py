"""Which processes may stand on a box that does no work. Pure, and a list of names: all else is work.

A process is judged by the program it is, the script or the `-m` module that an interpreter was given,
never by its other arguments: `--logger tensorboard` makes nobody a TensorBoard.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from posixpath import basename
from types import MappingProxyType

from gpu_tui.core.readings import Process
from gpu_tui.transport.base import NONCE

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

# How the commands of a gpu-tui that watches begin, after `-c`. They say who it is, and prove nothing.
WATCHERS = (
    'eval "$gpu_tui_follow"',
    "sampler=$GPU_TUI_SAMPLER role=",  # this and the next: the sampler of an older gpu-tui
    'import os; exec(os.environ.pop("GPU_TUI_PYTHON"))',
)

# Programs that are many in one file, which a title names by one of its names.
ALL_IN_ONE = frozenset({"busybox", "toybox", "coreutils", "dropbearmulti", "exe"})
COMM = 15  # bytes that the kernel keeps of a program's name


@dataclass(frozen=True, slots=True)
class Image:
    """The kernel's record of a process's program: the owner, and the file that it runs; each None where
    the kernel does not show it to this login. No title changes either.
    """

    uid: int | None = None
    path: str | None = None


_UNSHOWN = Image()


def working(
    processes: Sequence[Process],
    on_gpu: Set[int] = frozenset(),
    own: Set[int] = frozenset(),
    images: Mapping[int, Image] = MappingProxyType({}),
) -> tuple[Process, ...]:
    """Every living process that may be work. `own`: our looking at the box, children included."""
    table = {process.pid: process for process in processes}

    def works(process: Process) -> bool:
        image, holds = images.get(process.pid, _UNSHOWN), process.pid in on_gpu
        if process.pid in own:
            # What a login's own profile starts is a child of our shell, too.
            return (holds and not _holds_gpu_idly(process, image)) or _runs_script(process)
        idle = _holds_gpu_idly(process, image) if holds else _is_idle(process, image)
        return not idle or _holds_up(process, table)

    return tuple(
        process
        for process in processes
        if process.state not in DEAD and not _is_kernel(process, table) and works(process)
    )


def watches(process: Process) -> bool:
    """By its command it is a gpu-tui that watches this box. It is work all the same: anybody can be called so."""
    pairs = zip(process.argv, process.argv[1:], strict=False)
    return any(
        (word == "-c" and after.startswith(WATCHERS)) or (word == "-s" and after.startswith(NONCE))
        for word, after in pairs
    )


def fits(process: Process, image: Image | None = None) -> bool:
    """Whether its title names the program that it is, as the kernel knows it: a process may call itself
    anything (setproctitle, `exec -a`). A program of Python or node is judged by its script.
    """
    title = program_of(process)
    names = [process.name.removesuffix(": server").removesuffix(": client")]  # as tmux calls itself
    if image is not None and image.path:
        names.append(basename(image.path.removesuffix(" (deleted)")))
    return all(_fits(title, name) for name in names)


def _fits(title: str, name: str) -> bool:
    """`name`: the kernel's, cut after 15 bytes where it is no file's: `zsh-5.9` and `screen` are zsh and SCREEN."""
    if name in ALL_IN_ONE:
        return True
    for kind in (SHELLS, INIT):
        if title in kind and any(_fits_word(one, name) for one in kind):
            return True
    return _fits_word(title, name)


def _fits_word(title: str, name: str) -> bool:
    title, name = title.lower(), name.lower()
    rest = name.removeprefix(title)
    if rest == name:
        return len(name) == COMM and title.startswith(name)
    return not rest or rest[0] in "-." or rest[0].isdecimal()


def _runs_script(process: Process) -> bool:
    """A Python with a script or a module that is none of the idle ones: we start none such."""
    if not program_of(process).startswith("python"):
        return False
    names = _scripts(process.argv[1:], "c", _PYTHON_VALUES, "m")
    return any(name != "-c" and name not in IDLE for name in names)


def _is_idle(process: Process, image: Image) -> bool:
    program = program_of(process)
    if program in SHELLS:
        scripts = list(_scripts(process.argv[1:], "c", _SHELL_VALUES))
        if not scripts:
            return fits(process, image)
        return process.pid == 1 or scripts[0] in SERVERS
    if program.startswith("python"):
        return any(name in IDLE for name in _scripts(process.argv[1:], "c", _PYTHON_VALUES, "m"))
    if program == "watch":
        return _only_reads(process.argv[1:]) and fits(process, image)
    if program == "node":
        return any(part in EDITORS for word in process.argv[:2] for part in word.split("/"))
    return (program in IDLE or program.startswith("systemd-")) and fits(process, image)


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
    program, words = program_of(process), process.argv[1:]
    if program == "tail":
        return any(word.startswith("--pid") for word in words)
    if program != "sleep" or (words and all(word in ENDLESS for word in words)):
        return False
    shell = table.get(process.ppid)
    if shell is None or shell.pid == 1 or program_of(shell) not in SHELLS:
        return False
    return not any(_scripts(shell.argv[1:], "c", _SHELL_VALUES))


def _holds_gpu_idly(process: Process, image: Image) -> bool:
    if program_of(process).startswith("python"):
        return bool(GPU_TOOLS.intersection(_scripts(process.argv[1:], "c", _PYTHON_VALUES, "m")))
    return program_of(process) in GPU_TOOLS and fits(process, image)


def _is_kernel(process: Process, table: Mapping[int, Process]) -> bool:
    """A kernel thread: no words, and a child of kthreadd."""
    if process.argv:
        return False
    parent = process if process.pid == 2 else table.get(2 if process.ppid == 2 else -1)
    return parent is not None and parent.name == "kthreadd" and not parent.argv


def program_of(process: Process) -> str:
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
