"""Finds the processes of this connection in the box's process table. Pure.

A process is our own where it descends from the session of sshd or dropbear that is the parent of the
shell that looked, or from a shell that carries the connection's nonce below another session of the
same login: a connection has a second one where the server allows few channels (MaxSessions).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from gpu_tui.core.readings import Process
from gpu_tui.teardown.idle import SHELLS, Image, fits, program_of, watches
from gpu_tui.transport.base import shell_command

SSHD = frozenset({"sshd", "sshd-session"})  # the second one from OpenSSH 9.8 on
SERVERS = SSHD | {"dropbear"}
_PRIVILEGED = " [priv]"
_LOGIN = re.compile(r"sshd(?:-session)?: (\S+)@[^@\s]+")
UNSEEN = (
    "the box's process table does not show the shell that asked for it, so it may be another machine's or "
    "another container's: log in to the box itself, by its own sshd"
)


@dataclass(frozen=True, slots=True)
class Own:
    """`pids`: ours. `doubtful`: what hangs below a shell with our nonce and is not proved to be ours,
    because of `why`. `unseen`: the table does not show the shell that looked.
    """

    pids: frozenset[int] = frozenset()
    doubtful: frozenset[int] = frozenset()
    why: str = ""
    unseen: bool = False


@dataclass(frozen=True, slots=True)
class _Session:
    """The topmost process of one, and whose it is: a name, or dropbear's listener and a uid."""

    top: int
    login: tuple[object, ...]


def own_processes(
    processes: Sequence[Process],
    asked_by: tuple[int, int],
    nonce: str = "",
    images: Mapping[int, Image] = MappingProxyType({}),
) -> Own:
    """Our own processes. `asked_by`: the pids of the shell that looked and of its parent."""
    return _Table(processes, images).own(asked_by, nonce)


class _Table:
    """The processes by pid and by parent."""

    def __init__(self, processes: Sequence[Process], images: Mapping[int, Image]) -> None:
        self._images = images
        self._rows = {process.pid: process for process in processes}
        self._children: dict[int, list[Process]] = {}
        for process in processes:
            self._children.setdefault(process.ppid, []).append(process)

    def own(self, asked_by: tuple[int, int], nonce: str) -> Own:
        shell, parent = asked_by
        mine = self._rows.get(shell)
        if mine is None or mine.ppid != parent or program_of(mine) not in SHELLS:
            return Own(unseen=True)
        session = self._session(parent, self._uid(shell))
        carriers = [one.pid for one in self._rows.values() if self._carries(one, nonce)]
        if session is None:
            found = self._below([shell])
            server = self._rows.get(parent)
            name = program_of(server) if server else "not shown"
            why = (
                f"the parent of its shell is no session of sshd or dropbear (pid {parent}, {name})"
            )
            return Own(found, self._below(carriers) - found, why)
        found = self._below([session.top])
        same = [pid for pid in carriers if pid not in found and self._login(pid) == session.login]
        return Own(found | self._below(same))

    def _session(self, pid: int, uid: int | None) -> _Session | None:
        """The session that the process `pid` serves, for a shell of `uid`; None where it serves none."""
        server = self._rows.get(pid)
        if server is None or not self._serves(server) or self._listens(server):
            return None
        above = self._rows.get(server.ppid)
        if above is not None and not self._serves(above):
            above = None
        user = _user(server)
        if user is not None:
            split = above is not None and _title(above).endswith(f": {user}{_PRIVILEGED}")
            return _Session(server.ppid if split else pid, (user,))
        if above is not None and self._listens(above):
            return None if uid is None else _Session(pid, (above.pid, uid))
        alone = above is None and program_of(server) == "dropbear" and "-i" in server.argv[1:]
        return _Session(pid, (server.ppid, uid)) if alone and uid is not None else None

    def _login(self, pid: int) -> tuple[object, ...] | None:
        """The login of the nearest session above this process."""
        for above in self._ancestors(pid):
            if self._serves(above):
                session = self._session(above.pid, self._uid(pid))
                return session.login if session else None
        return None

    def _serves(self, process: Process) -> bool:
        """The kernel, too, says that its program is sshd or dropbear."""
        program = program_of(process)
        return program in SERVERS and fits(process, self._images.get(process.pid))

    def _listens(self, process: Process) -> bool:
        """It is the parent of everybody's sessions, PID 1 or not."""
        title = _title(process)
        if "[listener]" in title:
            return True
        if _user(process) is not None or title.endswith(_PRIVILEGED):
            return False
        return any(self._serves(child) for child in self._children.get(process.pid, ()))

    def _carries(self, process: Process, nonce: str) -> bool:
        """It is a shell that this connection started: `sh -s NONCE`, and what such a one becomes."""
        if not nonce or program_of(process) not in SHELLS:
            return False
        *words, last = process.argv[1:] or ("",)
        starts = words == ["-c"] and last == shell_command(nonce)
        runs = last == nonce and watches(process)
        return (starts or runs) and fits(process, self._images.get(process.pid))

    def _uid(self, pid: int) -> int | None:
        image = self._images.get(pid)
        return image.uid if image else None

    def _ancestors(self, pid: int) -> Iterator[Process]:
        seen = {pid}
        row = self._rows.get(pid)
        while row is not None and row.ppid not in seen:
            seen.add(row.ppid)
            row = self._rows.get(row.ppid)
            if row is not None:
                yield row

    def _below(self, tops: Iterable[int]) -> frozenset[int]:
        """These and all that descends from them."""
        found, left = set[int](), list(tops)
        while left:
            pid = left.pop()
            if pid not in found:
                found.add(pid)
                left += (child.pid for child in self._children.get(pid, ()))
        return frozenset(found)


def _title(process: Process) -> str:
    return " ".join(process.argv)


def _user(process: Process) -> str | None:
    """Whose session it says that it is: `sshd: USER@notty`."""
    match = _LOGIN.fullmatch(_title(process))
    return match[1] if match else None
