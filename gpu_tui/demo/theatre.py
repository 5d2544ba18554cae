"""All boxes of one demo together: built, connected, acted, and struck at the end.

One task per box keeps its numbers moving, one plays its scene; one HTTP server stands for the
providers. Everything lies below one directory, which is gone when the play is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import asyncssh

from gpu_tui.demo.box import Box
from gpu_tui.demo.cast import Part, cast
from gpu_tui.demo.clock import StoryClock, WallClock
from gpu_tui.demo.fleet_file import KEY_ENV, fleet_text
from gpu_tui.demo.line import Line
from gpu_tui.demo.provider import ProviderServer, Rental
from gpu_tui.demo.story import SCENES, Stage

DAY = 86_400.0
PARKED_DAYS = 13.2
SLOWEST_BEAT = 1.0
FASTEST_BEAT = 0.2
SETTLING_BEATS = 4


@dataclass(frozen=True, slots=True)
class Opened:
    """A demo that answers: its fleet file, the key its providers take, and where everything lies."""

    fleet: Path
    directory: Path
    key: str
    provider_url: str
    boxes: tuple[Box, ...]
    lines: dict[str, Line]
    clock: StoryClock

    def announcement(self) -> dict[str, object]:
        """What the server process says when it is ready."""
        return {
            "fleet": str(self.fleet),
            "directory": str(self.directory),
            "key_env": KEY_ENV,
            "key": self.key,
            "provider": self.provider_url,
            "boxes": [box.name for box in self.boxes],
        }


@asynccontextmanager
async def theatre(directory: Path, boxes: int, speed: float, seed: int) -> AsyncIterator[Opened]:
    """Open the demo below `directory`, which is there and empty; it is removed at the end."""
    wall, random = WallClock(), Random(seed)
    clock = StoryClock(speed, wall)
    client_key = asyncssh.generate_private_key("ssh-ed25519", comment="gpu-tui demo")
    identity = directory / "id_demo"
    client_key.write_private_key(identity)
    identity.chmod(0o600)
    (directory / "ssh_config").write_text("# The demo reads no other ssh configuration.\n")
    token = f"demo-{random.getrandbits(64):016x}"
    provider = ProviderServer(wall, token)
    lines: dict[str, Line] = {}
    stages: list[Stage] = []
    try:
        await provider.open()
        for part in cast(boxes):
            box = _build(directory, part, wall.now(), Random(f"{seed}:{part.name}"))
            line = Line(box, client_key.convert_to_public())
            if part.scene != "stopped":
                await line.restore()
            lines[part.name] = line
            stages.append(Stage(part, box, line, clock, Random(f"{seed}:{part.name}:scene")))
            if part.provider_id:
                rental = _rental(part, wall.now(), line)
                provider.rentals[rental.id] = rental
        forgotten = _forgotten(wall.now())
        provider.rentals[forgotten.id] = forgotten
        known = "".join(f"{line.known_host()}\n" for line in lines.values())
        (directory / "known_hosts").write_text(known)
        fleet = directory / "fleet.yaml"
        addresses = {name: line.port for name, line in lines.items()}
        parts = [stage.part for stage in stages]
        fleet.write_text(fleet_text(parts, directory, addresses, provider.url), encoding="utf-8")
        async with asyncio.TaskGroup() as tasks:
            played = [tasks.create_task(SCENES[stage.part.scene](stage)) for stage in stages]
            for stage in stages:
                await stage.present.wait()
            clock.raise_curtain()
            for stage in stages:
                for _ in range(SETTLING_BEATS):
                    stage.box.beat(wall.now(), 10.0)
            beats = [tasks.create_task(_beat(stage, clock, wall)) for stage in stages]
            try:
                yield Opened(
                    fleet,
                    directory,
                    token,
                    provider.url,
                    tuple(stage.box for stage in stages),
                    lines,
                    clock,
                )
            finally:
                for task in (*played, *beats):
                    task.cancel()
    finally:
        await provider.close()
        for line in lines.values():
            with contextlib.suppress(OSError):
                await line.close()
        for stage in stages:
            stage.box.close()
        shutil.rmtree(directory, ignore_errors=True)


def _build(directory: Path, part: Part, now: float, random: Random) -> Box:
    place = directory / "boxes" / part.name
    booted = now - part.hardware.uptime - random.uniform(0, 9_000)
    return Box(part.name, place, part.hardware, random, booted, part.hostname, part.user)


def _rental(part: Part, now: float, line: Line) -> Rental:
    autodl = part.platform == "autodl"
    parked = part.scene == "stopped"
    price = float(part.price.split()[0]) if part.price else 1.28
    assert part.provider_id
    return Rental(
        id=part.provider_id,
        name=part.name,
        api="autodl" if autodl else "runpod",
        price=price,
        created_at=now - (20 * DAY if parked else part.hardware.uptime),
        port=line.port,
        gpu=part.hardware.card.name,
        gpus=part.hardware.cards,
        status="EXITED" if parked else "RUNNING",
        stopped_at=now - PARKED_DAYS * DAY if parked else None,
        off=line.drop,
    )


def _forgotten(now: float) -> Rental:
    """What nobody wrote into the fleet file, and what bills all the same."""
    return Rental(
        "n4x8w2r7bq", "friday-notebook", "runpod", 0.34, now - 6.2 * DAY, 1, "NVIDIA RTX A5000"
    )


async def _beat(stage: Stage, clock: StoryClock, wall: WallClock) -> None:
    every = min(SLOWEST_BEAT, max(FASTEST_BEAT, 1.0 / clock.speed))
    before = wall.boot()
    while True:
        await asyncio.sleep(every)
        now = wall.boot()
        stage.box.beat(wall.now(), (now - before) * clock.speed)
        before = now
