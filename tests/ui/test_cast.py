"""The recording of the README: the same bytes each time, small, and a terminal that plays it shows the cockpit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pyte
import pytest

import gpu_tui
from gpu_tui.resources import themes_dir
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.theme_file import load_themes
from screenshots.cast import FILE, LADDER, SIZE, TOUR, record
from screenshots.render import VIEWS
from screenshots.scenes import sweep

MOST = 400_000  # bytes
KEPT = Path(gpu_tui.__file__).parents[1] / "screenshots" / FILE


def frames(text: str) -> Iterator[tuple[float, str, list[str]]]:
    """Time, kind and the whole screen after each event."""
    head, *events = [json.loads(line) for line in text.splitlines()]
    assert (head["version"], head["width"], head["height"]) == (2, *SIZE)
    screen = pyte.Screen(*SIZE)
    stream = pyte.Stream(screen)
    before = 0.0
    for at, kind, data in events:
        assert at >= before
        before = at
        if kind == "o":
            stream.feed(data)
        yield at, data if kind == "m" else "", list(screen.display)


async def test_the_recording_ends_on_the_ladder_and_is_the_same_each_time(
    cockpit: Callable[..., CockpitApp], text_of: Callable[[CockpitApp], str]
) -> None:
    themes = load_themes(themes_dir())
    text = await record(themes)
    assert len(text.encode()) <= MOST
    assert await record(themes) == text
    shown = list(frames(text))
    said = [chapter for _, chapter, _ in shown if chapter]
    assert said == [*(chapter for chapter, _, _ in TOUR if chapter), LADDER[0]]
    app = cockpit(sweep())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await VIEWS["teardown"][1](pilot, app)
        await pilot.pause()
        wanted = [line.rstrip() for line in text_of(app).splitlines()]
    last = [line.rstrip() for line in shown[-1][2]]
    while last and not last[-1]:
        last.pop()
    assert last == wanted[: len(last)]
    assert any("type autodl-1" in line for line in last)


def test_the_recording_in_the_repository_plays() -> None:
    if not KEPT.exists():
        pytest.skip("this is no checkout")
    text = KEPT.read_text("utf-8")
    assert len(text.encode()) <= MOST
    shown = list(frames(text))
    assert "Instances" in "\n".join(shown[1][2])
    assert "Teardown" in shown[-1][2][0]
    assert 20 < shown[-1][0] < 90
