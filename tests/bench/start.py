"""Start and idle cost of the cockpit on the demo's eight boxes, as ratios to a bare Textual app and to other checkouts.

`python -m bench.start [OTHER_CHECKOUT...]`. In each round every program starts once, in turns, and the table shows the
medians. All figures are of the program with its children; the simulated boxes are another process. A checkout runs
with its own .venv, and its demo plays the same story from the same seed.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.pty_harness import Program

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "10"))
WATCH_ROUNDS = int(os.environ.get("BENCH_WATCH_ROUNDS", "3"))
WATCH_SECONDS = float(os.environ.get("BENCH_WATCH_SECONDS", "60"))
SETTLE_SECONDS = 20.0  # until all boxes are connected and all screens loaded
SIZE = (160, 45)
# Both programs write to a file what CPU and time they took, and end: one that waits for the words reads it too late on
# a busy machine.
NOTE = """
import os, time
from pathlib import Path
def end():
    spent = time.process_time() + sum(os.times()[2:4])
    Path(os.environ["BENCH_OUT"]).write_text(f"{time.monotonic()} {spent}")
    os._exit(0)
"""
BARE = f"""{NOTE}
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("hello from here")
    def on_ready(self):
        self.call_after_refresh(end)
Bare().run()
"""
FIRST_FRAME = f"""{NOTE}
import importlib.util, sys
class Hook:
    def find_spec(self, name, path=None, target=None):
        if name != "gpu_tui.ui.app":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module
        def exec_module(module):
            execute(module)
            end_at_first_frame(module.CockpitApp)
        spec.loader.exec_module = exec_module
        return spec
def end_at_first_frame(app):
    real = app._display
    def display(self, *args):
        real(self, *args)
        if self.painted.is_set():
            end()
    app._display = display
sys.meta_path.insert(0, Hook())
from gpu_tui.cli.main import main
sys.exit(main())
"""
HERE = Path(__file__).resolve().parents[2]


class Boxes(NamedTuple):
    """The fleet file of a demo, and the variable that its providers' key is read from."""

    fleet: Path
    key: dict[str, str]


def measure(others: Sequence[Path] = ()) -> dict[str, object]:
    """Medians, and the ratios of this checkout to a bare app and to each other checkout."""
    row: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        checkouts = {"": HERE, **{f" of {other.name}": other.resolve() for other in others}}
        boxes = {name: stack.enter_context(_boxes(at, place)) for name, at in checkouts.items()}
        bare = [str(_python(HERE)), "-c", BARE]
        cpu: dict[str, list[float]] = {}
        wall: dict[str, list[float]] = {}

        def note(name: str, seconds: float, spent: float) -> None:
            wall.setdefault(name, []).append(seconds)
            cpu.setdefault(name, []).append(spent)

        for number in range(ROUNDS + 1):
            note("bare textual", *_started(bare, _environment(HERE, place), place))
            for name, at in checkouts.items():
                (python, *_, fleet), env = _cockpit(at, boxes[name], place)
                argv = [python, "-c", FIRST_FRAME, "--fleet", fleet]
                note(f"first frame{name}", *_started(argv, env, place))
            if not number:  # the first round writes the byte code
                cpu.clear()
                wall.clear()
        for name in cpu:
            row[f"{name}: CPU ms"] = round(median(cpu[name]) * 1000)
            row[f"{name}: ms"] = round(median(wall[name]) * 1000)
        for name in checkouts:
            ratio = median(cpu[f"first frame{name}"]) / median(cpu["bare textual"])
            row[f"first frame{name} / bare textual: CPU"] = round(ratio, 2)
        row |= _watch(checkouts, boxes, place)
    return row


def _started(argv: list[str], env: dict[str, str], place: str) -> tuple[float, float]:
    """Seconds from the start of a program to its end, and seconds of CPU."""
    out = Path(place) / "note"
    with Program(argv, env | {"BENCH_OUT": str(out)}, *SIZE) as program:
        program.process.wait(60)
        at, spent = map(float, out.read_text().split())
        out.unlink()
        return at - program.began, spent


def _watch(checkouts: dict[str, Path], boxes: dict[str, Boxes], place: str) -> dict[str, object]:
    """CPU of the minute after the start, start excluded, and memory at its end. All run at the same time."""
    cpu: dict[str, list[float]] = {name: [] for name in checkouts}
    memory: dict[str, list[float]] = {name: [] for name in checkouts}
    for number in range(WATCH_ROUNDS):
        with ExitStack() as stack:
            names = list(checkouts) if number % 2 else list(checkouts)[::-1]
            watching = {
                name: stack.enter_context(
                    Program(*_cockpit(checkouts[name], boxes[name], place), *SIZE)
                )
                for name in names
            }
            time.sleep(SETTLE_SECONDS)
            before = {name: program.cpu() for name, program in watching.items()}
            time.sleep(WATCH_SECONDS)
            for name, program in watching.items():
                cpu[name].append((program.cpu() - before[name]) / WATCH_SECONDS)
                memory[name].append(program.rss())
    row: dict[str, object] = {}
    for name in checkouts:
        row[f"watching{name}: CPU of a core"] = f"{median(cpu[name]):.2%}"
        row[f"watching{name}: RSS MB"] = round(median(memory[name]), 1)
        if name:
            row[f"watching: CPU / that{name}"] = round(median(cpu[""]) / median(cpu[name]), 2)
    return row


def _python(checkout: Path) -> Path:
    own = checkout / ".venv/bin/python"
    return own if own.exists() else Path(sys.executable)


def _cockpit(checkout: Path, boxes: Boxes, place: str) -> tuple[list[str], dict[str, str]]:
    """The command and environment of a cockpit with a new, empty state directory."""
    env = _environment(checkout, tempfile.mkdtemp(dir=place)) | boxes.key
    return [str(_python(checkout)), "-m", "gpu_tui", "--fleet", str(boxes.fleet)], env


def _environment(checkout: Path, home: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "HOME": home, "XDG_STATE_HOME": home, "PYTHONPATH": str(checkout),
        "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8",
    }  # fmt: skip


@contextmanager
def _boxes(checkout: Path, place: str) -> Iterator[Boxes]:
    """The eight boxes of a demo, for as long as the block lasts."""
    fleet = Path(tempfile.mkdtemp(dir=place)) / "fleet.yaml"
    argv = [str(_python(checkout)), "-m", "gpu_tui", "demo", "--boxes-only", "--fleet-out", str(fleet)]  # fmt: skip
    with Program(argv, _environment(checkout, place)) as program:
        program.until("Ctrl-C")
        named = re.search(r"export (\w+)=(\S+)", program.text())
        assert named
        yield Boxes(fleet, {named[1]: named[2]})


if __name__ == "__main__":
    for key, value in measure([Path(word) for word in sys.argv[1:]]).items():
        print(f"{key:60} {value}")
