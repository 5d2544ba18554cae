"""A prefix (a clock, a launcher's tag, a progress bar) does not change the label of a line."""

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

from gpu_tui.parse.triage.classify import triage
from gpu_tui.parse.triage.envelope import error_message_start

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
def correctly_judged(alarm: bool) -> list[str]:
    """Labelled lines whose alarm is judged as labelled."""
    rows = [row for path in TUNED for row in rows_of(path) if row.alarm == alarm]
    lines = sorted({row.line for row in rows if "\r" not in row.line})
    random.Random(7).shuffle(lines)
    return list(islice((line for line in lines if judge(line).alarm == alarm), SAMPLE))


@pytest.mark.nightly
@pytest.mark.parametrize("around", AROUND)
def test_alarm_keeps_its_label_in_a_prefixed_line(around: str) -> None:
    lost = [
        (line, judge(line).label, mark.label)
        for line in correctly_judged(alarm=True)
        if (mark := judge(AROUND[around](line))).alarm is False or mark.label != judge(line).label
    ]
    assert len(lost) <= SAMPLE * 0.05, lost


@pytest.mark.nightly
@pytest.mark.parametrize("around", AROUND)
def test_line_without_alarm_stays_so_in_a_prefixed_line(around: str) -> None:
    loud = [line for line in correctly_judged(alarm=False) if judge(AROUND[around](line)).alarm]
    assert len(loud) <= SAMPLE * 0.03, loud


STAMPS = [  # of collectors and launchers
    "2031-03-11T17:57:32.3723781Z ", "2031-03-11T17:57:32.372Z (EngineCore_DP0 pid=269) ", "2031-03-11T17:57:32Z stderr F ",
    "Mar 11 17:57:32 box bash[123]: ", "Mar 11 17:57:32 box vllm[8]: (APIServer pid=12) ", "[1,3]<stderr>:", "[default3]:", "[0]:",
    "[pod/a-b/c] ", "pod/a-b [c] ", "trainer-0 | [rank0]: ", "[worker-0] ", "gpu-12: 3: ", "[stderr] ", "E0311 17:57:32.123456 1234 x.py:12] ",
    "[2031-03-11 17:57:32,123][__main__][ERROR] - ", "ERROR:root:",
]  # fmt: skip
SOURCE = [
    '    raise RuntimeError("CUDA error: out of memory")',
    '  File "/opt/x/errors.py", line 12, in raise_nan_error',
    "    except torch.cuda.OutOfMemoryError as e:",
    '    self._handle_failure("loss is nan")',
    '    logger.error("Training failed with error: NCCL timeout")',
    "    ^^^^^^^^^^^^^^^",
]
ENDS = {
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB": "gpu_oom",
    "KeyError: 3": "exception",
    "Traceback (most recent call last):": "traceback",
}


@pytest.mark.parametrize("stamp", STAMPS)
def test_source_after_a_stamp_is_no_alarm_but_an_exception_is(stamp: str) -> None:
    assert [line for line in SOURCE if triage(stamp + line).alarm] == []
    marks = {end: triage(stamp + end) for end in ENDS}
    assert {end: mark.label for end, mark in marks.items() if mark.alarm} == ENDS


BELOW_ERROR = [  # stamps without a level, or with one below ERROR
    "2031-03-11T17:57:32.372Z ", "2031-03-11 17:57:32,123 - INFO - ", "[2031-03-11 17:57:32] ", "Mar 11 17:57:32 box bash[123]: ",
    "[stdout] ", "INFO:root:", "[17:57:32] ", "3: ", "trainer-1  | ",
]  # fmt: skip


@pytest.mark.parametrize("stamp", ["", *BELOW_ERROR])
def test_quoted_text_after_a_stamp_is_no_alarm(stamp: str) -> None:
    texts = [
        "# handle CUDA out of memory here",
        "3f2a1c9 fix: CUDA out of memory in eval loop",
        'Prompt: Explain the error "CUDA out of memory".',
        "tokens: ['the', 'process', 'was', 'killed']",
        "H-12\t-0.3412\tthe connection was lost during the storm",
        "ref: the bridge failed",
        'if [ $? -ne 0 ]; then echo "training failed"; exit 1; fi',
    ]
    assert [line for line in texts if triage(stamp + line).alarm] == []


@pytest.mark.parametrize(
    "stamp",
    [
        "2031-05-11 09:12:44 ",
        "3: ",
        "[pod/w-0/main] ",
        "[node-0][rank-3] ",
        "Tue May 11 09:12:44 2031[1,3]<stderr>:",
    ],
)
def test_killed_after_a_stamp_is_an_alarm(stamp: str) -> None:
    mark = triage(f"{stamp}Killed")
    assert (mark.label, mark.alarm) == ("killed", True)


@given(st.text(max_size=300))
def test_error_message_start_leaves_a_message(text: str) -> None:
    begin = error_message_start(text)
    assert 0 <= begin < max(len(text), 1)
