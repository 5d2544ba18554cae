"""Scenes at the edges: nothing known yet, nothing reached, all off, no GPU, and far too much of everything."""

from __future__ import annotations

from dataclasses import replace

from gpu_tui.core.anchors import Anchors
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import LinkState, Money, QueueFiles
from gpu_tui.core.readings import CpuCounters, GpuError, GpuTable, Memory
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
    finding,
    fleet,
    gpu,
    instance,
    mount,
    read,
    tracks,
    view,
)

CROWD = 300
LONG = "node-" + "0123456789" * 29 + "-east"  # 300 characters
PRICE = Money(2.08, "CNY")
UNSEEN = Cost(PRICE.amount, PRICE.currency)  # of a box that nobody has seen run


def connecting() -> SceneStore:
    """The first second: four boxes, and no answer from any of them yet."""
    return SceneStore(
        fleet(
            *(
                view(
                    instance(f"autodl-{n}", "autodl", PRICE), Verdict.CANNOT_TELL,
                    link=LinkState("connecting", NOW - 1), tracks=tracks(), uptime=None, cost=UNSEEN,
                )
                for n in range(1, 5)
            )
        )
    )  # fmt: skip


def unreachable() -> SceneStore:
    """The jump host is gone, and with it every box."""
    link = LinkState(
        "timeout", NOW - 900, "no answer from jump.example.org:22 in 15 s",
        "check the jump host: ssh jump.example.org", hop="jump.example.org",
    )  # fmt: skip
    found = finding("unreachable", Severity.SERIOUS, "autodl-1", link.error or "", "link", ago=3)
    return SceneStore(
        fleet(
            *(
                view(
                    instance(f"autodl-{n}", "autodl", PRICE), Verdict.UNREACHABLE, link=link,
                    tracks=tracks(), uptime=None, cost=UNSEEN, findings=[found] if n == 1 else (),
                )
                for n in range(1, 4)
            )
        )
    )  # fmt: skip


def all_off() -> SceneStore:
    """Every box is parked: nothing runs, and the clocks go on."""
    return SceneStore(
        fleet(
            *(
                view(
                    instance(f"autodl-{n}", "autodl", PRICE), Verdict.OFF,
                    link=LinkState("off", NOW - n * DAY), tracks=tracks(), uptime=None,
                    anchors=Anchors("stopped", NOW - n * DAY, "api"),
                    cost=Cost(None, "CNY", why={"per_hour": STORAGE}),
                )
                for n in (2, 9, 14)
            )
        )
    )  # fmt: skip


def no_gpu() -> SceneStore:
    """One box without a card, without a queue and without a log."""
    return SceneStore(
        fleet(
            view(
                replace(instance("lab-cpu", "generic-ssh", None), queue=QueueFiles()), Verdict.IDLE,
                tracks=tracks(
                    nohup=absent("nothing was started without a terminal"),
                    gpus=read(GpuTable(error=GpuError("no-device", ""))),
                    memory=read(Memory("cgroup2", int(3 * GIB), 62 * GIB, int(40 * GIB), 0)),
                    cpu=read(CpuCounters(12, 1, 1, 0, 2)),
                    mounts=read((mount("/data", 800, 1800, 2e6, 1.2e8),)),
                ),
                cpu=CpuUse(12, 0.1, 0.0, 2),
            )
        )
    )  # fmt: skip


def crowd() -> SceneStore:
    """Three hundred boxes, with names that no column was made for."""
    names = ["autodl-主机-训练", "🦊-fox", LONG, *(f"node-{n:03}" for n in range(CROWD - 3))]
    cells = ["消融实验-学习率-0.001", "🚀-ablation", "x" * 300, "baseline"]
    views = []
    for n, name in enumerate(names):
        bad = n % 97 == 5
        views.append(
            view(
                instance(name, "autodl", PRICE, ("crowd",)),
                Verdict.CRASHED if bad else Verdict.RUNNING,
                tracks=tracks(
                    gpus=read(GpuTable((gpu(0.3 + n % 7 / 10, 20 + n % 50),))),
                    memory=read(Memory("cgroup2", int((3 + n % 50) * GIB), 62 * GIB, None, 0)),
                    mounts=read((mount("/root/" + "数据" * (n % 3 * 20 + 1), 18, 30, 3.1e5, 2e6),)),
                ),
                queue=Queue(
                    (cell(1, cells[n % 4], CellState.RUNNING, epoch=n % 20, epochs=20, started_at=NOW - 900),),
                    total=1,
                ),
                findings=[finding("crashed", Severity.FATAL, name, "exit 139", "queue", ago=n)] if bad else (),
            )
        )  # fmt: skip
    return SceneStore(fleet(*views))
