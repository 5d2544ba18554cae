"""gpu-tui ends while an alert is on its way: it arrives, or the next gpu-tui takes it at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from newsroom import T0

from gpu_tui.alerts import courier as courier_module
from gpu_tui.alerts.courier import Courier
from gpu_tui.alerts.keeper import Keeper
from gpu_tui.alerts.ledger import Ledger
from gpu_tui.alerts.message import Message
from gpu_tui.core.clock import ManualClock

ITEM = {"kind": "nan", "severity": "fatal", "text": "loss is nan", "instance": "a"}


class Slow:
    """A way out whose far end answers when `go` is set."""

    name = "slow"

    def __init__(self) -> None:
        self.began, self.go = asyncio.Event(), asyncio.Event()

    def ready(self) -> None:
        pass

    async def send(self, message: Message) -> None:
        self.began.set()
        await self.go.wait()


async def leaving(path: Path, way: Slow) -> tuple[Ledger, asyncio.Task[float | None]]:
    ledger = Ledger(path / "l")
    ledger.put("slow", [ITEM], now=T0, due=T0)
    one = Courier(way, Keeper(ledger, print), ManualClock(T0), print)
    step = asyncio.create_task(one.step())
    await way.began.wait()
    step.cancel()
    return ledger, step


async def test_what_is_under_way_arrives(tmp_path: Path) -> None:
    way = Slow()
    ledger, step = await leaving(tmp_path, way)
    way.go.set()
    with pytest.raises(asyncio.CancelledError):
        await step
    assert ledger.waiting("slow") == 0
    ledger.close()


async def test_what_hangs_is_due_for_the_next_one_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(courier_module, "GRACE", 0.0)
    ledger, step = await leaving(tmp_path, Slow())
    with pytest.raises(asyncio.CancelledError):
        await step
    batch = ledger.take("slow", T0)
    assert batch is not None
    assert batch.items == (ITEM,)
    ledger.close()
