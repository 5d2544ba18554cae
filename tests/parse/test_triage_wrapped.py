"""A line means the same behind a clock, a launcher's tag or a progress bar."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from functools import cache
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judgement.report_lines import TUNED, judge, rows_of

from gpu_tui.parse.triage import triage
from gpu_tui.parse.triage_wrapped import inside

AROUND: dict[str, Callable[[str], str]] = {
    "rank": "[rank3]: {}".format,
    "tag": "[default3]:{}".format,
    "stderr": "stderr: {}".format,
    "clock": "2031-05-11 09:12:44 {}".format,
    "bracketed clock": "[2031-05-11 09:12:44] {}".format,
    "utc clock": "2031-05-11T09:12:44.318201Z {}".format,
    "ray": "(RayTrainWorker pid=41233, ip=10.0.4.7) {}".format,
    "srun": " 3: {}".format,
    "red": "\x1b[31m{}\x1b[0m".format,
    "kubectl": "[pod/train-worker-0/pytorch] {}".format,
    "compose": "trainer-1  | {}".format,
    "mpirun": "[1,3]<stderr>:{}".format,
    "journal": "May 11 09:12:44 gpu07 train[41233]: {}".format,
    "cri": "2031-05-11T09:12:44.318201938Z stderr F {}".format,
    "bar": " 12%|█▏        | 120/1000 [02:11<16:02,  1.09s/it]{}".format,
}
SAMPLE = 240 if os.environ.get("GPU_TUI_NIGHTLY") else 80


@cache
def sample(alarm: bool) -> list[str]:
    """Lines that we judge as their label has it."""
    rows = [row for path in TUNED for row in rows_of(path) if row.alarm == alarm]
    lines = sorted({row.line for row in rows if "\r" not in row.line})
    random.Random(7).shuffle(lines)
    return list(islice((line for line in lines if judge(line).alarm == alarm), SAMPLE))


@pytest.mark.nightly
@pytest.mark.parametrize("around", AROUND)
def test_an_alarm_stays_one_and_keeps_its_label(around: str) -> None:
    lost = [
        (line, judge(line).label, mark.label)
        for line in sample(alarm=True)
        if (mark := judge(AROUND[around](line))).alarm is False or mark.label != judge(line).label
    ]
    assert len(lost) <= SAMPLE * 0.05, lost


@pytest.mark.nightly
@pytest.mark.parametrize("around", AROUND)
def test_what_is_quiet_stays_quiet(around: str) -> None:
    loud = [line for line in sample(alarm=False) if judge(AROUND[around](line)).alarm]
    assert len(loud) <= SAMPLE * 0.03, loud


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("2031-05-11 09:12:44 Killed", "killed"),
        ('{"log":"Killed\\n","stream":"stderr","time":"2031-05-11T09:12:44.1Z"}', "killed"),
        ("stderr: srun: Terminating job step 31.0", "preempted"),
        ("2031-05-11 09:12:44 Exception in thread Thread-4:", "exception"),
        (" 3: Encountered problems while solving.", "exception"),
        (" 12%|█▏     | 120/1000 [02:11<16:02,  1.09s/it]**Killed**", "killed"),
        ("May 11 09:12:44 gpu07 train[412]: panic: no widget", "exception"),
        ("[pod/w-0/main] Reason:         Evicted", "preempted"),
        ("Tue May 11 09:12:44 2031[1,3]<stderr>:Killed", "killed"),
        ("[node-0][rank-3] Killed", "killed"),
        ("[11/05 09:12:44] Exception in thread Thread-4:", "exception"),
        ("worker-3> Killed", "killed"),
        ("[2031-05-11 09:12:44,123] [0] Uncorrected error", "hardware"),
        (
            "[2031-12-09, 05:37:49 UTC] {subprocess.py:93} INFO - ValueError: bad widget",
            "exception",
        ),
    ],
)
def test_what_stands_first_in_its_line_is_found_behind_a_stamp(line: str, label: str) -> None:
    mark = triage(line)
    assert (mark.label, mark.alarm) == (label, True)


@pytest.mark.parametrize(
    "line",
    [
        "2031-05-11 09:12:44 *** Check failure stack trace: ***",
        "2031-05-11 09:12:44.123456: W tensorflow/widget.cc:55] Could not load dynamic library 'libwidget.so'; "
        "dlerror: libwidget.so: cannot open shared object file: No such file or directory",
        "[2031-01-08T07:25:06.072] error: NOTE: Trying backup state save file. Information may be lost!",
        "[2031-05-11 09:12:44] debug1: key_load_public: No such file or directory",
        "May 11 09:12:44 gpu07 docker[88]: trainer-1  | mesg: ttyname failed: Inappropriate ioctl for device",
        "2031-05-11 09:12:44 ERROR 10-05 14:02:14 [widget.py:124]     ray.get([explorer.remote(), trainer.remote()])",
    ],
)
def test_a_stamp_makes_nothing_loud(line: str) -> None:
    assert not triage(line).alarm


@given(st.text(max_size=300))
def test_something_is_left_inside(text: str) -> None:
    begin = inside(text)
    assert 0 <= begin < max(len(text), 1)
