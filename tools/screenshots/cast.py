"""Records a tour of the cockpit as an asciinema cast, version 2: scenes, keys and computed times.

The scenes are those of the pictures, so the bytes are the same on every machine. `asciinema play` plays it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC
from pathlib import Path

from rich.color import ColorSystem
from textual.pilot import Pilot

from gpu_tui.core.clock import ManualClock
from gpu_tui.places import make_private
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.terminal.cell_diff import Cells
from gpu_tui.ui.terminal.textual_private import whole_frame
from gpu_tui.ui.theme import CockpitTheme
from screenshots.builders import NOW, PROFILES
from screenshots.render import VIEWS
from screenshots.scenes import sweep

FILE = "demo.cast"
NAME = "demo"
SIZE = (100, 30)
RESTS = 3  # a layout that changed is painted one refresh later
TYPING = 0.35  # seconds between two keys of one step

# The title of a chapter, the keys that lead there, and for how many seconds it is shown.
TOUR: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("the whole sweep on one screen", (), 3.0),
    ("what needs you, with evidence and remedy", ("f",), 3.5),
    ("", ("j", "j"), 2.0),
    ("the log line behind a finding", ("escape", "e"), 2.0),
    ("", ("z",), 3.0),
    ("what runs out when", ("z", "2", "z"), 3.0),
    ("histories", ("z", "1", "c", "l"), 3.0),
    ("what survives each verb of this platform", ("escape", "p"), 3.0),
    ("colours", ("escape", "T", "j", "j", "j"), 2.0),
    ("", ("escape", "1"), 1.5),
)
LADDER = ("a teardown: nothing is stopped before its results are here, equal and loaded", 4.0)


def write_cast(out: Path, themes: Sequence[CockpitTheme]) -> Path:
    """Write the cast into `out`; the file written."""
    make_private(out)
    path = out / FILE
    path.write_text(asyncio.run(record(themes)), "utf-8")
    return path


async def record(themes: Sequence[CockpitTheme]) -> str:
    """The cast, version 2: a header, then [seconds, kind, data] a line."""
    app = CockpitApp(
        sweep(), ManualClock(NOW), control=None, teardown=None, profiles=PROFILES,
        themes=themes, theme="night", zone=UTC,
    )  # fmt: skip
    cast = _Cast()
    async with app.run_test(size=SIZE) as pilot:
        for chapter, keys, seconds in TOUR:
            if not keys:
                await cast.add_frame(pilot, app, chapter)
            for n, key in enumerate(keys):
                await pilot.press(key)
                await cast.add_frame(pilot, app, chapter if n == 0 else "")
                cast.at += TYPING
            cast.at += seconds
        await VIEWS["teardown"][1](pilot, app)
        await cast.add_frame(pilot, app, LADDER[0])
        cast.at += LADDER[1]
    cast.end()
    return cast.text()


class _Cast:
    """The frames, each as the difference from the one before."""

    def __init__(self) -> None:
        self._cells = Cells(*SIZE)
        self._lines: list[object] = []
        self.at = 0.5

    async def add_frame(self, pilot: Pilot[None], app: CockpitApp, chapter: str) -> None:
        """Add the screen as it is when nothing more is to be painted."""
        for _ in range(RESTS):
            await pilot.pause()
        frame = self._cells.lead_to(whole_frame(app), ColorSystem.TRUECOLOR)
        if chapter:
            self._add("m", chapter)
        if frame:
            self._add("o", frame if self._lines[1:] else f"\x1b[?25l\x1b[2J{frame}")

    def end(self) -> None:
        """Keep the last frame on screen until `at`."""
        self._add("o", "\x1b[0m")

    def text(self) -> str:
        """The content of the file."""
        width, height = SIZE
        head = {"version": 2, "width": width, "height": height, "title": "gpu-tui"}
        env = {"TERM": "xterm-256color"}
        lines = [{**head, "timestamp": int(NOW), "env": env}, *self._lines]
        return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines)

    def _add(self, kind: str, data: str) -> None:
        self._lines.append([round(self.at, 2), kind, data])
