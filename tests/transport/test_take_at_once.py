"""Who reads a stream may have its chunks the moment they come."""

from __future__ import annotations

import asyncio

import pytest
from boxes import Sshd

from gpu_tui.core.fleet import Instance
from gpu_tui.transport.base import take_at_once, write_to
from gpu_tui.transport.connection import SshConnection
from gpu_tui.transport.record import RecordingTransport
from gpu_tui.transport.ssh import SshTransport


async def _connected(box: Instance) -> SshConnection:
    made = await SshTransport().connect(box)
    assert isinstance(made, SshConnection)
    return made


async def test_a_taker_has_what_comes_while_its_reader_waits(box: Sshd) -> None:
    connection = await _connected(box.instance())
    loop, taken = asyncio.get_running_loop(), []
    more = loop.create_future()

    def take(chunk: bytes) -> bool:
        if b"decline" in chunk:
            return False
        taken.append(chunk)
        more.set_result(None)
        return True

    wait = "until [ -e {} ]; do sleep 0.05; done"
    first, second = wait.format("one"), wait.format("two")
    program = f"cd; echo first; {first}; echo taken; {second}; echo decline\n exit\n"
    read = []
    async with connection.stream(program) as chunks:
        read.append(await anext(chunks))
        take_at_once(chunks, take)

        async def rest() -> None:
            async for chunk in chunks:
                read.append(chunk)

        reading = asyncio.create_task(rest())
        (box.home / "one").touch()
        await more
        (box.home / "two").touch()
        await reading
    assert (b"".join(read), taken) == (b"first\ndecline\n", [b"taken\n"])
    await connection.close()


async def test_what_is_written_is_for_the_program(box: Sshd) -> None:
    connection = await _connected(box.instance())
    program = 'main() { echo ready; read -r line; echo "got $line"; }\nmain; exit\n'
    async with connection.stream(program) as chunks:
        assert await anext(chunks) == b"ready\n"
        write_to(chunks, b"one\n")
        assert await anext(chunks) == b"got one\n"
    write_to(chunks, b"into nowhere\n")
    await connection.close()


async def test_a_fault_of_the_taker_ends_its_channel_only(box: Sshd) -> None:
    connection = await _connected(box.instance())

    def take(chunk: bytes) -> bool:
        raise ValueError("of the taker")

    program = "cd; echo one; until [ -e go ]; do sleep 0.05; done; echo two; exit\n"
    async with connection.stream(program) as chunks:
        await anext(chunks)
        take_at_once(chunks, take)
        (box.home / "go").touch()
        with pytest.raises(ValueError, match="of the taker"):
            await anext(chunks)
    assert (await connection.run("echo still here", limit=60)).stdout == b"still here\n"
    await connection.close()


class Kept:
    """A recorder that keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[object] = []

    def opened(self, instance: str, program: str) -> int:
        self.heard.append(program)
        return 1

    def said(self, channel: int, data: bytes) -> None:
        self.heard.append(data)

    def closed(self, channel: int) -> None:
        self.heard.append(None)


async def test_one_that_is_recorded_can_do_all_that_others_can(box: Sshd) -> None:
    """Else a box would be asked in another way as soon as somebody records it."""
    kept = Kept()
    connection = await RecordingTransport(SshTransport(), kept).connect(box.instance())
    taken: list[bytes] = []
    program = 'main() { echo ready; read -r line; echo "got $line"; read -r line; }\nmain; exit\n'
    got = asyncio.Event()

    def take(chunk: bytes) -> bool:
        taken.append(chunk)
        got.set()
        return True

    async with connection.stream(program) as chunks:
        assert await anext(chunks) == b"ready\n"
        take_at_once(chunks, take)
        reading = asyncio.ensure_future(anext(chunks))
        await asyncio.sleep(0)
        write_to(chunks, b"one\n")
        async with asyncio.timeout(60):
            await got.wait()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    assert taken == [b"got one\n"]
    assert kept.heard == [program, b"ready\n", b"got one\n", None]
    with pytest.raises(TimeoutError):
        await connection.run("sleep 100\n", limit=0.1)
    assert kept.heard[4:] == ["sleep 100\n", None]
    await connection.close()
