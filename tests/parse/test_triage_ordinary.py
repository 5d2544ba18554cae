"""What the ordinary threads of batches 76, 77 and 79 showed, by its class, and who looks like it. All lines are made up.

A row is the label that alarms, or `-` for a line that must not, and the line.
"""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

CLASSES = r"""
# a monitor of memory says whom it killed
host_oom|Pool killed this worker (ID: 1f3a) because it was scheduled last; to see more about memory usage on this node, read the raylet's log.
host_oom|The scheduler killed the job because its memory use grew past the limit
-|if the monitor killed the worker for the memory limit, raise it
-|we killed the container to free memory
-|Killed the process that held the GPU memory
# states that are counted, and a row of a table of trials
exception|Number of trials: 2/2 (1 ERROR)
exception|Number of trials: 9/9 (2 ERROR, 7 TERMINATED)
exception|(3 FAILED, 5 COMPLETED)
exception|  RUNNING: 3, FAILED: 1, SUCCEEDED: 4
exception|PENDING=0 RUNNING=1 FAILED=2 DONE=5
exception|| tune_me_3517e_00000 | ERROR    | 10.0.0.4:45284 |
exception|│ train_fn_00001   ERROR               1 │
-|Number of trials: 9/9 (9 TERMINATED)
-|Number of trials: 4/10 (1 PENDING, 3 RUNNING)
-|(0 FAILED, 8 COMPLETED)
-|  RUNNING: 3, FAILED: 0, SUCCEEDED: 4
-|| tune_me_3517e_00000 | TERMINATED    | 10.0.0.4:45284 |
-|states = (PENDING, RUNNING, ERROR)
-|Legend: 0 ERROR 1 OK
-|| errors_4xx | ERROR_RATE | 0.1 |
# a card that the library was not built for
cuda_error|GeForce RTX 9090 with CUDA capability sm_130 is not compatible with the current PyTorch installation.
cuda_error|    PyTorch no longer supports this GPU because it is too old.
-|The current PyTorch install supports CUDA capabilities sm_37 sm_50 sm_60 sm_70.
-|    Found GPU0 GeForce GT 710 which is of cuda capability 3.5.
# the head of a report
exception|Internal error (bug):
exception|Internal error: the queue is gone
exception|Faulting application name: python.exe, version: 3.12.1.1013, time stamp: 0x638fa05d
-|No internal errors were found.
-|internal errors: 0
-|internal error rate: 0.01
-|Faulting process ID: 0x2668
# a back end by its name, and kernels built for the card at hand
cuda_error|ggml_cuda_compute_forward: SOFT_MAX failed
cuda_error|Failed to compile the pair kernels for GPU #0
-|Failed to compile kernels for GPU, falling back to CPU
-|ggml_cuda_init: found 2 CUDA devices:
# NCCL's words without its name, and what it warns of and does without
nccl|Proxy Call to rank 5 failed (Connect)
nccl|(Engine pid=2347, ip=10.5.2.1) Proxy Call to rank 5 failed (Setup)
nccl|Socket recv failed while polling for opId=0x7f6f18cb7f40
nccl|Net : Call to recv from 10.0.0.4<38311> failed : Connection reset by peer
-|node7:95:95 [0] transport/p2p.cc:944 NCCL WARN rank 3 failed to IPC register userbuff 0x7f3f56000000 buffSize 37748736
-|node7:12:99 [0] graph/topo.cc:601 NCCL WARN Could not find real path of /sys/class/net/eth0/device
# what would tell more, and is not there
-|[rank7]:[E603 17:48:01.005560740 ProcessGroupNCCL.cpp:670] Stack trace of the failed collective not found, potentially because FlightRecorder is disabled. You can enable it by setting TORCH_NCCL_TRACE_BUFFER_SIZE to a non-zero value.
-|The log of the failed task could not be fetched
-|Failed to write core dump. Core dumps have been disabled.
# a limit met once, and one that ended a job
-|slurmstepd: error: Exceeded step memory limit at some point. Step may have been partially swapped out to disk.
host_oom|slurmstepd: error: Exceeded job memory limit
# a download that is taken up again, behind its bar
-|Downloading bytes: ████▉      | 58.3GB           Error while downloading from https://huggingface.co/some/x.gguf: The read operation timed out
# a node of a graph quotes what it was asked to say
-|	 [[node CheckNumerics (defined at /src/trainer.py:31)  = CheckNumerics[T=DT_FLOAT, message="LossTensor is inf or nan.", _device="/job:localhost"](clone/_24)]]
-|	 [[{{node CheckNumerics}} = CheckNumerics[T=DT_FLOAT, message="LossTensor is inf or nan."](total_loss)]]
-|[[Node: CheckNumerics = CheckNumerics[T=DT_FLOAT, message="Found Inf or NaN global norm."](norm)]]
nan|InvalidArgumentError: LossTensor is inf or nan. : Tensor had NaN values [[Node: CheckNumerics = CheckNumerics[T=DT_FLOAT](total_loss)]]
inf|W tensorflow/core/framework/op_kernel.cc:1273] OP_REQUIRES failed at check_numerics.cc: Invalid argument: Found Inf or NaN global norm. : Tensor had Inf values
# nobody was killed
-|(raylet) [2031-08-26 19:21:02,241 E 11 11] (raylet) node_manager.cc:3064: 0 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: b8)
-|No tasks were killed due to memory pressure
host_oom|(raylet) node_manager.cc:3064: 20 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons
exception|(raylet) node_manager.cc:3064: 0 Workers (tasks / actors) killed due to memory pressure (OOM), 3 Workers crashed due to other reasons
# a faster network is not there
-|node7:12:99 [0] NCCL WARN NET/IB: no IB device answered, using sockets
-|node7:12:99 [0] net.cc:60 NCCL WARN Plugin v7 could not be opened; falling back to TCP
nccl|node7:12:99 [0] misc/socket.cc:45 NCCL WARN socket connection refused
# MPI's own errors are a failure to communicate; its abort is what the program asked for
nccl|[node1:12345] *** An error occurred in MPI_Allreduce
nccl|[node1:12345] *** MPI_ERR_TRUNCATE: message truncated
nccl|It looks like MPI_INIT failed for some reason; your parallel process is
nccl|[node1:1234] [[12345,0],0] ORTE_ERROR_LOG: Out of resource in file util/show_help.c at line 501
nccl|At least one pair of MPI processes are unable to reach each other for
nccl|mpirun was unable to reach the remote host node2
exception|*** An error occurred in MPI_Abort
-|fail during MPI_INIT; some of which are due to configuration or environment
# a field of what a firmware reports
-|[11219.196606] {1}[Hardware Error]:   port_type: 0, PCIe end point
-|[11219.196653] {1}[Hardware Error]:   section_type: memory error
-|mce: [Hardware Error]: PROCESSOR 2:870f10 TIME 1590000000 SOCKET 0 APIC 4 microcode 8701013
hardware|[11219.196524] {1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 1
hardware|mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 5: bea0000000000108
# Windows, in two languages
host_oom|Not enough memory resources are available to process this command.
host_oom|OSError: [WinError 1450] Insufficient system resources exist to complete the requested service
exception|系统找不到指定的路径。
exception|拒绝访问。
# what Python warns of, by whatever name, and what a trainer does without
-|ConvergenceWarning: lbfgs failed to converge (status=1):
-|/lib/site.py:31: UserWarning: Plan failed with a cudnnException: CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: cudnnFinalizeDescriptor Failed cudnn_status: CUDNN_STATUS_NOT_SUPPORTED
-|Failed to load image Python extension: '/lib/image.so: undefined symbol: _ZN3c10'
-|Failed to import Triton kernels. Error: No module named 'triton_kernels'
-|slurmstepd: error: Unable to create TMPDIR [/scratch/7]: Permission denied
exception|ImportError: cannot import name 'triton' from 'acme'
# a name that its message touches
exception|TypeError:__init__() got an unexpected keyword argument 'acme'
-|Process Process-5:
-|TypeError:0 ValueError:2 other:1
"""
ROWS = [tuple(row.split("|", 1)) for row in CLASSES.strip("\n").split("\n") if row[:2] != "# "]


@pytest.mark.parametrize(("label", "line"), ROWS, ids=[row[1][:60] for row in ROWS])
def test_an_ordinary_line_is_understood(label: str, line: str) -> None:
    mark = triage(line)
    assert (mark.label if mark.alarm else "-") == label, mark
