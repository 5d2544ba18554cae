"""Ends told as one plain sentence, and the neighbours of such sentences that tell of none. All lines are made up."""

from __future__ import annotations

import re

import pytest

from gpu_tui.parse.triage import triage
from gpu_tui.parse.triage_rule import Rule
from gpu_tui.parse.triage_scan import RULES

ENDS = {
    "an error without a colon": (
        "steps/train.sh: Error detected while creating egs",
        "scripts/prepare.py: error detected during preprocessing, see log",
        "Error! Training could not be started.",
        "Error, worker 3 no longer exists",
        ">>> ERROR: not enough data",
    ),
    "somebody is gone": (
        "worker 4 is no longer alive",
        "the process with pid 4121 no longer exists",
        "Child process 4412 no longer running, shutting down",
        "The trainer process has vanished",
        "controller has gone away",
        "raylet died",
        "master died, shutting down",
        "ValueError: Some background workers are no longer alive",
        "Server process exited before becoming ready",
    ),
    "it did not go on": (
        "Run did not finish",
        "The training job 12 did not complete",
        "Something bad happened: shape mismatch",
        "Failed at step 1300",
        "Failure in epoch 4, batch 12",
        "Failure while evaluating checkpoint 3",
        "Rank 3 raised an exception",
        "Pod train-0 in Error state",
        "Energy drift too large, stopping",
    ),
    "left with a number": (
        "Process ended with code 255",
        "command returned 1",
        "subprocess returned 2",
        "error code 255",
        "Error code: 1",
        "Error #15: Initializing libfoo.so, but found libfoo.so already initialized.",
        "[1]    4412 abort      python train.py",
    ),
    "data is not there": (
        "Nothing to train on: dataset has 0 samples",
        "Dataset contains no samples",
        "Found 0 images in /data/train",
        "no training files matched /data/*.tfrecord",
        "Directory not found: /data/train",
        "The folder /data/train is empty",
    ),
    "a name that nobody knows": (
        "No such dataset: wikitext",
        "dataset 'foo' not found",
        "Unknown model architecture 'resnet999'",
        "Repository Not Found for url: https://example.com/api/models/foo.",
        "You are trying to access a gated repo.",
        "API key is invalid",
    ),
    "an option that may not be": (
        "invalid value for --lr: 'abc'",
        "argument --lr: expected one argument",
        "missing required option --config",
        "Config validation failed: 2 errors",
        "YAML error in config.yaml line 3",
        "bad config: lr must be > 0",
    ),
    "sizes that do not go together": (
        "Number of GPUs (3) must be divisible by tensor parallel size (2)",
        "tokenizer vocab size (32001) does not match model embedding size (32000)",
        "label index 10 out of range for 10 classes",
        "Target 255 is out of bounds.",
    ),
    "a state and nothing else": (
        "-- FAILED --",
        "FAIL",
        "... FAILED",
        "[ FAILED ] Trainer.Step (12 ms)",
        "1 failed, 12 passed in 3.20s",
        "Stale file handle",
        "Read-only file system",
        "Caught ValueError in DataLoader worker process 0.",
        "[NeMo E 2031-01-01 00:00:00 nemo_logging:405] Model not found",
        "I 01-09 21:42:25 spot.py:327] Logs finished for job 2 (status: FAILED_NO_RESOURCE).",
        "Task 7 is over (state=Failed)",
    ),
    "a step, a function or a whole that failed": (
        "WARNING:root:someone: Exception happened in training_step, around time 12.5",
        "Exception caught in validation_step",
        "Too many LINCS warnings (1009)",
        "model.forward did not return a loss",
        "reward function did not return a list",
        "flwr.server.bridge.GrpcBridgeClosed",
        "The exit status of the task that caused the workflow to fail was: 134.",
        "Training was not successful",
        "python has stopped working",
        "inference crashed",
        "Execution stopped: error in module loader",
        "[2031-06-09T09:22:31.405197Z] 8de2ca81 || ValueError: bad value",
    ),
    "one logger passes on what another says": (
        "I0605 05:23:29.253875 139634508203840 run.py:258] E0605 08:23:28.397444 1402 search.py:138] Search failed.",
        "I0605 05:23:29.253875 139634508203840 run.py:258] ValueError: no such chain",
    ),
}
NAMED = (
    ("killed", "loss: 0.31 - acc: 0.88Killed"),
    ("killed", "[SignalInfo: *** SIGTERM (@0x3e8) received by PID 41 (TID 0x7f) from PID 13 ***]"),
    ("killed", "User pressed Ctrl-C"),
    ("preempted", "Your notebook exceeded the 12 hour limit"),
    ("preempted", "Maximum run time of 24h exceeded, job stopped"),
    ("preempted", "Session expired after 12 hours"),
    ("gpu_oom", "model does not fit in GPU memory"),
    ("gpu_oom", "The model does not fit on the GPU"),
    ("host_oom", "Not enough RAM to load dataset"),
    ("host_oom", "Job exceeded requested memory (32G), killed"),
    ("hang", "step took longer than 3600 s, aborting"),
    ("cuda_error", "CUDA status Error: file: ./src/dark.c : make_array() : line: 361"),
    (
        "cuda_error",
        'RuntimeError: handle_0 INTERNAL ASSERT FAILED at "/x/c10/cuda/driver_api.cpp":15',
    ),
    ("cuda_error", "Check failed: e == cudaSuccess (29 vs. 0): driver shutting down"),
    ("cuda_error", "Check failed: num_cuda_devices > 0 (0 vs. 0)"),
    ("gpu_oom", "Check failed: e == cudaSuccess (2 vs. 0): out of memory"),
    ("killed", "[2031-06-09T09:22:31.405197Z] 8de2ca81 || Killed"),
    ("host_oom", "Error creating dummy predictions: {'error': 'Memout (used more than 3072 MB).'"),
)
NEIGHBOURS = (
    "Error detection rate: 0.92",
    "Error, mean: 0.12 std: 0.03",
    "Error found: 0",
    "error 0.12",
    "Error code: 0",
    "err: 0.12",
    "workers are no longer needed after prefetch",
    "node 3 is no longer draining",
    "option --foo no longer exists, use --bar",
    "the old scheduler is no longer available in this version, use the new one",
    "checking that the process no longer exists ... ok",
    "agent died in episode 12",
    "hosts gone idle: 0",
    "job did not start yet, pending",
    "Failed at least once: 0",
    "Failure in 0 of 30 episodes",
    "failure on hard cases 3%",
    "rank 3 got an update",
    "container entered running state",
    "improvement too small, stopping",
    "process finished 12",
    "command returned 0",
    "query returned 12 rows",
    "the job exited with 0 errors",
    "[1]+  Done                    python train.py",
    "Found 0 images with missing labels",
    "0 files left in /tmp/queue",
    "Removed 12 images with no usable annotations. 117 images left.",
    "Output directory /out does not exist. Creating it.",
    "log directory is empty, creating it",
    "Unknown dataset size, progress bar will not show a total",
    "metric 'f1' is not available for this task, skipped",
    "API key not set, tracking disabled",
    "invalid value handling: drop",
    "Missing optional key 'foo', default used",
    "CUDA version 11.8 (cu118) does not match 12.1 but is compatible",
    "values out of bounds are clamped",
    "12 keys do not match 3 patterns",
    "0 failed, 12 passed in 3.2s",
    "[ OK ] step 3",
    "FAIL rate 0.1",
    "Caught exceptions are logged",
    "Level 12Killed monsters",
    "score: 12, killed: 3",
    "Press Ctrl-C to stop",
    "maximum run time 24h",
    "sequence does not fit in context, truncating",
    "step took more than 30 seconds (31.2 s)",
    "CUDA status: ok",
    "Job started. Streaming logs... (Ctrl-C to exit log streaming; job will not be killed)",
    "        Time limit exceeded... Skipping ExtraTrees_BAG_L2.",
    "[0x7fffa53a1918] Kokkos::Impl::cuda_internal_error_abort(cudaError, char const*, int)",
    "I0605 05:23:29.253875 139634508203840 run.py:258] E0605 08:23:28.59 1402 search.py:141] - 04:32 INFO: 0 failed",
    "Logs finished for job 2 (status: SUCCEEDED).",
    "[2031-06-09T09:22:34.421680Z] 8de2ca81 || + exit 1",
    "no exception in training_step so far",
    "There were 3 warnings",
    "the function did not return yet",
    "hparams did not define a seed, using 42",
    "exit code of the job is 0",
    "execution stopped at breakpoint",
    "val_loss did not improve from 0.3",
)
# What a model answered, as trainers that learn from answers print it, and people of whom a text of the data tells.
ANSWERS = (
    "So 5 machines crashed and 7 machines remain: 12 - 5 = 7.",
    "Since 7 is not divisible by 2, the remainder is 1.",
    "**Final Answer: The area of the path is -156. This is impossible because the area cannot be negative.**",
    "<think>Hmm, there was an error in step 2. Let me recompute.</think>",
    "Therefore, the experiment failed in 3 of 12 cases.",
    "3. **Round down:** Since we can't have a fraction of a student, we round down to 57 students.",
    "* Since we cannot have half a toy, there must be a mistake in the calculation.",
    "The teacher cannot buy a number of notebooks that makes sense.",
    "**Final answer:  Cannot be determined**",
    "3. **Calculate the number of chickens that died:**",
    "Original Locality: Giovanni Battista Lampugnani died at",
    "5. **Possible issue:** We have a fractional number of tasks remaining, so we cannot go on.",
)


@pytest.mark.parametrize(
    ("way", "line"), [(way, line) for way, lines in ENDS.items() for line in lines]
)
def test_a_plain_sentence_tells_of_an_end(way: str, line: str) -> None:
    mark = triage(line)
    assert (mark.label, mark.alarm) == ("exception", True), way


@pytest.mark.parametrize(("label", "line"), NAMED)
def test_a_plain_sentence_names_its_cause(label: str, line: str) -> None:
    mark = triage(line)
    assert (mark.label, mark.alarm) == (label, True)


@pytest.mark.parametrize("line", NEIGHBOURS)
def test_its_neighbours_tell_of_none(line: str) -> None:
    assert not triage(line).alarm


@pytest.mark.parametrize(
    "line",
    [
        "Since rank 3 died, the job is aborted: exit code 1, see [node7] ERROR",
        "So the CUDA context is lost: CUDA error: unspecified launch failure",
        "Wait, RuntimeError: could not load the dataset",
    ],
)
def test_whoever_names_a_failure_as_logs_do_is_heard(line: str) -> None:
    assert triage(line).alarm


@pytest.mark.parametrize("line", ANSWERS)
def test_what_a_model_answered_is_no_end(line: str) -> None:
    assert not triage(line).alarm


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.label)
def test_no_pattern_was_garbled_where_it_was_put_together(rule: Rule) -> None:
    patterns = [rule.pattern, rule.unless, rule.also]
    texts = [pattern.pattern for pattern in patterns if pattern is not None]
    garbled = re.compile(
        r"\(\d+, \d+\)|[\x00-\x08\x0b-\x1f]"
    )  # `{1, 20}` and a bare `\b` of a format string
    assert not [text for text in texts if garbled.search(text)]
