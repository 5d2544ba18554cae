"""A runner's own word -> jobs: the JSON that a status file holds or a command prints.

    {"jobs": [{"name": "no_aug", "state": "running", "epoch": 3, "epochs": 20, "loss": 0.41,
               "log": "/root/runs/no_aug.log"}]}

Only `name` and `state` are needed; the states are those of the queue pane, and a few words that people
use for them. Times are epoch seconds or RFC 3339 with a zone. What cannot be read is said, never guessed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from gpu_tui.core.job_names import WIDTH, unique
from gpu_tui.core.jobs import JOBS_KEPT, Job, JobTable
from gpu_tui.core.plain import plain
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.instants import epoch_of

WORDS = {
    **{state.value: state for state in CellState},
    "queued": CellState.PENDING,
    "waiting": CellState.PENDING,
    "done": CellState.FINISHED,
    "completed": CellState.FINISHED,
    "success": CellState.FINISHED,
    "succeeded": CellState.FINISHED,
    "error": CellState.FAILED,
    "crashed": CellState.FAILED,
    "killed": CellState.FAILED,
    "cancelled": CellState.SKIPPED,
}
METRICS_KEPT = 32
LARGEST = 2**53  # a count beyond it is no count


class FeedError(ValueError):
    """The text is not what a feed says; its words are for a person."""


def parse_feed(text: bytes) -> JobTable:
    """The jobs in the order of the text. Raises FeedError."""
    try:
        body = json.loads(text.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise FeedError("it is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise FeedError(f"line {error.lineno}: it is not JSON ({error.msg})") from None
    except (ValueError, RecursionError):
        raise FeedError("it is not JSON that can be read") from None
    rows = body.get("jobs") if isinstance(body, dict) else body
    if not isinstance(rows, list):
        raise FeedError('it holds no list of jobs: {"jobs": [{"name": ..., "state": ...}]}')
    jobs, wrong = [], []
    for number, row in enumerate(rows[:JOBS_KEPT], 1):
        try:
            jobs.append(_job(row, number))
        except FeedError as error:
            wrong.append(f"job {number}: {error}")
    why = "; ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
    dropped = max(0, len(rows) - JOBS_KEPT)
    return JobTable("feed", unique(jobs), dropped, why or None, not (wrong or dropped))


def _job(row: object, number: int) -> Job:
    if not isinstance(row, dict):
        raise FeedError("it is no mapping")
    name, word = row.get("name"), row.get("state")
    if not isinstance(name, str) or not name.strip():
        raise FeedError("it has no name")
    if not isinstance(word, str):
        raise FeedError(f"{plain(name, 40)} has no state")
    state = WORDS.get(word.strip().lower())
    why = row.get("why")
    log = row.get("log")
    return Job(
        id=plain(str(row.get("id", number)), 40),
        name=plain(name.strip(), WIDTH),
        state=state or CellState.CANNOT_TELL,
        word=plain(word, 20),
        why=plain(why, 200)
        if isinstance(why, str)
        else (None if state else f"“{plain(word, 20)}” is no state that is known here"),
        task=plain(row["task"], 40) if isinstance(row.get("task"), str) else None,
        started_at=_time(row, "started_at"),
        finished_at=_time(row, "finished_at"),
        ends_by=_time(row, "ends_by"),
        exit_code=_count(row, "exit_code", least=-255),
        restarts=_count(row, "restarts"),
        stdout=log if isinstance(log, str) and log.startswith(("/", "~/")) else None,
        epoch=_count(row, "epoch"),
        epochs=_count(row, "epochs"),
        step=_count(row, "step"),
        steps=_count(row, "steps"),
        loss=_number(row.get("loss")),
        metrics=_metrics(row.get("metrics")),
    )


def _time(row: Mapping[str, object], key: str) -> float | None:
    value = row.get(key)
    moment = epoch_of(value)
    if value is not None and moment is None:
        raise FeedError(f'"{key}" is neither epoch seconds nor a time with its zone')
    return moment


def _count(row: Mapping[str, object], key: str, least: int = 0) -> int | None:
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < LARGEST:
        raise FeedError(f'"{key}" is no count')
    return value


def _number(value: object) -> float | None:
    """JSON knows no NaN; people write one, as a word or as Python does."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return value
    if isinstance(value, int | float):
        return float(value) if abs(value) < 1e300 else None
    if isinstance(value, str) and value.strip().lower().lstrip("+-") in ("nan", "inf", "infinity"):
        return float(value)
    return None


def _metrics(value: object) -> Mapping[str, float]:
    if not isinstance(value, dict):
        return {}
    read = {plain(str(name), 40): _number(one) for name, one in list(value.items())[:METRICS_KEPT]}
    return {name: number for name, number in read.items() if number is not None}
