"""Data packets by the short way: the same bytes, over key exchanges and other ciphers, and never a forged one."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import asyncssh
import pytest
from boxes import Sshd

from gpu_tui.transport import packets, ssh
from gpu_tui.transport.base import LinkLost
from gpu_tui.transport.connection import SshConnection
from gpu_tui.transport.ssh import SshTransport

MakeBox = Callable[..., Sshd]
MB = 1_000_000


@asynccontextmanager
async def connected(box: Sshd) -> AsyncIterator[SshConnection]:
    transport = SshTransport()
    connection = await transport.connect(box.instance())
    try:
        yield connection
    finally:
        await connection.close()
        await transport.close()


def inside(connection: SshConnection) -> asyncssh.SSHClientConnection:
    return connection._connection


def taken(connection: SshConnection) -> int:
    """How many packets went the short way."""
    way = getattr(inside(connection).data_received, "__self__", None)
    return way.taken if isinstance(way, packets.ShortWay) else 0


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


@pytest.mark.parametrize("limit", ["", "RekeyLimit 1M"])
async def test_a_big_file_comes_the_short_way(make_box: MakeBox, limit: str) -> None:
    box = make_box("rekeys" if limit else "plain", extra=limit)
    expected = fill(box.home / "big", 9 * MB)
    async with connected(box) as connection:
        both = await asyncio.gather(*(digest(connection, box.home / "big") for _ in range(2)))
        assert both == [expected, expected]
        assert taken(connection) > 2 * 9 * MB / 32_768 / 2


async def test_every_size_around_the_least_comes_whole(box: Sshd) -> None:
    sizes = [*range(1, 60), 32_767, 32_768, 32_769]
    expected = fill(box.home / "big", 40_000)
    data = (box.home / "big").read_bytes()
    async with connected(box) as connection:
        for size in sizes:
            done = await connection.run(f"head -c {size} {box.home / 'big'}", limit=60)
            assert done.stdout == data[:size]
        assert await digest(connection, box.home / "big") == expected


@pytest.mark.parametrize("cipher", ["aes128-ctr", "chacha20-poly1305@openssh.com"])
async def test_other_ciphers_go_asyncsshs_way(
    box: Sshd, cipher: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "CIPHERS", (cipher,))
    expected = fill(box.home / "big", MB)
    async with connected(box) as connection:
        assert await digest(connection, box.home / "big") == expected
        assert taken(connection) == 0


async def test_where_asyncssh_lacks_a_part_nothing_is_changed(
    box: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packets, "PARTS", (*packets.PARTS, "_no_such_part"))
    expected = fill(box.home / "big", MB)
    async with connected(box) as connection:
        assert isinstance(inside(connection)._inpbuf, bytes)
        assert await digest(connection, box.home / "big") == expected


async def test_one_bit_that_turned_on_the_way_ends_the_connection(box: Sshd) -> None:
    fill(box.home / "big", 9 * MB)
    original = (box.home / "big").read_bytes()
    came = bytearray()
    async with connected(box) as connection:
        inner = inside(connection)

        async def read() -> None:
            async with connection.stream(f"exec cat {box.home / 'big'}\n") as chunks:
                async for chunk in chunks:
                    came.extend(chunk)

        receive = inner.data_received
        assert taken(connection) > 0

        def turn(data: bytes, datatype: int | None = None) -> None:
            if len(came) > MB and len(data) > 2000:
                data = data[:1000] + bytes([data[1000] ^ 4]) + data[1001:]
            receive(data, datatype)

        inner.data_received = turn  # type: ignore[method-assign]
        with pytest.raises(LinkLost, match="MAC"):
            await read()
    assert MB < len(came) < len(original)
    assert original.startswith(came)


async def test_a_channel_that_was_closed_is_left_alone(box: Sshd) -> None:
    fill(box.home / "big", 9 * MB)
    async with connected(box) as connection:
        for _ in range(5):
            async with connection.stream(f"exec cat {box.home / 'big'}\n") as chunks:
                await anext(chunks)
        assert (await connection.run("echo here", limit=60)).stdout == b"here\n"


def test_who_sends_tiny_packets_for_ever_gets_less_and_less_of_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, waits, paused = [0.0], [], []

    def taken(_: bytes, __: object = None) -> None:
        now[0] += 1.1 * packets.MOMENT  # for whatever it holds

    transport = SimpleNamespace(
        pause_reading=lambda: paused.append(True), resume_reading=lambda: paused.append(False)
    )
    connection: Any = SimpleNamespace(
        data_received=taken, _recv_pkthdr=None, _recv_encryption=None, _transport=transport
    )
    go_on: list[Callable[[], None]] = []

    def later(wait: float, do: Callable[[Any], None], what: Any) -> None:
        waits.append(wait)
        go_on.append(lambda: do(what))

    monkeypatch.setattr(packets, "monotonic", lambda: now[0])
    monkeypatch.setattr(
        packets.asyncio, "get_running_loop", lambda: SimpleNamespace(call_later=later)
    )
    way = packets.ShortWay(connection)
    for _ in range(700):
        way.data_received(b"x" * (packets.PIECE + 1))
        now[0] += waits[-1]
        go_on.pop()()
    assert waits[0] == packets.MOMENT  # a flood that ends is taken as fast as ever
    assert sum(waits[:50]) == pytest.approx(50 * packets.MOMENT)
    assert waits == sorted(waits)
    assert waits[-1] == pytest.approx(packets.LONGEST * packets.MOMENT)
    assert not paused[-1]
    now[0] += 10
    way.data_received(b"x" * (packets.PIECE + 1))
    assert waits[-1] == packets.MOMENT


def test_a_flood_of_text_is_never_made_to_wait_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    transport = SimpleNamespace(pause_reading=lambda: None)
    way = packets.ShortWay(
        SimpleNamespace(data_received=None, _recv_pkthdr=None, _transport=transport)
    )  # type: ignore[arg-type]
    monkeypatch.setattr(
        packets.asyncio,
        "get_running_loop",
        lambda: SimpleNamespace(call_later=lambda wait, *_: waits.append(wait)),
    )
    for _ in range(200):
        way._came = packets.FAIR + 100
        way._put_off(b"x" * 100)
    assert set(waits) == {packets.MOMENT}


@pytest.mark.parametrize("cipher", ["", "Ciphers chacha20-poly1305@openssh.com\n"])
async def test_what_is_put_off_to_another_turn_comes_whole_and_in_order(
    make_box: MakeBox, monkeypatch: pytest.MonkeyPatch, cipher: str
) -> None:
    """A server that sends a byte at a time does not get the loop for as long as it likes."""
    put_off = []

    def counted(way: packets.ShortWay, rest: bytes) -> bool:
        put_off.append(len(rest))
        return really(way, rest)

    really = packets.ShortWay._put_off
    monkeypatch.setattr(packets.ShortWay, "_put_off", counted)
    monkeypatch.setattr(packets, "MOMENT", 0.0)
    monkeypatch.setattr(packets, "OFTEN", 2)
    box = make_box("bytes" if cipher else "plain", extra=cipher)
    expected = fill(box.home / "big", 3 * MB)
    fill(box.home / "small", 20_000)
    bytes_one_by_one = f"dd bs=1 if={box.home / 'small'} 2>/dev/null\n"
    async with connected(box) as connection:
        found, done = await asyncio.gather(
            digest(connection, box.home / "big"), connection.run(bytes_one_by_one, limit=60)
        )
        assert found == expected
        assert done.stdout == (box.home / "small").read_bytes()
    assert put_off
