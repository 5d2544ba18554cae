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
BARE = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("hello from here")
Bare().run()
"""
# Words that only the first frame shows with all panes: header, instances, clocks, vitals, queue, log and footer.
FILLED = ("8 connecting", "per h", "no clock is known", "not read yet", "the queue file", "its logs come", "quit")  # fmt: skip
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

        def note(name: str, argv: list[str], env: dict[str, str], words: Sequence[str]) -> None:
            with Program(argv, env, *SIZE) as program:
                seconds = program.until(*words)
                cpu.setdefault(name, []).append(program.cpu())
                wall.setdefault(name, []).append(seconds)

        for number in range(ROUNDS + 1):
            note("bare textual", bare, _environment(HERE, place), ("hello from here",))
            for name, at in checkouts.items():
                note(f"first frame{name}", *_cockpit(at, boxes[name], place), FILLED)
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
