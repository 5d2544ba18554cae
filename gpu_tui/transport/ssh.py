"""SSH connections to boxes, with asyncssh: bytes channels, strict host keys, errors a person can use."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncssh

from gpu_tui.core.fleet import Instance, SshAccess
from gpu_tui.transport import hostkey
from gpu_tui.transport.access import Route, resolve
from gpu_tui.transport.base import (
    AuthRejected,
    ChannelRefused,
    Completed,
    ConnectRefused,
    ConnectTimeout,
    FileAccess,
    LinkError,
    LinkLost,
    NameUnknown,
    NoShell,
)
from gpu_tui.transport.channels import SHELL, WINDOW, ProgramOutput, SftpFiles
from gpu_tui.transport.hops import Hops

# AES-GCM first: on servers without strict key exchange it is not open to Terrapin, and it is twice
# as fast as the default.
CIPHERS = ("aes256-gcm@openssh.com", "aes128-gcm@openssh.com", "aes256-ctr", "aes128-ctr")
CIPHERS_LAST = ("chacha20-poly1305@openssh.com",)
KEEPALIVE_SECONDS = 5
KEEPALIVE_COUNT = 3  # a dead link is noticed after 20 s
CONNECT_SECONDS = 15
LOGIN_SECONDS = 30
SESSIONS = 8  # of the server's ten: one is left for files and one for a person
SHELL_SECONDS = 15
STDERR_CAP = 8192


class _Client(asyncssh.SSHClient):
    """Remembers the host key that was offered and why the connection went."""

    def __init__(self) -> None:
        self.offered: asyncssh.SSHKey | None = None
        self.lost: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        """Called for a key that known_hosts does not have: remember it, refuse it."""
        self.offered = key
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        if not self.lost.done():
            self.lost.set_result(exc)


class SshConnection:
    """One live connection; channels are counted and wait for a place when all are in use."""

    def __init__(self, connection: asyncssh.SSHClientConnection, client: _Client) -> None:
        self._connection = connection
        self._client = client
        self._sessions = asyncio.Semaphore(SESSIONS)
        self._files = asyncio.Semaphore(1)
        self._closed_by_us = False
        key = connection.get_server_host_key()
        self.host_key = key.get_fingerprint() if key else ""

    @asynccontextmanager
    async def _open(
        self, program: str
    ) -> AsyncIterator[tuple[ProgramOutput, asyncssh.SSHClientChannel[bytes]]]:
        async with self._sessions:
            session = ProgramOutput()
            try:
                channel, _ = await self._connection.create_session(
                    lambda: session, SHELL, encoding=None, window=WINDOW
                )
            except asyncssh.ChannelOpenError as error:
                raise self._channel_error(error) from None
            except (asyncssh.Error, OSError) as error:
                raise LinkLost(f"the connection went away: {error}") from None
            try:
                channel.write(program.encode("utf-8", "surrogateescape"))
                yield session, channel
            finally:
                # EOF on the program's stdin is what ends it on the box.
                channel.close()

    async def run(self, program: str, *, limit: float, stdout_cap: int = 4_194_304) -> Completed:
        """Run a program to its end. TimeoutError after `limit` seconds; output past the cap is cut."""
        async with asyncio.timeout(limit), self._open(program) as (session, channel):
            channel.write_eof()
            kept = bytearray()
            async for chunk in session.chunks():
                kept += chunk[: max(0, stdout_cap - len(kept))]
            await channel.wait_closed()
            if session.exit is None and self._client.lost.done():
                raise LinkLost("the connection went away while a command ran")
            return Completed(bytes(kept), bytes(session.stderr[:STDERR_CAP]), session.exit)

    @asynccontextmanager
    async def stream(self, program: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Run a program for as long as the block lasts; its stdin stays open until then."""
        async with self._open(program) as (session, _):
            yield session.chunks()

    @asynccontextmanager
    async def files(self) -> AsyncIterator[FileAccess]:
        """An SFTP channel."""
        async with self._files:
            try:
                client = await self._connection.start_sftp_client(path_encoding=None)
            except asyncssh.ChannelOpenError as error:
                raise self._channel_error(error) from None
            except (asyncssh.Error, OSError) as error:
                raise LinkLost(f"the connection went away: {error}") from None
            async with client:
                yield SftpFiles(client)

    def _channel_error(self, error: asyncssh.ChannelOpenError) -> LinkError:
        lost = self._client.lost.done() or self._connection.is_closed()
        if not lost and error.code == asyncssh.OPEN_CONNECT_FAILED:
            return ChannelRefused(
                "the box refuses another channel (MaxSessions)",
                next="close other sessions, or raise MaxSessions in its sshd_config",
            )
        return LinkLost(f"no channel could be opened: {error.reason}")

    async def wait_closed(self) -> LinkError | None:
        """Wait until it is gone; the reason, or None after our own close."""
        lost = await asyncio.shield(self._client.lost)
        if self._closed_by_us:
            return None
        return LinkLost(f"the connection was lost: {lost or 'closed by the box'}")

    async def close(self) -> None:
        """Close it; a peer that is gone does not hold us up."""
        self._closed_by_us = True
        self._connection.abort()


class SshTransport:
    """Opens connections; jump hosts are shared by all boxes behind them."""

    def __init__(self) -> None:
        self._hops = Hops(self._open_hop)

    async def connect(self, instance: Instance) -> SshConnection:
        """Connect and log in. Raises a LinkError."""
        route = await asyncio.to_thread(resolve, instance.ssh)
        connection, client = await self._open(route)
        made = SshConnection(connection, client)
        try:
            await _check_shell(made)
        except BaseException:
            await made.close()
            raise
        return made

    async def close(self) -> None:
        """Close the shared jump connections."""
        await self._hops.close()

    async def _open_hop(
        self, access: SshAccess, tunnel: asyncssh.SSHClientConnection | None
    ) -> asyncssh.SSHClientConnection:
        route = await asyncio.to_thread(resolve, access)
        try:
            connection, _ = await self._open(route, tunnel)
        except LinkError as error:
            error.hop = error.hop or access.host
            raise
        return connection

    async def _open(
        self, route: Route, tunnel: asyncssh.SSHClientConnection | None = None
    ) -> tuple[asyncssh.SSHClientConnection, _Client]:
        if tunnel is None and route.jump and not route.proxy_command:
            tunnel = await self._hops.through(route.jump, route.config)
        client = _Client()
        proxy = ["/bin/sh", "-c", route.proxy_command] if route.proxy_command else None
        try:
            connection = await asyncssh.connect(
                route.named,
                port=route.port,
                username=route.user,
                config=list(route.config) or None,
                tunnel=tunnel,
                proxy_command=proxy,
                known_hosts=route.trusted,
                client_factory=lambda: client,
                client_keys=list(route.identities),
                ignore_encrypted=True,
                agent_path=route.agent,
                agent_forwarding=False,
                x11_forwarding=False,
                gss_kex=False,
                gss_auth=False,
                utf8_decode_errors="replace",
                encryption_algs=[*CIPHERS, *CIPHERS_LAST],
                compression_algs=["none"],
                keepalive_interval=KEEPALIVE_SECONDS,
                keepalive_count_max=KEEPALIVE_COUNT,
                connect_timeout=CONNECT_SECONDS,
                login_timeout=LOGIN_SECONDS,
            )
        except (asyncssh.Error, OSError, ValueError) as error:
            raise _translate(error, route, client, tunnel is not None) from None
        return connection, client


async def _check_shell(connection: SshConnection) -> None:
    """Prove that a POSIX sh answers: a login may still be a menu, SFTP only, or no shell at all."""
    try:
        done = await connection.run("echo gt-$((40 + 2))\n", limit=SHELL_SECONDS)
    except TimeoutError:
        raise NoShell(
            f"logged in, but no sh answered within {SHELL_SECONDS} s",
            next="try: ssh HOST 'exec /bin/sh -s' </dev/null",
        ) from None
    if b"gt-42" not in done.stdout:
        said = (done.stderr or done.stdout)[:120].decode("utf-8", "replace")
        raise NoShell(
            f"logged in, but there is no POSIX sh (exit {done.exit}): {said!r}",
            next="use the platform's direct SSH instead of its proxy or SFTP-only login",
        )


def _translate(error: Exception, route: Route, client: _Client, tunnelled: bool) -> LinkError:
    """A foreign exception as a LinkError with a sentence and the next step."""
    where = f"{route.host}:{route.port}"
    match error:
        case asyncssh.HostKeyNotVerifiable():
            return hostkey.refusal(route, client.offered, str(error))
        case asyncssh.PermissionDenied():
            return _auth_error(route)
        case asyncssh.KeyExchangeFailed() if "host key" in str(error):
            return hostkey.refusal(route, client.offered, str(error))
        case asyncssh.ChannelOpenError() if tunnelled:
            return ConnectRefused(
                f"the jump host cannot reach {where}: {error.reason}",
                next="check the address as seen from the jump host",
                hop=route.jump,
            )
        case socket.gaierror():
            return NameUnknown(
                f"the name {route.host!r} does not resolve",
                next="check the host in the fleet file or ~/.ssh/config",
            )
        case TimeoutError():
            return ConnectTimeout(
                f"nothing answers at {where}",
                next="check the provider's console: address, port, power, balance",
            )
        case ConnectionRefusedError():
            return ConnectRefused(
                f"{where} refuses the connection",
                next="the box is off, or its port changed: read it again at the provider",
            )
        case asyncssh.ConnectionLost() | ConnectionResetError():
            return LinkLost(
                f"{where} closed the connection before the login was done",
                next="too many connections, or a ban after failed logins: wait a little",
            )
        case OSError(errno=errno.EHOSTUNREACH | errno.ENETUNREACH | errno.ENETDOWN):
            return LinkLost(f"there is no route to {where}", next="check your own network or VPN")
    return LinkLost(f"{where}: {error}", next=f"try: ssh -v {route.named}")


def _auth_error(route: Route) -> AuthRejected:
    usable = [path for path in route.identities if path not in route.encrypted]
    tried = ", ".join(usable) if usable else "no key file"
    agent = " and the agent's keys" if route.agent else ""
    if route.encrypted:
        return AuthRejected(
            f"{route.user}@{route.host} accepts none of our keys (tried {tried}{agent}; "
            f"{', '.join(route.encrypted)} is encrypted)",
            next=f"ssh-add {route.encrypted[0]}",
        )
    return AuthRejected(
        f"{route.user}@{route.host} accepts none of our keys (tried {tried}{agent})",
        next="register your public key at the provider, or name the key in ssh.identity",
    )
