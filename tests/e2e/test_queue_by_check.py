"""A real queue script on a real sshd: resumed at an index, appended to while it runs, torn and killed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sweep import Sweep
from test_check_real_box import write_fleet

from gpu_tui.resources import load_profiles
from gpu_tui.settings import load_fleet
from gpu_tui.state.contract import check_json
from gpu_tui.wiring.once import collect_once

# One cell that fails, one whose trainer waits for us, one that the first start never comes to.
CELLS = ("first", "hold_a", "实验三")


@pytest.fixture
def sweep(box) -> Iterator[Sweep]:  # type: ignore[no-untyped-def]
    made = Sweep(box.home, CELLS)
    yield made
    made.kill()


async def queue_of(box: Any, path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    fleet = load_fleet(write_fleet(path, box), load_profiles())
    view = await collect_once(fleet, state=path)
    (lab,) = json.loads(json.dumps(check_json(view)))["instances"]
    return lab, {cell["name"]: cell for cell in lab["queue"]["cells"]}


def states(cells: dict[str, Any]) -> dict[str, str]:
    return {name: cell["state"] for name, cell in cells.items()}


async def test_killed_resumed_appended_and_ended(box, sweep: Sweep, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    sweep.start()
    assert await asyncio.to_thread(sweep.wait_ready) == "hold_a"
    sweep.kill()
    lab, cells = await queue_of(box, tmp_path)
    assert lab["verdict"] == "crashed"
    # Killed after its last epoch, before its wrapper had copied anything.
    assert states(cells) == {"first": "finished", "hold_a": "suspicious", "实验三": "pending"}

    # Again from the second cell; while it runs, somebody appends two lines, one of which is no cell.
    sweep.start(index=2)
    assert await asyncio.to_thread(sweep.wait_ready) == "hold_a"
    sweep.append("conf/late.yaml reconstruction 3\nlonely\n")
    lab, cells = await queue_of(box, tmp_path)
    assert lab["verdict"] == "running"
    assert states(cells) == {
        "first": "finished", "hold_a": "running", "实验三": "pending", "late": "pending",
    }  # fmt: skip
    assert (lab["queue"]["total"], lab["queue"]["done"], lab["queue"]["failed"]) == (5, 1, 0)
    assert cells["first"]["metrics"] == {"psnr": 23.0}
    (line,) = [one for one in lab["findings"] if one["kind"] == "missing_cell"]
    assert 'line 7 "lonely": the task is missing' in line["evidence"]
    assert line["source"] == f"queue:{box.home}/queue.txt"

    await asyncio.to_thread(sweep.release)
    await asyncio.to_thread(sweep.wait_done)
    lab, cells = await queue_of(box, tmp_path)
    # The script ran the line that is no cell, too: as `lonely`, with an empty task.
    assert states(cells)["late"] == "finished"
    assert cells["lonely"]["index"] == 5
    assert (cells["实验三"]["epoch"], cells["实验三"]["metrics"]) == (3, {"psnr": 23.0})
    assert (lab["queue"]["total"], len(cells)) == (5, 5)
    master = sweep.log.read_text()
    assert "[5/3] " in master
    assert master.count("=== Queue ") == 2
    assert "counts 1 that were skipped" in json.dumps(lab["queue"]["notes"])
    assert lab["verdict"] == "finished"
