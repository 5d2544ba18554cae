"""The watcher with the real kubectl: jobs on a beat, logs without a line lost or doubled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kube_objects import at, job, pod
from kube_server import KubeServer

from gpu_tui.collect.kubernetes import ClusterWatch
from gpu_tui.core.events import Event, LogArrived, LogOpened, Sampled
from gpu_tui.core.fleet import Instance
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.metrics import KUBERNETES
from gpu_tui.core.sample import Reading
from gpu_tui.transport.argv import Here
from gpu_tui.wiring.clock import SystemClock

LIMIT = 20.0


class Heard:
    """Every event, and a way to wait for one."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._more = asyncio.Event()

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self._more.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(LIMIT):
            while not holds():
                self._more.clear()
                await self._more.wait()

    def lines(self, cell: str, *, backfill: bool | None = None) -> list[str]:
        """The finished lines of one cell's log."""
        return [
            line.text
            for event in self.events
            if isinstance(event, LogArrived)
            and event.source.cell == cell
            and backfill in (None, event.backfill)
            for line in event.lines
            if not line.open
        ]

    @property
    def table(self) -> JobTable | None:
        """The newest one."""
        for event in reversed(self.events):
            if isinstance(event, Sampled) and event.metric == KUBERNETES.name:
                sample = event.sample
                return sample.value if isinstance(sample, Reading) else None  # type: ignore[return-value]
        return None


@asynccontextmanager
async def watching(
    instance: Instance, period: float = 0.2
) -> AsyncIterator[tuple[Heard, ClusterWatch]]:
    heard = Heard()
    watch = ClusterWatch(instance, heard, SystemClock(), period)
    task = asyncio.create_task(watch.serve(Here()))
    try:
        yield heard, watch
        if task.done():
            task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_job_its_pod_and_its_log(cluster: KubeServer, namespace: Instance) -> None:
    await cluster.put("jobs", job("train-a", active=1))
    await cluster.put("pods", pod("train-a-x1", of="train-a"))
    await cluster.write("train-a-x1", (at("10:00:11.5"), "epoch 1/4 loss=0.5"))
    async with watching(namespace) as (heard, _):
        await heard.until(lambda: heard.table is not None)
        assert heard.table is not None
        assert [(row.id, row.word) for row in heard.table.jobs] == [("job/train-a", "Running")]
        # What was there before we came is history, and told before the table.
        assert heard.lines("train-a", backfill=True) == ["epoch 1/4 loss=0.5"]
        await cluster.write("train-a-x1", (at("10:05:00.1"), "epoch 2/4 loss=0.4"))
        await heard.until(lambda: len(heard.lines("train-a")) == 2)
        assert heard.lines("train-a", backfill=False) == ["epoch 2/4 loss=0.4"]


async def test_a_dropped_stream_loses_and_doubles_nothing(
    cluster: KubeServer, namespace: Instance
) -> None:
    await cluster.put("jobs", job("train-a", active=1))
    await cluster.put("pods", pod("train-a-x1", of="train-a"))
    # Several lines of one second, and two of one stamp.
    said = [(at(f"10:00:11.{n:09d}"), f"line {n}") for n in (1, 2, 2, 3)]
    await cluster.write("train-a-x1", *said)
    async with watching(namespace) as (heard, _):
        await heard.until(lambda: cluster.following == 1)
        more = [(at("10:00:11.000000003"), "line 3 again"), (at("10:00:11.5"), "line 5")]
        await cluster.write("train-a-x1", *more)
        await heard.until(lambda: len(heard.lines("train-a")) == 6)
        assert cluster.drop_streams() == 1
        last = [(at("10:00:11.5"), "line 6, same stamp"), (at("10:00:12"), "line 7")]
        await cluster.write("train-a-x1", *last)
        await heard.until(lambda: len(heard.lines("train-a")) >= 8)
    assert heard.lines("train-a") == [text for _, text in (*said, *more, *last)]
    assert sum(isinstance(event, LogOpened) for event in heard.events) == 1
