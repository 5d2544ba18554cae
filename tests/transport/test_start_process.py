"""The start of a process can be cancelled at every step: it ends, and nothing of it stays."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gpu_tui import start_process as start_module
from gpu_tui.start_process import start_process
from gpu_tui.transport.child import child

STEPS = 14  # of the event loop: the start takes nine


async def by_start_process(*argv: str) -> None:
    process = await start_process(
        *argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
    )
    process.kill()
    await process.communicate()


async def without_a_session(*argv: str) -> None:
    process = await start_process(*argv, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL)
    process.kill()
    await process.communicate()


async def by_child(*argv: str) -> None:
    async with child(argv, stdin=PIPE, stderr=PIPE):
        pass


def running(mark: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if mark.encode() in words:
            found.append(path.parent.name)
    return found


@pytest.mark.parametrize("start", [by_start_process, without_a_session, by_child])
@pytest.mark.parametrize("steps", range(STEPS))
async def test_a_start_that_is_cancelled_ends_and_leaves_nothing(
    start: Callable[..., Awaitable[None]], steps: int, tmp_path: Path
) -> None:
    mark = str(tmp_path / start.__name__)
    starting = asyncio.ensure_future(start("sh", "-c", "read line", mark))
    for _ in range(steps):
        await asyncio.sleep(0)
    starting.cancel()
    ended, _ = await asyncio.wait({starting}, timeout=30)
    assert ended
    async with asyncio.timeout(30):
        while running(mark):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_second_cancellation_does_not_leave_the_process(tmp_path: Path) -> None:
    mark = str(tmp_path / "twice")
    starting = asyncio.ensure_future(by_start_process("sh", "-c", "read line", mark))
    for _ in range(4):
        await asyncio.sleep(0)
    starting.cancel()
    await asyncio.sleep(0)
    starting.cancel()
    ended, _ = await asyncio.wait({starting}, timeout=30)
    assert ended
    async with asyncio.timeout(30):
        while running(mark) or start_module._ending:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_what_cannot_be_started_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        await start_process("/no/such/program")
