"""What a TAB in a shell takes, against a bare interpreter. `cd tests && python -m bench tab`."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROUNDS = 10
LINES = (
    "gpu-tui ",
    "gpu-tui pull ",
    "gpu-tui pull box-1 --cells ",
    "gpu-tui watch ",
    "gpu-tui doctor --",
    "gpu-tui clocks mark ",
    "gpu-tui check --fleet ",
)


def measure() -> dict[str, object]:
    """Medians of rounds in which each line is completed once, in milliseconds of time and of the processor."""
    with tempfile.TemporaryDirectory() as kept:
        place = Path(kept)
        rows = "".join(
            f"  - {{name: box-{n}, host: h{n}, results: {{cells: [a, b]}}}}\n" for n in range(8)
        )
        (place / "fleet.yaml").write_text(f"instances:\n{rows}")
        (place / ".ssh").mkdir()
        (place / ".ssh/config").write_text("".join(f"Host h{n}\n" for n in range(50)))
        commands = {"python -c pass": ([sys.executable, "-c", "pass"], os.environ)}
        for line in LINES:
            env = {
                **os.environ, "HOME": kept, "_ARGCOMPLETE": "1", "_ARGCOMPLETE_SHELL": "bash",
                "_ARGCOMPLETE_STDOUT_FILENAME": os.devnull, "COMP_LINE": line,
                "COMP_POINT": str(len(line)),
            }  # fmt: skip
            commands[line] = ([sys.executable, "-m", "gpu_tui"], env)
        took: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, (command, env) in commands.items():
                began, before = time.perf_counter(), _cpu()
                subprocess.run(command, env=env, cwd=place, check=True, capture_output=True)
                took[name].append((time.perf_counter() - began, _cpu() - before))
    walls, cpus = ({name: median(run[n] for run in took[name]) for name in took} for n in (0, 1))
    bare = "python -c pass"
    return {
        f"`{name}`": f"{walls[name] * 1e3:.0f} ms ({walls[name] / walls[bare]:.1f} x), "
        f"CPU {cpus[name] * 1e3:.0f} ms ({cpus[name] / cpus[bare]:.1f} x)"
        for name in took
    }


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
