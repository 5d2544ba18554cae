"""SSH to boxes, with asyncssh: connect, check the host key strictly, log in, prove that a shell answers.

Every error that leaves is a LinkError with one sentence and the next step.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

import asyncssh
from asyncssh.public_key import (
    get_default_certificate_algs,
    get_default_public_key_algs,
    get_public_key_algs,
)

from gpu_tui.core.fleet import Instance
from gpu_tui.core.ports import Prompter
from gpu_tui.transport import keys, patience
from gpu_tui.transport.access import Route, routes_to
from gpu_tui.transport.base import (
    LinkError,
    LinkLost,
    NoShell,
    without_shell,
)
from gpu_tui.transport.channels import WINDOW
from gpu_tui.transport.connection import SshConnection
from gpu_tui.transport.doors import Doors
from gpu_tui.transport.failures import as_link_error
from gpu_tui.transport.hops import Hops, broken, lost_hop
from gpu_tui.transport.keepalive import Keepalive
from gpu_tui.transport.lines import Line
from gpu_tui.transport.login import Login, Stage
from gpu_tui.transport.names import Names, connected
from gpu_tui.transport.own_ssh import Answers
from gpu_tui.transport.pattern import chosen
from gpu_tui.transport.prompts import ASKER, Desk
from gpu_tui.transport.proxy import Proxy, shut
from gpu_tui.transport.read_files import Read, mendable, noting
from gpu_tui.transport.ssh_options import connect_arguments

if TYPE_CHECKING:
    from gpu_tui.transport.openssh import OpenSshConnection

# AES-GCM first: on servers without strict key exchange it is not open to Terrapin, and it is twice
# as fast as the default.
CIPHERS = (
    "aes128-gcm@openssh.com",
    "aes256-gcm@openssh.com",
    "aes128-ctr",
    "aes256-ctr",
    "chacha20-poly1305@openssh.com",
)
COMPRESSION = ("zlib@openssh.com", "zlib", "none")
KEEPALIVE_SECONDS = 4.75
KEEPALIVE_COUNT = 3  # a dead link is noticed after 19 s
HOST_SECONDS = 15.0  # per host on the way: a login at 400 ms one way takes 6.5 s
SHELL_SECONDS = 15.0
LOSS_SECONDS = 2.0  # to learn what was lost: a jump host may have gone

# ssh may run a `Match exec` for seconds, and hundreds of boxes ask: threads of the default pool must not wait for that.
READERS = ThreadPoolExecutor(32, "ssh-config")


class SshTransport:
    """Opens connections; jump hosts are shared by all boxes behind them."""

    def __init__(self, prompter: Prompter | None = None) -> None:
        self._ring = keys.KeyRing()
        self._desk = Desk(prompter)
        self._doors = Doors()
        self._hops = Hops(self._dial_hop, self._doors)
        self._names = Names()
        self._answers = Answers()

    def ask_again(self, instance: str) -> None:
        """A person wants another try: the next login of this box may ask for what was refused."""
        self._desk.again(instance)

    async def connect(self, instance: Instance) -> SshConnection | OpenSshConnection:
        """Connect and log in, by ourselves or, where we cannot, by ssh. Raises a LinkError."""
        ASKER.set(self._desk.asker(instance.name))
        read: Read = {}
        with mendable(read):
            return await self._enter(instance, read)

    async def _enter(self, instance: Instance, read: Read) -> SshConnection | OpenSshConnection:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(
            READERS, self._answers.used_by, instance.name, noting, read, routes_to, instance.ssh
        )
        *before, route = found
        chain = tuple(before)
        why = next((host.via for host in (route, *chain) if host.via), None)
        if why is None or instance.ssh.transport == "direct":
            return await self._connect(instance, chain, route)
        from gpu_tui.transport import openssh

        behind = chain[-1].where if chain else None
        async with self._doors.through(instance.name, route.where, behind):
            return await openssh.connect(instance.ssh, (*chain, route), why)

    async def _connect(
        self, instance: Instance, chain: tuple[Route, ...], route: Route
    ) -> SshConnection:
        async def log_in() -> Line:
            tunnel = await self._hops.reach(chain) if chain else None
            behind = chain[-1].where if chain else None
            async with self._doors.through(instance.name, route.where, behind):
                try:
                    connection, client = await self._dial(route, tunnel)
                except LinkError as error:
                    hop = broken(self._hops.along(chain))
                    if hop is None or error.needs_person:
                        raise
                    raise lost_hop(hop) from None
            return Line(connection, client.lost)

        async def another() -> Line:
            ASKER.set(None)  # it runs in a task of its own: nobody is asked for convenience
            if not self._doors.spare(instance.name):
                raise LinkError("too many logins in this minute")
            further = await log_in()
            # known_hosts may trust several: what is read must not be of two machines.
            if _shown(further) != _shown(line):
                await shut(further.connection)
                raise LinkError(f"another host key answers at {route.where} now")
            return further

        line = await log_in()
        along, peer = self._hops.along(chain), _peer(line, route, direct=not chain)
        made = SshConnection(line.connection, line.lost, along, another, peer)
        try:
            await _check_shell(made, route)
        except BaseException:
            await made.close()
            raise
        return made

    async def close(self) -> None:
        """Close the shared jump connections and take away what is asked."""
        self._answers.close()
        self._answers = Answers()  # for a connection that is made after this
        await self._ring.close()
        await self._hops.close()

    async def _dial_hop(
        self, route: Route, tunnel: asyncssh.SSHClientConnection | None
    ) -> asyncssh.SSHClientConnection:
        return (await self._dial(route, tunnel, hop=route.named))[0]

    async def _dial(
        self,
        route: Route,
        tunnel: asyncssh.SSHClientConnection | None,
        *,
        hop: str | None = None,
    ) -> tuple[asyncssh.SSHClientConnection, Login]:
        asker = ASKER.get()
        offer = await keys.load(self._ring, route, asker)
        client = Login(route, offer, asker, hop)
        sock: socket.socket | None = None
        proxy = Proxy(route.proxy_command) if route.proxy_command and tunnel is None else None
        own_way = tunnel is not None or proxy is not None or route.bound
        try:
            if proxy is not None:
                await self._doors.begin(_program(route), proxy.answered)
            arguments = {"encryption_algs": CIPHERS, **connect_arguments(dict(route.settings))}
            async with patience.limit(route.connect_timeout or HOST_SECONDS):
                if asker is not None:
                    asker.limits = patience.mine()
                if not own_way:
                    client.stage = Stage.NAME
                    found = await self._names.look_up(route.host, route.port, arguments["family"])
                    client.stage = Stage.WAY
                    sock = await connected(found)
                connection = await asyncssh.connect(
                    route.host,
                    port=route.port,
                    username=route.user,
                    config=None,  # read already
                    canonicalize_hostname=False,
                    tunnel=proxy or tunnel,
                    sock=sock,
                    proxy_command=None,
                    known_hosts=_trusted(route),
                    server_host_key_algs=_host_key_algs(route),
                    client_factory=lambda: client,
                    client_keys=None,  # the client hands them out
                    preferred_auth=route.methods or "none",
                    agent_forwarding=False,
                    x11_forwarding=False,
                    command=None,  # neither RemoteCommand nor RequestTTY nor SendEnv is for us
                    request_pty=False,
                    env=None,
                    send_env=None,
                    gss_kex=False,
                    gss_auth=False,
                    encoding=None,
                    utf8_decode_errors="replace",
                    compression_algs=COMPRESSION if route.compression else ("none",),
                    keepalive_interval=KEEPALIVE_SECONDS,
                    keepalive_count_max=sys.maxsize,  # Keepalive counts
                    connect_timeout=None,  # both: ours stands still while a person types
                    login_timeout=0,
                    window=WINDOW,
                    **arguments,
                )
        except BaseException as error:
            if proxy is not None:
                await proxy.wait_closed()
            if not isinstance(error, asyncssh.Error | OSError | ValueError):
                raise
            named = str(tunnel.get_extra_info("named")) if tunnel is not None else None
            said = proxy.said if proxy is not None else ""
            raise as_link_error(error, route, client, offer, behind=named, said=said) from None
        finally:
            if sock is not None and client.stage is Stage.WAY:
                sock.close()  # nobody took it
            await offer.close()
        connection.set_extra_info(named=route.named)  # for what lies behind it
        if proxy is not None:
            proxy.forget()
            connection.set_extra_info(proxy=proxy)
        Keepalive(connection, KEEPALIVE_SECONDS, KEEPALIVE_COUNT)
        return connection, client


def _program(route: Route) -> str:
    """Its ProxyCommand without what is the box's own: boxes behind one jump host have the same."""
    command = route.proxy_command or ""
    for own in (route.host, route.named, str(route.port)):
        command = command.replace(own, "%")
    return command


def _peer(line: Line, route: Route, *, direct: bool) -> tuple[str, int] | None:
    """Where the box answers: the other end of our own socket, else what the config says as numbers."""
    if direct and route.proxy_command is None:
        peer = line.connection.get_extra_info("peername")
        if isinstance(peer, tuple) and len(peer) >= 2:
            return str(peer[0]), int(peer[1])
    return route.numbers


def _shown(line: Line) -> asyncssh.SSHKey | None:
    """The host key that answered."""
    return line.connection.get_server_host_key()


def _trusted(
    route: Route,
) -> tuple[list[asyncssh.SSHKey], list[asyncssh.SSHKey], list[asyncssh.SSHKey]]:
    """Trusted keys, authorities and revoked keys: always a triple, so a check is never left out.

    A revoked key is not in the first list; it is in the third only where a certificate could carry
    it, so that the client sees a plain one and can name it.
    """
    trust = route.trust
    revoked = [entry.key for entry in trust.revoked]
    authorities = [entry.key for entry in trust.authorities if entry.key not in revoked]
    return trust.accepted, authorities, revoked if authorities else []


def _host_key_algs(route: Route) -> tuple[str, ...]:
    """What known_hosts has first, then all others that the config allows: a changed key must be seen
    to be told, and one of another type is no changed one.
    """
    known = [alg for key in route.trust.accepted for alg in key.sig_algorithms]
    certified = get_default_certificate_algs() if route.trust.authorities else []
    first = [name.decode("ascii") for name in (*certified, *known)]
    usual = [*first, *(name.decode("ascii") for name in get_default_public_key_algs())]
    if route.host_key_algs is not None:
        possible = [*usual, *(name.decode("ascii") for name in get_public_key_algs())]
        usual = chosen(route.host_key_algs, usual, possible)
    return tuple(sorted(dict.fromkeys(usual), key=lambda name: name not in first))


async def _check_shell(connection: SshConnection, route: Route) -> None:
    """Prove that a POSIX sh answers: a login may still be a menu, SFTP only, or no shell at all."""
    by_hand = f"see what it says: {route.command}"
    number = secrets.randbelow(10**12)
    try:
        done = await connection.run(f"echo shell-$(({number} + 1))\n", limit=SHELL_SECONDS)
    except LinkLost as error:
        with suppress(TimeoutError):
            async with asyncio.timeout(LOSS_SECONDS):
                if (lost := await connection.wait_closed()) is not None and lost.hop is not None:
                    raise lost from None
        raise LinkLost(
            f"{route.user}@{route.host} lets us in and hangs up before a sh answers", next=by_hand
        ) from error
    except TimeoutError:
        raise NoShell(
            f"{route.user}@{route.host} lets us in, but no sh answers within {SHELL_SECONDS:.0f} s",
            next=by_hand,
        ) from None
    if f"shell-{number + 1}".encode() not in done.stdout:
        said = (done.stderr or done.stdout)[:120].decode("utf-8", "replace").strip()
        raise without_shell(f"{route.user}@{route.host}", said, done.exit, route.command)
