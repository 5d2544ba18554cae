"""Who reads a stream may have its chunks the moment they come."""

from __future__ import annotations

import asyncio

import pytest
from boxes import Sshd

from gpu_tui.core.fleet import Instance
from gpu_tui.transport.base import take_at_once, write_to
from gpu_tui.transport.connection import SshConnection
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
    assert (await connection.run("echo still here", limit=10)).stdout == b"still here\n"
    await connection.close()
