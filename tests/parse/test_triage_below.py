"""What lies below a trainer and gives way, told in the words of each library, driver and scheduler: made-up siblings."""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

ALARMS = {
    "hardware": (
        "Unable to detect the device handle for GPU0000:AF:00.0: Unknown Error",
        "Unable to determine the device handle for gpu 0000:02:00.0: Insufficient External Power",
        "FAILED to get details on GPU (0x3): Unknown Error",
        "Error: nvmlDeviceGetHandleByIndex(): Unknown Error",
        "nvmlDeviceGetHandleByPciBusId failed: GPU is lost",
        "pynvml.NVMLError_GpuIsLost: GPU is lost",
        "pynvml.NVMLError_Unknown: Unknown Error",
        "GPU0: nvmlDeviceGetTemperature: GPU requires restart",
        "[   81.4] NVRM: GPU0 _kgspBootGspRm: (the GPU is likely in a bad state and may need to be reset)",
        "[ 2051.7] NVRM: kgspWaitForGfwBootOk_TU102: (the GPU may be in a bad state and may need to be reset)",
        "[ 1941.2] mlx5_core 0000:5e:00.0: synd 0x1: firmware internal error",
        "[ 1941.2] mlx5_core 0000:5e:00.0: print_health_info:432:(pid 0): synd 0x8: unrecoverable hardware error",
        "[ 1941.2] mlx5_core 0000:5e:00.0: synd 0x10: High temperature",
        "[ 1941.2] mlx5_core 0000:5e:00.0: synd 0xa: ICM fetch PCI error",
        "[ 1941.2] mlx5_core 0000:5e:00.0: handling bad device here",
        "[ 1941.2] mlx5_core 0000:5e:00.0: health recovery flow aborted, PCI reads still not working",
        "The node with node id 71f2 has been marked dead because the detector has missed too many heartbeats from it.",
        "The node with client ID 1eadc9 has been marked dead because the monitor has missed too many heartbeats from it.",
        "Task failed because the node it was running on is dead or unavailable. Node IP: 10.1.2.3, node ID: e5.",
        "Task failed because all of its copies were on a node that died. The node it was running on died.",
        "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu, which is unexpected",
        "Pod was rejected: Allocate failed due to no healthy devices present; cannot allocate unhealthy devices amd.com/gpu",
    ),
    "gpu_oom": (
        "call to cuMemAlloc returned error 2 (CUDA_ERROR_OUT_OF_MEMORY): Out of memory",
        "/nvshmem_src/src/host/mem/mem_heap.cpp:512: cuMemCreate failed: out of memory",
    ),
    "host_oom": (
        "The replica worker 3 ran out-of-memory and exited with a non-zero status of 9(SIGKILL)",
        "The replica workerpool0-0 ran out-of-memory and exited with a non-zero status of 137.",
        "Job exceeded a memory resource limit (vmem, pvmem, etc.). Job was aborted",
        "Job aborted: exceeded its memory resource limit",
        "worker 3 was killed: out-of-memory",
    ),
    "hang": (
        "DeepEP error: timeout (dispatch CPU)",
        "DeepEP timeout check failed: rank = 3, thread = 0, value = 1024)",
        "DeepEP dispatch NVL receiver timeout, channel: 3, RDMA: 0, nvl: 2, src NVL: 1, head: 0, tail: 0",
        "[2020-01-15 22:44:31: W horovod/common/stall_inspector.cc:105] Stalled ranks: 0: [HorovodAllreduce]",
        "        rtStreamSynchronize execute failed, reason=[stream sync timeout][FUNC:FuncErrorReason][FILE:error_message_manage.cc][LINE:53]",
    ),
    "nccl": (
        "/nvshmem_src/src/host/init/init.cu:989: non-zero status: 7 nvshmem detect topo failed",
        "/opt/nvshmem/src/modules/transport/ibrc/ibrc.cpp:1433: non-zero status: 7 ep_connect failed",
        "/opt/nvshmem/src/modules/transport/ibgda/ibgda.cpp:1889: NULL value cannot allocate mlx5dv_devx_uar",
        "/opt/nvshmem/src/modules/transport/ibgda/ibgda.cpp:2234: NULL value Unable to create ah.",
        "/workspace/nvshmem_src/src/host/transport/transport.cpp:nvshmemi_transport_init:287: Unable to initialize any transports. returning error.",
        "src/host/init/init.cu:nvshmemi_check_state_and_init:1080: nvshmem initialization failed, exiting",
        "NVSHMEM API called before NVSHMEM initialization has completed",
        "Abort(741942921) on node 19 (rank 19 in comm 0): Fatal error in PMPI_Alltoall: Other MPI error, error stack:",
        "12: Abort(271763599) on node 7 (rank 7 in comm 0): Fatal error in internal_Send: Other MPI error, error stack:",
        "Fatal error in MPI_Init_thread: Other MPI error, error stack:",
        "Fatal error in PMPI_Recv: Unknown error class, error stack:",
        "An ORTE daemon has unexpectedly failed after launch and before",
        "A PRTE daemon has unexpectedly failed after launch and before",
        "A daemon (pid 4411) died unexpectedly with status 255 while attempting",
        "PRTE was unable to reliably start one or more daemons.",
        "mpirun was unable to launch the specified application as it could not access",
        "        Transport init error. Reason: [Create][DestLink]Create Dest error! creakLink para:rank[7]-localUserrank[7]",
        "[Init][ProcessLinks]dest link creation failed, ret[9]",
        "EI0009: Transport init error. Reason: the link is not up",
        "[1724830000.123456] [node1:4411 :0]  ucp_ep.c:999  UCX  FATAL  fatal failure in wireup",
    ),
    "cuda_error": (
        "Accelerator Fatal Error: call to cuCtxCreate returned error 214",
        "call to cuStreamSynchronize returned error 700 (CUDA_ERROR_ILLEGAL_ADDRESS): Illegal address during kernel execution",
        "call to cuInit returned error 999 (CUDA_ERROR_UNKNOWN): Unknown",
        "quick.cuda: src/quick_cusolver.c:192: cuda_diag_: Assertion `CUSOLVER_STATUS_SUCCESS == cusolver_status' failed.",
        "gemm.cu:88: run: Assertion `status == CUBLAS_STATUS_SUCCESS' failed.",
        "main: fft.cu:12: int main(): Assertion `r == CUFFT_SUCCESS' failed.",
        "CUSPARSE API failed at line 162 with error: initialization error (1)",
        "CUDA API failed at line 93 with error: no kernel image is available for execution on the device (209)",
        "cuSOLVER API failed at line 12 with error: 7",
        "Error in magma_getdevice_arch: MAGMA not initialized (call magma_init() first) or bad device",
        "error in magma_init(): -116",
        "RuntimeError: Bad StatusOr access: INVALID_ARGUMENT: PJRT_Client_Create: error condition nullptr != (args)->client->Error(): Init: error condition !(num_devices > 0):",
        "        Kernel task happen error, retCode=0x2a, [aicpu exception].[FUNC:PreCheckTaskErr][FILE:task_info.cc][LINE:1776]",
        "        Aicore kernel execute failed, device_id=0, stream_id=2, report_stream_id=2, task_id=19016, flip_num=0.[FUNC:GetError][FILE:stream.cc][LINE:1512]",
        "        The error from device(chipId:2, dieId:0), serial number is 1, there is an fftsplus aivector error exception, core id is 39, error code = 0x800000.[FUNC:ProcessStarsCoreErrorInfo][FILE:device_error_proc.cc][LINE:1170]",
        "        fftsplus task error, device id 0.[FUNC:PrintErr][FILE:task.cc][LINE:7]",
    ),
    "preempted": (
        "Run failed with error code INTERRUPTED_BY_NO_CAPACITY. Check CLI and server logs for more details.",
        "job(d4ff61)short-starfish-1-0-0: job status is FAILED, reason: INTERRUPTED_BY_NO_CAPACITY",
        'ERROR: Job failed (system failure): pod "ci/runner-3" is disrupted: reason "EvictionByEvictionAPI", message "Eviction API: evicting".',
        'pod "train-0" is disrupted: reason "PreemptionByScheduler", message "train-0 was preempted"',
        "  DisruptionTarget   True  DeletionByTaintManager: Taint manager: deleting due to NoExecute taint",
        "reason: TerminationByKubelet",
    ),
    "killed": (
        "8 total processes killed (some possibly by mpiexec during cleanup)",
        "1 total process killed (some possibly by mpirun during cleanup)",
        "terminated_by_user: run was stopped, reason: TERMINATED_BY_USER",
    ),
    "network": (
        "squeue: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host",
        "srun: error: fetch_config: DNS SRV lookup failed",
        "sinfo: error: slurm_load_partitions: Unable to contact slurm controller (connect failure)",
    ),
    "exception": (
        "10.20.3.7: fabric manager config file item: FABRIC_NODE_CONFIG_FILE has an invalid value",
        "ptxas error   : Entry function 'k' uses too much shared data (0x20400 bytes, 0xc000 max)",
        "  ptxas fatal   : Unresolved extern function 'foo'",
        "nvlink error   : Undefined reference to 'bar' in 'a.o'",
        "nvcc fatal   : Unsupported gpu architecture 'compute_100'",
        'time="2021-03-07T02:47:01Z" level=info msg="step group wf-1 was unsuccessful: child \'wf-1-2\' failed" namespace=argo workflow=wf-1',
        'slurmstepd: error: Munge encode failed: Failed to access "/var/run/munge/munge.socket.2": No such file or directory',
        "sbatch: error: Munge decode failed: Invalid credential",
        "slurmstepd: error: authentication: Invalid authentication credential",
        "scontrol: error: authentication: Munged communication error",
        "slurm_update error: Protocol authentication error",
        "2019-09-06 04:18:21.859156: E tensorflow/compiler/xla/xla_client/xla_util.cc:72] The TPU system has not been initialized.",
    ),
}

INNOCENT = (
    ":3:hip_platform.cpp :715 : 8803012601 us: init: Returned hipErrorNoBinaryForGpu : continue parsing remaining modules",
    "WARN: Failed to initialize all selected devices. Perf may be limited.",
    "DEBU[0000] Configured OCI runtime runsc initialization failed: no valid executable found for OCI runtime runsc: invalid argument",
    "DEBU[0001] Failed to add podman to systemd sandbox cgroup: exec: dbus-launch: executable file not found in $PATH",
    "TRAC[0001] connection failed: retry",
    "slurmstepd: error: If munged is up, restart with --num-threads=10",
    'slurmctld: debug:  auth/munge: slurm_auth_create: Munge encode failed: Failed to connect to "/var/run/munge/munge.socket.2": Resource temporarily unavailable (retrying ...)',
    "WARN: init failed for remote transport: ibrc",
    "WARN: device erdma_0 is not enumerated as an mlx5 device. Skipping...",
    "NVSHMEM v3.4.5 initialized, 8 PEs",
    "NVSHMEM_BOOTSTRAP set by environment to UID",
    "/nvshmem_src/src/modules/transport/common/transport_ib_common.h 138 NET/IB: Ip address '::' is invalid for family AF_INET, ignoring address",
    "/nvshmem_src/src/modules/transport/ibrc/ibrc.cpp:10: status: 0",
    "[ 1941.2] mlx5_core 0000:5e:00.0: synd 0x0: unrecognized error",
    "[ 1941.2] mlx5_core 0000:5e:00.0: fw_ver 20.26.4012",
    "[ 1941.2] mlx5_core 0000:5e:00.0: health recovery succeeded",
    "call to cuCtxCreate returned error 0",
    "CUSOLVER_STATUS_SUCCESS",
    "if (status != CUSPARSE_STATUS_SUCCESS) {",
    "assert(status == CUBLAS_STATUS_SUCCESS);",
    "magma_init() done, version 2.7.1",
    "MAGMA 2.7.1, 64-bit magma_int_t, 64-bit pointer.",
    "0 total processes killed (some possibly by mpiexec during cleanup)",
    "retry on_events: [interrupted_by_no_capacity, no-capacity]",
    "ptxas info    : Used 40 registers, 132096 bytes smem, 440 bytes cmem[0]",
    "ptxas warning : Stack size for entry function 'k' cannot be statically determined",
    "nvlink warning : SM Arch ('sm_52') not found in 'a.o'",
    "        Rectify the fault based on the error information in the ascend log.",
    "        stream is destroyed normally.[FUNC:Free][FILE:stream.cc][LINE:12]",
    "MPI_Init_thread provided MPI_THREAD_MULTIPLE",
    "A daemon thread was started to watch the queue",
    "config file item: LOG_LEVEL has value 4",
    "oom-adjuster: out-of-memory protection enabled",
    "out-of-memory errors can be avoided by a smaller batch",
    "GPU 0: no unhealthy devices",
    "nvmlDeviceGetHandleByIndex took 3 ms",
    "munge.service - MUNGE authentication service",
    "DeepEP timeout is set to 100 seconds",
    "DeepEP timeout: 100",
)


@pytest.mark.parametrize(
    ("label", "line"), [(label, line) for label, lines in ALARMS.items() for line in lines]
)
def test_what_gives_way_below_is_named(label: str, line: str) -> None:
    mark = triage(line)
    assert mark.alarm, line
    assert mark.label == label, line


@pytest.mark.parametrize("line", INNOCENT)
def test_what_only_sounds_like_it_is_quiet(line: str) -> None:
    assert not triage(line).alarm, line
