"""Ends of a run told by clouds, schedulers, checks and stores in plain words, and what only sounds like one. All are made up."""

from __future__ import annotations

import pytest

from gpu_tui.parse.triage import triage

ENDS = [
    ("preempted", "This VM is scheduled for termination at 03:04"),
    ("preempted", "Spot capacity was reclaimed; shutting down"),
    ("preempted", "Node box-7 is being drained for maintenance, evicting jobs"),
    ("preempted", "Job 12 requeued after preemption"),
    ("preempted", "Your reservation ended at 12:00, the job was stopped"),
    ("preempted", "2031/12/17 16:03:58 metadata service says termination is imminent"),
    (
        "preempted",
        "I1020 02:29:22.7 7 podevictor.go:110] PodEvictor is evicting Pods on Node: box-7",
    ),
    (
        "preempted",
        "I1020 02:29:22.7 7 nodecontroller.go:382] Adding pods to evict: 2031-10-20 02:29:22 is later than 2031-10-20 02:24:17 + 5m0s",
    ),
    (
        "preempted",
        "default  1m  2m  5  box-7  Node  Normal  DeletingAllPods  {controllermanager }  Node box-7 event: Deleting all Pods from Node box-7.",
    ),
    ("exception", "critical libmamba pip failed to install packages"),
    ("killed", "SIGHUP received, hanging up"),
    ("killed", "Stopping: user pressed Ctrl+C"),
    ("killed", "Dec 17 16:04:09 box7 systemd-logind[812]: Power key pressed."),
    ("hang", "step did not finish within 1800 s; assuming a deadlock"),
    ("hang", "Timeout: no output for 3600 s, giving up"),
    ("hang", "no activity for 40 minutes"),
    ("nccl", "failed to connect to master 10.0.0.7:29500"),
    ("nccl", "[rank3] ibv_poll_cq completion error: transport retry counter exceeded"),
    ("cuda_error", "could not initialize cuDNN"),
    ("hardware", "/dev/nvme1: failed"),
    ("hardware", "diag: GPU 2 failed memory test"),
    ("hardware", "NVRM: GPU0 event: Received signal from GSP that PMU has halted."),
    ("host_oom", "the job used more memory than requested and was killed"),
    ("host_oom", "RAM usage 99.5%: killing the largest process"),
    ("disk_full", "user quota on /home exceeded, cannot write"),
    ("ckpt_corrupt", "could not resume from step_100: file is truncated"),
    ("ckpt_corrupt", "safetensors header too large"),
    ("ckpt_corrupt", "invalid checkpoint: missing key 'optimizer'"),
    ("network", "DNS lookup of host store.example.com failed"),
    ("network", "io timeout after 1912 seconds -- exiting"),
    ("exception", "required environment variable HUB_TOKEN is not set"),
    ("exception", "Please login first: token is invalid"),
    ("exception", "manifest for widget:latest not found"),
    ("exception", "no matching manifest for linux/amd64 in the list"),
    ("exception", "Job rejected: partition gpu is down"),
    ("exception", "      Failed:  1"),
    ("exception", "Pods Statuses:            0 Active / 0 Succeeded / 1 Failed"),
    ("exception", "Quota 'GPUS_ALL_REGIONS' exhausted."),
    ("exception", "Errno: (2) No such file or directory"),
    ("exception", "WARNING  jobs:249 job(857165)v-0: failed because the runner is gone"),
    (
        "exception",
        "Oct-09 00:24:07.8 DEBUG nextflow.Session - Session aborted -- Cause: Process `A` terminated with an error exit status (null)",
    ),
    (
        "exception",
        "[W 10:02:11.214 NotebookApp] Kernel 0c51fe18-2b7d-4c1e-9d0a-7716aa20c001 died, removing from map.",
    ),
    ("exception", "run 7 ended in state error"),
    ("exception", "task prep.2 finished in state FAILED"),
]
NO_ENDS = [
    "  • FAILED: The process running within the job exited with an error exit code.",
    "  - CANCELLED: Job was cancelled with 'scancel' or an equivalent mechanism.",
    "* TIMEOUT - Job was terminated because its duration reached the limit",
    "      Failed:  0",
    "Pods Statuses:            1 Active / 0 Succeeded / 0 Failed",
    "Quota 'GPUS_ALL_REGIONS' usage 3 of 8",
    "[06:46:22] DEBUG    ssh.tunnel:200 SSH tunnel failed: b'ssh: connect to host 10.0.0.7 port 22136: Connection",
    "negative test: connection refused (expected)",
    "NCCL error raised (as expected)",
    " imageFs info: unable to find data in memory cache",
    "warning  libmamba Could not parse mod and etag header",
    "I1020 02:29:22.7 7 nodecontroller.go:382] no pods to evict",
    "OOM killer disabled for pid 812",
    "You may see NCCL errors when a node is lost",
    "SIGHUP received, reloading the configuration",
    "invalid checkpoint interval, using 1000",
    "quota on /home: 12 of 100 GB",
    "press Ctrl+C to stop",
    "no output for 3 s",
    "lease renewed, expires in 3600 s",
    "- Network errors detected by the probe: none",
    "run 7 ended in state finished",
    "what to do when a run ended in doubt",
    "2031-03-04 10:02:11.2: E tensorflow/core/grappler/clusters/utils.cc:87] Failed to get device properties, error code: 3",
]


@pytest.mark.parametrize(("label", "line"), ENDS)
def test_an_end_in_plain_words(label: str, line: str) -> None:
    mark = triage(line)
    assert (mark.label, mark.alarm) == (label, True)


@pytest.mark.parametrize("line", NO_ENDS)
def test_no_end(line: str) -> None:
    assert not triage(line).alarm


def test_a_failed_job_in_a_list_is_no_manual() -> None:
    assert triage("- FAILED: job 12 on box-3").alarm
