"""The first start: names of hosts have the room that there is, and every word is in the person's language."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gpu_tui.cli.main import parser_of
from gpu_tui.cli.watch import EXAMPLE
from gpu_tui.core.speech import Catalogue, speak
from gpu_tui.language import speak_in
from gpu_tui.settings import fleet_of_hosts
from gpu_tui.ui.first_run import WATCH, Candidate, FirstRun, Look, Seen
from gpu_tui.ui.theme_file import load_themes

THEMES = load_themes(Path(__file__).parents[2] / "themes")
LONG = "gpu-with-a-really-long-alias-name-for-box-17"


async def look(host: str, platform: str) -> Seen:
    await asyncio.Event().wait()  # a box that takes its time
    raise AssertionError


def first_run(look: Look = look) -> FirstRun:
    hosts = [Candidate(LONG, "127.0.0.1", "autodl", "config", True)]
    platforms = ["autodl", "generic-ssh"]
    return FirstRun(hosts, platforms, look, file="./fleet.yaml", themes=THEMES, theme="night")


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


async def test_nothing_is_cut_in_a_terminal_that_became_narrower() -> None:
    app = first_run()
    async with app.run_test(size=(160, 24)) as pilot:
        await pilot.pause()
        assert text_of(app).count("…") == 1  # looking …
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        await pilot.pause()
        assert "unless you press w" in " ".join(text_of(app).split())


async def test_what_failed_says_how_to_look_again() -> None:
    level = "level-serious"

    async def answers(host: str, platform: str) -> Seen:
        return Seen(level, "host-key", "The host key is unknown.")

    app = first_run(answers)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "r looks again" in text_of(app)
        level = "level-ok"
        await pilot.press("r")
        await pilot.pause()
        assert "The host key" in text_of(app)
        assert "r looks again" not in text_of(app)


async def test_the_command_that_an_empty_list_names_is_taken() -> None:
    app = FirstRun([], [], look, file="./fleet.yaml", themes=THEMES, theme="night")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert WATCH in text_of(app)
    for command in (WATCH, EXAMPLE):
        args = parser_of("watch").parse_args(command.split()[2:])
        assert fleet_of_hosts(args.hosts, args.platform).instances[-1].ssh.port == 2222


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


async def test_the_platform_that_a_box_shows_is_taken_until_a_person_names_another() -> None:
    async def shows(host: str, platform: str) -> Seen:
        return Seen("level-ok", "answers", "It looks like autodl.", "autodl")

    hosts = [Candidate("box", "127.0.0.1", "generic-ssh", "config", True)]
    platforms = ["autodl", "generic-ssh"]
    app = FirstRun(hosts, platforms, shows, file="./fleet.yaml", themes=THEMES, theme="night")
    async with app.run_test(size=(100, 24)) as pilot:
        await pilot.pause()
        assert "‹autodl" in text_of(app)
        await pilot.press("right", "r")
        await pilot.pause()
        assert "‹generic-ssh" in text_of(app)


@pytest.mark.parametrize("hosts", [True, False])
async def test_the_help_says_what_the_keys_of_this_place_do(hosts: bool) -> None:
    app = first_run() if hosts else FirstRun([], [], look, file="f", themes=THEMES, theme="night")
    async with app.run_test(size=(90, 30)) as pilot:
        await pilot.pause()
        assert "? help" in text_of(app).splitlines()[-1]
        await pilot.press("question_mark")
        await pilot.pause()
        shown = text_of(app)
        assert "Write a fleet file of what is ticked, then watch it" in shown
        assert "Nothing" not in shown  # of the screen below it
        assert "Give the whole screen to this pane" not in shown  # of the cockpit
        await pilot.press("slash", *"demo")
        await pilot.pause()
        assert "Simulated boxes instead" in text_of(app)
        assert "Write a fleet file" not in text_of(app)
        await pilot.press("escape", "escape")
        await pilot.pause()
        assert "Welcome." in text_of(app)
