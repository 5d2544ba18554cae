"""A real box with results on it, and what a runner needs to see of it."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from boxes import Sshd
from runpod_server import POD, RunPodServer

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.fleet import (
    Instance,
    LinkState,
    ProviderAccess,
    ProviderState,
    QueueFiles,
    Results,
    Roots,
)
from gpu_tui.core.ladder import GateView
from gpu_tui.core.profile import Profile, Tier, Verb
from gpu_tui.core.sweep import Queue
from gpu_tui.core.verdict import Verdict
from gpu_tui.demo.checkpoint import checkpoint_bytes, metrics_bytes, seeded_weights
from gpu_tui.providers.base import Means, Provider
from gpu_tui.providers.registry import provider_for
from gpu_tui.providers.rented import Rented
from gpu_tui.providers.runpod import RunPod
from gpu_tui.state.views import Cost, CpuUse, InstanceView
from gpu_tui.teardown.act import Pace
from gpu_tui.teardown.climb import Climb
from gpu_tui.teardown.runner import Runner
from gpu_tui.transport.base import Connection

BOOT_ID = "0f3a9c1e-1111-4222-8333-444455556666"
STOP = Verb("stop", "stop", ("disk",), "partly", reversible=True, via="http")
PARK = Verb("stop", "stop", (), "partly", reversible=True, via="http")
TERMINATE = Verb(
    "terminate", "terminate", ("disk",), "stops", reversible=False, via="http", effect="destroy"
)
RELEASE = Verb(
    "release",
    "release",
    ("disk",),
    "stops",
    reversible=False,
    via="console",
    effect="destroy",
    steps=("Open the console.", "Choose release."),
)
TIERS = (
    Tier("disk", "/workspace", survives_stop=True, survives_destroy=False, label="volume disk"),
    Tier("net", "/net", survives_stop=True, survives_destroy=True, label="network volume"),
)
PROFILES = {
    "runpod": Profile("runpod", "RunPod", "ssh-rental", TIERS, teardown=(PARK, TERMINATE)),
    "generic-ssh": Profile("generic-ssh", "Bare SSH box", "ssh", TIERS, teardown=(RELEASE,)),
}


class RentedBox:
    """A box whose process table and queue a test writes."""

    def __init__(self, sshd: Sshd) -> None:
        self.sshd = sshd
        self.proc = sshd.home / "proc"
        self.results = sshd.home / "results"
        self.queue = sshd.home / "queue.txt"
        self.log = sshd.home / "queue.log"
        (self.proc / "sys/kernel/random").mkdir(parents=True)
        self.boot(BOOT_ID)
        self.process(1, ["/sbin/init"])
        self.says_its_id(POD["id"])
        # Not the cards of the machine that the tests run on.
        sshd.program("nvidia-smi", "#!/bin/sh\necho No devices were found\nexit 6\n")
        self.queue.write_text(
            "configs/base.yaml reconstruction 2\nconfigs/wide.yaml reconstruction\n"
        )
        self.log.write_text(
            "=== Queue queue.txt: 2 ablations, starting from 1 on box ===\n"
            "[2020-11-20 10:00:00] [1/2] STARTING base (reconstruction, 2ep)\n"
            "[2020-11-20 11:00:00] [1/2] FINISHED base (exit=0)\n"
            "[2020-11-20 11:00:01] [2/2] STARTING wide (reconstruction, 20ep)\n"
            "[2020-11-20 12:00:00] [2/2] FINISHED wide (exit=0)\n"
            "[2020-11-20 12:00:01] === QUEUE DONE on box -- all 2 cell(s) exited 0 ===\n"
        )
        for seed, cell in enumerate(("base", "wide")):
            self.write(f"{cell}/best.pth", checkpoint_bytes(seeded_weights(Random(seed), 8), 3))
            self.write(f"{cell}/best_metrics.json", metrics_bytes(3, {"psnr": 31.4}))
        self.write("base/train.log", b"epoch 1 loss 0.3\n")

    def write(self, path: str, data: bytes, age: float = 3_600.0) -> Path:
        """A result file that was written `age` seconds ago."""
        target = self.results / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        at = target.stat().st_mtime - age
        os.utime(target, (at, at))
        return target

    def process(self, pid: int, argv: list[str], state: str = "S") -> None:
        """Put a row into the process table."""
        place = self.proc / str(pid)
        place.mkdir(exist_ok=True)
        (place / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in argv))
        name = argv[0].split(": ")[0].rsplit("/", 1)[-1].lstrip("-")[:15]
        (place / "stat").write_text(f"{pid} ({name}) {state} 1 " + "0 " * 48 + "\n")

    def opens(self, pid: int, *paths: str) -> None:
        """Files that it holds open."""
        place = self.proc / str(pid) / "fd"
        place.mkdir(exist_ok=True)
        for number, path in enumerate(paths, 3):
            (place / str(number)).symlink_to(path)

    def says_its_id(self, id: str) -> None:
        """What the platform put into the environment of the box's first process."""
        (self.proc / "1/environ").write_bytes(f"A=1\0RUNPOD_POD_ID={id}\0".encode())

    def boot(self, boot_id: str) -> None:
        (self.proc / "sys/kernel/random/boot_id").write_text(f"{boot_id}\n")

    def instance(self, local: Path, **changed: object) -> Instance:
        fields: dict[str, object] = {
            "platform": "runpod",
            "results": Results(str(self.results), str(local)),
            "queue": QueueFiles(str(self.queue), str(self.log)),
            "roots": Roots(
                proc=str(self.proc),
                sys=str(self.sshd.home / "sys"),
                dev=str(self.sshd.home / "dev"),
            ),
            "provider": ProviderAccess(id=POD["id"], key_env="POD_KEY"),
        }
        return self.sshd.instance("pod", **{**fields, **changed})


@dataclass
class Scene:
    """Everything one teardown needs, with handles for faults."""

    box: RentedBox
    local: Path
    clock: ManualClock
    server: RunPodServer
    instance: Instance
    connection: Connection | None
    state: Path
    read_only: bool = False
    queue: Queue = field(default_factory=Queue)
    pace: Pace = field(default_factory=lambda: Pace(0.01, 0.005, 0.01, 0.1))
    providers: dict[str, Provider] = field(default_factory=dict)
    others: list[Instance] = field(default_factory=list)  # of the same fleet file
    reached: dict[str, Connection] = field(default_factory=dict)  # of the others, where they are

    def view(self, name: str) -> InstanceView:
        if name != self.instance.name:
            raise KeyError(name)
        return InstanceView(
            instance=self.instance,
            taken_at=self.clock.now(),
            link=LinkState("live"),
            verdict=Verdict.FINISHED,
            because=(),
            tracks={},
            queue=self.queue,
            cost=Cost(2.08, "USD"),
            cpu=CpuUse(),
            provider=ProviderState(),
            clocks=(),
            findings=(),
            logs=(),
        )

    def connected(self, name: str) -> Connection | None:
        if name in {one.name for one in self.others}:
            return self.reached.get(name)
        return self.connection

    def provider(self, instance: Instance) -> Provider:
        if instance.name not in self.providers:
            env = {"POD_KEY": self.server.key, **self._address()}
            self.providers[instance.name] = provider_for(instance, PROFILES, Means(env, self.clock))
        return self.providers[instance.name]

    def impatient(self, seconds: float) -> None:
        """The pod's API is given this long to answer."""
        means = Means({"POD_KEY": self.server.key, **self._address()}, self.clock)
        self.providers[self.instance.name] = Rented(
            RunPod, self.instance, means, total_limit=seconds
        )

    def _address(self) -> dict[str, str]:
        return {"GPU_TUI_RUNPOD_BASE_URL": self.server.url}

    def runner(self) -> Runner:
        return Runner(
            view=self.view,
            connection=self.connected,
            providers=self.provider,
            profiles=PROFILES,
            journal_dir=self.state,
            clock=self.clock,
            read_only=self.read_only,
            pace=self.pace,
            fleet=lambda: (self.instance, *self.others),
        )

    def set(self, **changed: object) -> None:
        self.instance = replace(self.instance, **changed)  # type: ignore[arg-type]

    def events(self) -> list[str]:
        path = self.state / "teardown.jsonl"
        return [json.loads(line)["event"] for line in path.read_text().splitlines()]


async def until(
    climb: Climb, stop: Callable[[GateView], bool]
) -> tuple[GateView, AsyncGenerator[GateView]]:
    """Follow the views up to the first that fits; the iterator stays open."""
    views = climb.views()
    async for view in views:
        if stop(view):
            return view, views
    raise AssertionError(f"the ladder ended: {view}")


async def rest(views: AsyncGenerator[GateView]) -> GateView:
    """The last view."""
    last = None
    async for view in views:
        last = view
    assert last is not None
    return last
