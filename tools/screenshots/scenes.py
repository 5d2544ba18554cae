"""Named moments of an invented sweep: for screenshots and for tests. Values only; nothing is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from gpu_tui.core.anchors import Anchors
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import LinkState, Money
from gpu_tui.core.gate import GateView, Rung, RungState, RungView
from gpu_tui.core.logs import LogSource
from gpu_tui.core.readings import CpuCounters, GpuError, GpuTable, Host, Memory
from gpu_tui.core.sweep import CellState, Queue
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.cost import STORAGE
from gpu_tui.state.views import Cost, CpuUse
from screenshots.builders import (
    DAY,
    GIB,
    NOW,
    SceneStore,
    absent,
    cell,
    done,
    fall,
    finding,
    fleet,
    followed,
    gpu,
    hung,
    instance,
    mount,
    read,
    tracks,
    training_log,
    view,
    wave,
)
from screenshots.scene_ablation import ablation
from screenshots.scene_edges import all_off, connecting, crowd, no_gpu, unreachable


def sweep() -> SceneStore:
    """Six boxes on two platforms: one diverged, one unreachable, one parked, one full of inodes."""
    price = Money(2.08, "CNY")
    diverged = training_log(12, nan_at=12)
    healthy = training_log(15)
    source = LogSource("/root/autodl-tmp/runs/logs/no_aug.log", "no_aug")
    other = LogSource("/root/autodl-tmp/runs/logs/depth_8b.log", "depth_8b")
    first = view(
        instance("autodl-1", "autodl", price, ("ablation",)), Verdict.RUNNING,
        tracks=tracks(
            gpus=read(GpuTable((gpu(0.97, 61.2),))),
            memory=read(Memory("cgroup2", int(43.1 * GIB), 64 * GIB, int(60.2 * GIB), 0)),
            cpu=read(CpuCounters(16, 9000, 1, 0, 91)),
            mounts=read((mount("/", 18, 30, 3.1e5, 2e6), mount("/root/autodl-tmp", 41, 50, 8.1e5, 3.2e6),
                         mount("/root/autodl-fs", 11.4, 20, 1.91e5, 2.0e5)), 4, 5),
            host=read(Host(NOW, 31.4 * 3600, "b1")),
        ),
        cpu=CpuUse(16, 6.2, 0.02, 91), oom_baseline=0,
        queue=Queue(
            (
                done(1, "baseline", 131, 0.2144),
                cell(2, "no_aug", CellState.RUNNING, epoch=12, loss=math.nan, started_at=NOW - 5100,
                     duration_seconds=5100, eta_seconds=3400, why=None, metrics={"psnr": 28.56, "ssim": 0.852}),
                cell(3, "depth_8", CellState.PENDING), cell(4, "depth_16", CellState.PENDING),
                cell(5, "wide_x2", CellState.PENDING),
            ), total=5, eta_seconds=26900,
        ),
        findings=[
            finding("nan", Severity.FATAL, "autodl-1", "epoch 12/20  step 1500/2000  loss nan", f"log:{source.path}:62",
                    cell="no_aug", count=2),
            finding("inode_full", Severity.SERIOUS, "autodl-1", "/root/autodl-fs: 96% of 200.0k inodes used", "df -i", ago=210),
        ],
        logs=(followed(diverged, source),),
        series={"gpu": wave(0.95, 0.04), "gpu_memory": wave(0.76, 0.01), "memory": wave(0.66, 0.05),
                "loss:baseline": fall(1.7, 0.214), "loss:no_aug": (*fall(1.7, 0.31, 60), (NOW - 30, None))},
        full_in={"/root/autodl-fs": 5400.0, "/root/autodl-tmp": 190000.0},
    )  # fmt: skip
    second = view(
        instance("autodl-2", "autodl", price, ("ablation",)), Verdict.RUNNING,
        because=("a process of the run is alive",),
        tracks=tracks(
            gpus=read(GpuTable((gpu(0.88, 54.0),))),
            memory=read(Memory("cgroup2", int(31 * GIB), 64 * GIB, int(35 * GIB), 0)),
            cpu=read(CpuCounters(16, 9000, 1, 0, 12)),
            mounts=read((mount("/", 12, 30, 2e5, 2e6), mount("/root/autodl-tmp", 22, 50, 4e5, 3.2e6))),
        ),
        cpu=CpuUse(16, 4.0, 0.0, 12), oom_baseline=0,
        queue=Queue((done(1, "depth_4", 118, 0.231),
                     cell(2, "depth_8b", CellState.RUNNING, epoch=15, loss=0.2497, started_at=NOW - 6000,
                          duration_seconds=6000, eta_seconds=2000)), total=2, eta_seconds=2000),
        logs=(followed(healthy, other),),
        series={"gpu": wave(0.88, 0.08), "loss:depth_8b": fall(1.6, 0.22)},
    )  # fmt: skip
    third = view(
        instance("runpod-h100", "runpod", Money(2.69, "USD"), ("big",)), Verdict.UNREACHABLE,
        link=LinkState("timeout", NOW - 190, "runpod-h100: no answer from 203.0.113.7:22113 in 15 s",
                       "look at the pod in the provider's console; the cockpit tries again by itself"),
        tracks=tracks(
            gpus=read(GpuTable((gpu(0.93, 70, name="NVIDIA H100 80GB HBM3"),)), 190),
            memory=read(Memory("cgroup1", int(88 * GIB), 125 * GIB, None, 0), 190),
            cpu=read(CpuCounters(24, 1, 1, 0, 30), 190),
            mounts=read((mount("/workspace", 71, 100, 9e4, None),), 190),
        ),
        cpu=CpuUse(24, 8.1, 0.0, 30),
        queue=Queue((cell(1, "scale_1b", CellState.CANNOT_TELL, epoch=7, loss=2.113, started_at=NOW - 30000,
                          why="started, no end line, and no process table was read"),), total=1),
        findings=[finding("unreachable", Severity.SERIOUS, "runpod-h100", "no answer from 203.0.113.7:22113 in 15 s", "link", ago=3)],
    )  # fmt: skip
    fourth = view(
        instance("autodl-3", "autodl", price), Verdict.OFF,
        link=LinkState("off", NOW - 14 * DAY),
        tracks=tracks(), anchors=Anchors("stopped", NOW - 14.1 * DAY, "api"),
        cost=Cost(None, "CNY", why={"per_hour": STORAGE}), uptime=None,
    )  # fmt: skip
    fifth = view(
        instance("runpod-4090", "runpod", Money(0.69, "USD")), Verdict.IDLE,
        tracks=tracks(
            gpus=read(GpuTable((gpu(0.0, 0.4, name="NVIDIA GeForce RTX 4090", memory_total=24 * GIB),))),
            memory=read(Memory("cgroup2", int(3 * GIB), 62 * GIB, int(40 * GIB), 1)),
            cpu=read(CpuCounters(12, 1, 1, 0, 2)),
            mounts=read((mount("/workspace", 30, 100, 1e4, None),)),
        ),
        cpu=CpuUse(12, 0.1, 0.0, 2), oom_baseline=0,
        queue=Queue((cell(1, "tiny", CellState.FAILED, epoch=3, loss=1.9, exit_code=137, started_at=NOW - 9000,
                          finished_at=NOW - 8000, duration_seconds=1000, why="exit 137"),), total=1, claimed_done=True),
        findings=[
            finding("host_oom", Severity.FATAL, "runpod-4090", "oom_kill 0 -> 1", "cgroup", cell="tiny", ago=7900),
            finding("idle_billing", Severity.WARN, "runpod-4090", "idle for 2h 11m: $1.51 so far", "clock", ago=1),
        ],
    )  # fmt: skip
    sixth = view(
        instance("lab-cpu", "generic-ssh", None),
        Verdict.RUNNING,
        tracks=tracks(
            gpus=read(GpuTable(error=GpuError("no-device", ""))),
            memory=hung("cat memory.current does not return (5 s)"),
            mounts=read((mount("/data", 800, 1800, 2e6, 1.2e8),)),
            cpu=absent("no cgroup here"),
        ),
        uptime=None,
    )
    store = SceneStore(fleet(first, second, third, fourth, fifth, sixth))
    store.logs = {("autodl-1", source): diverged, ("autodl-2", other): healthy}
    return store


def healthy() -> SceneStore:
    """Two boxes that need nobody."""
    store = sweep()
    good = [replace(v, findings=()) for v in store.fleet.instances if v.name == "autodl-2"]
    return SceneStore(fleet(*good), store.logs)


def empty() -> SceneStore:
    """No fleet at all."""
    return SceneStore(fleet(sweep=None))


SCENES: Mapping[str, Callable[[], SceneStore]] = {
    "sweep": sweep,
    "healthy": healthy,
    "empty": empty,
    "ablation": ablation,
    "connecting": connecting,
    "unreachable": unreachable,
    "off": all_off,
    "no-gpu": no_gpu,
    "crowd": crowd,
}


# --- the ladder -------------------------------------------------------------------------------

_PASSED: tuple[tuple[Rung, str, tuple[str, ...]], ...] = (
    (Rung.PLAN, "Plan", ("release: the meter stops; deletes system disk, data disk; cannot be undone",)),
    (Rung.QUIESCE, "Quiesce", ("nothing writes to the results: no trainer, no open file, 41 s without a change",)),
    (Rung.MANIFEST, "Manifest", ("14 files, 11.4 GiB on the box, each with its SHA-256",)),
    (Rung.PULL, "Pull", ("14 of 14 files here, 11.4 GiB, resumed once",)),
    (Rung.MATCH, "Match", ("5 of 5 cells, 14 hashes equal, nothing missing, nothing unexpected",)),
    (Rung.LOAD, "Load", ("5 checkpoints loaded in a child process, 0 non-finite weights",)),
)  # fmt: skip


def ladder_ready(*, ready_at: float = 0.0, expires_at: float | None = None) -> GateView:
    """Six rungs climbed; the phrase is asked for."""
    rungs = [RungView(rung, title, RungState.PASSED, lines) for rung, title, lines in _PASSED]
    rungs += [
        RungView(Rung.CONFIRM, "Confirm", RungState.WORKING, ("waiting for a person",)),
        RungView(Rung.ACT, "Act", RungState.WAITING),
        RungView(Rung.READ_BACK, "Read back", RungState.WAITING),
    ]
    return GateView(
        "autodl-1", "release", "release", "ready", tuple(rungs), "autodl-1-3f9c",
        ready=True, ready_at=ready_at, expires_at=expires_at,
    )  # fmt: skip


def ladder_blocked() -> GateView:
    """The match failed: two files are missing here, and only giving them up goes on."""
    rungs = [RungView(rung, title, RungState.PASSED, lines) for rung, title, lines in _PASSED[:4]]
    rungs += [
        RungView(Rung.MATCH, "Match", RungState.BLOCKED,
                 ("2 files differ: no_aug/best.pth, no_aug/best_metrics.json",),
                 next="pull again, or look at why they change on the box"),
        *(RungView(rung, title, RungState.WAITING) for rung, title in (
            (Rung.LOAD, "Load"), (Rung.CONFIRM, "Confirm"), (Rung.ACT, "Act"), (Rung.READ_BACK, "Read back"))),
    ]  # fmt: skip
    return GateView(
        "autodl-1", "release", "release", "blocked", tuple(rungs), "autodl-1-3f9c",
        closed_because="2 files here are not what the box has",
        lost_paths=("/root/autodl-tmp/no_aug/best.pth", "/root/autodl-tmp/no_aug/best_metrics.json"),
        lost_sizes=(412_300_288, 1_204),
        abandon_phrase="abandon 2 files on autodl-1",
    )  # fmt: skip
