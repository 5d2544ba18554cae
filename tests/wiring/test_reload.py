"""The fleet file is looked at again and again, wherever it lies."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from gpu_tui.core.clock import ManualClock
from gpu_tui.wiring import fleet


async def test_a_fleet_file_on_a_dead_mount_keeps_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    looked, alive, over = threading.Event(), threading.Event(), threading.Event()
    waited: list[bool] = []

    def stamp(path: Path) -> tuple[int, int]:
        if looked.is_set():  # the second look
            waited.append(alive.wait(20))
            over.set()
        looked.set()
        return 0, 0

    monkeypatch.setattr(fleet, "_stamp", stamp)
    monkeypatch.setattr(fleet, "RELOAD_SECONDS", 0.0)
    unused: Any = None
    looking = asyncio.create_task(
        fleet._reload(Path("fleet.yaml"), {}, unused, unused, ManualClock())
    )
    await asyncio.to_thread(looked.wait, 60)
    asyncio.get_running_loop().call_later(0.01, alive.set)
    await asyncio.to_thread(over.wait, 60)
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)
    assert waited[0]  # the loop turned meanwhile
