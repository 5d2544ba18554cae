"""`check --json` against a real sshd whose box runs a real queue: right in every key it can know."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from sweep import Sweep

CELLS = ("baseline", "nan_lr", "later")


@pytest.fixture
def sweep(box) -> Iterator[Sweep]:  # type: ignore[no-untyped-def]
    made = Sweep(box.home, CELLS)
    made.start()
    yield made
    made.kill()


def write_fleet(path: Path, box, *others: dict[str, object]) -> Path:  # type: ignore[no-untyped-def]
    access = box.ssh_access
    row = {
        "name": "lab-1",
        "host": f"ssh://{access.user}@{access.host}:{access.port}",
        "platform": "generic-ssh",
        "price_per_hour": "2.50 USD",
        "queue": {"file": str(box.home / "queue.txt"), "log": str(box.home / "logs/master.log")},
        "logs": str(box.home / "logs") + "/{cell}.log",
        "results": {"remote": str(box.home / "durable"), "local": str(path / "results")},
        "mounts": ["/"],
        "ssh": {
            "known_hosts": access.known_hosts,
            "identity": access.identity,
            "config": access.config,
        },
    }
    fleet = path / "fleet.yaml"
    fleet.write_text(yaml.safe_dump({"sweep": "lab", "instances": [row, *others]}))
    return fleet


async def gpu_tui(*words: str, state: Path) -> tuple[int, bytes, bytes]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "gpu_tui",
        *words,
        env={**os.environ, "XDG_STATE_HOME": str(state)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out, err


async def check(fleet: Path, state: Path) -> tuple[int, dict[str, object]]:
    code, out, err = await gpu_tui("check", "--json", "--fleet", str(fleet), state=state)
    assert out, err.decode()
    return code, json.loads(out)


async def test_a_running_sweep_with_a_nan_cell(box, sweep: Sweep, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert await asyncio.to_thread(sweep.wait_ready) == "nan_lr"
    code, seen = await check(write_fleet(tmp_path, box), tmp_path)
    (lab,) = seen["instances"]
    assert lab["link"] == "live", lab
    assert lab["latency_seconds"] > 0
    # One reading: what a busy machine takes to hand it on counts as a clock that is behind (SKEW_SLACK).
    assert abs(lab["clock_skew_seconds"]) < 10
    assert lab["uptime_seconds"] > 0
    assert (lab["verdict"], code) == ("running", 1)

    queue = lab["queue"]
    assert (queue["total"], queue["done"], queue["failed"]) == (3, 1, 0)
    baseline, diverged, later = queue["cells"]
    assert (baseline["state"], baseline["exit_code"]) == ("finished", 0)
    assert baseline["artifact"] == "present"
    assert baseline["started_at"] <= baseline["finished_at"]
    assert (diverged["state"], diverged["epoch"], diverged["epochs"]) == ("running", 3, 3)
    assert diverged["loss"] is None
    assert diverged["why"]["loss"] == "nan"
    assert later["state"] == "pending"
    assert [cell["task"] for cell in queue["cells"]] == ["reconstruction"] * 3

    nan = next(found for found in lab["findings"] if found["kind"] == "nan")
    assert (nan["cell"], nan["severity"], nan["count"]) == ("nan_lr", "serious", 2)
    assert "nan" in nan["evidence"]
    assert nan["source"].startswith(f"log:{box.home}/logs/nan_lr.log:")

    real = shutil.disk_usage("/")
    (root,) = lab["mounts"]
    assert root["bytes_total"] == pytest.approx(real.total, rel=0.1)
    assert lab["memory"]["used"] > 0
    assert lab["cpu"]["host_load1"] is not None
    if shutil.which("nvidia-smi") is None:
        assert lab["gpus"] == []
        assert lab["gpu_error"]["kind"] == "no-nvidia-smi"
    assert lab["cost"]["per_hour"] == 2.5
    assert seen["verdict"] == "escalate"


async def test_a_finished_sweep_and_a_box_that_is_not_there(  # type: ignore[no-untyped-def]
    box, sweep: Sweep, tmp_path: Path
) -> None:
    await asyncio.to_thread(sweep.wait_ready)
    await asyncio.to_thread(sweep.release)
    assert await asyncio.to_thread(sweep.wait_done) == 0
    dead = {"name": "dead", "host": "ssh://root@127.0.0.1:9", "platform": "generic-ssh"}
    code, seen = await check(write_fleet(tmp_path, box, dead), tmp_path)
    lab, gone = seen["instances"]
    assert lab["verdict"] == "finished", lab
    states = {cell["name"]: cell["state"] for cell in lab["queue"]["cells"]}
    assert states == {"baseline": "finished", "nan_lr": "suspicious", "later": "finished"}
    assert (gone["link"], gone["verdict"]) == ("refused", "unreachable")
    assert gone["link_error"]
    assert gone["gpus"] == []
    assert gone["memory"] is None
    assert (seen["verdict"], code) == ("escalate", 1)


async def test_a_killed_run_is_crashed_not_running(box, sweep: Sweep, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    await asyncio.to_thread(sweep.wait_ready)
    sweep.kill()
    _, seen = await check(write_fleet(tmp_path, box), tmp_path)
    (lab,) = seen["instances"]
    assert lab["verdict"] == "crashed"
    (cell,) = [cell for cell in lab["queue"]["cells"] if cell["name"] == "nan_lr"]
    # Its log came to the last epoch: what was killed had trained, and its loss was NaN.
    assert cell["state"] == "suspicious"
    assert lab["queue"]["done"] == 1


async def test_a_broken_fleet_file_is_one_object_with_file_and_line(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("sweep: x\ninstances:\n  - name: a\n    hots: b\n")
    code, out, _ = await gpu_tui("check", "--json", "--fleet", str(fleet), state=tmp_path)
    error = json.loads(out)["error"]
    assert code == 2
    assert (error["file"], error["line"]) == (str(fleet), 4)
    assert "host" in (error["next"] + error["text"])
