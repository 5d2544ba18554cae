"""Which theme, layout and signs a person gets: asked for, else chosen on screen, else set, else the default."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_tui.parse.config_file import UserConfig
from gpu_tui.ui.depth import Depth
from gpu_tui.ui.theme import ThemeError
from gpu_tui.wiring.looks import looks_of


def env_of(tmp_path: Path, **more: str) -> dict[str, str]:
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    return {**home, "XDG_STATE_HOME": str(tmp_path / "state"), "TERM": "xterm-256color", **more}


def test_asked_then_chosen_then_set(tmp_path: Path) -> None:
    env, config = env_of(tmp_path), UserConfig(theme="day")
    assert looks_of(UserConfig(), env)["theme"] == "night"
    assert looks_of(config, env)["theme"] == "day"
    looks_of(config, env)["habits"].keep("theme", "amber")
    assert looks_of(config, env)["theme"] == "amber"
    assert looks_of(config, env, theme="contrast")["theme"] == "contrast"
    # Another theme in the file is the newer wish.
    assert looks_of(UserConfig(theme="blue-orange"), env)["theme"] == "blue-orange"


def test_a_layout_asked_then_chosen_then_set(tmp_path: Path) -> None:
    env, config = env_of(tmp_path), UserConfig(layout="log-first")
    assert looks_of(UserConfig(), env)["preset"] is None
    looks_of(UserConfig(), env)["habits"].keep("layout", "vitals-first")
    assert looks_of(UserConfig(), env)["preset"] == "vitals-first"
    assert looks_of(config, env)["preset"] == "log-first"  # the file is the newer wish
    looks_of(config, env)["habits"].keep("layout", "queue-first")
    assert looks_of(config, env)["preset"] == "queue-first"
    assert looks_of(config, env, layout="balanced")["preset"] == "balanced"


def test_a_theme_of_the_users_own_is_found_and_a_missing_one_named(tmp_path: Path) -> None:
    own = tmp_path / "config" / "gpu-tui" / "themes"
    own.mkdir(parents=True)
    (own / "mine.yaml").write_text("extends: day\n", "utf-8")
    assert looks_of(UserConfig(theme="mine"), env_of(tmp_path))["theme"] == "mine"
    with pytest.raises(ThemeError, match=r"config\.yaml asks for the theme 'mien'") as told:
        looks_of(UserConfig(theme="mien"), env_of(tmp_path))
    assert "Did you mean mine?" in str(told.value.next)
    (own / "mine.yaml").write_text("extends: day\nmeanings: {text: nocolour}\n", "utf-8")
    with pytest.raises(ThemeError, match=r"mine\.yaml:2: "):
        looks_of(UserConfig(), env_of(tmp_path))


def test_the_terminal_decides_colours_and_signs(tmp_path: Path) -> None:
    night = {theme.name: theme for theme in looks_of(UserConfig(), env_of(tmp_path))["themes"]}
    few = looks_of(UserConfig(), env_of(tmp_path, TERM="linux", LANG="C.UTF-8"))
    worn = {theme.name: theme for theme in few["themes"]}
    assert worn["night"].styles["danger"] != night["night"].styles["danger"]
    assert worn["night"].styles["danger"] == worn["night"].at(Depth.FEW).styles["danger"]
    assert len(few["filters"]) == 1
    assert len(looks_of(UserConfig(), env_of(tmp_path, NO_COLOR="1", LANG="C"))["filters"]) == 2
