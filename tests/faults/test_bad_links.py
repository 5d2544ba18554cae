"""Bad links with real parts: a real sshd behind a line that falls silent, resets, flaps or crawls."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from boxes import Sshd, make_key
from faults.heard import live, lost, read, watched
from faults.wire import Wire, behind

from gpu_tui.collect import link, supervisor
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import LogArrived
from gpu_tui.core.fleet import QueueFiles, SshAccess
from gpu_tui.transport import doors, ssh
from gpu_tui.transport.base import arrived, write_to


async def test_a_reset_ends_the_link_and_a_line_that_is_back_loses_nothing(box: Sshd) -> None:
    log = box.home / "q.log"
    log.write_text("one\n")
    async with Wire(box.port) as wire:
        instance = behind(box, wire, queue=QueueFiles(None, "~/q.log"))
        async with watched(instance) as (_, heard):
            await heard.after(0, lambda e: isinstance(e, LogArrived))
            wire.reset()
            gone = await heard.after(0, lost)
            with log.open("a") as file:
                file.write("two\n")
            await heard.after(gone, live)
            await heard.after(gone, lambda e: isinstance(e, LogArrived))
            lines = [x.text for e in heard.events if isinstance(e, LogArrived) for x in e.lines]
            assert lines == ["one", "two"]


async def test_a_black_hole_is_noticed_by_the_keepalive(
    box: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        ssh, "KEEPALIVE_SECONDS", 0.6
    )  # a living box on a busy machine is not silent for three
    async with Wire(box.port) as wire, watched(behind(box, wire)) as (_, heard):
        await heard.after(0, read)
        wire.hold()
        gone = await heard.after(0, lost)
        assert "keepalive" in (heard.links()[-1].error or "")
        since = heard.links()[-1].since
        wire.release()
        back = await heard.after(gone, live)
        await heard.after(back, read)
        # What was unreachable is said once, with one beginning, however many attempts there were.
        assert {state.since for state in heard.links() if state.retry_at} == {since}


async def test_a_flapping_link_is_not_knocked_at_more_than_six_times_in_its_minute(
    box: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    minute = 1.5  # instead of sixty seconds, and all waits with it
    monkeypatch.setattr(doors, "MINUTE", minute)
    monkeypatch.setattr(link, "WAITS", (0.02, 0.05))
    knocks: list[float] = []  # when each came through; the other end may be told later
    through = doors.Doors.through

    @asynccontextmanager
    async def seen(self: doors.Doors, *who: str) -> AsyncIterator[None]:
        async with through(self, *who):
            knocks.append(asyncio.get_running_loop().time())
            yield

    monkeypatch.setattr(doors.Doors, "through", seen)
    async with (
        Wire(box.port) as wire,
        watched(behind(box, wire), longest_wait=0.1) as (boxes, heard),
    ):
        at = 0
        while len(wire.accepted) < 2 * doors.LOGINS + 1:
            at = await heard.after(at, live) + 1
            wire.reset()
            at = await heard.after(at, lost)
            boxes.reconnect("box")
        assert len(wire.accepted) == len(knocks)
        for first, seventh in zip(knocks, knocks[doors.LOGINS :], strict=False):
            assert seventh - first >= minute * 0.95


async def test_a_far_and_narrow_line_brings_readings_and_stays(box: Sshd) -> None:
    async with (
        Wire(box.port, delay=0.15, rate=8000.0) as wire,
        watched(behind(box, wire)) as (_, heard),
    ):
        first = await heard.after(0, read)
        await heard.after(first + 20, read)
        assert len(wire.accepted) == 1
        assert not [event for event in heard.events if lost(event)]


async def test_a_program_begins_while_the_rest_of_it_is_on_its_way(box: Sshd) -> None:
    transport = ssh.SshTransport()
    async with Wire(box.port) as wire, asyncio.timeout(60):
        connection = await transport.connect(behind(box, wire))
        wire.allow(5000)
        program = "echo first\n" + "# and much more of it\n" * 2000 + "echo last; exit\n"
        async with connection.stream(program) as chunks:
            assert await anext(chunks) == b"first\n"
            wire.allow(float("inf"))
            assert await anext(chunks) == b"last\n"
        await connection.close()
    await transport.close()


async def test_a_line_too_narrow_for_the_program_is_no_dead_one(
    box: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of eight boxes that share 64 kbit/s."""
    monkeypatch.setattr(ssh, "KEEPALIVE_SECONDS", 1.0)
    async with (
        Wire(box.port, rate=10_000.0) as wire,
        watched(behind(box, wire)) as (_, heard),
    ):
        await heard.after(0, read)
        assert not [event for event in heard.events if lost(event)]


async def test_it_is_known_when_a_program_has_arrived(box: Sshd) -> None:
    transport = ssh.SshTransport()
    async with Wire(box.port) as wire, asyncio.timeout(60):
        connection = await transport.connect(behind(box, wire))
        wire.allow(30_000)
        async with connection.stream("# much of it\n" * 5000) as chunks:
            write_to(chunks, b"echo behind it; exit\n")
            coming = asyncio.create_task(arrived(chunks))
            await asyncio.wait({coming}, timeout=0.1)
            assert not coming.done()
            wire.allow(float("inf"))
            await coming
            assert await anext(chunks) == b"behind it\n"
            await arrived(chunks)
        await arrived(chunks)
        await connection.close()
    await transport.close()


async def test_after_a_sleep_a_dead_link_is_left_at_once_and_a_living_one_kept(
    box: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(link, "PROBE_SECONDS", 60.0)
    answers, told = ssh.SshConnection.answers, asyncio.Queue[bool]()

    async def answered(self: ssh.SshConnection, within: float) -> bool:
        told.put_nowait(said := await answers(self, within))
        return said

    monkeypatch.setattr(ssh.SshConnection, "answers", answered)
    clock = ManualClock()
    async with Wire(box.port) as wire, watched(behind(box, wire), clock=clock) as (boxes, heard):
        await heard.after(0, read)
        before = boxes.connection("box")
        clock.advance(3600)
        assert await asyncio.wait_for(told.get(), 60)
        await heard.after(len(heard.events), read)
        assert boxes.connection("box") is before
        monkeypatch.setattr(link, "PROBE_SECONDS", 0.3)
        wire.hold()
        clock.advance(3600)
        gone = await heard.after(0, lost)
        assert "sleep" in (heard.links()[-1].error or "")
        wire.release()
        await heard.after(gone, live)


async def test_after_a_sleep_nobody_waits_for_the_back_off(
    box: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(link, "WAITS", (3600.0,))
    clock = ManualClock()
    async with Wire(box.port) as wire:
        instance = behind(box, wire)
        await wire.refuse()
        async with watched(instance, clock=clock, longest_wait=3600.0) as (_, heard):
            await heard.after(0, lost)
            await wire.listen()
            clock.advance(60)
            await heard.after(0, live)


async def test_a_host_key_that_a_person_accepts_is_tried_without_a_key_press(
    box: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "EDIT_SECONDS", 0.02)
    box.restart_with_new_host_key()
    async with watched(box.instance()) as (_, heard):
        await heard.after(0, lost)
        assert heard.links()[-1].state == "host-key"
        box.trust()
        await heard.after(0, live)


@pytest.mark.parametrize("by", ["box", "hop"])
@pytest.mark.parametrize("mended", ["known hosts", "key", "included config", "config of a pattern"])
async def test_a_file_that_the_ssh_config_names_is_tried_without_a_key_press(
    make_box: Callable[..., Sshd],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mended: str,
    by: str,
) -> None:
    """Also one that was not there yet, and one of a jump host that only the config knows."""
    monkeypatch.setattr(link, "EDIT_SECONDS", 0.02)
    box = make_box()
    shut = make_box("hop") if by == "hop" else box  # whom we cannot enter
    hosts, key, included = (tmp_path / name for name in ("hosts", "key", "included"))
    known, good = shut.known_hosts.read_text(), shut.identity.read_text()
    if mended != "known hosts":
        hosts.write_text(known)
    if "config" in mended:
        make_key(key, "stranger")
    if mended == "known hosts":
        key.touch(0o600)
        key.write_text(good)
    box.config.write_text(
        f"Include {included} {tmp_path}/more/*.conf\nHost shut\n HostName 127.0.0.1\n Port {shut.port}\n"
        f" IdentityFile {key}\n UserKnownHostsFile {hosts}\n"
        f"Host behind\n HostName 127.0.0.1\n Port {box.port}\n ProxyJump shut\n"
        f" IdentityFile {box.identity}\n UserKnownHostsFile {box.known_hosts}\n"
    )
    access = SshAccess("behind" if by == "hop" else "shut", config=str(box.config))
    async with watched(box.instance(ssh=access)) as (_, heard):
        gone = await heard.after(0, lost)
        assert heard.links()[-1].state == ("host-key" if mended == "known hosts" else "auth")
        match mended:
            case "known hosts":
                hosts.write_text(known)
            case "key":
                key.touch(0o600)
                key.write_text(good)
            case _:
                if "pattern" in mended:
                    (tmp_path / "more").mkdir()
                    included = tmp_path / "more" / "new.conf"
                included.write_text(f"Host shut\n IdentityFile {shut.identity}\n")
        await heard.after(gone, live)


async def test_a_certificate_that_is_renewed_is_tried_without_a_key_press(
    make_box: Callable[..., Sshd], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "EDIT_SECONDS", 0.02)
    authority = make_key(tmp_path / "ca", "ca")
    box = make_box(extra=f"TrustedUserCAKeys {authority}.pub\n")
    (box.directory / "etc" / "authorized_keys").write_text("")

    def sign(user: str) -> None:
        words = ["ssh-keygen", "-q", "-s", str(authority), "-I", "me", "-n", user]
        subprocess.run([*words, f"{box.identity}.pub"], check=True)

    sign("somebody-else")
    async with watched(box.instance()) as (_, heard):
        await heard.after(0, lost)
        assert heard.links()[-1].state == "auth"
        sign(str(box.ssh_access.user))
        await heard.after(0, live)


async def test_all_at_once_is_never_more_than_four_logins(make_box: Callable[..., Sshd]) -> None:
    # As sshd has it by itself, but surely: it may count one for a moment longer than we do.
    box = make_box(extra="MaxStartups 10:100:10\n")
    names = [f"box{n}" for n in range(24)]
    async with watched(*(box.instance(name) for name in names)) as (_, heard):
        at = 0
        for _ in names:
            at = await heard.after(at, live) + 1
        assert not [event for event in heard.events if lost(event)]


async def test_a_key_press_tries_now(box: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "WAITS", (3600.0,))
    box.stop()
    async with watched(box.instance(), longest_wait=3600.0) as (boxes, heard):
        await heard.after(0, lost)
        box.start()
        boxes.reconnect("box")
        await heard.after(0, live)
