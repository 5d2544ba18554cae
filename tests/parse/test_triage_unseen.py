"""Classes of wording that batches 67 to 69 showed, and what they led to: who failed, and his innocent twin. All are made up.

A row is the label that alarms, or `-` for a line that must not, and the line.
"""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

CLASSES = r"""
# accelerators: device faults
cuda_error|RuntimeError: Run task for graph:kernel_graph_3 error! The details refer to 'Ascend Error Message'.
cuda_error|RuntimeError: Ascend kernel runtime initialization failed. The details refer to 'Ascend Error Message'.
cuda_error|[ERROR] DEVICE(1201,7f33,python):2024-06-02-22:47:58.744.915 [mindspore/ccsrc/plugin/device/ascend/hal/hardware/ascend_kernel_executor.cc:195] LaunchKernel] Launch kernel failed, kernel full name: Default/Conv2D-op12
cuda_error|[CRITICAL] DEVICE(1201,7f33,python):2024-06-02-22:47:58.744.915 [mindspore/ccsrc/plugin/device/gpu/hal/device/gpu_device_manager.cc:27] InitDevice] Op Error: Failed to set current device id | Error Number: 0
cuda_error|[ERROR] KERNEL(8,ffff8,python):2023-08-10-12:33:06.836.235 [mindspore/ccsrc/plugin/device/ascend/kernel/acl/acl_kernel_mod.cc:268] Launch] Kernel launch failed, msg: Acl compile and execute failed, op_type:Add
-|[WARNING] DEVICE(1201,7f33,python):2024-06-02-22:47:58.744.915 [mindspore/ccsrc/plugin/device/ascend/hal/device/ascend_memory_adapter.cc:86] Initialize] Reserved memory size for other components is too small
-|[INFO] DEVICE(1201,7f33,python):2024-06-02-22:47:58.744.915 [mindspore/ccsrc/plugin/device/ascend/hal/device/ascend_event.cc:86] Record] event recorded
exception|[ERROR] MD(1201,7f33,python):2024-06-02-22:47:58.744.915 [mindspore/ccsrc/minddata/dataset/util/task_manager.cc:222] InterruptMaster] Task is terminated with err msg(more details are in info level logs): Exception thrown from user defined Python function
cuda_error|RuntimeError: Launch kernel failed, name: Default/MatMul-op7
cuda_error|[rank3]: RuntimeError: npuSynchronizeDevice:torch_npu/csrc/core/npu/NPUStream.cpp:435 NPU function error: aclrtSynchronizeDevice, error code is 507015
cuda_error|        rtDeviceSynchronizeWithTimeout execute failed, reason=[aicore exception][FUNC:FuncErrorReason][FILE:error_message_manage.cc][LINE:53]
cuda_error|EZ9999: Inner Error!
cuda_error|E19999: Inner Error!
cuda_error|        The error from device(chipId:0, dieId:0), serial number is 7, there is an aicore error exception, core id is 0, error code = 0x800000, dump info: pc start: 0x124
-|- Ascend Error Message:
-|[INFO] Ascend version: 23.0.rc3
-|        Solution: 1. Check whether the device is healthy. 2. Contact technical support.
# collectives of other makers
nccl|RuntimeError: HCCL function error: HcclCommInitRootInfo(numRanks, &rootInfo, rank, &(comm->hcclComm_)), error code is 4
nccl|RuntimeError: createHCCLComm:torch_npu/csrc/distributed/ProcessGroupHCCL.cpp:1030 HCCL function error: hcclCommInitRootInfoConfig, error code is 9
nccl|RuntimeError: InnerRunOpApi:torch_npu/csrc/framework/OpParamMaker.cpp:281 OPS function error: HcclAllreduce, error code is 6
nccl|[rank1]: RuntimeError: [ERROR] HCCL error in: torch_npu/csrc/distributed/ProcessGroupHCCL.cpp:64
nccl|RuntimeError: MCCL error in: musa_comm.cpp:210, unhandled system error
nccl|RuntimeError: XCCL error: unhandled system error
nccl|BKCL error(5): BKCL_SYSTEM_ERROR at bkcl_context.cc:11
-|INFO HCCL_CONNECT_TIMEOUT=1200
-|[W compiler_depend.ts:28] Warning: HCCL does not support gather, using allgather instead.
-|HCCL version 8.0.RC2
# TPUs
hardware|E0101 10:00:00.000000   12 synchronous_driver.cc:820] [/dev/accel1 tpu7:pe0:1] !!!! FATAL ERROR !!!! for [/dev/accel1 tpu7:pe0:1] , fatal_error: true, running_timer: 0xa
hardware|E0101 10:00:00.000000   12 error_handler.cc:100] Received Error Interrupt! fatal: true, running_timer: 0xeacd
-|I0101 10:00:00.000000   12 error_handler.cc:100] Error interrupt handler registered
hardware|E0101 10:00:00.000000   12 fake_program_continuator.cc:556] 1x0x2_BC1: *** [Physical location: tpu1:pe1:3] An uncorrectable error has occurred, all pending programs will fail, and results may be corrupted.
exception|An unknown error has occurred, contact your next level of support.
exception|E0101 10:00:00.000000   12 worker.cc:56] An internal error has occurred, all pending requests will fail and results may be lost
-|If an unknown error has occurred, contact support.
-|An error may have occurred if the file is empty.
# signals in the present
killed|The process receives a SIGTERM.
killed|Worker 3 receives SIGKILL from the launcher
killed|[launcher] process gets SIGTERM, stopping workers
killed|Trainer catches SIGTERM, saving state and leaving
-|When the process receives a SIGTERM, a checkpoint is written.
-|If the worker receives SIGUSR1, it dumps its stack.
-|The trainer saves a checkpoint whenever it receives a SIGTERM
-|def handler(): the process receives a SIGTERM
# failed and a verb or a thing without 'to'
exception|[14:49:16] /src/rpc/network/tcp_socket.cc:76: Failed bind on 10.0.0.7:34567 , error: Success
exception|[10:00:01] /src/rpc/network/socket_communicator.cc:120: Failed listen on 127.0.0.1:30050
exception|Failed bind on port 8080: Address already in use
network|2024-05-01 10:00:00 Failed connect to 10.0.0.3:29500; Connection refused
exception|ERROR: Failed open of /data/train.rec
exception|/opt/dgl/src/graph/serialize.cc:99: Check failed: fs: Filename is invalid
-|Failed bind attempts: 0
-|3 nodes failed bind, retrying in 5 s
-|[INFO] Failed bind is retried on the next port
# end of the data, told as a failure
-|E0718 17:30:22.468039   590 distribute_runner.h:125] Rpc failed:Out of range:No more nodes exist.name:GetNodes
-|W tensorflow/core/framework/op_kernel.cc:1830] OP_REQUIRES failed at iterator_ops.cc:1: OUT_OF_RANGE: End of sequence
-|I tensorflow/core/framework/local_rendezvous.cc:404] Local rendezvous is aborting with status: OUT_OF_RANGE: End of sequence
exception|Rpc failed:Out of range:index 12 exceeds size 10
exception|E0718 17:30:22.468039   590 distribute_runner.h:125] Rpc failed:Unavailable:server is gone.name:GetNodes
exception|IndexError: list index out of range
# the page file in other languages
host_oom|OSError: [WinError 1455] 页面文件太小，无法完成操作。 Error loading "D:\anaconda3\lib\site-packages\torch\lib\cudnn_cnn64_8.dll" or one of its dependencies.
host_oom|ImportError: DLL load failed while importing _ufuncs: 页面文件太小，无法完成操作。
host_oom|OSError: [WinError 1455] Die Auslagerungsdatei ist zu klein, um diesen Vorgang durchzuführen. Error loading "C:\torch\lib\shm.dll"
host_oom|OSError: [WinError 1455] Le fichier de pagination est insuffisant pour terminer cette opération
host_oom|OSError: [WinError 1455] El archivo de paginación es demasiado pequeño para completar la operación
host_oom|ImportError: DLL load failed: The paging file is too small for this operation to complete.
-|如果页面文件太小，请增大虚拟内存。
exception|ImportError: DLL load failed: 找不到指定的模块。
# RPC that ran too long
hang|ERROR:root:coroutine task failed: RPCErr:1:RPC ran for more than set timeout (180000 ms) and will now be marked with an error
hang|RuntimeError: RPCErr:1:RPC ran for more than set timeout (60000 ms) and will now be marked with an error
-|rpc_timeout: 60000
# Xid as older and other drivers print it
xid|NVRM: Xid (0000:03:00): 14, Channel 00000002
xid|[  512.114031] NVRM: Xid (0000:81:00): 79, GPU has fallen off the bus.
xid|Jan  4 11:02:03 box kernel: NVRM: Xid (0000:02:00): 31, Ch 00000010, engmask 00000101, intr 10000000
xid|[…] NVRM: Xid (0000:03:00): 14, Channel 00000002
xid|NVRM: Xid (PCI:0000:AA:00): 99, pid=1, name=toy
xid|NVRM: Xid [0000:3b:00.0]: 48, Double Bit ECC
-|NVRM: GPU at 0000:03:00: GPU-b850f46d-d5ea-c752-ddf3-c4453e44d3f8
-|Xid (transaction id) 0000 counts from the last vacuum
-|xid: 0
# a code at the end of a run, and a statement that gives one back
exception|return code: 255
exception|return code 1
exception|Return code is 3
exception|  return code: 137
exception|return status: 2
-|return code: 0
-|return code
-|    return code
-|    return 255
-|return value: 3.14
-|return codes: 0 = ok, 1 = failed
-|    return status, code
-|        return code == 0
# it is waited for
-|slurmd: error: Waiting for gres.conf file /dev/nvidia0
-|ERROR: Waiting for the database to come up
-|[ERROR] waiting on lock held by pid 41
-|error: still waiting for 2 of 8 nodes
-|E0101 10:00:00.000000 12 client.cc:9] Waiting for server at 10.0.0.2:9000
exception|ERROR: timed out waiting for the database
exception|error: Waiting for node n3 failed: host is down
exception|ERROR: gave up waiting for rank 3
exception|[ERROR] waiting for worker 2: worker died
# one of several programs that would do
-|2021/10/05 21:48:07 Runtime binary 'docker-runc' not found: exec: "docker-runc": executable file not found in $PATH
-|time="2024-01-02T03:04:05Z" level=info msg="Runtime 'crun' not found: exec: \"crun\": executable file not found in $PATH"
-|Optional tool 'pigz' not found: exec: "pigz": executable file not found in $PATH
exception|docker: Error response from daemon: exec: "python4": executable file not found in $PATH: unknown.
exception|OCI runtime exec failed: exec failed: exec: "train.sh": executable file not found in $PATH: unknown
exception|Error: failed to start containerd task "job": exec: "bsh": executable file not found in $PATH
# a limit of a hosted notebook
preempted|Notebook Timeout: Your submission notebook exceeded the allowed runtime.
preempted|Your notebook exceeded the allowed run time of 9 hours
preempted|The session exceeded its maximum duration and was stopped.
preempted|Job exceeded the permitted execution time (3600 s)
preempted|run exceeded maximum allowed runtime of 43200 seconds
-|Make sure that your notebook does not exceed the allowed runtime.
-|If a notebook exceeds the allowed runtime it is stopped.
-|max allowed runtime: 9h
# nothing was written
exception|Submission CSV Not Found: Your notebook did not output the expected submission file (often submission.csv).
exception|The job did not produce the expected output file results.json
exception|Training did not generate any checkpoint
exception|step 3 did not write the expected files
exception|postprocess: the script did not output valid JSON
-|The sampler did not produce a new best value this round
-|Note: a dry run did not output any file
-|The model did not output an answer for 3 of 100 prompts
# pre-empted, with a hyphen
preempted|UserError: AzureMLCompute job failed. PreemptionError: Nodes of this job got pre-empted. Check if the run has failed or restarted.
preempted|Reason: Received pre-emption warning signal
preempted|The instance was pre-empted by the cloud
preempted|pre-emption notice received, saving a checkpoint
preempted|PreemptionError: node 4 was taken back
preempted|worker-3 has been pre-empted
-|pre-emptible: true
-|If a node is pre-empted the job restarts.
-|Pre-emption is disabled for this queue
-|0 jobs pre-empted
# an ssh that ended
exception|ERROR: (gcloud.compute.ssh) [/usr/bin/ssh] exited with return code [255].
exception|ERROR: (gcloud.compute.tpus.tpu-vm.ssh) [/usr/bin/ssh] exited with return code [255].
exception|ERROR: (gcloud.compute.scp) [/usr/bin/scp] exited with return code [255].
exception|subprocess.CalledProcessError: Command '['ssh', '-p', '22', 'n3', 'ls']' returned non-zero exit status 255.
exception|ERROR: (gcloud.compute.ssh) [/usr/bin/ssh] exited with return code [1].
-|ssh exited with return code 0
# the system's number of a broken line, as Rust and Windows tell it
network|RuntimeError: Data processing error: CAS service error : IO Error: Timer expired (os error 62)
network|Error: error sending data: Connection reset by peer (os error 104)
network|thread panicked: called `Result::unwrap()` on an `Err` value: Os { code: 110, kind: TimedOut, message: "Connection timed out" } (os error 110)
network|Caused by: No route to host (os error 113)
exception|Error: failed to read file: Permission denied (os error 13)
disk_full|Error: write failed: No space left on device (os error 28)
-|WARN retrying: Connection refused (os error 111)
# who did not answer in time
hang|mlagents_envs.exception.UnityTimeOutException: The Unity environment took too long to respond. Make sure that :
hang|UnityTimeOutException: The Unity environment took too long to respond
hang|Error: the simulator took too long to respond
hang|RuntimeError: environment worker 3 took too long to reply
-|request took too long to respond, retrying
-|step took too long (12 s), consider fewer workers
-|If the environment took too long to respond, raise timeout_wait.
# loaders that were killed
host_oom|RuntimeError: Dataloader worker (pid 15624) is killed by signaled: Killed
host_oom|RuntimeError: DataLoader worker (pid 15624) is killed by signal: Bus error.
host_oom|ERROR: Unexpected: DataLoader worker (pid(s) 12) was killed by signal: Killed
# slices of TPUs
hardware|E0512 18:18:50.796514     915 session_master.cc:505] Session is failing with the following status: Session master detected TPU session error from worker tpu-job-16.headless-svc:8471.
hardware|E0512 18:18:50.796852     915 tpunetd_client.cc:311] Detected failure SLICE_FAILURE_CHIP_DRIVER_ERROR in session e6c885; Start failure handling
hardware|SLICE_FAILURE_WORKER_UNAVAILABLE: worker 3 missed its health check
-|slice_failure_policy: restart
-|I0512 18:18:50.796852 915 tpunetd_client.cc:311] TPU session established
# from one state to another
exception|[2026-01-28 08:56:08,459] [INFO] [reporter.py:68:report] [warn][edljob-worker-30-31][status_update][Running to Failed][{"from_state": "Running", "to_state": "Failed"}]
exception|INFO job 12: RUNNING -> FAILED
exception|trial 7 state changed: RUNNING => ERROR
exception|[INFO] pod worker-3: status changed from Running to Failed
exception|task train-0 transitioned from RUNNING to FAILED
-|[INFO] job 12: PENDING -> RUNNING
-|node worker-3 changed from Pending to Running
-|INFO job 12: RUNNING -> COMPLETED
-|FAILED -> RUNNING
# a shell's script that could not go on
exception|/opt/nvidia/nvidia_entrypoint.sh: line 67: exec: --: invalid option
exception|run.sh: line 12: exec: python4: not found
exception|./train.sh: line 3: source: env.sh: file not found
exception|-bash: ./train.sh: /bin/bash^M: bad interpreter: No such file or directory
exception|start.sh: line 9: .: env.sh: file not found
-|run.sh: line 12: [: too many arguments
-|usage: exec [-cl] [-a name] [command [argument ...]] [redirection ...]
# a hand on the keyboard, run into what follows it
killed|^CException ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f0f>
killed|^CTraceback (most recent call last):
killed|^C[rank0]: Traceback (most recent call last):
killed|^C^CProcess Process-3:
killed|^CWARNING:torch.distributed.elastic.agent.server.api:Received 2 death signal, shutting down workers
-|Press ^C to stop
-|^C to stop the server
-|Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f0f>
-|Nothing is pre-empted. A run ends with an idle policy that somebody set
# other makers' cards: what their runtimes say of a fault
gpu_oom|RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.97 GiB total capacity; 57.3 GiB already allocated)
gpu_oom|RuntimeError: Memory not enough. Device(id:0) memory isn't enough and alloc failed, kernel name: Default/Add, alloc size: 4096B.
gpu_oom|[ERROR] DEVICE(12,ffff,python):2024-01-02-03:04:05.123 [mindspore/ccsrc/plugin/device/ascend/hal/device/ascend_memory_manager.cc:10] MallocMem] Malloc memory failed, out of memory
gpu_oom|E40021: Out of HBM memory on device 3
gpu_oom|RuntimeError: [Rank:0] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::8388608 (8)MB
-|Memory not enough to fit 8 folds in parallel. Will train 2 folds in parallel instead
cuda_error|RuntimeError: synStatus=26 [Generic failure] Device acquire failed.
cuda_error|Neuron runtime error: NRT_EXEC_UNIT_UNRECOVERABLE
cuda_error|ERROR  TDRV:exec_consume_infer_status_notifications  Unable to enqueue work on device, nrt status 1006
cuda_error|E89999: Inner Error! rtMemcpy execute failed, reason=[device in abnormal state]
cuda_error|[ERROR] RUNTIME(1201,python):2024-06-02-22:47:58.744.915 [task_info.cc:1776]1201 PrintErrorInfo:Kernel task happen error, retCode=0x26, [aicore exception]
-|[INFO] RUNTIME(1201,python):2024-06-02-22:47:58.744.915 [task_info.cc:17] kernel launched
-|NRT_EXEC_TIMEOUT=600
-|nrt status 0
hang|EI0002: The wait execution of the Notify register times out. Reason: The Notify register has not received the Notify record from remote rank [3]
hang|EI0006: Getting socket times out. Reason: Remote Rank did not send the data in time.
hang|[ERROR] HCCL(1201,python):2024-06-02 [task_exception_handler.cc] Task run timed out, stream wait notify timeout
hang|rank 3: barrier times out
-|If the barrier times out, raise the limit.
-|The job is requeued when its heartbeat times out
-|a request times out after 30 s by default
nccl|HcclAllReduce failed, ret = 9
nccl|RuntimeError: oneCCL: comm_selector.cpp:57 create_comm_impl: EXCEPTION: ze_data was not initialized
nccl|[ERROR] HCCL(1201,python):2024-06-02 [hccl_socket.cc] connect to remote rank 3 failed
-|[WARNING] HCCL(1201,python):2024-06-02 [hccl_socket.cc] link retry 2 times
-|[EVENT] HCCL(1201,python):2024-06-02 [hccl_impl.cc] Entry-HcclAllReduce
-|Device 0: Ascend 910B, health OK, ECC errors 0
-|UserWarning: HPU does not have median support, falling back to CPU
hardware|kfd kfd: amdgpu: HIVE 0: GPU reset failed, device is unusable
hardware|[  512.1] habanalabs hl3: Device is lost, hard reset failed
# the same failure with a hyphen
gpu_oom|Out-of-memory on GPU 0 while allocating 2 GiB
gpu_oom|CUDA out-of-memory error at step 40
gpu_oom|RuntimeError: HIP out-of-memory
-|out-of-memory-handler installed on GPU 0
-|--gpu-out-of-memory-policy retry
-|GPU out-of-memory detection: on
-|If the GPU gets out-of-memory, reduce the batch
host_oom|worker 3 was killed: out-of-memory (host RAM)
host_oom|Process was killed by the OOM-killer
-|out-of-memory killer disabled
hang|barrier timed-out after 1800 s
hang|rank 3 timed-out in allreduce
network|Connection timed-out while downloading model
network|request to https://h/ timed-out
-|request timed-out, retrying (2/5)
ckpt_corrupt|Cannot deserialise checkpoint model.pt
# what happens, told as it happens
host_oom|node n3 runs out of memory, killing worker 5
disk_full|the disk runs out of space
disk_full|volume /data ran out of disk space
gpu_oom|GPU 0 runs out of memory
hang|rank 3 hangs in allreduce
hang|worker 2 does not respond
nan|loss goes to nan at step 300
nan|the loss turns nan after warmup
-|a checkpoint is written before the disk runs out of space
-|when node n3 runs out of memory its pods are evicted
-|if worker 2 does not respond it is started again
-|rank 0 waits for the others
-|a worker exits with code 0
# docker's own command; what is tried again
exception|docker: invalid reference format.
exception|docker: unknown flag: --gpu
exception|docker: 'rum' is not a docker command.
exception|docker: open /etc/train.env: no such file or directory
-|docker: Pulling from lab/train
-|The job will be retried up to 3 times on failure
-|task failed and will be retried in 30 s
exception|task failed and was not tried again
exception|job failed: gave up after 3 retries
# states, doors of rented boxes and packages: twins that were right from the first, kept from turning
exception|PipelineRun Status: Failed
exception|Experiment status: ERRORED
exception|Pod train-0 failed: exit code 1
host_oom|Pod train-0 failed: OOMKilled
preempted|Pod train-0 failed: Preempted
exception|container exited (2)
-|PipelineRun Status: Finished
-|Experiment status: COMPLETED
-|FailedRuns: 0
-|on failure: restart
-|exited (0)
-|failure policy set to Fail
-|Welcome to vast.ai. If authentication fails, try again after a few seconds, and double check your ssh key.
exception|Unable to find image 'lab/train:9' locally and pull access denied
-|Unable to find image 'lab/train:9' locally
-|note: This error originates from a subprocess, and is likely not a problem with pip.
# what was waited for, and a failure that says what it waited for
hang|[Rank 3] Barrier timeout: waiting for rank 5
hang|Watchdog: rank 3 stuck - waiting for all_reduce for 600 s
hang|rank 3 hung: waiting on allreduce
exception|ERROR: Waiting for lock: Permission denied
exception|error: waiting for node n3, giving up
exception|job 12 on n3: RUNNING -> FAILED
exception|pod train-0 on node gpu-4 went from Running to Failed
-|barrier timeout: 600 s
-|collective timeout set to 1800
"""
ROWS = [
    tuple(row.split("|", 1)) for row in CLASSES.splitlines() if row and not row.startswith("# ")
]


@pytest.mark.parametrize(("label", "line"), ROWS)
def test_each_twin_by_its_class(label: str, line: str) -> None:
    mark = triage(line)
    assert (mark.label if mark.alarm else "-") == label
