"""What to do about each kind of finding, and about each label of a log line: fixed texts, two tables.

`REMEDIES` holds one sentence per kind of finding. `CARDS` holds, per label, what is seen, why it usually
happens and what to do: one screen, no wider than 80 columns when it is wrapped. The texts say what to do
with any card; where CUDA, ROCm (HIP), Ascend (NPU) and Apple (MPS) differ they say so.
"""

from __future__ import annotations

from dataclasses import dataclass

REMEDIES: dict[str, str] = {
    "nan": "The loss diverged. Compare with a sibling cell; retry the identical config once, then lower lr or check the data.",
    "inf": "A value overflowed. Check loss scaling and lr; retry the identical config once.",
    "loss_spike": "The loss jumped far above its recent median. Watch it; if it does not come back, retry the same config.",
    "gpu_oom": "The card's memory ran out: a real limit, a blind retry fails again. Smaller batch, accumulation or checkpointing.",
    "host_oom": "The cgroup killed it for main memory (not VRAM). Fewer DataLoader workers, less caching; do not shrink the batch.",
    "disk_full": "No room left: no bytes, or no inodes (df -i). Prune scratch (latest.pth, caches) after asking, or grow a disk whose bytes are gone; then retry.",
    "inode_full": "No inodes left although bytes are free. Pack or delete small files (df -i); a bigger disk does not help.",
    "disk_soon": "The disk fills at the present rate before the run ends. Prune scratch or grow it now.",
    "mount_bad": "Runs cannot save there. Unmount it (umount -l) and mount it again, or ask the provider; then look whether the runs that waited for it go on.",
    "mem_pressure": "Memory is near its limit; the next spike is an OOM kill. Fewer workers, smaller caches.",
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
    "sync_failed": "Trained, but the durable copy is missing. Copy its results before any teardown; do not train again.",
    "artifact_missing": "The cell ended with exit 0 but its artifact is not there. Look for it before any teardown; if your cells leave other files, name them as results.artifacts (gpu-tui help fleet).",
    "suspicious_end": "It says that it ended well, and this speaks against it. Read its log before you believe it.",
    "duplicate_cell": "Two queue entries share one name and will overwrite each other. Rename one before its queue reaches it.",
    "probe_hung": "A command on the box does not return (a wedged mount or driver). Other readings go on.",
    "unreachable": "No connection. That is not a dead run: check the provider's console (balance, power, preemption).",
    "host_key": "The host key is not the known one. Compare the fingerprint with the provider before you change known_hosts.",
    "clock": "A deadline of the platform comes near. See the danger clocks.",
    "unlisted_instance": "The provider's list and the fleet file differ. Write the box into the file, or end it at the provider.",
    "same_box": "Correct the host of the wrong one. If both are meant, write same_box: NAME at one of them in the fleet file (gpu-tui help fleet).",
    "torn_down": "Nothing is left to do here. Take it out of the fleet file when you need it no longer.",
    "missing_cell": "As things stand it will not run. Put it right in a queue file, or start the queue at its index.",
    "moved_cell": "A cell changed boxes. Remove its old checkpoint at the origin or it is skipped there.",
    "plateau": "Nothing is learned: every step is skipped, or no gradient arrives. Look at the loss scale, lr, frozen or detached weights and saturated outputs; then bf16, lower lr or the last good checkpoint.",
    "zombie_vram": "GPU memory is in use but no process is listed. fuser -v /dev/nvidia* on the box shows who holds it.",
    "overflow": "A half-precision gradient overflowed and the step was skipped. Rare is normal; at the scale's floor lower lr or use bf16.",
    "network": "A connection was lost. Look whether the run itself still writes; resume downloads; never call a box dead for it.",
    "teardown": "Look at the provider's console: a box that does not answer proves nothing. If it is over, say so: gpu-tui journal NAME --settle.",
    "runner_gone": "Nothing starts the cells that wait. When the one that trains has ended, start the queue at the next index.",
    "script_changed": "A shell reads its script while it runs it: never edit one in place under a live run. Write a copy and rename it.",
    "platform": "Name it as this box's platform in the fleet file (or: gpu-tui watch HOST --platform NAME): its own clocks, disks and way to stop count only then.",
    "alert_channel": "Put right what is named above where gpu-tui starts; cron has an environment of its own. Then: gpu-tui check --test-alert",
    "low_balance": "The balance runs out soon; the platform then stops or deletes boxes. Top up or pull now.",
}


OTHER_QUEUE = (
    "Name a plain list of commands with queue.commands; gpu-tui help runners has all formats."
)

# By scheduler: of a job whose logs are silent.
SILENT_JOB = {
    "slurm": "Look inside before you act: nvidia-smi and py-spy dump in its job (srun --jobid ID --overlap --pty bash), "
    "and its last line. Its GPUs cannot be seen from here; buffered stdout looks the same (python -u).",
    "kubernetes": "Look inside before you act: nvidia-smi and py-spy dump in its pod (kubectl exec -it POD -- sh), and "
    "its last line. Buffered stdout looks the same (python -u).",
}


RESTART = "restart"  # the part of a `crashed` finding of a job that runs or waits again after it
RANK = "rank"  # of a job whose ranks are not all there
# By kind: the remedy of a finding about a job that a scheduler runs.
OF_JOBS = {
    RANK: "A rank is gone, and the others still hold their GPUs. Read the log of that rank first; most launchers cannot go on without it.",
    RESTART: "It runs again. Read why the attempt before ended (kubectl logs --previous, sacct -D), and whether this one resumes from its checkpoint.",
    "missing_cell": "It cannot start as it is. Fix the reason that is named (kubectl describe pod, scontrol show job), or cancel it.",
    "network": "Look at its node (kubectl get nodes). The cluster replaces a job's pod some minutes after its node is lost.",
}


def remedy(kind: str) -> str:
    """The remedy for a finding kind; an unknown kind is a bug and raises KeyError."""
    return REMEDIES[kind]


@dataclass(frozen=True, slots=True)
class Card:
    """Symptom, cause and fix of one label of a log line."""

    symptom: str
    cause: str
    fix: str


CARDS: dict[str, Card] = {
    "xid": Card(
        "The kernel names an Xid: the driver caught a fault of one card. Its number says which.",
        "13, 31, 43, 45 mostly follow a fault of the program (bad index, bad pointer, a kill). 48, 63, 64, 74, 79, 94, 95, "
        "119 and 120 are the card, its memory, its link or its firmware.",
        "For 13 and 31 rerun the same config once with CUDA_LAUNCH_BLOCKING=1. For the others: save what is on the box, "
        "stop using that card, rent another one and report the number to the provider.",
    ),
    "hardware": Card(
        "A card, a disk or the machine itself reports a fault: off the bus, uncorrectable memory, lost handle, I/O error.",
        "Failing memory, power, heat, a loose riser, a dying disk. Software does not cause it and a retry does not cure it.",
        "Pull checkpoints now, while the box still answers. Then move to another box. NVIDIA: nvidia-smi -q -d ECC,ROW_REMAPPER; "
        "AMD: rocm-smi --showrasinfo; a filesystem that turned read-only must not be written to again.",
    ),
    "gpu_oom": Card(
        "Memory of the card ran out. CUDA, HIP, NPU and MPS each spell it differently; cuBLAS, cuDNN and XLA do too.",
        "The batch, the sequence or the cache is too large, another process holds the card, or memory is fragmented. The "
        "limit is real: the same config fails again at the same place.",
        "See who holds the card (nvidia-smi, rocm-smi, npu-smi info); a card with memory in use and no process keeps a zombie. "
        "Then smaller batch with accumulation, checkpointing, shorter sequences; expandable_segments:True against "
        "fragmentation; on MPS PYTORCH_MPS_HIGH_WATERMARK_RATIO; in JAX XLA_PYTHON_CLIENT_MEM_FRACTION.",
    ),
    "host_oom": Card(
        "Main memory ran out: a bare Killed, exit 137, an oom-kill event, a loader worker killed, a bus error in /dev/shm.",
        "The cgroup of the container is smaller than what free shows. Loader workers, cached data or a validation that keeps "
        "every sample fill it; small shared memory breaks workers.",
        "Fewer workers, less caching, no copies of the data set per worker; ask for a larger /dev/shm (--shm-size). Compare "
        "memory.current with memory.max and watch oom_kill. Do not shrink the batch: that is the card's memory.",
    ),
    "disk_full": Card(
        "No room left, in bytes or in inodes. torch.save shows it as `unexpected pos` or `iostream error`; others say quota or no space.",
        "Checkpoints that are never pruned, a hub or pip cache on the data disk, core dumps, a quota smaller than the disk.",
        "df -h and du on the run folder and on ~/.cache/huggingface; prune latest.pth and caches after asking, or grow the "
        "disk. The last checkpoint may be torn: verify it before you resume. A queue log on a full disk stands still.",
    ),
    "inode": Card(
        "`No space left` although df -h shows room: the filesystem is out of inodes.",
        "Millions of small files, or a shared filesystem with a cap (some give about 200,000).",
        "df -i shows it. Pack small files (tar, webdataset, lmdb), delete caches and old logs. A bigger disk does not help.",
    ),
    "hang": Card(
        "A watchdog fired: a collective, a loader or the kernel waited longer than its limit.",
        "One rank stopped first: it crashed, it works on uneven data, it writes a checkpoint, or its link or card is wedged. "
        "The ranks that report the timeout only waited.",
        "Find the rank whose last collective is lower than the others', and read its own log before the timeout. py-spy dump "
        "on it tells more. A longer timeout only helps where the wait is honest (a slow save). Then resume from checkpoint.",
    ),
    "nccl": Card(
        "Ranks lost each other: a connection closed, refused or aborted (NCCL, RCCL, HCCL, Gloo, MPI).",
        "The first rank died of something else, the network interface or port is wrong or taken, or a firewall stands between.",
        "Find the first rank that failed; the rest are echoes. At start: a free MASTER_PORT, NCCL_SOCKET_IFNAME, "
        "NCCL_IB_DISABLE=1 as a test, NCCL_DEBUG=INFO (HCCL: ASCEND_GLOBAL_LOG_LEVEL). Restart all ranks together.",
    ),
    "cuda_error": Card(
        "The device refused work: assert, illegal access, launch failure, no kernel image, no device, driver too old. "
        "HIP, ACL (NPU) and Metal (MPS) have the same kinds.",
        "A label or index outside its range (device-side assert), a build for another card or toolkit, a driver older than "
        "the build, a container without the card.",
        "CUDA_LAUNCH_BLOCKING=1 (AMD_SERIALIZE_KERNEL=3, ASCEND_LAUNCH_BLOCKING=1) names the true place. Check nvidia-smi "
        "against torch.version.cuda; `no kernel image` after pip install -r means that torch was replaced. After such an "
        "error the process must restart: its context is gone.",
    ),
    "ckpt_corrupt": Card(
        "A checkpoint cannot be read or does not fit the model, or a resume was skipped for it.",
        "The write was cut short (full disk, kill, preemption), or the code or config changed since it was saved.",
        "Keep the file. Fall back to the one before it. Where the shapes differ, compare the two configs before anything else. "
        "A run that says it starts from scratch overwrites good results: stop it now.",
    ),
    "preempted": Card(
        "The scheduler ended the job: time limit, preemption, cancelled, spot taken back.",
        "The time asked for was too short, a job of higher priority came, somebody cancelled it, the balance ran out.",
        "Requeue, and resume from the last checkpoint on durable storage. Save more often than the notice is long; let "
        "Slurm send a signal before the end (--signal=USR1@120).",
    ),
    "killed": Card(
        "The process was ended from outside: Killed, Terminated, a signal, a launcher that stops its workers, Ctrl-C.",
        "Exit 137 or a bare Killed: most often main memory (see oom_kill). 143 or SIGTERM: the launcher or the scheduler. "
        "SIGHUP: the terminal or the SSH session ended. 130: a person.",
        "Look at the lines before: a failing rank makes the launcher end the others. Start in tmux or with nohup; resume "
        "from the last checkpoint.",
    ),
    "nan": Card(
        "A loss, a gradient or its norm became NaN, or training reports that it diverged.",
        "Too high a learning rate, a bad batch, half precision, a division by zero, a log of zero; sometimes a flaky card.",
        "Compare with a sibling of the sweep. Retry the identical config once; then lower lr, clip gradients, use bf16 "
        "or fp32 for the unstable part, look at the batch. What is saved after the first NaN is worthless.",
    ),
    "inf": Card(
        "A loss or an activation became infinite.",
        "Overflow in half precision, exploding gradients, a log of zero.",
        "As for NaN: retry once, then lower lr, clip, bf16. An infinite best-so-far at the start is normal.",
    ),
    "overflow": Card(
        "A gradient overflowed, the step was skipped and the loss scale lowered.",
        "Normal now and then in fp16. At the scale's floor, every step overflows: training stands still or diverges.",
        "Nothing to do for single ones. At the floor: lower lr, clip, more warm-up, or bf16.",
    ),
    "traceback": Card(
        "The program raised; the frames follow and the last line says what.",
        "A bug, a config that does not fit, or an error of the machine that surfaces here.",
        "Read the last line, and under several ranks the first rank that raised. KeyError or AttributeError: code or "
        "config. A retry does not cure a bug.",
    ),
    "network": Card(
        "A connection was lost or refused.",
        "A slow or blocked route (proxy, mirror), a service that is down, a link that dropped.",
        "A run that logs to a service usually survives: sync offline folders later. Downloads: a mirror or the platform's "
        "proxy, and resume. Losing your SSH session says nothing about the run: reconnect and look.",
    ),
    "exception": Card(
        "The program ended abnormally: an exception, an assert, an abort, a segfault, a non-zero exit, a usage error.",
        "A bug or a config; missing files or packages; a failed build. Segfaults also come from a broken native build.",
        "Read the line itself and the traceback above it, fix, then resume the queue at this cell. Do not retry blindly.",
    ),
    "warning": Card(
        "Something went wrong that the software coped with: it retried, skipped or fell back.",
        "Deprecations, an optional part that is missing, one bad sample.",
        "Nothing now. Worth a look when the same one comes every step.",
    ),
    "progress": Card(
        "How far the run is, or its numbers.",
        "It works.",
        "Nothing.",
    ),
    "benign": Card(
        "Settings, hints, data, normal ends.",
        "It is there in every run.",
        "Nothing.",
    ),
}


def card(label: str) -> Card:
    """The card of a label of a log line; an unknown label is a bug and raises KeyError."""
    return CARDS[label]
