"""Each private part of asyncssh may be missing: the transport goes on with the public ones, and logs it once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import asyncssh
import pytest
from asyncssh.connection import SSHConnection
from boxes import Sshd
from faults.wire import Wire, behind

from gpu_tui.transport import asyncssh_private, keepalive, ssh
from gpu_tui.transport.base import ChannelRefused, LinkError, arrived
from gpu_tui.transport.connection import SshConnection
from gpu_tui.transport.inbound import Inbound
from gpu_tui.transport.keepalive import Keepalive
from gpu_tui.transport.ssh import SshTransport


@pytest.fixture(autouse=True)
def _nothing_logged_yet(caplog: pytest.LogCaptureFixture) -> None:
    asyncssh_private._lacks.cache_clear()
    caplog.set_level(logging.WARNING, "gpu_tui")


@pytest.fixture
async def transport() -> AsyncIterator[SshTransport]:
    made = SshTransport()
    yield made
    await made.close()


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [row.getMessage() for row in caplog.records if row.name.startswith("gpu_tui")]


@pytest.fixture
def _renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The method that sends a request has another name."""
    request = SSHConnection._make_global_request

    async def keepalive_request(self: SSHConnection) -> None:
        await request(self, b"keepalive@openssh.com")
        self._keepalive_count = 0

    monkeypatch.setattr(SSHConnection, "_make_keepalive_request", keepalive_request)
    monkeypatch.delattr(SSHConnection, "_make_global_request")


@pytest.mark.usefixtures("_renamed")
async def test_without_requests_asyncssh_asks_by_itself(
    box: Sshd, transport: SshTransport, caplog: pytest.LogCaptureFixture
) -> None:
    async with Wire(box.port) as wire:
        connection = await transport.connect(behind(box, wire))
        assert isinstance(connection, SshConnection)
        async with connection.stream("echo up; cat\n") as chunks:
            assert await anext(chunks) == b"up\n"
            await arrived(chunks)
        for _ in range(2):
            with pytest.raises(LinkError, match="round trip"):
                await connection.round_trip()
        assert await connection.answers(4)
        assert connection._connection._keepalive_interval == ssh.KEEPALIVE_SECONDS
        wire.hold()
        assert not await connection.answers(0.2)
        wire.release()
        (said,) = logged(caplog)
        assert "_make_global_request" in said
        assert asyncssh.__version__ in said
        await connection.close()


@pytest.mark.usefixtures("_renamed")
async def test_without_requests_a_dead_link_is_noticed(
    box: Sshd, transport: SshTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "KEEPALIVE_SECONDS", 0.3)
    async with Wire(box.port) as wire, asyncio.timeout(60):
        connection = await transport.connect(behind(box, wire))
        wire.hold()
        assert "keepalive" in str(await connection.wait_closed())
        wire.release()
        await connection.close()


def test_without_a_window_and_a_transport_all_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    passed: list[bytes] = []
    channel: Any = SimpleNamespace()
    for _ in range(2):
        asyncssh_private.set_window(channel, 65_536)
        connection: Any = SimpleNamespace(data_received=passed.append)
        made = Inbound(connection)
        connection.data_received(b"x" * 100_000)
        assert made.data_received == connection.data_received
    assert not vars(channel)
    assert b"".join(passed) == b"x" * 200_000
    assert sorted("window" in line for line in logged(caplog)) == [False, True]


async def test_this_asyncssh_has_every_part(
    box: Sshd, transport: SshTransport, caplog: pytest.LogCaptureFixture
) -> None:
    connection = await transport.connect(box.instance())
    assert isinstance(connection, SshConnection)
    assert asyncssh_private.transport_of(connection._connection) is not None
    async with connection.stream("echo up; cat\n") as chunks:
        await anext(chunks)
        (channel,) = connection._connection._channels.values()
        assert channel.get_recv_window() != 65_536
        asyncssh_private.set_window(channel, 65_536)  # type: ignore[arg-type]
        assert channel.get_recv_window() == 65_536
    assert await connection.round_trip() > 0
    assert logged(caplog) == []
    await connection.close()


async def test_without_sftp_over_pipes_no_files_are_read_over_the_users_ssh(
    box: Sshd,
    transport: SshTransport,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    access = replace(box.ssh_access, transport="openssh")
    connection = await transport.connect(box.instance(ssh=access))
    async with connection.files() as files:
        assert isinstance(await files.walk("~/"), list)
    assert logged(caplog) == []
    monkeypatch.delattr(asyncssh.sftp, "start_sftp_client")
    for _ in range(2):
        with pytest.raises(ChannelRefused, match="no files"):
            await connection.files().__aenter__()
    assert (await connection.run("echo on\n", limit=60)).stdout == b"on\n"
    (said,) = logged(caplog)
    assert "start_sftp_client" in said
    await connection.close()


class Watched:
    """A connection under `Keepalive`, whose time passes by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.lost: list[Exception] = []
        self._due: list[tuple[float, Callable[[], None]]] = []
        self._inbound = SimpleNamespace(heard=0.0)
        monkeypatch.setattr(keepalive, "Inbound", lambda _: self._inbound)
        monkeypatch.setattr(keepalive, "monotonic", lambda: self.now)
        loop = SimpleNamespace(call_later=lambda wait, do: self._due.append((self.now + wait, do)))
        monkeypatch.setattr(keepalive.asyncio, "get_running_loop", lambda: loop)
        connection: Any = SimpleNamespace(
            is_closed=lambda: bool(self.lost),
            connection_lost=self.lost.append,
            set_extra_info=lambda **_: None,
        )
        Keepalive(connection, interval=5.0, count=3)

    def hear(self) -> None:
        """A byte comes."""
        self._inbound.heard = self.now

    def until(self, then: float) -> None:
        """Time passes, and every timer is due in its moment."""
        while self._due and self._due[0][0] <= then:
            self.now, do = self._due.pop()
            do()
        self.now = then

    def sleep(self, seconds: float) -> None:
        """Time passes, and the timer is due only after that, as after a SIGSTOP."""
        self.now += seconds
        self._due.pop()[1]()


def test_any_byte_is_a_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer may come after a program that is still on its way, or never: other bytes do."""
    watched = Watched(monkeypatch)
    for moment in (18.0, 37.9):
        watched.until(moment)
        assert not watched.lost
        watched.hear()
    watched.until(57.8)
    assert not watched.lost
    watched.until(57.9)
    assert isinstance(watched.lost[0], asyncssh.ConnectionLost)
    watched.until(1000)
    assert len(watched.lost) == 1


def test_a_program_that_was_stopped_for_long_asks_before_it_gives_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched = Watched(monkeypatch)
    watched.sleep(3600)
    watched.until(3600 + 14.9)
    assert not watched.lost
    watched.until(3600 + 15)
    assert watched.lost
