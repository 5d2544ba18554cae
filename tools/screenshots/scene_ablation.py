"""An invented sweep of three queues in two currencies: one ends long after the others, one cannot be reached."""

from __future__ import annotations

import math
from dataclasses import replace

from gpu_tui.core.fleet import LinkState, Money, QueueFiles
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.views import InstanceView
from screenshots.builders import NOW, SceneStore, cell, done, fleet, instance, tracks, view

EPOCHS = 20
Points = tuple[tuple[float, float | None], ...]


def course(
    end: float, epochs: int = EPOCHS, *, slow: float = 4, lost: tuple[int, int] | None = None
) -> Points:
    """Losses by epoch, down to `end`; how slowly, and from and to which epoch they were NaN."""
    points = tuple(
        (
            epoch,
            None
            if lost and lost[0] <= epoch < lost[1]
            else end
            + 1.5 * math.exp(-epoch / slow)
            + 0.012 * math.sin(epoch * 2.3) * (21 - epoch) / 20,
        )
        for epoch in range(1, epochs + 1)
    )
    return (*points[:-1], (float(EPOCHS), end)) if epochs == EPOCHS else points


def ended(index: int, name: str, task: str, minutes: float, loss: float, psnr: float) -> Cell:
    """A cell that ended well, with its scores."""
    scores = {"psnr": psnr, "ssim": 0.8 + psnr / 250, "lpips": round(0.4 - psnr / 110, 4)}
    return replace(done(index, name, minutes, loss), task=task, metrics=scores)


def running(
    index: int, name: str, task: str, epoch: int, minutes: float, left: float, loss: float
) -> Cell:
    """A cell that runs now; what it still takes in minutes, give or take a tenth."""
    return cell(
        index, name, CellState.RUNNING, task=task, epoch=epoch, loss=loss, started_at=NOW - minutes * 60,
        duration_seconds=minutes * 60, eta_seconds=left * 60, eta_range=(left * 54, left * 67),
        metrics={"psnr": 27.31, "ssim": 0.902},
    )  # fmt: skip


def waiting(index: int, name: str, task: str) -> Cell:
    """A cell that never started."""
    return cell(index, name, CellState.PENDING, task=task)


def ablation() -> SceneStore:
    """Two boxes of one price and one dear one; the second has five cells to go when the first is nearly done."""
    rec, seg = "reconstruction", "segmentation"
    first = _box(
        "autodl-1", "autodl", Money(2.08, "CNY"),
        (
            ended(1, "baseline", rec, 61, 0.2144, 31.42),
            ended(2, "no_aug", rec, 58, 0.2611, 29.87),
            ended(3, "ema_off", rec, 63, 0.2203, 31.18),
            running(4, "wide_x2", rec, 16, 52, 12, 0.2318),
        ),
        {
            "baseline": course(0.2144), "no_aug": course(0.2611, slow=2.6),
            "ema_off": course(0.2203, slow=3.3, lost=(6, 9)), "wide_x2": course(0.22, 16),
        },
    )  # fmt: skip
    second = _box(
        "autodl-2", "autodl", Money(2.08, "CNY"),
        (
            ended(1, "depth_4", rec, 82, 0.2310, 30.66),
            cell(2, "lr_1e2", CellState.FAILED, task=rec, epoch=3, loss=math.nan, exit_code=1,
                 started_at=NOW - 9000, finished_at=NOW - 8100, duration_seconds=900.0, why="exit 1"),
            running(3, "depth_8", rec, 7, 30, 55, 0.4087),
            waiting(4, "depth_16", rec), waiting(5, "lr_3e4", rec), waiting(6, "big_lr", rec),
            waiting(7, "seed_2", rec),
        ),
        {"depth_4": course(0.231, slow=5.5), "lr_1e2": course(1.4, 3, lost=(3, 4)), "depth_8": course(0.24, 7)},
    )  # fmt: skip
    third = _box(
        "runpod-h100", "runpod", Money(2.69, "USD"),
        (
            ended(1, "seg_base", seg, 44, 0.1178, 33.05),
            replace(
                ended(2, "seg_tiny", seg, 12, 0.3901, 26.40), state=CellState.SUSPICIOUS,
                why="ended in less than half the typical time",
            ),
            cell(3, "seg_wide", CellState.CANNOT_TELL, task=seg, epoch=9, loss=0.1944, started_at=NOW - 2400,
                 why="started, no end line, and nothing says whether it still runs"),
            waiting(4, "seg_deep", seg),
        ),
        {"seg_base": course(0.1178), "seg_wide": course(0.15, 9)},
    )  # fmt: skip
    third = replace(
        third,
        verdict=Verdict.UNREACHABLE,
        link=LinkState("timeout", NOW - 190, "runpod-h100: no answer in 15 s"),
    )
    return SceneStore(fleet(first, second, third))


def _box(
    name: str, platform: str, price: Money, cells: tuple[Cell, ...], courses: dict[str, Points]
) -> InstanceView:
    of = replace(
        instance(name, platform, price),
        queue=QueueFiles(f"/root/q/{name}.txt", f"/root/q/{name}.log"),
    )
    queue = Queue(cells, f"/root/q/{name}.txt", f"/root/q/{name}.log", len(cells))
    series = {f"loss:{cell}": points for cell, points in courses.items()}
    return view(
        of, Verdict.RUNNING, tracks=tracks(), queue=queue, courses=courses,
        series={name: tuple((NOW + at * 180 - 3600, value) for at, value in points)
                for name, points in series.items()},
    )  # fmt: skip
