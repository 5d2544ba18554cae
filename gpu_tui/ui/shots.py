"""Pictures of the cockpit: scenes rendered without a terminal, as SVG and, where a converter is, PNG."""

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
from dataclasses import dataclass, replace
from datetime import UTC
from functools import partial
from pathlib import Path

from rich.cells import cell_len
from textual.pilot import Pilot

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.mask import masked
from gpu_tui.core.profile import Profile
from gpu_tui.places import make_private
from gpu_tui.state.views import FleetView
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.panes.pane import Moment
from gpu_tui.ui.scene_ablation import ablation
from gpu_tui.ui.scene_parts import NOW, PROFILES, SceneStore
from gpu_tui.ui.scenes import SCENES, ladder_ready, sweep
from gpu_tui.ui.screens.teardown import TeardownScreen
from gpu_tui.ui.scripted import ScriptedLadder
from gpu_tui.ui.theme import CockpitTheme
from gpu_tui.ui.theme_file import load_themes

Steps = Callable[[Pilot[None], CockpitApp], Awaitable[None]]
CONVERT_SECONDS = 60
FEW = 8  # pictures that one process draws as fast as several
TOUCHING = 0.2  # pixels between two rectangles of a row that are one
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


def portrait(
    view: FleetView,
    profiles: Mapping[str, Profile],
    themes: Sequence[CockpitTheme],
    mask: Callable[[str], str],
    size: tuple[int, int] = (160, 40),
) -> str:
    """The cockpit as it would show this view now, as SVG; every text of it went through `mask`."""
    app = CockpitApp(
        SceneStore(_masked(view, mask)), ManualClock(view.taken_at), control=None, teardown=None,
        profiles=profiles, themes=themes, theme="night", zone=UTC, read_only=True,
    )  # fmt: skip

    async def draw() -> str:
        async with app.run_test(size=size) as pilot:
            # No line of a log leaves with a picture: its pane gives its room to the others.
            app.screen.query_one("#log").display = False
            body = app.screen.query_one("#body").styles
            body.grid_size_rows, body.grid_rows = 2, "2fr 3fr"
            await pilot.pause()
            return masked_svg(plain_svg(app.export_screenshot(title="gpu-tui")), mask)

    return asyncio.run(draw())


def _masked(view: FleetView, mask: Callable[[str], str]) -> FleetView:
    """The view with every text masked, before a narrow pane cuts or wraps it; logs are left out.

    Names of instances stay, because they lead from one part of a view to another.
    """
    names = {one.name for one in view.instances}

    def hidden(text: str) -> str:
        return text if text in names else mask(text)

    bare = replace(
        view,
        instances=tuple(replace(one, logs=()) for one in view.instances),
        notes=(),
        unmet=frozenset(),
    )
    return masked(bare, hidden)


def masked_svg(svg: str, mask: Callable[[str], str]) -> str:
    """The SVG with the text of every row masked, whatever pieces of one style it was drawn in.

    A row is masked between the vertical lines of its panes. What replaces a text is as wide as that was.
    """
    rows: dict[str, list[_Piece]] = {}
    for found in _TEXT.finditer(svg):
        text = html.unescape(found[6])
        if not (width := cell_len(text)):  # the line end that Rich draws
            continue
        step = float(found[4]) / width
        y = _Y.search(found[3])
        place = round(float(found[2]) / step)
        rows.setdefault(y[1] if y else "", []).append(_Piece(found.span(6), place, text))
    changes: list[tuple[tuple[int, int], str]] = []
    for pieces in rows.values():
        cells = [" "] * max(one.place + cell_len(one.text) for one in pieces)
        for one in pieces:
            cells[one.place : one.place + cell_len(one.text)] = _cells_of(one.text)
        hidden = _masked_row(cells, mask)
        for one in pieces:
            part = slice(one.place, one.place + cell_len(one.text))
            if hidden[part] != cells[part]:
                changes.append((one.span, html.escape("".join(hidden[part]))))
    for (start, end), text in sorted(changes, reverse=True):
        svg = svg[:start] + text + svg[end:]
    return svg


@dataclass(frozen=True, slots=True)
class _Piece:
    """One text of a picture: where its content is in the SVG, in which column it begins."""

    span: tuple[int, int]
    place: int
    text: str


def _cells_of(text: str) -> list[str]:
    """A sign or nothing for each cell: a wide sign is followed by nothing."""
    cells: list[str] = []
    for sign in text:
        width = cell_len(sign)
        if width:
            cells += [sign, *[""] * (width - 1)]
        elif cells:
            cells[-1] += sign
    return cells


def _masked_row(cells: Sequence[str], mask: Callable[[str], str]) -> list[str]:
    row: list[str] = []
    part: list[str] = []
    for cell in (*cells, None):
        if cell is not None and cell not in _LINES:
            part.append(cell)
            continue
        text = "".join(part)
        hidden = mask(text)
        if hidden != text:
            new = _cells_of(hidden)[: len(part)]
            part = new + [" "] * (len(part) - len(new))
        row += part if cell is None else [*part, cell]
        part = []
    return row


_LINES = frozenset("│┃║▏")
_Y = re.compile(r'\by="([\d.]+)"')
_TEXT = re.compile(
    r'(<text [^>]*?)x="([\d.]+)"([^>]*?) textLength="([\d.]+)"([^>]*>)([^<]*)(</text>)'
)
_CLIPS = re.compile(
    r' clip-path="url\(#[^)]*-line-\d+\)"|<clipPath id="[^"]*-line-\d+">.*?</clipPath>\s*',
    re.DOTALL,
)
_GROUNDS = re.compile(r"(?:<rect [^>]*/>){2,}")
_GROUND = re.compile(
    r'<rect fill="([^"]*)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"([^>]*)/>'
)


def plain_svg(svg: str) -> str:
    """The SVG without what converters stumble over: spaces stay, fonts are the ones installed.

    A third of its size: no line is clipped to where it ends anyway, and one ground is one rectangle.
    """
    svg = svg.replace("&#160;", " ").replace("<text ", '<text xml:space="preserve" ')
    svg = re.sub(r"@font-face\s*\{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"terminal-(\d+)-", r"t\1-", _CLIPS.sub("", svg))
    return _TEXT.sub(_measured, _GROUNDS.sub(_joined, svg))


def _measured(found: re.Match[str]) -> str:
    """A text as long as its cells: Rich takes every character for one, and wide ones would be squeezed."""
    head, x, middle, length, tail, content, end = found.groups()
    text = html.unescape(content)
    if cell_len(text) == len(text):
        return found[0]
    wanted = float(length) / len(text) * cell_len(text)
    return f'{head}x="{x}"{middle} textLength="{wanted:.5g}"{tail}{content}{end}'


def _joined(found: re.Match[str]) -> str:
    """Rectangles that touch in a row and have one colour, as one."""
    rows: list[list[str]] = []
    for one in _GROUND.finditer(found[0]):
        fill, x, y, width, *_ = rect = list(one.groups())
        last = rows[-1] if rows else None
        alike = last is not None and (last[0], last[2]) == (fill, y)
        if last and alike and abs(float(last[1]) + float(last[3]) - float(x)) < TOUCHING:
            last[3] = f"{float(x) + float(width) - float(last[1]):.5g}"
            continue
        rows.append(rect)
    return "".join(
        f'<rect fill="{fill}" x="{x}" y="{y}" width="{width}" height="{height}"{more}/>'
        for fill, x, y, width, height, more in rows
    )


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

    return _TEXT.sub(place, svg)


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
