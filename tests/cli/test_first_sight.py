"""The picture of the last time: what is kept of it, when it is shown, and how it goes."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.pty_harness import Program

from gpu_tui.first_sight import FirstSight
from gpu_tui.wiring.clock import SystemClock

BANNER = "as it was"
SHOWN, GONE = "\x1b[?1049h", "\x1b[?1049l"
SIZE = (100, 30)

# A program that shows the picture and waits for a line.
SHOW = """
import os, sys
from pathlib import Path
from gpu_tui.first_sight import FirstSight
from gpu_tui.wiring.clock import SystemClock
sight = FirstSight(sys.argv[1:], os.environ, Path("/"), SystemClock())
try:
    sight.show()
    print("ready", flush=True)
    sys.stdin.readline()
finally:
    sight.away()
print("over", flush=True)
"""


@pytest.fixture
def env() -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "state/gpu-tui").mkdir(parents=True, mode=0o700)
        yield {
            "PATH": os.environ["PATH"], "HOME": place, "XDG_STATE_HOME": f"{place}/state",
            "XDG_CONFIG_HOME": f"{place}/config", "TERM": "xterm-256color", "LANG": "C.UTF-8",
        }  # fmt: skip


def picture(env: dict[str, str]) -> Path:
    return Path(env["XDG_STATE_HOME"]) / "gpu-tui/picture.json"


def keep(env: dict[str, str]) -> None:
    lines = ["header", *(f"row {n} \x1b[2J\x9b31m" for n in range(1, SIZE[1]))]
    FirstSight(["fleet"], env, Path("/"), SystemClock()).keep(lines, SIZE[0])


def drawn(env: dict[str, str], word: str = "fleet", size: tuple[int, int] = SIZE) -> str:
    with Program([sys.executable, "-c", SHOW, word], env, *size) as program:
        program.until("ready")
        program.press("\n")
        program.until("over")
        return program.text()


def test_it_is_shown_where_the_same_command_runs_in_the_same_terminal(env: dict[str, str]) -> None:
    assert SHOWN not in drawn(env)
    keep(env)
    again = drawn(env)
    assert "\x1b[2J\x1b[H\x1b[7m as it was" in again, "the age is the first line"
    assert BANNER in again
    assert "row 29" in again
    assert again.index(SHOWN) < again.index(GONE) < again.index("over")


@pytest.mark.parametrize(
    "other",
    [
        {"word": "another fleet"},
        {"size": (99, 30)},
        {"size": (100, 29)},
        {"env": {"TERM": "screen"}},
        {"env": {"TERM": "linux"}},
        {"env": {"LANG": "C"}},
    ],
    ids=str,
)
def test_it_is_of_this_terminal_and_this_command_or_it_is_not_shown(
    env: dict[str, str], other: dict[str, object]
) -> None:
    keep(env)
    changed = {**env, **other.pop("env", {})}  # type: ignore[dict-item]
    assert SHOWN not in drawn(changed, **other)  # type: ignore[arg-type]


def test_no_sequence_of_a_picture_reaches_the_terminal(env: dict[str, str]) -> None:
    keep(env)
    body = drawn(env).partition("row 1 ")[2].partition("row 2 ")[0]
    assert "\x1b[2J" not in body
    assert "\x9b" not in body
    assert "\ufffd[2J" in body


@pytest.mark.parametrize(
    "broken",
    [
        "", "{", "[]", "null", '{"key": 1}', "[" * 100_000, '"' + "x" * 300_000 + '"',
        {"lines": 5}, {"lines": None}, {"at": "soon"}, {"at": 0}, {"at": float("nan")}, {"width": None},
    ],
    ids=lambda broken: str(broken)[:12],
)  # fmt: skip
def test_a_broken_picture_is_none(env: dict[str, str], broken: str | dict[str, object]) -> None:
    keep(env)
    file = picture(env)
    whole = json.loads(file.read_text())
    file.write_text(broken if isinstance(broken, str) else json.dumps(whole | broken))
    shown = drawn(env)
    assert SHOWN not in shown
    assert "Traceback" not in shown


ENDINGS = [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]


@pytest.mark.parametrize("number", ENDINGS)
def test_whoever_is_ended_while_it_stands_leaves_the_terminal_as_it_was(
    env: dict[str, str], number: signal.Signals
) -> None:
    keep(env)
    with Program([sys.executable, "-c", SHOW, "fleet"], env, *SIZE) as program:
        program.until("ready")
        program.process.send_signal(number)
        assert program.process.wait(60) == 128 + number
        program.until("\x1b[?25h", GONE)


# The cockpit, ended by a signal in one moment of its start: just before or just after this call.
END_AT = """
import os, signal, sys
from gpu_tui.cli import main
number, before, moment = int(sys.argv[1]), sys.argv[2] == "before", sys.argv[3]
if moment == "run_async":
    from gpu_tui.ui.app import CockpitApp as owner
else:
    from textual.drivers.linux_driver import LinuxDriver as owner
real = getattr(owner, moment)
def wrapped(self, *args, **kwargs):
    if before:
        os.kill(os.getpid(), number)
    done = real(self, *args, **kwargs)
    if not before:
        os.kill(os.getpid(), number)
    return done
setattr(owner, moment, wrapped)
sys.exit(main.main(["--fleet", sys.argv[4]]))
"""


@pytest.mark.parametrize("number", ENDINGS)
@pytest.mark.parametrize(
    "moment",
    [
        ("before", "run_async"),
        ("before", "__init__"),
        ("before", "start_application_mode"),
        ("after", "start_application_mode"),
    ],
    ids=" ".join,
)
def test_a_signal_while_the_cockpit_starts_restores_the_terminal(
    env: dict[str, str], number: signal.Signals, moment: tuple[str, str]
) -> None:
    fleet = Path(env["HOME"]) / "fleet.yaml"
    fleet.write_text("instances:\n  - {name: far, host: 'ssh://root@127.0.0.1:9'}\n")
    argv = [sys.executable, "-c", END_AT, str(int(number)), *moment, str(fleet)]
    with Program(argv, env, *SIZE) as program:
        assert program.process.wait(60) == 128 + number
        program.until(SHOWN, GONE, "\x1b[?25h")
        text = program.text()
    assert text.rindex(GONE) > text.rindex(SHOWN)
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert "Traceback" not in text


def test_the_cockpit_keeps_its_picture_for_its_owner_and_nothing_of_a_log(
    env: dict[str, str],
) -> None:
    fleet = Path(env["HOME"]) / "fleet.yaml"
    fleet.write_text(
        textwrap.dedent(
            """
            instances:
              - name: box-7
                host: ssh://root@127.0.0.1:1
                platform: generic-ssh
            """
        )
    )
    command = [sys.executable, "-m", "gpu_tui", "--fleet", str(fleet)]
    with Program(command, env, 160, 48) as program:
        program.until("box-7", "no log")
        program.press("q")
        assert program.process.wait(60) == 0
        assert BANNER not in program.text()
    file = picture(env)
    assert file.stat().st_mode & 0o077 == 0
    lines = json.loads(file.read_text())["lines"]
    assert len(lines) == 48
    assert any("box-7" in line for line in lines)
    assert not any("no log" in line for line in lines), "the inside of the log pane is blank"
    with Program(command, env, 160, 48) as program:
        program.until(BANNER, "box-7")
        program.until("connecting")
        program.press("q")
        assert program.process.wait(60) == 0
    fleet.write_text("instances: [")
    with Program(command, env, 160, 48) as program:
        program.until("fleet.yaml")
        assert program.process.wait(60) == 2
        text = program.text()
        assert text.index(BANNER) < text.index(GONE) < text.rindex("fleet.yaml")


def test_a_sketch_stands_where_there_is_no_picture(env: dict[str, str]) -> None:
    """Its frames and names come first, and the cockpit over them without a blank screen between."""
    home = Path(env["HOME"])
    (home / "fleet.yaml").write_text(
        "instances:\n  - {name: far, host: 'ssh://root@127.0.0.1:9'}\n"
    )
    argv = [sys.executable, "-m", "gpu_tui", "--fleet", str(home / "fleet.yaml")]
    with Program(argv, {**env, "COLORTERM": "truecolor"}, *SIZE) as program:
        program.until("1 Instances")
        program.until("help")
        text = program.text()
        program.press("q")
        program.process.wait(60)
    sketch, _, cockpit = text.partition("inod")  # only the cockpit says anything of the box
    assert sketch.index(SHOWN) < sketch.index("1 Instances") < sketch.index("far") < len(sketch)
    assert "5 Log" in sketch
    assert GONE not in sketch
    assert "\x1b[2J" not in sketch[sketch.index("far") :]
    assert "far" in cockpit


@pytest.mark.parametrize(
    "other", [{"TERM": "linux"}, {"TERM": "dumb"}, {"LANG": "C"}, {"LANG": ""}], ids=str
)
def test_no_sketch_where_its_signs_may_not_be_drawn(
    env: dict[str, str], other: dict[str, str]
) -> None:
    sight = textwrap.dedent(SHOW).replace(
        "sight.show()", "sight.sketch(lambda w, h: ['drawn'] * h)"
    )
    for changed, stands in (({}, True), (other, False)):
        with Program([sys.executable, "-c", sight], env | changed, *SIZE) as program:
            program.until("ready")
            program.press("\n")
            program.until("over")
            assert ("drawn" in program.text()) is stands
