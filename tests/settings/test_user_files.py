"""Which files of the user are looked at, and what stands in the config."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from gpu_tui.parse.config_file import Alerts, parse_config
from gpu_tui.settings import (
    ConfigError,
    FleetError,
    UserConfig,
    find_fleet,
    load_config,
    state_dir,
)


def env(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_the_first_place_that_has_a_fleet_wins(tmp_path: Path) -> None:
    cwd = tmp_path / "work"
    cwd.mkdir()
    assert find_fleet(None, env(tmp_path), cwd) is None
    usual = touch(tmp_path / "config/gpu-tui/fleet.yaml")
    assert find_fleet(None, env(tmp_path), cwd) == usual
    here = touch(cwd / "fleet.yaml")
    assert find_fleet(None, env(tmp_path), cwd) == here
    by_env = touch(cwd / "other.yaml")
    assert find_fleet(None, env(tmp_path) | {"GPU_TUI_FLEET": "other.yaml"}, cwd) == by_env
    named = touch(tmp_path / "home/named.yaml")
    both = env(tmp_path) | {"GPU_TUI_FLEET": "other.yaml"}
    assert find_fleet("~/named.yaml", both, cwd) == named


@pytest.mark.parametrize(("explicit", "variable"), [("no.yaml", None), (None, "no.yaml")])
def test_a_named_file_must_be_there(
    tmp_path: Path, explicit: str | None, variable: str | None
) -> None:
    touch(tmp_path / "fleet.yaml")
    extra = {"GPU_TUI_FLEET": variable} if variable else {}
    with pytest.raises(FleetError) as caught:
        find_fleet(explicit, env(tmp_path) | extra, tmp_path)
    assert "no.yaml" in caught.value.text
    assert "init" in (caught.value.next or "")


def test_state_is_the_owners_only(tmp_path: Path) -> None:
    place = state_dir({"HOME": str(tmp_path)})
    assert place == tmp_path / ".local/state/gpu-tui"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    place.chmod(0o755)
    assert stat.S_IMODE(state_dir({"HOME": str(tmp_path)}).stat().st_mode) == 0o700


def test_a_relative_xdg_directory_counts_as_not_set(tmp_path: Path) -> None:
    place = state_dir({"HOME": str(tmp_path), "XDG_STATE_HOME": "relative"})
    assert place == tmp_path / ".local/state/gpu-tui"


def test_state_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FleetError) as caught:
        state_dir({"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "file")})
    assert "XDG_STATE_HOME" in (caught.value.next or "")


def test_the_config() -> None:
    text = (
        "theme: day\nkeys: {cockpit.findings: F, cockpit.zoom: 9}\n"
        'alerts: {bell: false, command: [notify-send, gpu-tui], quiet: "23:00-07:30"}\n'
    )
    assert parse_config(text, "c") == UserConfig(
        "day",
        {"cockpit.findings": "F", "cockpit.zoom": "9"},
        Alerts(False, True, ("notify-send", "gpu-tui"), (1380, 450)),
    )
    assert parse_config("", "c") == UserConfig()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("them: day\n", "unknown key"),
        ("alerts: {quiet: night}\n", "span of hours"),
        ("alerts: {command: notify-send}\n", "must be a list"),
        ("keys: [a]\n", "must be a mapping"),
        ("keys: {a: true}\n", "must be a text"),
    ],
)
def test_a_broken_config_is_told(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_config(text, "c")


def test_the_config_of_the_user(tmp_path: Path) -> None:
    assert load_config(env(tmp_path)) == UserConfig()
    usual = touch(tmp_path / "config/gpu-tui/config.yaml")
    usual.write_text("theme: day\n")
    assert load_config(env(tmp_path)).theme == "day"
    with pytest.raises(ConfigError):
        load_config(env(tmp_path) | {"GPU_TUI_CONFIG": "/no/such/file"})
