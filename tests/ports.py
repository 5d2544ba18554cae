"""Ports of loopback that are ours for as long as we hold them, also while nobody listens there."""

from __future__ import annotations

import socket


class Port:
    """One that the kernel gives to nobody else, neither to a server nor to a client.

    Whoever listens there sets SO_REUSEADDR, as every server does; until then it refuses.
    """

    def __init__(self) -> None:
        self._held = socket.socket()
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._held.bind(("127.0.0.1", 0))
        self.number: int = self._held.getsockname()[1]

    def close(self) -> None:
        """It may be anybody's again."""
        self._held.close()
