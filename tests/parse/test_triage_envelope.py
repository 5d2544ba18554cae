"""Prefixes and stamps do not change the label of a message; zero counters, metrics and advice are removed."""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage.classify import triage
from gpu_tui.parse.triage.envelope import LAUNCHERS, PREFIX, STAMPS, error_message_start, message
from gpu_tui.parse.triage.ignored import without_ignored

TAGS = {
    "torchrun": "[rank3]: ",
    "srun --label": "12: ",
    "mpirun --tag-output": "[1,0]<stderr>:",
    "ray": "(TaskRunner pid=585134, ip=10.0.0.4) ",
    "docker compose": "trainer-1  | ",
    "kubectl logs --prefix": "[pod/trainer-0/main] ",
    "container runtime": "2031-01-02T03:04:05.678901234Z stderr F ",
    "vLLM": "ERROR 11-10 12:30:57 [core.py:710] ",
    "TorchServe": "2031-01-02T03:04:05,123 [INFO ] W-9000-model_1.0-stdout MODEL_LOG - ",
    "logging.basicConfig": "INFO:trainer:",
}
RECORDS = {
    "time": "2031-01-02 03:04:05,678 ",
    "ctime": "Fri Jan  2 03:04:05 2031 ",
    "syslog": "Jan  2 03:04:05 gpu01 trainer[4711]: ",
    "glog": "E0102 03:04:05.678901 4711 trainer.cc:12] ",
    "rank, node or task": "Rank 3: ",
    "stream": "[stderr] ",
    "name in brackets": "[trainer.loop] ",
    "name": "trainer.loop - ",
    "source location": "[trainer.py:12] ",
}
LOGURU = "2031-01-02 03:04:05.678 | ERROR    | __main__:<module>:12 - "
LEVELS = ("ERROR: ", "[ERROR] ", "2031-01-02 03:04:05,678 - ERROR - ", "ERROR:root:", LOGURU)
FAILURE = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
FRAME = "    raise RuntimeError('CUDA out of memory')"


@pytest.mark.parametrize("kind", LAUNCHERS)
def test_launcher_prefix_is_removed(kind: str) -> None:
    assert PREFIX.sub("", TAGS[kind] + "Traceback (most recent call last):").startswith("Traceback")
    assert triage(TAGS[kind] + FAILURE) == triage(FAILURE)
    assert not triage(TAGS[kind] + FRAME).alarm


@pytest.mark.parametrize("kind", STAMPS)
def test_logger_stamp_is_skipped(kind: str) -> None:
    line = RECORDS[kind] + "Killed"
    assert (line[error_message_start(line) :], message(line)) == ("Killed", "Killed")
    assert triage(RECORDS[kind] + FAILURE).label == "gpu_oom"
    assert not triage(RECORDS[kind] + FRAME).alarm


@pytest.mark.parametrize("stamp", LEVELS)
@pytest.mark.parametrize(
    "source",
    [
        FRAME.strip(),
        'error = make("CUDA out of memory", 3)',
        '"phase": lambda: fail("CUDA out of memory"),',
        "except torch.cuda.OutOfMemoryError as error:",
        "prompt: why is my CUDA out of memory here",
    ],
)
def test_source_and_quoted_text_at_error_level_are_no_alarm(stamp: str, source: str) -> None:
    assert not triage(stamp + source).alarm


def test_message_below_error_level_is_not_searched_for_alarms() -> None:
    assert error_message_start("2031-01-02 03:04:05,678 - INFO - step 3") == 0
    assert message("2031-01-02 03:04:05,678 - INFO - step 3") == "step 3"


def test_json_record_has_a_message_if_it_is_no_data_and_no_lower_level() -> None:
    record = '{"level": "error", "time": "03:04:05", "msg": "Killed"}'
    assert record[error_message_start(record) :].startswith("Killed")
    for other in ('{"level": "info", "msg": "Killed"}', '{"text": "Killed"}'):
        assert error_message_start(other) == 0


@pytest.mark.parametrize(
    "nothing",
    [
        "num_errors: 0", '"oom": false', "3 passed, 0 failed", "no errors found", "0 of 12 workers killed by signals",
        "validation error: 0.231", "returned error 0", "Note that it may fail", "Consider a smaller batch: it failed",
    ],
)  # fmt: skip
def test_zero_counts_metrics_and_advice_are_removed(nothing: str) -> None:
    assert not any(word in without_ignored(nothing) for word in ("error", "oom", "fail", "killed"))


@pytest.mark.parametrize(
    "trouble",
    [
        "KeyError: 0",
        "rank 0 failed",
        "cuda:0 failed",
        "node 0 has crashed",
        "error: 3 files",
        "Failure: see above",
    ],
)
def test_zero_that_is_no_count_is_kept(trouble: str) -> None:
    assert without_ignored(trouble) == trouble
