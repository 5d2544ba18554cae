"""The labels of triage, in the order of causes: where several fit a line, the first one is its label."""

from __future__ import annotations

LABELS = (
    "xid", "hardware", "gpu_oom", "host_oom", "disk_full", "inode", "hang", "nccl", "cuda_error",
    "ckpt_corrupt", "preempted", "killed", "nan", "inf", "overflow", "traceback", "network",
    "exception", "warning", "progress", "benign",
)  # fmt: skip
RANK = {label: rank for rank, label in enumerate(LABELS)}
