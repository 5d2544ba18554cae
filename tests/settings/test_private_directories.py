"""Directories that we make are for their owner alone: they and their parents, whatever the umask is."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gpu_tui
from gpu_tui import settings
from gpu_tui.cli.report import _prepare
from gpu_tui.core.fleet import Fleet
from gpu_tui.places import make_private
from gpu_tui.teardown.journal_file import own_directory
from gpu_tui.teardown.part import Shelf
from gpu_tui.ui.clipboard import to_file
from gpu_tui.wiring.kept import open_kept

SOURCES = Path(gpu_tui.__file__).parent
# Boxes of the demo: they lie in one directory that is made private.
SIMULATED = {"demo/box.py", "demo/kernel.py", "demo/files.py"}


def _pull(home: Path) -> None:
    shelf = Shelf(home / "results/box")
    shelf.open()
    with shelf._directory(["a", "b"]):
        pass
    shelf.close()


def _state(home: Path) -> None:
    settings.state_dir({"HOME": str(home)})


def _kept(home: Path) -> None:
    with open_kept(Fleet(), home / ".local/state/gpu-tui"):
        pass


MAKERS: dict[str, Callable[[Path], object]] = {
    "any": lambda home: make_private(home / "a/b/c"),
    "state": _state,
    "history": _kept,
    "journal": lambda home: own_directory(home / ".local/state/gpu-tui/journal"),
    "results": _pull,
    "report": lambda home: _prepare(home / "hand/over"),
    "clipboard": lambda home: to_file("x", home / ".local/state/gpu-tui"),
}


@pytest.fixture
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077], indirect=True, ids=oct)
@pytest.mark.parametrize("maker", MAKERS)
def test_every_directory_on_the_way_is_private(umask: int, maker: str, tmp_path: Path) -> None:
    MAKERS[maker](tmp_path)
    made = [place for place in tmp_path.rglob("*") if place.is_dir()]
    assert made
    assert {place: place.stat().st_mode & 0o777 for place in made} == dict.fromkeys(made, 0o700)


@pytest.mark.parametrize("umask", [0o277, 0o777], indirect=True, ids=oct)
def test_a_umask_that_takes_it_from_the_owner_does_not(umask: int, tmp_path: Path) -> None:
    make_private(tmp_path / "a/b")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "a/b").stat().st_mode & 0o777 == 0o700


def test_what_is_there_keeps_its_mode_and_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o775)
    make_private(tmp_path / "shared/mine")
    make_private(tmp_path / "shared")
    assert (tmp_path / "shared").stat().st_mode & 0o777 == 0o775
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for other, error in (
        ("file", FileExistsError),
        ("file/below", NotADirectoryError),
        ("dangling", FileExistsError),
        ("dangling/below", FileExistsError),
    ):
        with pytest.raises(error):
            make_private(tmp_path / other)


def test_nothing_else_makes_directories() -> None:
    """A new `mkdir` goes through `make_private`, or follows no link and names its mode."""
    found = []
    for path in SOURCES.rglob("*.py"):
        name = str(path.relative_to(SOURCES))
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            held = any(word.arg == "dir_fd" for word in node.keywords)
            if node.func.attr in ("mkdir", "makedirs") and not held:
                found.append(name)
    assert set(found) - SIMULATED == {"places.py"}
