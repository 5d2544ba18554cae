"""What `--json` of Slurm's clients says of jobs, in both of its shapes.

Up to 22.05 a state is a word and a number is a number; since 23.02 a state is a list of words (the state, then
flags) and a number is `{"set": true, "infinite": false, "number": 17}`. Paths are expanded only in the newer
one. Shapes: slurm.schedmd.com/rest_api.html; the old one measured on 22.05.8, the new one on 24.11.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from gpu_tui.core.logs import may_follow
from gpu_tui.core.plain import plain
from gpu_tui.parse.slurm_job import Detail


def parse_json(text: str) -> list[Detail]:
    """The jobs of one document of squeue or scontrol; nothing where it is none."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return []
    jobs = document.get("jobs") if isinstance(document, dict) else None
    rows = jobs if isinstance(jobs, list) else []
    return [detail for row in rows if isinstance(row, dict) for detail in _job(row)]


def _job(row: dict[str, object]) -> Iterator[Detail]:
    id, array, task = (_number(row.get(key)) for key in ("job_id", "array_job_id", "array_task_id"))
    if id is None:
        return
    code, signal = _exit(row.get("exit_code"))
    name, submitted = row.get("name"), _number(row.get("submit_time"))
    yield Detail(
        id=f"{array}_{task}" if array and task is not None else str(id),
        word=_state(row.get("job_state")),
        name=name if isinstance(name, str) else "",
        raw=str(id),
        exit_code=code,
        signal=signal,
        restarts=_number(row.get("restart_cnt")),
        submitted=None if submitted is None else str(submitted),
        ends_at=_number(row.get("end_time")) or None,
        resumed_at=_number(row.get("suspend_time")) or None,
        user=_text(row.get("user_name")),
        uid=None if (uid := _number(row.get("user_id"))) is None else str(uid),
        preempted_at=_number(row.get("preempt_time")) or None,
        stdout=_path(row.get("standard_output")),
        stderr=_path(row.get("standard_error")),
        batch=_flag(row.get("batch_flag")),
    )


def _number(value: object) -> int | None:
    """A number in either shape; unlimited and not set are None."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    plainly = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 40
    return value if plainly and isinstance(value, int) else None


def _flag(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    number = _number(value)
    return None if number is None else number > 0


def _state(value: object) -> str:
    word = value[0] if isinstance(value, list) and value else value
    return plain(word, 40) if isinstance(word, str) else ""


def _exit(value: object) -> tuple[int | None, int | None]:
    """A wait status in the old shape, `{"return_code": N, "signal": {"id": N}}` in the new one."""
    if isinstance(value, dict) and "return_code" in value:
        signal = value.get("signal")
        return _number(value["return_code"]), _number(
            signal.get("id") if isinstance(signal, dict) else None
        )
    status = _number(value)
    return (None, None) if status is None else (status >> 8 & 0xFF, status & 0x7F)


def _text(value: object) -> str | None:
    return plain(value, 128) if isinstance(value, str) and value else None


def _path(value: object) -> str | None:
    return value if isinstance(value, str) and may_follow(value) else None
