"""Findings for real processes: a stopped run, one that computes and prints into a buffer, and one that sleeps."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from boxes import Sshd
from test_check_real_box import check, write_fleet

from gpu_tui.core.findings import Finding
from gpu_tui.core.fleet import Fleet
from gpu_tui.core.sweep import Cell
from gpu_tui.wiring.fleet import open_fleet

# The box shows this machine's own processes: these names are unique to this run.
MOVES, STOPS, BUSY, SLEEPS = (
    f"{name}_{os.getpid()}" for name in ("moves", "stops", "busy", "sleeps")
)
PRINTS = "import time\nfor n in range(1, 9999):\n    print(f'step {n}/9999 loss 0.5', flush=True)\n    time.sleep(0.2)\n"
PROGRAMS = {
    MOVES: PRINTS,
    STOPS: PRINTS,
    BUSY: "import os\nos.nice(15)\nprint('step 1/9999 loss 0.5', flush=True)\nn = 0\nwhile True:\n    n += 1\n"
    "    if n % 9_000_000 == 0: print('step 2/9999 loss 0.5')\n",
    SLEEPS: "import time\nprint('step 1/9999 loss 0.5', flush=True)\nwhile True: time.sleep(0.2)\n",
}  # fmt: skip


@pytest.fixture
def runs(box: Sshd) -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Starts one of the programs, its output in a file, as `nohup python NAME.py > NAME.log &` does."""
    started: list[subprocess.Popen[bytes]] = []
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}

    def start(name: str) -> subprocess.Popen[bytes]:
        script = box.home / f"{name}.py"
        script.write_text(PROGRAMS[name])
        with (box.home / f"{name}.log").open("wb") as log:
            words = [sys.executable, str(script)]
            started.append(
                subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, start_new_session=True)
            )  # fmt: skip
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


async def test_check_and_cockpit_report_one_stopped_run_of_two(
    box: Sshd,
    runs: Callable[[str], subprocess.Popen[bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gpu_tui.state.stillness.CAUGHT_UP", 2.0)
    stops = [runs(name) for name in (MOVES, STOPS)][1]
    fleet_file = write_fleet(tmp_path, box)
    body = yaml.safe_load(fleet_file.read_text())
    for key in ("queue", "logs", "results"):
        del body["instances"][0][key]
    fleet_file.write_text(yaml.safe_dump(body))
    fleet = Fleet(None, (box.instance(stall_after=4.0),), None)
    async with (
        asyncio.timeout(180),
        open_fleet(fleet, read_only=True, state=tmp_path / "cockpit") as (room, tap),
    ):

        async def until(true: Callable[[dict[str, Cell], list[Finding]], bool]) -> list[Finding]:
            while True:
                view = room.store.view(room.clock.now())["box"]
                cells = {cell.name: cell for cell in view.queue.cells}
                if true(cells, [*view.findings]):
                    return [*view.findings]
                await tap.next(1.0)

        def told(findings: list[Finding], name: str) -> list[str]:
            return [one.evidence for one in findings if one.cell == name and one.kind == "stalled"]

        await until(lambda cells, _: {MOVES, STOPS} <= {name for name in cells if cells[name].step})
        stops.send_signal(signal.SIGSTOP)
        words = f"PID {stops.pid} is stopped by a signal (SIGSTOP or Ctrl-Z)"
        found = await until(
            lambda _, findings: any(one.startswith(words) for one in told(findings, STOPS))
        )
        assert len(told(found, STOPS)) == 1
        assert told(found, MOVES) == []

        code, seen = await check(fleet_file, tmp_path)
        (lab,) = seen["instances"]  # type: ignore[misc]
        assert (code, lab["verdict"]) == (1, "running")
        (one,) = [f for f in lab["findings"] if f["cell"] == STOPS]
        assert (one["kind"], one["severity"]) == ("stalled", "serious")
        assert one["evidence"].startswith(words)
        stops.kill()

        for name in (BUSY, SLEEPS):
            runs(name)
        names = {BUSY, SLEEPS}
        found = await until(
            lambda cells, _: all(
                name in cells and cells[name].still_seconds is not None for name in names
            )
        )
        assert told(found, BUSY) == []
        assert len(told(found, SLEEPS)) == 1
