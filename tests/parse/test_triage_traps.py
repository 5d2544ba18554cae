"""Lines that hold a word of failure and tell of none, and failures behind which somebody gives advice. All are made up."""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

TITLES = [  # of changes, tests and files
    "commit 3f2a1c9 Fix crash when loss becomes NaN",
    "3f2a1c9 fix: CUDA out of memory in eval loop",
    "* 9f8e7d6 Merge pull request #123 from someone/fix-segfault",
    "HEAD is now at 39869a9 Fix deadlock: all ranks timed out",
    "* slurmctld - Avoid segfault when a job is cancelled during shutdown.",
    "- Fixed a bug where training crashed with CUDA error (#1234)",
    "fix(loader): worker killed by signal when a file is missing",
    "test_loss_is_nan (tests.test_trainer.TestTrainer) ... ok",
    "tests/test_crash.py::test_segfault PASSED                     [ 12%]",
    "Building wheel for segfault (setup.py) ... done",
    "Loading checkpoint from backup/corrupt_test/ok.pt ... done",
    "wandb: Run name: crashed-spaceship-3",
    "-- Performing Test HAVE_SEGFAULT - Failed",
    "https://example.org/issues/1234 (CUDA error: device-side assert triggered)",
]
HELP = [
    "                        fail the run when a checkpoint is corrupt",
    '"""Raises ValueError if the loss is NaN."""',
    "   :raises RuntimeError: if CUDA is out of memory",
    "kill -9 12345 to stop the server",
    "trap 'echo killed by signal' TERM INT",
    "alias k='kill -9'",
    'parser.add_argument("--crash-on-nan", help="raise an exception when the loss is NaN")',
    "If you see 'CUDA out of memory', use a smaller batch",
    "If the job was killed by the OOM killer: ask for more memory",
    "Training begins. If you get 'RuntimeError: CUDA error: out of memory', use a smaller batch.",
]
TEXT = [  # that a program shows: of data, of a prompt, of a model
    "exit3 acc 71.2",  # the third exit of an early-exit network
    "mode=exit3 lr=1",
    "args: {'mode': 'exit1', 'exits': 4}",
    "The model is 100% sure that the disk is full of water.",
    "H-12\t-0.3412\tthe connection was lost during the storm",
    "S-7\tthe engine failed to start",
    "2031-01-02 03:04:05 | INFO | train | example reference: the job was aborted due to an error",
    "2031-01-02 03:04:05,123 - asr - INFO - ref: connection refused",
    "ref: the bridge failed",
    "prediction: the connection was lost during the storm",
    "Q: What causes a segmentation fault?",
    "Input: Why does my program say Segmentation fault (core dumped)?",
    "Output: A segmentation fault happens when a program accesses memory it does not own.",
    "<|im_start|>user Why is my loss nan?<|im_end|>",
    "<s>[INST] Fix the error: IndexError: list index out of range [/INST]",
    "tokens: ['the', 'process', 'was', 'killed']",
    "Titanic columns: ['survived', 'died', 'age', 'NaN_ratio']",
    "549 died, 342 survived",
    "HE COULD NOT HAVE BEEN MORE ENTHUSIASTIC IN HIS PRAISES AND THE OTHERS COULD NOT THINK WHAT TO DO",
    "they could not open the door and he died before his brother came",
    "Anna Berg died in Tel Aviv at the age of 72.",
    "INFO 01-02 03:04:05 [logger.py:41] Received request cmpl-1: prompt: 'Explain: RuntimeError: CUDA error', params: P(n=1)",
    "In 1912 the stock market crashed and many banks failed.",
    "The patient died of heart failure in 2004.",
    "Model output: The system failed because the server was down.",
    "In [3]: 1/0  # ZeroDivisionError: division by zero",
    "  criterion: MeanSquaredError",
    "criterion: MeanSquaredError",
    "val_metric: WordErrorRate",
    "loss: 'MeanAbsoluteError',",
    "This model card describes failure modes such as hallucination and error propagation.",
]
COUNTS = [
    "NaNs found: 0",
    "Infs: 0, NaNs: 0",
    "aborts: 0",
    "verifying checksum: no mismatch",
    "Kernel panic test suite: skipped",
    "        Pending                           : No",
    "rc=0",
    "job finished rc=0",
    "No critical Xid errors",
    "12 of 164 problems failed",
]
TRIED = [  # and done without
    "Recovered from NaN loss at step 300, skipping the batch",
    "Failed to import sageattention",
    "Failed to load libwidget-cuda-avxonly.so: dlopen: libcuda.so.1: cannot open shared object file: No such file or directory",
    "Could not load widget native library: /x/libwidget_cpu.so: cannot open shared object file: No such file or directory",
    "Quit with ^C",
    "nvidia-persistenced: failed to lock pid file",
    'rsync: [generator] chgrp "/data/x" failed: Operation not permitted (1)',
    '  Warning  FailedMount  2m (x5 over 10m)  kubelet  MountVolume.SetUp failed for volume "data" : configmap "x" not found',
    "mlx5_health_try_recover:309:(pid 1): handling bad device: recovered",
    "[Errno 2] No such file or directory: 'x.yaml', ignored",
    "fatal: not a git repository (or any of the parent directories): .git",
    "2031-06-14 09:05:12.7: E external/xla/xla/service/gpu/conv_algorithm_picker.cc:697] Results mismatch between different convolution algorithms. This is likely a bug/unexpected loss of precision in cudnn.",
    "2031-02-10 16:43:46.3: E external/xla/xla/stream_executor/cuda/cuda_timer.cc:86] Delay kernel timed out: measured time has sub-optimal accuracy. There may be a missing warmup execution.",
    "  1/100   15G   3.566   640: 9% ---- 609/6848 2.7it/s 3:40<38:10WARNING \u26a0 CUDA OutOfMemoryError in TaskAlignedAssigner, using CPU",
    "INFO: [plugin:kernel] collecting path '/sys/module/random/parameters/ratelimit_disable'",
    "AMP: checks failed. Anomalies were detected that may lead to NaN losses, so AMP will be disabled.",
]


@pytest.mark.parametrize("line", [*TITLES, *HELP, *TEXT, *COUNTS, *TRIED])
def test_a_word_of_failure_is_none(line: str) -> None:
    assert not triage(line).alarm


ENDS = [
    ("exception", "widgetd: Assertion `n > 0' failed."),
    ("exception", "Worker 3 failed to start."),
    ("gpu_oom", "CUDA error: out of memory."),
    ("nccl", "peer rank 5 closed the connection."),
    ("ckpt_corrupt", "Checkpoint /x/last.ckpt could not be read."),
    ("hang", "Training appears to be stalled."),
    ("killed", "Training was interrupted."),
    ("disk_full", "not enough disk space."),
]
ADVICE = [
    "If you need help, open an issue.",
    "This may be caused by a bug.",
    "Consider using a smaller model.",
    "Note that the log has more.",
    "For help run with --help",
    "Hint: check the path.",
]


@pytest.mark.parametrize("advice", ADVICE)
@pytest.mark.parametrize(("label", "line"), ENDS)
def test_advice_behind_a_failure_takes_nothing_back(label: str, line: str, advice: str) -> None:
    for said in (line, f"{line} {advice}"):
        mark = triage(said)
        assert (mark.label, mark.alarm) == (label, True)


@pytest.mark.parametrize(
    ("label", "line"),
    [
        ("exception", 'ValueError("[E203] If the embedding layer is not updated during'),
        ("exception", ".ValidationError: 3 validation errors for Config"),
        ("exception", "'widget-cli' 不是内部或外部命令，也不是可运行的程序"),
        ("exception", "Workflow outputs failed validation"),
        ("nan", "71.39% [6930/9707 3:56:27<1:34:45 nan]"),
        ("nan", "Finding Nan in gaussian loss"),
        ("killed", "^C"),
        ("killed", "[rank0]: ^C^C"),
        ("killed", " 12%|█▏        | 12/100 [00:10<01:00,  1.2it/s]^C"),
        ("exception", "The job failed in 1912."),
        ("exception", "rc=1"),
        ("exception", "[launch] train.py rc=2"),
        ("killed", "arm 3 finished rc=137"),
        ("exception", "fatal: not a git repository: '/x/.git'"),
        ("xid", "Detected Critical Xid Error"),
        ("exception", "failed to compute loss: ValueError"),
        ("exception", "losses: ValueError: bad loss"),
        ("hardware", "        Pending                           : Yes"),
        ("ckpt_corrupt", "safetensors file is incomplete or corrupt"),
        ("preempted", "Your notebook was stopped because its usage limit was reached"),
        ("nan", "[W 2031-01-02 03:04:05,678] Trial 12 failed with value nan."),
        ("exception", "Failure # 1 (occurred at 2031-04-18_14-19-53)"),
    ],
)
def test_what_looks_like_text_may_be_an_end(label: str, line: str) -> None:
    mark = triage(line)
    assert (mark.label, mark.alarm) == (label, True)


@pytest.mark.parametrize(
    "line",
    [
        " * @throws OutOfMemoryError if the heap is exhausted",
        "locale: Cannot set LC_ALL to default locale: No such file or directory",
        "oom-killer: disabled for this cgroup",
        "Job 881 completed successfully after 1 failed attempt",
        "SIGTERM received by child after normal shutdown, ignoring",
        "try: import apex except ImportError: apex = None",
        "kill -9 3312   # if it hangs",
    ],
)
def test_words_about_a_failure_are_none(line: str) -> None:
    assert not triage(line).alarm


@pytest.mark.parametrize(
    ("label", "line"),
    [
        ("killed", "bash: line 1:  3312 Killed                  python train.py # kill -9"),
        ("host_oom", "python invoked oom-killer: gfp_mask=0xcc0, order=0, oom_score_adj=0"),
        ("exception", "ImportError: cannot import name 'x' from 'y'"),
    ],
)
def test_and_the_failure_itself_still_is(label: str, line: str) -> None:
    mark = triage(line)
    assert (mark.label, mark.alarm) == (label, True)


STAMPS = [  # of collectors and launchers, which stand before every line
    "2031-03-11T17:57:32.3723781Z ", "2031-03-11T17:57:32.372Z (EngineCore_DP0 pid=269) ", "2031-03-11T17:57:32+00:00 algo-1-abcd1 ",
    "Mar 11 17:57:32 box bash[123]: ", "Mar 11 17:57:32 box vllm[8]: (APIServer pid=12) ", "[1,3]<stderr>:", "[default3]:", "[0]:",
    "[pod/a-b/c] ", "pod/a-b [c] ", "trainer-0 | [rank0]: ", "[worker-0] ", "gpu-12: 3: ", "Rank 3: ", "[stderr] ", "E0311 17:57:32.123456 1234 x.py:12] ",
    "[2031-03-11 17:57:32,123][__main__][ERROR] - ", "2031-03-11 17:57:32.123 | ERROR    | __main__:main:12 - ", "ERROR:root:",
]  # fmt: skip
SOURCE = [
    '    raise RuntimeError("CUDA error: out of memory")',
    '  File "/opt/x/errors.py", line 12, in raise_nan_error',
    "    except torch.cuda.OutOfMemoryError as e:",
    '    self._handle_failure("loss is nan")',
    '    logger.error("Training failed with error: NCCL timeout")',
    "    ^^^^^^^^^^^^^^^",
]


@pytest.mark.parametrize("stamp", STAMPS)
def test_source_behind_a_stamp_is_quiet_and_an_exception_is_not(stamp: str) -> None:
    assert [line for line in SOURCE if triage(stamp + line).alarm] == []
    ends = (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
        "KeyError: 3",
    )
    assert [triage(stamp + end).label for end in ends] == ["gpu_oom", "exception"]
    assert triage(f"{stamp}Traceback (most recent call last):").alarm


STATEMENTS = [
    'if [ $? -ne 0 ]; then echo "training failed"; exit 1; fi',
    'python train.py || { echo "training crashed"; exit 1; }',
    '|| { echo "download failed"; exit 1; }',
    'command -v nvidia-smi >/dev/null || die "nvidia-smi failed"',
    'while ! nc -z host 22; do echo "Connection refused"; sleep 1; done',
    '    echo "ERROR: CUDA not found"',
    '    } catch (const std::exception& e) { std::cerr << "fatal error: " << e.what(); abort(); }',
    '  42 |   throw std::runtime_error("CUDA error: out of memory");',
    'fprintf(stderr, "CUDA error: %s\\n", cudaGetErrorString(err));',
    "gpuErrchk(cudaPeekAtLastError());  // illegal memory access",
    'if err != nil { log.Fatal("failed to connect") }',
    'console.error("process crashed with code 1");',
    'sys.exit("ERROR: no GPU found")',
]


def test_statements_of_a_shell_and_of_other_languages_are_quiet_and_what_they_end_with_is_not() -> (
    None
):
    assert [line for line in STATEMENTS if triage(line).alarm] == []
    for end in (
        'ERROR: process "/bin/sh -c make || exit 1" did not complete successfully: exit code: 2',
        "executor failed running [/bin/sh -c pip install x && echo done]: exit code: 1",
        "train.sh: line 3: 4242 Segmentation fault      (core dumped) python train.py || exit 1",
        "terminate called after throwing an instance of 'std::runtime_error'",
        "train.cu:42: CUDA error: out of memory",
    ):
        assert triage(end).alarm, end


CALM = [  # and no level of trouble
    "2031-03-11T17:57:32.372Z ", "2031-03-11 17:57:32,123 - INFO - ", "[2031-03-11 17:57:32] ", "Mar 11 17:57:32 box bash[123]: ",
    "[stdout] ", "INFO:root:", "[17:57:32] ", "2031-03-11 17:57:32.123 | INFO     | __main__:main:12 - ", "3: ", "trainer-1  | ",
]  # fmt: skip


@pytest.mark.parametrize("stamp", CALM)
def test_text_behind_a_stamp_is_text(stamp: str) -> None:
    said = [
        "# handle CUDA out of memory here",
        "3f2a1c9 fix: CUDA out of memory in eval loop",
        'Prompt: Explain the error "CUDA out of memory".',
        '{"text": "He was killed by a bus error in judgement", "label": 1}',
        "tokens: ['the', 'process', 'was', 'killed']",
        "H-12\t-0.3412\tthe connection was lost during the storm",
        "ref: the bridge failed",
        'if [ $? -ne 0 ]; then echo "training failed"; exit 1; fi',
    ]
    assert [line for line in said if triage(stamp + line).alarm] == []


@pytest.mark.parametrize(
    ("label", "line"),
    [
        ("killed", "2031-03-11T17:57:32.372Z Killed"),
        ("killed", "3: Killed"),
        ("exception", "2031-03-11T17:57:32.372123456Z stderr F Exception in thread Thread-4:"),
        ("exception", "trainer-1  | Aborted"),
        ("preempted", "2031-12-09T20:18:10.7098386Z ##[error]The operation was canceled."),
    ],
)
def test_a_bare_end_behind_a_stamp_is_one(label: str, line: str) -> None:
    mark = triage(line)
    assert (mark.label, mark.alarm) == (label, True)
