"""What a key must not wait for."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest

from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.quiet import DUE, QUIET, Quiet


async def test_a_letter_of_a_filter_arranges_nothing_anew(
    cockpit: Callable[..., CockpitApp],
) -> None:
    app = cockpit()
    async with app.run_test(size=(140, 40)) as pilot:
        await pilot.press("slash", "z", "z")  # nothing fits any more
        await pilot.pause()
        arranged: list[object] = []
        app.screen.screen_layout_refresh_signal.subscribe(app, arranged.append, immediate=True)
        await pilot.press(*"long words that scroll past the edge " * 5)
        await pilot.pause()
        assert arranged == []
        assert app.focused is not None
        assert app.focused.scroll_x > 0  # and yet its end stays in sight


@pytest.fixture
def looked() -> Iterator[list[int]]:
    """A list that grows with each look of the collector at everything."""
    looks: list[int] = []

    def told(phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == 2:
            looks.append(info["generation"])

    usual = gc.get_threshold()
    gc.set_threshold(0)
    gc.callbacks.append(told)
    try:
        gc.collect()
        looks.clear()
        yield looks
    finally:
        gc.callbacks.remove(told)
        gc.set_threshold(*usual)


def test_garbage_is_looked_for_when_it_is_due_and_nobody_types(looked: list[int]) -> None:
    now = 100.0
    quiet = Quiet(lambda: now)
    now += QUIET * 2
    quiet.look()
    assert looked == []  # nothing is due
    for _ in range(DUE):
        gc.collect(1)
    quiet.typed()
    quiet.look()
    assert looked == []  # somebody types
    now += QUIET * 2
    quiet.look()
    quiet.look()
    assert looked == [2]  # once
