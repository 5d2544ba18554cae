"""The outlook of the sweep as the JSON that `gpu-tui sweep --json` prints.

Times are RFC 3339 UTC, lengths seconds, amounts in the currency beside them. null means unknown, never zero.
`earliest_*` always holds as a lower bound; `*ends_at` and `latest_*` are null where a queue cannot tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from gpu_tui.core.bounds import Span
from gpu_tui.core.campaign import LaneOutlook, Outlook, Tally, spent_so_far
from gpu_tui.core.cell_table import Row
from gpu_tui.core.clock import rfc3339
from gpu_tui.core.rebalance import Plan
from gpu_tui.core.sweep import CellState
from gpu_tui.state.contract import VERSION, Json, asked_json

FARTHEST = 1e10  # seconds: what ends later ends on no calendar


def sweep_json(
    name: str | None, taken_at: float, outlook: Outlook, plan: Plan | None, rows: Iterable[Row]
) -> Json:
    """The whole object. No amount is ever added to one of another currency."""
    return {
        "version": VERSION,
        "sweep": name,
        "taken_at": rfc3339(taken_at),
        "cells": {**_tally(outlook.tally), "complete": outlook.whole and not outlook.more},
        "doubled": list(outlook.doubled),
        **_end(outlook.left, taken_at),
        "ends_last": outlook.last,
        "cannot_tell": list(outlook.silent),
        "known_queues": None if outlook.told is None else _end(outlook.told, taken_at),
        "money": [
            {"currency": unit or None, "spent": _span(bill.spent), "to_come": _span(bill.to_come)}
            for unit, bill in outlook.bills.items()
        ],
        "unpriced": list(outlook.unpriced),
        "queues": [_queue(one, taken_at) for one in outlook.lanes],
        "suggestion": None if plan is None else _plan(plan, taken_at),
        "rows": [_row(row) for row in rows],
    }


def _tally(tally: Tally) -> Json:
    states = {state.value: tally.count(state) for state in CellState}
    return {"total": tally.total, **states, "unnamed": tally.unnamed}


def _end(span: Span, now: float) -> Json:
    return {
        "eta_seconds": _number(span.best),
        "ends_at": _at(span.best, now),
        "earliest_ends_at": _at(span.low, now),
        "latest_ends_at": _at(span.high, now),
    }


def _span(span: Span) -> Json:
    """An amount: `at_least` always holds, `estimate` is null where only that is known."""
    return {
        "estimate": _number(span.best),
        "at_least": _number(span.low),
        "at_most": _number(span.high),
    }


def _queue(one: LaneOutlook, now: float) -> Json:
    lane = one.lane
    return {
        "instance": lane.name,
        "trust": lane.trust.value,
        "file": lane.queue.file,
        "cells": _tally(one.tally),
        **_end(one.left, now),
        "why": one.why,
        "speed": None if one.speed is None else round(1 / one.speed, 3),
        "cost": {
            "per_hour": lane.per_hour,
            "currency": lane.currency,
            "spent": _span(spent_so_far(lane)),
            "to_come": None if one.to_come is None else _span(one.to_come),
            "basis": lane.basis,
        },
    }


def _plan(plan: Plan, now: float) -> Json:
    return {
        "ends_last": plan.last,
        "behind_seconds": _number(plan.behind),
        "ends_at": _at(plan.before, now),
        "would_end_at": _at(plan.after, now),
        "moves": [
            {"cell": move.cell, "from": move.origin, "to": move.target} for move in plan.moves
        ],
        "start_again": list(plan.restart),
        "rough": plan.rough,
    }


def _row(row: Row) -> Json:
    cell = row.cell
    return {
        "instance": row.box,
        "index": cell.index,
        "name": cell.name,
        "task": cell.task,
        "state": cell.state.value,
        "epoch": cell.epoch,
        "epochs": cell.epochs,
        "loss": _number(cell.loss),
        "metrics": {name: _number(value) for name, value in cell.metrics.items()},
        "exit_code": cell.exit_code,
        "duration_seconds": _number(cell.duration_seconds),
        "eta_seconds": _number(cell.eta_seconds),
        "cost": _number(row.cost),
        "currency": row.currency if row.cost is not None else None,
        **asked_json(cell),
        "why": cell.why,
    }


def _number(value: float | None) -> float | None:
    """NaN and Inf have no JSON number."""
    return None if value is None or not math.isfinite(value) else round(value, 6)


def _at(seconds: float | None, now: float) -> str | None:
    return None if seconds is None or not seconds < FARTHEST else rfc3339(now + seconds)
