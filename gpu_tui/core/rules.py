"""Findings that follow from what is true now: the table of conditions, pure.

A condition is active or not; the store keeps when it was first and last seen. Lines of logs have
their own way (triage); nothing here reads a log.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from gpu_tui.core import units
from gpu_tui.core.clocks import SHORT, DangerClock, clock_words
from gpu_tui.core.cut_short import cut_early, cut_short
from gpu_tui.core.facts import BUSY_SHARE
from gpu_tui.core.findings import LOG_DATE, QUEUE_LOG, Severity
from gpu_tui.core.fleet import LinkState
from gpu_tui.core.left_queue import LOG_DELETED
from gpu_tui.core.levels import Level, level, share
from gpu_tui.core.losses import Plateau, Spike
from gpu_tui.core.mount_state import READ_ONLY_KINDS, MountFault
from gpu_tui.core.mount_state import REMEDIES as MOUNT_REMEDIES
from gpu_tui.core.readings import GpuTable, Memory, Mount
from gpu_tui.core.remedies import OF_JOBS, RANK, RESTART, SILENT_JOB
from gpu_tui.core.scheduler_end import End
from gpu_tui.core.stillness import hangs
from gpu_tui.core.sweep import Cell, CellState, Queue, Roster
from gpu_tui.core.vanished import UNTOLD
from gpu_tui.core.verdict import Verdict
from gpu_tui.core.verdict_jobs import FAILED_INSIDE

BLIP = 15.0  # seconds: a loss of this length wakes nobody
ZOMBIE_VRAM = 1 << 30
ECC = ("uncorrectable ECC error", "uncorrectable ECC errors")

# GpuError.kind -> finding kind and severity; a box without a GPU is no finding at all.
GPU_ERRORS: dict[str, tuple[str, Severity]] = {
    "lost": ("hardware", Severity.FATAL),
    "hung": ("probe_hung", Severity.SERIOUS),
    "no-driver": ("cuda_error", Severity.SERIOUS),
    "unknown-error": ("cuda_error", Severity.WARN),
}

CUT_SHORT = (
    "Read its last lines: a kill leaves no word there, dmesg may name the OOM killer; an early stop says so. "
    "Look at its last checkpoint before you start it again."
)
JOB_DELETED = (
    "Ask who deleted it, or read kubectl get events: events are kept for about an hour. "
    "Look at its last checkpoint before you start it again."
)
STARTED_AGAIN = (
    "Read what its log said before each start: a wrapper that starts it again and again hides how it fails, and "
    "each start may begin at an old checkpoint."
)
NODES_MOST = 20  # findings of one box
NODE_LEAVES = (
    "The scheduler starts no new job on this node. Jobs that run there may go on or be ended: save a checkpoint soon. "
    "The reason is the site's own text."
)
LIMIT_RAN_OUT = "Its time limit ran out. Submit it again with a longer limit, and resume from its last checkpoint."
REMOVED = "Ask that user for the reason before you submit it again."
NODE_FAILED = "Its node failed, not the program. See that it runs again from its last checkpoint; sinfo -R names the nodes."
GOES_ON = "The scheduler runs it again if it may be requeued. See that it resumes from its last checkpoint."
HOP_SHUT = "No way through the jump host. That is not a dead run: see to the jump host first."
HOP_KEY = "The jump host's key is not the known one. Compare the fingerprint with whoever runs it before you change known_hosts."
GPU_REMEDIES = {  # where no rerun of the program can help
    "no-driver": "Run nvidia-smi on the box; a missing driver there is the provider's to fix.",
}
BRAKES = frozenset({"hw_slowdown", "hw_power_brake"})  # they need no heat
BRAKED = (
    "The machine itself holds the card back: its board or power supply asks for it, and no setting of yours cures "
    "that. Save, and ask for another host."
)

# A clock's own severity -> that of its finding, and that of its last hour.
CLOCK_SEVERITY: dict[str, tuple[Severity, Severity]] = {
    "critical": (Severity.SERIOUS, Severity.FATAL),
    "high": (Severity.SERIOUS, Severity.SERIOUS),
    "medium": (Severity.WARN, Severity.SERIOUS),
    "low": (Severity.WARN, Severity.WARN),
}
LAST_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that is so now. `cell` may be None; `source` says where the evidence comes from."""

    kind: str
    severity: Severity
    evidence: str
    source: str
    cell: str | None = None
    part: str | None = None  # tells two conditions of one kind apart (a mount, a clock)
    remedy: str | None = None  # what to do, where it is not the same for all of its kind
    since: float | None = None  # when it happened, if another source than our own look says so
    since_basis: str = QUEUE_LOG


@dataclass(frozen=True, slots=True)
class OomKill:
    """What the cgroup's counter says of one attempt. `since_made`: it may have risen before we came."""

    times: int
    cell: str | None
    survived: bool = False
    since_made: bool = False
    by_log: bool = False  # with since_made: the log reports the kill, not the exit code
    peak: float | None = None  # highest share of the limit in use so far, if it was near the limit


@dataclass(frozen=True, slots=True)
class Idle:
    """Seconds without work, and what they cost as text; `at_most` = not all of it was watched, `by_looks` = each look
    of it found no work, and nothing that ran between two looks left a trace.
    """

    seconds: float
    cost: str | None
    at_most: bool = False
    by_looks: bool = False


@dataclass(frozen=True, slots=True)
class Now:
    """What the rules look at; None where nothing fresh is known."""

    now: float
    link: LinkState
    verdict: Verdict
    because: tuple[str, ...] = ()
    scheduler: str | None = None  # slurm or kubernetes
    was_live: bool = False  # it was connected before: a short loss is a blip
    gpus: GpuTable | None = None
    memory: Memory | None = None
    blamed: str | None = None  # the cell whose end was the end of the run
    oom: OomKill | None = None
    mounts: tuple[Mount, ...] = ()
    faults: Mapping[str, MountFault] = field(default_factory=dict)  # by path of the mount
    queue: Queue = field(default_factory=Queue)
    roster: Roster | None = None
    clocks: tuple[DangerClock, ...] = ()
    hung: tuple[str, ...] = ()
    idle: Idle | None = None
    idle_after: float = 600.0
    losses: Mapping[str, tuple[Spike | None, Plateau | None]] = field(default_factory=dict)
    trainer_alive: bool | None = None
    extras: tuple[Condition, ...] = field(default_factory=tuple)
    halted: bool = False  # a signal stopped all that trains, and `extras` tell of each
    held: Collection[tuple[str, str | None, str | None]] = ()  # (kind, cell, part) at the last look

    def acts(self, name: str, value: float | None, kind: str, part: str | None = None) -> bool:
        """Whether a number asks for a person, or did as this finding and has not fallen far enough since."""
        return level(name, value, held=(kind, None, part) in self.held) is Level.ACT


def conditions(seen: Now) -> Iterator[Condition]:
    """All that is so now."""
    yield from _link(seen)
    yield from _disks(seen)
    yield from _memory(seen)
    yield from _oom(seen)
    yield from _gpus(seen)
    yield from _cells(seen)
    yield from _nodes(seen)
    yield from _run(seen)
    yield from _losses(seen)
    yield from _clocks(seen)
    for name in seen.hung:
        yield Condition(
            "probe_hung", Severity.WARN, f"{name} does not return", f"probe:{name}", part=name
        )
    yield from seen.extras


def _link(seen: Now) -> Iterator[Condition]:
    link = seen.link
    if link.state in ("live", "connecting", "off") or seen.verdict is Verdict.OFF:
        return
    text = link.error or link.state
    by_cluster = link.next if seen.scheduler == "kubernetes" else None  # kubectl says why
    if link.state == "host-key":
        hint = HOP_KEY if link.hop else by_cluster
        yield Condition("host_key", Severity.SERIOUS, text, "link", remedy=hint)
    else:
        # A short loss of a box that was there is a blip: known, but no alarm.
        blip = seen.was_live and link.state != "auth" and seen.now - link.since < BLIP
        severity = Severity.WARN if blip else Severity.SERIOUS
        hint = HOP_SHUT if link.hop else by_cluster
        yield Condition("unreachable", severity, text, "link", remedy=hint)


def _disks(seen: Now) -> Iterator[Condition]:
    for mount in seen.mounts:
        fault = seen.faults.get(mount.path)
        if fault is not None:
            yield Condition(
                "mount_bad",
                Severity.SERIOUS,
                f"{mount.path}: {fault.text}",
                f"df:{mount.path}",
                part=mount.path,
                remedy=MOUNT_REMEDIES.get(fault.state),
            )
        if fault is not None or mount.read_only or mount.fstype in READ_ONLY_KINDS:
            continue
        used = share(*mount.counts("bytes"))
        packed = seen.acts("bytes", used, "disk_full", mount.path)
        if packed:
            yield Condition(
                "disk_full",
                Severity.SERIOUS,
                f"{mount.path}: {used:.0%} of its bytes are used",
                f"df:{mount.path}",
                part=mount.path,
            )
        inodes = share(mount.inodes_used, mount.inodes_total)
        if seen.acts("inodes", inodes, "inode_full", mount.path):
            yield Condition(
                "inode_full",
                Severity.SERIOUS,
                f"{mount.path}: {inodes:.0%} of its inodes are used"
                + (f", only {used:.0%} of its bytes" if used is not None and not packed else ""),
                f"df:{mount.path}",
                part=mount.path,
            )


def _memory(seen: Now) -> Iterator[Condition]:
    memory = seen.memory
    if memory is None:
        return
    # `used` includes pages of files, which the kernel drops when it needs memory: they cause no OOM kill.
    used = share(memory.needed, memory.limit)
    whole = memory.host_total
    if memory.source != "host" and seen.acts("memory", used, "mem_pressure"):
        text = f"{used:.0%} of the cgroup's memory is used, cache not counted"
        if memory.level not in (None, "/"):
            text += f"; the limit is that of {memory.level}"
        if memory.soft:
            text += "; at memory.high the kernel slows it down"
        yield Condition("mem_pressure", Severity.WARN, text, "cgroup")
    elif memory.source == "host" or (memory.limit or math.inf) >= (whole or 0):
        room = share(memory.host_room, whole)
        taken = None if room is None else 1 - room
        if seen.acts("host_memory", taken, "mem_pressure"):
            text = f"{taken:.0%} of the machine's memory is used, cache not counted; no cgroup limits it"
            yield Condition("mem_pressure", Severity.WARN, text, "meminfo")


def _oom(seen: Now) -> Iterator[Condition]:
    oom = seen.oom
    if oom is None:
        return
    if oom.since_made:
        evidence = f"exit 137, and the cgroup has counted {oom.times} OOM kill(s) since it was made"
        if oom.by_log:
            evidence = f"its log ends with Killed, and the cgroup has counted {oom.times} OOM kill(s) since it was made"
        if oom.peak is not None:
            evidence += f"; its memory was once {oom.peak:.0%} full"
    else:
        times = f"{oom.times} time{'s' if oom.times > 1 else ''}"
        evidence = f"the cgroup's oom_kill counter rose {times}"
        if oom.survived:
            evidence += "; the run itself goes on" if oom.cell else "; a training still runs"
    severity = Severity.WARN if oom.survived else Severity.FATAL
    yield Condition("host_oom", severity, evidence, "cgroup", cell=oom.cell)


def _losses(seen: Now) -> Iterator[Condition]:
    for cell, (spike, plateau) in seen.losses.items():
        if spike is not None:
            severity = Severity.SERIOUS if spike.stays else Severity.WARN
            yield Condition("loss_spike", severity, spike.told, "losses", cell)
        if plateau is not None:
            yield Condition("plateau", Severity.SERIOUS, plateau.told, "losses", cell)


def _gpus(seen: Now) -> Iterator[Condition]:
    table = seen.gpus
    if table is None:
        return
    if table.error and table.error.kind in GPU_ERRORS:
        kind, severity = GPU_ERRORS[table.error.kind]
        remedy = GPU_REMEDIES.get(table.error.kind)
        yield Condition(kind, severity, table.error.text, "nvidia-smi", remedy=remedy)
    for gpu in table.gpus:
        where = f"gpu:{gpu.index}"
        clock = share(gpu.sm_clock_hz, gpu.sm_clock_max_hz)
        hot = seen.acts("throttled", gpu.temperature, "throttle", where)
        lacks = None if clock is None else 1 - clock
        rests = gpu.utilization is not None and gpu.utilization <= BUSY_SHARE
        braked = ", ".join(reason for reason in gpu.throttle if reason in BRAKES and not rests)
        slowed = clock is not None and seen.acts("slowed", lacks, "throttle", where)
        if hot and slowed:
            yield Condition(
                "throttle",
                Severity.WARN,
                f"GPU {gpu.index} at {gpu.temperature:.0f} °C runs at {clock:.0%} of its clock",
                where,
                part=where,
            )
        elif braked and slowed:
            yield Condition(
                "throttle",
                Severity.WARN,
                f"GPU {gpu.index} runs at {clock:.0%} of its clock: {braked}",
                where,
                part=where,
                remedy=BRAKED,
            )
        if gpu.ecc_uncorrected:
            yield Condition(
                "hardware",
                Severity.SERIOUS,
                f"GPU {gpu.index} counts {gpu.ecc_uncorrected} {ECC[gpu.ecc_uncorrected > 1]}",
                where,
                part=where,
            )
        held = (gpu.memory_used or 0) > ZOMBIE_VRAM
        if (
            held
            and not gpu.processes
            and not table.processes_hidden
            and seen.trainer_alive is False
        ):
            yield Condition(
                "zombie_vram",
                Severity.WARN,
                f"GPU {gpu.index} holds memory and no process is listed",
                where,
                part=where,
            )


def ended_at(cell: Cell) -> tuple[float | None, str]:
    """When a cell ended, by our clock, and the basis of that time: without a queue's log the date of its own log."""
    by_queue = cell.job is None and cell.exit_code is not None  # each end line has one
    return cell.finished_at, QUEUE_LOG if by_queue else LOG_DATE


def _cells(seen: Now) -> Iterator[Condition]:
    queue = seen.queue
    log = f"log:{queue.log}" if queue.log else "queue"
    alone = _alone(seen)
    for cell in queue.cells:
        source = log if cell.job is None else f"job:{cell.job}"
        since, basis = ended_at(cell)
        if (severity := hangs(cell)) is not None and not alone:
            remedy = SILENT_JOB.get(seen.scheduler or "")
            yield Condition("stalled", severity, cell.why or "", source, cell.name, remedy=remedy)
        if cell.state is CellState.SYNC_FAILED:
            yield Condition(
                "sync_failed", Severity.SERIOUS, cell.why or "", source, cell.name,
                since=since, since_basis=basis,
            )  # fmt: skip
        elif cell.state is CellState.SUSPICIOUS and cell.artifact == "missing":
            yield Condition(
                "artifact_missing", Severity.SERIOUS, cell.why or "", source, cell.name,
                since=since, since_basis=basis,
            )  # fmt: skip
        elif cell.state is CellState.SUSPICIOUS:
            kind = cell.finding or "suspicious_end"
            yield Condition(
                kind, Severity.SERIOUS, cell.end_words or cell.why or "", source, cell.name,
                remedy=_for_job(cell), since=since, since_basis=basis,
            )  # fmt: skip
        elif cell.state is CellState.FAILED:
            kind = cell.finding or "crashed"
            yield Condition(
                kind, Severity.SERIOUS, cell.end_words or cell.why or "failed", source, cell.name,
                remedy=_for_job(cell), since=since, since_basis=basis,
            )  # fmt: skip
        elif cell.finding is not None and cell.lost and cell.state is CellState.RUNNING:
            yield Condition(
                cell.finding, Severity.SERIOUS, cell.why or "", source, cell.name,
                remedy=OF_JOBS[RANK] if _needs_all(cell) else None,
            )  # fmt: skip
        elif cell.finding == UNTOLD and cell.state is CellState.RUNNING:
            yield Condition(
                UNTOLD, Severity.WARN, cell.why or "", source, cell.name, remedy=STARTED_AGAIN
            )
        elif (
            cell.finding in FAILED_INSIDE and cell.state is CellState.RUNNING and not cell.restarted
        ):
            yield Condition(cell.finding, Severity.SERIOUS, cell.why or "", source, cell.name)
        elif cell.finding not in (None, UNTOLD):
            # Only the log says how this job ended. One that waits or runs again needs no action now.
            over = cell.state is CellState.CANNOT_TELL and cell.end_words is not None
            yield Condition(
                cell.finding, Severity.SERIOUS if over else Severity.WARN,
                cell.end_words or cell.why or "", source, cell.name,
                part=RESTART if cell.finding == "crashed" else None, remedy=_for_job(cell),
            )  # fmt: skip
        elif cell.name != seen.blamed and (words := cut_short(cell)) is not None:
            severity = Severity.SERIOUS if cut_early(cell) else Severity.WARN
            remedy = JOB_DELETED if LOG_DELETED in words else CUT_SHORT
            yield Condition(UNTOLD, severity, words, source, cell.name, remedy=remedy)


def _nodes(seen: Now) -> Iterator[Condition]:
    """One for each node that is out of service and that a job runs on: the job may go on to its end there."""
    jobs: dict[str, list[str]] = {}
    for cell in seen.queue.cells:
        if cell.node_state is not None and cell.state is CellState.RUNNING:
            jobs.setdefault(cell.node_state, []).append(cell.name)
    for node, names in list(jobs.items())[:NODES_MOST]:
        many = len(names) > 1
        there = (
            f"{names[0]} and {len(names) - 1} more run there" if many else f"{names[0]} runs there"
        )
        yield Condition(
            "hardware", Severity.WARN, f"out of service: {node}; {there}", "scheduler",
            part=f"node:{node.partition(' ')[0]}", remedy=NODE_LEAVES,
        )  # fmt: skip


def _needs_all(cell: Cell) -> bool:
    """Whether its programs are ranks. The pods of a parallel Job of Kubernetes may be independent: what ended one counts."""
    return cell.finding in ("crashed", "stalled") or not (cell.job or "").startswith("job/")


def _for_job(cell: Cell) -> str | None:
    """The remedy where it differs for a job of a scheduler."""
    if cell.job is None:
        return None
    if cell.ended_by is End.REMOVED:
        return REMOVED
    if cell.finding == "crashed":
        return None if cell.state is CellState.FAILED else OF_JOBS[RESTART]
    if cell.finding == "time_limit" and cell.state in (CellState.FAILED, CellState.CANNOT_TELL):
        return LIMIT_RAN_OUT
    if cell.finding == "hardware" and cell.ended_by is End.NODE:
        return NODE_FAILED
    if cell.finding == "preempted" and cell.state in (CellState.PENDING, CellState.RUNNING):
        return GOES_ON
    return OF_JOBS.get(cell.finding or "")


def _alone(seen: Now) -> bool:
    """What is said of the run is said of its only cell that runs."""
    runs = seen.queue.count(CellState.RUNNING)
    return runs <= 1 or seen.verdict in (Verdict.STALLED, Verdict.FINISHED_BUT_HUNG)


def _run(seen: Now) -> Iterator[Condition]:
    reason = seen.because[0] if seen.because else seen.verdict.value
    if seen.verdict in (Verdict.CRASHED, Verdict.PREEMPTED):
        if seen.verdict is Verdict.PREEMPTED and any(
            one.finding == "preempted" for one in seen.queue.cells
        ):
            return  # its cell says so
        blamed = next((one for one in seen.queue.cells if one.name == seen.blamed), None)
        since, basis = (None, LOG_DATE) if blamed is None else ended_at(blamed)
        yield Condition(
            str(seen.verdict), Severity.FATAL, reason, "verdict", seen.blamed,
            since=since, since_basis=basis,
        )  # fmt: skip
    elif seen.verdict is Verdict.STALLED and seen.halted:
        pass  # that was told when it was stopped: told anew under another name it would wake twice
    elif seen.verdict in (Verdict.STALLED, Verdict.FINISHED_BUT_HUNG):
        remedy = SILENT_JOB.get(seen.scheduler or "")
        yield Condition("stalled", Severity.SERIOUS, reason, "verdict", remedy=remedy)
    idle = seen.idle
    if idle is not None and idle.seconds >= seen.idle_after:
        if idle.cost is None:
            cost = "what that costs is not known (no price)"
        else:
            cost = f"{'up to ' if idle.at_most else ''}{idle.cost} so far"
        if idle.by_looks:
            what = "each look found nothing at work, and nothing left a trace between them,"
        else:
            what = "the run has been over" if idle.at_most else "nothing works"
        yield Condition(
            "idle_billing",
            Severity.SERIOUS,
            f"{what} for {units.words(idle.seconds)} and the meter runs, {cost}",
            "verdict",
        )


def _clocks(seen: Now) -> Iterator[Condition]:
    """One per clock that has crossed a threshold; the next threshold makes another finding of it."""
    for clock in seen.clocks:
        if clock.stage is None or clock.kind == "low_balance":  # that is told once, of the account
            continue
        left = (clock.deadline or seen.now) - seen.now
        usual, last = CLOCK_SEVERITY.get(clock.severity, (Severity.WARN, Severity.WARN))
        if clock.stage == SHORT:  # there is time to act
            usual = last = Severity.WARN
        yield Condition(
            clock.kind,
            last if 0 < left <= LAST_HOUR else usual,
            clock_words(clock, left),
            f"clock:{clock.key}",
            part=f"{clock.key}@{clock.stage}",
            remedy=clock.avoid if clock.kind == "clock" or clock.short else None,
        )
