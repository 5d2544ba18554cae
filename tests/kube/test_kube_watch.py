"""The watcher with the real kubectl: jobs on a beat, logs without a line lost or doubled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from kube_objects import at, ended, job, pod
from kube_server import KubeServer

from gpu_tui.collect.kubernetes import ClusterWatch
from gpu_tui.core.events import Event, LogArrived, LogFailed, LogOpened, Sampled
from gpu_tui.core.fleet import Instance
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.metrics import KUBERNETES
from gpu_tui.core.sample import Failure, Reading
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
    def newest_failure(self) -> Failure | None:
        """Why there is no table now."""
        for event in reversed(self.events):
            if isinstance(event, Sampled) and event.metric == KUBERNETES.name:
                return event.sample if isinstance(event.sample, Failure) else None
        return None

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
    instance: Instance, period: float = 0.2, mute: float = 60.0
) -> AsyncIterator[tuple[Heard, ClusterWatch]]:
    heard = Heard()
    watch = ClusterWatch(instance, heard, SystemClock(), period, mute)
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


async def test_a_restart_is_read_to_its_end_and_the_next_attempt_from_its_beginning(
    cluster: KubeServer, namespace: Instance
) -> None:
    await cluster.put("pods", pod("p"))
    await cluster.write("p", (at("10:00:11"), "first attempt"))
    async with watching(namespace) as (heard, _):
        await heard.until(lambda: cluster.following == 1)
        cluster.drop_streams()  # so that its last words are only to be had by --previous
        await cluster.write("p", (at("10:20:00"), "RuntimeError: CUDA out of memory."))
        await cluster.restart("p")
        await cluster.put("pods", pod("p", restarts=1, last=ended(1)))
        await cluster.write("p", (at("10:20:30"), "second attempt"))
        await heard.until(lambda: "second attempt" in heard.lines("p"))
    assert heard.lines("p") == [
        "first attempt",
        "RuntimeError: CUDA out of memory.",
        "─── restart 1: the attempt before ended with exit 1 ───",
        "second attempt",
    ]
    opened = [event for event in heard.events if isinstance(event, LogOpened)]
    assert [event.resumed for event in opened] == [False, False]
    assert opened[0].inode != opened[1].inode


async def test_a_restart_before_we_came_is_history(
    cluster: KubeServer, namespace: Instance
) -> None:
    await cluster.put("pods", pod("p", restarts=1, last=ended(1)))
    await cluster.write("p", (at("10:00:11"), "ValueError: first attempt"))
    await cluster.restart("p")
    await cluster.write("p", (at("10:20:30"), "second attempt"))
    async with watching(namespace) as (heard, _):
        await heard.until(lambda: len(heard.lines("p")) == 3)
    assert heard.lines("p", backfill=True) == [
        "ValueError: first attempt",
        "─── restart 1: the attempt before ended with exit 1 ───",
        "second attempt",
    ]


async def test_the_next_pod_of_a_job_takes_over_its_row(
    cluster: KubeServer, namespace: Instance
) -> None:
    await cluster.put("jobs", job("a", active=1))
    await cluster.put("pods", pod("a-1", of="a"))
    await cluster.write("a-1", (at("10:00:11"), "one"))
    async with watching(namespace) as (heard, _):
        await heard.until(lambda: cluster.following == 1)
        await cluster.write("a-1", (at("10:00:12"), "two"), end=True)
        await cluster.put("pods", pod("a-1", of="a", phase="Failed", state=ended(1)))
        await cluster.put("pods", pod("a-2", of="a", created="10:10:00"))
        await cluster.write("a-2", (at("10:10:10"), "three"))
        await heard.until(lambda: "three" in heard.lines("a"))
    mark = "─── next pod a-2: a-1 ended with exit 1 ───"
    assert heard.lines("a") == ["one", "two", mark, "three"]


async def test_what_has_ended_is_read_once_and_what_is_gone_is_said(
    cluster: KubeServer, namespace: Instance
) -> None:
    await cluster.put("pods", pod("done", phase="Succeeded", state=ended(0)))
    await cluster.write("done", (at("10:00:11"), "the end"), end=True)
    await cluster.put("pods", pod("lost"))
    await cluster.write("lost", (at("10:00:11"), "begun"))
    async with watching(namespace) as (heard, _):
        await heard.until(lambda: bool(heard.lines("done") and heard.lines("lost")))
        cluster.remove("pods", "lost")
        cluster.remove("pods", "done")
        cluster.drop_streams()
        await heard.until(lambda: any(isinstance(event, LogFailed) for event in heard.events))
    failed = [event for event in heard.events if isinstance(event, LogFailed)]
    assert {event.source.cell for event in failed} == {"lost"}
    assert "deleted" in failed[-1].why or "no such thing" in failed[-1].why
    asked = [r for r in cluster.requests if r.path.endswith("/pods/done/log")]
    assert len(asked) == 1


async def test_a_log_that_is_forbidden_is_said_and_the_table_stays(
    cluster: KubeServer, namespace: Instance
) -> None:
    cluster.forbidden.add(("GET", "pods/log"))
    await cluster.put("pods", pod("p"))
    await cluster.write("p", (at("10:00:11"), "secret"))
    async with watching(namespace) as (heard, _):
        await heard.until(
            lambda: (
                any(isinstance(event, LogFailed) for event in heard.events)
                and heard.table is not None
            )
        )
        assert heard.lines("p") == []
        cluster.forbidden.clear()
        await heard.until(lambda: heard.lines("p") == ["secret"])
    told = [event for event in heard.events if isinstance(event, LogFailed | LogOpened)]
    (why, *_) = [event.why for event in told if isinstance(event, LogFailed)]
    assert why.startswith("the cluster does not let this user read that")
    # The event reports that the log is read again, even if no line comes.
    assert isinstance(told[-1], LogOpened)
    assert told[-1].resumed


async def test_what_may_be_read_is_shown_and_what_may_not_is_said(
    cluster: KubeServer, namespace: Instance
) -> None:
    await cluster.put("jobs", job("a", active=1))
    cluster.forbidden.add(("GET", "pods"))
    async with watching(namespace) as (heard, _):
        await heard.until(lambda: heard.table is not None)
        assert heard.table is not None
        assert [row.name for row in heard.table.jobs] == ["a"]
        assert not heard.table.complete
        assert heard.table.why is not None


async def test_many_pages_and_a_selector(cluster: KubeServer, namespace: Instance) -> None:
    cluster.page = 3
    for n in range(8):
        mine = {"sweep": "one"} if n < 7 else {"sweep": "two"}
        await cluster.put("pods", pod(f"p{n}", phase="Succeeded", meta={"labels": mine}))
    scope = replace(namespace.scheduler_scope, selector="sweep=one")
    async with watching(replace(namespace, scheduler_scope=scope)) as (heard, _):
        await heard.until(lambda: heard.table is not None)
        assert heard.table is not None
        assert len(heard.table.jobs) == 7
