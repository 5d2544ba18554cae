"""What one box can tell about itself, in base units: bytes, seconds, hertz, watts, °C, shares 0–1.

None means "no number"; where a reason is known it stands in `why` under the field's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """One process that nvidia-smi lists on a card."""

    pid: int
    name: str
    memory_used: int | None


@dataclass(frozen=True, slots=True)
class Gpu:
    """One card, keyed by `uuid`: the index may change when a card falls off the bus."""

    index: int
    name: str
    uuid: str
    utilization: float | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    temperature: float | None = None
    power: float | None = None
    power_limit: float | None = None
    sm_clock_hz: int | None = None
    sm_clock_max_hz: int | None = None
    throttle: tuple[str, ...] = ()
    ecc_uncorrected: int | None = None
    mig: str | None = None
    processes: tuple[GpuProcess, ...] = ()
    why: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GpuError:
    """`kind` is one of no-driver, no-device, lost, hung, no-nvidia-smi, other-maker, unknown-error."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class GpuTable:
    """All cards of a box. `processes_hidden`: memory is used but no process is listed. `unread`: the device file of a
    card is there, and nothing reads that card. `notes`: warnings of nvidia-smi that stop nothing.
    """

    gpus: tuple[Gpu, ...] = ()
    error: GpuError | None = None
    processes_hidden: bool = False
    unread: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Memory:
    """Main memory by the cgroup that bounds the job; `source` is cgroup2, cgroup1 or host.

    `cache` is the part of `used` that the kernel can drop: pages of files. `level` is the path of the
    cgroup whose numbers these are: of nested ones with a limit, the one with the least room. `soft`: the
    limit is memory.high, at which the kernel slows the job down and kills nothing.
    `host_room` (what the kernel can still give) of `host_total` are the machine's, whatever a cgroup says: with
    swap, without huge pages.
    """

    source: str
    used: int | None
    limit: int | None
    peak: int | None = None
    oom_kill: int | None = None
    why: Mapping[str, str] = field(default_factory=dict)
    cache: int | None = None
    level: str | None = None
    soft: bool = False
    host_room: int | None = None
    host_total: int | None = None

    @property
    def needed(self) -> int | None:
        """Bytes in use that the kernel cannot drop."""
        return None if self.used is None else max(0, self.used - (self.cache or 0))


@dataclass(frozen=True, slots=True)
class CpuCounters:
    """Running totals; two of them give a rate. `host_load1` is the whole host's, not the job's."""

    quota_cores: float | None
    usage_seconds: float | None
    periods: int | None
    throttled_periods: int | None
    host_load1: float | None


NOT_REPORTED = "not reported by this filesystem"
NO_PATH = "no such path"
NOT_MOUNTED = "not mounted"


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount by bytes and by inodes.

    `bytes_available` is what a user may still write: less than total - used if blocks are reserved, a quota
    limits it or the filesystem needs the rest for itself. `place` is the mount point of the filesystem that
    answered. `trouble`: why df gave no numbers: stale, not-connected, error or hung. `named`: the fleet file lists
    this mount; `written`: runs write below it. `turned`: the kernel made it read-only.
    """

    path: str
    fstype: str | None
    bytes_used: int | None
    bytes_total: int | None
    inodes_used: int | None
    inodes_total: int | None
    read_only: bool = False
    why: Mapping[str, str] = field(default_factory=dict)
    bytes_available: int | None = None
    place: str | None = None
    trouble: str | None = None
    named: bool = False
    written: bool = False
    turned: bool = False

    def counts(self, axis: str) -> tuple[int | None, int | None]:
        """Used and total of `bytes` or `inodes`. The total of bytes is what a user can fill, as in df's Use%."""
        if axis == "inodes":
            return self.inodes_used, self.inodes_total
        used, available = self.bytes_used, self.bytes_available
        if available is None or (used is None and available):
            return used, self.bytes_total
        if not used:
            return (used, self.bytes_total) if used == 0 else (self.bytes_total, self.bytes_total)
        return used, used + available

    def lacks(self, axis: str) -> bool:
        """There are no `bytes` or `inodes` to count; where `df` was refused or hung nobody knows them."""
        why = self.why.get(f"{axis}_total") or self.why.get(f"{axis}_used")
        return why in (NOT_REPORTED, NO_PATH) or (why or "").startswith(NOT_MOUNTED)


@dataclass(frozen=True, slots=True)
class Host:
    """`box_time` is the box's own epoch clock; `boot_id` tells one boot from the next.

    `machine` tells the containers of one boot apart: the start time of PID 1 and the PID namespace.
    """

    box_time: float
    uptime_seconds: float | None
    boot_id: str | None
    hostname: str | None = None
    utc_offset_seconds: int = 0
    machine: str | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """One row of the process table. `cpu_seconds` is its CPU time so far; None if it was not read."""

    pid: int
    ppid: int
    name: str
    argv: tuple[str, ...]
    state: str
    age_seconds: float | None = None
    cpu_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class FileStat:
    """What `stat` says of one path: identity, size in bytes and the box's own mtime."""

    path: str
    inode: int
    size: int
    mtime: float


@dataclass(frozen=True, slots=True)
class FileTable:
    """The files asked for; a path that is not there is missing from `found`.

    `unseen`: the patterns that name more files than can be looked at, and how many; nothing is known of these.
    `signs`: by the name of a directory in which a cell may train, what was written last there of its checkpoints,
    by whatever name: a sign of life, and never an artifact.
    """

    found: Mapping[str, FileStat] = field(default_factory=dict)
    unseen: Mapping[str, int] = field(default_factory=dict)
    signs: Mapping[str, FileStat] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scores:
    """The metrics that finished runs left in files: run id -> name -> value. `dropped` files were too many."""

    by_run: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class MemoryPoint:
    """One row of a memory monitor on the box: bytes of the cgroup, share of the GPU."""

    at: float
    memory_used: int | None
    gpu: float | None


@dataclass(frozen=True, slots=True)
class MemoryLog:
    """What a monitor on the box wrote before we came, oldest first.

    `at` is box time: epoch seconds where `zoned`, else wall time as if it were UTC.
    """

    path: str
    points: tuple[MemoryPoint, ...] = ()
    zoned: bool = False


@dataclass(frozen=True, slots=True)
class PodUse:
    """The usage of one container by the metrics API: cores, and bytes of memory."""

    pod: str
    container: str
    cores: float
    memory: int


@dataclass(frozen=True, slots=True)
class PodCards:
    """The GPUs that nvidia-smi shows in one container, read at `read_at` by our clock.

    `cell` is the row of its pod. `why` is the reason that none is known, or what nvidia-smi reports besides.
    """

    pod: str
    container: str
    cell: str
    read_at: float
    gpus: tuple[Gpu, ...] = ()
    why: str | None = None
