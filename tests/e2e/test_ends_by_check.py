"""Ends of runs that gpu-tui did not see end, by `check` and `report` over a real sshd."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from sweep import Sweep
from test_aliases import APART, MAY_UNSHARE
from test_check_real_box import check, gpu_tui, write_fleet

from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Fleet
from gpu_tui.state.contract import check_json
from gpu_tui.wiring.fleet import open_fleet

WITHOUT_A_WORD = """
import sys
for epoch in range(1, 38):
    print(f"Epoch {epoch}/100 loss {3 / epoch:.4f}", flush=True)
sys.exit(3)
"""


def child_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


async def test_a_trainer_that_outlived_its_runner_is_finished_by_its_log(  # type: ignore[no-untyped-def]
    box, tmp_path: Path
) -> None:
    sweep = Sweep(box.home, ("first", "hold"))
    sweep.start()
    runner = sweep._process
    assert runner is not None
    try:
        assert await asyncio.to_thread(sweep.wait_ready) == "hold"
        fleet = write_fleet(tmp_path, box)
        wrapper = os.pidfd_open(child_of(runner.pid))
        runner.kill()
        await asyncio.to_thread(runner.wait, 60)
        await asyncio.to_thread(sweep.release)
        await asyncio.to_thread(select.select, [wrapper], [], [], 60)
        _, seen = await check(fleet, tmp_path)
        _, report, _ = await gpu_tui("report", "--fleet", str(fleet), state=tmp_path)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(runner.pid, signal.SIGKILL)
    (lab,) = seen["instances"]  # type: ignore[misc]
    cells = {cell["name"]: cell for cell in lab["queue"]["cells"]}
    assert cells["hold"]["state"] == "finished", lab
    assert (
        cells["hold"]["why"]["state"] == "finished by its log; its runner was gone, so no exit code"
    )
    assert lab["verdict"] == "finished"
    # The box shows this machine's own processes: what is found of others is not of this sweep.
    assert [found for found in lab["findings"] if found["cell"] in cells] == []
    assert b"nothing is left to run" in report


async def test_a_run_that_left_with_an_error_and_no_word_is_never_healthy(  # type: ignore[no-untyped-def]
    make_box, tmp_path: Path
) -> None:
    # If possible the box has a PID namespace: otherwise a training of this machine may be the writer of the log.
    box = make_box(under=APART if MAY_UNSHARE else ())
    (box.home / "logs").mkdir()
    with (box.home / "logs/vit.log").open("wb") as log:
        command = [sys.executable, "-c", WITHOUT_A_WORD]
        ended = await asyncio.to_thread(subprocess.run, command, stdout=log, check=False)
    assert ended.returncode == 3
    os.utime(box.home / "logs/vit.log", (0.0, os.stat(box.home).st_mtime - 60))
    fleet = Fleet(None, (replace(box.instance(), logs=f"{box.home}/logs/{{cell}}.log"),), None)
    async with (
        asyncio.timeout(180),
        open_fleet(fleet, read_only=True, state=tmp_path) as (room, tap),
    ):
        while True:
            view = room.store.view(room.clock.now())
            told = [one for one in view["box"].findings if one.cell == "vit"]
            if told:
                break
            await tap.next(1.0)
    assert [(one.kind, one.severity) for one in told] == [("suspicious_end", Severity.WARN)]
    assert told[0].evidence.startswith("its log stops at epoch 37 of 100, and no process")
    assert check_json(view)["verdict"] in ("cannot-tell", "escalate")
