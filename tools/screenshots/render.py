"""Renders scenes of the cockpit without a terminal, as SVG and, where rsvg-convert is installed, as PNG."""

from __future__ import annotations

import asyncio
import html
import multiprocessing
import os
import re
import shutil
import subprocess
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC
from functools import partial
from pathlib import Path

from rich.cells import cell_len
from textual.pilot import Pilot

from gpu_tui.core.clock import ManualClock
from gpu_tui.places import make_private
from gpu_tui.report.svg import TEXT, plain_svg
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.screens.teardown import TeardownScreen
from gpu_tui.ui.theme import CockpitTheme
from gpu_tui.ui.theme_file import load_themes
from screenshots.builders import NOW, PROFILES, SceneStore
from screenshots.fake_teardown import ScriptedLadder
from screenshots.scene_ablation import ablation
from screenshots.scenes import SCENES, ladder_ready, sweep

Steps = Callable[[Pilot[None], CockpitApp], Awaitable[None]]
CONVERT_SECONDS = 60
FEW = 8  # pictures that one process draws as fast as several
STRETCH = 16  # characters in one piece of a picture: over more of them a font drifts off the grid
# Signs that come from another font, whose cells are not as wide: each stands at its own place.
FOREIGN = r"\u2800-\u28ff\u2e80-\uffef"


async def _nothing(pilot: Pilot[None], app: CockpitApp) -> None:
    """The scene as it opens."""


def _press(*keys: str) -> Steps:
    async def steps(pilot: Pilot[None], app: CockpitApp) -> None:
        await pilot.press(*keys)

    return steps


async def _teardown(pilot: Pilot[None], app: CockpitApp) -> None:
    """The ladder, ready for its phrase."""
    fleet = sweep().view(NOW)
    view = fleet["autodl-1"]
    ladder = ScriptedLadder([ladder_ready(ready_at=0.0, expires_at=1_000.0 + 272)])
    screen = TeardownScreen(Moment(fleet, view, UTC), view, ladder, ManualClock(NOW))
    await app.push_screen(screen)
    await pilot.pause()


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture: a scene, a theme, a size, and the keys that lead there."""

    theme: str
    size: tuple[int, int]
    steps: Steps = _nothing
    scene: Callable[[], SceneStore] = sweep


THEMES = ("night", "day", "contrast", "blue-orange", "amber")
SIZES = ((60, 20), (80, 24), (100, 30), (140, 40), (160, 45), (200, 60))
MAIN = (160, 45)

# What there is to see: a scene, and the keys that lead there. Each is drawn at every size of SIZES.
VIEWS: Mapping[str, tuple[Callable[[], SceneStore], Steps]] = {
    "cockpit": (sweep, _nothing),
    "clocks": (sweep, _press("2", "z")),
    "vitals": (sweep, _press("3", "z")),
    "queue": (sweep, _press("4")),
    "log-nan": (sweep, _press("5", "z", "N", "N")),
    "findings": (sweep, _press("f")),
    "profile": (sweep, _press("p")),
    "chart": (sweep, _press("c", "l")),
    "teardown": (sweep, _teardown),
    "sweep": (
        ablation,
        _press("S", *"lllllloj", "space", "j", "space", "j", "space", "c"),
    ),
    "help": (sweep, _press("question_mark")),
    "themes": (sweep, _press("T")),
    "columns": (sweep, _press("O")),
    "healthy": (SCENES["healthy"], _nothing),
    "connecting": (SCENES["connecting"], _press("3")),
    "unreachable": (SCENES["unreachable"], _press("3")),
    "off": (SCENES["off"], _press("2")),
    "no-gpu": (SCENES["no-gpu"], _press("3")),
    "empty": (SCENES["empty"], _press("3")),
}


def _every_shot() -> Iterator[tuple[str, Shot]]:
    for name, (scene, steps) in VIEWS.items():
        for width, height in SIZES:
            yield f"{name}-{width}x{height}", Shot("night", (width, height), steps, scene)
    for theme in THEMES:
        yield f"cockpit-{theme}", Shot(theme, MAIN)


SHOTS: Mapping[str, Shot] = dict(_every_shot())


def names_of(name: str) -> list[str]:
    """The picture of that name; those of the view of that name at every size; those of that size."""
    if name in VIEWS:
        return [f"{name}-{width}x{height}" for width, height in SIZES]
    if name in {f"{width}x{height}" for width, height in SIZES}:
        return [f"{view}-{name}" for view in VIEWS]
    return [name] if name in SHOTS else []


# That which is also drawn as PNG; of the others the SVG is smaller and sharper.
PICTURES = frozenset({"cockpit-night"})


def path_of(name: str) -> Path:
    """Where a picture lies: those of one size in a folder of their own."""
    view, _, size = name.rpartition("-")
    return Path(size, f"{view}.svg") if view in VIEWS and size[0].isdigit() else Path(f"{name}.svg")


def render(names: Iterable[str], out: Path, themes: Path) -> Iterator[Path]:
    """Write each named shot into `out` in the themes of a folder, several at once; yields the files written, the
    PNG behind its SVG.
    """
    places = {name: out / path_of(name) for name in names}
    for folder in {place.parent for place in places.values()}:
        make_private(folder)
    drawn = partial(draw, themes=themes)
    workers = min(os.cpu_count() or 1, max(1, len(places) // FEW))
    if workers == 1:
        for place in map(drawn, places, places.values()):
            yield from place
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        for place in pool.map(drawn, places, places.values(), chunksize=FEW):
            yield from place


def draw(name: str, path: Path, themes: Path) -> list[Path]:
    """Write one shot to `path`, and a PNG beside it where it has one; returns the files written."""
    path.write_text(asyncio.run(picture(SHOTS[name], load_themes(themes))), "utf-8")
    png = to_png(path) if name in PICTURES else None
    return [path] if png is None else [path, png]


async def picture(shot: Shot, themes: Sequence[CockpitTheme]) -> str:
    """One shot as SVG."""
    app = CockpitApp(
        shot.scene(), ManualClock(NOW), control=None, teardown=None, profiles=PROFILES,
        themes=themes, theme=shot.theme, zone=UTC,
    )  # fmt: skip
    async with app.run_test(size=shot.size) as pilot:
        await pilot.pause()
        await shot.steps(pilot, app)
        await pilot.pause()
        return plain_svg(app.export_screenshot(title="gpu-tui"))


_OWN = rf"[^\s{FOREIGN}]{{1,{STRETCH}}}"
_PIECE = re.compile(rf"[{FOREIGN}]|{_OWN}(?: {_OWN})?")
_PIECE_FOREIGN = re.compile(rf"[{FOREIGN}]")


def word_by_word(svg: str) -> str:
    """The SVG with every word at its own place: converters know no `textLength`, and a row would drift."""

    def place(found: re.Match[str]) -> str:
        head, x, middle, length, tail, content, end = found.groups()
        text = html.unescape(content)
        cells = cell_len(text)
        plain = cells <= STRETCH and " " not in text.strip()
        if not cells or (plain and not _PIECE_FOREIGN.search(text)):
            return found[0]
        step, made = float(length) / cells, []
        for word in _PIECE.finditer(text):
            at = float(x) + step * cell_len(text[: word.start()])
            shown = html.escape(word[0], quote=False)
            made.append(f'{head}x="{at:.1f}"{middle}{tail}{shown}{end}')
        return "".join(made)

    return TEXT.sub(place, svg)


def to_png(svg: Path) -> Path | None:
    """The picture as PNG through rsvg-convert; None where that is not installed or fails."""
    tool = shutil.which("rsvg-convert")
    if tool is None:
        return None
    png = svg.with_suffix(".png")
    done = subprocess.run(
        [tool, "--zoom", "1", "--output", str(png)],
        input=word_by_word(svg.read_text("utf-8")).encode(),
        capture_output=True, timeout=CONVERT_SECONDS, check=False,
    )  # fmt: skip
    return png if done.returncode == 0 else None
