"""What the screen and the commands read: frozen, whole, taken at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from gpu_tui.core.account import Account, Listed
from gpu_tui.core.cause import Cause
from gpu_tui.core.clocks import DangerClock
from gpu_tui.core.ending import OpenEnd, OwnEnd
from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.fleet import Instance, LinkState, ProviderState
from gpu_tui.core.logs import LogSource
from gpu_tui.core.metrics import Metric
from gpu_tui.core.mount_state import MountFault
from gpu_tui.core.profile import LOGIN_NODE, Profile, Sign
from gpu_tui.core.readings import CpuCounters, GpuTable
from gpu_tui.core.sample import NO_TRACK, Freshness, Track
from gpu_tui.core.series import Point
from gpu_tui.core.sweep import Queue
from gpu_tui.core.thresholds import THRESHOLDS, Threshold
from gpu_tui.core.units import money
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.runner_kept import Runner

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cost:
    """Money per hour and so far; `basis` is api, fleet-file or unknown; None = not known, and `why`."""

    per_hour: float | None = None
    currency: str | None = None
    spent: float | None = None
    since: float | None = None
    basis: str = "unknown"
    why: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CpuUse:
    """CPU of the job's cgroup as rates over the last beats."""

    quota_cores: float | None = None
    used_cores: float | None = None
    throttled_share: float | None = None
    host_load1: float | None = None


@dataclass(frozen=True, slots=True)
class LogView:
    """One followed log. `first`..`end` are line numbers since the first line ever seen (end excluded)."""

    source: LogSource
    first: int
    end: int
    version: int
    last_at: float | None = None  # when its last line was written; None: it was there before us
    error: str | None = None
    skipped_bytes: int = 0
    unread: int = 0  # lines of floods that are kept, but were passed over for progress
    title: str | None = None  # what writes it: a pod and its container


@dataclass(frozen=True, slots=True)
class InstanceView:
    """Everything known of one instance at `taken_at`."""

    instance: Instance
    taken_at: float
    link: LinkState
    verdict: Verdict
    because: tuple[str, ...]
    tracks: Mapping[str, Track[object]]
    queue: Queue
    cost: Cost
    cpu: CpuUse
    provider: ProviderState
    clocks: tuple[DangerClock, ...]
    findings: tuple[Finding, ...]
    logs: tuple[LogView, ...]
    profile: Profile | None = None
    # The queue is only remembered: the box is off; when it was read.
    queue_read: float | None = None
    end: OpenEnd | None = None  # of a teardown that is not proven to be over
    own_end: OwnEnd | None = None  # of the last one that is
    clock_skew: float | None = None
    uptime: float | None = None
    cause: Cause | None = None  # of a crash
    settling: bool = False  # the log is newer than the process table: the next beat tells more
    # oom_kill when first seen by this gpu-tui; None before a reading.
    oom_baseline: int | None = None
    series: Mapping[str, Sequence[Point]] = field(default_factory=dict)
    series_basis: Mapping[str, str] = field(default_factory=dict)  # where a history's past is from
    # the losses of a cell by how far it had come: epochs, or steps where it counts only those
    courses: Mapping[str, tuple[tuple[float, float | None], ...]] = field(default_factory=dict)
    full_in: Mapping[str, float] = field(
        default_factory=dict
    )  # mount path -> seconds at present rate
    runner: Runner | None = None  # the queue's runner as last seen
    # mount path -> why the runs cannot use it
    mount_faults: Mapping[str, MountFault] = field(default_factory=dict)
    # each of results.cells -> its artifacts are all in the results on the box; None: not known
    delivered: Mapping[str, bool | None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The instance's name in the fleet file."""
        return self.instance.name

    def track(self, metric: Metric[T]) -> Track[T]:
        """The track of one metric; an empty one where it was never sampled."""
        return cast("Track[T]", self.tracks.get(metric.name, NO_TRACK))

    def freshness(self, metric: Metric[T]) -> Freshness:
        """Fresh, stale, absent or unknown, now."""
        return self.track(metric).freshness(self.taken_at, live=self.link.live)

    @property
    def spent_exact(self) -> bool:
        """The provider says since when it bills, and it bills; else what is spent is the least it can be."""
        return self.provider.started_at is not None and self.provider.state not in (
            "stopped",
            "ended",
            "gone",
        )

    @property
    def spent_told(self) -> str:
        """The money spent: `¥12.40`, `≥¥0.12` where the cost before the first look is unknown, `?`."""
        return money(self.cost.spent, self.cost.currency, at_least=not self.spent_exact)

    @property
    def last_contact(self) -> float | None:
        """When any probe last answered."""
        times = [track.good.taken_at for track in self.tracks.values() if track.good]
        return max(times, default=None)

    @property
    def worst(self) -> Severity:
        """The worst severity among its findings."""
        found = [finding.severity for finding in self.findings]
        return min(found, key=lambda severity: severity.rank, default=Severity.NONE)


@dataclass(frozen=True, slots=True)
class Past:
    """A past event of this session, over at `at`: a finding that `ended` or was `acknowledged`, or an event (a link cut,
    a finished cell) in the form of a finding.
    """

    finding: Finding
    at: float
    key: str = ""
    ended: bool = False
    acknowledged: bool = False


@dataclass(frozen=True, slots=True)
class FleetView:
    """The whole fleet at `taken_at`; `instances` in fleet-file order."""

    sweep: str | None
    taken_at: float
    instances: tuple[InstanceView, ...]
    findings: tuple[Finding, ...]
    clocks: tuple[DangerClock, ...]
    notes: tuple[str, ...] = ()
    accounts: tuple[Account, ...] = ()
    unlisted: tuple[Listed, ...] = ()  # the accounts hold them, the fleet file does not
    unmet: frozenset[str] = frozenset()  # platforms whose good-to-knows nobody has read yet
    thresholds: tuple[Threshold, ...] = THRESHOLDS  # at which a deadline is told
    past: tuple[Past, ...] = ()  # past events of this session

    @property
    def beside(self) -> tuple[Finding, ...]:
        """What is about no instance of the fleet file, worst first: a box that bills, an account, a volume."""
        names = {view.name for view in self.instances}
        return tuple(finding for finding in self.findings if finding.instance not in names)

    def __getitem__(self, name: str) -> InstanceView:
        """The view of one instance; KeyError if there is none."""
        for view in self.instances:
            if view.name == name:
                return view
        raise KeyError(name)


def utilization(table: GpuTable | None) -> float | None:
    """The highest GPU share of a box, or None where no card gave a number."""
    known = [
        gpu.utilization for gpu in (table.gpus if table else ()) if gpu.utilization is not None
    ]
    return max(known, default=None)


SHORTEST = 0.2  # seconds between two readings that make a rate: probes come no faster than that


def signs_of(signs: Sequence[Sign] | None, gpus: GpuTable | None) -> tuple[Sign, ...]:
    """What a box shows of its platform. One with cards of its own is no login node, though it may know a Slurm:
    taken for one, what runs there without a job would be seen by nobody.
    """
    cards = gpus is not None and bool(gpus.gpus)
    return tuple(sign for sign in signs or () if not (cards and sign.platform == LOGIN_NODE))


def cpu_rates(old: CpuCounters, old_at: float, new: CpuCounters, new_at: float) -> CpuUse:
    """Rates between two counter readings; two that came at once, after a link stood still, tell none."""
    used = throttled = None
    span = new_at - old_at
    if span >= SHORTEST and old.usage_seconds is not None and new.usage_seconds is not None:
        used = max(0.0, (new.usage_seconds - old.usage_seconds) / span)
    if None not in (old.periods, new.periods, old.throttled_periods, new.throttled_periods):
        periods = (new.periods or 0) - (old.periods or 0)
        if periods > 0:
            throttled = max(
                0.0, ((new.throttled_periods or 0) - (old.throttled_periods or 0)) / periods
            )
    return CpuUse(new.quota_cores, used, throttled, new.host_load1)
