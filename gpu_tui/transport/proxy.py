"""A ProxyCommand: the program of the user's that the bytes of one connection pass through, and its end.

It runs in a session of its own under a small sh, which ends all of it as soon as the pipe to us closes:
because we say so, or because we are gone, however that came.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

import asyncssh

from gpu_tui.parse.lines import clean

# By the user's own shell, as ssh runs it. SIGHUP as ssh sends it, and half a second to tidy up: another
# ssh takes its control socket away. The number of the group stays ours for as long as the sh lives.
PROGRAM = """\
exec 3<"$2" 4<&0
"$0" -c "$1" <&4 3<&- 4<&- &
exec </dev/null >/dev/null 2>&1 4<&-
read -r _ <&3
trap : HUP
kill -s HUP -- "-$$"
for _ in 1 2 3 4 5; do
  sleep 0.1
  kill -s 0 "$!" || break
done
kill -s KILL -- "-$$"
"""
# Seconds for all of it to be gone: a process in the middle of a disk's answer may take longer.
END_SECONDS = 2.0
POLL_SECONDS = 0.02
LAST_WORDS_SECONDS = 0.3  # one that left the session may hold its stderr open
SAID_CAP = 4096


class Proxy:
    """For asyncssh a tunnel, and the transport of the connection that it opens; ended once, by `close`."""

    def __init__(self, command: str) -> None:
        self.answered = asyncio.Event()  # it has brought a byte, or has ended
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._life = -1
        self._stdin: asyncio.WriteTransport | None = None
        self._stdout: asyncio.ReadTransport | None = None
        self._stderr: asyncio.ReadTransport | None = None
        self._ending: asyncio.Task[None] | None = None
        self._mute = asyncio.Event()  # its stderr has ended
        self._tail = b""
        self.hung_up = False  # it closed its own stdin or stdout: what it says then is why

    async def create_connection(
        self, factory: Callable[[], Any], host: str, port: int
    ) -> tuple[Proxy, Any]:
        """Start it, and give its bytes to a new connection."""
        loop = asyncio.get_running_loop()
        connection = factory()
        process = self._process = self._started()
        assert process.stdin
        assert process.stdout
        assert process.stderr

        def first(data: bytes) -> None:
            self.answered.set()
            # Looked up with each call: `inbound` replaces it after the login.
            out.received = lambda data: connection.data_received(data)
            connection.data_received(data)

        def gone(error: Exception | None) -> None:
            self.answered.set()
            self.hung_up = self.hung_up or self._ending is None
            connection.connection_lost(error)

        self._stdin, _ = await loop.connect_write_pipe(lambda: _End(gone), process.stdin)
        self._stderr, _ = await loop.connect_read_pipe(
            lambda: _End(lambda _: self._mute.set(), self._hear), process.stderr
        )
        connection.set_tunnel(self)
        connection.connection_made(self)
        out = _End(gone, first)
        self._stdout, _ = await loop.connect_read_pipe(lambda: out, process.stdout)
        return self, connection

    def _started(self) -> subprocess.Popen[bytes]:
        theirs, self._life = os.pipe()
        shell = os.environ.get("SHELL") or "/bin/sh"
        words = ["/bin/sh", "-c", PROGRAM, shell, self._command, f"/dev/fd/{theirs}"]
        pipe = subprocess.PIPE
        try:
            return subprocess.Popen(
                words, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe,
                pass_fds=(theirs,), start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(theirs)

    def _hear(self, data: bytes) -> None:
        """Its stderr is always read on, and little of it kept."""
        if self._ending is None or self.hung_up:
            self._tail = (self._tail + data)[-SAID_CAP:]

    def forget(self) -> None:
        """The login is done: what it said up to here is why of nothing that comes."""
        self._tail = b""

    @property
    def said(self) -> str:
        """The last line of its stderr, harmless; empty where there is none."""
        lines = (clean(line.decode("utf-8", "replace")).strip() for line in self._tail.splitlines())
        return next((line for line in reversed(list(lines)) if line), "")

    # --- what asyncssh asks of a transport and of a tunnel ---

    def get_extra_info(self, name: str, default: object = None) -> object:
        """Nothing is known of where it leads."""
        return default

    def write(self, data: bytes) -> None:
        """Bytes for its stdin."""
        if self._stdin is not None:
            self._stdin.write(data)

    def abort(self) -> None:
        """As `close`."""
        self.close()

    def is_closing(self) -> bool:
        """Whether it was closed."""
        return self._ending is not None

    def pause_reading(self) -> None:
        """Stop reading its stdout."""
        if self._stdout is not None and not self._stdout.is_closing():
            self._stdout.pause_reading()

    def resume_reading(self) -> None:
        """Read its stdout again."""
        if self._stdout is not None and not self._stdout.is_closing():
            self._stdout.resume_reading()

    def close(self) -> None:
        """End it and all that it started in its session."""
        if self._ending is None:
            self.answered.set()
            if self._life >= 0:
                os.close(self._life)
            self._ending = asyncio.get_running_loop().create_task(self._end())

    async def wait_closed(self) -> None:
        """Close it, and wait until nothing of it is left; bounded."""
        self.close()
        assert self._ending is not None
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        process, clock = self._process, asyncio.get_running_loop().time
        if process is None:
            return
        try:
            _shut(self._stdin, process.stdin)
            _shut(self._stdout, process.stdout)
            until = clock() + END_SECONDS
            while process.poll() is None and clock() < until:  # noqa: ASYNC110 - no event tells of it
                await asyncio.sleep(POLL_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORDS_SECONDS):
                    await self._mute.wait()
        finally:
            _shut(self._stdin, process.stdin)
            _shut(self._stdout, process.stdout)
            _shut(self._stderr, process.stderr)
            process.poll()


async def shut(connection: asyncssh.SSHClientConnection) -> None:
    """Abort a connection and wait until it and its ProxyCommand have ended.

    asyncssh closes a tunnel with its connection, but does not wait for it.
    """
    connection.abort()
    await connection.wait_closed()
    proxy = connection.get_extra_info("proxy")
    if isinstance(proxy, Proxy):
        await proxy.wait_closed()


def _shut(
    pipe: asyncio.WriteTransport | asyncio.ReadTransport | None, file: IO[bytes] | None
) -> None:
    """At once: what still waits to be written is for nobody."""
    if pipe is None:
        if file is not None:
            file.close()
    elif not pipe.is_closing():
        if isinstance(pipe, asyncio.WriteTransport):
            pipe.abort()
        else:
            pipe.close()


class _End(asyncio.Protocol):
    """Our end of one pipe."""

    def __init__(
        self,
        lost: Callable[[Exception | None], None],
        received: Callable[[bytes], None] | None = None,
    ) -> None:
        self._lost = lost
        self.received = received

    def data_received(self, data: bytes) -> None:
        """It said something."""
        if self.received is not None:
            self.received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The pipe is closed."""
        self._lost(exc)
