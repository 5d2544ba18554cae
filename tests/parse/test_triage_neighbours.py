"""Neighbours of the ends in `test_triage_classes.py`, by the same classes: they only sound like one. All are made up."""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

CALM = r"""
# another way was taken
model load failed with GPU enabled, falling back to CPU: load_model failed: {"error":"failed to load model from /data/ggml.bin"}
Failed to load model on GPU, falling back to CPU: invalid device function
Could not load checkpoint from s3://b/ckpt, falling back to the local copy
failed to load model with mmap, falling back to regular read
Unable to load weights from safetensors, falling back to pytorch_model.bin
error loading model with flash attention, using eager instead
Failed to load model with 4 workers; retrying with 1
nccl init failed, falling back to gloo
Failed to allocate pinned memory, falling back to pageable
# it is waited for
Checkpoint 6 invalid or already evaluated, waiting.
No checkpoint found in /ckpt, waiting for the trainer
checkpoint at step 400 is incomplete, waiting for it to be written
Checkpoint not found yet, sleeping for 10 seconds
snapshot 4 unreadable, will check again in 30 s
Lock file exists, waiting for the other process
server not ready: connection refused, waiting
Waiting for SSH to 10.0.0.4 to come up: connection refused
waiting for vLLM server to start... connection refused
Waiting for master at node1:29500 ... (connect: Connection refused)
port 22 not open yet: Connection refused
# a state by its key
"modelStatus": "Completed",
"jobState": "RUNNING",
"failedStatus": "none",
"exitStatus": 0,
"statusFailed": 0,
"healthStatus": "unknown",
"onFailure": "continue"
job_state: PENDING
"retryOnStatus": "failed",
exit_status: 0
# ended for an error that is told as a warning
WARNING: no improvement for 10 epochs, stopping early.
WARNING - Early stopping conditioned on metric val_loss
WARNING: validation error did not improve, stopping training early
WARNING: error rate below target, stopping early
WARNING: exception in logger ignored
WARNING: trial 6 raised an exception, continuing with the next trial
WARNING: mean error converged, stopping optimisation
[WARNING] reconstruction error below tolerance 1e-3, stopping the solver
# a network in other languages' words
retrying in 5 s: error sending request for url (https://h/)
# nothing was taken away
2019/03/22 19:39:16 ERROR : drive root 'x': not deleting files as there were IO errors
ERROR : not deleting directories as there were IO errors
Not cleaning up temporary files because of errors
Skipping cleanup since there were errors
Work dir kept for inspection as the job had errors
# a back end that is not on this machine
gpu.go:45: ROCm not detected: Unable to load librocm_smi64.so
gpu.go:39: CUDA not detected: Unable to load libnvidia-ml.so
Vulkan not found: could not load libvulkan.so.1
oneAPI not detected: cannot open libze_loader.so
OpenCL not available: could not load libOpenCL.so
NPU not detected, skipping
# what was missing is made
Couldn't find '/usr/share/x/.ollama/id_ed25519'. Generating new private key.
Could not find vocab.json. Downloading it from the hub.
Cannot find cached engine. Building a new one, this may take a while.
Unable to find kernel cache, compiling kernels
could not find index at /data/idx, rebuilding
Could not load the extension from cache. Recompiling.
Can't find config.json; writing a default one
Could not find existing run, starting a new one
No such file: cache.db; initializing an empty database
can't open lock file, making a new one
Cannot find tokenizer in local dir, fetching from remote
# a cloud has no more
metric: GPUS_ALL_REGIONS
limit: 1.0
W 03-18 provisioner: us-central1-a has no capacity, trying us-central1-b
Instance capacity: 8 GPUs
# how many are gone
0/8 workers are evicted
0 of 16 nodes failed
1/8 workers are ready
8/8 workers are up
workers failed: 0/8
2 of 8 workers are waiting
0/16 nodes are down
3 of 10 samples failed
# a driver
Driver Version: 535.104
driver loaded
# a node of a tests' farm
slow down: queue is full
scaling node down: idle for 600 s
shutting worker down: idle
step down: 3
# what a model or a person says
The training loss may become nan when the learning rate is too high, so we should lower it.
I think the process was killed because it used too much memory, but let me check the logs first.
First, the user asks why the server crashed. The connection was refused, which means nothing listens on that port.
To fix the segmentation fault, we need to check whether the pointer is null before we dereference it.
The error message says that the file could not be found, so the path must be wrong.
In this case, the job failed because the disk was full, and the scheduler terminated it.
Okay, so the question is about an out of memory error. The GPU has 24 GB.
assistant: The program crashed with a segmentation fault because the array index was out of bounds.
<|assistant|> Your loss is nan because of division by zero.
Response: The worker died because the node ran out of memory.
completion: "The training was interrupted by a power failure."
However, the function raises a ValueError when the input is empty.
This error occurs when the CUDA driver is not installed correctly on the system.
The patient was killed in a car accident, and the driver was arrested.
Once upon a time a knight died in a battle, and his kingdom crashed.
### Response: The kernel panic is caused by a faulty memory module.
You are receiving this error because the model could not be loaded into memory.
**Answer:** The connection timed out because the server was down.
A: The process was terminated by signal 9 because of the OOM killer.
Q: My training crashed with CUDA error: out of memory. What should I do?
1. **Out of Memory**: The GPU ran out of memory during the backward pass.
2. Restart the server if it is not responding.
The code below raises an exception if the file does not exist:
generated: the ship was lost at sea and the crew died
output: He could not open the door because the lock was broken.
sample 3: "the bank failed in 1929 and thousands lost their savings"
>>> Human: why was my job killed?
Assistant: It seems that your process ran out of memory and was killed by the kernel.
text: the server crashed again last night and nobody noticed
pred: the network connection was lost
target: the engine failed and the plane crashed
hyp: THE CONNECTION WAS REFUSED BY THE SERVER
Generated text: The experiment failed due to a lack of funding.
[Generated] The company's servers crashed due to high demand.
reward: 0.3 | response: The process exited with code 1 because the input was invalid.
Prompt: Write a story about a robot that died.
I'm sorry, but I cannot help with that request.
I cannot access the file you mentioned.
As an AI language model, I am unable to open links.
Sorry, I could not find any information about this topic.
We need to find x. Since the discriminant is negative, the equation has no real solution, so the attempt failed.
Then the system fails because the load exceeds the capacity of the beam.
So the answer is that the server cannot respond in time.
That means the method failed to converge for n = 3, hence the series diverges.
The loop exits with an error if n is zero.
But wait, the program would crash if the list is empty.
Actually, the function returns an error code of 1 when the file is missing.
# what a setting names
error_class: TimeoutError
error_class: 'TimeoutError',
  "error_class": "ConnectionError",
retry_on: [TimeoutError, ConnectionError]
retry_exceptions=(ConnectionError, TimeoutError)
exception_class=torch.cuda.OutOfMemoryError
on_exception: raise ValueError
error_types: [NaNError]
ignored_exceptions: KeyError
ignore_errors: [OSError]
expected_exception=ValueError
raises: AssertionError
catch: RuntimeError
retryable_error: HTTPError
Retry(exceptions=(IOError, OSError), tries=5)
skip_exceptions = (FileNotFoundError,)
handled_error: KeyboardInterrupt
# coped with, in other words
cuDNN not available, using the native implementation
could not import triton; using the slow path
apex not installed. Using torch LayerNorm.
Failed to open cache file, recomputing features
Couldn't reach the hub, using the local snapshot
Connection to hub failed, loading from local cache
HTTP 503 from hub, sleeping 4 s before the next attempt
Request timed out, will retry in 8 seconds (2/10)
could not acquire lock on cache, waiting for the other process to finish
Port 29500 is in use, trying 29501
Address already in use, picking a free port
Unable to import flash_attn, attention falls back to SDPA
nvidia-smi not found, GPU metrics disabled
Failed to read GPU temperature; monitoring disabled
failed to set CPU affinity: operation not permitted
Could not set ulimit: permission denied, continuing
Cannot determine the number of physical cores, assuming 8
git not found, commit hash will be unknown
Could not get commit hash: not a git repository
tensorboard not installed, logging to csv
Failed to log artifact, continuing without it
Checkpoint directory exists, overwriting
No checkpoint found, starting from scratch
No checkpoint found in outputs/run3, training from scratch
The file already exists, skipping download
md5 mismatch for part-3.tar, downloading again
Incomplete download found, resuming from byte 1048576
Corrupt shard 00012.tar skipped
dropping batch 12: all samples invalid
sample 31 has no label, skipped
worker 3 restarted after an error
Worker 2 died, restarting it (1/3)
lost connection to worker 4, reconnecting
Heartbeat from node 3 delayed by 12 s
Rank 3 is 4.2 s behind
slow node detected: node-7 (1.4x median)
gradient overflow at step 3, scale reduced to 32768
preemption check: no notice
Spot instance: no interruption scheduled
OOM killer disabled for this process
max_restarts=3, restarts so far: 0
errors=0 warnings=2
failures: 0, retries: 1
0 errors, 0 warnings
Total errors: 0
Number of failed requests: 0
failed requests: 0/1000
"n_failed": 0, "n_ok": 312
No errors found
all checks passed, 0 failed
exit code: 0
job finished with exit status 0
Process 123 exited normally
terminated normally
Killed all idle workers
stopping idle worker
The job has completed; terminating instance in 5 minutes as configured
shutting down cleanly
received EOF, closing connection
client disconnected
connection from 10.0.0.3 closed
Session closed
# launchers, clouds and servers
RECOVERING  Job exited with exit code 7. Restarting the job (restart 1 of 2 on errors).
Worker exited with code 1, restarting (attempt 2/5)
Task failed with exit code 3; resubmitting (2 of 3)
process exited with status 1, respawning it
Job 12 failed, requeued (retry 1/3)
container exited (1), restart 2 of 10 in 20s
checking whether the server is reachable
server is reachable after 3 retries
Internet not reachable, running offline
All worker processes have exited normally
Process has exited with code 0
child has exited cleanly
ERROR:root:tinker-GPU is specified, but there's no GPU. Reverting back to CPU.
ERROR: bf16 is not supported here, reverting to fp16
error: compile failed, resorting to eager mode
Error in fused kernel, switching back to the reference implementation
ERROR - flash attention missing, will use sdpa
# told in a clause
dataset cached at /root/.cache, loading it
no validation set given, skipping validation
val loss did not improve from 0.31
The learning rate was reduced to 1e-5
skipping 3 corrupt samples
3 files could not be decoded and were skipped
NaN values in column 'age' were filled with 0
missing values: 12 %
2 of 100 requests timed out and were repeated
request 31 failed, will be repeated
slow disk: wrote 12 MB/s
GPU 1 temperature is 81 C
GPU utilization is low (12 %)
memory usage 61.2 GiB of 64 GiB
swap is disabled
cuda graphs disabled
CUDA_VISIBLE_DEVICES not set, using all GPUs
gradient clipping disabled
no checkpoint to resume from, starting fresh
Deleting old checkpoint step_100
kill_timeout: 30
fail_fast=False
on_oom: skip
max_failures: 3
abort_on_nan: true
error_rate: 0.031
word error rate: 12.1
reconstruction error 0.31
pixel error: 3.1e-2
test error = 4.12 %
failure_rate 0.01
crash_log_dir=/tmp/crash
Loaded plugin 'error_reporter'
test_error_handling ... ok
The agent died after 213 steps (episode reward 12.1)
episode terminated: robot fell
env reset: collision
killed 3 enemies, lost 1 unit
The story ends when the hero is killed.
Label: crash (0.93), no crash (0.07)
class 3: 'fatal accident' n=312
topic 4: error, failed, crash, bug, issue
tokens: error failed crash
prompt: fix the failing test
answer: the server was down
No module named 'hiddenlayer'
module 'jaxlib' has no attribute 'get_tpu_client'
unexpected keyword argument 'foo'
Socket to the schedd closed unexpectedly, reconnecting
"""


@pytest.mark.parametrize("line", [line for line in CALM.split("\n") if line and line[:2] != "# "])
def test_its_neighbours_tell_of_none(line: str) -> None:
    assert not triage(line).alarm
