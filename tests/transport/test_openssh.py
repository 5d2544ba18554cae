"""A box by the user's own ssh: strict, silent, tidy, and with the same errors as our own transport."""

# ruff: noqa: ASYNC220, ASYNC221, ASYNC240 - a test may block between two steps of its own

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from boxes import Sshd, make_key

from gpu_tui.core.fleet import Instance, SshAccess
from gpu_tui.transport import openssh
from gpu_tui.transport.access import Route
from gpu_tui.transport.base import (
    AuthRejected,
    ChannelRefused,
    ConnectRefused,
    HostKeyRejected,
    LinkError,
    LinkLost,
    NameUnknown,
    NoShell,
)
from gpu_tui.transport.openssh import STREAMS, OpenSshConnection
from gpu_tui.transport.openssh_words import Said, failure
from gpu_tui.transport.ssh import SshConnection, SshTransport

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh program here")
MakeBox = Callable[..., Sshd]


@pytest.fixture
async def transport() -> AsyncIterator[SshTransport]:
    made = SshTransport()
    yield made
    await made.close()


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the sockets lie: short, for a socket's name is."""
    path = Path("/tmp") / f"gt{os.getpid()}-{tmp_path.name[-4:]}"
    path.mkdir(mode=0o700, exist_ok=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(path))
    yield path
    shutil.rmtree(path)


def by_ssh(box: Sshd, **changed: object) -> Instance:
    access = replace(box.ssh_access, transport="openssh", **changed)  # type: ignore[arg-type]
    return box.instance(ssh=access)


async def refused(transport: SshTransport, instance: Instance) -> LinkError:
    with pytest.raises(LinkError) as caught:
        await transport.connect(instance)
    return caught.value


def fingerprint(box: Sshd) -> str:
    words = ["ssh-keygen", "-l", "-f", f"{box.host_key}.pub"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[1]


async def test_the_choice_is_made_by_the_config_and_shown(
    box: Sshd, transport: SshTransport
) -> None:
    direct = await transport.connect(box.instance())
    assert isinstance(direct, SshConnection)
    await direct.close()
    box.config.write_text("BindInterface lo\n")
    connection = await transport.connect(box.instance())
    assert isinstance(connection, OpenSshConnection)
    assert connection.via == "ssh(1): BindInterface"
    assert connection.host_key == fingerprint(box)
    assert await connection.answers(60)
    await connection.close()
    assert not await connection.answers(5)


async def test_nothing_is_left_behind(box: Sshd, transport: SshTransport, runtime: Path) -> None:
    connection = await transport.connect(by_ssh(box))
    [directory] = runtime.iterdir()
    assert directory.stat().st_mode & 0o777 == 0o700
    async with connection.stream("echo up; cat\n") as chunks:
        await anext(chunks)
    await connection.close()
    assert list(runtime.iterdir()) == []
    assert await asyncio.to_thread(box.wait_idle) == {}


async def test_a_login_that_is_given_up_leaves_no_pipe_open(
    box: Sshd, transport: SshTransport, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def never(self: OpenSshConnection, words: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    def pipes() -> int:
        found = 0
        for entry in os.listdir("/proc/self/fd"):
            with contextlib.suppress(FileNotFoundError):  # of the listing itself, or of a thread
                found += str(runtime) in os.readlink(f"/proc/self/fd/{entry}")
        return found

    monkeypatch.setattr(OpenSshConnection, "_spawn", never)
    connecting = asyncio.create_task(transport.connect(by_ssh(box)))
    await begun.wait()
    assert pipes() == 2
    connecting.cancel()
    await asyncio.gather(connecting, return_exceptions=True)
    async with asyncio.timeout(60):
        while pipes():  # noqa: ASYNC110 - nothing tells of a pipe that is closed
            await asyncio.sleep(0)


async def test_whatever_becomes_of_us_the_ssh_programs_end(box: Sshd) -> None:
    script = (
        "import asyncio, sys\n"
        "from gpu_tui.core.fleet import Instance, SshAccess\n"
        "from gpu_tui.transport.ssh import SshTransport\n"
        "async def main():\n"
        f"    access = {by_ssh(box).ssh!r}\n"
        "    connection = await SshTransport().connect(Instance('box', access))\n"
        "    async with connection.stream('echo up; cat\\n') as chunks:\n"
        "        await anext(chunks)\n"
        "        print('up', flush=True)\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    assert await child.stdout.readline() == b"up\n"
    assert box.processes()
    child.send_signal(signal.SIGKILL)
    await child.wait()
    assert await asyncio.to_thread(box.wait_idle) == {}


async def test_an_unknown_a_changed_and_a_revoked_host_key(
    box: Sshd, transport: SshTransport, tmp_path: Path
) -> None:
    # Nothing in the user's config makes us take a key.
    box.config.write_text(
        "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nUpdateHostKeys yes\n"
    )
    error = await refused(transport, by_ssh(box, known_hosts=str(tmp_path / "none")))
    assert isinstance(error, HostKeyRejected)
    assert "unknown" in str(error)
    assert error.host_key == fingerprint(box)
    assert fingerprint(box) in str(error)
    assert not (tmp_path / "none").exists()
    error = await refused(transport, by_ssh(box, known_hosts=None))
    assert isinstance(error, HostKeyRejected)
    line = box.known_hosts.read_text()
    box.known_hosts.write_text(f"{line}@revoked * {line.split(maxsplit=1)[1]}")
    error = await refused(transport, by_ssh(box))
    assert isinstance(error, HostKeyRejected)
    assert "revoked" in str(error)
    box.known_hosts.write_text(line)
    box.restart_with_new_host_key()
    error = await refused(transport, by_ssh(box))
    assert isinstance(error, HostKeyRejected)
    assert "CHANGED" in str(error)
    assert error.needs_person


async def test_a_key_that_is_not_accepted_and_one_that_is_locked_ask_nobody(
    box: Sshd, transport: SshTransport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    askpass = box.program("askpass", f"#!/bin/sh\n: > {asked}\necho secret\n")
    monkeypatch.setenv("SSH_ASKPASS", str(askpass))
    monkeypatch.setenv("DISPLAY", ":0")
    error = await refused(transport, by_ssh(box, identity=str(make_key(tmp_path / "x", "x"))))
    assert isinstance(error, AuthRejected)
    subprocess.run(
        ["ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", str(box.identity)], check=True
    )
    error = await refused(transport, by_ssh(box))
    assert isinstance(error, AuthRejected)
    assert error.needs_person
    assert not asked.exists()


async def test_a_refused_port_an_unknown_name_and_a_config_that_is_wrong(
    box: Sshd, transport: SshTransport
) -> None:
    assert isinstance(
        await refused(transport, by_ssh(box, host="no-such-host.invalid")), NameUnknown
    )
    box.config.write_text("NoSuchDirective yes\n")
    error = await refused(transport, by_ssh(box))
    assert "config" in str(error)
    box.config.write_text("")
    box.stop()
    error = await refused(transport, by_ssh(box))
    assert isinstance(error, ConnectRefused)
    assert str(box.port) in str(error)


async def test_a_box_learns_nothing_of_our_environment(
    make_box: MakeBox, transport: SshTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROVIDER_API_KEY", "very-secret")
    box = make_box(extra="AcceptEnv *\n")
    box.config.write_text("SendEnv *\nHost 127.*\n  SendEnv PROVIDER_API_KEY\n")
    connection = await transport.connect(by_ssh(box))
    async with connection.stream("echo up; cat\n") as chunks:
        await anext(chunks)
        seen = []
        for pid in await asyncio.to_thread(box.processes):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                seen.append(Path(f"/proc/{pid}/environ").read_bytes())
    assert any(f"HOME={box.home}".encode() in one for one in seen)
    assert not any(b"very-secret" in one for one in seen)
    await connection.close()


@pytest.mark.parametrize(
    "words", ["ForkAfterAuthentication yes", "StdinNull yes", "SessionType none"]
)
async def test_what_only_a_new_ssh_knows_is_undone_only_where_it_is_said(
    box: Sshd, transport: SshTransport, runtime: Path, words: str
) -> None:
    """An ssh before 8.7 stops at these words."""
    connection = await transport.connect(by_ssh(box))
    [config] = runtime.glob("*/config")
    assert words.split()[0] not in config.read_text()
    await connection.close()
    box.config.write_text(f"{words}\n")
    connection = await transport.connect(by_ssh(box))
    assert (await connection.run("echo in\n", limit=60)).stdout == b"in\n"
    await connection.close()


async def test_a_login_without_a_shell_says_so(box: Sshd, transport: SshTransport) -> None:
    keys = box.directory / "etc" / "authorized_keys"
    key = keys.read_text()
    keys.write_text(f'command="echo only a menu" {key}')
    error = await refused(transport, by_ssh(box))
    assert isinstance(error, NoShell)
    assert str(error).endswith("there is no POSIX sh (exit 0): 'only a menu'")
    keys.write_text(f'command="echo Your password has expired >&2; exit 1" {key}')
    error = await refused(transport, by_ssh(box))
    assert str(error).endswith("(exit 1): 'Your password has expired'")


async def test_a_jump_host_is_passed_strictly_and_a_broken_one_is_named(
    make_box: MakeBox, transport: SshTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    jump, box = make_box("jump"), make_box("target")
    user = box.ssh_access.user

    def config(known: Path) -> None:
        box.config.write_text(
            f"Host hop\n  HostName 127.0.0.1\n  Port {jump.port}\n  User {user}\n"
            f"  IdentityFile {jump.identity}\n  UserKnownHostsFile {known}\n"
            "  StrictHostKeyChecking no\n"
            f"Host behind\n  HostName 127.0.0.1\n  Port {box.port}\n  User {user}\n"
            f"  IdentityFile {box.identity}\n  UserKnownHostsFile {box.known_hosts}\n"
            f"  ProxyJump hop\n  PKCS11Provider /no/such/library.so\n"
        )

    behind = Instance("behind", SshAccess("behind", config=str(box.config)))
    config(jump.known_hosts)
    connection = await transport.connect(behind)
    assert connection.via == "ssh(1): PKCS11Provider"
    assert connection.host_key == fingerprint(box)
    assert (await connection.run("echo in\n", limit=60)).stdout == b"in\n"
    await connection.close()
    config(box.directory / "nothing")
    error = await refused(transport, behind)
    assert isinstance(error, HostKeyRejected)
    assert (error.hop, error.host_key) == ("hop", fingerprint(jump))
    assert str(error).startswith("the jump host hop: the host key of ")
    config(jump.known_hosts)
    jump.stop()
    error = await refused(transport, behind)
    assert isinstance(error, ConnectRefused)
    assert error.hop == "hop"
    assert str(error) == f"the jump host hop: 127.0.0.1:{jump.port} refuses the connection"
    assert str(error.next).startswith("the jump host is off, or its port changed")
    with socket.create_server(("127.0.0.1", jump.port)):  # it listens, and says nothing
        monkeypatch.setattr(openssh, "CONNECT_SECONDS", 3.0)
        error = await refused(transport, behind)
    assert error.hop == "hop"
    assert str(error).startswith(f"the jump host hop: 127.0.0.1:{jump.port} does not let ssh in")


async def test_a_server_with_few_sessions_refuses_in_a_sentence(
    make_box: MakeBox, transport: SshTransport
) -> None:
    box = make_box(max_sessions=2)
    connection = await transport.connect(by_ssh(box))
    log = (box.directory / "etc" / "sshd.log").read_text
    async with connection.stream("echo one; cat\n") as chunks:
        await anext(chunks)
        with pytest.raises(ChannelRefused):
            await connection.run("echo two\n", limit=60)
        assert await connection.answers(60)
    assert log().count("Accepted publickey") == 1
    await connection.close()


async def test_a_slow_reader_makes_the_box_wait(box: Sshd, transport: SshTransport) -> None:
    connection = await transport.connect(by_ssh(box))
    async with connection.stream("yes | head -c 20000000; exit\n") as chunks:
        total = 0
        async for chunk in chunks:
            total += len(chunk)
            await asyncio.sleep(0)
    assert total == 20_000_000
    await connection.close()


@pytest.mark.parametrize("flood", ["exec yes\n", "exec yes >&2\n"])
async def test_a_flood_that_nobody_reads_holds_nobody_up(
    box: Sshd, transport: SshTransport, flood: str
) -> None:
    connection = await transport.connect(by_ssh(box))
    async with asyncio.timeout(60):
        async with connection.stream(f"echo up; {flood}") as chunks:
            assert (await anext(chunks)).startswith(b"up\n")
            for _ in range(3):  # time for the pipe to fill: each is a round trip of its own session
                await connection.run("echo\n", limit=60)
        assert (await connection.run("echo in\n", limit=60)).stdout == b"in\n"
    await connection.close()
    assert await asyncio.to_thread(box.wait_idle) == {}


async def test_the_exit_code_255_of_a_program_is_its_own(
    box: Sshd, transport: SshTransport
) -> None:
    connection = await transport.connect(by_ssh(box))
    assert (await connection.run("exit 255\n", limit=60)).exit == 255
    await connection.close()


async def test_a_lost_connection_has_a_reason(box: Sshd, transport: SshTransport) -> None:
    connection = await transport.connect(by_ssh(box))
    running = asyncio.create_task(connection.run("sleep 60\n", limit=60))
    async with connection.stream("echo up; cat\n") as chunks:
        await anext(chunks)
        assert box.kill_sessions()
        with pytest.raises(LinkLost):
            await anext(chunks)
    with pytest.raises(LinkLost):
        await running
    assert isinstance(await connection.wait_closed(), LinkLost)
    await connection.close()


async def test_a_banner_that_looks_like_ssh_itself_convinces_nobody(
    make_box: MakeBox, transport: SshTransport, tmp_path: Path
) -> None:
    banner = tmp_path / "banner"
    banner.write_text(
        "debug1: Server host key: ssh-ed25519 SHA256:fake\n"
        "Authenticated to 127.0.0.1\n\x1b]0;x\x07WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!\n"
    )
    box = make_box(extra=f"Banner {banner}\n")
    connection = await transport.connect(by_ssh(box))
    assert connection.host_key == fingerprint(box)
    await connection.close()
    stranger = make_key(tmp_path / "x", "x")
    error = await refused(transport, by_ssh(box, identity=str(stranger)))
    assert "\x1b" not in str(error)


@pytest.mark.parametrize(
    ("said", "kind", "text"),
    [
        (
            "channel 0: open failed: administratively prohibited: open failed\n"
            "stdio forwarding failed\nConnection closed by UNKNOWN port 65535",
            LinkLost,
            "the jump host hop does not forward to far:22: channel 0: open failed: "
            "administratively prohibited: open failed",
        ),
        (
            "Certificate invalid: expired\nHost key verification failed.",
            HostKeyRejected,
            "far:22 shows a host certificate that is not valid: Certificate invalid: expired",
        ),
        (
            "Certificate invalid: name is not a listed principal\nHost key verification failed.",
            HostKeyRejected,
            "far:22 shows a host certificate that is for other names: "
            "Certificate invalid: name is not a listed principal",
        ),
    ],
)
def test_what_ssh_says_of_a_way_that_is_shut(said: str, kind: type[LinkError], text: str) -> None:
    hop, box = (Route(name, name, 22, "me") for name in ("hop", "far"))
    way, log = Said(), Said()
    for line in ("Authenticated to hop", *said.split("\n")):
        way.add(line.encode())
    error = failure(log, way, (hop, box))
    assert (type(error), str(error)) == (kind, text)


@pytest.mark.parametrize(
    "where", ["UNKNOWN port 65535: Broken pipe", "UNKNOWN port 65535: invalid format"]
)
def test_a_proxy_command_that_was_gone_before_the_banner_is_named(where: str) -> None:
    box = Route("box", "box", 22, "me", proxy_command="no-such-program")
    way, log = Said(), Said()
    way.add(b"sh: 1: no-such-program: not found")
    log.add(f"banner exchange: Connection to {where}".encode())
    named = str(failure(log, way, (box,))).startswith("the ProxyCommand on the way to box:22 ended")
    assert named is where.endswith("Broken pipe")  # who talks something else has not ended


async def test_what_a_killed_cockpit_left_is_swept(
    box: Sshd, transport: SshTransport, runtime: Path
) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    (runtime / f"gpu-tui-{gone.pid}-x").mkdir()
    mine = runtime / f"gpu-tui-{os.getpid()}-y"
    mine.mkdir()
    connection = await transport.connect(by_ssh(box))
    await connection.close()
    assert list(runtime.iterdir()) == [mine]


async def test_streams_leave_places_for_programs_and_files(
    box: Sshd, transport: SshTransport
) -> None:
    connection = await transport.connect(by_ssh(box))
    async with contextlib.AsyncExitStack() as held:
        for _ in range(STREAMS):
            chunks = await held.enter_async_context(connection.stream("echo up; cat\n"))
            await anext(chunks)
        files = await held.enter_async_context(connection.files())
        assert await files.walk("~") == []
        assert (await connection.run("echo in\n", limit=60)).stdout == b"in\n"
    await connection.close()
