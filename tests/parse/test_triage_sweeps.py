"""Ends that launchers of sweeps, simulators and pools of workers tell, and what beside them tells of none. All are made up."""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

ENDS = [
    ("01/02 03:04:05 - Bench - WARNING - task Infer[toy-7b/quiz_0] fail, see", "exception"),
    ("stage 'train' failed, see logs/train.err", "exception"),
    ("FAILED seed=2 lr=0.01", "exception"),
    ("a1b2c3d  brave-owl  03:04 PM   Failed", "exception"),
    ("[WARNING] [2031-01-02 03:04:05:Trainer] Exception during train/eval: bad shape", "exception"),
    ("toy_trainer.cc(150) [!std::isnan(score)]", "exception"),
    ("toy_trainer.cc(582) [(n_chars + n_meta) <= (spec.size())] Vocabulary too small", "exception"),
    ("# Ended (code 139) at Mon Jan 2 03:04:05 UTC 2031, elapsed time 2 seconds", "exception"),
    ("(Exit code: 18446744073709515000). Unknown error.", "exception"),
    ("start.sh: line 7: 1234 Aborted                 $PYTHON ./app.py --port 8860", "exception"),
    ("Worker 3 left the cluster", "exception"),
    ("lost worker 3", "exception"),
    ("The environment crashed at step 12", "exception"),
    ("A worker process was unexpectedly terminated.", "exception"),
    ("simulation became unstable at step 231", "exception"),
    ("Dataset not found: /data/train", "exception"),
    ("OpenCL error -5", "cuda_error"),
    ("Not enough memory on device 0 for model", "gpu_oom"),
    ("VRAM insufficient for model", "gpu_oom"),
    ("The connection to the remote worker was lost", "network"),
    ("Watchdog exception - Timeout of 601.0 seconds occurred", "hang"),
    ("stuck at step 120 for 1800s", "hang"),
    ("timeout waiting for rollout workers", "hang"),
    ("Timeout: environment did not respond within 60 s", "hang"),
    ("[E] Executor loop crashed on this rank; hard-killing all 8 ranks in 9.9s", "killed"),
    ("SIGTERM caught, saving checkpoint and exiting", "killed"),
    ("3:04PM FTL cannot bind", "exception"),
    ("Current pipeline object is no longer valid.", "exception"),
    ("[WARNING] All workers are dead/failed. Waiting for workers to recover...", "exception"),
    ("[WARNING] worker toy-1 failed to heartbeat within timeout (30.4s)", "hang"),
    (" - 1 failure", "exception"),
    ("[FAIL] seed 3", "exception"),
    ("clCreateContext(): CL_DEVICE_NOT_AVAILABLE", "cuda_error"),
    ("OpenCL CL_OUT_OF_RESOURCES error in toy.c:549 - Failed to read buffer", "cuda_error"),
    ("The instance ran out of memory and was restarted", "host_oom"),
    (" ** On entry to DLASCL parameter number  4 had an illegal value", "exception"),
    ("### ERROR: config missing", "exception"),
    (
        "2031-01-02 03:04:05,678 [INFO ] W-9000-toy_1.0-stdout TOY_LOG - Backend worker process died.",
        "exception",
    ),
    (
        "2031-01-02 03:04:05,678 [WARN ] W-9000-toy_1.0 org.Toy - Load model failed: toy, error: Worker died.",
        "exception",
    ),
    (
        "2031-01-02 03:04:05,678 [INFO ] W-9000-toy-stdout TOY_LOG - Traceback (most recent call last):",
        "traceback",
    ),
    ("thread 'main' panicked at /home/user/toy/src/backend/core.rs:1051:30:", "exception"),
    ("toygpu error: Validation Error", "exception"),
    ("Shader '' parsing error: redefinition of `powf`", "exception"),
    ("No adapter found for graphics API Auto", "cuda_error"),
    ("Propagating replica 0 at state 0 resulted in a NaN!", "nan"),
]
QUIET = [
    "5:38AM INF [toy] Fails: could not load model: rpc error: code = Unavailable",
    "toy-1  | 10:41AM INF [run.sh] Fails: failed to load model with internal loader",
    "3:04PM WRN connection lost, reconnecting",
    "toy-server-INFO: INFO: Connection to client closed",
    "INFO:     connection closed",
    "Failed to find symbol file, expected location:",
    "Number of crashed target algorithm runs: 0",
    "RunTimeout: 3600",
    "Saving on SIGTERM enabled",
    "[12.5] [DEBUG]Killing all remaining processes.",
    "HTTP 429 received, backing off 2.0 s",
    "Rate limited; sleeping 30 s",
    "Could not find TensorRT",
    "Checkpoint directory does not exist, creating it",
    "Address already in use, trying port 6007",
    "stall check: 0 stalled tensors",
    "SlowDown: not active",
    "\tat java.base/java.util.concurrent.Toy.fatalError(Toy.java:432)".expandtabs(),
    "2031-01-02 03:04:05,678 [INFO ] W-9000-toy-stdout TOY_LOG -     raise RuntimeError('x')",
    "Saving failed cases to outputs/failed",
    "generated: ' error: cannot find symbol'",
    "[sim.sh-1] process has died, will respawn",
    '  "Failed to correctly find n_neighbors for some samples."',
    "2031-01-02 03:04:05.678: E external/local_xla/xla/stream_executor/plugin_registry.cc:91] Invalid plugin kind specified: FFT",
    "[03:04:05] TOY INFO    If you encounter the error 'an illegal memory access was encountered', set X to a smaller value",
    "[box:00020] shmem: mmap: an error occurred while determining whether or not /tmp/x could be created.",
    "[box:00020] create_and_attach: unable to create shared memory BTL coordinating structure :: size 134217728",
    "2031-03-21 14:12:49,418 ERR cli.py:71 -- ---------------------------------------",
    "(toy pid=25346) INFO 03-21 13:56:21 toy.py:24] Request error: HTTPConnectionPool(host='127.0.0.1'): Read timed out.",
    "Using the latest cached version of the dataset since toy couldn't be found on the Hub (offline mode is enabled).",
    "Error displaying widget: model not found",
    "wandb: WARNING Fatal error while uploading data. Some run data will not be synced",
    "0/12 failed",
    "failed attempts so far: 0",
    "budget exhausted: stopping search",
    'SLF4J: Failed to load class "org.slf4j.impl.StaticLoggerBinder".',
    "Picked up JAVA_TOOL_OPTIONS: -XX:+ExitOnOutOfMemoryError",
    "error: XDG_RUNTIME_DIR not set in the environment.",
    "Fontconfig error: Cannot load default config file",
    "[03:04:05] SMILES Parse Error: syntax error while parsing: C1CC",
]


@pytest.mark.parametrize(("line", "label"), ENDS)
def test_an_end_told_by_who_saw_it_raises_an_alarm(line: str, label: str) -> None:
    mark = triage(line)
    assert (mark.label, mark.alarm) == (label, True)


@pytest.mark.parametrize("line", QUIET)
def test_what_was_survived_counted_or_only_named_raises_none(line: str) -> None:
    assert not triage(line).alarm
