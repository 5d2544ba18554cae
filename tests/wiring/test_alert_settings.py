"""A cockpit that was opened before alerts were configured reads the settings later, as it does the fleet file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from receiver import receiver

from gpu_tui.core.events import Noted
from gpu_tui.core.fleet import Fleet
from gpu_tui.parse.config_file import Alerts
from gpu_tui.state.store import Store
from gpu_tui.state.views import FleetView
from gpu_tui.wiring import alerts as wiring
from gpu_tui.wiring.clock import SystemClock
from gpu_tui.wiring.fleet import Tap


async def test_later_settings_are_used_and_a_broken_edit_keeps_the_last_good_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.yaml"
    monkeypatch.setenv("GPU_TUI_CONFIG", str(config))
    monkeypatch.setattr(wiring, "SETTINGS_EVERY", 0.01)
    config.write_text("{}")
    store, clock = Store(Fleet("s", ()), {}), SystemClock()
    tap = Tap(store)

    async def seen(condition: Callable[[FleetView], bool]) -> FleetView:
        async with asyncio.timeout(60):
            while not condition(view := store.view(clock.now())):
                await tap.next(0.1)
        return view

    def settings(**webhook: str) -> None:
        new = tmp_path / "new"
        new.write_text(json.dumps({"alerts": {"webhook": webhook, "severity": "serious"}}))
        new.rename(config)

    def bad(view: FleetView) -> bool:
        return any(one.kind == "alert_channel" for one in view.findings)

    with receiver() as made:
        async with asyncio.TaskGroup() as tasks:
            room: Any = SimpleNamespace(clock=clock, store=store, tasks=tasks)
            async with wiring.open_desk(room, tap, Alerts(), state=tmp_path):
                settings(url_env="NO_SUCH_VARIABLE")
                await seen(bad)
                settings(url=made.url)
                await seen(lambda view: not bad(view))
                config.write_text("alerts: {quiet: never}\n")
                view = await seen(lambda view: "last good alert" in view.notes[-1])
                tap(Noted(None, clock.now(), "x"))
                assert sum("last good alert" in note for note in view.notes) == 1
                assert not bad(view)
