"""Ends, by the class of their wording; what only sounds like them stands in `test_triage_neighbours.py`. All are made up."""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

ENDS = r"""
# another way was taken
ckpt_corrupt: Could not restore optimizer state from checkpoint, using a fresh optimizer
ckpt_corrupt: Failed to load model: no fallback available
ckpt_corrupt: failed to load model from /data/ggml.bin: invalid magic
ckpt_corrupt: Unable to load weights from checkpoint, aborting
ckpt_corrupt: falling back to the previous checkpoint failed: cannot load checkpoint step_200.pt
# a state by its key
exception:     "modelStatus": "Failed",
exception:   "jobState": "FAILED",
exception: trialStatus=failed
exception: task_state: FAILED
exception: "TrainingJobStatus": "Failed",
exception: "trainingJobStatus": "Failed",
exception: lifecycle_state: FAILED
exception: "lifeCycleState": "FAILED",
exception: "runStatus": "Errored"
exception: Job_Status : FAILED
exception: "result_state": "FAILED"
# the memory of a runtime
host_oom: System.OutOfMemoryException: Exception of type 'System.OutOfMemoryException' was thrown.
host_oom: Unhandled exception. System.OutOfMemoryException: Array dimensions exceeded supported range.
host_oom: java.lang.OutOfMemoryError: Java heap space
host_oom: Exception in thread "main" java.lang.OutOfMemoryError: GC overhead limit exceeded
host_oom: "message": "failed with exception: 'System.OutOfMemoryException' was thrown"
host_oom: FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory
host_oom: fatal error: runtime: out of memory
host_oom: Error: cannot allocate vector of size 2.1 Gb
host_oom: std::bad_alloc
host_oom: memory allocation of 8589934592 bytes failed
gpu_oom: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
# ended for an error that is told as a warning
exception: WARNING: Encountered unexpected exception during trial 6, stopping HPO early.
exception: WARNING: exception in worker, stopping training early
exception: [WARNING] Error in data pipeline, stopping the run
exception: WARNING:root:Failure in epoch 3, aborting sweep
exception: warning: an error occurred while fitting the model; stopping search
exception: WARNING - Unexpected error in callback, terminating training
# a network in other languages' words
network: Error: All model downloads failed. Last error: error sending request for url (https://huggingface.co/a/b)
network: error sending request for url (http://10.0.0.1:8080/generate)
network: Error: reqwest::Error { kind: Request, url: "https://h/", source: hyper::Error(Connect, ConnectError("dns error")) }
network: Error: error trying to connect: tcp connect error: Connection refused (os error 111)
network: Get "https://registry-1.docker.io/v2/": net/http: request canceled while waiting for connection
network: Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout
network: The connection to the server localhost:8080 was refused - did you specify the right host or port?
network: The connection to the server 10.1.2.3:6443 was refused - did you specify the right host or port?
network: error: dial tcp: lookup example.com: no such host
network: fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com
network: couldn't get current server API group list: Get "https://10.0.0.1:6443/api": dial tcp 10.0.0.1:6443: connect: connection refused
network: Error: error decoding response body: connection reset
network: failed to lookup address information: Temporary failure in name resolution
network: fetch failed: getaddrinfo ENOTFOUND huggingface.co
network: wget: unable to resolve host address 'example.com'
# what interrupted it
exception: Crash detected! Execution was interrupted by an unexpected exception.
exception: Training interrupted by an exception: ValueError
exception: Run was interrupted by an error in callback 'save'
killed: Execution was interrupted by signal 15
killed: Training interrupted by user
killed: Run interrupted by the user at step 300
# a name in front
exception: run-apptainer-cuda-saxpy> FATAL:   container creation failed: open /etc/resolv.conf: no such file or directory
exception: cuda-trainer-1  | Error: config file missing
exception: nccl-test-0: ERROR: failed to parse hostfile
exception: [cuda-worker] ERROR: failed to read config file
exception: gloo-node-3 | FATAL: invalid option --foo
exception: my-nccl-bench> error: builder failed with exit code 2
cuda_error: FATAL: CUDA failed to start: driver error
# a back end that is not on this machine
cuda_error: CUDA not detected: training requires a GPU, exiting
# what was missing is made
exception: Could not find config.json at /data/run1
exception: Couldn't find a dataset script at /data/x.py
exception: Generating new private key failed: permission denied
# a cloud has no more
exception: ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS
exception: ZONE_RESOURCE_POOL_EXHAUSTED
exception: A n1-highmem-2 VM instance with 2 nvidia-tesla-t4 accelerator(s) is currently unavailable in the europe-west2-a zone.
exception: The zone 'projects/p/zones/us-central1-a' does not have enough resources available to fulfill the request. Try a different zone, or try again later.
exception: An error occurred (InsufficientInstanceCapacity) when calling the RunInstances operation: We currently do not have sufficient p4d.24xlarge capacity
exception: We currently do not have sufficient p4d.24xlarge capacity in the Availability Zone you requested (us-east-1a).
exception: VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit
exception: SkuNotAvailable: The requested VM size Standard_NC24 is not available in location westeurope
exception: Quota 'GPUS_ALL_REGIONS' exceeded. Limit: 0.0 globally.
exception: Error 429: GPUs are not available in this region right now
exception: FAILED_TO_START_DUE_TO_NO_CAPACITY
exception: OverconstrainedZonalAllocationRequest
exception: There are no longer any instances available with the requested specifications.
exception: No offers found that match the requirements
# how many are gone
preempted:     message: 1/8 workers are evicted
exception: 2 of 8 workers failed
exception: 3/16 nodes are down
exception: 1/4 replicas failed
exception: 5 of 64 ranks are dead
exception: 2/8 workers have crashed
exception: 1 worker(s) died
exception: 4 out of 32 processes exited with errors
# a driver
cuda_error: Insufficient driver
cuda_error: insufficient CUDA driver
cuda_error: NVIDIA driver too old
cuda_error: The installed driver is too old for this version of CUDA
cuda_error: driver not loaded
cuda_error: CUDA driver not found
# a node of a tests' farm
exception: [gw1] node down: Not properly terminated
exception: worker 'gw3' crashed while running 'tests/test_a.py::test_b'
exception: replacing crashed worker gw3
# failures beside it
killed: The process was killed by signal 9
exception: The worker died unexpectedly
exception: The server process exited with code 1
network: The connection was refused by 10.0.0.3:29500
host_oom: The job was killed because it exceeded its memory limit
exception: The training process crashed at step 300
exception: The trainer failed with exit code 2
disk_full: The disk is full, could not write checkpoint
# what a setting names
exception: error_type: ValueError: bad shape
exception: error: ValueError('bad shape')
exception: "error_type": "RuntimeError", "error_message": "shapes do not match"
exception: failed with error_class=ValueError message="bad shape"
# stores of ranks
nccl: torch.distributed.DistStoreError: Connection reset by peer
hang: DistStoreError: wait timeout after 300000ms, keys: /default_pg/0//cuda//0
nccl: torch.distributed.DistNetworkError: The client socket has failed to connect to any network address of (node0, 29500).
nccl: torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address.
nccl: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1691, unhandled system error
hang: torch.distributed.DistBackendError: [1] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: wait timeout after 600000ms
nccl: torch.distributed.DistBackendError: [1] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Connection reset by peer
nccl: torch.distributed.DistStoreError: Broken pipe
nccl: RuntimeError: Broken pipe: TCPStore recvValue failed
nccl: [W CUDAGuardImpl.h] c10d::DistStoreError: failed to recv, got 0 bytes
# ends, in other words
exception: trainer: giving up after 3 failed restarts
exception: run aborted: validation set is empty
exception: Job 4121 moved to state FAILED
exception: Container exited with a non-zero exit code 1
exception: Pod train-0 status is Error
exception: state: CrashLoopBackOff
exception: Workflow did not succeed
exception: Aborting: rank 3 reported an error
exception: Rank 3 reported an exception, shutting down
exception: worker-2 terminated abnormally
exception: Unable to continue without config.yaml
exception: cannot proceed: dataset is missing
exception: fatal: dataset 'foo' not registered
exception: Nothing to train on: dataset has 0 samples
exception: Model not found: llama-8b
exception: Invalid token; please log in again
exception: 401 Unauthorized: token expired
exception: Access denied to bucket my-bucket
exception: NoSuchKey: The specified key does not exist.
exception: Not enough replicas available
exception: quota exceeded for resource nvidia.com/gpu
exception: Insufficient quota for GPUs in region us-east1
exception: Launch template not found
exception: instance failed to start: no capacity
exception: Instance entered state 'terminated' before it was ready
preempted: Instance i-0abc was terminated by the provider (spot)
preempted: Job cancelled by the scheduler: higher priority job needs the node
preempted: Your spot instance will be reclaimed in 2 minutes
preempted: Node will be shut down for maintenance in 60 s; job 31 is being stopped
killed: python: killed
killed: Process 4211 received SIGTERM, exiting
killed: caught SIGINT, cleaning up and exiting
host_oom: container memory limit reached, process killed
host_oom: worker exceeded 95% memory budget. Restarting
host_oom: Memory usage of 64 GB exceeds limit of 60 GB: killed
disk_full: write error: No space left on device
disk_full: Disk quota exceeded while writing step_100.pt
disk_full: checkpoint not saved: only 12 MB left on /data
disk_full: volume /workspace is 100% full
hang: no progress for 30 minutes, aborting the run
hang: rank 3 has not reported for 600 s
hang: Barrier timed out after 1800 s: ranks 3, 7 missing
nccl: lost rank 3
nccl: peer 10.0.0.4 closed the connection during allreduce
nccl: NCCL communicator was aborted on rank 2
hardware: GPU 3 is not responding
hardware: GPU 2: uncorrectable ECC errors: 4
hardware: GPU 5 removed from the bus
cuda_error: no CUDA devices visible, cannot train
cuda_error: device kernel image is invalid
ckpt_corrupt: step_200.pt is truncated
ckpt_corrupt: checksum of model.safetensors does not match
ckpt_corrupt: resume failed: optimizer state is missing, training restarts at step 0
nan: loss is NaN at step 300, stopping
nan: non-finite loss detected: nan
network: upload to s3://b/run failed after 10 attempts: connection reset
network: could not reach hub.example.com
network: ssh: Could not resolve hostname node7
network: tunnel to 10.0.0.3 broke
# launchers, clouds and servers
exception: command terminated with exit code 100
exception: command terminated with exit code 127
killed: command terminated with exit code 137
killed: command terminated with exit code 143
exception: Job failed: exited with exit code 7 after 3 restarts
exception: Worker exited with code 1, restart limit reached
exception: restart budget exhausted (3/3), job failed
network: ComfyUI server (127.0.0.1:8188) not reachable after multiple retries.
network: inference server unreachable after 30 attempts
network: metadata service not reachable after 10 tries
network: Redis at 10.0.0.4:6379 is not reachable
exception: ComfyUI process has exited. Server will not become reachable.
exception: Server process has exited
exception: vLLM engine process has terminated unexpectedly
exception: The worker has exited before sending a result
killed: [2031-04-10 16:04:34,970] torch.distributed.elastic.multiprocessing.api: [WARNING] Unable to shutdown process 264 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL
killed: Unable to shutdown process 5527 via 15, forcefully exitting via 9
killed: process 3312 did not stop on SIGTERM, sending SIGKILL
exception: Node scale up in zones us-central1-c associated with this pod failed: GCE quota exceeded. Pod is at risk of not being scheduled.
exception: vCPU quota exceeded in region eastus
exception: GPU quota exceeded
exception: Regional quota exceeded: NVIDIA_L4_GPUS
disk_full: Disk quota exceeded
disk_full: write failed: quota exceeded on /home
disk_full: home directory quota exceeded
exception: error: reverting to the previous version failed
# told in a clause
exception: scheduler: job 31 could not be placed: no node satisfies the request
exception: The experiment was stopped because trial 4 raised an error
exception: trial_4 ended in error
exception: 3 trials errored
exception: Sweep finished: 5 ok, 2 crashed
exception: build failed with 3 errors
exception: The notebook exited before all cells ran
exception: Kernel restarted unexpectedly
exception: Import of module 'train' failed
exception: The config key 'lr' is required but missing
exception: missing value for 'data.path'
exception: The size of the input (12) does not match the size of the target (8)
exception: Expected 3 channels, got 4
exception: shape mismatch: (4, 3) vs (4, 5)
exception: dataset has no column named 'label'
exception: label 12 is outside the range [0, 9]
exception: entrypoint.sh: line 12: python3: not found
exception: exec /usr/bin/python: no such file or directory
exception: The launcher lost all its workers
exception: All workers have died
exception: no workers left
exception: Agent stopped: too many consecutive failures
exception: Reached the maximum number of restarts, giving up
exception: healthcheck failed 3 times, stopping the container
exception: pod evaluation-3 crashed (exit 1)
network: connection to database lost
network: SSH connection dropped
network: Lost connection to the head node
network: could not connect to redis at 10.0.0.3:6379
network: git clone failed: could not resolve host
network: pip: network is unreachable
hang: Training appears to be stuck: step 300 for 1800 s
hang: The data loader has been waiting for 900 s, aborting
hang: NCCL watchdog thread terminated with exception: timeout
hang: deadlock detected between ranks 0 and 3
gpu_oom: not enough GPU memory to load the model
gpu_oom: failed to allocate 2.1 GiB on device 0
gpu_oom: CUDA memory exhausted at batch 12
gpu_oom: VRAM full, cannot load adapter
host_oom: out of system memory
host_oom: the worker was killed because it used 61 GiB of RAM
host_oom: kernel: Out of memory: Killed process 4211 (python)
disk_full: cannot save: disk is full
disk_full: not enough space on /workspace to write checkpoint (need 12 GB, have 3 GB)
disk_full: tar: write error: no space left
exception: cannot resume: step_100.pt not readable
ckpt_corrupt: state dict has unexpected keys: ['a.b']
ckpt_corrupt: checkpoint was written by a newer version and cannot be loaded
nan: gradients became NaN at step 12
nan: train loss: nan
nan: validation loss is nan
hardware: GPU 1 has fallen off the bus
hardware: GPU-3: row remapping failed
hardware: node gpu07 marked down: health check failed
hardware: NVLink error on GPU 4
preempted: Job 12 hit the time limit
preempted: The instance was preempted
preempted: Runtime limit of 12 h reached, stopping
killed: Received signal 15, saving and exiting
killed: run was stopped by the user
killed: ^CTraceback
"""


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line and not line.startswith("# ")]


@pytest.mark.parametrize("told", _lines(ENDS))
def test_an_end_is_known_by_the_class_of_its_words(told: str) -> None:
    label, line = told.split(": ", 1)
    mark = triage(line)
    assert (mark.label, mark.alarm) == (label, True)
