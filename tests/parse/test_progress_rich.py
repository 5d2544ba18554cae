"""Bars that `rich` itself draws, in many orders of its columns, and lines that other libraries drew: what is
told of them is what they show. A wrong number is worse than none.
"""

from __future__ import annotations

import io
import random
from collections.abc import Iterator

import pytest
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from gpu_tui.core import logs
from gpu_tui.parse.lines import unescape
from gpu_tui.parse.progress import parse_progress

FIELDS = ("epoch", "epochs", "step", "steps", "percent", "elapsed_seconds", "eta_seconds", "rate_per_second", "loss")  # fmt: skip
PLAIN = dict.fromkeys(("•", "<", "[", "]", ",", "eta", "elapsed", "loss: 0.3123"))


class Pace(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed or 0.0:.2f} it/s")


def column(name: str) -> ProgressColumn:
    if name in PLAIN:
        return TextColumn(name.replace("[", "\\["))
    made: dict[str, ProgressColumn] = {
        "title": TextColumn("[progress.description]{task.description}"),
        "bar": BarColumn(),
        "wide": BarColumn(bar_width=None),
        "percent": TaskProgressColumn(),
        "share": TextColumn("{task.description} {task.percentage:>4.0f}%"),
        "count": MofNCompleteColumn(),
        "plain": TextColumn("{task.completed:,}/{task.total:,}"),
        "elapsed_": TimeElapsedColumn(),
        "left": TimeRemainingColumn(),
        "speed": TransferSpeedColumn(),
        "rate": TaskProgressColumn("", show_speed=True),
        "pace": Pace(),
        "bytes": DownloadColumn(),
        "spinner": SpinnerColumn(),
    }
    return made[name]


def drawn(
    columns: list[str],
    title: str = "Training",
    done: int = 250,
    total: int | None = 1000,
    *,
    seconds: float = 0.2,
    width: int = 110,
    color: str | None = "standard",
    ascii: bool = False,
) -> tuple[str, Task]:
    """The last row, as a log holds it, and what it was drawn from."""
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, "ascii" if ascii else "utf-8", errors="replace")
    console = Console(
        file=file,
        force_terminal=True,
        width=width,
        legacy_windows=False,
        color_system=color,  # type: ignore[arg-type]
    )
    now = 0.0
    bars = Progress(
        *map(column, columns), console=console, auto_refresh=False, get_time=lambda: now
    )
    with bars:
        task = bars.add_task(title, total=total)
        for _ in range(done):
            now += seconds
            bars.update(task, advance=1)
        bars.refresh()
        file.flush()
        rows = raw.getvalue().replace(b"\n", b"\r").split(b"\r")
        texts = [unescape(row)[0] for row in rows]
        return next(text for text in reversed(texts) if text.strip()), bars.tasks[0]


def told(found: logs.Progress | None) -> dict[str, float | str]:
    return {
        name: value
        for name in (*FIELDS, "phase")
        if found is not None and (value := getattr(found, name)) is not None
    }


STEP = {"step": 250, "steps": 1000}
HALF = {"percent": 25}
TIMES = {"elapsed_seconds": 50, "eta_seconds": 151}
ORDERS = [
    ("title bar percent left", HALF | {"eta_seconds": 151}),
    ("title bar percent left loss: 0.3123", HALF | {"eta_seconds": 151, "loss": 0.3123}),
    ("title bar count", STEP),
    ("title bar count percent left", STEP | HALF),
    ("title bar percent count elapsed_ • left", STEP | HALF | TIMES),
    ("spinner title bar count elapsed_ < left loss: 0.3123", STEP | TIMES | {"loss": 0.3123}),
    ("title bar percent left elapsed_", HALF),  # which is which is not said
    ("title bar percent elapsed_ left", HALF),
    ("title bar percent elapsed elapsed_ eta left", HALF | TIMES),
    ("title bar percent eta left", HALF | {"eta_seconds": 151}),
    ("title bar count left • elapsed_", STEP),  # the times say that they are turned round
    ("title bar count elapsed_", STEP),
    ("title bar count left", STEP),
    ("title percent bar count elapsed_ left", STEP | HALF),
    ("title count bar percent left", STEP | HALF),
    ("spinner bar percent elapsed_ title", HALF),
    ("title wide percent • count • elapsed_ < left", STEP | HALF | TIMES),
    ("title bar bytes speed left", {"phase": "load"}),
    ("title bar bytes speed eta left", {"eta_seconds": 151, "phase": "load"}),
    ("title bar percent speed", HALF),
    ("share wide plain [ elapsed_ < left , pace ]", STEP | HALF | TIMES | {"rate_per_second": 5}),  # of tqdm.rich
    ("title bar count elapsed_ • left pace", STEP | TIMES | {"rate_per_second": 5}),  # of Lightning
    ("bar title percent left", {}),
]  # fmt: skip
LOOKS: list[dict[str, object]] = [
    {},
    {"width": 72},
    {"width": 200},
    {"color": None},
    {"ascii": True},
    {"color": None, "width": 200},
]


def split(order: str) -> list[str]:
    return [word.replace("=", ": ") for word in order.replace("loss: ", "loss=").split()]


@pytest.mark.parametrize(("order", "expected"), ORDERS, ids=[order for order, _ in ORDERS])
@pytest.mark.parametrize(
    ("title", "epoch"),
    [("Training", {}), ("Epoch 2/10", {"epoch": 2, "epochs": 10}), ("Epoch 3", {"epoch": 3})],
    ids=["word", "of", "epoch"],
)
def test_rows_are_read(
    order: str, expected: dict[str, float], title: str, epoch: dict[str, int]
) -> None:
    for look in LOOKS:
        if "ascii" in look and ("•" in order or order == "title bar count"):
            continue  # ASCII has no such dot, and a row of dashes before two numbers may be anything
        line, _ = drawn(split(order), title, **look)  # type: ignore[arg-type]
        found = told(parse_progress(line))
        assert found == pytest.approx(expected | epoch), line


def rows() -> Iterator[tuple[list[str], str, str, Task]]:
    chance = random.Random(8)
    pool = ["percent", "count", "elapsed_", "left", "speed", "spinner", "rate", "loss: 0.3123"]
    for _ in range(250):
        columns = chance.sample(pool, chance.randint(1, 5))
        columns.insert(chance.randint(0, len(columns)), "bar")
        columns.insert(chance.randint(0, len(columns)), "title")
        title = chance.choice(["Training", "Epoch 2/10", "fold 3", "[2/10] fold"])
        total = chance.choice([1000, 1000, 1000, None])
        line, task = drawn(
            columns,
            title,
            chance.choice([0, 1, 250, 500, 999, 1000]),
            total,
            seconds=chance.choice([0.05, 0.3, 40.0]),
            width=chance.choice([60, 110, 200]),
            color=chance.choice(["standard", None]),
        )
        yield columns, title, line, task


def test_no_order_of_columns_makes_anything_up() -> None:
    seen = 0
    for columns, title, line, task in rows():
        found = told(parse_progress(line))
        alone = len({"elapsed_", "left"} & set(columns)) == 1 and "elapsed_" in columns
        shows_bar = "━" in line
        real: dict[str, float | None] = {
            "step": task.completed,
            "steps": task.total,
            "percent": task.percentage if task.total else None,
            "elapsed_seconds": task.elapsed,
            # A share and one time are rich's own columns; another program's look alike.
            "eta_seconds": task.elapsed if alone else task.time_remaining,
            "rate_per_second": task.speed,
            "epoch": 2 if "Epoch" in title else None,
            "epochs": 10 if "Epoch" in title else None,
            "loss": 0.3123,
        }
        for name, value in found.items():
            if name != "phase" and (shows_bar or title != "[2/10] fold"):
                seen += 1
                assert real[name] == pytest.approx(value, rel=0.05, abs=1.01), (name, line)
    assert seen > 300


OTHERS = [
    # tqdm.rich, where the whole is known and where it is not
    ("Epoch 2/10  25% ━━━━━━━━━━━━╺━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 250/1,000  [ 0:00:50 < 0:02:31 , 5 it/s ]",
     STEP | HALF | TIMES | {"rate_per_second": 5, "epoch": 2, "epochs": 10}),
    ("Training   0% ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 250/?  [ 0:00:50 <  , 5 it/s ]", {"step": 250, "rate_per_second": 5}),
    # pulses
    ("Epoch 2/10 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━", {"epoch": 2, "epochs": 10}),
    ("[2/10] Working ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━   0:00:50", {}),
    # a narrow terminal cuts columns
    ("Training ━━╺━━━━━━  250/10… 0:00:50 < 0:02:31 loss: 0.3123", {"loss": 0.3123}),
    # rounded to the end
    ("Training ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╸ 100% 0:00:01", {"percent": 100}),
    # alive-progress
    ("Epoch 2/10 [========================================] 1000/1000 [100%] in 0.1s (19332.07/s) ", {"epoch": 2, "epochs": 10}),
    ("Epoch 2/10 [========================================] 250 in 0.1s (4957.82/s) ", {"epoch": 2, "epochs": 10}),
    ("fold 2/10 [======>.............] 25%", HALF),
    # ultralytics
    ("Training: 0% ──────────── 1/1000 1.5it/s 0.2s<11:06", {"percent": 0, "step": 1, "steps": 1000, "rate_per_second": 1.5, "elapsed_seconds": 0.2, "eta_seconds": 666}),
    # click, progressbar2, enlighten, Keras
    ("Epoch 2/10  [#########---------------------------]   25%  00:02:30", HALF | {"epoch": 2, "epochs": 10}),
    ("Epoch 2/10  25% 250 of 1000 |##########            | Elapsed Time: 0:00:50 ETA:   0:02:30", {"epoch": 2, "epochs": 10, "elapsed_seconds": 50, "eta_seconds": 150}),
    ("Epoch 2/10  25%|█████▌                 |  250/1000 [00:50<02:30, 5.00 it/s]", STEP | HALF | {"epoch": 2, "epochs": 10, "elapsed_seconds": 50, "eta_seconds": 150, "rate_per_second": 5}),
    (" 250/1000 ━━━━━━━━━━━━━━━━━━━━ 2:30 200ms/step - loss: 0.5000", STEP | {"eta_seconds": 150, "rate_per_second": 5, "loss": 0.5}),
    (" 250/1000 ━━━━━━━━━━━━━━━━━━━━ 1:02:03 5s/step - loss: 0.5000", STEP | {"eta_seconds": 3723, "rate_per_second": 0.2, "loss": 0.5}),
    # a spinner with a rate and a clock
    ("⠴ Epoch 3 5.0 it/s 0:00:50", {"epoch": 3, "rate_per_second": 5}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), OTHERS, ids=[line[:40] for line, _ in OTHERS])
def test_other_bars(line: str, expected: dict[str, float]) -> None:
    found = parse_progress(line)
    assert told(found) == pytest.approx(expected), line
    assert found is None or not found.metrics
