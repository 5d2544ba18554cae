"""The life of a link: back-off without a storm, wake-up, loss and return."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import pytest
from boxes import Sshd

from gpu_tui.collect import link as link_module
from gpu_tui.collect.link import LONGEST_WAIT, PERSON_WAIT, Link, wait_seconds
from gpu_tui.collect.way import Ways
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import Event, LinkChanged
from gpu_tui.core.fleet import Instance, LinkState, SshAccess
from gpu_tui.transport import read_files
from gpu_tui.transport.base import (
    AuthRejected,
    Connection,
    ConnectRefused,
    HostKeyRejected,
    LinkError,
    LinkLost,
)
from gpu_tui.transport.read_files import Read, mendable, note, noting
from gpu_tui.transport.ssh import SshTransport


def test_waits_grow_are_jittered_and_capped() -> None:
    random = Random(1)
    error = ConnectRefused("no")
    waits = [wait_seconds(attempt, error, random) for attempt in range(40)]
    assert waits[0] < 1.01 < waits[1] < waits[2]
    assert all(0.8 * LONGEST_WAIT <= wait <= LONGEST_WAIT for wait in waits[2:])
    assert len(set(waits)) == len(waits)
    assert wait_seconds(10_000, error, random) <= LONGEST_WAIT


def test_where_nobody_looks_the_longest_wait_is_longer() -> None:
    error = ConnectRefused("no")
    waits = [wait_seconds(attempt, error, Random(1), 60.0) for attempt in range(12)]
    assert waits == sorted(waits) or waits[4:] == [w for w in waits[4:] if 48 <= w <= 60]
    assert waits[0] <= 1.0
    assert 48 <= waits[-1] <= 60


@pytest.mark.parametrize("error", [AuthRejected("no"), HostKeyRejected("no")])
def test_what_a_person_must_mend_is_hardly_retried(error: LinkError) -> None:
    assert wait_seconds(0, error, Random(1)) == PERSON_WAIT >= 900


class States:
    """The link states as they come."""

    def __init__(self) -> None:
        self.seen: asyncio.Queue[LinkState] = asyncio.Queue()

    def __call__(self, event: Event) -> None:
        assert isinstance(event, LinkChanged)
        self.seen.put_nowait(event.link)

    async def until(self, state: str) -> LinkState:
        async with asyncio.timeout(60):
            while (link := await self.seen.get()).state != state:
                pass
        return link


async def serve_for_ever(connection: Connection) -> None:
    await asyncio.Event().wait()


def make_link(instance: Instance, states: States, serve=serve_for_ever) -> Link:  # type: ignore[no-untyped-def]
    random = Random(7)
    return Link(instance, SshTransport(), states, ManualClock(), serve, Ways(random), random)


async def test_live_lost_refused_and_back(box: Sshd) -> None:
    states = States()
    link = make_link(box.instance(), states)
    keeping = asyncio.create_task(link.keep())
    assert (await states.until("connecting")).state == "connecting"
    live = await states.until("live")
    assert live.host_key
    assert (await states.until("live")).latency is not None
    box.stop()
    lost = await states.until("unreachable")
    assert lost.retry_at is not None
    assert link.connection is None
    link.wake()
    refused = await states.until("refused")
    assert refused.next
    box.start()
    link.wake()
    await states.until("live")
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)


async def test_a_loss_that_serving_notices_first_is_a_loss(box: Sshd) -> None:
    async def serve(connection: Connection) -> None:
        raise LinkLost("the stream ended")

    states = States()
    keeping = asyncio.create_task(make_link(box.instance(), states, serve).keep())
    lost = await states.until("unreachable")
    assert lost.error == "the stream ended"
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)


async def test_a_bug_while_serving_is_not_hidden_as_a_loss(box: Sshd) -> None:
    async def serve(connection: Connection) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await make_link(box.instance(), States(), serve).keep()


class Writing:
    """A transport whose every attempt is refused and writes a file that it reads, as a ProxyCommand may."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tries = 0

    async def connect(self, instance: Instance) -> Connection:
        read: Read = {}
        noting(read, note, self.path)
        self.tries += 1
        self.write()
        with mendable(read):
            raise AuthRejected("no")

    def write(self) -> None:
        with self.path.open("a") as file:
            file.write("x")


async def test_what_each_attempt_writes_itself_is_no_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be tried, and refused, without a pause, until the server bans us."""
    looks: asyncio.Queue[int] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    transport = Writing(tmp_path / "known_hosts")

    def states(read):  # type: ignore[no-untyped-def]
        loop.call_soon_threadsafe(looks.put_nowait, transport.tries)
        return read_files.states(read)

    monkeypatch.setattr(link_module, "states", states)
    monkeypatch.setattr(link_module, "EDIT_SECONDS", 0)
    random = Random(7)
    instance = Instance("box", SshAccess("box"))
    link = Link(instance, transport, States(), ManualClock(), serve_for_ever, Ways(random), random)
    keeping = asyncio.create_task(link.keep())
    async with asyncio.timeout(60):
        for most in (2, 4):
            for _ in range(30):
                assert await looks.get() <= most
            assert transport.tries == most  # once more: a person may have edited meanwhile
            transport.write()
            while await looks.get() <= most:
                pass
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)


async def test_a_changed_host_key_is_its_own_state(box: Sshd) -> None:
    box.restart_with_new_host_key()
    states = States()
    keeping = asyncio.create_task(make_link(box.instance(), states).keep())
    refused = await states.until("host-key")
    assert refused.host_key is not None
    assert "CHANGED" in (refused.error or "")
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
