"""ProxyCommand: a program of the user's on the way. It works, all of it ends with us, and what it says is told."""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from boxes import Sshd

from gpu_tui.core.fleet import Instance, SshAccess
from gpu_tui.transport import doors, ssh
from gpu_tui.transport.base import LinkError, LinkLost
from gpu_tui.transport.proxy import SAID_CAP, Proxy
from gpu_tui.transport.ssh import SshTransport

# What nc does, with a word and a helper of its own.
WAY = """
import os, socket, subprocess, sys, threading
none = subprocess.DEVNULL
subprocess.Popen(["sleep", "7777"], stdin=none, stdout=none, stderr=none)
print("on the way", file=sys.stderr)
way = socket.create_connection((sys.argv[1], int(sys.argv[2])))
def back():
    while data := way.recv(65536):
        os.write(1, data)
    os._exit(0)
threading.Thread(target=back, daemon=True).start()
def expire():
    open(sys.argv[3]).read()
    print("the token has expired", file=sys.stderr)
    os._exit(1)
if sys.argv[3:]:
    threading.Thread(target=expire, daemon=True).start()
while data := os.read(0, 65536):
    way.sendall(data)
"""
LOG_IN = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.recv(1)"
SLEEPERS = "sleep 7777 | sh -c 'trap \"\" HUP TERM; sleep 7777'"  # one of them takes no hint


@pytest.fixture
async def transport() -> AsyncIterator[SshTransport]:
    made = SshTransport()
    yield made
    await made.close()


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> str:
    """In the environment of all that this test starts."""
    token = secrets.token_hex(8)
    monkeypatch.setenv("GPU_TUI_TEST_MARK", token)
    return token


def running(mark: str) -> list[str]:
    """The command lines of all processes with this mark."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


async def wait_until(mark: str, *, gone: bool = False) -> None:
    """Until both sleepers run, or nothing does."""
    async with asyncio.timeout(60):
        while running(mark) if gone else sum("sleep" in c[:5] for c in running(mark)) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def by(command: str, box: Sshd, more: str = "") -> Instance:
    box.config.write_text(f"Host box\n  HostName 127.0.0.1\n  ProxyCommand {command}\n{more}")
    access = box.ssh_access
    return Instance("box", SshAccess("box", user=access.user, port=access.port,
                                     identity=access.identity, known_hosts=access.known_hosts,
                                     config=access.config))  # fmt: skip


def way(tmp_path: Path) -> str:
    (tmp_path / "way.py").write_text(WAY)
    return f"{shlex.quote(sys.executable)} {tmp_path / 'way.py'} %h %p"


async def failed(transport: SshTransport, instance: Instance) -> LinkError:
    with pytest.raises(LinkError) as caught:
        await transport.connect(instance)
    return caught.value


async def test_one_that_works_carries_megabytes_and_ends_with_the_connection(
    box: Sshd, transport: SshTransport, mark: str, tmp_path: Path
) -> None:
    connection = await transport.connect(by(way(tmp_path), box))
    done = await connection.run("head -c 3000000 /dev/zero\n", limit=60)
    assert len(done.stdout) == 3_000_000
    assert any("way.py" in line for line in running(mark))
    await connection.close()
    await wait_until(mark, gone=True)


@pytest.mark.parametrize("lost", [False, True])
async def test_a_connection_is_closed_when_its_proxy_command_has_ended(
    box: Sshd, transport: SshTransport, mark: str, lost: bool
) -> None:
    relay = f"trap : HUP; exec 3<>/dev/tcp/127.0.0.1/{box.port}; cat <&3 & cat >&3; sleep 600"
    box.config.write_text(
        f"Host box\n HostKeyAlias [127.0.0.1]:{box.port}\n ProxyCommand exec bash -c '{relay}'\n"
    )
    connection = await transport.connect(box.instance(ssh=replace(box.ssh_access, host="box")))
    assert running(mark)
    if lost:
        connection._connection.abort()  # type: ignore[union-attr]
        assert await connection.wait_closed() is not None
    await connection.close()
    assert running(mark) == []


async def test_one_that_hangs_leaves_nothing_at_any_attempt(
    box: Sshd, transport: SshTransport, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "HOST_SECONDS", 0.3)
    for command in ("sleep 7777", SLEEPERS):
        error = await failed(transport, by(command, box))
        assert str(error).endswith("brings no answer")
        await wait_until(mark, gone=True)


@pytest.mark.parametrize("more", ["", "  PKCS11Provider /no/such/library.so\n"])
async def test_one_whose_login_is_called_off_is_ended(
    box: Sshd, transport: SshTransport, mark: str, more: str
) -> None:
    """By our own login, and by the ssh program's."""
    connecting = asyncio.create_task(transport.connect(by(SLEEPERS, box, more)))
    await wait_until(mark)
    connecting.cancel()
    await asyncio.gather(connecting, return_exceptions=True)
    await wait_until(mark, gone=True)


async def test_a_link_that_is_lost_leaves_nothing_of_it(
    box: Sshd, transport: SshTransport, mark: str, tmp_path: Path
) -> None:
    connection = await transport.connect(by(way(tmp_path), box))
    box.kill_sessions()
    async with asyncio.timeout(60):
        assert await connection.wait_closed() is not None
    await wait_until(mark, gone=True)
    await connection.close()


async def test_what_it_says_as_it_ends_long_after_the_login_is_told(
    box: Sshd, transport: SshTransport, tmp_path: Path
) -> None:
    """And not what it said before: that was why of nothing."""
    os.mkfifo(tmp_path / "end")
    connection = await transport.connect(by(f"{way(tmp_path)} {tmp_path}/end", box))
    (tmp_path / "end").write_text("now\n")
    async with asyncio.timeout(60):
        lost = await connection.wait_closed()
    assert str(lost) == "the connection was lost: the ProxyCommand ended: the token has expired"
    await connection.close()
    connection = await transport.connect(by(way(tmp_path), box))
    box.kill_sessions()
    async with asyncio.timeout(60):
        lost = await connection.wait_closed()
    assert "on the way" not in str(lost)
    await connection.close()


async def test_those_of_many_boxes_do_not_log_in_at_a_jump_host_all_at_once(
    box: Sshd, transport: SshTransport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ssh -W` of each of them is a login there, and sshd drops those beyond its MaxStartups."""
    monkeypatch.setattr(doors, "BEGINS", 60.0)
    came: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
    jump = await asyncio.start_unix_server(lambda _, to: came.put_nowait(to), tmp_path / "jump")
    log_in = f"{sys.executable} -c {shlex.quote(LOG_IN)} {tmp_path}/jump"
    relay = way(tmp_path).replace("%h", "127.0.0.1")
    box.config.write_text(f"Host 10.*\n  ProxyCommand {log_in} && {relay} # %h\n")
    key = box.known_hosts.read_text().split(maxsplit=1)[1]
    (tmp_path / "known").write_text(f"* {key}")
    access = replace(box.ssh_access, config=str(box.config), known_hosts=str(tmp_path / "known"))
    boxes = [Instance(f"box-{n}", replace(access, host=f"10.0.0.{n}")) for n in range(9)]
    connecting = [asyncio.create_task(transport.connect(one)) for one in boxes]
    at_once: list[int] = []
    async with asyncio.timeout(90):
        while sum(at_once) < len(boxes):
            batch = [await came.get()]
            with suppress(TimeoutError):
                while True:  # until nobody else comes
                    batch.append(await asyncio.wait_for(came.get(), 0.5))
            at_once.append(len(batch))
            for one in batch:
                one.write(b".")
                one.close()
        made = await asyncio.gather(*connecting)
    assert max(at_once) <= doors.HANDSHAKES
    await asyncio.gather(*(connection.close() for connection in made))
    jump.close()


async def test_one_that_brings_nothing_does_not_keep_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doors, "BEGINS", 0.02)
    rooms = doors.Doors()
    async with asyncio.timeout(60):
        for _ in range(3 * doors.HANDSHAKES):
            await rooms.begin("nc", asyncio.Event())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_whatever_becomes_of_us_it_ends(box: Sshd, mark: str, number: int) -> None:
    script = (
        "import asyncio\n"
        "from gpu_tui.core.fleet import Instance, SshAccess\n"
        "from gpu_tui.transport.ssh import SshTransport\n"
        f"asyncio.run(SshTransport().connect(Instance('box', {by(SLEEPERS, box).ssh!r})))\n"
    )
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
    await wait_until(mark)
    child.send_signal(number)
    await child.wait()
    await wait_until(mark, gone=True)


async def test_what_it_said_last_is_told_and_does_no_harm(
    box: Sshd, transport: SshTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = await failed(
        transport, by("echo one >&2; echo cannot find the tunnel >&2; exit 1", box)
    )
    assert isinstance(error, LinkLost)
    assert str(error).endswith("ended before the login was done: cannot find the tunnel")
    hostile = r"printf 'x\n\033]0;title\007\033[2Jred\033[0m \342\200\256evil %0*d\n\n' 9000 1 >&2"
    said = str(await failed(transport, by(hostile.replace("%", "%%"), box))).partition(": ")[2]
    assert said.isprintable()
    assert len(said) <= 256
    assert str(await failed(transport, by("exit 1", box))).endswith("before the login was done")
    monkeypatch.setattr(ssh, "HOST_SECONDS", 3.0)
    hung = await failed(transport, by("echo waiting for a token >&2; sleep 7777", box))
    assert str(hung).endswith("brings no answer: waiting for a token")


async def test_one_that_talks_without_end_is_not_held_up(
    box: Sshd, transport: SshTransport, mark: str, tmp_path: Path
) -> None:
    """Megabytes on stderr before the first byte of the way."""
    connection = await transport.connect(by(f"yes | head -c 3000000 >&2; {way(tmp_path)}", box))
    assert (await connection.run("echo on\n", limit=60)).stdout == b"on\n"
    await connection.close()
    await wait_until(mark, gone=True)


async def test_of_endless_words_little_is_kept() -> None:
    proxy = Proxy("true")
    for _ in range(100):
        proxy._hear(b"x" * 65536)
    assert len(proxy._tail) == SAID_CAP
    assert len(proxy.said) <= 256


async def test_no_descriptor_is_left_open(
    box: Sshd, transport: SshTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "HOST_SECONDS", 0.2)
    before = len(os.listdir("/proc/self/fd"))
    for command in ("sleep 7777", "exit 1", "no-such-program-here"):
        await failed(transport, by(command, box))
    async with asyncio.timeout(60):
        while len(os.listdir("/proc/self/fd")) > before:  # noqa: ASYNC110
            await asyncio.sleep(0)
