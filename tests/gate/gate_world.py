"""A small true world, and a climb through the gate in it. The oracle looks at the world, never at the gate."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

from gpu_tui.core import gate as rules
from gpu_tui.core.evidence import (
    Accepted,
    Cells,
    Coverage,
    FileVerdict,
    Identity,
    IntentWritten,
    Inventory,
    Listed,
    Loaded,
    Matched,
    Plan,
    Pulled,
    Quiet,
    Recheck,
    SecondResource,
    Tick,
    Typed,
)
from gpu_tui.core.gate import Gate, GateShut, State, StopPermit
from gpu_tui.core.manifest import FileEntry, Manifest
from gpu_tui.core.profile import Verb

TERMINATE = Verb(
    "terminate", "terminate", ("disk",), "stops", reversible=False, via="http", effect="destroy"
)
PARK = Verb("stop", "park", (), "partly", reversible=True, via="http")
MACHINE = Identity("pod-4242", "SHA256:abcdEFGH", "boot-1")
CELLS = Cells(("base", "wide"), (("late", "exit 1"),))
CONTENT = {
    f"{cell}/{name}": f"ok {cell} {name}"
    for cell in ("base", "wide", "late")
    for name in ("best.pth", "best_metrics.json")
} | {"base/train.log": "ok epoch 1"}


def manifest_of(files: dict[str, str]) -> Manifest:
    """The manifest of a path -> content table."""
    return Manifest.of(
        FileEntry(path, len(text), hashlib.sha256(text.encode()).hexdigest())
        for path, text in files.items()
    )


@dataclass
class World:
    """What is true. A file whose content does not begin with `ok` cannot be loaded."""

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
    touched: int = 0
    coverage: Coverage | None = None
    detail: str = ""
    read_only: bool = False
    boot: float = 1_000.0
    wall: float = 1_763_700_000.0
    typed_at: float | None = None
    armed_at: float | None = None
    planned: Identity | None = None
    calls: int = 0
    gate: Gate = field(init=False)

    def __post_init__(self) -> None:
        self.reopen()

    def reopen(self) -> None:
        """A fresh ladder in the same world."""
        self.gate = Gate("box", self.verb)
        self.typed_at = self.armed_at = None

    # --- what the runner would see now ---

    def plan(self) -> Plan:
        return Plan(
            *("box", self.verb, self.identity, self.provider, False, self.read_only, "/r"),
            self.cells,
            seconds=self.seconds,
            basis=self.basis,
        )

    def inventory(self) -> Inventory:
        return Inventory(manifest_of(self.box), self.identity, self.cells, coverage=self.coverage)

    def verdicts(self) -> Loaded:
        return Loaded(
            tuple(
                FileVerdict(
                    file.path,
                    file.sha256,
                    _load(file.path, self.local.get(file.path, "")),
                    self.detail,
                    checkpoint=file.path.endswith(".pth"),
                )
                for file in manifest_of(self.box).files
            ),
            self.verifier,
        )

    def matched(self) -> Matched:
        return Matched(manifest_of(self.box), manifest_of(self.local), self.stamps())

    def stamps(self) -> str:
        return repr((self.touched, self.box, self.local))

    def recheck(self) -> Recheck:
        full = not self.verb.park
        return Recheck(
            began_at=self.boot,
            read_at=self.boot,
            read_only=self.read_only,
            identity=self.identity,
            provider=self.provider,
            running=self.running,
            busy=self.busy,
            elsewhere=self.elsewhere,
            cells=self.cells if full else None,
            paths=tuple(self.box) if full else None,
            remote=manifest_of(self.box) if full else None,
            local=manifest_of(self.local) if full else None,
            seconds=self.seconds,
            basis=self.basis,
            stamps=self.stamps() if full else "",
            verifier=self.verifier,
        )

    # --- steps of the climb ---

    def apply(self, event: object) -> State:
        was = self.gate.state
        state = self.gate.apply(event, self.boot, self.wall)  # type: ignore[arg-type]
        if state is State.READY and was is not State.READY:
            self.armed_at = self.boot
        return state

    def step(self) -> State:
        """Bring what the gate's state asks for."""
        match self.gate.state:
            case State.PLANNING:
                self.planned = self.identity
                return self.apply(self.plan())
            case State.QUIESCING:
                return self.apply(Quiet(self.running, self.busy))
            case State.ACCEPTING:
                return self.apply(Accepted(self.running or ()))
            case State.LISTING:
                return self.apply(self.inventory())
            case State.PULLING:
                self.local = dict(self.box)
                return self.apply(Pulled(len(self.local), 1))
            case State.MATCHING:
                return self.apply(self.matched())
            case State.LOADING:
                return self.apply(self.verdicts())
            case State.BLOCKED:
                return self.apply(Listed(tuple(self.box), self.identity, self.running))
            case _:
                return self.apply(Tick())

    def arm(self) -> State:
        """Climb to READY and wait out the dwell, beat by beat."""
        for _ in range(7):
            if self.gate.state is not State.READY:
                self.step()
        self.beat(rules.DWELL)
        return self.gate.state

    def beat(self, seconds: float) -> None:
        """Let time pass with the runner's ticks in it."""
        while seconds > 0:
            part = min(seconds, 5.0)
            self.boot += part
            self.wall += part
            seconds -= part
            self.apply(Tick())

    def type(self, text: str | None = None, evidence: str | None = None) -> State:
        """Type the phrase under the evidence that is shown."""
        gate = self.gate
        self.typed_at = self.boot
        return self.apply(Typed(gate.phrase if text is None else text, evidence or gate.digest))

    def press(self, look: Recheck | None = None, dawdle: float = 0.0) -> StopPermit | None:
        """Recheck, write the intent, call. The permit where the call was made."""
        gate = self.gate
        if gate.state is not State.RECHECKING:
            return None
        self.apply(look or self.recheck())
        permit = gate.permit
        if permit is None or self.apply(IntentWritten(gate.digest)) is not State.CALLED:
            return None
        self.boot += dawdle
        try:
            permit.redeem(self.identity.provider_id, self.boot)
        except GateShut:
            return None
        self.calls += 1
        return permit

    # --- the oracle ---

    def wrongs(self) -> list[str]:
        """Why a call at this very moment would be a crime; empty where it is right."""
        found = []
        if self.read_only:
            found.append("read-only")
        if self.identity != self.planned:
            found.append("another machine")
        if self.provider != "running":
            found.append("another provider state")
        if self.elsewhere:
            found.append("another pod")
        if self.running is None or self.running:
            found.append("work is running")
        if self.armed_at is None or self.boot - self.armed_at >= 600:
            found.append("old evidence")
        if self.typed_at is None or self.armed_at is None or self.typed_at < self.armed_at + 3:
            found.append("not typed under this evidence")
        if not self.verb.park:
            found += self._data_wrongs()
        return found

    def _data_wrongs(self) -> list[str]:
        found = []
        if not self.box:
            found.append("nothing was there to save")
        if any(self.local.get(path) != text for path, text in self.box.items()):
            found.append("bytes on the box are not here")
        checked = [p for p in self.box if p.endswith((".pth", ".json"))]
        if any(not self.local.get(path, "").startswith("ok") for path in checked):
            found.append("a file here does not load")
        names = self.cells.names if self.cells else ("?",)
        if any(f"{name}/best.pth" not in self.box for name in names):
            found.append("a cell is missing")
        return found


def _load(path: str, text: str) -> str:
    if path.endswith(".log"):
        return "skipped"
    return "ok" if text.startswith("ok") else "failed"


# --- one thing that goes wrong between arming and the call ---


def _remote_changes(world: World) -> None:
    world.box["base/best.pth"] = "ok base best.pt2"  # same size


def _remote_grows(world: World) -> None:
    world.box["wide/best-2.pth"] = "ok new"


def _remote_vanishes(world: World) -> None:
    world.box.pop("wide/best.pth", None)


def _local_changes(world: World) -> None:
    world.local["base/best.pth"] = "ok base best.pt2"


def _local_vanishes(world: World) -> None:
    world.local.pop("base/best.pth", None)


def _rebooted(world: World) -> None:
    world.identity = replace(world.identity, boot_id="boot-2")


def _swapped(world: World) -> None:
    world.identity = replace(world.identity, host_key="SHA256:other")


def _pod_moves(world: World) -> None:
    world.elsewhere = "the provider's instance is at 192.0.2.3:22"


def _provider_moves(world: World) -> None:
    world.provider = "stopped"


def _provider_silent(world: World) -> None:
    world.provider = "unknown"


def _job_starts(world: World) -> None:
    world.running = ("python train.py (pid 9)",)


def _table_lost(world: World) -> None:
    world.running = None


def _queue_grows(world: World) -> None:
    assert world.cells is not None
    world.cells = replace(
        world.cells, unfinished=(*world.cells.unfinished, ("new", "no start line"))
    )


def _read_only(world: World) -> None:
    world.read_only = True


def _ten_minutes(world: World) -> None:
    world.beat(600.0)


FAULTS = {
    fault.__name__.strip("_"): fault
    for fault in (
        *(_remote_changes, _remote_grows, _remote_vanishes, _local_changes, _local_vanishes),
        *(
            _rebooted,
            _swapped,
            _pod_moves,
            _provider_moves,
            _provider_silent,
            _job_starts,
            _table_lost,
        ),
        *(_queue_grows, _read_only, _ten_minutes),
    )
}


def armed_fault_destroy(fault: str, *, after_typing: bool, verb: Verb = TERMINATE) -> list[str]:
    """Arm, exactly one fault, destroy: what the oracle says of the call, or nothing if there was none."""
    world = World(verb)
    assert world.arm() is State.READY
    if after_typing:
        world.type()
        FAULTS[fault](world)
    else:
        FAULTS[fault](world)
        world.type()
    return world.wrongs() if world.press() else []
