"""Lines whose words fit two labels: the first in triage order is the line's, the cause before its symptom."""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

FIRST_THAT_FITS = [
    (
        "gpu_oom",
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    ),
    ("gpu_oom", "n3:44:45 [2] include/alloc.h:216 NCCL WARN Cuda failure 2 'out of memory'"),
    (
        "gpu_oom",
        "torch.distributed.DistBackendError: NCCL error in: ../ProcessGroupNCCL.cpp:1333, unhandled cuda error Last error: Failed to CUDA calloc async 608 bytes",
    ),
    (
        "gpu_oom",
        "command buffer 0 failed with status 5 error: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)",
    ),
    (
        "gpu_oom",
        "RuntimeError: UR backend failed. UR backend returns:39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)",
    ),
    (
        "cuda_error",
        "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
    ),
    ("cuda_error", "RuntimeError: CUDA error: the launch timed out and was terminated"),
    ("hardware", "RuntimeError: CUDA error: uncorrectable ECC error encountered"),
    ("hardware", "n4:92:14 [3] NCCL WARN Cuda failure 'uncorrectable ECC error encountered'"),
    (
        "hardware",
        "slurmstepd: error: *** JOB 9 ON n7 CANCELLED AT 2031-04-01T01:02:03 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
    ),
    ("host_oom", "RuntimeError: DataLoader worker (pid 41) is killed by signal: Bus error."),
    (
        "exception",
        "RuntimeError: DataLoader worker (pid 41) is killed by signal: Segmentation fault.",
    ),
    ("killed", "RuntimeError: DataLoader worker (pid 41) is killed by signal: Terminated."),
    ("host_oom", "OSError: [Errno 28] No space left on device: '/dev/shm/widget_4'"),
    ("host_oom", "ERROR: Unable to allocate shared memory: shm_open: No space left on device"),
    ("disk_full", "OSError: [Errno 28] No space left on device: '/data/widget_4'"),
    ("inode", "The node was low on resource: inodes. Threshold quantity: 1000, available: 10."),
    ("hang", "RuntimeError: Timeout waiting for key: default_pg/0/0 after 300000 ms"),
    ("hang", "tensorflow.python.framework.errors_impl.DeadlineExceededError: Deadline Exceeded"),
    ("preempted", "    Reason: DeadlineExceeded"),
    (
        "nccl",
        "torch.distributed.DistStoreError: Timed out after 31 seconds waiting for clients. 1/2 clients joined.",
    ),
    (
        "nccl",
        "RuntimeError: Connection reset by peer. This may indicate a possible application crash on rank 0 or a network set up issue.",
    ),
    ("nccl", "RuntimeError: Broken pipe in TCPStore"),
    ("nccl", "[n7:04411] mca_btl_tcp_frag_recv: readv failed: Connection reset by peer (104)"),
    ("network", "ConnectionResetError: [Errno 104] Connection reset by peer"),
    (
        "ckpt_corrupt",
        "RuntimeError: [enforce fail at inline_container.cc:145] . PytorchStreamReader failed reading zip archive: not a ZIP archive",
    ),
    (
        "disk_full",
        "RuntimeError: [enforce fail at inline_container.cc:588] . PytorchStreamWriter failed writing file data/12: file write failed",
    ),
    (
        "ckpt_corrupt",
        "InvalidArgumentError (see above for traceback): Assign requires shapes of both tensors to match. lhs shape= [1,82,2] rhs shape= [20,82,2]",
    ),
    (
        "ckpt_corrupt",
        "NotFoundError: Unsuccessful TensorSliceReader constructor: Failed to find any matching files for ./model.ckpt-12",
    ),
    ("ckpt_corrupt", "ValueError: Can't find a valid checkpoint at out/checkpoint-500"),
    (
        "ckpt_corrupt",
        'ValueError: Trying to set a tensor of shape torch.Size([11, 4]) in "weight" (which has shape torch.Size([12, 4])), this look incorrect.',
    ),
    (
        "ckpt_corrupt",
        "ValueError: Requested shape: (32, 4) is not compatible with the stored shape: (36, 4).",
    ),
    (
        "exception",
        "torch.utils.checkpoint.CheckpointError: torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the forward pass.",
    ),
    ("exception", "InvalidArgumentError (see above for traceback): bad widget"),
    ("preempted", "Job 99 exceeded its wall-clock limit and was terminated"),
    ("preempted", "The replica workerpool0-0 was preempted"),
    ("exception", "pod train-0 crashed"),
    ("killed", "Training process exited with code -9"),
    ("exception", "Process finished with exit code -1"),
    ("killed", "The command '/bin/sh -c python train.py' returned a non-zero code: 137"),
    ("exception", "The command '/bin/sh -c python train.py' returned a non-zero code: 1"),
    (
        "killed",
        "error: process didn't exit successfully: `target/release/train` (signal: 9, SIGKILL: kill)",
    ),
    (
        "exception",
        "error: process didn't exit successfully: `target/release/train` (signal: 11, SIGSEGV: invalid memory reference)",
    ),
    ("killed", "make: *** [train] Error 137"),
    ("exception", "make: *** [train] Error 1"),
    ("killed", "lightning.fabric.utilities.exceptions.SIGTERMException"),
    ("network", "httpx.ReadError"),
    ("network", "psycopg2.OperationalError: server closed the connection unexpectedly"),
    (
        "network",
        "requests.exceptions.HTTPError: 504 Server Error: Gateway Time-out for url: https://x.org/api",
    ),
    (
        "exception",
        "requests.exceptions.HTTPError: 404 Client Error: Not Found for url: https://x.org/api",
    ),
    ("ckpt_corrupt", "KeyError: 'model_state_dict'"),
    ("ckpt_corrupt", "OSError: ./work/latest.pth is not a checkpoint file"),
    ("ckpt_corrupt", "ValueError: No checkpoint found at path: gs://widget/ckpt"),
    ("ckpt_corrupt", "ValueError: Unrecognized checkpoint format"),
    ("exception", "TypeError: load_state_dict() got an unexpected keyword argument 'assign'"),
    ("disk_full", "I/O error writing checkpoint /x/y.pt: ENOSPC"),
    ("disk_full", "[monitor] /workspace 96% used"),
    ("disk_full", "AsyncCheckpointer: writing checkpoint step 400 failed: OSError"),
    ("disk_full", "Your home directory quota is exceeded"),
    ("host_oom", "fatal: Out of memory, malloc failed (tried to allocate 8589934592 bytes)"),
    ("host_oom", "The kernel for train.ipynb appears to have died. It will restart automatically."),
    ("killed", "g++: internal compiler error: Killed (program cc1plus)"),
    ("gpu_oom", "!!! Exception during processing !!! Allocation on device"),
    ("exception", "AssertionError: NaN values in column 'price'"),
    ("exception", "ValueError: Input X contains NaN."),
    ("hardware", "nvidia-smi: GPU 0000:41:00.0 has been lost"),
    ("network", "The runner test-gpu-3 lost communication with the server"),
    ("hang", "Worker 3 has not sent a heartbeat for 300s, assuming dead"),
    ("hang", "Timeout (0:30:00)!"),
    ("preempted", "GCE instance preempted, shutting down"),
    ("preempted", "SIGTERM received because of preemption"),
    ("killed", "Shutting down all workers after SIGTERM"),
    ("network", "aiohttp: Cannot connect to host widget.org:443 ssl:default"),
    ("network", "ConnectionError: [WinError 10054] An existing connection was forcibly closed"),
    ("network", "Error: Server disconnected without sending a response."),
    (
        "cuda_error",
        "RuntimeError: Native API failed. Native API returns: -997 (Command failed to enqueue/execute)",
    ),
    (
        "gpu_oom",
        "RuntimeError: Native API failed. Native API returns: -5 (PI_ERROR_OUT_OF_RESOURCES)",
    ),
    (
        "cuda_error",
        "RuntimeError: Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU devices.",
    ),
]


@pytest.mark.parametrize(("label", "line"), FIRST_THAT_FITS)
def test_the_cause_is_named_before_the_symptom(label: str, line: str) -> None:
    mark = triage(line)
    assert (mark.label, mark.alarm) == (label, True)


# Hardware's numbers are fatal, an application's serious.
@pytest.mark.parametrize("number", [13, 31, 32, 37, 43, 45, 68, 69, 94, 109])
def test_an_application_is_at_fault(number: int) -> None:
    assert (
        triage(f"NVRM: Xid (PCI:0000:65:00): {number}, pid=12, name=python").severity == "serious"
    )


@pytest.mark.parametrize("number", [48, 62, 63, 64, 74, 79, 92, 95, 110, 119, 120, 140, 143])
def test_hardware_is_at_fault(number: int) -> None:
    assert triage(f"NVRM: Xid (PCI:0000:65:00): {number}, pid=12, name=python").severity == "fatal"
