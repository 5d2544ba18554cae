"""Instances in another order than by need: by what one column shows. What shows no number stands last, either way."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpu_tui.core import metrics
from gpu_tui.core.cell_table import Order
from gpu_tui.core.clocks import earliest
from gpu_tui.core.levels import share
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.views import InstanceView, utilization
from gpu_tui.ui.text.fleet import COLUMNS, MEASURED
from gpu_tui.ui.text.signs import VERDICTS, need

BY_NEED = Order()
# Of words the first comes first, of deadlines the next one; of everything else the most.
RISING = frozenset({"name", "platform", "verdict", "tags", "clock"})
WAYS = {"rising": False, "falling": True}

Value = tuple[str, float | str]  # amounts of one currency stand together


def order_of(column: str) -> Order:
    """By this column, as one wants to see it first; the wide form of a column is the same one."""
    key = column.rstrip("+")
    return Order(key, key not in RISING) if key in COLUMNS else BY_NEED


def next_order(order: Order, shown: Sequence[str], way: int) -> Order:
    """By the next of the columns that are `shown`; before the first one stands the order of need."""
    every = ["", *dict.fromkeys(key.rstrip("+") for key in shown)]
    here = every.index(order.column) if order.column in every else 0
    return order_of(every[(here + way) % len(every)])


def read_order(written: str | None) -> Order:
    """What `written_order` wrote; by need where it is nothing of the kind."""
    column, _, way = (written or "").partition(" ")
    return Order(column, WAYS[way]) if column in COLUMNS and way in WAYS else BY_NEED


def written_order(order: Order) -> str:
    """For the next start."""
    return f"{order.column} {'falling' if order.falling else 'rising'}" if order.column else ""


def in_order(views: Sequence[InstanceView], order: Order) -> list[InstanceView]:
    """Sorted; of equal ones, and of those without a value, who needs a human most comes first."""
    by_need = sorted(views, key=need)
    if not order.column:
        return by_need
    known: list[tuple[Value, InstanceView]] = []
    unknown: list[InstanceView] = []
    for view in by_need:
        value = _value(view, order.column)
        if value is None or (isinstance(value[1], float) and not math.isfinite(value[1])):
            unknown.append(view)
        else:
            known.append((value, view))
    known.sort(key=lambda pair: pair[0][1], reverse=order.falling)
    known.sort(key=lambda pair: pair[0][0])
    return [*(view for _, view in known), *unknown]


def _value(view: InstanceView, column: str) -> Value | None:
    """What the row shows there, in the steps in which it shows it: what looks equal changes no places."""
    if column in MEASURED:
        part = None if view.verdict is Verdict.OFF else _share(view, column)
        return None if part is None else ("", float(round(part * 100)))
    match column:
        case "name" | "platform":
            text = view.name if column == "name" else view.instance.platform
            return "", text.casefold()
        case "tags":
            return ("", " ".join(view.instance.tags).casefold()) if view.instance.tags else None
        case "verdict":
            return "", float(VERDICTS[view.verdict][3])
        case "price" | "spent":
            cost = view.cost
            amount = cost.per_hour if column == "price" else cost.spent
            return None if amount is None else (cost.currency or "", float(amount))
    seconds = _number(view, column)
    return None if seconds is None else ("", float(seconds))


def _number(view: InstanceView, column: str) -> float | None:
    match column:
        case "cell":
            part = view.queue.place.share if view.queue.place is not None else None
            return None if part is None else float(round(part * 100))
        case "up":
            return view.uptime
        case "clock":
            clock = earliest(view.clocks)
            return clock.deadline if clock is not None else None
        case "age":
            seen = view.last_contact
            return None if seen is None else float(int(view.taken_at - seen))
    return None


def _share(view: InstanceView, column: str) -> float | None:
    """Of the fullest card or mount, as the gauge draws it."""
    table = view.track(metrics.GPUS).value
    match column:
        case "gpu":
            return utilization(table)
        case "vram":
            cards = table.gpus if table else ()
            shares = [share(one.memory_used, one.memory_total) for one in cards]
        case "mem":
            memory = view.track(metrics.MEMORY).value
            shares = [share(memory.used, memory.limit) if memory else None]
        case "disk":
            mounts = view.track(metrics.MOUNTS).value or ()
            shares = [share(*one.counts("bytes")) for one in mounts]
        case _:
            mounts = view.track(metrics.MOUNTS).value or ()
            shares = [share(one.inodes_used, one.inodes_total) for one in mounts]
    return max((part for part in shares if part is not None), default=None)
