"""One box's line to the network: a real SSH server on a loopback port of its own.

The port is reserved for as long as the demo lasts: while the line is down a connection is refused, and
nobody else can take the port. The host key never changes.
"""

from __future__ import annotations

import contextlib
import socket
from functools import partial

import asyncssh

from gpu_tui.demo.box import Box
from gpu_tui.demo.files import BoxFiles
from gpu_tui.demo.session import serve_request

HOST = "127.0.0.1"


class Doorkeeper(asyncssh.SSHServer):
    """Lets in the box's one user with the demo's one key."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        """Remember the connection, so that the line can cut it."""
        self._connection = conn
        self._line.connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        if self._connection:
            self._line.connections.discard(self._connection)

    def begin_auth(self, username: str) -> bool:
        """Everyone must show a key."""
        return True

    def public_key_auth_supported(self) -> bool:
        """Keys only."""
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """The demo's key, for the box's user."""
        offered = key.public_data == self._line.client_key.public_data
        return offered and username == self._line.box.user


class Line:
    """The line of one box. Down until `restore` is awaited."""

    def __init__(self, box: Box, client_key: asyncssh.SSHKey) -> None:
        self.box = box
        self.client_key = client_key
        self.host_key = asyncssh.generate_private_key("ssh-ed25519")
        self.connections: set[asyncssh.SSHServerConnection] = set()
        self._acceptor: asyncssh.SSHAcceptor | None = None
        self._reserved = _reserve(0)
        self.port: int = self._reserved.getsockname()[1]

    @property
    def up(self) -> bool:
        """The port answers."""
        return self._acceptor is not None

    def known_host(self) -> str:
        """This box's line for a known_hosts file."""
        public = self.host_key.export_public_key("openssh").decode().strip()
        return f"[{HOST}]:{self.port} {public}"

    async def restore(self) -> None:
        """Answer on the port."""
        if self._acceptor is None:
            self._acceptor = await asyncssh.listen(
                sock=self._reserved,
                server_factory=partial(Doorkeeper, self),
                server_host_keys=[self.host_key],
                process_factory=partial(serve_request, self.box),
                sftp_factory=partial(BoxFiles, box=self.box),
                encoding=None,
                line_editor=False,
                agent_forwarding=False,
                allow_pty=True,
                config=None,
            )

    async def drop(self) -> None:
        """Cut every connection and refuse new ones; the port stays ours."""
        if self._acceptor is None:
            return
        acceptor, self._acceptor = self._acceptor, None
        acceptor.close()
        self._cut()
        await acceptor.wait_closed()
        self._reserved = _reserve(self.port)

    async def close(self) -> None:
        """Drop the line for good."""
        if self._acceptor:
            self._acceptor.close()
            self._cut()
            await self._acceptor.wait_closed()
            self._acceptor = None
        else:
            self._reserved.close()

    def _cut(self) -> None:
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.abort()


def _reserve(port: int) -> socket.socket:
    """A bound socket that does not listen: connecting to it is refused."""
    reserved = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind((HOST, port))
    return reserved
