"""A process of this machine ends with its block, and so do its pipes, whoever else holds their other end."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from gpu_tui.transport.child import child


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_one_that_left_the_group_holds_no_pipe_of_ours() -> None:
    async with child(["true"]):
        pass  # asyncio opens what it watches processes by
    await asyncio.sleep(0)
    before = descriptors()
    async with child(
        ["sh", "-c", "setsid sh -c 'echo $$; exec sleep 600' & wait"], stdin=PIPE
    ) as process:
        assert process.stdout is not None
        left = int(await process.stdout.readline())
    try:
        await asyncio.sleep(0)
        assert descriptors() == before
    finally:
        os.kill(left, signal.SIGKILL)


@pytest.mark.parametrize("argv", [["/no/such/program"], ["/etc/passwd"], ["a\0b"]])
async def test_what_cannot_be_started_is_an_error(argv: list[str]) -> None:
    with pytest.raises((OSError, ValueError)):
        async with child(argv):
            pass
