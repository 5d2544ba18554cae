"""`--json` in both shapes: numbers and words up to 22.05, sets and lists since 23.02."""

from __future__ import annotations

import json

import pytest

from gpu_tui.parse.slurm import parse_marked
from gpu_tui.parse.slurm_json import parse_json

OLD = {
    "job_id": 26,
    "array_job_id": 22,
    "array_task_id": 1,
    "job_state": "FAILED",
    "exit_code": 768,
    "end_time": 1795279073,
    "submit_time": 1795279006,
    "name": "lr_sweep",
    "restart_cnt": 1,
    "standard_output": "/l/lr-%A_%a.out",
    "standard_error": "",
    "user_name": "root",
}
NEW = {
    "job_id": 26,
    "array_job_id": {"set": True, "infinite": False, "number": 22},
    "array_task_id": {"set": True, "infinite": False, "number": 1},
    "job_state": ["RUNNING", "COMPLETING"],
    "exit_code": {
        "status": ["SIGNALED"],
        "return_code": {"set": False, "infinite": False, "number": 0},
        "signal": {"id": {"set": True, "infinite": False, "number": 9}, "name": "KILL"},
    },
    "end_time": {"set": True, "infinite": False, "number": 1795279073},
    "submit_time": {"set": True, "infinite": False, "number": 1795279006},
    "name": "lr_sweep",
    "restart_cnt": 1,
    "standard_output": "/l/lr-22_1.out",
    "standard_error": "",
    "user_name": "root",
}


def test_both_shapes_say_the_same_of_a_job() -> None:
    (old,) = parse_json(json.dumps({"meta": {}, "errors": [], "jobs": [OLD]}))
    (new,) = parse_json(json.dumps({"meta": {}, "errors": [], "jobs": [NEW]}))
    assert (old.id, new.id) == ("22_1", "22_1")
    assert (old.word, old.exit_code, old.signal) == ("FAILED", 3, 0)
    assert (new.word, new.exit_code, new.signal) == ("RUNNING", None, 9)
    assert (old.submitted, old.ends_at, old.restarts) == (new.submitted, new.ends_at, new.restarts)
    # 22.05 leaves the pattern as it was typed.
    assert (old.stdout, new.stdout, new.stderr) == ("/l/lr-%A_%a.out", "/l/lr-22_1.out", None)


def test_a_plain_job_and_an_endless_one() -> None:
    plain = {"job_id": 5, "array_job_id": 0, "array_task_id": None, "job_state": "PENDING"}
    endless = {
        "job_id": 6,
        "array_job_id": {"set": True, "infinite": False, "number": 0},
        "array_task_id": {"set": False, "infinite": False, "number": 0},
        "job_state": ["PENDING"],
        "end_time": {"set": True, "infinite": True, "number": 0},
    }
    found = parse_json(json.dumps({"jobs": [plain, endless]}))
    assert [(one.id, one.word, one.ends_at) for one in found] == [
        ("5", "PENDING", None),
        ("6", "PENDING", None),
    ]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"jobs": {}}', '{"jobs": [1, null, {"job_id": true}]}', "[" * 100_000],
)
def test_what_is_no_list_of_jobs_is_none(text: str) -> None:
    assert parse_json(text) == []


def test_json_stands_in_where_a_name_would_break_the_line() -> None:
    document = json.dumps({"jobs": [{**NEW, "name": "two\nlines"}]}, indent=1)
    ((detail,), _) = parse_marked(f"@m 22\n{document}\n", "@m")
    assert (detail.name, detail.stdout) == ("two\nlines", "/l/lr-22_1.out")
    assert parse_marked(f"@m 7\n{document}\n", "@m")[0] == []  # it may not speak for another job
