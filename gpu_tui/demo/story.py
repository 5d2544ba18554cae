"""What happens on each box: one coroutine per scene, all within ninety story seconds.

A scene drives a real queue run on real files; it decides when something goes wrong, the box's own
numbers follow from that. Times are story seconds after the curtain rose.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Protocol

from gpu_tui.demo.box import GIB, Box
from gpu_tui.demo.cast import DATASET_BYTES, Part
from gpu_tui.demo.clock import Pace, StoryClock
from gpu_tui.demo.trainer import (
    EPOCH_SECONDS,
    LOADING_SECONDS,
    PAUSE_SECONDS,
    Crash,
    Progress,
    QueueRun,
)

NAN_FROM = 22.0
CUDA_OOM_AT = 14.0
MEMORY_CLIMBS = (8.0, 44.0)
LINK_DOWN = (32.0, 47.0)
INODES_FULL_AT = 68.0
QUEUE_ENDS_AT = 9.0


class Link(Protocol):
    """The box's way to the network."""

    async def drop(self) -> None:
        """Cut every connection and answer none."""
        ...

    async def restore(self) -> None:
        """Answer again, on the same port with the same key."""
        ...


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything a scene may touch. `present` is set once the scene has written its past."""

    part: Part
    box: Box
    link: Link
    clock: StoryClock
    random: Random
    present: asyncio.Event = field(default_factory=asyncio.Event)

    def run(self, begin: float, gpu_memory: float = 0.72, memory: float = 21.0 * GIB) -> QueueRun:
        """A queue run that began at `begin` story seconds; what is before zero lies in the past."""
        pace = Pace(self.clock, begin, self.present)
        run = QueueRun(self.part, self.box, pace, self.random, gpu_memory=gpu_memory, memory=memory)
        run.write_roster()
        self.box.write_hollow(f"{self.part.data}/datasets/train.lmdb", DATASET_BYTES)
        run.open()
        return run


Scene = Callable[[Stage], Coroutine[None, None, None]]


async def healthy(stage: Stage) -> None:
    """Cell after cell, all well."""
    run = stage.run(-_cell_seconds(stage.part) - stage.random.uniform(20, 90))
    for cell in stage.part.cells:
        await run.cell(cell)
    run.close()


async def nan(stage: Stage) -> None:
    """The first cell's loss goes NaN while it runs; it goes on as if nothing had happened."""
    run = stage.run(-50.0)

    def diverge(at: Progress) -> None:
        if run.pace.at >= NAN_FROM - 6:
            at.loss *= 3 ** (1 + (run.pace.at - NAN_FROM + 6) / 2)
        if run.pace.at >= NAN_FROM:
            at.loss = math.nan

    first, *others = stage.part.cells
    await run.cell(first, diverge)
    for cell in others:
        await run.cell(cell)
    run.close()


async def cuda_oom(stage: Stage) -> None:
    """The card's memory does not hold the batch: traceback, exit 1, and the next cell starts."""
    run = stage.run(-26.0, gpu_memory=0.93)

    def exhaust(at: Progress) -> None:
        if run.pace.at >= CUDA_OOM_AT - 2:
            stage.box.load.gpu_memory = 0.99
        if run.pace.at >= CUDA_OOM_AT:
            raise Crash(1, cuda_oom_words(stage, at))

    first, *others = stage.part.cells
    await run.cell(first, exhaust)
    run.gpu_memory = 0.71
    for cell in others:
        await run.cell(cell)
    run.close()


def cuda_oom_words(stage: Stage, at: Progress) -> str:
    """The traceback of a failed allocation on this box's card."""
    card = stage.box.hardware.card
    total = card.memory / 1024
    wanted = stage.random.choice((512, 768, 896))
    free = stage.random.randrange(60, 420)
    used = total - free / 1024
    process = stage.box.trainer or 0
    return (
        "\nTraceback (most recent call last):\n"
        '  File "/workspace/repo/train.py", line 214, in <module>\n'
        "    main(parse_args())\n"
        '  File "/workspace/repo/train.py", line 187, in main\n'
        "    loss = step(model, batch, scaler)\n"
        f'  File "/workspace/repo/train.py", line 96, in step  # iteration {at.step}\n'
        "    scaler.scale(loss).backward()\n"
        '  File "/usr/local/lib/python3.11/site-packages/torch/_tensor.py", line 648, in backward\n'
        "    torch.autograd.backward(\n"
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {wanted}.00 MiB. "
        f"GPU 0 has a total capacity of {total:.2f} GiB of which {free}.44 MiB is free. "
        f"Process {process} has {used:.2f} GiB memory in use. Of the allocated memory "
        f"{used * 0.96:.2f} GiB is allocated by PyTorch, and {used * 310:.2f} MiB is reserved by "
        "PyTorch but unallocated. If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.\n"
    )


async def cgroup_oom(stage: Stage) -> None:
    """Loader workers fill the cgroup until the kernel kills the run: a bare `Killed`, exit 137."""
    run = stage.run(-35.0, memory=38.0 * GIB)
    limit, (start, end) = float(stage.box.hardware.memory), MEMORY_CLIMBS

    def leak(_: Progress) -> None:
        climbed = (run.pace.at - start) / (end - start)
        stage.box.load.memory = run.memory + (limit - run.memory) * min(1.02, max(0.0, climbed))
        if run.pace.at > end + 1.5:
            stage.box.vitals.memory_peak = stage.box.hardware.memory
            stage.box.vitals.at_limit += stage.random.randrange(40, 400)
            stage.box.vitals.oom_kill += 1
            raise Crash(137, "Killed\n")

    first, *others = stage.part.cells
    await run.cell(first, leak)
    run.memory = 44.0 * GIB
    for cell in others:
        await run.cell(cell)
    run.close()


async def inodes(stage: Stage) -> None:
    """Small pictures eat the shared disk's inodes while its bytes stay nearly free."""
    begin = -_cell_seconds(stage.part) - 20.0
    run = stage.run(begin)
    disk = stage.box.hardware.disks[1]
    cap = disk.inodes or 0
    picture = b"\x89PNG\r\n\x1a\n" + bytes(92)
    complaints = 0

    def draw(cell: str, at: Progress) -> None:
        nonlocal complaints
        share = min(1.0, (run.pace.at - begin) / (INODES_FULL_AT - begin))
        have = stage.box.inodes_used(disk)
        wanted = int(cap * share) - have
        folder = f"{disk.path}/vis/{cell}/e{at.epoch:02d}"
        try:
            for number in range(have, have + wanted + (share >= 1.0)):
                stage.box.write(f"{folder}/panel_{number:05d}.png", picture)
        except OSError as error:
            complaints += 1
            if complaints <= 3:
                run.say(cell, f"\nWARNING: panel skipped: [Errno {error.errno}] {error.strerror}: ")
                run.say(cell, f"'/root/{folder}/panel_{have:05d}.png'\n")

    for cell in stage.part.cells:
        await run.cell(cell, partial(draw, cell))
    run.close()


async def finished(stage: Stage) -> None:
    """The last cell ends, everything is on the durable disk, the card idles and the meter runs."""
    run = stage.run(QUEUE_ENDS_AT - len(stage.part.cells) * _cell_seconds(stage.part))
    for cell in stage.part.cells:
        await run.cell(cell)
    run.close()


async def stopped(stage: Stage) -> None:
    """A box that was parked long ago: no port answers; only the provider can tell since when."""
    stage.present.set()


async def link_drop(stage: Stage) -> None:
    """A healthy run behind a line that goes away and comes back; the run never notices."""
    down, up = LINK_DOWN

    async def line() -> None:
        await stage.clock.wait(down)
        await stage.link.drop()
        await stage.clock.wait(up)
        await stage.link.restore()

    async def work() -> None:
        run = stage.run(-90.0, gpu_memory=0.86)
        for cell in stage.part.cells:
            await run.cell(cell)
        run.close()

    async with asyncio.TaskGroup() as both:
        both.create_task(line())
        both.create_task(work())


def _cell_seconds(part: Part) -> float:
    return LOADING_SECONDS + part.epochs * EPOCH_SECONDS + PAUSE_SECONDS


SCENES: dict[str, Scene] = {
    scene.__name__: scene
    for scene in (healthy, nan, cuda_oom, cgroup_oom, inodes, finished, stopped, link_drop)
}
