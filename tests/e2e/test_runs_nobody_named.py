"""A box of which the fleet file names nothing but the host: what runs there is found, with its log."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
import yaml
from test_check_real_box import check, write_fleet

from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Fleet
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.wiring.fleet import open_fleet

# The box shows this machine's own processes: beside the same test of another run these are ours alone.
VIT, FIRST, SECOND = (f"{name}_{os.getpid()}" for name in ("vit_b16", "first", "second"))
TRAINER = """
import time
for epoch in range(1, 400):
    print(f"Epoch {epoch}/400 - loss: {3 / epoch:.4f}", flush=True)
    if epoch == 1:
        open(__file__ + ".began", "w").close()
    time.sleep(0.2)
"""


async def tmux(*words: str) -> None:
    """The user's own server, as the box sees it."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("TMUX")}
    process = await asyncio.create_subprocess_exec("tmux", *words, env=plain)
    assert await process.wait() == 0


async def test_a_detached_run_is_found_with_its_progress(box, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    fleet = write_fleet(tmp_path, box)
    body = yaml.safe_load(fleet.read_text())
    for key in ("queue", "logs", "results"):
        del body["instances"][0][key]
    fleet.write_text(yaml.safe_dump(body))
    script = box.home / "train_vit.py"
    script.write_text(TRAINER)
    if shutil.which("tmux") is None:
        pytest.fail("tmux is not installed: apt-get install tmux")
    line = f"exec {sys.executable} {script} > {box.home}/{VIT}.log 2>&1"
    session = f"gpu-tui-test-{os.getpid()}"
    os.mkfifo(f"{script}.began")
    await tmux("new-session", "-d", "-s", session, line)
    try:
        await asyncio.to_thread(Path(f"{script}.began").read_bytes)  # its log has its first line
        _, seen = await check(fleet, tmp_path)
    finally:
        await tmux("kill-session", "-t", f"={session}")
    (lab,) = seen["instances"]  # type: ignore[misc]
    queue = lab["queue"]
    assert "by the list of what runs it" in lab["because"][0]
    # Its pane of tmux tells of the same program: one row, the one that has a log.
    assert session not in [cell["name"] for cell in queue["cells"]]
    (cell,) = [cell for cell in queue["cells"] if cell["name"] == VIT]
    assert cell["state"] == "running", json.dumps(queue)
    assert cell["epoch"] >= 1
    assert cell["epochs"] == 400
    assert cell["loss"] is not None


UNCOUNTED = """
import time
step = 0
while True:
    step += 1
    print(f"step {step} loss {3 / step:.4f}", flush=True)
    time.sleep(0.2)
"""


async def test_a_detached_run_that_is_killed_in_a_loop_is_told(box, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    script = box.home / "train_loop.py"
    script.write_text(UNCOUNTED)
    line = (
        f"for c in {FIRST} {SECOND}; do {sys.executable} {script} $c > {box.home}/$c.log 2>&1; done"
    )
    # bash writes "Killed" to its own stderr, and not into the log as dash does.
    loop = await asyncio.create_subprocess_exec(
        "bash", "-c", line, stdin=asyncio.subprocess.DEVNULL, start_new_session=True
    )
    fleet = Fleet(None, (box.instance(),), None)
    try:
        async with (
            asyncio.timeout(180),
            open_fleet(fleet, read_only=True, state=tmp_path) as (room, tap),
        ):

            def cell(name: str) -> Cell | None:
                cells = room.store.view(room.clock.now())["box"].queue.cells
                return next((one for one in cells if one.name == name), None)

            while (first := cell(FIRST)) is None or first.step is None:
                await tap.next(1.0)
            assert first.state is CellState.RUNNING
            os.kill(int(first.job or ""), signal.SIGKILL)
            # That its process is gone may be known before the list that tells what came in its place.
            while True:
                findings = room.store.view(room.clock.now())["box"].findings
                told = [one for one in findings if one.cell == FIRST]
                words = f"what started it went on with {SECOND}"
                if any(one.evidence.endswith(words) for one in told):
                    break
                await tap.next(1.0)
    finally:
        os.killpg(loop.pid, signal.SIGKILL)
        await loop.wait()
    (finding,) = told
    assert (finding.kind, finding.severity) == ("suspicious_end", Severity.WARN)
    assert "its log shows no total, and nothing says how it ended" in finding.evidence
