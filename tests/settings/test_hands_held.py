"""GPU_TUI_READONLY in the environment: nothing may be stopped from here, and nothing lifts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_tui.core.fleet import Fleet
from gpu_tui.settings import must_not_act
from gpu_tui.wiring.cockpit import run_cockpit
from gpu_tui.wiring.fleet import open_fleet


@pytest.mark.parametrize(
    ("value", "held"),
    [(None, False), ("", False), ("0", False), ("1", True), ("no", True), ("off", True)],
)
def test_only_nothing_and_0_leave_hands_free(value: str | None, held: bool) -> None:
    assert must_not_act({} if value is None else {"GPU_TUI_READONLY": value}) is held


async def test_the_environment_holds_every_teardown_and_the_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPU_TUI_READONLY", "1")
    async with open_fleet(Fleet(None, ()), read_only=False, state=tmp_path) as (room, _):
        assert room.runner.read_only
    monkeypatch.setenv("GPU_TUI_READONLY", "0")
    async with open_fleet(Fleet(None, ()), read_only=False, state=tmp_path) as (room, _):
        assert not room.runner.read_only


def test_the_screen_has_no_keys_that_act(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Opened(Exception):
        pass

    def app(*args: object, read_only: bool, **named: object) -> None:
        raise Opened(read_only)

    monkeypatch.setenv("GPU_TUI_READONLY", "1")
    monkeypatch.setattr("gpu_tui.ui.app.CockpitApp", app)
    monkeypatch.setattr("gpu_tui.wiring.cockpit.need_terminal", lambda next: None)
    with pytest.raises(Opened) as said:
        run_cockpit(Fleet(None, ()), read_only=False, state=tmp_path)
    assert said.value.args == (True,)
