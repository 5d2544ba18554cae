"""A box whose owner knows what we ask and answers with all that can harm: only he is read more slowly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest
from boxes import Sshd
from hostile import held, hostile

from gpu_tui.collect.follow import follow
from gpu_tui.collect.sampler import plan, sample_group
from gpu_tui.collect.tail_memory import TailMemory
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.logs import LogSource
from gpu_tui.transport.ssh import SshTransport

SECONDS = 4.0  # of a flood
MOMENT = 0.25  # of the processor: more must nothing of it take in one turn of the loop


@pytest.fixture
async def transport() -> AsyncIterator[SshTransport]:
    made = SshTransport()
    yield made
    await made.close()


@pytest.mark.parametrize(
    "harm",
    [
        "mark = b'\\x1f' + nonce + b' missing\\n'\nwhile True: out(mark * 200_000)",
        "while True: out((b'\\x1f' + nonce) * 200_000)",
        "mark = b'\\x1f' + nonce + b' open new %d - 1 0 9\\n'\n"
        "while True: out(b''.join(mark % n for n in range(100_000)))",
    ],
    ids=["marks", "signs", "files"],
)
async def test_what_a_box_says_of_a_log_holds_up_nobody_else(
    make_box: Callable[..., Sshd], tmp_path: Path, transport: SshTransport, harm: str
) -> None:
    box = hostile(make_box, harm, tmp_path)
    connection = await transport.connect(box.instance())
    async with held() as took:
        with suppress(TimeoutError):
            async with asyncio.timeout(SECONDS):
                await follow(
                    connection, box.instance(), LogSource("/x.log"), lambda _: None,
                    ManualClock(), TailMemory(),
                )  # fmt: skip
    assert max(took) < MOMENT
    await connection.close()


FRAMES = """\
frame = b'@%s 0 begin 0\\n@%s 0 end 0\\n' % (nonce, nonce)
while True: out(frame * 50_000)
"""


async def test_what_its_sampler_says_holds_up_nobody_else(
    make_box: Callable[..., Sshd], tmp_path: Path, transport: SshTransport
) -> None:
    box = hostile(make_box, FRAMES, tmp_path)
    connection = await transport.connect(box.instance())
    group, events = plan(box.instance())[0], []
    async with held() as took:
        with suppress(TimeoutError):
            async with asyncio.timeout(SECONDS):
                await sample_group(connection, box.instance(), group, events.append, ManualClock())
    assert sum(took) < SECONDS / 2
    await connection.close()
