"""Ends of runs in the words of launchers and trainers, and what only sounds like one.

The quiet lines are what runs print that ended well.
"""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

ENDS = [
    ("inf", "[Steps 120/9000] [Wall Clock 1.5s] [LR 0.001] Loss is Infinity."),
    (
        "host_oom",
        "error: (-4:Insufficient memory) Failed to allocate 9 bytes in function 'cv::OutOfMemoryError'",
    ),
    ("exception", "[Exception|widget]the widget has no such field: left"),
    ("hang", "WorkNCCL(OpType=BROADCAST, SeqNum=7) ran for 600123 ms before timing out."),
    ("hang", "To avoid data inconsistency, the entire process is terminated."),
    ("network", "Failed to fetch the model. Please check your internet connection and try again."),
    ("host_oom", "OutOfMemoryError: Task was killed due to the node running low on memory."),
    ("disk_full", "Could not write the model. Check your disk space!"),
    ("cuda_error", "F widget.cc:94] Check failed: cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS"),
    ("exception", "W1215 13:11:30.6 41 init.cc:2] *** Aborted at 1608009090 (unix time) ***"),
    ("exception", "Oops, something went wrong"),
    ("exception", "[已退出进程，代码为 1 (0x00000001)]"),
    ("hardware", "GPU 5 is no longer visible"),
    ("hardware", "Expected 8 GPUs, found 7"),
    ("hardware", "DBE detected on GPU 1"),
    ("gpu_oom", "OOM on rank 3 at step 120"),
    ("killed", "FatalError: `Termination signal` is detected by the operating system."),
    (
        "exception",
        "OMP: Error #15: Initializing libiomp5.so, but found libomp.so already initialized.",
    ),
    ("gpu_oom", "VRAM exhausted on GPU 2"),
    ("host_oom", "Out of RAM"),
    ("host_oom", "RuntimeError: unable to write to file </torch_1_2>"),
    ("host_oom", "dataloader worker killed (out of memory)"),
    ("hang", "Timeout: Some ranks did not reach the barrier in 600 seconds"),
    ("hang", "One or more ranks appear to be stuck, see the traces"),
    ("hang", "Timed out after 600s waiting for all nodes to join"),
    ("hang", "No response from worker 7 in 300s; assuming it hung"),
    ("hang", "Training appears to be stalled: no step in the last 30 minutes"),
    ("hang", "[watchdog] step 1200 has been running for 1800s, killing job"),
    ("nccl", "terminate called after throwing an instance of 'gloo::EnforceNotMet'"),
    ("nccl", "peer rank 5 closed the connection"),
    ("nccl", "hccl init failed"),
    ("cuda_error", "RuntimeError: No HIP GPUs are available"),
    ("ckpt_corrupt", "Checkpoint /x/last.ckpt could not be read"),
    ("ckpt_corrupt", "Resume requested but no checkpoint found in runs/exp, starting at step 0"),
    ("ckpt_corrupt", "Could not load text model: D:\\models\\q4_k_m.gguf"),
    ("preempted", "(autoscaler +1m) Node 10.0.0.2 preempted"),
    ("preempted", "instance will be reclaimed"),
    ("killed", "Training interrupted."),
    ("killed", "Terminate batch job (Y/N)?"),
    ("killed", "The exit codes of the workers are {SIGKILL(-9)}"),
    ("killed", "3217/3849, 4.0 task/s, ETA: 157s\u5df2\u6740\u6b7b"),
    ("traceback", "raceback (most recent call last):"),
    ("network", "All 10 retry attempts failed. The last failure: HTTP response code 503"),
    ("network", "Connection closing...Socket close."),
    ("exception", ": name 'HOST' is not definedNameError"),
    ("exception", "KeyErrorKeyError: : 'a''a'"),
    ("exception", "Number of errored trials: 1"),
    ("exception", "[2026-03-10 06:35:52] WATCHDOG: server FAILED to restart"),
    ("exception", "[run 12/40] lr=0.1 -> crashed"),
    ("exception", "Subprocess failed (code 1)"),
    ("exception", "world size (7) is not divisible by tensor parallel size (2)"),
    ("exception", "Requested 8 GPUs but only 4 are available"),
    ("exception", "Placement is invalid because rank must be less than world size"),
    ("exception", "sim.sh: 2: sim.sh: : not found"),
    ("exception", "munmap_chunk(): invalid pointer"),
    ("exception", "status 3221225477."),
    ("exception", "Process 14750 (python) of user 0 dumped core."),
    ("gpu_oom", "ERROR: OOM during optimization, irrecoverable"),
    ("gpu_oom", "ray.exceptions.RayTaskError(OutOfMemoryError): ray::work() (pid=2, ip=10.0.0.4)"),
    (
        "gpu_oom",
        "terminate called after throwing an instance of 'thrust::system::detail::bad_alloc'",
    ),
    ("host_oom", "memory allocation of 51539607552 bytes failed"),
    ("nccl", "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000"),
    (
        "cuda_error",
        "[Rank 3] Process group watchdog thread terminated with exception: CUDA error: an illegal memory access was encountered",
    ),
    ("cuda_error", "RuntimeError: GET was unable to find an engine to execute this computation"),
    ("cuda_error", "THCudaCheck FAIL file=THCGeneral.cpp line=663 error=11 : invalid argument"),
    ("cuda_error", "XlaRuntimeError: FAILED_PRECONDITION: DNN library initialization failed."),
    ("killed", "mpirun: killing job..."),
    ("nan", "RuntimeError: NaN or Inf loss encountered at batch 3."),
    ("nan", "FloatingPointError: invalid value (nan) encountered in jit(f)"),
    ("nan", "AssertionError: Nan in a probability tensor."),
    ("network", "aiohttp.client_exceptions.ServerDisconnectedError: Server disconnected"),
    # Who only speaks of ranks, of checkpoints or of memory asks for something else.
    ("exception", "ValueError: dp process group is required but not provided in the collection"),
    ("exception", "RuntimeError: trying to initialize the default process group twice!"),
    (
        "exception",
        "NotImplementedError: Loading a single optimizer from a checkpoint is not yet done",
    ),
    ("exception", "ImportError: Loading such checkpoints requires a package. Install it."),
    ("exception", "ValueError: Not enough free blocks in the KV-cache to allocate 3 blocks"),
    (
        "exception",
        "ValueError: Expecting one-dimensional signal. Received signal with shape (1, 2)",
    ),
    ("exception", "AssertionError: Found inference request of type int"),
    ("exception", "InvalidArgumentError:  Incompatible shapes: [32,10] vs. [32,12]"),
    ("exception", "AssertionError: 0/1 Adam is not compatible with ZeRO"),
    ("exception", "ValueError: level must be one of 'INFO', 'WARN', or 'ERROR'"),
    ("exception", "Exception: The dataset is empty. All elements may have been skipped."),
    ("exception", "nvcc fatal   : Unsupported gpu architecture 'compute_90'"),
]

QUIET = [
    "number of errored trials: 0",
    "Terminate on NaN: enabled",
    "OOM at batch size 64, retrying with 32",
    "Handling errors gracefully",
    "checking for dead workers ... none",
    "stopping criteria met, finishing",
    "Shutting down the executor. If you see a SIGTERM received, please ignore because this is expected.",
    "His son was killed in action, and his brother died when the process of law was suspended.",
    " Rate Limiter             8  [======              ] ",
    "Clang version: Could not collect",
    "[conda] Could not collect",
    "63: /workspace/run.sh: line 19: ulimit: open files: cannot modify limit: Invalid argument",
    "[n1:85031 - context.c:601] ERROR sharp_create_job failed: No Aggregation Manager (sharp_am) detected(-52)",
    "n1:86111:86310 [0] transport.cc:238 NCCL WARN Cannot initialize CollNet, using point-to-point network instead",
    "[W501 socket.cpp:752] [c10d] The client socket has failed to connect to [n1]:29500 (errno: 22 - Invalid argument).",
    "slurmstepd: error: _is_a_lwp: open() /proc/255604/status failed: No such file or directory",
    "[Epoch 1 7/9][Iteration 1012][Wall Clock 184.418117875s] HitRatio is 0.5",
    "WARNING NMS time limit 2.100s exceeded",
    "<frozen importlib._bootstrap>:219: RuntimeWarning: size changed. Expected 56 from C header, got 64",
    "ERROR 2024-03-20T12:09:36.741718541Z {}",
    "Stopping training due to num_updates: 300000 >= max_update: 300000",
    "Stopping training because the mean reward 201.5 is above the threshold 200",
    "stopping training because current learning rate (1e-9) is smaller than or equal to minimum learning rate",
    "Parameter 'fn' of the transform couldn't be hashed properly, a random hash was used instead. Make sure it can.",
    "Could not estimate the number of tokens of the input, floating-point operations will not be computed",
    "Unable to find the dictionary. assuming that it will be used for fine-tuning",
    "Failed to detect the name of this notebook, you can set it manually",
    '[reader] Attempt 1/3 to read data item failed with exception "a"; going to sleep for 3 seconds and then re-try...',
    "config.bin exists, but the SHA256 checksum does not match; re-downloading the file",
    "Aborted request cmpl-1",
    "sh: 1: lspci: not found",
    "df: /root/.cache/autotune: No such file or directory",
    "2023-01-01 00:00:00.000000: E tensorflow/core/grappler/optimizers/meta_optimizer.cc:961] layout failed: INVALID_ARGUMENT: Size of values 0 does not match",
    "Could not identify the layer class, applying FSDP to the whole model structure only.",
    "torchvision is not available - cannot display figures",
    "Found inference requests in the queue, 3 of them skipped",
]


@pytest.mark.parametrize(("label", "line"), ENDS)
def test_an_end_is_known_however_it_is_told(label: str, line: str) -> None:
    mark = triage(line)
    assert (mark.label, mark.alarm) == (label, True)


@pytest.mark.parametrize("line", QUIET)
def test_what_a_good_run_prints_stays_quiet(line: str) -> None:
    assert not triage(line).alarm
