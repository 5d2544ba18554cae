"""What the child gives up before it sees a file. What a system lacks is left as it is, and said.

Linux: a network namespace of its own with nothing in it, no powers of root, no core, no ptrace, first
to go when memory runs out, gone with its parent. Elsewhere only the resource limits hold.
"""

from __future__ import annotations

import ctypes
import math
import os
import resource
import signal
from contextlib import suppress

# linux/sched.h and linux/prctl.h
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38
# linux/capability.h
CAPABILITIES_V3, CAP_DAC_READ_SEARCH = 0x20080522, 2
OPEN_FILES = 64
CPU_FLOOR, CPU_PER_GIB = 60.0, 6.0  # seconds, by the memory allowed


def enter() -> bool:
    """Close this process in, for itself and all that it forks. True where the network is cut."""
    for name, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
    ):
        _limit(name, value)
    _write("/proc/self/oom_score_adj", "1000")
    cut = _cut_network()
    _drop_powers()
    confine()
    return cut


def confine() -> None:
    """What a fork has to ask for again: both end with the program or the parent that asked."""
    libc = _libc()
    if libc is None:
        return
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def limit_memory(room: int) -> None:
    """Allow `room` bytes of address space beyond what is mapped now, and CPU time to match."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return
    _limit(resource.RLIMIT_AS, max(0, mapped + room))
    _limit(resource.RLIMIT_CPU, math.ceil(CPU_FLOOR + CPU_PER_GIB * max(0, room) / (1 << 30)))


def _cut_network() -> bool:
    """Into an empty network: root may do so at once, others through a user namespace where allowed."""
    libc = _libc()
    if libc is None or not hasattr(libc, "unshare"):
        return False
    if os.geteuid() == 0 and libc.unshare(CLONE_NEWNET) == 0:
        return True
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        return False
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")
    return True


def _drop_powers() -> None:
    """Whoever is root here keeps but one power: to read files that belong to somebody else."""
    libc = _libc()
    if libc is None or not hasattr(libc, "capset"):
        return
    head = (ctypes.c_uint32 * 2)(CAPABILITIES_V3, 0)
    kept = 1 << CAP_DAC_READ_SEARCH if os.geteuid() == 0 else 0
    libc.capset(head, (ctypes.c_uint32 * 6)(kept, kept, 0, 0, 0, 0))


def _libc() -> ctypes.CDLL | None:
    if not os.path.isdir("/proc/self"):
        return None
    try:
        return ctypes.CDLL(None, use_errno=True)
    except OSError:
        return None


def _write(path: str, text: str) -> None:
    with suppress(OSError), open(path, "w", encoding="ascii") as file:
        file.write(text)


def _limit(name: int, value: int) -> None:
    hard = resource.getrlimit(name)[1]
    bounded = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(name, (bounded, bounded))
