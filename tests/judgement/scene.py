"""One box in frozen time: facts go in as the events that the real collectors emit, a view comes out.

Log text goes through the real reader, so what is judged is what a box would have written. The box's
clock and zone may be any: `skew` and `zone` are seconds, `login_zone` is what our own login sees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from gpu_tui.collect.probes import target_of
from gpu_tui.core.events import Event, LinkChanged, LogArrived, LogOpened, ProviderRead, Sampled
from gpu_tui.core.fleet import (
    Fleet,
    Instance,
    LinkState,
    Money,
    ProviderState,
    QueueFiles,
    Results,
    SshAccess,
)
from gpu_tui.core.logs import LogSource
from gpu_tui.core.readings import (
    FileStat,
    FileTable,
    Gpu,
    GpuError,
    GpuProcess,
    GpuTable,
    Host,
    Memory,
    Mount,
    Process,
)
from gpu_tui.core.sample import Failure, FailureKind, Reading
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.parse.queue_file import parse_roster
from gpu_tui.parse.stat import parse_files
from gpu_tui.state.history import NoHistory
from gpu_tui.state.store import Store
from gpu_tui.state.views import InstanceView

T0 = 1_795_000_000.0
BEAT = 10.0
FEED_LINES = 16
ROOT = "/root/run"
QUEUE_LOG = f"{ROOT}/q.log"
GIB = 1 << 30


def cell_log(cell: str) -> str:
    """The path of a cell's own log."""
    return f"{ROOT}/logs/{cell}.log"


BOX = Instance(
    "box",
    SshAccess("box"),
    price=Money(2.0, "USD"),
    queue=QueueFiles(f"{ROOT}/q.txt", QUEUE_LOG),
    logs=f"{ROOT}/logs/{{cell}}.log",
    results=Results(f"{ROOT}/out", "out"),
)
SHELL = Process(40, 1, "bash", ("bash", "run_queue.sh", f"{ROOT}/q.txt"), "S")
TRAINER = Process(41, 40, "python", ("python", "train.py", "--config", "a.yaml"), "R")
INIT = Process(1, 0, "systemd", ("/sbin/init",), "S", age_seconds=8_640_000.0)


@dataclass
class Scene:
    """The box and the program that watches it. `at` is this machine's clock."""

    instance: Instance = BOX
    skew: float = 0.0
    zone: float = 0.0
    login_zone: float | None = None
    history: NoHistory = field(default_factory=NoHistory)
    at: float = T0
    uptime: float = 8_640_000.0
    boot_id: str = "boot-0001"
    processes: tuple[Process, ...] | None = ()
    gpus: GpuTable | None = None
    memory: Memory | None = None
    mounts: tuple[Mount, ...] | None = None
    roster: str | None = None
    files: dict[str, FileStat] | None = field(default_factory=dict)
    linked: bool = False

    def __post_init__(self) -> None:
        self.store = Store(Fleet("sweep", (self.instance,)), {}, self.history)
        self._readers: dict[str, LogReader] = {}
        self._ends: dict[
            str, tuple[int, int]
        ] = {}  # where the last line of each log begins, and ends

    # --- what happens on the box ---

    @property
    def box_now(self) -> float:
        """The box's clock."""
        return self.at + self.skew

    def stamp(self, ago: float = 0.0) -> str:
        """The box's wall time as the queue script writes it."""
        return datetime.fromtimestamp(self.box_now - ago + self.zone, UTC).strftime(
            "%Y-%m-%d %H:%M:%S"
        )

    def touch(self, path: str, ago: float = 0.0, size: int | None = None) -> None:
        """A file was written `ago` seconds ago."""
        assert self.files is not None
        old = self.files.get(path)
        grown = size if size is not None else (old.size if old else 0) + 100
        self.files[path] = FileStat(path, 1, grown, float(int(self.box_now - ago)))

    def say(self, metric: str, value: object) -> None:
        """Somebody on the box was asked, and answers."""
        self.store.apply(Sampled("box", self.at, metric, Reading(value, self.at, BEAT)))

    def write(
        self,
        path: str,
        text: str,
        *,
        history: bool = False,
        ago: float = 0.0,
        cell: str | None = None,
    ) -> None:
        """Text is appended to a log; with `history` it was there before we came."""
        begins, end = self._ends.get(path, (0, 0))
        end += len(text.encode())
        if "\n" in text:
            begins = end - len(text.encode().rpartition(b"\n")[2])
        self._ends[path] = begins, end
        self.touch(path, ago, end)
        named = None if path == QUEUE_LOG else path.rpartition("/")[2].removesuffix(".log")
        cell = cell or named
        source = LogSource(path, cell)
        if path not in self._readers:
            self._readers[path] = LogReader()
            self.apply(LogOpened("box", self.at, source, 1, 0, 0, resumed=False))
        rows = text.encode().splitlines(keepends=True)
        for n in range(0, len(rows), FEED_LINES):  # as it comes of a run that writes as it goes
            lines = self._readers[path].feed(b"".join(rows[n : n + FEED_LINES]))
            self.apply(LogArrived("box", self.at, source, lines, history, begins))

    def replace_log(self, path: str) -> None:
        """The file was truncated or replaced."""
        self._readers.pop(path, None)
        self._ends.pop(path, None)

    # --- what we see of it ---

    def apply(self, event: Event) -> None:
        """One event reaches the store."""
        self.store.apply(event)

    def link(self, state: str) -> None:
        """The connection changes."""
        self.linked = state == "live"
        self.apply(LinkChanged("box", self.at, LinkState(state, since=self.at)))

    def sample(self, metric: str, value: object, period: float = BEAT) -> None:
        """One probe answers."""
        self.apply(Sampled("box", self.at, metric, Reading(value, self.at, period)))

    def look(self) -> None:
        """One beat of all probes."""
        zone = self.zone if self.login_zone is None else self.login_zone
        uptime = self.uptime
        self.sample("host", Host(float(int(self.box_now)), uptime, self.boot_id, None, int(zone)))
        if self.roster is not None:
            self.sample("roster", parse_roster(self.roster))
        if self.files is not None:
            self.sample("files", self.table(self.files))
        if self.processes is not None:
            self.sample("processes", self.processes)
        else:
            why = Failure(FailureKind.DENIED, "no process can be seen: /proc is hidden", self.at)
            self.apply(Sampled("box", self.at, "processes", why))
        for metric, value in (
            ("gpus", self.gpus),
            ("memory", self.memory),
            ("mounts", self.mounts),
        ):
            if value is not None:
                self.sample(metric, value)

    def table(self, files: dict[str, FileStat]) -> FileTable:
        """What is told of them; below the results each is an artifact by its name, or a sign of life."""
        asked = target_of(self.instance)
        rows = (f"{one.inode} {one.size} {one.mtime:.0f} {path}" for path, one in files.items())
        told = parse_files("\n".join(rows).encode(), asked.files, None, asked.homes)
        below = tuple(f"{home}/" for home in asked.homes)
        beside = {path: one for path, one in files.items() if not path.startswith(below)}
        return replace(told, found={**beside, **told.found})

    def watch(self, seconds: float, each: Callable[[Scene, float], None] | None = None) -> None:
        """Time passes and is watched, beat by beat; `each` happens on the box before each beat."""
        end = self.at + seconds
        start = self.at
        while self.at < end:
            step = min(BEAT, end - self.at)
            self.at += step
            self.uptime += step
            if each:
                each(self, self.at - start)
            if self.linked:
                self.look()
            self.view()

    def wait(self, seconds: float) -> None:
        """Time passes and nobody looks."""
        self.at += seconds
        self.uptime += seconds

    def provider(self, state: str) -> None:
        """The control API answers."""
        self.apply(ProviderRead("box", self.at, ProviderState(state, self.at)))

    def view(self) -> InstanceView:
        """What a person would see now."""
        return self.store.view(self.at)["box"]


def gpu(share: float | None, *, temperature: float = 60.0, clock: float = 1.0) -> GpuTable:
    """One card at a share of its time and of its clock."""
    top = 1_980_000_000
    user = (GpuProcess(41, "python", 30 * GIB),) if share else ()
    card = Gpu(0, "H100", "GPU-1", share, 30 * GIB if share else 0, 80 * GIB, temperature)
    return GpuTable(
        (
            Gpu(
                card.index, card.name, card.uuid, card.utilization, card.memory_used,
                card.memory_total, temperature, 400.0, 700.0, int(top * clock), top, processes=user,
            ),
        )
    )  # fmt: skip


def no_gpu(kind: str) -> GpuTable:
    """A card that cannot be read, and why."""
    return GpuTable((), GpuError(kind, f"nvidia-smi says {kind}"))


def memory(kills: int | None = 0, used: int = 20, cache: int = 0) -> Memory:
    """A cgroup of 100 GiB."""
    return Memory("cgroup2", used * GIB, 100 * GIB, oom_kill=kills, cache=cache * GIB)


def mount(path: str, used: float, inodes: float = 0.1) -> Mount:
    """A mount by shares of its bytes and inodes."""
    return Mount(path, "ext4", int(used * 1000), 1000, int(inodes * 1000), 1000)
