"""How the tests of the demo look at it: as a client with nothing but the fleet file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import asyncssh
import yaml

from gpu_tui.demo.fleet import Demo

POLL = 0.02


async def until(condition: Callable[[], bool | Awaitable[bool]], limit: float = 60.0) -> None:
    """Return once the condition holds; fail after `limit` seconds."""
    async with asyncio.timeout(limit):
        while True:
            held = condition()
            if held if isinstance(held, bool) else await held:
                return
            await asyncio.sleep(POLL)


class Boxes:
    """What a client knows of a demo: its fleet file, and nothing else."""

    def __init__(self, demo: Demo) -> None:
        self.demo = demo
        text = demo.fleet_path.read_text(encoding="utf-8")
        self.rows = {row["name"]: row for row in yaml.safe_load(text)["instances"]}

    def address(self, name: str) -> tuple[str, str, int]:
        user, _, rest = self.rows[name]["host"].removeprefix("ssh://").partition("@")
        host, _, port = rest.partition(":")
        return user, host, int(port)

    @asynccontextmanager
    async def login(self, name: str) -> AsyncIterator[asyncssh.SSHClientConnection]:
        user, host, port = self.address(name)
        ssh = self.rows[name]["ssh"]
        async with asyncssh.connect(
            host,
            port,
            username=user,
            known_hosts=ssh["known_hosts"],
            client_keys=[ssh["identity"]],
            config=[ssh["config"]],
            agent_path=None,
        ) as connection:
            yield connection

    async def ask(self, name: str, program: str) -> str:
        async with self.login(name) as connection:
            done = await connection.run(program, check=True)
        return str(done.stdout)

    def home(self, name: str) -> Path:
        return self.demo.directory / "boxes" / name / "home"
