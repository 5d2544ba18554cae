"""The cells of all queues as one table that can be sorted by any column. Pure.

What has no value, NaN or Inf stands last whichever way the table is sorted.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from gpu_tui.core.campaign import RANK, Lane, Trust
from gpu_tui.core.listing import in_list_order
from gpu_tui.core.plain import plain
from gpu_tui.core.sweep import Cell, CellState

METRICS_SHOWN = 12  # a hostile log may name no end of metrics
METRIC_NAME = 24

# Where a metric of this name is better: only what everybody means by it.
HIGHER = frozenset(
    [
        "psnr",
        "ssim",
        "ms_ssim",
        "acc",
        "accuracy",
        "top1",
        "top5",
        "acc1",
        "acc5",
        "f1",
        "f1_score",
        "auc",
        "auroc",
        "map",
        "map50",
        "miou",
        "iou",
        "dice",
        "bleu",
        "rouge",
        "rouge1",
        "rouge2",
        "rougel",
        "r2",
        "precision",
        "recall",
        "reward",
    ]
)
LOWER = frozenset(
    [
        "loss",
        "val_loss",
        "mse",
        "rmse",
        "mae",
        "l1",
        "lpips",
        "fid",
        "kid",
        "wer",
        "cer",
        "ppl",
        "perplexity",
        "nll",
        "bpb",
        "bpc",
        "rel_l2",
        "err",
        "error",
    ]
)
SPLIT = re.compile(r"^(?:val|valid|validation|test|eval|best|final)[_/\-. ]+")

FIXED = ("cell", "task", "box", "state")
AFTER = ("epochs", "took", "left", "cost")
SCHEDULER_COLUMNS = ("limit", "restarts", "node")  # columns of a scheduler's jobs


@dataclass(frozen=True, slots=True)
class Row:
    """One cell of one box. `cost` is what it took at the present price, in `currency`. `scheduled`: by a scheduler."""

    box: str
    cell: Cell
    trust: Trust = Trust.LIVE
    cost: float | None = None
    currency: str | None = None
    scheduled: bool = False

    @property
    def key(self) -> str:
        """What makes it the same row at the next look."""
        if self.cell.tasks > 1:
            return f"{self.box}\n{self.cell.key}\n"
        return f"{self.box}\n{self.cell.index}\n{self.cell.name}"


@dataclass(frozen=True, slots=True)
class Order:
    """Sorted by which column, and whether the largest comes first."""

    column: str = ""
    falling: bool = False


def rows_of(lanes: Iterable[Lane]) -> tuple[Row, ...]:
    """Every cell of every queue, in the order of the queues."""
    return tuple(
        Row(lane.name, cell, lane.trust, _cost(lane, cell), lane.currency, lane.scheduled)
        for lane in lanes
        for cell in lane.queue.cells
    )


def as_listed(rows: Iterable[Row]) -> list[Row]:
    """The rows of each scheduler in the order of its list, with one row for the waiting tasks of an array."""
    shown: list[Row] = []
    for _, group in groupby(rows, key=lambda row: row.box):
        own = list(group)
        if own[0].scheduled:
            by_cell = {id(row.cell): row for row in own}
            own = [
                by_cell.get(id(cell)) or replace(own[0], cell=cell, cost=None)
                for cell in in_list_order(row.cell for row in own)
            ]
        shown += own
    return shown


def _cost(lane: Lane, cell: Cell) -> float | None:
    """The box's price for as long as the cell took; unknown where it shares the box with others."""
    took = cell.duration_seconds
    if took is None or not lane.per_hour or not lane.one_by_one or not math.isfinite(took):
        return None
    return took / 3600 * lane.per_hour


def metrics_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """The metrics that most cells tell, at most METRICS_SHOWN."""
    told = Counter(name for row in rows for name in row.cell.metrics)
    often = sorted(told, key=lambda name: (-told[name], name))[:METRICS_SHOWN]
    return tuple(often)


def metric_title(name: str) -> str:
    """A metric's name as a title."""
    return plain(name, METRIC_NAME)


def columns_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """Every column that the table can be sorted by; a metric is `metric:NAME`."""
    jobs = (
        name for name in SCHEDULER_COLUMNS if any(value_of(row, name) is not None for row in rows)
    )
    return (*FIXED, "loss", *(f"metric:{name}" for name in metrics_of(rows)), *AFTER, *jobs)


def value_of(row: Row, column: str) -> float | str | None:
    """What a row has in a column, to sort by."""
    cell = row.cell
    if column.startswith("metric:"):
        return cell.metrics.get(column.removeprefix("metric:"))
    match column:
        case "cell":
            return cell.name.casefold()
        case "task":
            return None if cell.task is None else cell.task.casefold()
        case "box":
            return row.box.casefold()
        case "state":
            return float(RANK[cell.state])
        case "loss":
            return cell.loss
        case "epochs":
            return None if cell.epoch is None else float(cell.epoch)
        case "took":
            return cell.duration_seconds
        case "left":
            return cell.eta_seconds
        case "cost":
            return row.cost
        case "limit" if row.scheduled:
            return cell.limit_left_seconds
        case "restarts" if row.scheduled:
            return float(cell.restarts) if cell.restarts else None
        case "node" if row.scheduled:
            return None if cell.node is None else cell.node.casefold()
    return None


def in_order(rows: Sequence[Row], order: Order) -> list[Row]:
    """Sorted by one column, equal ones as they stood; costs by their currency first."""
    if not order.column:
        return list(rows)
    known: list[tuple[tuple[str, float | str], Row]] = []
    odd: list[Row] = []
    unknown: list[Row] = []
    for row in rows:
        value = value_of(row, order.column)
        if value is None:
            unknown.append(row)
        elif isinstance(value, float | int) and not math.isfinite(value):
            odd.append(row)
        else:
            unit = (row.currency or "") if order.column == "cost" else ""
            known.append(((unit, value), row))
    known.sort(key=lambda pair: pair[0], reverse=order.falling)
    return [*(row for _, row in known), *odd, *unknown]


def direction(metric: str) -> int:
    """1 where more is better, -1 where less is, 0 where nobody can tell by the name."""
    name = metric.casefold().strip()
    bare = SPLIT.sub("", name).replace("-", "_").replace("@", "").replace(" ", "_")
    if bare in HIGHER:
        return 1
    return -1 if bare in LOWER else 0


Best = Mapping[tuple[str | None, str], float]  # by task and column


def best_of(rows: Sequence[Row], columns: Iterable[str]) -> Best:
    """The best value of each task in each column that has a known direction, of the cells that ended well.

    Tasks are not compared with each other, and one cell alone is not the best of anything.
    """
    tasks: defaultdict[str | None, list[Row]] = defaultdict(list)
    for row in rows:
        if row.cell.state is CellState.FINISHED:
            tasks[row.cell.task].append(row)
    best: dict[tuple[str | None, str], float] = {}
    for column in columns:
        own = column in (*FIXED, *AFTER, *SCHEDULER_COLUMNS)
        way = 0 if own else direction(column.removeprefix("metric:"))
        for task, ended in tasks.items() if way else ():
            values = [
                value
                for row in ended
                if isinstance(value := value_of(row, column), float | int) and math.isfinite(value)
            ]
            if len(values) > 1:
                best[task, column] = max(values) if way > 0 else min(values)
    return best
