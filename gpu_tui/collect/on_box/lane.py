"""What python does not ask itself: a shell for each lane of such probes, sent into its rounds and looked after."""

import os
import signal
import socket
from contextlib import suppress

from gpu_tui.collect.on_box.files import read_once
from gpu_tui.collect.on_box.frames import AT_END

# How a shell plays the part of the sampler's text that its role names; its stdin becomes fd 3.
PLAY = (
    "sampler=$GPU_TUI_SAMPLER role=$GPU_TUI_ROLE; unset GPU_TUI_SAMPLER GPU_TUI_ROLE; "
    'exec 3<&0 </dev/null 2>/dev/null; eval "$sampler"'
)


class Lane:
    """A shell that does a round of its probes for each line that it is sent, and says when it is done.

    It waits for its command, so it never starts a second one while the first still lives. While it
    waits it holds its fd 7 open; a command that is seen too long is ended. `every` and `limit` in beats.
    """

    def __init__(self, name: str, every: int, limit: int, sampler: str) -> None:
        self._every = every
        self._limit = limit
        self._due = self._busy = False
        self._since = 0
        self._old: set[int] = set()
        self._line, its = socket.socketpair()
        self._line.setblocking(False)
        self.pid = os.fork()
        if not self.pid:
            try:
                os.setpgid(0, 0)
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                os.dup2(its.fileno(), 0)
                surroundings = dict(os.environ, GPU_TUI_ROLE=name, GPU_TUI_SAMPLER=sampler)
                os.execvpe("sh", ["sh", "-c", PLAY], surroundings)
            finally:
                os._exit(127)
        its.close()
        AT_END.append(self._end)

    @property
    def waits(self) -> bool:
        """A command of it lives."""
        return self._busy and os.path.exists(f"/proc/{self.pid}/fd/7")

    def beat(self, beat: int) -> None:
        """Look after it, and send it into a round where it is time. OSError: it is gone."""
        self._due = self._due or not beat % self._every
        if self._busy:
            try:
                self._busy = not self._line.recv(64)
            except BlockingIOError:
                self._mind()
            else:
                if self._busy:
                    raise ConnectionResetError
        if self._due and not self._busy:
            self._line.send(b"\n")
            self._due, self._busy, self._since = False, True, 0

    def _end(self) -> None:
        with suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)

    def _mind(self) -> None:
        """End what it has been waiting for since half the limit, and still is at the limit."""
        if not self.waits:
            self._since = 0
            return
        self._since += 1
        if self._since == (self._limit + 1) // 2:
            self._old = self._commands()
        elif self._since > self._limit:
            for pid in self._commands() & self._old:
                with suppress(OSError):  # it has just ended, or is another user's
                    os.kill(pid, signal.SIGKILL)
            self._since = 0

    def _commands(self) -> "set[int]":
        """Its children without a fd 7."""
        found = set()
        for pid in pids_in("/proc"):
            words = read_once(f"/proc/{pid}/stat").rpartition(b")")[2].split()
            if words[1:2] == [b"%d" % self.pid] and not os.path.exists(f"/proc/{pid}/fd/7"):
                found.add(int(pid))
        return found


def pids_in(proc: str) -> "list[str]":
    """The processes that are to be seen."""
    try:
        return [name for name in os.listdir(proc) if name.isdigit()]
    except OSError:
        return []
