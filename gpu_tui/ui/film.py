"""A tour of the cockpit as an asciinema cast: scenes, keys and a clock that is only written down.

The same scenes as the pictures, so that the same program writes the same bytes on every machine. Played by
`asciinema play`, or by its player on a web page.
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
from gpu_tui.ui.output import Cells
from gpu_tui.ui.scene_parts import NOW, PROFILES
from gpu_tui.ui.scenes import sweep
from gpu_tui.ui.shots import VIEWS
from gpu_tui.ui.theme import CockpitTheme

FILE = "demo.cast"
NAME = "demo"
SIZE = (100, 30)
RESTS = 3  # a layout that changed is painted one refresh later
TYPING = 0.35  # seconds between two keys of one step

# What is said as a chapter of the film, the keys that lead there, and how long it stands.
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


def write_film(out: Path, themes: Sequence[CockpitTheme]) -> Path:
    """Write the cast into `out`; the file written."""
    make_private(out)
    path = out / FILE
    path.write_text(asyncio.run(film(themes)), "utf-8")
    return path


async def film(themes: Sequence[CockpitTheme]) -> str:
    """The cast, version 2: a header, then [seconds, kind, data] a line."""
    app = CockpitApp(
        sweep(), ManualClock(NOW), control=None, teardown=None, profiles=PROFILES,
        themes=themes, theme="night", zone=UTC,
    )  # fmt: skip
    reel = _Reel()
    async with app.run_test(size=SIZE) as pilot:
        for chapter, keys, stands in TOUR:
            if not keys:
                await reel.shoot(pilot, app, chapter)
            for n, key in enumerate(keys):
                await pilot.press(key)
                await reel.shoot(pilot, app, chapter if n == 0 else "")
                reel.at += TYPING
            reel.at += stands
        await VIEWS["teardown"][1](pilot, app)
        await reel.shoot(pilot, app, LADDER[0])
        reel.at += LADDER[1]
    reel.end()
    return reel.text()


class _Reel:
    """Collects frames; each is what changed since the one before."""

    def __init__(self) -> None:
        self._cells = Cells(*SIZE)
        self._lines: list[object] = []
        self.at = 0.5

    async def shoot(self, pilot: Pilot[None], app: CockpitApp, chapter: str) -> None:
        """What the screen shows now, when it has come to rest."""
        for _ in range(RESTS):
            await pilot.pause()
        frame = self._cells.lead_to(
            app.screen._compositor.render_full_update(), ColorSystem.TRUECOLOR
        )
        if chapter:
            self._add("m", chapter)
        if frame:
            self._add("o", frame if self._lines[1:] else f"\x1b[?25l\x1b[2J{frame}")

    def end(self) -> None:
        """The last frame stands until here."""
        self._add("o", "\x1b[0m")

    def text(self) -> str:
        """The file."""
        width, height = SIZE
        head = {"version": 2, "width": width, "height": height, "title": "gpu-tui"}
        env = {"TERM": "xterm-256color"}
        lines = [{**head, "timestamp": int(NOW), "env": env}, *self._lines]
        return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines)

    def _add(self, kind: str, data: str) -> None:
        self._lines.append([round(self.at, 2), kind, data])
