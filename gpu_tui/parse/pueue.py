"""What `pueue status --json` prints -> jobs. Versions 2 to 4; a task's environment is never looked at.

Until version 3 a task's status is a word or `{"Done": RESULT}`, with its times beside it; since version 4
the status is `{"Running": {"enqueued_at", "start"}}` and holds them. RESULT is a word or
`{"Failed": EXIT}`. Source: pueue_lib/src/task.rs of the versions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from gpu_tui.core.job_names import name_of_command, unique
from gpu_tui.core.jobs import JOBS_KEPT, Job, JobTable
from gpu_tui.core.last_command import told_by
from gpu_tui.core.plain import plain
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.instants import epoch_of

STATES = {
    "Locked": CellState.PENDING,
    "Stashed": CellState.PENDING,
    "Queued": CellState.PENDING,
    "Running": CellState.RUNNING,
    "Paused": CellState.RUNNING,
}
WHY = {
    "Locked": "it is being edited",
    "Stashed": "stashed: it waits until somebody enqueues it",
    "Paused": "paused: it makes no progress until somebody resumes it",
    "Killed": "somebody killed it, or the daemon was stopped",
    "DependencyFailed": "a task that it depends on failed",
    "Errored": "pueue could not run it",
    "FailedToSpawn": "its command could not be started",
}


def parse_pueue(text: bytes) -> JobTable | None:
    """The tasks by id; None where this is no status of pueue."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    tasks = body.get("tasks") if isinstance(body, dict) else None
    if not isinstance(tasks, dict):
        return None
    read = [job for key, task in tasks.items() if (job := _job(str(key), task)) is not None]
    read.sort(key=lambda job: (len(job.id), job.id))
    odd = len(tasks) - len(read)
    why = f"{odd} of its tasks cannot be read" if odd else None
    jobs = unique(read[:JOBS_KEPT])
    return JobTable("pueue", jobs, max(0, len(read) - JOBS_KEPT), why, not odd)


def _job(id: str, task: object) -> Job | None:
    if not isinstance(task, dict) or not id.isascii() or not id.isdigit():
        return None
    word, inside = _named(task.get("status"))
    times: Mapping[str, object] = inside if isinstance(inside, dict) else {}
    result, detail = _named(times.get("result", inside))
    state, code = STATES.get(word, CellState.CANNOT_TELL), None
    why = WHY.get(word)
    if word == "Done":
        state = CellState.FINISHED if result == "Success" else CellState.FAILED
        code = 0 if result == "Success" else None
        if result == "Failed" and isinstance(detail, int) and not isinstance(detail, bool):
            code = detail
        word, why = (result or "Done"), WHY.get(result)
    group, command = task.get("group"), task.get("command")
    state, unsure = told_by(command if isinstance(command, str) else "", state)
    return Job(
        id=id[:9],
        name=_name(id, task.get("label"), command),
        state=state,
        word=plain(word or "unknown", 20),
        why=why or unsure,
        task=plain(group, 40) if isinstance(group, str) and group != "default" else None,
        submitted_at=epoch_of(times.get("enqueued_at", task.get("enqueued_at"))),
        started_at=epoch_of(times.get("start", task.get("start"))),
        finished_at=epoch_of(times.get("end", task.get("end"))),
        exit_code=code,
        stdout=f"~/.local/share/pueue/task_logs/{id}.log"
        if state is not CellState.PENDING
        else None,
    )


def _name(id: str, label: object, command: object) -> str:
    if isinstance(label, str) and label.strip():
        return plain(label.strip(), 60)
    return name_of_command(command) if isinstance(command, str) else f"task {id}"


def _named(value: object) -> tuple[str, object]:
    """A Rust enum as serde writes it: a word, or one word with what it holds."""
    if isinstance(value, str):
        return value, None
    if isinstance(value, dict) and len(value) == 1:
        ((name, inside),) = value.items()
        return str(name), inside
    return "", None
