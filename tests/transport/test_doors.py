"""Who waits for his turn at a server, who gave up waiting, and whose threads wait for a config file."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from gpu_tui.core.fleet import Instance, SshAccess
from gpu_tui.transport import ssh
from gpu_tui.transport.base import LinkError
from gpu_tui.transport.doors import LOGINS, MINUTE, Doors


class Loop:
    """A clock for `Doors`, which nothing moves but the test."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.waits: list[float] = []
        self.sleeping = asyncio.Event()

    def time(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.sleeping.set()
        await asyncio.Event().wait()


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    made = Loop()

    class Asyncio:
        CancelledError, Semaphore = asyncio.CancelledError, asyncio.Semaphore
        sleep = staticmethod(made.sleep)
        get_running_loop = staticmethod(lambda: made)

    monkeypatch.setattr("gpu_tui.transport.doors.asyncio", Asyncio)
    return made


async def knock(doors: Doors, where: str = "box:22") -> None:
    async with doors.through("box", where):
        pass


async def waiting(doors: Doors, loop: Loop) -> asyncio.Task[None]:
    task = asyncio.create_task(knock(doors))
    loop.sleeping.clear()
    await loop.sleeping.wait()
    return task


async def call_off(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_who_is_called_off_while_he_waits_gives_his_place_back(loop: Loop) -> None:
    """A person who presses the key again and again would wait minutes for nobody's logins."""
    doors = Doors()
    for _ in range(LOGINS):
        await knock(doors)
        loop.now += 1.0
    for _ in range(3 * LOGINS):
        await call_off(await waiting(doors, loop))
    await call_off(await waiting(doors, loop))
    assert loop.waits == [MINUTE - LOGINS] * (3 * LOGINS + 1)


async def test_those_who_wait_behind_him_are_never_too_many_in_a_minute(loop: Loop) -> None:
    doors = Doors()
    for _ in range(LOGINS):
        await knock(doors)
    row = [await waiting(doors, loop) for _ in range(2 * LOGINS)]
    await call_off(*row[1:4])
    row[1:4] = [await waiting(doors, loop) for _ in range(3)]
    turns = sorted(doors._logins["box"])
    assert len(turns) == 3 * LOGINS
    for first, seventh in zip(turns, turns[LOGINS:], strict=False):
        assert seventh - first >= MINUTE
    await call_off(*row)


async def test_who_is_called_off_before_a_full_server_has_not_knocked(loop: Loop) -> None:
    doors = Doors()
    async with (
        doors.through(1, "jump:22"),
        doors.through(2, "jump:22"),
        doors.through(3, "jump:22"),
        doors.through(4, "jump:22"),
    ):
        for _ in range(2 * LOGINS):
            task = asyncio.create_task(knock(doors, "jump:22"))
            await asyncio.sleep(0)
            await call_off(task)
    assert doors.spare("box")
    assert not loop.waits


async def test_config_files_that_hang_hold_nobody_elses_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As by a `Match exec` that does not end: keys are read and gates are judged all the same."""
    go_on = threading.Event()

    def hang(access: SshAccess) -> Any:
        assert go_on.wait(60)
        raise LinkError("nothing to be read")

    monkeypatch.setattr(ssh, "routes_to", hang)
    transport = ssh.SshTransport()
    box = Instance("box", SshAccess("box"), "runpod")
    tasks = [asyncio.create_task(transport.connect(box)) for _ in range(40)]
    try:
        async with asyncio.timeout(20):
            await asyncio.sleep(0)
            assert await asyncio.to_thread(lambda: "read") == "read"
    finally:
        go_on.set()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(end, LinkError) for end in ends)
    await transport.close()
