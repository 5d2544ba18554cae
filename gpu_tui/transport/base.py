"""What every transport promises, and the small tree of errors that leave this room.

Everything is bytes. The caller owns the time limits. Foreign exceptions are translated here, at the
seam: above it only `LinkError` and its children exist.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import Protocol

from gpu_tui.core.command import Completed as Completed
from gpu_tui.core.fleet import Instance

NONCE = "gpu-tui-"  # how the nonce of a connection begins: `ps` on the box shows it
ARRIVAL_SECONDS = 60.0  # that a program may be on its way
State = tuple[int, int]  # of a file: when it was changed, and its size

BEFORE = "the jump host "
# What is to be done about a box, and the same about a jump host, which is seldom one of a provider's.
STEPS = (
    ("the box is off, or its port changed: read it again at the provider",
     "the jump host is off, or its port changed: ask whoever runs it, or correct the ssh config"),
    ("the box is off, or its address changed as seen from the jump host",
     "it is off, or its address changed as seen from the jump host before it"),
    ("check the provider's console: address, port, power, balance",
     "check that the jump host is up, and its address and port in the ssh config"),
    ("register your public key at the provider, or name the key in ssh.identity",
     "have your public key added at the jump host, or name its key in the ssh config (IdentityFile)"),
    ("another box answers, or this one was re-created: ",
     "another machine answers, or the jump host was set up anew: "),
    ("another box may answer; if it is the right one, have its authority sign it for this name too",
     "another machine may answer; if it is the right one, have its authority sign it for this name too"),
    ("compare the fingerprint with the one in the provider's console",
     "compare the fingerprint with the one that whoever runs the jump host names"),
    ("do not connect; ask whoever revoked it, or destroy the box in the console",
     "do not connect; ask whoever runs the jump host"),
    ("check the host in the fleet file or ~/.ssh/config, and your own network",
     "check the jump host in the fleet file or ~/.ssh/config, and your own network"),
)  # fmt: skip


class LinkError(Exception):
    """No bytes from this box. `state` is a LinkState.state, `next` what the user can do.

    `needs_person`: trying again changes nothing before a person has done something, and repeated
    failures get our address banned (sshd 9.8 and later). `read` are the files of the user that the attempt
    was made with, None for one that was not there: an edit of one may be what the person did.
    """

    state = "unreachable"
    needs_person = False

    def __init__(
        self,
        text: str,
        *,
        next: str | None = None,
        hop: str | None = None,
        host_key: str | None = None,
    ) -> None:
        super().__init__(text)
        self.next = next
        self.hop = hop
        self.host_key = host_key
        self.read: tuple[tuple[str, State | None], ...] = ()

    def met_at(self, hop: str, where: str) -> None:
        """It was a jump host that failed: name it in the sentence, and speak of it in the next step.

        `where` is how the sentence calls it so far.
        """
        self.hop, text = hop, str(self)
        if text.startswith(BEFORE):  # the one before it answered
            self.args = (text.replace(where, f"the jump host {hop} ({where})", 1),)
        else:
            self.args = (f"{BEFORE}{hop}: {text}",)
        if self.next is not None:
            for of_box, of_hop in STEPS:
                self.next = self.next.replace(of_box, of_hop)


class NameUnknown(LinkError):
    """The host name does not resolve."""

    state = "dns"


class ConnectTimeout(LinkError):
    """Nothing answered in time."""

    state = "timeout"


class ConnectRefused(LinkError):
    """The port is closed."""

    state = "refused"


class HostKeyRejected(LinkError):
    """The box showed an unknown, changed or revoked host key. Never accepted for the user."""

    state = "host-key"
    needs_person = True


class AuthRejected(LinkError):
    """No key or agent of ours is accepted."""

    state = "auth"
    needs_person = True


OTHER_LOGIN = "use the platform's direct SSH instead of its proxy or SFTP-only login"
START_UP = (
    "a start-up file of the login shell (~/.bashrc, ~/.profile) replaced the command: "
    "put `[[ $- == *i* ]] || return` at its top"
)
# Errors of tmux, screen, zellij and full-screen menus that a start-up file starts without a terminal.
WANTS_TERMINAL = re.compile(
    r"not a (?:terminal|tty)|connected to a terminal|inappropriate ioctl|\bENOTTY\b", re.IGNORECASE
)
# A start-up file that reads stdin would consume the first lines of our program: it gets these empty lines instead.
SPARE_LINES = "\n" * 8


class NoShell(LinkError):
    """Logged in, but no POSIX sh answers."""

    state = "no-shell"


class LinkLost(LinkError):
    """The connection was there and went."""

    state = "unreachable"


class ChannelRefused(LinkError):
    """The connection is fine, but the server opens no further channel (MaxSessions)."""

    state = "live"


class RemoteFileError(Exception):
    """A remote file or directory cannot be read; the connection is fine."""


@dataclass(frozen=True, slots=True)
class RemoteEntry:
    """One name in a remote tree. `path` is relative to the asked root, bytes as the box has them."""

    path: bytes
    kind: str  # file | dir | link | other
    size: int
    mtime: float


class FileAccess(Protocol):
    """Remote files over SFTP, read only by construction: there is no write in it."""

    async def walk(self, root: str, *, limit: int = 100_000) -> list[RemoteEntry]:
        """Every entry below `root`; links are listed, never followed. RemoteFileError if unreadable."""
        ...

    def read(self, path: str, offset: int = 0, *, block: int = 262_144) -> AsyncIterator[bytes]:
        """The bytes of one regular file from `offset` to its end."""
        ...


class Connection(Protocol):
    """One live connection to one box. `host_key` is the SHA-256 fingerprint of the key it showed."""

    host_key: str

    async def run(self, program: str, *, limit: float, stdout_cap: int = 4_194_304) -> Completed:
        """Run a POSIX sh program, sent over stdin to `exec /bin/sh -s`. TimeoutError after `limit` s."""
        ...

    def stream(self, program: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Run a sh program and yield its stdout in chunks as they come; leaving the block ends it on
        the box too (stdin reaches EOF). Reading slowly holds the sender back: memory stays bounded.
        """
        ...

    def files(self) -> AbstractAsyncContextManager[FileAccess]:
        """A file-access channel for as long as the block lasts."""
        ...

    async def round_trip(self) -> float:
        """Seconds that one request takes to the server and back, no process being started."""
        ...

    async def answers(self, within: float) -> bool:
        """Whether any sign of life comes within `within` seconds, as after a suspend; slow is not dead."""
        ...

    async def wait_closed(self) -> LinkError | None:
        """Return when the connection is gone, with the reason, or None after our own close."""
        ...

    async def close(self) -> None:
        """Close it; never hangs."""
        ...


def peer_of(connection: Connection) -> tuple[str, int] | None:
    """Address and port at which this connection's server was reached.

    None where only a hop, or a program of the user's, knows.
    """
    found = getattr(connection, "peer", None)
    return found if isinstance(found, tuple) else None


def login_of(connection: Connection) -> str | None:
    """As whom it is logged in; None where nobody knows."""
    found = getattr(connection, "login", None)
    return found if isinstance(found, str) and found else None


def new_nonce() -> str:
    """A random word for one connection, by which its own programs are known in the box's process table."""
    return f"{NONCE}{secrets.token_hex(8)}"


def nonce_of(connection: Connection) -> str:
    """The nonce that its programs carry; empty where they carry none."""
    found = getattr(connection, "nonce", None)
    return found if isinstance(found, str) else ""


def shell_command(nonce: str) -> str:
    """Starts the sh that reads a program from stdin. The nonce is its first argument, `$1` of the program."""
    return f"exec /bin/sh -s {nonce}"


def to_send(program: str) -> bytes:
    """The bytes of a program for the stdin of the sh on the box."""
    return f"{SPARE_LINES}{program}".encode("utf-8", "surrogateescape")


def without_shell(login: str, said: str, exit: int | None, by_hand: str) -> NoShell:
    """The error for a login (user@host) that succeeded and gave no POSIX sh; `said` is the output that came instead."""
    reason = START_UP if WANTS_TERMINAL.search(said) else OTHER_LOGIN
    return NoShell(
        f"{login} lets us in, but there is no POSIX sh (exit {exit}): {said!r}",
        next=f"{reason}; see what it says: {by_hand}",
    )


Taker = Callable[[bytes], bool]


def take_at_once(chunks: AsyncIterator[bytes], taker: Taker) -> None:
    """Let `taker` have chunks of a stream the moment they come, where this transport can.

    To wake the task that awaits them takes one more turn of the loop. `taker` says whether it took a
    chunk; one that it declines comes by the iterator, as does every chunk while others wait there. It
    is called for as long as the iterator is awaited, and must be quick: it keeps the loop.
    """
    if hasattr(chunks, "taker"):
        chunks.taker = taker


def write_to(chunks: AsyncIterator[bytes], data: bytes) -> None:
    """Send `data` to the stdin of the program that these chunks come from, where this transport can.

    It does not wait: few bytes, and not many times without an answer.
    """
    if hasattr(chunks, "write"):
        chunks.write(data)


async def arrived(chunks: AsyncIterator[bytes]) -> None:
    """Return when the box has all of the program that these chunks come from, where this transport can tell.

    On a narrow line that is long after it was sent. A server that never says so is waited for ARRIVAL_SECONDS.
    """
    if hasattr(chunks, "arrived"):
        with suppress(TimeoutError):
            async with asyncio.timeout(ARRIVAL_SECONDS):
                await chunks.arrived()


class Transport(Protocol):
    """Opens connections."""

    async def connect(self, instance: Instance) -> Connection:
        """Connect, check the host key strictly, log in. Raises a LinkError; the caller sets the limit."""
        ...
