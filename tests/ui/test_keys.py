"""One table of keys: bindings, footer, help and README say the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from rich.cells import cell_len

from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.first_run import FirstRun
from gpu_tui.ui.keys import (
    CONTEXTS,
    KEYS,
    Key,
    footer_keys,
    keys_markdown,
    keys_text,
    shown,
    unsafe_keys,
)
from gpu_tui.ui.layout import PANES
from gpu_tui.ui.panes.clocks import ClocksPane
from gpu_tui.ui.panes.instances import InstancesPane
from gpu_tui.ui.panes.log import LogPane
from gpu_tui.ui.panes.pane import FilterBar
from gpu_tui.ui.screens.acting import ActingCockpit
from gpu_tui.ui.screens.chart import ChartScreen
from gpu_tui.ui.screens.cockpit import Cockpit
from gpu_tui.ui.screens.columns import ColumnScreen
from gpu_tui.ui.screens.findings import ActingFindings, FindingsScreen
from gpu_tui.ui.screens.help import HelpScreen
from gpu_tui.ui.screens.profile import ProfileScreen
from gpu_tui.ui.screens.replay import ReplayCockpit
from gpu_tui.ui.screens.sweep import SweepScreen
from gpu_tui.ui.screens.teardown import TeardownScreen
from gpu_tui.ui.screens.themes import ThemeScreen
from gpu_tui.ui.screens.timeline import TimelineScreen
from gpu_tui.ui.text.help import footer, help_lines, placed_keys
from gpu_tui.ui.widgets.logview import LogView
from gpu_tui.ui.widgets.place_bar import PlaceBar
from gpu_tui.ui.widgets.rows import Rows

OWNERS = {
    "cockpit": ActingCockpit, "list": Rows, "instances": InstancesPane, "log": LogPane,
    "clocks": ClocksPane,
    "replay": ReplayCockpit, "chart": ChartScreen, "findings": ActingFindings, "queue": Rows, "sweep": SweepScreen,
    "overlay": FindingsScreen, "profile": ProfileScreen, "ladder": TeardownScreen, "verbs": Rows, "hits": Rows, "timeline": TimelineScreen, "first": FirstRun, "help": HelpScreen, "themes": ThemeScreen, "columns": ColumnScreen, "filter": FilterBar, "place": PlaceBar,
}  # fmt: skip


def test_no_key_belongs_to_tmux_or_needs_a_function_row() -> None:
    assert unsafe_keys() == []
    assert unsafe_keys([Key("ctrl+b,f5", "x", "x", "x")]) == ["cockpit.x: ctrl+b", "cockpit.x: f5"]


@pytest.mark.parametrize("context", CONTEXTS)
def test_no_key_means_two_things_in_one_context(context: str) -> None:
    used = Counter(key for row in KEYS if row.context == context for key in row.key.split(","))
    assert [key for key, times in used.items() if times > 1] == []


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.id)
def test_every_key_has_a_method_that_does_it(key: Key) -> None:
    owner = OWNERS[key.context]
    action = f"action_{key.action}"
    if key.context in ("findings", "sweep", "themes", "timeline") and key.action == "choose":
        owner = Rows
    assert callable(getattr(owner, action))


def test_the_manual_has_every_key_and_the_readme_those_of_the_footer() -> None:
    rows = keys_text().splitlines()
    for key in KEYS:
        (row,) = [
            row for row in rows if row.endswith(f"| {key.id} |") and f"| `{shown(key)}` |" in row
        ]
        assert key.help in row
    for key in footer_keys(("cockpit",), read_only=False):
        assert f"| `{shown(key)}` | {key.help}" in keys_markdown()


def test_help_shows_every_key_and_no_dangerous_one_when_read_only() -> None:
    text = "\n".join(line.plain for line in help_lines(100, read_only=False, replay=True))
    for width in (80, 140):
        first, second = help_lines(width, read_only=True, replay=True)[:2]
        assert first.plain.startswith("in a replay"), "what only a recording has leads there"
        assert "Pause the recording" in second.plain
    assert {key.action for key in KEYS if key.help not in text} == {"reconnect", "search"}
    live = "\n".join(line.plain for line in help_lines(100, read_only=False))
    assert all(key.help in live for key in KEYS if key.context != "replay")
    for width, share in ((140, 0.6), (196, 0.42)):  # side by side, and about evenly
        rows = [line.plain for line in help_lines(width, read_only=False, replay=True)]
        assert max(map(cell_len, rows)) <= width
        assert all(where in "\n".join(rows) for where in CONTEXTS.values())
        assert len(rows) <= share * len(text.splitlines())
    quiet = "\n".join(line.plain for line in help_lines(70, read_only=True))
    assert [key.help for key in KEYS if key.help in quiet and key.dangerous] == []


def test_the_footer_is_the_table_and_fits() -> None:
    keys = footer_keys(("log", "cockpit"), read_only=False)
    text = footer(placed_keys(keys, 60))
    assert text.cell_len <= 60
    assert text.plain.startswith(" space pause")
    assert not any(key.dangerous for key in footer_keys(("cockpit",), read_only=True))
    assert not any(key.asks for key in footer_keys(("log", "replay", "cockpit"), read_only=True))
    remapped = footer(placed_keys(keys, 60, {"log.pause": "x"}))
    assert remapped.plain.startswith(" x pause")


def test_a_read_only_cockpit_has_no_method_for_what_acts() -> None:
    assert not hasattr(Cockpit, "action_teardown")
    assert not hasattr(FindingsScreen, "action_acknowledge")
    assert hasattr(LogView, "action_cursor_up")


async def test_read_only_binds_nothing_dangerous_and_says_so(
    cockpit: Callable[..., CockpitApp], text_of: Callable[[CockpitApp], str]
) -> None:
    app = cockpit(read_only=True, badge="demo")
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("t")
        await pilot.pause()
        assert isinstance(app.screen, Cockpit)
        assert not isinstance(app.screen, ActingCockpit)
        bound = {binding.action for _, binding, *_ in app.screen.active_bindings.values()}
        assert "teardown" not in bound
        said = [note.message for note in app._notifications]
        assert said == ["read-only: nothing can be stopped from here"]
        assert " read-only " in text_of(app)
        assert " demo " in text_of(app)
        offered = [command.title for command in app.get_system_commands(app.screen)]
        assert "teardown" not in offered
        assert "findings" in offered


async def test_every_action_is_in_the_palette_and_runs(cockpit: Callable[..., CockpitApp]) -> None:
    app = cockpit()
    async with app.run_test(size=(100, 30)) as pilot:
        commands = {c.title: c.callback for c in app.get_system_commands(app.screen)}
        for key in KEYS:
            if key.context == "cockpit":
                assert key.label in commands
        assert all(f"{pane.title()}: " in " ".join(commands) for pane in ("queue", "log"))
        # An action of a pane is there from every pane, and brings its own in front.
        log = app.screen.query_one(LogPane)
        assert not log.view.wrap
        await commands["Log: wrap"]()
        await pilot.pause()
        assert log.view.wrap
        assert app.focused is log.view
        await commands["findings"]()
        await pilot.pause()
        assert isinstance(app.screen, ActingFindings)
        on_card = {c.title for c in app.get_system_commands(app.screen)}
        assert on_card == {"go there", "acknowledge", "its log line", "filter", "copy"}


async def test_keys_can_be_remapped(cockpit: Callable[..., CockpitApp]) -> None:
    app = cockpit(keymap={"cockpit.findings": "F"})
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("F")
        await pilot.pause()
        assert isinstance(app.screen, FindingsScreen)


@pytest.mark.parametrize("width", [24, 40, 60, 80, 120, 200])
def test_the_way_to_help_or_out_is_in_every_footer(width: int) -> None:
    for context in CONTEXTS:
        cards = ("cockpit",) if context in (*PANES, "replay", "list", "cockpit") else ("overlay",)
        keys = footer_keys((context, *cards) if context != cards[0] else cards, read_only=False)
        shown = footer(placed_keys(keys, width))
        assert shown.cell_len <= width
        if context not in ("first", "filter", "place"):  # places with a way out of their own
            assert any(word in shown.plain for word in ("? help", "esc close")), (context, shown)


async def test_findings_can_be_filtered(
    cockpit: Callable[..., CockpitApp], text_of: Callable[[CockpitApp], str]
) -> None:
    app = cockpit()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        await pilot.press("f")
        await pilot.pause()
        assert "inode full" in text_of(app)
        await pilot.press("slash", *"nan", "enter")
        await pilot.pause()
        rows = app.screen.query_one("#finding-rows", Rows)
        assert app.focused is rows
        assert len(rows.lines) == 1
        assert "nan" in rows.lines[0].plain
        await pilot.press("slash", *"nothing", "enter")
        await pilot.pause()
        assert "esc empties the filter" in text_of(app)
        await pilot.press("escape")
        await pilot.pause()
        assert "inode full" in text_of(app)
        assert isinstance(app.screen, FindingsScreen)
