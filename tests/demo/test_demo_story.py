"""All eight stories, read from outside: over SSH, with the boxes' own programs."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import asyncssh
import pytest
from demo_boxes import Boxes, until

from gpu_tui.demo import story
from gpu_tui.demo.clock import StoryClock
from gpu_tui.demo.theatre import theatre


def queue_log(boxes: Boxes, name: str) -> str:
    path = boxes.rows[name]["queue"]["log"].removeprefix("~/")
    return (boxes.home(name) / path).read_bytes().decode()


async def test_the_healthy_run_has_bars_and_reaches_its_next_cell(boxes: Boxes) -> None:
    await until(lambda: "[3/5] STARTING ema_off" in queue_log(boxes, "vega"))
    log = queue_log(boxes, "vega")
    assert log.count("exit=0") >= 2
    assert re.search(r"\rEpoch 2/6:  \d\d%\|█+.? *\| \d+/500 \[00:\d\d<00:\d\d, +\d\d", log)
    losses = [float(value) for value in re.findall(r"train_loss=(\d\.\d+)", log)]
    assert losses[5] < losses[0] / 3
    query = "nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader,nounits"

    async def busy() -> bool:
        return all(int(line) > 50 for line in (await boxes.ask("vega", query)).split())

    await until(busy)  # between two cells the cards rest for a moment


async def test_a_loss_turns_nan_and_the_run_goes_on(boxes: Boxes) -> None:
    log = boxes.home("lyra") / "nfs/runs/logs/fp16_lr1e3.log"
    await until(lambda: b"train_loss=nan" in log.read_bytes())
    text = log.read_text()
    assert text.index("train_loss=") < text.index("loss=nan]")
    assert "Traceback" not in text


async def test_the_card_runs_out_and_the_next_cell_starts(boxes: Boxes) -> None:
    await until(lambda: "STARTING batch_48" in queue_log(boxes, "altair"))
    log = queue_log(boxes, "altair")
    trace = log[log.index("Traceback (most recent call last):") :]
    assert "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate" in trace
    assert "[1/3] FINISHED batch_64 (exit=1)" in trace


async def test_the_kernel_kills_the_run_and_only_the_queue_log_says_so(boxes: Boxes) -> None:
    await until(lambda: "FINISHED workers_16 (exit=137)" in queue_log(boxes, "deneb"))
    assert re.search(r"loss=\d\.\d{4}\]Killed\n\[", queue_log(boxes, "deneb"))
    own = boxes.home("deneb") / "autodl-tmp/runs/logs/workers_16.log"
    assert own.read_bytes().rstrip().endswith(b"]")
    cgroup = boxes.home("deneb").parent / "cgroup"
    await until(lambda: "oom_kill 1\n" in (cgroup / "memory.events").read_text())
    assert (cgroup / "memory.peak").read_text() == (cgroup / "memory.max").read_text()


async def test_inodes_fill_before_bytes_and_the_durable_copy_fails(boxes: Boxes) -> None:
    await until(lambda: "FINISHED patch_32" in queue_log(boxes, "rigel"))
    assert "FINISHED patch_32 (exit=2)" in queue_log(boxes, "rigel")
    assert "!! DURABLE SYNC FAILED for patch_32 — " in queue_log(boxes, "rigel")
    assert "[Errno 28] No space left on device" in queue_log(boxes, "rigel")
    said = await boxes.ask("rigel", "df -Pi ~/autodl-fs; df -Pk ~/autodl-fs")
    shares = re.findall(r"(\d+)% /", said)
    assert shares == ["100", "1"]


async def test_a_finished_queue_is_whole_on_the_durable_disk(boxes: Boxes) -> None:
    await until(lambda: "=== QUEUE DONE on" in queue_log(boxes, "polaris"))
    assert "all 3 cell(s) exited 0" in queue_log(boxes, "polaris")
    found = boxes.home("polaris") / "workspace/final_ckpts"
    for cell in ("seed_1", "seed_2", "seed_3"):
        assert (found / cell / "best.pth").stat().st_size > 50_000
        assert (found / cell / "best_metrics.json").exists()
    gone = "for p in $(ls -d [0-9]*); do tr '\\0' ' ' < $p/cmdline; done"
    proc = boxes.rows["polaris"]["roots"]["proc"]

    async def quiet() -> bool:
        return "train.py" not in await boxes.ask("polaris", f"cd {proc}; {gone}")

    await until(quiet)


async def test_a_dropped_link_comes_back_as_the_same_box_and_the_run_went_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes, and it comes back, no sooner than we have logged in, and have been refused."""
    logged_in, refused = asyncio.Event(), asyncio.Event()
    held = dict(zip(story.LINK_DOWN, (logged_in, refused), strict=True))
    wait = StoryClock.wait

    async def wait_for_us(clock: StoryClock, moment: float) -> None:
        await wait(clock, moment)
        if moment in held:
            await held[moment].wait()

    monkeypatch.setattr(StoryClock, "wait", wait_for_us)
    async with theatre(tmp_path, boxes=8, speed=4.0, seed=3) as stage:
        line = stage.lines["sirius"]
        log = stage.boxes[-1].home / "data/runs/logs/q1_master.log"

        async def login() -> asyncssh.SSHClientConnection:
            return await asyncssh.connect(
                "127.0.0.1",
                line.port,
                username="lab",
                client_keys=[str(stage.directory / "id_demo")],
                known_hosts=str(stage.directory / "known_hosts"),
                config=None,
                agent_path=None,
            )

        first = await login()
        logged_in.set()
        async with asyncio.timeout(60):
            await first.wait_closed()
        assert stage.clock.story() >= story.LINK_DOWN[0]
        before = log.stat().st_size
        with pytest.raises(ConnectionError):  # refused, or reset where the line is just going down
            await login()
        refused.set()
        await until(lambda: line.up)
        assert stage.clock.story() >= story.LINK_DOWN[1]
        async with await login() as again:
            assert (await again.run("hostname", check=True)).stdout == "sirius\n"
        assert log.stat().st_size > before


async def test_every_scene_is_timed_within_ninety_seconds() -> None:
    times = (
        story.NAN_FROM,
        story.CUDA_OOM_AT,
        *story.MEMORY_CLIMBS,
        *story.LINK_DOWN,
        story.INODES_FULL_AT,
        story.QUEUE_ENDS_AT,
    )
    assert all(0 < time < 90 for time in times)


async def test_another_seed_is_another_run_and_one_seed_is_one_run(tmp_path: Path) -> None:
    said = []
    for number, seed in enumerate((1, 1, 2)):
        place = tmp_path / str(number)
        place.mkdir()
        async with theatre(place, boxes=1, speed=0.01, seed=seed) as stage:
            log = stage.boxes[0].home / "workspace/runs/logs/baseline.log"
            said.append(re.findall(rb"loss=[0-9.]+", log.read_bytes()))
    assert said[0] == said[1] != said[2]
    assert len(said[0]) > 100
