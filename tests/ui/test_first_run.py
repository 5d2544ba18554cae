"""The first start: names of hosts have the room that there is, and every word is in the person's language."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gpu_tui.core.speech import Catalogue, speak
from gpu_tui.language import speak_in
from gpu_tui.ui.first_run import Candidate, FirstRun, Seen
from gpu_tui.ui.theme_file import load_themes

LONG = "gpu-with-a-really-long-alias-name-for-box-17"


async def look(host: str, platform: str) -> Seen:
    await asyncio.Event().wait()  # a box that takes its time
    raise AssertionError


def first_run() -> FirstRun:
    hosts = [Candidate(LONG, "127.0.0.1", "autodl", "config", True)]
    themes = load_themes(Path(__file__).parents[2] / "themes")
    platforms = ["autodl", "generic-ssh"]
    return FirstRun(hosts, platforms, look, file="./fleet.yaml", themes=themes, theme="night")


def text_of(app: FirstRun) -> str:
    return "\n".join(
        "".join(segment.text for segment in row) for row in app.screen._compositor.render_strips()
    )


@pytest.mark.parametrize(("width", "whole"), [(120, True), (70, False)])
async def test_a_long_name_is_cut_only_where_there_is_no_room(width: int, whole: bool) -> None:
    app = first_run()
    async with app.run_test(size=(width, 24)) as pilot:
        await pilot.pause()
        assert (LONG in text_of(app)) is whole
        assert "‹autodl" in text_of(app)


@pytest.mark.parametrize("size", [(110, 24), (60, 20)])
async def test_the_first_screen_is_chinese_too(size: tuple[int, int]) -> None:
    speak_in("zh")
    try:
        app = first_run()
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            assert "正在查看" in text_of(app)
            assert "looking" not in text_of(app)
    finally:
        speak(Catalogue())
