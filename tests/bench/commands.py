"""What a command costs beside the import of its libraries: `python -m bench.commands [OTHER_CHECKOUT...]`.

`check` looks at the eight boxes of a demo; its CPU seconds are compared with those of `import asyncssh, httpx`. `triage`
reads a log of one line; its wall time is compared with that of `import asyncssh`. CPU times include child processes; the
boxes are another process. Each checkout has its own demo, which plays the same story from the same seed. In each round
every program runs once, in turns, and the table shows the medians. A cold run finds neither bytecode nor a cache of
gpu-tui, but the bytecode of its libraries. Where it says `no bytecode`, none is there, of the libraries neither.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "10"))
HERE = Path(__file__).resolve().parents[2]
LOGIN = ["-c", "import asyncssh"]
LOOK = ["-c", "import asyncssh, httpx"]
LINE = "RuntimeError: CUDA error: an illegal memory access was encountered\n"


class Bench:
    """Runs Python programs in turns and notes their CPU and wall times in seconds."""

    def __init__(self, home: Path, checkouts: dict[str, Path]) -> None:
        self.home = home
        self.checkouts = checkouts
        self.cpu: dict[str, list[float]] = {}
        self.wall: dict[str, list[float]] = {}

    def environment(self, checkout: Path) -> dict[str, str]:
        """The state is kept from run to run, as a user's is."""
        home = self.home / checkout.name
        home.mkdir(exist_ok=True)
        return {
            "PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "PYTHONPATH": str(checkout),
            "PYTHONPYCACHEPREFIX": str(self.home / "bytecode"),
        }  # fmt: skip

    def forget(self, checkout: Path) -> None:
        """Remove the bytecode and the caches of gpu-tui."""
        own = self.home / "bytecode" / str(checkout / "gpu_tui").lstrip("/")
        for place in (own, self.home / checkout.name / ".cache"):
            shutil.rmtree(place, ignore_errors=True)

    def run(self, name: str, argv: Sequence[str], env: dict[str, str]) -> None:
        """Run `python ARGV` and note its times as `name`."""
        with tempfile.TemporaryFile() as said:
            began = time.perf_counter()
            program = subprocess.Popen([sys.executable, *argv], env=env, stdout=said, stderr=said)
            _, status, used = os.wait4(program.pid, 0)
            wall = time.perf_counter() - began
            program.returncode = os.waitstatus_to_exitcode(status)
            if program.returncode not in (0, 1):  # 1: a box or a line is bad, and that is so here
                said.seek(0)
                raise RuntimeError(f"{name}: exit {program.returncode}: {said.read().decode()}")
        self.cpu.setdefault(name, []).append(used.ru_utime + used.ru_stime)
        self.wall.setdefault(name, []).append(wall)

    def round(self, fleets: dict[str, Path], keys: dict[str, str], log: Path) -> None:
        """Run every program once."""
        plain = self.environment(HERE)
        bare = {"PYTHONPYCACHEPREFIX": os.devnull, "PYTHONDONTWRITEBYTECODE": "1"}
        self.run("libraries", LOOK, plain)
        self.run("libraries, no bytecode", LOOK, plain | bare)
        self.run("asyncssh", LOGIN, plain)
        for name, checkout in self.checkouts.items():
            env = {**self.environment(checkout), "GPU_TUI_DEMO_KEY": keys[name]}
            check = ["-m", "gpu_tui", "check", "--fleet", str(fleets[name])]
            triage = ["-m", "gpu_tui", "triage", str(log)]
            self.run(f"check{name}", check, env)
            self.run(f"triage{name}", triage, env)
            self.run(f"check{name}, no bytecode", check, env | bare)
            self.forget(checkout)
            self.run(f"triage{name}, cold", triage, env)
            self.forget(checkout)
            self.run(f"check{name}, cold", check, env)


def measure(others: Sequence[Path] = ()) -> dict[str, object]:
    """Medians in ms, and the ratio of each command to the import of its libraries."""
    checkouts = {"": HERE, **{f" of {other.name}": other.resolve() for other in others}}
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        bench = Bench(Path(place), checkouts)
        fleets: dict[str, Path] = {}
        keys: dict[str, str] = {}
        for name, checkout in checkouts.items():
            fleets[name], keys[name] = stack.enter_context(
                _boxes(checkout, bench.environment(checkout))
            )
        log = bench.home / "log"
        log.write_text(LINE)
        for number in range(ROUNDS + 1):
            bench.round(fleets, keys, log)
            if not number:  # the first round writes the bytecode
                bench.cpu.clear()
                bench.wall.clear()
    return _table(bench)


def _table(bench: Bench) -> dict[str, object]:
    cpu = {name: median(times) for name, times in bench.cpu.items()}
    wall = {name: median(times) for name, times in bench.wall.items()}
    row: dict[str, object] = {}
    for name in cpu:
        row[f"{name}: CPU ms, wall ms"] = f"{cpu[name] * 1000:.0f}, {wall[name] * 1000:.0f}"
    for name in bench.checkouts:
        for how, libraries in (
            ("", "libraries"), (", cold", "libraries"), (", no bytecode", "libraries, no bytecode")
        ):  # fmt: skip
            row[f"check{name}{how} / libraries: CPU"] = round(
                cpu[f"check{name}{how}"] / cpu[libraries], 2
            )
        for how in ("", ", cold"):
            row[f"triage{name}{how} / asyncssh: wall"] = round(
                wall[f"triage{name}{how}"] / wall["asyncssh"], 2
            )
    return row


@contextmanager
def _boxes(checkout: Path, env: dict[str, str]) -> Iterator[tuple[Path, str]]:
    """The fleet file and the key of a demo's eight boxes, for as long as the block lasts."""
    fleet = Path(env["HOME"]) / "fleet.yaml"
    argv = ["-m", "gpu_tui", "demo", "--boxes-only", "--fleet-out", str(fleet)]
    with subprocess.Popen(
        [sys.executable, *argv], env=env, stdout=subprocess.PIPE, text=True
    ) as demo:
        assert demo.stdout is not None
        try:
            for line in demo.stdout:
                if found := re.search(r"GPU_TUI_DEMO_KEY=(\S+)", line):
                    yield fleet, found[1]
                    return
            raise RuntimeError("the demo has ended")
        finally:
            demo.terminate()


if __name__ == "__main__":
    for key, value in measure([Path(word) for word in sys.argv[1:]]).items():
        print(f"{key:60} {value}")
