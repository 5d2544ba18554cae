"""Facts in, a danger clock out: a store with one box, fed with what a scenario's `given` line says.

A given line is words of `name=value`; times are distances from now (-3h, +2d):

variant=tidal link=live contact=-2h begun=-5h     the instance, its connection, its first process
api=stopped stopped=-3d started=-1h ends=+2d told=+40m fact.NAME=24     what the provider's API says
mark.stopped=-3h mark.created=-3h mark.rental=+2d mark.deadline=+2d mark.since=-2d    what a person marked
balance=12 spend=2 part=yes read=-1h stored=network_volume used=yes     the account, in dollars
job=train:-1h:+2h:slurm                     a job with its start and its end by the scheduler (removal: ttl)
idle=20m                                    the box has been seen idle for so long
disk=/workspace:90:-1h:95                   a mount that went from 90 % to 95 % since then; inodes= the same
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from gpu_tui.core.account import Account, Stored
from gpu_tui.core.clocks import DangerClock
from gpu_tui.core.events import AccountRead, LinkChanged, ProviderRead, Sampled
from gpu_tui.core.fleet import (
    Fleet,
    Instance,
    LinkState,
    Money,
    ProviderAccess,
    ProviderState,
    SshAccess,
)
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.profile import Profile
from gpu_tui.core.readings import Gpu, GpuTable, Host, Mount
from gpu_tui.core.sample import Reading
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.duration import parse_duration
from gpu_tui.state.history import History, NoHistory
from gpu_tui.state.store import Store
from gpu_tui.state.views import FleetView
from gpu_tui.ui.text.deadlines import armed, clock_lines, rows_of

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC).timestamp()
WIDTH = 78
SIZE = 100 * 2**30


@dataclass
class Bench:
    """One box on one platform, at a frozen time."""

    profile: Profile
    given: str = ""
    clock: str | None = None  # that mark.deadline and mark.since belong to
    now: float = NOW
    history: History = field(default_factory=NoHistory)

    def __post_init__(self) -> None:
        words = [word.partition("=")[::2] for word in self.given.split()]
        self.words = dict(words)
        access = ProviderAccess(id="i-1", variant=self.words.get("variant"))
        self.box = Instance("box", SshAccess("box"), self.profile.id, provider=access)
        self.store = Store(Fleet(None, (self.box,)), {self.profile.id: self.profile}, self.history)
        for name, value in words:
            if name.startswith("mark.") or name in ("contact", "begun"):
                self._anchor(name, value)
        self._link()
        self._api()
        self._account()
        self._readings()

    def at(self, text: str) -> float:
        """`-3h` or `+2d`, as epoch seconds."""
        return self.now + (-1 if text[0] == "-" else 1) * parse_duration(text[1:])

    def view(self, now: float | None = None) -> FleetView:
        return self.store.view(self.now if now is None else now)

    def clocks(self, now: float | None = None) -> dict[str, DangerClock]:
        return {clock.key: clock for clock in self.view(now).clocks}

    def _anchor(self, name: str, value: str) -> None:
        kind = {
            "contact": "last_contact",
            "begun": "begun_at",
            "mark.stopped": "stopped_at",
            "mark.created": "created_at",
            "mark.rental": "rental_end",
            "mark.deadline": f"deadline:{self.clock}",
            "mark.since": f"since:{self.clock}",
        }[name]
        basis = {"contact": "last-contact", "begun": "reading"}.get(name, "manual")
        self.history.set_anchor("box", kind, self.at(value), basis)

    def _link(self) -> None:
        state = self.words.get("link", "timeout")
        self.store.apply(LinkChanged("box", self.now, LinkState(state, since=self.now)))

    def _time(self, name: str) -> float | None:
        return self.at(self.words[name]) if name in self.words else None

    def _api(self) -> None:
        if "api" not in self.words:
            return
        facts = {
            name.removeprefix("fact."): value
            for name, value in self.words.items()
            if name.startswith("fact.")
        }
        state = ProviderState(
            self.words["api"],
            read_at=self.now,
            started_at=self._time("started"),
            stopped_at=self._time("stopped"),
            ends_at=self._time("ends"),
            facts=facts,
            deadlines={self.clock: self.at(self.words["told"])} if "told" in self.words else {},  # type: ignore[dict-item]
        )
        self.store.apply(ProviderRead("box", self.now, state))

    def _account(self) -> None:
        if "balance" not in self.words and "stored" not in self.words:
            return
        kinds = self.words.get("stored", "").replace("_", " ").split(",")
        balance, spend = self.words.get("balance"), self.words.get("spend")
        account = Account(
            key=self.profile.id,
            platform=self.profile.id,
            serves=("box",),
            read_at=self._time("read") or self.now,
            stored=tuple(
                Stored(self.profile.id, kind, "s-1", used="used" in self.words or None)
                for kind in kinds
                if kind
            ),
            spend_at_least="part" in self.words,
            balance=None if balance is None else Money(float(balance), "USD"),
            spend_per_hour=None if spend is None else Money(float(spend), "USD"),
        )
        self.store.apply(AccountRead(self.now, account))

    def sample(self, metric: str, value: object, at: float, period: float = 1.0) -> None:
        self.store.apply(Sampled("box", at, metric, Reading(value, at, period)))

    def _readings(self) -> None:
        for axis in ("disk", "inodes"):
            if axis in self.words:
                path, first, since, last = self.words[axis].split(":")
                begun, low, high = self.at(since), float(first) / 100, float(last) / 100
                for part in range(READINGS + 1):  # it grew evenly
                    done = part / READINGS
                    share, at = low + done * (high - low), begun + done * (self.now - begun)
                    self.sample("mounts", (_mount(path, axis, share),), at, 60.0)
        if "job" in self.words:
            name, begun, ends, kind = self.words["job"].split(":")
            gone = kind == "ttl"
            job = Job(
                name, name, CellState.FINISHED if gone else CellState.RUNNING, "word",
                started_at=self.at(begun), finished_at=self.at(begun) if gone else None,
                ends_by=None if gone else self.at(ends), removed_at=self.at(ends) if gone else None,
            )  # fmt: skip
            metric = "kubernetes" if gone else kind
            self.sample("host", Host(self.now, 9000.0, "b"), self.now)
            self.sample(metric, JobTable(metric, (job,)), self.now)
        if "idle" in self.words:
            begun = self.now - parse_duration(self.words["idle"])
            card = Gpu(0, "H100", "GPU-0", utilization=0.0, memory_used=0, memory_total=SIZE)
            at = begun
            while at <= self.now:
                self.sample("gpus", GpuTable((card,)), at, 30.0)
                self.sample("host", Host(at, 9000.0, "b"), at, 30.0)
                self.sample("processes", (), at, 30.0)
                self.store.view(at)
                at += 30.0


READINGS = 12  # of a disk that grows


def _mount(path: str, axis: str, share: float) -> Mount:
    used = int(SIZE * share)
    plain = Mount(path, "ext4", 1, SIZE, 1, SIZE)
    return replace(plain, **{"bytes_used" if axis == "disk" else "inodes_used": used})


def shown(bench: Bench, clock: str) -> tuple[str, list[str]]:
    """The state of one clock and the lines that the pane draws of it; the empty text where it has none."""
    view = bench.view()
    found = [one for one in view.clocks if one.id == clock]
    if not found:
        return "none", []
    if found[0].ticks:
        rows = [line for row in rows_of(found) for line in clock_lines(row, view.taken_at, WIDTH)]
    else:
        alone = replace(view, clocks=tuple(found))
        rows = armed(alone, alone.instances[0], WIDTH)[2:]
    return found[0].state, [row.plain.rstrip() for row in rows]
