"""A queue runner and its training script, as a box's logs and files see them.

The grammar is run_queue.sh's; the bars are tqdm's. The numbers come from a loss curve with noise, not
from a table: another seed is another run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random

from gpu_tui.demo.box import GIB, Box
from gpu_tui.demo.cast import Part
from gpu_tui.demo.checkpoint import checkpoint_bytes, metrics_bytes, seeded_weights
from gpu_tui.demo.clock import Pace

RULE = "=" * 64
EPOCH_SECONDS = 20.0
LOADING_SECONDS = 2.0
PAUSE_SECONDS = 1.5
BAR_SECONDS = 0.5
BAR_WIDTH = 10
EIGHTHS = " ▏▎▍▌▋▊▉"


class Crash(Exception):
    """The training script dies: `last_words` go to the log, then the shell sees `code`."""

    def __init__(self, code: int, last_words: str) -> None:
        super().__init__(last_words)
        self.code = code
        self.last_words = last_words


@dataclass(slots=True)
class Progress:
    """Where one cell is. `epoch` and `step` count from 1."""

    epoch: int = 1
    step: int = 0
    steps: int = 500
    loss: float = 1.0
    haste: float = 1.0  # this moment's speed beside the epoch's


# Called before each bar: may change the progress' loss, change the box, or raise Crash.
Twist = Callable[[Progress], None]


def no_twist(_: Progress) -> None:
    """A run in which nothing happens."""


@dataclass(slots=True)
class QueueRun:
    """The queue of one box, being run by its script at its own pace."""

    part: Part
    box: Box
    pace: Pace
    random: Random
    gpu: float = 0.96
    gpu_memory: float = 0.72
    memory: float = 21.0 * GIB
    failed: list[str] = field(default_factory=list)
    runner: int = 0

    def write_roster(self) -> None:
        """Put the queue file into the box, as a person wrote it."""
        lines = ["# config  task  epochs", ""]
        lines += [
            f"configs/{cell}.yaml {self.part.task} {self.part.epochs}" for cell in self.part.cells
        ]
        self.box.write(self.part.queue_file, "\n".join(lines) + "\n", at=self.pace.now() - 900)

    def open(self) -> None:
        """Start the script: process and header."""
        name = self.part.queue_file.rpartition("/")[2]
        self.runner = self.box.spawn("bash", ("bash", "run_queue.sh", f"q/{name}"), self.pace.now())
        total = len(self.part.cells)
        self._queue(
            f"=== Queue q/{name}: {total} ablations, starting from 1 on {self.box.hostname} ===\n"
            f"{RULE}\n"
        )

    async def cell(self, name: str, twist: Twist = no_twist) -> int:
        """Run one cell to its end, whichever it is; returns its exit code."""
        index, total = self.part.cells.index(name) + 1, len(self.part.cells)
        epochs = self.part.epochs
        self._queue(
            f"{self._stamp()} [{index}/{total}] STARTING {name} ({self.part.task}, {epochs}ep)\n"
        )
        words = (
            "python",
            "-u",
            "train.py",
            "--config",
            f"configs/{name}.yaml",
            "--epochs",
            str(epochs),
        )
        self.box.trainer = self.box.spawn("python", words, self.pace.now(), self.runner)
        try:
            await self._train(name, epochs, twist)
            code = 0
        except Crash as crash:
            code = crash.code
            if code == 137:
                self._queue(crash.last_words)  # the shell says it; the script itself never could
            else:
                self._both(name, crash.last_words)
        self._rest()
        if code == 0:
            code = self._sync(name)
        if code:
            self.failed.append(name)
        self._queue(f"{self._stamp()} [{index}/{total}] FINISHED {name} (exit={code})\n")
        await self.pace.sleep(PAUSE_SECONDS)
        return code

    def close(self) -> None:
        """The script's last line; its process ends."""
        count, host = len(self.part.cells), self.box.hostname
        end = f"all {count} cell(s) exited 0"
        if self.failed:
            end = f"{len(self.failed)} cell(s) FAILED: {' '.join(self.failed)}"
        self._queue(f"{self._stamp()} === QUEUE DONE on {host} -- {end} ===\n")
        self.box.reap(self.runner)

    async def _train(self, name: str, epochs: int, twist: Twist) -> None:
        load = self.box.load
        self._both(
            name, f"loading configs/{name}.yaml\ndataset: 48,211 train / 2,004 val samples\n"
        )
        load.memory, load.cores = self.memory * 0.5, 5.0
        await self.pace.sleep(LOADING_SECONDS)
        load.gpu, load.gpu_memory = self.gpu, self.gpu_memory
        load.memory, load.cores = self.memory, 7.5
        steps = 500
        start, floor = self.random.uniform(0.8, 1.3), self.random.uniform(0.02, 0.05)
        at = Progress(steps=steps)
        for epoch in range(1, epochs + 1):
            began = self.pace.at
            while (spent := self.pace.at - began) < EPOCH_SECONDS:
                share = spent / EPOCH_SECONDS
                done = ((epoch - 1) + share) / epochs
                clean = floor + (start - floor) * math.exp(-4.5 * done)
                at.epoch, at.step = epoch, max(1, round(share * steps))
                at.loss = clean * self.random.gauss(1.0, 0.06)
                at.haste = self.random.gauss(1.0, 0.02)
                twist(at)
                self._both(name, "\r" + bar(at, epochs, spent, EPOCH_SECONDS))
                await self.pace.sleep(BAR_SECONDS)
            at.step = steps
            self._both(name, "\r" + bar(at, epochs, EPOCH_SECONDS, EPOCH_SECONDS) + "\n")
            self._end_of_epoch(name, epoch, epochs, at.loss)

    def _end_of_epoch(self, name: str, epoch: int, epochs: int, loss: float) -> None:
        psnr = -10 * math.log10(max(loss, 1e-4)) + 17.5 + self.random.gauss(0, 0.15)
        rate = 1e-3 * 0.5 * (1 + math.cos(math.pi * epoch / epochs))
        self._both(
            name,
            f"[Epoch {epoch}/{epochs}] train_loss={loss:.4f} val_loss={loss * 1.12:.4f} "
            f"psnr={psnr:.2f} ssim={1 - loss / 3:.4f} lr={rate:.2e} time={EPOCH_SECONDS:.1f}s\n",
        )
        if not math.isnan(loss):
            self._checkpoint(
                f"{self.part.data}/checkpoints/{name}", epoch, {"psnr": round(psnr, 3)}
            )

    def _checkpoint(self, folder: str, epoch: int, metrics: dict[str, float]) -> None:
        data = checkpoint_bytes(seeded_weights(self.random, width=48), epoch)
        now = self.pace.now()
        self.box.write(f"{folder}/best.pth", data, at=now)
        self.box.write(f"{folder}/best_metrics.json", metrics_bytes(epoch, metrics), at=now)

    def _sync(self, name: str) -> int:
        """Copy the best checkpoint to the durable disk; exit 2 where that fails."""
        source, now = self.box.home / f"{self.part.data}/checkpoints/{name}", self.pace.now()
        target = f"{self.part.results}/{name}"
        try:
            for file in ("best.pth", "best_metrics.json"):
                self.box.write(f"{target}/{file}", (source / file).read_bytes(), at=now)
        except FileNotFoundError:
            reason = "best.pth or best_metrics.json is missing."
            self._queue(f"{self._time()} !! DURABLE SYNC BLOCKED for {name} — {reason}\n")
            return 2
        except OSError as error:
            reason = f"cp: cannot create '/root/{target}': {error.strerror}"
            self._queue(f"{self._time()} !! DURABLE SYNC FAILED for {name} — {reason}\n")
            return 2
        self._queue(
            f"{self._time()} kept best.pth, pruned latest.pth for {name}\n"
            f"{self._time()} synced {name} to durable storage (/root/{target})\n"
        )
        return 0

    def _rest(self) -> None:
        """The training process is gone; card and memory come free."""
        self.box.reap(self.box.trainer)
        self.box.trainer = None
        self.box.load.gpu = self.box.load.gpu_memory = 0.0
        self.box.load.memory, self.box.load.cores = 2.0 * GIB, 0.3

    def say(self, cell: str, text: str) -> None:
        """What the training script prints besides its bars."""
        self._both(cell, text)

    def _both(self, cell: str, text: str) -> None:
        """The script's output: into its own log, and through `tee` into the queue's."""
        self.box.append(self.part.cell_log(cell), text, at=self.pace.now())
        self._queue(text)

    def _queue(self, text: str) -> None:
        self.box.append(self.part.queue_log, text, at=self.pace.now())

    def _local(self) -> datetime:
        offset = self.box.hardware.utc_offset * 3600
        return datetime.fromtimestamp(self.pace.now() + offset, UTC)

    def _stamp(self) -> str:
        return self._local().strftime("[%Y-%m-%d %H:%M:%S]")

    def _time(self) -> str:
        return self._local().strftime("[%H:%M:%S]")


def bar(at: Progress, epochs: int, spent: float, whole: float) -> str:
    """One tqdm bar without its carriage return."""
    share = at.step / at.steps
    eighths = round(share * BAR_WIDTH * 8)
    blocks = "█" * (eighths // 8)
    if len(blocks) < BAR_WIDTH:
        blocks += EIGHTHS[eighths % 8]
    rate = (at.step / spent if spent else at.steps / whole) * at.haste
    left = max(0.0, whole - spent)
    return (
        f"Epoch {at.epoch}/{epochs}: {share * 100:3.0f}%|{blocks:<{BAR_WIDTH}}| {at.step}/{at.steps} "
        f"[{_span(spent)}<{_span(left)}, {rate:5.2f}it/s, loss={at.loss:.4f}]"
    )


def _span(seconds: float) -> str:
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"
