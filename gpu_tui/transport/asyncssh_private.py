"""The private parts of asyncssh that the transport uses.

Each function names its fallback: the public behaviour where a version of asyncssh lacks the part. It is logged once.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Any, cast

import asyncssh
from asyncssh.connection import SSHConnection

from gpu_tui.transport.base import ChannelRefused

SFTP_VERSION = 3
LOG = logging.getLogger(__name__)


@cache
def _lacks(part: str, fallback: str) -> None:
    LOG.warning("asyncssh %s has no %s: %s", asyncssh.__version__, part, fallback)


async def ask_keepalive(connection: SSHConnection) -> bool:
    """Send one keepalive request and wait for its answer.

    Fallback: False at once. asyncssh's public keepalive sends requests only after a silence.
    """
    request = getattr(connection, "_make_global_request", None)
    if request is None:
        _lacks(
            "_make_global_request",
            "no latency is shown, and a slow link may be taken for a lost one",
        )
        return False
    await request(b"keepalive@openssh.com")
    return True


def set_window(channel: asyncssh.SSHClientChannel[bytes], window: int) -> None:
    """Let the server send `window` bytes ahead from its next grant on.

    Fallback: the window stays as the channel was opened with, which makes a far link slower.
    """
    if hasattr(channel, "_init_recv_window"):
        channel._init_recv_window = window
    else:
        _lacks("_init_recv_window", "a stream over a far link is slower")


def transport_of(connection: asyncssh.SSHClientConnection) -> asyncio.Transport | None:
    """The transport that a connection reads from.

    Fallback: None. A server that sends tiny packets then takes more of the event loop.
    """
    transport = getattr(connection, "_transport", None)
    if all(hasattr(transport, name) for name in ("is_closing", "pause_reading", "resume_reading")):
        return cast("asyncio.Transport", transport)
    _lacks("_transport", "a server that sends tiny packets slows the others down")
    return None


@asynccontextmanager
async def sftp_over(process: Process) -> AsyncIterator[asyncssh.SFTPClient]:
    """An SFTP client over the pipes of a program that speaks SFTP.

    Fallback: ChannelRefused. Publicly asyncssh speaks SFTP only over a connection of its own.
    """
    try:
        from asyncssh.sftp import start_sftp_client
    except ImportError:
        _lacks("sftp.start_sftp_client", "no files are read over connections of the user's own ssh")
        raise ChannelRefused("this version of asyncssh reads no files over your own ssh") from None
    pipe: Any = SftpPipe(process)
    loop = asyncio.get_running_loop()
    client = await start_sftp_client(
        pipe, loop, "replace", pipe, pipe, None, "strict", SFTP_VERSION
    )
    try:
        yield client
    finally:
        client.exit()
        await pipe.stop()


class SftpPipe:
    """The connection, reader, writer and channel that asyncssh's SFTP client asks for, over the pipes of a program."""

    def __init__(self, process: Process) -> None:
        assert process.stdout is not None
        assert process.stdin is not None
        self.logger = asyncssh.logger
        self.channel = self
        self.readexactly = process.stdout.readexactly
        self._stdin = process.stdin
        self._task: asyncio.Task[None] | None = None

    def create_task(self, work: Coroutine[None, None, None], _: object = None) -> None:
        """The reader of answers."""
        self._task = asyncio.create_task(work)

    def get_extra_info(self, name: str, default: object = None) -> object:
        """Nothing is known of the server."""
        return default

    def write(self, data: bytes) -> None:
        """Bytes of a request."""
        with suppress(OSError):
            self._stdin.write(data)

    def is_closing(self) -> bool:
        """Whether requests can still be sent."""
        return self._stdin.is_closing()

    def write_eof(self) -> None:
        """No further request."""
        self._stdin.close()

    def close(self) -> None:
        """No further request."""
        self._stdin.close()

    async def stop(self) -> None:
        """Stop reading answers."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
