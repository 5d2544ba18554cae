"""The question that a login puts to a person: looks, keys, and a hostile box's words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.widgets import Input

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.prompts import Prompt, Prompts
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.screens.cockpit import Cockpit
from gpu_tui.ui.screens.prompt import SETTLE, PromptScreen

Make = Callable[..., CockpitApp]
Read = Callable[[CockpitApp], str]

TWO = Prompts(
    "autodl-1",
    "root@10.0.0.1",
    "what the server asks",
    (Prompt("Password:"), Prompt("Verification code:", echo=True)),
    note="Login of the lab. Look at your phone.",
)


async def question(
    app: CockpitApp, pilot: Pilot[None], prompts: Prompts = TWO
) -> asyncio.Task[object]:
    """Ask, and return once the modal stands."""
    asking = asyncio.create_task(app.prompter.ask(prompts))
    while not isinstance(app.screen, PromptScreen) or not app.screen.query(Input):
        await pilot.pause()
    return asking


async def test_the_modal_is_the_golden_one_at_80x24(
    cockpit: Make, text_of: Read, clock: ManualClock, golden: Callable[[str, str], None]
) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        asking = await question(app, pilot)
        clock.advance(SETTLE)
        await pilot.press(*"geheim", "enter", *"123")
        await pilot.pause()
        shown = text_of(app)
        golden("prompt", shown)
        assert "geheim" not in shown
        await pilot.press("enter")
        assert await asking == ("geheim", "123")
        assert isinstance(app.screen, Cockpit)


async def test_a_secret_is_never_on_the_clipboard(cockpit: Make, clock: ManualClock) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        asking = await question(app, pilot)
        clock.advance(SETTLE)
        await pilot.press(*"geheim", "shift+home", "ctrl+c", "super+c", "ctrl+x")
        assert app.clipboard == ""
        await pilot.press(*"neu", "enter", *"123", "shift+home", "ctrl+c")
        assert app.clipboard == "123"  # what may be seen may be copied
        await pilot.press("enter")
        assert await asking == ("neu", "123")


async def test_escape_and_the_button_cancel(cockpit: Make, clock: ManualClock) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        for keys in (("q", "escape"), ("tab", "tab", "tab", "enter")):
            asking = await question(app, pilot)
            clock.advance(SETTLE)
            await pilot.press(*keys)
            assert await asking is None


async def test_keys_that_were_meant_for_elsewhere_answer_nothing(
    cockpit: Make, clock: ManualClock
) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        asking = await question(app, pilot)
        await pilot.press("j", "t", "enter", "enter")
        assert isinstance(app.screen, PromptScreen)
        clock.advance(SETTLE)
        await pilot.press("a", "enter", "b", "enter")
        assert await asking == ("a", "b")


async def test_a_question_nobody_waits_for_goes_away(cockpit: Make) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        asking = await question(app, pilot)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await pilot.pause()
        await pilot.pause()
        assert isinstance(app.screen, Cockpit)


async def test_a_hostile_prompt_is_only_text(
    cockpit: Make, text_of: Read, clock: ManualClock
) -> None:
    app = cockpit()
    nasty = "[@click=app.quit]x[/] [/nope] \x1b]0;t\x07\u202eword \ud800" + "y" * 300
    prompts = Prompts("box", nasty, nasty, tuple(Prompt(nasty) for _ in range(8)), nasty, nasty)
    async with app.run_test(size=(80, 24)) as pilot:
        asking = await question(app, pilot, prompts)
        await pilot.pause()
        shown = text_of(app)
        assert "[@click=app.quit]x[/]" in shown
        assert not set(shown) & set("\x1b\x07\u202e")
        await pilot.click("#said")
        assert app.is_running
        await pilot.press("escape")
        assert await asking is None


async def test_a_list_to_choose_from_is_read_whole(cockpit: Make, text_of: Read) -> None:
    app = cockpit()
    text = (
        "Choose one of the following options, " + "please " * 12 + "now:\n1. Push to +XX\n2. Call"
    )
    async with app.run_test(size=(80, 24)) as pilot:
        asking = await question(app, pilot, Prompts("box", "me@h", "x", (Prompt(text, echo=True),)))
        await pilot.pause()
        shown = text_of(app).splitlines()
        for words in ("1. Push to +XX", "2. Call", "now:"):
            assert any(row.strip().endswith(words) for row in shown)
        await pilot.press("escape")
        assert await asking is None


async def test_no_size_crashes(cockpit: Make) -> None:
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        asking = await question(app, pilot)
        for size in ((300, 5), (7, 2), (20, 60), (1, 1), (80, 24)):
            await pilot.resize_terminal(*size)
        await pilot.press("escape")
        assert await asking is None


async def test_a_login_that_is_over_takes_its_question_away_from_under_the_palette(
    cockpit: Make,
) -> None:
    """The palette went in its place; then the question was dismissed twice, which ended the program."""
    app = cockpit()
    async with app.run_test(size=(80, 24)) as pilot:
        asking = await question(app, pilot)
        await pilot.press("ctrl+p")
        await pilot.pause()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await pilot.pause()
        assert isinstance(app.screen, CommandPalette)
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, Cockpit)
