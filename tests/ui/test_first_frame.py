"""The first frame of the cockpit is a whole one: all panes, with all that is known before a box has answered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpu_tui.core.fleet import Fleet, Instance, SshAccess
from gpu_tui.resources import load_profiles
from gpu_tui.state.store import Store
from gpu_tui.ui.app import CockpitApp


async def test_the_first_frame_fills_every_pane(
    cockpit: Callable[..., CockpitApp], monkeypatch: pytest.MonkeyPatch
) -> None:
    frames: list[str] = []

    def display(app: CockpitApp, screen: object, update: object) -> None:
        if update is not None and app.screen_stack:
            strips = app.screen._compositor.render_strips()
            frames.append("\n".join(strip.text for strip in strips))

    monkeypatch.setattr(CockpitApp, "_display", display)
    fleet = Fleet("night run", (Instance("near", SshAccess("near")),))
    app = cockpit(Store(fleet, load_profiles()))
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.pause()
    first = frames[0]
    assert "night run" in first
    assert "1 connecting" in first
    for title in ("1 Instances", "2 Danger clocks", "3 Vitals", "4 Queue", "5 Log"):
        assert title in first
    for content in ("per h", "no clock is known", "not read yet", "what runs here was not read", "its logs come", "q quit"):  # fmt: skip
        assert content in first, content
