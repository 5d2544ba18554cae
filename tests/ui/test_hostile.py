"""Nothing that a box says acts on the screen, on the app or on the terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from gpu_tui.core.findings import Severity
from gpu_tui.core.logs import LogLine, LogSource
from gpu_tui.core.readings import GpuTable
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.safe import LastFilter, safe
from screenshots.builders import BENIGN, SceneStore, finding, fleet, gpu, read
from screenshots.scenes import sweep

EVIL = "[@click=app.exit]x[/] [/nope] \x1b]52;c;ZXZpbA==\x07 \x9b31m \u202eRLO \x00 \ud800 [red]"
BLACK = Color(0, 0, 0)


def hostile_store() -> SceneStore:
    """Every place that a box can write to holds something hostile."""
    store = sweep()
    first = store.fleet.instances[0]
    card = gpu(0.5, 20, name=EVIL)
    found = finding("crashed", Severity.FATAL, first.name, EVIL, f"log:{EVIL}:1", cell=EVIL)
    cell = replace(first.queue.cells[1], name=EVIL, why=EVIL, metrics={EVIL: 1.0})
    source = LogSource(f"/root/{EVIL}", EVIL)
    buffer = next(iter(store.logs.values()))
    buffer.extend([LogLine(EVIL, BENIGN)])
    bad = replace(
        first,
        tracks={**first.tracks, "gpus": read(GpuTable((card,)))},
        findings=(found,),
        queue=replace(first.queue, cells=(first.queue.cells[0], cell)),
        logs=(replace(first.logs[0], source=source),),
        link=replace(first.link, state="timeout", error=EVIL, next=EVIL),
    )
    return SceneStore(
        replace(fleet(bad, *store.fleet.instances[1:], sweep=EVIL), notes=(EVIL,)),
        {(first.name, source): buffer},
    )


async def test_hostile_text_reaches_no_segment_and_fires_no_action(
    cockpit: Callable[..., CockpitApp],
) -> None:
    app = cockpit(hostile_store())
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.pause()
        for keys in ((), ("f",), ("enter",), ("c",), ("escape", "2", "p")):
            await pilot.press(*keys)
            await pilot.pause()
            for strip in app.screen._compositor.render_strips():
                for text, style, control in strip:
                    assert control is None
                    assert text.isprintable()
                    assert not (style and style.link)
                    assert not any(
                        str(key).startswith("@") for key in (style.meta if style else {})
                    )
        for x in range(0, 160, 7):
            for y in range(0, 46, 5):
                style = app.screen.get_style_at(x, y)
                assert "@click" not in style.meta
        assert app.is_running


@given(st.text())
def test_the_last_filter_lets_only_printable_text_pass(text: str) -> None:
    style = Style(link="https://evil.example", meta={"@click": "app.exit", "offset": (0, 0)})
    out = LastFilter().apply([Segment(text, style), Segment("\x1b[2J", None, [(1,)])], BLACK)
    assert len(out) == 1
    assert out[0].text.isprintable()
    assert len(out[0].text) == len(text)
    assert out[0].style is not None
    assert out[0].style.link is None
    assert "@click" not in out[0].style.meta


def test_chinese_and_plain_text_stay_as_they_are() -> None:
    assert safe("释放 release é") == "释放 release é"


PROGRAM = """
import sys
from pathlib import Path
sys.path[:0] = [{tests!r}, {tools!r}]
from test_hostile import hostile_store
from gpu_tui.core.clock import ManualClock
from gpu_tui.ui.app import CockpitApp
from screenshots.builders import NOW, PROFILES
from gpu_tui.ui.theme_file import load_themes
app = CockpitApp(hostile_store(), ManualClock(NOW), control=None, teardown=None,
                 profiles=PROFILES, themes=load_themes(Path({themes!r})), theme="night")
app.run()
sys.exit(app.return_code)
"""
# What textual itself sends: cursor, colours, modes, queries, keyboard protocol, pointer shape.
OWN = re.compile(rb"\x1b\[[0-9;?<>=$]*[A-Za-z@~]|\x1b\]22;[a-z-]*\x07")


def read_until(fd: int, wanted: bytes, limit: float = 60.0) -> bytes:
    seen, deadline = b"", time.monotonic() + limit
    while wanted not in seen and time.monotonic() < deadline:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                seen += os.read(fd, 65536)
            except OSError:
                break
    return seen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_real_terminal_gets_nothing_but_our_own_sequences_and_is_left_tidy(
    number: signal.Signals,
) -> None:
    here = Path(__file__).resolve()
    root = here.parents[2]
    program = PROGRAM.format(
        tests=str(here.parent), tools=str(root / "tools"), themes=str(root / "themes")
    )
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=theirs, stdout=theirs, stderr=theirs,
        env=environment, start_new_session=True,
    )  # fmt: skip
    try:
        os.close(theirs)
        seen = read_until(ours, b"runpod-4090")
        process.send_signal(number)
        seen += read_until(ours, b"\x1b[?1004l")
        assert process.wait(60) == 128 + number
    finally:
        process.kill()
        os.close(ours)
    assert b"runpod-4090" in seen
    assert b"\x1b[?1049l" in seen  # the normal screen is back
    assert b"\x1b[?25h" in seen  # and so is the cursor
    rest = OWN.sub(b"", seen)
    assert b"\x1b" not in rest
    assert b"\x07" not in rest
    assert b"\xc2\x9b" not in rest
    assert "\u202e".encode() not in rest
