"""The same promises, kept by a scripted box, by our own SSH and by the ssh program on a real sshd."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace

import pytest
from boxes import Sshd

from gpu_tui.core.fleet import Instance, SshAccess
from gpu_tui.transport.base import (
    Connection,
    ConnectRefused,
    LinkError,
    LinkLost,
    RemoteFileError,
    Transport,
)
from gpu_tui.transport.replay import Box, Played, ReplayTransport
from gpu_tui.transport.ssh import SshTransport

# A program for a real sh, and what a script says that it does.
PROGRAMS = {
    "printf out; echo err >&2; exit 3\n": Played((b"out",), 3, b"err\n"),
    "printf '\\377\\000'\n": Played((b"\xff\x00",)),
    "head -c 9000 /dev/zero\n": Played((b"\0" * 4000, b"\0" * 5000)),
    "while :; do sleep 1; done\n": Played((), None),
    "echo one; echo two; cat\n": Played((b"one\n", b"two\n"), None),
    "echo one; exit\n": Played((b"one\n",)),
}
FILES = {
    "~/out/a/best.pth": b"x" * 300_000,
    "~/out/metrics.json": b"{}",
    "~/out/link": None,
}


@dataclass
class Side:
    """One way to reach a box, and how to break it."""

    transport: Transport
    instance: Instance
    refused: Instance
    lose: Callable[[], Awaitable[None]]


@pytest.fixture(params=["replay", "direct", "openssh"])
async def side(request: pytest.FixtureRequest) -> AsyncIterator[Side]:
    how = request.param
    made = replayed() if how == "replay" else real(request.getfixturevalue("box"), how)
    yield made
    if isinstance(made.transport, SshTransport):
        await made.transport.close()


def replayed() -> Side:
    refusal = ConnectRefused("box refuses the connection", next="look at the console")
    boxes = {
        "box": Box(PROGRAMS.__getitem__, FILES),
        "off": Box(PROGRAMS.__getitem__, refusal=refusal),
    }
    transport = ReplayTransport(boxes)
    box, off = (Instance(name, SshAccess(name)) for name in boxes)

    async def lose() -> None:
        transport.connections[-1].lose()

    return Side(transport, box, off, lose)


def real(box: Sshd, how: str) -> Side:
    for path, content in FILES.items():
        file = box.home / path.removeprefix("~/")
        file.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            file.symlink_to("/etc/passwd")
        else:
            file.write_bytes(content)

    async def lose() -> None:
        assert box.kill_sessions()

    off = Instance("off", SshAccess("127.0.0.1", port=9, config=str(box.config), transport=how))
    there = box.instance(ssh=replace(box.ssh_access, transport=how))
    return Side(SshTransport(), there, off, lose)


@pytest.fixture
async def connection(side: Side) -> AsyncIterator[Connection]:
    made = await side.transport.connect(side.instance)
    yield made
    await made.close()


async def test_a_box_that_is_off_is_a_sentence_with_a_next_step(side: Side) -> None:
    with pytest.raises(ConnectRefused, match="refuses") as caught:
        await side.transport.connect(side.refused)
    assert caught.value.next
    assert caught.value.state == "refused"


async def test_a_program_gives_stdout_stderr_and_exit(connection: Connection) -> None:
    done = await connection.run("printf out; echo err >&2; exit 3\n", limit=60)
    assert (done.stdout, done.stderr, done.exit) == (b"out", b"err\n", 3)
    assert (await connection.run("printf '\\377\\000'\n", limit=60)).stdout == b"\xff\x00"
    assert connection.host_key.startswith("SHA256:")
    assert await connection.round_trip() >= 0


async def test_what_is_too_much_is_cut_and_what_is_too_long_times_out(
    connection: Connection,
) -> None:
    done = await connection.run("head -c 9000 /dev/zero\n", limit=10, stdout_cap=100)
    assert len(done.stdout) == 100
    with pytest.raises(TimeoutError):
        await connection.run("while :; do sleep 1; done\n", limit=0.1)
    assert (await connection.run("echo one; exit\n", limit=60)).exit == 0


async def test_a_stream_comes_in_order_and_ends_with_its_program(connection: Connection) -> None:
    async with connection.stream("echo one; exit\n") as chunks:
        assert b"".join([chunk async for chunk in chunks]) == b"one\n"


async def test_a_stream_may_be_left_at_any_time(connection: Connection) -> None:
    for _ in range(12):
        async with connection.stream("echo one; echo two; cat\n") as chunks:
            assert (await anext(chunks)).startswith(b"one\n")


async def test_a_loss_ends_everything_with_the_same_error(
    side: Side, connection: Connection
) -> None:
    async with connection.stream("echo one; echo two; cat\n") as chunks:
        seen = b""
        while b"two" not in seen:
            seen += await anext(chunks)
        await side.lose()
        with pytest.raises(LinkLost):
            await anext(chunks)
    assert isinstance(await connection.wait_closed(), LinkLost)
    with pytest.raises(LinkError):
        await connection.run("echo one; exit\n", limit=60)
    with pytest.raises(LinkError):
        async with connection.files():
            pass


async def test_our_own_close_is_no_loss(connection: Connection) -> None:
    waiting = asyncio.create_task(connection.wait_closed())
    await connection.close()
    assert await waiting is None
    await connection.close()


async def test_files_are_listed_and_read_and_links_are_not_followed(
    connection: Connection,
) -> None:
    async with connection.files() as files:
        found = {entry.path: (entry.kind, entry.size) for entry in await files.walk("~/out")}
        assert found[b"a/best.pth"] == ("file", 300_000)
        assert found[b"metrics.json"] == ("file", 2)
        assert (found[b"a"][0], found[b"link"][0]) == ("dir", "link")
        blocks = [block async for block in files.read("~/out/a/best.pth", 100, block=65_536)]
        assert b"".join(blocks) == b"x" * 299_900
        assert len(blocks) > 1
        assert [block async for block in files.read("~/out/metrics.json", 2)] == []
        for path in ("~/out/link", "~/out/nothing"):
            with pytest.raises(RemoteFileError):
                await anext(files.read(path))
        with pytest.raises(RemoteFileError):
            await files.walk("~/nowhere")
        with pytest.raises(RemoteFileError, match="more than 2"):
            await files.walk("~/out", limit=2)
