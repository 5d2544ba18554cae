"""The private parts of asyncssh that the transport uses.

Each function names its fallback: the public behaviour where a version of asyncssh lacks the part. It is logged once.
"""

from __future__ import annotations

import asyncio
import logging
from functools import cache
from typing import cast

import asyncssh
from asyncssh.connection import SSHConnection

LOG = logging.getLogger(__name__)


@cache
def _lacks(part: str, fallback: str) -> None:
    LOG.warning("asyncssh %s has no %s: %s", asyncssh.__version__, part, fallback)


async def answered(connection: SSHConnection) -> bool:
    """Send one keepalive request and wait for its answer.

    Fallback: return False at once. asyncssh's public keepalive sends requests only after a silence.
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
