"""Desktop notifications, byte by byte, and what a real terminal gets of hostile news."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from terminal_of import on_a_terminal

from gpu_tui.core.findings import Severity
from gpu_tui.state.news import Bulletin, News
from gpu_tui.ui.terminal.desktop import desktop_bytes, desktop_forms

BOTH = ("osc9", "osc777")
EVIL = "\x1b]52;c;ZXZpbA==\x07\x1b[2J;a\x9b5n\n\r\x00\u202e[@click=app.bell]x[/] loss: nan"


def test_both_forms_hold_the_text_and_nothing_that_ends_them() -> None:
    made = desktop_bytes(EVIL + "x" * 1_000, BOTH, {})
    first, second, rest = made.split("\x07")
    assert rest == ""
    assert first.startswith("\x1b]9;gpu-tui: ")
    assert second.startswith("\x1b]777;notify;gpu-tui;")
    for one in (first, second):
        assert one[1:].isprintable()
        assert len(one) < 240
    assert second.count(";") == 3  # a semicolon of a box starts no field of its own


def test_inside_tmux_every_escape_is_doubled() -> None:
    made = desktop_bytes("hi", ("osc9",), {"TMUX": "/tmp/x,1,0"})
    assert made == "\x1bPtmux;\x1b\x1b]9;gpu-tui: hi\x07\x1b\\"
    assert desktop_bytes("hi", ("osc9",), {"STY": "1.x"}) == "\x1bP\x1b]9;gpu-tui: hi\x07\x1b\\"


@pytest.mark.parametrize(
    ("wish", "env", "forms"),
    [
        ("off", {}, ()),
        ("both", {"TERM": "linux"}, BOTH),
        ("osc9", {}, ("osc9",)),
        ("auto", {"TERM": "xterm-256color"}, BOTH),
        ("auto", {"TERM": "linux"}, ()),
        ("auto", {"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, ("osc9",)),
        ("auto", {"TERM": "foot"}, ("osc777",)),
        ("auto", {"TERM": "xterm-kitty"}, ("osc9",)),
        ("auto", {"TERM": "xterm-256color", "VTE_VERSION": "7200"}, ("osc777",)),
        ("auto", {"TERM": "tmux-256color", "TMUX": "x", "TERM_PROGRAM": "iTerm.app"}, BOTH),
    ],
)
def test_which_form_for_which_terminal(
    wish: str, env: dict[str, str], forms: tuple[str, ...]
) -> None:
    assert desktop_forms(wish, env) == forms


def cockpit_with_hostile_news() -> None:
    """Runs in a process of its own, on a terminal: one loud bulletin, and the end."""
    from textual.app import App

    from gpu_tui.core.clock import ManualClock
    from gpu_tui.resources import themes_dir
    from gpu_tui.ui.app import CockpitApp
    from gpu_tui.ui.theme_file import load_themes
    from screenshots.builders import NOW, PROFILES
    from screenshots.scenes import sweep

    told = News("k", "nan", Severity.FATAL, "autodl-1", EVIL, NOW, cell="no_aug\x1b[5n")

    class Once:
        def __init__(self) -> None:
            self.left = [Bulletin((told,), loud=True)]

        def take(self, view: object) -> list[Bulletin]:
            taken, self.left = self.left, []
            if not taken:
                app.exit()
            return taken

    class Ticking(ManualClock):
        def now(self) -> float:
            self.advance(1.0)
            return super().now()

    app: App[None] = CockpitApp(
        sweep(), Ticking(NOW), control=None, teardown=None, profiles=PROFILES,
        themes=load_themes(themes_dir()), theme="night", news=Once(), desktop=BOTH,
    )  # fmt: skip
    app.run()


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("TMUX", "STY")}
    return {
        **kept,
        "TERM": "xterm-256color",
        "COLUMNS": "100",
        "LINES": "30",
        "PYTHONPATH": os.pathsep.join(sys.path),
        **more,
    }


COCKPIT = [sys.executable, "-c", "import test_desktop_news as t; t.cockpit_with_hostile_news()"]


def test_a_real_terminal_gets_the_notification_the_bell_and_nothing_of_the_box() -> None:
    data = on_a_terminal(COCKPIT, environment())
    oscs = re.findall(rb"\x1b\](.*?)(?:\x07|\x1b\\)", data, re.DOTALL)
    ours = [one for one in oscs if one.startswith((b"9;", b"777;"))]
    assert [one.split(b";")[0] for one in ours] == [b"9", b"777"]
    assert all(b"loss: nan" in one and b"autodl-1" in one for one in ours)
    assert not [one for one in oscs if one.startswith(b"52;")]
    assert b"\x1b[5n" not in data
    outside = re.sub(rb"\x1b\].*?(?:\x07|\x1b\\)", b"", data, flags=re.DOTALL)
    assert b"\x07" in outside  # the bell


@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here (apt install tmux)")
def test_through_a_real_tmux_it_reaches_the_terminal_outside(tmp_path: Path) -> None:
    conf = tmp_path / "tmux.conf"
    conf.write_text("set -g allow-passthrough on\nset -g status off\n")
    # tmux drops what is passed through while it redraws the terminal, as it does once this is attached.
    say = (
        "import os, select, sys\n"
        "from gpu_tui.ui.terminal.desktop import desktop_bytes\n"
        "while not select.select([sys.stdin], [], [], 0.2)[0]:\n"
        " sys.stdout.write(desktop_bytes('cell done', ('osc9', 'osc777'), os.environ))\n"
        " sys.stdout.flush()\n"
    )
    argv = ["tmux", "-S", str(tmp_path / "s"), "-f", str(conf), "new", sys.executable, "-c", say]
    try:
        data = on_a_terminal(argv, environment(), until=b"\x1b]777;notify;gpu-tui;cell done\x07")
    finally:
        subprocess.run(
            ["tmux", "-S", str(tmp_path / "s"), "kill-server"], check=False, capture_output=True
        )
    assert b"\x1b]9;gpu-tui: cell done\x07" in data
    assert b"\x1b]777;notify;gpu-tui;cell done\x07" in data


def test_a_notification_holds_no_secret() -> None:
    made = desktop_bytes("box: killed: SSH_PASS='hunter2' 密码：hunter2x", BOTH, {})
    assert "hunter2" not in made
    assert made.count("[hidden]") == 4
