"""Parts of scenes: a store that does not change by itself, two platforms, and builders for every value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gpu_tui.core.anchors import Anchors
from gpu_tui.core.clocks import by_urgency, clocks_of
from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.fleet import Instance, LinkState, Money, ProviderState, QueueFiles, SshAccess
from gpu_tui.core.logs import LogLine, LogSource, Mark
from gpu_tui.core.metrics import HOST
from gpu_tui.core.profile import ClockFact, Gotcha, Profile, Tier, Verb
from gpu_tui.core.readings import (
    NOT_REPORTED,
    Gpu,
    GpuProcess,
    Host,
    Mount,
)
from gpu_tui.core.remedies import remedy
from gpu_tui.core.sample import Absent, Failure, FailureKind, Reading, Track
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.bookmarks import Bookmark
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.state.views import Cost, CpuUse, FleetView, InstanceView, LogView

NOW = 1_772_620_931.0  # 2026-03-04 10:42:11 UTC
GIB = 1024**3
DAY = 86400.0
SWEEP = "paper-ablation-v1"
Points = tuple[tuple[float, float | None], ...]


class SceneStore:
    """A store that stands still at one scene until somebody moves it."""

    def __init__(
        self, fleet: FleetView, logs: Mapping[tuple[str, LogSource], LogBuffer] | None = None
    ) -> None:
        self.fleet = fleet
        self.logs = dict(logs or {})
        self.acknowledged: list[str] = []
        self.marks: dict[tuple[str, LogSource], tuple[Bookmark, ...]] = {}
        self._dirty: set[str] = {""}

    def view(self, now: float) -> FleetView:
        """The scene, at `now`."""
        instances = tuple(replace(view, taken_at=now) for view in self.fleet.instances)
        found = tuple(f for f in self.fleet.findings if f.id not in self.acknowledged)
        return replace(self.fleet, taken_at=now, instances=instances, findings=found)

    def log(self, instance: str, source: LogSource) -> LogBuffer | None:
        """One log of the scene."""
        return self.logs.get((instance, source))

    def bookmarks(self, instance: str, source: LogSource) -> Sequence[Bookmark]:
        """The bookmarks of one log."""
        return self.marks.get((instance, source), ())

    def keep_bookmarks(self, instance: str, source: LogSource, marks: Sequence[Bookmark]) -> None:
        """Keep these bookmarks of one log."""
        self.marks[instance, source] = tuple(marks)

    def drain(self) -> frozenset[str]:
        """What was moved since the last drain."""
        dirty, self._dirty = frozenset(self._dirty), set()
        return dirty

    def acknowledge(self, finding_id: str) -> None:
        """Hide one finding."""
        self.acknowledged.append(finding_id)
        self._dirty.add("")

    def meet(self, platform: str) -> None:
        """What is good to know was read."""
        self.fleet = replace(self.fleet, unmet=self.fleet.unmet - {platform})
        self._dirty.add("")

    def become(self, fleet: FleetView) -> None:
        """Another scene."""
        self.fleet = fleet
        self._dirty.add("")

    def touch(self, name: str) -> None:
        """Something of one instance changed."""
        self._dirty.add(name)


# --- platforms --------------------------------------------------------------------------------

AUTODL = Profile(
    id="autodl",
    title="AutoDL",
    kind="ssh-rental",
    currency="CNY",
    storage=(
        Tier("system", "/", True, False, label="system disk", size="30 GB"),
        Tier("data", "/root/autodl-tmp", True, False, label="data disk", size="50 GB, local NVMe"),
        Tier("shared-fs", "/root/autodl-fs", True, True, label="file storage", size="20 GB free"),
    ),
    clocks=(
        ClockFact(
            "autodl-release-15d", "stopped", "stopped_at", 15 * DAY, "destroys",
            ("system", "data"), "critical",
            "pull and verify before parking; start once without a card to reset the count",
            "https://www.autodl.com/docs/price/", "2026-02", "high",
        ),
        ClockFact(
            "autodl-paid-disk-bills-off", "stopped", "stopped_at", None, "bills", ("data",), "low",
            "shrink the data disk after a verified pull", "https://www.autodl.com/docs/price/",
            "2025-06", "medium", note="the paid part of the data disk, every day",
        ),
    ),
    conveniences=(
        "Downloads from the file storage cost nothing; a start without a card is enough to move data.",
    ),
    teardown=(
        Verb("stop", "power off", (), "stops", True, "console", note="Keeps both disks, starts the 15-day count.",
             steps=("Open the console's instance list", "Choose power off on the row of this instance")),
        Verb("release", "release", ("system", "data"), "stops", False, "console", effect="destroy",
             note="Wipes the system disk and the data disk. Only the file storage stays."),
    ),
    gotchas=(
        Gotcha("AD4", "No space left on device, yet df shows room", "the inode cap of the file storage",
               "pack small files into one archive; df -i shows the cap of about 200K"),
    ),
    body="## Storage\n\nThe data disk is fast and **local**; the file storage is slow and survives.\n\n"
    "## Traps\n\n- A `nohup` job dies with its terminal: use tmux.\n- The inode cap hits first.\n",
)  # fmt: skip
RUNPOD = Profile(
    id="runpod",
    title="RunPod",
    kind="ssh-rental",
    currency="USD",
    storage=(
        Tier("container", "/", False, False, label="container disk", size="20 GB"),
        Tier("volume", "/workspace", True, False, label="volume disk", size="100 GB"),
    ),
    clocks=(
        ClockFact(
            "runpod-zero-balance", "account", "balance", None, "destroys", ("volume",), "high",
            "top up before the balance is gone", "https://docs.runpod.io/", "2026-01", "medium",
        ),
    ),
    conveniences=("The API reports price and state: the cockpit reads both.",),
    teardown=(
        Verb("stop", "stop pod", ("container",), "partly", True, "http", note="The volume goes on billing."),
        Verb("terminate", "terminate pod", ("container", "volume"), "stops", False, "http", effect="destroy",
             note="Deletes the container disk and the volume disk."),
    ),
)  # fmt: skip
PROFILES: Mapping[str, Profile] = {"autodl": AUTODL, "runpod": RUNPOD}


# --- parts ------------------------------------------------------------------------------------


def read(value: object, age: float = 1.0, period: float = 1.0) -> Track[object]:
    """A track whose last good reading is `age` seconds old."""
    reading = Reading(value, NOW - age, period)
    return Track(reading, reading)


def absent(why: str) -> Track[object]:
    """The box has no such thing."""
    return Track(Absent(why, NOW - 1), None)


def hung(why: str) -> Track[object]:
    """Never read: the probe does not return."""
    return Track(Failure(FailureKind.HUNG, why, NOW - 1), None)


def wave(level: float, swing: float, count: int = 90, period: float = 17.0) -> Points:
    """A calm history around `level`."""
    return tuple(
        (
            NOW - (count - n) * 10.0,
            max(0.0, level + swing * math.sin(n / period * 6) + swing / 3 * math.cos(n * 1.7)),
        )
        for n in range(count)
    )


def fall(start: float, end: float, count: int = 90) -> Points:
    """A loss that comes down."""
    return tuple(
        (
            NOW - (count - n) * 20.0,
            end + (start - end) * math.exp(-n / 22) + 0.01 * math.sin(n * 2.1),
        )
        for n in range(count)
    )


def gpu(
    util: float, used: float, *, index: int = 0, name: str = "NVIDIA A100-SXM4-80GB", **more: object
) -> Gpu:
    """One card; memory in GiB of 80."""
    card = Gpu(
        index=index, name=name, uuid=f"GPU-{index:04}", utilization=util,
        memory_used=int(used * GIB), memory_total=80 * GIB, temperature=61 + 12 * util,
        power=90 + 300 * util, power_limit=400, sm_clock_hz=1_410_000_000,
        processes=(GpuProcess(4242 + index, "python", int(used * GIB)),) if used > 1 else (),
    )  # fmt: skip
    return replace(card, **more)  # type: ignore[arg-type]


def mount(path: str, used: float, total: float, inodes: float, inode_total: float | None) -> Mount:
    """One mount; bytes in GiB."""
    return Mount(
        path, "ext4", int(used * GIB), int(total * GIB), int(inodes),
        None if inode_total is None else int(inode_total),
        why={"inodes_total": NOT_REPORTED} if inode_total is None else {},
    )  # fmt: skip


def tracks(**named: Track[object]) -> Mapping[str, Track[object]]:
    """Tracks by metric name."""
    return named


def cell(index: int, name: str, state: CellState, **more: object) -> Cell:
    """One row of a queue."""
    base = Cell(name, index, "reconstruction", state, epochs=20)
    return replace(base, **more)  # type: ignore[arg-type]


def done(index: int, name: str, minutes: float, loss: float) -> Cell:
    """A cell that ended well."""
    return cell(
        index, name, CellState.FINISHED, epoch=20, loss=loss, exit_code=0,
        started_at=NOW - minutes * 60 - 9000, finished_at=NOW - 9000,
        duration_seconds=minutes * 60, artifact="present",
    )  # fmt: skip


def instance(name: str, platform: str, price: Money | None, tags: tuple[str, ...] = ()) -> Instance:
    """One entry of the fleet file."""
    return Instance(
        name, SshAccess(name), platform, price,
        QueueFiles("/root/q/queue_1.txt", "/root/q/q1_master.log"), tags=tags,
    )  # fmt: skip


def view(
    of: Instance,
    verdict: Verdict,
    *,
    tracks: Mapping[str, Track[object]],
    link: LinkState | None = None,
    queue: Queue | None = None,
    findings: Iterable[Finding] = (),
    anchors: Anchors | None = None,
    **more: object,
) -> InstanceView:
    """One instance, whole."""
    profile = PROFILES.get(of.platform)
    clocks = clocks_of(profile, of.name, anchors or Anchors("running"), NOW) if profile else ()
    hours = 31.4
    if tracks and HOST.name not in tracks:
        told = read(Host(NOW, hours * 3600, "b1"), 1 if link is None else 190)
        tracks = {**tracks, HOST.name: told}
    price = of.price
    cost = Cost()
    if price is not None:
        cost = Cost(
            price.amount, price.currency, price.amount * hours, NOW - hours * 3600, "fleet-file"
        )
    base = InstanceView(
        instance=of, taken_at=NOW, link=link or LinkState("live", NOW - 9000, latency=0.031),
        verdict=verdict, because=(), tracks=tracks, queue=queue or Queue(), cost=cost, cpu=CpuUse(),
        provider=ProviderState(), clocks=clocks, findings=tuple(findings), logs=(), profile=profile,
        uptime=hours * 3600,
    )  # fmt: skip
    return replace(base, **more)  # type: ignore[arg-type]


def finding(
    kind: str, severity: Severity, where: str, evidence: str, source: str, *,
    cell: str | None = None, ago: float = 40.0, count: int = 1,
) -> Finding:  # fmt: skip
    """One finding with its own remedy."""
    return Finding(
        kind,
        severity,
        where,
        evidence,
        source,
        remedy(kind),
        NOW - ago - 300,
        NOW - ago,
        cell,
        count,
    )


def fleet(*views: InstanceView, sweep: str | None = SWEEP) -> FleetView:
    """All of them, with findings and clocks gathered as the store does."""
    findings = sorted(
        (f for v in views for f in v.findings), key=lambda f: (f.severity.rank, -f.last_seen)
    )
    return FleetView(
        sweep, NOW, views, tuple(findings), by_urgency(c for v in views for c in v.clocks)
    )


# --- logs -------------------------------------------------------------------------------------

BENIGN = Mark("benign", Severity.NONE, False)
PROGRESS = Mark("progress", Severity.NONE, False)
FATAL_NAN = Mark("nan", Severity.SERIOUS, True)
WARNING = Mark("warning", Severity.WARN, False)


def training_log(epochs: int, *, nan_at: int | None = None) -> LogBuffer:
    """What a trainer prints; from epoch `nan_at` on its loss is lost."""
    buffer = LogBuffer()
    lines = [
        LogLine("config: configs/no_aug.yaml  seed=1  batch=64  lr=3.0e-04", BENIGN),
        LogLine("UserWarning: torch.cuda.amp.GradScaler is deprecated", WARNING),
    ]
    for epoch in range(1, epochs + 1):
        loss = 0.21 + 1.6 * math.exp(-epoch / 5)
        for step in (500, 1000, 1500, 2000):
            if nan_at is not None and (epoch, step) >= (nan_at, 1500):
                lines.append(
                    LogLine(
                        f"epoch {epoch:>2}/20  step {step}/2000  loss nan  lr 3.0e-04", FATAL_NAN
                    )
                )
            else:
                text = f"epoch {epoch:>2}/20  step {step}/2000  loss {loss - step * 2e-5:.4f}  lr 3.0e-04  1.9 it/s"
                lines.append(LogLine(text, PROGRESS))
        lines.append(
            LogLine(
                f"val   {epoch:>2}/20  psnr {24 + epoch * 0.38:.2f}  ssim {0.78 + epoch * 0.006:.3f}",
                PROGRESS,
            )
        )
        if epoch % 5 == 0:
            lines.append(LogLine(f"saved latest.pth and best.pth (epoch {epoch})", BENIGN))
    buffer.extend(lines)
    return buffer


def followed(buffer: LogBuffer, source: LogSource, ago: float = 2.0) -> LogView:
    """The view of one followed log."""
    return LogView(source, buffer.first, buffer.end, buffer.version, NOW - ago)
