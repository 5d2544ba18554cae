"""What a real card says is read whole, and what goes wrong on it is called by its name."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from boxes import Sshd
from sweep import Sweep
from test_check_real_box import check, gpu_tui, write_fleet

from gpu_tui.parse import nvidia_smi

pytestmark = pytest.mark.timeout(240)


async def looked(box: Sshd, where: Path) -> dict[str, Any]:
    """The box as one tick of `check` sees it."""
    _, seen = await check(write_fleet(where, box), where)
    (lab,) = seen["instances"]  # type: ignore[misc]
    return lab  # type: ignore[no-any-return]


def asked(*fields: str) -> list[str]:
    """What nvidia-smi says of the first card, field by field."""
    words = ["nvidia-smi", "-i", "0", f"--query-gpu={','.join(fields)}", nvidia_smi.FORMAT]
    return (
        subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip().split(", ")
    )


def command_line(pid: int) -> str:
    """As /proc of this machine, which is the box, has it."""
    return Path(f"/proc/{pid}/cmdline").read_text()


async def test_a_card_at_rest_is_read_whole(card_box: Sshd, tmp_path: Path) -> None:
    card = (await looked(card_box, tmp_path))["gpus"][0]
    uuid, total, limit, name = asked("uuid", "memory.total", "power.limit", "name")
    assert (card["uuid"], card["name"]) == (uuid, name)
    assert card["memory_total"] == int(total) << 20
    assert card["power_limit"] == float(limit)
    assert 0 <= card["utilization"] <= 1
    assert 0 < card["power"] <= card["power_limit"] * 1.1
    assert 10 < card["temperature"] < 100
    assert card["why"] == {}, "a field of it was not understood"


async def test_who_trains_on_the_card_is_seen(
    card_box: Sshd, run: Callable[..., Sweep], tmp_path: Path
) -> None:
    sweep = run("holds")
    assert await asyncio.to_thread(sweep.wait_ready) == "holds"
    lab = await looked(card_box, tmp_path)
    card = lab["gpus"][0]
    assert (lab["verdict"], lab["gpu_error"]) == ("running", None)
    assert 0 < card["utilization"] <= 1  # an average over a time that may have begun before the run
    assert card["memory_used"] > 200 << 20
    (process,) = card["processes"]
    assert process["memory_used"] > 200 << 20
    assert "python" in process["name"]
    assert "holds.yaml" in await asyncio.to_thread(command_line, process["pid"])
    await asyncio.to_thread(sweep.release)
    assert await asyncio.to_thread(sweep.wait_done) == 0
    lab = await looked(card_box, tmp_path)
    assert (lab["verdict"], lab["gpus"][0]["processes"]) == ("finished", [])


async def test_each_fault_has_its_name(
    card_box: Sshd, run: Callable[..., Sweep], tmp_path: Path
) -> None:
    sweep = run("learns", "overflows", "asserts", "diverges", "holds")
    assert await asyncio.to_thread(sweep.wait_ready) == "holds"
    lab = await looked(card_box, tmp_path)
    states = {cell["name"]: cell["state"] for cell in lab["queue"]["cells"]}
    assert states == {
        "learns": "finished",
        "overflows": "failed",
        "asserts": "failed",
        "diverges": "suspicious",
        "holds": "running",
    }
    told = {(found["cell"], found["kind"]) for found in lab["findings"] if found["cell"]}
    assert {("overflows", "gpu_oom"), ("asserts", "cuda_error"), ("diverges", "nan")} <= told, told
    assert not {cell for cell, _ in told} & {"learns", "holds"}, told


async def test_a_card_that_waits_for_data_is_not_idle(
    card_box: Sshd, run: Callable[..., Sweep], tmp_path: Path
) -> None:
    sweep = run("starves")
    await asyncio.to_thread(sweep.wait_ready)
    lab = await looked(card_box, tmp_path)
    assert lab["verdict"] == "running", lab
    assert lab["gpus"][0]["processes"]


async def test_a_killed_trainer_leaves_no_card_in_use(
    card_box: Sshd, run: Callable[..., Sweep], tmp_path: Path
) -> None:
    sweep = run("holds")
    await asyncio.to_thread(sweep.wait_ready)
    sweep.kill()
    lab = await looked(card_box, tmp_path)
    assert lab["verdict"] == "crashed"
    assert lab["gpus"][0]["processes"] == []


async def test_what_was_saved_from_the_card_comes_home_and_loads(
    card_box: Sshd, run: Callable[..., Sweep], tmp_path: Path
) -> None:
    sweep = run("learns")
    assert await asyncio.to_thread(sweep.wait_done) == 0
    fleet = write_fleet(tmp_path, card_box)
    code, out, err = await gpu_tui("pull", "lab-1", "--fleet", str(fleet), state=tmp_path)
    assert code == 0, (out + err).decode()
    assert (tmp_path / "results" / "learns" / "best.pth").stat().st_size > 1 << 20
