"""Keys and writes of a terminal, and what remains of both with a textual whose private parts have other names."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import tty
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest
from small_app import Small
from textual import events
from textual.constants import ESCAPE_DELAY
from textual.widget import Widget
from textual.widgets import Static

from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.terminal import driver
from gpu_tui.ui.terminal.app import SETTLE_SECONDS
from gpu_tui.ui.terminal.driver import CHOKED, MOVES, TICKS, TerminalDriver, parse_input, read_input
from gpu_tui.ui.terminal.textual_private import key_parser

LIMIT = 60  # seconds

# --- keys -----------------------------------------------------------------------------------------

LATER = ""  # as long afterwards as an escape waits for the rest of a sequence


def feed(*pieces: str) -> list[str]:
    """The keys that these pieces of input are."""
    found = parse_input(pieces, key_parser())
    return [one.key for one in found if isinstance(one, events.Key)]


@pytest.mark.parametrize(
    ("pieces", "keys"),
    [
        (("\x1b", "q"), ["escape", "q"]),
        (("\x1b", LATER, "q"), ["escape", "q"]),
        (("\x1b", LATER, "\x1b", "q"), ["escape", "escape", "q"]),
        (("\x1b", "\t"), ["escape", "tab"]),
        (("\x1b", ":", "1"), ["escape", "colon", "1"]),
        (("\x1b", "\x1b", "f"), ["escape", "escape", "f"]),
        (("\x1b", "[A"), ["up"]),
        (("\x1b", "OA"), ["up"]),
        (("\x1b[A", "j"), ["up", "j"]),
    ],
)
def test_a_key_right_after_escape_is_a_key_of_its_own(
    pieces: tuple[str, ...], keys: list[str]
) -> None:
    assert feed(*pieces) == keys


@pytest.fixture
def woken() -> Iterator[tuple[int, int]]:
    """Both ends of the pipe that ends the reading."""
    here, there = os.pipe()
    yield here, there
    os.close(here)


def test_keys_are_read_until_the_thread_is_told_to_end(woken: tuple[int, int]) -> None:
    master, slave = pty.openpty()
    tty.setraw(slave)
    os.write(master, "a中".encode())
    reader = read_input(slave, woken[0])
    read = ""
    while read != "a中":
        read += next(reader)
    os.close(woken[1])
    assert list(reader) == []
    os.close(master)
    os.close(slave)


def test_a_terminal_that_has_gone_ends_the_program(
    woken: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(driver.os, "kill", lambda *words: sent.append(words))
    master, slave = pty.openpty()
    os.close(master)
    assert list(read_input(slave, woken[0])) == []
    assert sent == [(os.getpid(), signal.SIGHUP)]
    os.close(slave)
    os.close(woken[1])


def test_the_thread_that_reads_keys_sleeps_while_nobody_types(
    woken: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = os.pipe()
    os.write(there, b"x")
    waits: list[float | None] = []
    ready = iter([[here], *([[]] * TICKS), [woken[0]]])

    def wait(*words: Any) -> tuple[list[int], list[int], list[int]]:
        waits.append(words[3])
        return next(ready), [], []

    monkeypatch.setattr(driver.select, "select", wait)
    assert list(read_input(here, woken[0])) == ["x", *([""] * TICKS)]
    assert waits == [None, *([ESCAPE_DELAY] * TICKS), None]
    for one in (here, there, woken[1]):
        os.close(one)


# --- writes ---------------------------------------------------------------------------------------


class Recorded:
    """Stands for the driver; its queue is as long as a test makes it."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.choked = self.synchronized = False
        self.output = object()

    def write(self, data: str) -> None:
        self.written.append(data)


async def test_a_terminal_that_does_not_read_is_owed_only_the_last_state() -> None:
    app, terminal = Small(), Recorded()
    async with app.run_test(size=(40, 5)) as pilot:
        app.terminal = terminal  # type: ignore[assignment]
        app.screen.refresh()
        await pilot.pause()
        await pilot.pause()
        assert "painted" in "".join(terminal.written)
        terminal.written.clear()
        terminal.choked = True
        app.query_one(Static).update("later")
        await pilot.pause()
        app.bell()
        assert not app.send("\x1b]9;x\x07")
        app._settle()
        await pilot.pause()
        assert terminal.written == []
        terminal.choked = False
        async with asyncio.timeout(LIMIT):
            while "later" not in "".join(terminal.written):  # by its own timer
                await pilot.pause(SETTLE_SECONDS)


async def test_after_a_visit_to_the_shell_everything_is_drawn_again() -> None:
    app, terminal = Small(), Recorded()
    async with app.run_test(size=(40, 5)) as pilot:
        app.terminal = terminal  # type: ignore[assignment]
        for again in (True, False, True):
            if again:
                terminal.output = object()  # the terminal was taken again
            app.query_one(Static).refresh()
            await pilot.pause()
            await pilot.pause()
            assert ("painted" in "".join(terminal.written)) is again
            terminal.written.clear()
        app.drop_shown()  # ctrl+l, another size
        app.screen.refresh()
        await pilot.pause()
        assert "painted" in "".join(terminal.written)


async def test_a_large_frame_is_marked_as_one_where_the_terminal_knows_that() -> None:
    app, terminal = Small(), Recorded()
    async with app.run_test(size=(60, 20)) as pilot:
        terminal.synchronized = True
        app.terminal = terminal  # type: ignore[assignment]
        app.query_one(Static).update("\n".join("0123456789" * 5 for _ in range(19)))
        await pilot.pause()
        (frame,) = [one for one in terminal.written if "0123456789" in one]
        assert frame.startswith("\x1b[?2026h")
        assert frame.endswith("\x1b[?2026l")


async def test_a_write_never_waits_and_what_is_lent_is_not_written() -> None:
    app = Small()
    async with app.run_test():
        terminal = TerminalDriver(app)
        kept: SimpleQueue[str | None] = SimpleQueue()
        terminal.output = SimpleNamespace(waiting=kept)  # type: ignore[assignment]
        for _ in range(CHOKED):
            terminal.write("a frame")
        assert not terminal.choked
        terminal.write("one more")
        assert terminal.choked
        for _ in range(1000):
            terminal.write("and more")
        terminal.lent = True
        terminal.write("not this")
        terminal.lent = False
        for moves in MOVES:
            terminal.write(moves)
        assert kept.qsize() == CHOKED + 1001
        terminal.output = app.terminal = None


async def test_a_screen_that_was_closed_leaves_no_painted_lines_behind(
    cockpit: Callable[..., CockpitApp],
) -> None:
    app = cockpit()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        caches = [weakref.ref(one._styles_cache) for one in app.screen.walk_children(Widget)]
        assert caches
        await pilot.press("escape")
        await pilot.press("f")  # what was focused and painted last is remembered until the next
        await pilot.press("escape")
        await pilot.pause()
        gc.collect()
        assert [one() for one in caches if one() is not None] == []


# --- another textual ------------------------------------------------------------------------------

# Loads textual with other names for its private parts, and runs `Small` on the terminal.
RENAMED = r"""
import importlib.machinery as machinery, re, sys
names = re.compile(r"\b(%s)\b")
class Loader(machinery.SourceFileLoader):
    def get_code(self, fullname):
        return compile(names.sub(r"\1_then", self.get_source(fullname)), self.path, "exec")
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = machinery.PathFinder.find_spec(name, path)
        if name.startswith("textual.") and spec is not None and names.search(open(spec.origin).read()):
            spec.loader = Loader(name, spec.origin)
        return spec
sys.meta_path.insert(0, Finder)
from small_app import Small
Small().run()
"""
HOOKS = {
    "_display": "output of changed cells only (no _display)",
    "_compositor_refresh": "a first frame with its content (no _compositor_refresh)",
    "_batch_count": "frames held back in a batch (no _batch_count)",
    "UPDATE_PERIOD": "frames that begin at once",
    "get_inner_outer": "freeing the lines of closed screens",
    "XTermParser": "a thread that sleeps until a key comes",
}


@contextmanager
def on_a_pty(argv: list[str], errors: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 60, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": os.pathsep.join(sys.path)}
    with errors.open("wb") as file:
        process = subprocess.Popen(
            argv, stdin=slave, stdout=slave, stderr=file, env=env, start_new_session=True
        )
    os.close(slave)
    try:
        yield process, master
    finally:
        process.kill()
        process.wait()
        os.close(master)


def painted_and_quit(argv: list[str], errors: Path) -> list[str]:
    """Run until it paints, press q, and return the lines on stderr."""
    with on_a_pty(argv, errors) as (process, master):
        seen = b""
        while b"painted" not in seen:
            assert select.select([master], [], [], LIMIT)[0], (seen, errors.read_text())
            seen += os.read(master, 65_536)
        os.write(master, b"q")
        while select.select([master], [], [], LIMIT)[0]:
            try:
                seen += os.read(master, 65_536)
            except OSError:
                break
        assert process.wait(LIMIT) == 0
    assert b"\x1b[?1049l" in seen  # the terminal is as it was
    return errors.read_text().splitlines()


# The terminal does not read while the first frame is made; nothing else is ever painted.
LATE = """
from textual.screen import Screen
from gpu_tui.ui.terminal.driver import TerminalDriver
from small_app import Small
real, looks = TerminalDriver.choked.fget, iter([True] * 3)
TerminalDriver.choked = property(lambda self: next(looks, False) or real(self))
Small.get_default_screen = lambda self: Screen()
Small().run()
"""


def test_a_frame_that_the_terminal_missed_is_painted_once_it_reads(tmp_path: Path) -> None:
    assert painted_and_quit([sys.executable, "-c", LATE], tmp_path / "errors") == []


@pytest.mark.parametrize("name", HOOKS)
def test_a_textual_without_one_of_its_private_parts_still_paints_and_quits(
    name: str, tmp_path: Path
) -> None:
    (line,) = painted_and_quit([sys.executable, "-c", RENAMED % name], tmp_path / "errors")
    assert f"without {HOOKS[name]}" in line


def test_a_textual_without_any_of_them_still_paints_and_quits(tmp_path: Path) -> None:
    names = "|".join([*HOOKS, "__rich_console__"])
    lines = painted_and_quit([sys.executable, "-c", RENAMED % names], tmp_path / "errors")
    assert len(lines) == len(HOOKS)


async def test_an_update_that_is_not_understood_is_left_to_textual(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app, terminal = Small(), Recorded()
    async with app.run_test(size=(40, 5)) as pilot:
        app.terminal = terminal  # type: ignore[assignment]
        for kind in ("LayoutUpdate", "ChopsUpdate"):
            monkeypatch.setattr(f"textual._compositor.{kind}.__rich_console__", lambda *_: ["x"])
        app.screen.refresh()
        await pilot.pause()
        app.screen.refresh()
        await pilot.pause()
        assert terminal.written == []
    assert [one.getMessage().count("changed cells") for one in caplog.records] == [1]
