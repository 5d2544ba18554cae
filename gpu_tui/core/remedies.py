"""What to do about each kind of finding: the one table. Symptom, cause and fix in a few words."""

from __future__ import annotations

REMEDIES: dict[str, str] = {
    "nan": "The loss diverged. Compare with a sibling cell; retry the identical config once, then lower lr or check the data.",
    "inf": "A value overflowed. Check loss scaling and lr; retry the identical config once.",
    "loss_spike": "The loss jumped far above its recent median. Watch it; if it does not come back, retry the same config.",
    "gpu_oom": "The card's memory ran out: a real limit, a blind retry fails again. Smaller batch, accumulation or checkpointing.",
    "host_oom": "The cgroup killed it for main memory (not VRAM). Fewer DataLoader workers, less caching; do not shrink the batch.",
    "disk_full": "No bytes left. Prune scratch (latest.pth, caches) after asking, grow the disk, then retry.",
    "inode_full": "No inodes left although bytes are free. Pack or delete small files (df -i); a bigger disk does not help.",
    "disk_soon": "The disk fills at the present rate before the run ends. Prune scratch or grow it now.",
    "mem_pressure": "Memory is near the cgroup limit; the next spike is an OOM kill. Fewer workers, smaller caches.",
    "nccl": "A rank lost its peers. Find the first rank that failed; the rest are echoes. Then restart from the checkpoint.",
    "hang": "A collective timed out. Find the rank that stopped first; py-spy or its own log says where.",
    "xid": "The driver reported a GPU fault. Xid 48, 79, 94, 95: give the card back and rent another.",
    "hardware": "The card is failing. Save what is on the box and move to another one.",
    "cuda_error": "A CUDA fault that is not memory. Rerun with CUDA_LAUNCH_BLOCKING=1; check driver against build.",
    "throttle": "The card slows itself down (heat or power). Nothing is broken, it is only slower: ask for another host.",
    "traceback": "The program raised. Read the last line of the traceback; a code or config bug is not cured by a retry.",
    "crashed": "The run ended abnormally. Read its last lines, fix, and resume the queue at this cell's index.",
    "stalled": "Alive, yet neither log nor checkpoint moves. Check the last line and the GPU; buffered stdout can look like this (python -u).",
    "idle_billing": "The meter runs and nothing works. Pull, verify, then stop the meter (t).",
    "preempted": "The scheduler took the job. Requeue; resume from the last durable checkpoint.",
    "time_limit": "The job ends at its time limit. Make sure a checkpoint lands before that.",
    "ckpt_corrupt": "A checkpoint does not load. Keep the file, fall back to the one before it.",
    "sync_failed": "Trained, but the durable copy is missing. Copy best.pth and best_metrics.json before any teardown.",
    "artifact_missing": "The cell ended with exit 0 but its artifact is not there. Do not tear down; look for the checkpoint.",
    "suspicious_end": "It ended far faster than its siblings. Read its log before you believe it.",
    "duplicate_cell": "Two queue entries share one name and will overwrite each other. Rename one.",
    "probe_hung": "A command on the box does not return (a wedged mount or driver). Other readings go on.",
    "unreachable": "No connection. That is not a dead run: check the provider's console (balance, power, preemption).",
    "host_key": "The host key is not the known one. Compare the fingerprint with the provider before you change known_hosts.",
    "clock": "A deadline of the platform comes near. See the danger clocks.",
    "unlisted_instance": "The provider bills an instance that no fleet file names.",
    "missing_cell": "A cell of the sweep is in no queue.",
    "moved_cell": "A cell changed boxes. Remove its old checkpoint at the origin or it is skipped there.",
    "plateau": "The loss does not move any more.",
    "zombie_vram": "GPU memory is in use but no process is listed. fuser -v /dev/nvidia* on the box shows who holds it.",
    "low_balance": "The balance runs out soon; the platform then stops or deletes boxes. Top up or pull now.",
}


def remedy(kind: str) -> str:
    """The remedy for a finding kind; an unknown kind is a bug and raises KeyError."""
    return REMEDIES[kind]
