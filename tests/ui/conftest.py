"""The cockpit over a filled store, without a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from settled import after_a_key, settled

from gpu_tui.core.clock import ManualClock
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.theme import CockpitTheme
from gpu_tui.ui.theme_file import load_themes
from screenshots.builders import NOW, PROFILES, SceneStore
from screenshots.scenes import sweep

GOLDEN = Path(__file__).parent / "golden"
THEMES = Path(__file__).parents[2] / "themes"


class Control:
    """Remembers what the screen asked of the collectors."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str | None]] = []

    def reconnect(self, instance: str) -> None:
        self.asked.append(("reconnect", instance, None))

    def follow_cell(self, instance: str, cell: str | None) -> None:
        self.asked.append(("follow", instance, cell))


@pytest.fixture(scope="session")
def themes() -> tuple[CockpitTheme, ...]:
    return load_themes(THEMES)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def control() -> Control:
    return Control()


@pytest.fixture
def cockpit(
    themes: tuple[CockpitTheme, ...], clock: ManualClock, control: Control
) -> Callable[..., CockpitApp]:
    def make(store: SceneStore | None = None, **options: Any) -> CockpitApp:
        given = {
            "control": control,
            "teardown": None,
            "profiles": PROFILES,
            "theme": "night",
            "themes": themes,
        }
        return CockpitApp(store or sweep(), clock, zone=UTC, **(given | options))

    return make


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compares with the golden text of that name; with GPU_TUI_GOLDEN=write in the environment it becomes it."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / f"{name}.txt"
        if os.environ.get("GPU_TUI_GOLDEN") == "write":
            path.write_text(f"{text}\n", "utf-8")
        assert f"{text}\n" == path.read_text("utf-8")

    return compare


@pytest.fixture
def text_of() -> Callable[[CockpitApp], str]:
    """What is on screen, as text without trailing blanks."""

    def read(app: CockpitApp) -> str:
        strips = app.screen._compositor.render_strips()
        return "\n".join("".join(part.text for part in strip).rstrip() for strip in strips)

    return read


@pytest.fixture(autouse=True)
def _waits_for_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pilot goes on when the app has settled, however busy the machine is."""
    monkeypatch.setattr("textual.pilot.wait_for_idle", settled)
    monkeypatch.setattr("textual.app.wait_for_idle", after_a_key)
