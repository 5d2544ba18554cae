"""A small true world, and what whoever climbs through the gate sees of it.

A file's content says what it is: `ok …` loads, `needs a.B …` names something that a safe load refuses,
`bad …` cannot be loaded. Every write and every touch gives a file another version, as ctime does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from gpu_tui.core.evidence import (
    Abandoned,
    Accepted,
    Acknowledged,
    Cells,
    Coverage,
    FileVerdict,
    Identity,
    IntentWritten,
    Inventory,
    Listed,
    Loaded,
    Matched,
    Overridden,
    Plan,
    Pulled,
    Quiet,
    Recheck,
    SecondResource,
    Tick,
    Typed,
    at_work,
)
from gpu_tui.core.fleet import Money
from gpu_tui.core.gate import Gate, GateShut, State, StopPermit
from gpu_tui.core.manifest import FileEntry, Manifest, home_path
from gpu_tui.core.profile import Tier, Verb
from gpu_tui.core.seen import second_phrase
from gpu_tui.core.waiver import Waiver

TERMINATE = Verb(
    "terminate", "terminate", ("disk",), "stops", reversible=False, via="http", effect="destroy"
)
PARK = Verb("stop", "park", (), "partly", reversible=True, via="http")
DISK = Tier("disk", "/", survives_stop=True, survives_destroy=False, label="disk")
MACHINE = Identity("pod-4242", "SHA256:abcdEFGH", "boot-1")
CELLS = Cells(("base", "wide", "late"))
CONTENT = {
    f"{cell}/{name}": f"ok {cell} {name}"
    for cell in ("base", "wide", "late")
    for name in ("best.pth", "best_metrics.json")
} | {"base/train.log": "ok epoch 1"}
VOLUME = SecondResource("vol-77aa", "volume", "datasets", "bills-on", Money(0.02, "USD"))
ADDRESS = SecondResource("ip-9", "address", "192.0.2.9", "unknown")


def manifest_of(files: dict[str, str]) -> Manifest:
    """The manifest of a path -> content table."""
    return Manifest.of(
        FileEntry(path, len(text), hashlib.sha256(text.encode()).hexdigest())
        for path, text in files.items()
    )


@dataclass
class World:
    """What is true, and one climb in it."""

    verb: Verb = TERMINATE
    box: dict[str, str] = field(default_factory=lambda: dict(CONTENT))
    local: dict[str, str] = field(default_factory=dict)
    identity: Identity = MACHINE
    provider: str = "running"
    running: tuple[str, ...] | None = ()
    busy: tuple[str, ...] | None = ()
    cells: Cells | None = CELLS
    elsewhere: str | None = None
    seconds: tuple[SecondResource, ...] = ()
    basis: str = "as planned"
    verifier: str = "torch 2.13.0"
    torch: bool = True
    read_only: bool = False
    unresolved: str | None = None
    logins: tuple[str, ...] | None = ("ann on pts/0",)
    before: tuple[str, ...] = ()  # what an earlier climb saw
    hollow: tuple[str, ...] = ()  # empty directories on the box
    memory: tuple[str, ...] = ()  # mounts here that keep nothing
    spoilt: tuple[str, ...] = ()  # checkpoints whose every weight is NaN
    zeros: tuple[str, ...] = ()  # checkpoints whose every weight is zero
    cards: tuple[tuple[str, str], ...] = ()  # cards that work for somebody unseen
    older: tuple[tuple[str, str], ...] = ()  # cells whose weights are of before their start
    coverage: Coverage | None = None
    detail: str = ""
    boot: float = 1_000.0
    wall: float = 1_763_700_000.0
    asleep: float = 0.0  # the longest gap between two beats since it was armed
    drift: float = 0.0  # how far the wall clock jumped since it was armed
    versions: int = 0
    meta: dict[tuple[str, str], int] = field(default_factory=dict)
    calls: int = 0
    gate: Gate = field(init=False)
    # What a person did in this climb, by what was shown while it was typed.
    armed_at: float | None = field(default=None, init=False)
    typed_at: float | None = field(default=None, init=False)
    looked_at: float | None = field(default=None, init=False)  # when the last look ended
    acknowledged: set[SecondResource] = field(default_factory=set, init=False)
    excepted: set[str] = field(default_factory=set, init=False)
    allowed: set[str] = field(default_factory=set, init=False)
    trusts_box: bool = field(default=False, init=False)
    given_up: set[str] | None = field(default=None, init=False)
    planned: tuple[object, ...] = field(default=(), init=False)
    met: tuple[str, ...] | None = field(default=None, init=False)  # who was there at the plan
    loaded_by: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self.reopen()

    def reopen(self) -> None:
        """A fresh ladder in the same world."""
        self.gate = Gate("box", self.verb)
        self.typed_at = self.armed_at = self.given_up = None
        self.acknowledged, self.allowed, self.trusts_box = set(), set(), False
        self.excepted = set()
        self.planned, self.loaded_by = (), ""

    # --- what happens in it ---

    def put(self, side: str, path: str, text: str | None) -> None:
        """Write a file, or remove it; `text` is its content."""
        files = self.box if side == "box" else self.local
        if text is None:
            files.pop(path, None)
        else:
            files[path] = text
        self.touch(side, path)

    def touch(self, side: str, path: str) -> None:
        """Another ctime, the same bytes."""
        self.versions += 1
        self.meta[side, path] = self.versions

    def sleep(self, seconds: float) -> None:
        """The machine is suspended: no beat."""
        self.boot += seconds
        self.wall += seconds
        self.asleep = max(self.asleep, seconds)

    def jump(self, seconds: float) -> None:
        """Somebody sets the clock."""
        self.wall += seconds
        self.drift += seconds

    def beat(self, seconds: float) -> None:
        """Time passes with the runner's ticks in it."""
        while seconds > 0:
            part = min(seconds, 5.0)
            self.boot += part
            self.wall += part
            seconds -= part
            self.apply(Tick())

    # --- what is seen of it now ---

    def plan(self) -> Plan:
        return Plan(
            *("box", self.verb, self.identity, self.provider, False, self.read_only, "/r"),
            self.cells,
            tiers=(DISK,),
            seconds=self.seconds,
            basis=self.basis,
            unresolved=self.unresolved,
            elsewhere=self.elsewhere,
            before=self.before,
            logins=self.logins,
        )

    def inventory(self) -> Inventory:
        tops = {path.split("/")[0] for path in self.box if "/" in path}
        return Inventory(
            manifest_of(self.box),
            self.identity,
            self.cells,
            coverage=self.coverage,
            directories=tuple(sorted(tops | set(self.hollow))),
            older=self.older,
        )

    def matched(self) -> Matched:
        return Matched(
            manifest_of(self.box), manifest_of(self.local), self.stamps(), memory=self.memory
        )

    def verdict(self, path: str, digest: str) -> FileVerdict:
        text, weights = self.local.get(home_path(path), "bad"), path.endswith(".pth")
        kind, _, rest = text.partition(" ")
        needs: tuple[str, ...] = ()
        if path.endswith(".log"):
            load = "skipped"
        elif weights and not self.torch:
            load = "ok-remote" if self.gate.on_box and kind == "ok" else "skipped"
        elif kind == "needs":
            needs = (rest.split(" ")[0],)
            load = "ok" if set(needs) <= self.gate.allowed else "refused"
        else:
            load = "ok" if kind == "ok" else "failed"
        if load == "ok":
            needs = ()
        share = float(path in self.spoilt) if weights and load.startswith("ok") else None
        blank = "zero" if path in self.zeros and share is not None else None
        return FileVerdict(path, digest, load, self.detail, weights, share, needs, blank=blank)

    def verdicts(self) -> Loaded:
        rows = manifest_of(self.box).files
        return Loaded(tuple(self.verdict(row.path, row.sha256) for row in rows), self.verifier)

    def works(self) -> tuple[str, ...] | None:
        return at_work(self.running, self.cards)

    def stamps(self) -> str:
        return repr((sorted(self.meta.items()), sorted(self.box), sorted(self.local)))

    def look(self, meanwhile: Callable[[World], None] | None = None) -> Recheck:
        """The last look: bytes first, then (`meanwhile` something happens) what changes fast.

        As whoever gathers it does, it takes back the bytes of what was touched meanwhile.
        """
        full, began, before = not self.verb.park, self.boot, dict(self.meta)
        loss = self.gate.loss
        wanted = {file.path for file in (loss.proven if loss else self.gate.manifest).files}
        remote: Manifest | None = manifest_of(self.box)
        local: Manifest | None = manifest_of(self.local)
        if meanwhile is not None:
            meanwhile(self)
        touched = {key for key, version in self.meta.items() if before.get(key) != version}
        if any(side == "box" and path in wanted for side, path in touched):
            remote = None
        if any(side == "here" for side, _ in touched):
            local = None
        self.looked_at = self.boot
        return Recheck(
            began_at=began,
            read_at=self.boot,
            read_only=self.read_only,
            identity=self.identity,
            provider=self.provider,
            running=self.running,
            busy=self.busy,
            elsewhere=self.elsewhere,
            cells=self.cells if full else None,
            paths=tuple(self.box) if full else None,
            remote=remote if full else None,
            local=local if full else None,
            seconds=self.seconds,
            basis=self.basis,
            stamps=self.stamps() if full else "",
            verifier=self.verifier,
            logins=self.logins,
            cards=self.cards,
        )

    # --- steps of the climb ---

    def apply(self, event: object) -> State:
        was = self.gate.ready_at
        state = self.gate.apply(event, self.boot, self.wall)  # type: ignore[arg-type]
        if self.gate.ready_at is not None and self.gate.ready_at != was:
            self.armed_at, self.asleep, self.drift = self.boot, 0.0, 0.0
        return state

    def step(self) -> State:
        """Bring what the gate's state asks for."""
        match self.gate.state:
            case State.PLANNING:
                self.planned = (self.identity, self.basis, self.provider)
                self.met = self.logins
                return self.apply(self.plan())
            case State.QUIESCING:
                return self.apply(Quiet(self.running, self.busy, cards=self.cards))
            case State.ACCEPTING:
                return self.apply(Accepted(self.works() or ()))
            case State.LISTING:
                return self.apply(self.inventory())
            case State.PULLING:
                for path, text in self.box.items():
                    if self.local.get(home_path(path)) != text:
                        self.put("here", home_path(path), text)
                return self.apply(Pulled(len(self.box), 1))
            case State.MATCHING:
                return self.apply(self.matched())
            case State.LOADING:
                self.loaded_by = self.verifier
                return self.apply(self.verdicts())
            case State.BLOCKED if self.gate.of(Listed) is None:
                return self.apply(Listed(tuple(self.box), self.identity, self.works()))
            case _:
                return self.apply(Tick())

    def climb(self, to: State = State.READY) -> State:
        """Bring evidence until it stands there, or nothing moves any more."""
        for _ in range(9):
            if self.gate.state is not to:
                self.step()
        return self.gate.state

    def arm(self) -> State:
        """Climb to READY, wait out the dwell beat by beat, acknowledge what hangs on it."""
        self.climb()
        self.beat(3.0)
        self.acknowledge_all()
        return self.gate.state

    # --- what a person types ---

    def acknowledge_all(self) -> None:
        for one in self.gate.unseen:
            self.acknowledge(one)

    def acknowledge(self, one: SecondResource | Waiver, text: str | None = None) -> State:
        state = self.apply(
            Acknowledged(one.key, second_phrase(one) if text is None else text, self.gate.digest)
        )
        if one.key in self.gate.acknowledged and isinstance(one, Waiver):
            self.excepted |= set(one.names)
        elif one.key in self.gate.acknowledged and isinstance(one, SecondResource):
            self.acknowledged.add(one)
        return state

    def override(self, text: str | None = None) -> State:
        offer, phrase = self.gate.offer, self.gate.override_phrase or ""
        text = phrase if text is None else text
        before = self.gate.state
        state = self.apply(Overridden(text, self.gate.digest))
        if before is State.BLOCKED and state is State.LOADING and offer is not None:
            assert all(name in text for name in offer.names)
            self.allowed |= set(offer.names)
            self.trusts_box = self.trusts_box or "the box's own load" in text
        return state

    def type(self, text: str | None = None, evidence: str | None = None) -> State:
        """Type the phrase under the evidence that is shown."""
        gate, was = self.gate, self.gate.state
        state = self.apply(Typed(gate.phrase if text is None else text, evidence or gate.digest))
        if was is State.READY and state is State.RECHECKING:
            self.typed_at = self.boot
        return state

    def abandon(self, text: str | None = None) -> State:
        """Give up what is listed."""
        gate, shown = self.gate, self.gate.loss
        phrase = gate.abandon_phrase or "" if text is None else text
        state = self.apply(Abandoned(phrase, gate.digest))
        if state is State.RECHECKING and shown is not None:
            self.typed_at, self.given_up = self.boot, {*shown.paths, *shown.running}
        return state

    # --- the act ---

    def press(self, look: Recheck | None = None, dawdle: float = 0.0) -> StopPermit | None:
        """Recheck, write the intent, call. The permit where the call was made."""
        gate = self.gate
        if gate.state is not State.RECHECKING:
            return None
        self.apply(look or self.look())
        permit = gate.permit
        if permit is None or self.apply(IntentWritten(permit.evidence)) is not State.CALLED:
            return None
        self.boot += dawdle
        self.wall += dawdle
        try:
            permit.redeem(self.identity.provider_id, self.boot)
        except GateShut:
            return None
        self.calls += 1
        return permit
