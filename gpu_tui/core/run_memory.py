"""Runs of those who keep no record, and jobs of schedulers, which forget them, as text between two looks of ours:
cron's `check`, a cockpit that was shut.

The text is our own file's, and yet read as a stranger's: what is odd in it is no run. A command, which may hold a
key, is kept as its hash alone, which is all that it takes to know it again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from gpu_tui.core.jobs import Job
from gpu_tui.core.plain import plain
from gpu_tui.core.sweep import CellState

LIVE_KEPT, GONE_KEPT = 200, 200  # of one source
JOBS_KEPT = 2_000  # of one scheduler, live and gone each
TEXT_MOST = 1_000_000  # characters of all its jobs; the oldest that are gone make room
LONGEST = 3 * 86_400.0  # seconds since a run was seen: whoever looks again after that begins anew
GONE_FOR = 86_400.0  # seconds for which one that is gone is told of again
_SIGN = "sha256:"
Row = dict[str, object]
# The fields of a scheduler's job that are stored, under the names that Job has.
_TEXTS = {"word": 40, "task": 80, "node": 80, "finding": 40}
_TIMES = ("submitted_at", "removed_at", "limit")
_NUMBERS = ("exit_code", "signal", "restarts", "gpus")
_PATHS = ("logs", "will_write")
PATHS_KEPT = 20  # of one job under one name


@dataclass(frozen=True, slots=True)
class Memory:
    """Who was there at `seen_at` (our time), and who was gone by then. `box`: where that was, `host_key`: the
    fingerprint that the machine there showed, where it is known. Of a scheduler `live` are all jobs that it listed.
    """

    box: str
    seen_at: float
    live: tuple[Job, ...] = ()
    gone: tuple[Job, ...] = ()
    host_key: str | None = None


def sign(command: str | None) -> str | None:
    """What tells a command from another; of a sign itself it is the same."""
    if command is None or command.startswith(_SIGN):
        return command
    return _SIGN + hashlib.sha256(command.encode("utf-8", "surrogatepass")).hexdigest()


def written(
    box: str, seen_at: float, live: Iterable[Job], gone: Iterable[Job], host_key: str | None = None
) -> str:
    """For the history. Empty where there is nobody to remember."""
    # When it began is reckoned anew at each look, and never twice the same.
    now = [_row(replace(job, started_at=None)) for job in live][-LIVE_KEPT:]
    then = [_row(job) for job in gone][-GONE_KEPT:]
    return _text_of(box, seen_at, now, then, host_key)


def jobs_written(box: str, seen_at: float, listed: Iterable[Job], left: Iterable[Job]) -> str:
    """The jobs of a scheduler for the history: those that it `listed` at `seen_at`, and those that `left` before."""
    now = _fitting([_job_row(job) for job in listed], TEXT_MOST)
    room = TEXT_MOST - sum(len(json.dumps(row)) for row in now)
    return _text_of(box, seen_at, now, _fitting([_job_row(job) for job in left], room), None)


def _fitting(rows: list[Row], most: int) -> list[Row]:
    """The last rows, JOBS_KEPT and `most` characters of them at most."""
    sizes = accumulate(len(json.dumps(row)) for row in rows[: -JOBS_KEPT - 1 : -1])
    return rows[len(rows) - sum(size <= most for size in sizes) :]


def _text_of(
    box: str, seen_at: float, now: list[Row], then: list[Row], host_key: str | None
) -> str:
    if not now and not then:
        return ""
    told = {"box": box, "at": seen_at, "live": now, "gone": then, "host_key": host_key}
    return json.dumps(told, ensure_ascii=False)


def remembered(text: str | None, box: str) -> Memory | None:
    """What was written of this box; None where nothing was, or it was another one."""
    try:
        made = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(made, dict) or made.get("box") != box:
        return None
    at = _time(made.get("at"))
    if at is None:
        return None
    live, gone = _jobs(made.get("live"), live=True), _jobs(made.get("gone"), live=False)
    return Memory(box, at, live, gone, _text(made.get("host_key")))


def _job_row(job: Job) -> Row:
    """A row of a scheduler's job: only what is known of it."""
    names = (*_TEXTS, *_TIMES, *_NUMBERS, *_PATHS)
    row = {**_row(job), **{name: getattr(job, name) for name in names}, "state": job.state.value}
    row["interactive"] = job.interactive or None
    return {name: value for name, value in row.items() if value not in (None, ())}


def _row(job: Job) -> Row:
    return {
        "id": job.id,
        "name": job.name,
        "stdout": job.stdout,
        "stderr": job.stderr,
        "pids": job.pids,
        "command": sign(job.command),
        "started": job.started_at,
        "finished": job.finished_at,
        "then": job.then,
        "seen": job.seen_at,
        "why": job.why,
    }


def _jobs(rows: object, *, live: bool) -> tuple[Job, ...]:
    listed: Sequence[object] = rows if isinstance(rows, list) else ()
    return tuple(job for row in listed[:JOBS_KEPT] if (job := _job(row, live=live)) is not None)


def _job(row: object, *, live: bool) -> Job | None:
    if not isinstance(row, dict):
        return None
    id, name, finished = _text(row.get("id")), _text(row.get("name")), _time(row.get("finished"))
    pids, state = row.get("pids"), row.get("state")
    if not id or not name or (finished is None and not live and state is None):
        return None
    if state is not None and state not in [one.value for one in CellState]:
        return None
    usual = (CellState.RUNNING, "running") if live else (CellState.CANNOT_TELL, "gone")
    job = Job(
        id=plain(id, 300),
        name=plain(name, 300),
        state=usual[0] if state is None else CellState(state),
        word=usual[1],
        started_at=_time(row.get("started")),
        finished_at=finished if state is not None or not live else None,
        stdout=_text(row.get("stdout")),
        stderr=_text(row.get("stderr")),
        pids=tuple(pid for pid in pids if type(pid) is int) if isinstance(pids, list) else (),
        command=_text(row.get("command")),
        then=_text(row.get("then")),
        seen_at=_time(row.get("seen")),
        why=None if (why := _text(row.get("why"))) is None else plain(why, 400),
    )
    return job if state is None else _with_record(job, row)


def _with_record(job: Job, row: Mapping[str, object]) -> Job:
    """The job with what its scheduler said of it."""
    texts = {name: _text(row.get(name)) for name in _TEXTS}
    told: dict[str, Any] = {
        name: plain(text, _TEXTS[name]) for name, text in texts.items() if text is not None
    }
    told |= {name: _time(row.get(name)) for name in _TIMES}
    told |= {name: _paths(row.get(name)) for name in _PATHS}
    numbers = {name: row.get(name) for name in _NUMBERS}
    told |= {name: value for name, value in numbers.items() if type(value) is int}
    told["interactive"] = row.get("interactive") is True
    return replace(job, preempted=told.get("finding") == "preempted", **told)


def _paths(value: object) -> tuple[str, ...]:
    kept = map(_text, value[:PATHS_KEPT] if isinstance(value, list) else ())
    return tuple(path for path in kept if path)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) <= 4_096 else None


def _time(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
