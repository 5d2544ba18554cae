"""The gate judges beside the event loop, and whatever shuts it meanwhile does so before anybody goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from gate_world import World

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.evidence import IntentWritten, Inventory, ReadBack, Recheck, Tick, Typed
from gpu_tui.core.gate import State
from gpu_tui.teardown.judging import Judging
from gpu_tui.teardown.words import Kept, paint


class Slow:
    """A world whose gate has what it needs for its permit, and judges when it may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = World()
        self.world.arm()
        self.gate = gate = self.world.gate
        self.world.apply(Typed(gate.phrase, gate.digest))
        assert gate.state is State.RECHECKING
        self.look: Recheck = self.world.look()
        self.begun, self.may = threading.Event(), threading.Event()
        self.threads: list[threading.Thread] = []
        self.then = 0
        judge: Callable[..., State] = gate.apply

        def apply(event: Any, boot: float, wall: float) -> State:
            self.threads.append(threading.current_thread())
            if isinstance(event, Recheck):
                self.begun.set()
                assert self.may.wait(30)
            return judge(event, self.world.boot, self.world.wall)

        monkeypatch.setattr(gate, "apply", apply)
        self.judging = Judging(gate, ManualClock(), self._then)

    def _then(self) -> None:
        self.then += 1

    async def start(self) -> asyncio.Task[None]:
        """It judges now."""
        task = asyncio.create_task(self.judging.take(self.look))
        await asyncio.to_thread(self.begun.wait, 30)
        assert self.judging.busy
        return task


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    return Slow(monkeypatch)


async def test_evidence_is_judged_beside_the_loop(slow: Slow) -> None:
    task = await slow.start()
    slow.may.set()
    await task
    assert slow.gate.state is State.PERMITTED
    assert slow.gate.permit is not None
    assert slow.threads != [threading.main_thread()]
    assert slow.then == 1
    assert not slow.judging.busy


async def test_what_shuts_it_while_it_judges_is_first(slow: Slow) -> None:
    """The permit that it was about to give is nobody's."""
    task = await slow.start()
    shut = asyncio.create_task(slow.judging.shut("read-only was set"))
    later = asyncio.create_task(slow.judging.shut("cancelled"))
    await asyncio.sleep(0)
    assert not shut.done()
    slow.may.set()
    await task
    assert slow.gate.state is State.CLOSED
    assert slow.gate.permit is None
    assert slow.gate.because == "read-only was set"
    assert await shut
    assert not await later


async def test_who_is_cancelled_waits_until_it_has_judged_and_leaves_it_shut(slow: Slow) -> None:
    task = await slow.start()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    assert slow.judging.busy
    slow.may.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert slow.gate.state is State.CLOSED
    assert slow.gate.permit is None
    assert not slow.judging.busy


async def test_a_gate_that_fails_says_so(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> State:
        raise ZeroDivisionError

    monkeypatch.setattr(slow.gate, "apply", broken)
    with pytest.raises(ZeroDivisionError):
        await slow.judging.take(slow.look)
    assert not slow.judging.busy


def test_what_was_said_of_evidence_is_said_once_and_of_new_evidence_anew() -> None:
    world, kept = World(), Kept()
    world.climb()
    first = paint(world.gate, world.boot, kept=kept)
    assert first == paint(world.gate, world.boot)
    asked: list[object] = []
    inventory = world.gate.of(Inventory)
    for evidence in (inventory, inventory, None, inventory):
        kept.of(asked.append, evidence)
    assert asked == [inventory, None, inventory]
    world.gate.keep(World().inventory())
    assert paint(world.gate, world.boot, kept=kept) == paint(world.gate, world.boot)


def test_a_loop_that_ends_lets_nobody_open_what_it_shut(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(monkeypatch)
    keep, half, go_on = slow.gate.keep, threading.Event(), threading.Event()

    def half_way(event: Any) -> None:
        half.set()
        assert go_on.wait(30)
        keep(event)

    monkeypatch.setattr(slow.gate, "keep", half_way)

    async def leave() -> None:
        await slow.start()
        slow.may.set()
        await asyncio.to_thread(half.wait, 30)
        asyncio.get_running_loop().call_later(0.1, go_on.set)

    asyncio.run(leave())  # cancels every task that is left
    for thread in slow.threads[:1]:
        thread.join(0.5)
    assert slow.gate.state is State.CLOSED


async def test_nobody_s_dead_disk_keeps_a_gate_from_being_shut(slow: Slow) -> None:
    dead, loop = threading.Event(), asyncio.get_running_loop()
    stuck = [loop.run_in_executor(None, dead.wait, 30) for _ in range(64)]
    slow.may.set()
    try:
        await asyncio.wait_for(slow.judging.take(slow.look), 20)
        assert await slow.judging.shut("cancelled")
    finally:
        dead.set()
        await asyncio.gather(*stuck)


async def test_nothing_else_is_judged_while_it_judges(slow: Slow) -> None:
    """Two threads in one gate would each see a half of what the other did."""
    task = await slow.start()
    with pytest.raises(AssertionError):
        slow.judging.apply(Tick())
    with pytest.raises(AssertionError):
        await slow.judging.take(slow.look)
    slow.may.set()
    await task
    assert slow.gate.state is State.PERMITTED


async def test_what_it_was_shut_for_first_is_what_it_says(slow: Slow) -> None:
    task = await slow.start()
    shut = asyncio.create_task(slow.judging.shut("read-only was set"))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    slow.may.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await shut
    assert slow.gate.because == "read-only was set"


async def test_who_waits_for_it_to_be_shut_and_is_cancelled_leaves_it_judging(slow: Slow) -> None:
    task = await slow.start()
    shut = asyncio.create_task(slow.judging.shut("read-only was set"))
    await asyncio.sleep(0)
    shut.cancel()
    await asyncio.sleep(0)
    slow.may.set()
    await task
    assert slow.gate.because == "read-only was set"


async def test_a_call_that_left_is_not_shut(slow: Slow) -> None:
    slow.may.set()
    await slow.judging.take(slow.look)
    assert slow.gate.permit is not None
    slow.judging.apply(IntentWritten(slow.gate.permit.evidence))
    assert slow.gate.state is State.CALLED
    assert not await slow.judging.shut("read-only was set")
    slow.judging.apply(ReadBack("gone"))
    assert not await slow.judging.shut("read-only was set")
    assert (slow.gate.state, slow.gate.because) == (State.DONE, None)
