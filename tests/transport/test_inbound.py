"""Bytes that are passed on in parts: the same bytes in order, a bounded share of the event loop, bounded memory."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from boxes import Sshd

from gpu_tui.core.fleet import Instance, SshAccess
from gpu_tui.transport import inbound, ssh
from gpu_tui.transport.base import LinkLost
from gpu_tui.transport.connection import SshConnection
from gpu_tui.transport.inbound import (
    LARGE_BYTES,
    MAX_TURN_SECONDS,
    MIN_BYTES_PER_SECOND,
    PAUSE_FACTOR,
    SMALL_BYTES,
    Inbound,
)
from gpu_tui.transport.ssh import SshTransport

MakeBox = Callable[..., Sshd]
MB = 1_000_000


@asynccontextmanager
async def connected(instance: Instance) -> AsyncIterator[SshConnection]:
    transport = SshTransport()
    connection = await transport.connect(instance)
    try:
        yield connection
    finally:
        await connection.close()
        await transport.close()


async def digest(connection: SshConnection, file: Path) -> str:
    found = hashlib.sha256()
    async with connection.stream(f"exec cat {file}\n") as chunks:
        async for chunk in chunks:
            found.update(chunk)
    return found.hexdigest()


def fill(file: Path, size: int) -> str:
    data = os.urandom(size)
    file.write_bytes(data)
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("cipher", [*ssh.CIPHERS[::2], "rekeyed"])
async def test_big_files_come_whole(
    make_box: MakeBox, cipher: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if cipher == "rekeyed":
        box = make_box(extra="RekeyLimit 1M")
    else:
        box = make_box()
        monkeypatch.setattr(ssh, "CIPHERS", (cipher,))
    expected = fill(box.home / "big", 5 * MB)
    async with connected(box.instance()) as connection:
        both = await asyncio.gather(*(digest(connection, box.home / "big") for _ in range(2)))
    assert both == [expected, expected]


@pytest.mark.parametrize("way", ["direct", "jump host", "ProxyCommand"])
async def test_bytes_that_wait_come_whole_and_in_order(
    make_box: MakeBox, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    waits = []
    pause = Inbound._pause

    def paused(self: Inbound, rest: bytes, transport: Any, seconds: float) -> None:
        waits.append(len(rest))
        pause(self, rest, transport, seconds)

    monkeypatch.setattr(Inbound, "_pause", paused)
    monkeypatch.setattr(inbound, "MAX_TURN_SECONDS", 0.0)
    monkeypatch.setattr(inbound, "PAUSE_FACTOR", 0.01)
    box = make_box()
    access = SshAccess("inner", config=str(box.config))
    known = f" IdentityFile {box.identity}\n UserKnownHostsFile {box.known_hosts}\n"
    here = f" HostName 127.0.0.1\n Port {box.port}\n HostKeyAlias [127.0.0.1]:{box.port}\n{known}"
    match way:
        case "jump host":
            box.config.write_text(f"Host hop\n{here}Host inner\n{here} ProxyJump hop\n")
        case "ProxyCommand":
            relay = f"exec 3<>/dev/tcp/127.0.0.1/{box.port}; cat <&3 & exec cat >&3"
            box.config.write_text(f"Host inner\n{here} ProxyCommand exec bash -c '{relay}'\n")
        case _:
            box.config.write_text(f"Host inner\n{here}")
    expected = fill(box.home / "big", 2 * MB)
    fill(box.home / "small", 20_000)
    bytes_one_by_one = f"dd bs=1 if={box.home / 'small'} 2>/dev/null\n"
    async with connected(box.instance(ssh=access)) as connection:
        found, done = await asyncio.gather(
            digest(connection, box.home / "big"), connection.run(bytes_one_by_one, limit=60)
        )
    assert found == expected
    assert done.stdout == (box.home / "small").read_bytes()
    assert waits


async def test_one_bit_that_turned_on_the_way_ends_the_connection(box: Sshd) -> None:
    fill(box.home / "big", 9 * MB)
    original = (box.home / "big").read_bytes()
    came = bytearray()

    async with connected(box.instance()) as connection:
        inner = connection._connection
        receive = inner.data_received

        async def read() -> None:
            async with connection.stream(f"exec cat {box.home / 'big'}\n") as chunks:
                async for chunk in chunks:
                    came.extend(chunk)

        def turn(data: bytes, datatype: int | None = None) -> None:
            if len(came) > MB and len(data) > 2000:
                data = data[:1000] + bytes([data[1000] ^ 4]) + data[1001:]
            receive(data, datatype)

        inner.data_received = turn  # type: ignore[method-assign]
        with pytest.raises(LinkLost, match="MAC"):
            await read()
    assert MB < len(came) < len(original)
    assert original.startswith(came)


class Loop:
    """A loop and a processor whose time passes only where a byte is taken, or waited for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cost: float) -> None:
        self.spent = self.waited = self.longest = 0.0
        self.due: list[Callable[[], None]] = []
        self.paused = False
        self.passed: list[bytes] = []
        self._cost = cost  # seconds of a byte
        self._since = 0.0
        monkeypatch.setattr(inbound, "thread_time", lambda: self.spent)
        monkeypatch.setattr(
            inbound.asyncio, "get_running_loop", lambda: SimpleNamespace(call_later=self._later)
        )
        transport = SimpleNamespace(
            is_closing=lambda: False, pause_reading=self._pause, resume_reading=self.resume
        )
        self.inbound = Inbound(
            SimpleNamespace(data_received=self._take, _transport=transport)  # type: ignore[arg-type]
        )
        self.more: list[bytes] = []  # what the transport holds

    def _take(self, data: bytes) -> None:
        self.passed.append(data)
        self.spent += len(data) * self._cost

    def _later(self, seconds: float, do: Callable[..., None], *args: object) -> None:
        self.waited += seconds
        self.longest = max(self.longest, self.spent - self._since)
        self.due.append(lambda: do(*args))

    def _pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        """Deliver all at once, as a channel does, which grants a new window with each chunk."""
        self.paused = False
        while self.more and not self.paused:
            self.inbound.data_received(self.more.pop(0))

    def read(self, data: bytes) -> None:
        """One read of the socket, and all turns of the loop until all of it is passed on."""
        self._since = self.spent
        self.inbound.data_received(data)
        while self.due:
            self._since = self.spent
            self.due.pop()()


def test_a_server_that_sends_tiny_packets_gets_a_small_share_of_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = Loop(monkeypatch, cost=1e-6)  # 52 bytes of a packet of one byte take 50 us
    reads = 20
    for _ in range(reads):
        loop.read(b"x" * 262_144)
    assert b"".join(loop.passed) == b"x" * 262_144 * reads
    assert loop.waited > 5 * loop.spent
    assert loop.longest < 3 * MAX_TURN_SECONDS


def test_a_flood_of_large_packets_never_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(monkeypatch, cost=1 / (10 * MIN_BYTES_PER_SECOND))
    for _ in range(20):
        loop.read(b"x" * 262_144)
    assert loop.waited == 0
    assert len(loop.passed[-1]) == LARGE_BYTES


def test_a_flood_is_as_fast_as_ever_after_tiny_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(monkeypatch, cost=1e-6)
    loop.read(b"x" * 262_144)
    assert len(loop.passed[-1]) <= SMALL_BYTES
    before, loop._cost = loop.waited, 1 / (50 * MIN_BYTES_PER_SECOND)
    for _ in range(3):
        loop.read(b"x" * 262_144)
    assert loop.waited == before
    assert len(loop.passed[-1]) == LARGE_BYTES


def test_the_channel_of_a_jump_host_is_emptied_before_it_is_paused_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = Loop(monkeypatch, cost=1e-6)
    loop.inbound.data_received(b"0" * 65_536)
    assert loop.paused
    loop.more = [b"%d" % n * 16_384 for n in range(1, 9)]
    while loop.due:
        loop.due.pop()()
        assert not loop.more or loop.paused
        assert len(loop.more) in (0, 8)
    text = b"".join(loop.passed)
    assert text == b"".join(b"%d" % n * (65_536 if n == 0 else 16_384) for n in range(9))


def test_what_was_closed_gets_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(monkeypatch, cost=1e-6)
    loop.inbound.data_received(b"x" * 65_536)
    passed = len(loop.passed)
    loop.inbound._transport.is_closing = lambda: True  # type: ignore[union-attr, method-assign]
    while loop.due:
        loop.due.pop()()
    assert len(loop.passed) == passed


def test_the_wait_is_a_multiple_of_what_the_bytes_cost_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = Loop(monkeypatch, cost=2 / MIN_BYTES_PER_SECOND)
    loop.read(b"x" * MB)
    assert 0 < loop.waited <= PAUSE_FACTOR * loop.spent / 2
