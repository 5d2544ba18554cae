"""The process table from /proc -> Process rows. Names and arguments are whatever a program wished.

`stat` text: lines of `PID (NAME) STATE PPID START`, shortened on the box from /proc/PID/stat. Lines of Python programs
end with their CPU ticks, user and system.
`cmdline` text: `==> DIR/PID/cmdline <==` before each list of arguments, NUL written as 0x1f.
"""

from __future__ import annotations

import re

from gpu_tui.core.plain import plain
from gpu_tui.core.readings import Process

TICKS = 100  # USER_HZ of every Linux
MAX_PROCESSES = 20_000
MAX_ARGUMENTS = 256
ARGUMENT_LIMIT = 1024
SEPARATOR = "\x1f"
# A name has at most 15 bytes, 64 for kernel threads, and may hold anything, also ") R 1" and a newline.
_STAT = re.compile(
    r"^([0-9]{1,10}) \((.{0,64}?)\) ([A-Za-z]) ([0-9]{1,10}) ([0-9]{1,20})(?: ([0-9]{1,18}) ([0-9]{1,18}))?$",
    re.ASCII | re.DOTALL | re.MULTILINE,
)
_HEADER = re.compile(r"^==> /?(?:.*/)?([0-9]{1,10})/cmdline <==$", re.ASCII | re.MULTILINE)


def parse_processes(
    stat: bytes, cmdline: bytes, uptime: float | None = None
) -> tuple[Process, ...]:
    """Rows by pid. `uptime` in seconds gives the ages. Never raises."""
    argvs = _arguments(cmdline)
    rows: dict[int, Process] = {}
    for match in _STAT.finditer(stat.decode("utf-8", "replace")):
        pid, name, state, ppid, start, user, system = match.groups()
        age = None if uptime is None else max(0.0, uptime - int(start) / TICKS)
        cpu = None if user is None else (int(user) + int(system)) / TICKS
        row = Process(int(pid), int(ppid), plain(name), argvs.get(int(pid), ()), state, age, cpu)
        rows.setdefault(row.pid, row)
        if len(rows) >= MAX_PROCESSES:
            break
    return tuple(rows[pid] for pid in sorted(rows))


def _arguments(cmdline: bytes) -> dict[int, tuple[str, ...]]:
    """Pid -> argv. A pid that has two lists is a forgery by one of them: neither is believed."""
    parts = _HEADER.split(cmdline.decode("utf-8", "replace"))
    argvs: dict[int, tuple[str, ...]] = {}
    for pid, text in zip(map(int, parts[1::2]), parts[2::2], strict=True):
        words = text.strip("\n").removesuffix(SEPARATOR).split(SEPARATOR)[:MAX_ARGUMENTS]
        argv = tuple(plain(word, ARGUMENT_LIMIT) for word in words)
        argvs[pid] = () if pid in argvs or argv == ("",) else argv
    return argvs
