"""Nothing wrong is said only where everything was looked at; an empty screen says why it is empty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.text.help import help_lines
from screenshots.scene_edges import all_off, connecting
from screenshots.scenes import empty, healthy

Make = Callable[..., CockpitApp]
Read = Callable[[CockpitApp], str]


@pytest.mark.parametrize("key", ["f", "E"])
async def test_of_boxes_that_were_not_read_no_finding_is_no_good_news(
    key: str, cockpit: Make, text_of: Read
) -> None:
    app = cockpit(connecting())
    async with app.run_test(size=(100, 24)) as pilot:
        await pilot.press(key)
        await pilot.pause()
        assert "? no finding is known, but 4 of 4 boxes were not read so far" in text_of(app)
        assert "✓" not in text_of(app)


@pytest.mark.parametrize("key", ["f", "E"])
async def test_where_all_was_read_or_is_off_no_finding_is_said_to_be_fine(
    key: str, cockpit: Make, text_of: Read
) -> None:
    for store in (healthy(), all_off()):
        store.become(replace(store.fleet, findings=()))
        app = cockpit(store)
        async with app.run_test(size=(100, 24)) as pilot:
            await pilot.press(key)
            await pilot.pause()
            assert "✓ nothing to see: no findings" in text_of(app)


@pytest.mark.parametrize("key", ["2", "f", "E", "c"])
async def test_without_a_box_every_screen_says_what_to_do(
    key: str, cockpit: Make, text_of: Read
) -> None:
    app = cockpit(empty())
    async with app.run_test(size=(100, 24)) as pilot:
        await pilot.press(key, *("z" if key == "2" else ""))
        await pilot.pause()
        assert "gpu-tui init" in " ".join(text_of(app).split())
        assert "✓" not in text_of(app)
        assert "·  " not in text_of(app).splitlines()[0]


async def test_the_sweep_of_no_queue_is_a_whole_sentence(cockpit: Make, text_of: Read) -> None:
    app = cockpit(empty())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("S")
        await pilot.pause()
        assert "names one, and no run was found" in " ".join(text_of(app).split())


def test_the_help_says_what_each_sign_of_a_number_means() -> None:
    text = "\n".join(row.plain for row in help_lines(80, read_only=False))
    for sign in ("△97%", "▲97%", "~97%", "–  ", "?  ", "≥ ≤"):
        assert f"\n  {sign}" in text, sign
