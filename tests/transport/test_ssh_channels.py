"""Channels over a real sshd: nothing grows, nothing stays behind, no place is lost."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import signal
import subprocess
import sys
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest
from boxes import Sshd, make_key

from gpu_tui.core.fleet import Instance
from gpu_tui.transport import channels, doors, hops, lines, ssh
from gpu_tui.transport.base import (
    AuthRejected,
    ChannelRefused,
    ConnectTimeout,
    HostKeyRejected,
    LinkError,
    LinkLost,
    RemoteFileError,
)
from gpu_tui.transport.connection import SshConnection
from gpu_tui.transport.proxy import Proxy
from gpu_tui.transport.ssh import SshTransport

MakeBox = Callable[..., Sshd]


@pytest.fixture
async def transport() -> AsyncIterator[SshTransport]:
    made = SshTransport()
    yield made
    await made.close()


@pytest.fixture
async def connection(box: Sshd, transport: SshTransport) -> AsyncIterator[SshConnection]:
    made = await transport.connect(box.instance())
    yield made
    await made.close()


async def test_a_reader_that_is_only_slow_does_not_let_the_flood_in(
    connection: SshConnection,
) -> None:
    """asyncssh grants a new window with each chunk it delivers: its own buffer would grow."""
    (inner,) = {connection._connection}
    most = 0
    async with connection.stream("exec yes\n") as chunks:
        for _ in range(3000):
            await anext(chunks)
            await asyncio.sleep(0)
            held = sum(len(data) for chan in inner._channels.values() for data, _ in chan._recv_buf)
            own = sum(chan._session._held for chan in inner._channels.values())
            most = max(most, held + own)
    assert most <= channels.WIDEST + 2 * channels.HIGH_WATER


class Text(str):
    """One of which can be told whether it is still there."""


async def test_the_text_of_a_program_is_not_kept_while_it_runs(connection: SshConnection):
    text = Text("echo up; cat\n")
    kept, stream = weakref.ref(text), connection.stream(text)
    del text
    async with stream as chunks:
        assert await anext(chunks) == b"up\n"
        gc.collect()
        assert kept() is None


async def test_a_stderr_flood_does_not_block_stdout(connection: SshConnection) -> None:
    done = await connection.run("yes err | head -c 3000000 >&2; echo out\n", limit=30)
    assert done.stdout == b"out\n"
    assert len(done.stderr) == channels.STDERR_CAP


async def test_a_program_that_is_run_has_an_empty_stdin_and_may_be_anything(
    connection: SshConnection,
) -> None:
    done = await connection.run("cat; say() { echo $1; }; say 1 # end", limit=60)
    assert (done.stdout, done.exit) == (b"1\n", 0)
    assert (await connection.run("", limit=60)).exit == 0
    assert (await connection.run("cat <<'E'\n}\n'\nE\nfalse\n", limit=60)).exit == 1
    large = "# " + "x" * 500_000 + "\necho ok\n"
    assert (await connection.run(large, limit=60)).stdout == b"ok\n"


async def test_a_command_does_not_outlive_its_client(box: Sshd, transport: SshTransport) -> None:
    connection = await transport.connect(box.instance())
    running = asyncio.create_task(
        connection.run("echo $$ >~/pid; while :; do sleep 1; done | cat\n", limit=60)
    )
    watcher = await transport.connect(box.instance())
    await watcher.run("until [ -s ~/pid ]; do :; done\n", limit=60)
    await connection.close()
    with pytest.raises(LinkLost):
        await running
    await watcher.close()
    assert await asyncio.to_thread(box.wait_idle) == {}


async def test_what_runs_into_its_limit_is_ended_on_the_box(
    box: Sshd, connection: SshConnection
) -> None:
    with pytest.raises(TimeoutError):
        await connection.run("trap '' TERM HUP; sleep 600; sleep 601\n", limit=0.3)
    assert await asyncio.to_thread(box.wait_idle) == {}


async def test_streams_leave_places_for_a_command_and_for_files(
    connection: SshConnection, box: Sshd
) -> None:
    async with AsyncExitStack() as stack:
        await fill(stack, connection, 8)
        assert (await connection.run("echo on\n", limit=60)).stdout == b"on\n"
        async with connection.files() as files:
            assert isinstance(await files.walk("~/"), list)
        assert len(box.session_pids()) == 1


async def fill(stack: AsyncExitStack, connection: SshConnection, streams: int) -> None:
    for _ in range(streams):
        chunks = await stack.enter_async_context(connection.stream("echo up; cat\n"))
        assert await anext(chunks) == b"up\n"


async def test_more_streams_than_one_connection_allows_open_another(
    connection: SshConnection, box: Sshd
) -> None:
    async with AsyncExitStack() as stack:
        await fill(stack, connection, 12)
        assert len(box.session_pids()) == 2
        assert (await connection.run("echo on\n", limit=60)).stdout == b"on\n"
    await connection.close()
    assert await asyncio.to_thread(box.wait_idle) == {}


@pytest.mark.parametrize(("sessions", "streams"), [(1, 2), (2, 4), (3, 7)])
async def test_few_sessions_are_used_to_the_last_and_then_refused_in_a_sentence(
    make_box: MakeBox,
    transport: SshTransport,
    monkeypatch: pytest.MonkeyPatch,
    sessions: int,
    streams: int,
) -> None:
    box = make_box(max_sessions=sessions)
    connection = await transport.connect(box.instance())
    async with AsyncExitStack() as stack:
        await fill(stack, connection, streams)
        monkeypatch.setattr(lines, "PLACE_SECONDS", 0.2)
        with pytest.raises(ChannelRefused) as refused:
            async with connection.stream("echo\n"):
                pass
        said = f"allows {sessions} sessions on each of 3 connections (MaxSessions)"
        assert said in str(refused.value)
        assert (await connection.run("echo on\n", limit=60)).stdout == b"on\n"
        assert len(box.session_pids()) == 3
    await connection.close()


async def test_a_further_connection_is_to_the_same_host_key(
    make_box: MakeBox, transport: SshTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trusted or not: what is read over one connection must not be of two machines."""
    first, other = make_box(max_sessions=1), make_box("other")
    other.stop()
    other.port = first.port
    other.trust()
    shutil.copy(f"{first.identity}.pub", other.directory / "etc" / "authorized_keys")
    first.known_hosts.write_text(first.known_hosts.read_text() + other.known_hosts.read_text())
    connection = await transport.connect(first.instance())
    assert first._process is not None
    first._process.terminate()  # the listener only: the session lives on
    first._process.wait(60)
    other.start()
    async with connection.stream("echo up; cat\n") as chunks:
        assert await anext(chunks) == b"up\n"
        with pytest.raises(ChannelRefused, match="another host key"):
            async with connection.stream("echo up; cat\n"):
                pass
    assert other.wait_left() == []
    await connection.close()


async def test_who_is_stopped_while_a_further_connection_opens_leaves_none_open(
    make_box: MakeBox, transport: SshTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = make_box(max_sessions=1)
    connection = await transport.connect(box.instance())
    opens, slow = asyncio.Event(), asyncio.Event()

    async def stubborn(*_: object) -> None:
        opens.set()
        while not slow.is_set():  # an agent, say, that is let go of slowly
            with suppress(asyncio.CancelledError):
                await slow.wait()
        raise LinkError("too late")

    async with connection.stream("echo up; cat\n") as chunks:
        assert await anext(chunks) == b"up\n"
        monkeypatch.setattr(connection._lines, "_more", stubborn)
        waiting = asyncio.create_task(connection.run("echo on\n", limit=60))
        await opens.wait()
        closing = asyncio.create_task(connection.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        async with asyncio.timeout(60):
            assert await connection.wait_closed() is None
    slow.set()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_a_further_connection_may_go_and_the_box_stays(
    connection: SshConnection, box: Sshd
) -> None:
    (first,) = box.session_pids()
    async with AsyncExitStack() as stack:
        await fill(stack, connection, 10)
        further = await stack.enter_async_context(AsyncExitStack())
        chunks = await further.enter_async_context(connection.stream("echo up; cat\n"))
        assert await anext(chunks) == b"up\n"
        (second,) = set(box.session_pids()) - {first}
        os.kill(second, signal.SIGKILL)
        with pytest.raises(LinkLost) as lost:
            await anext(chunks)
        with pytest.raises(ChannelRefused):
            await further.__aexit__(LinkLost, lost.value, None)
        assert await connection.answers(60)
        assert (await connection.run("echo on\n", limit=60)).stdout == b"on\n"
        await fill(stack, connection, 1)


async def test_no_login_is_one_too_many_in_a_minute(
    box: Sshd, transport: SshTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors, "MINUTE", 1.5)
    began = asyncio.get_running_loop().time()
    for _ in range(doors.LOGINS + 1):
        connection = await transport.connect(box.instance())
        await connection.close()
    assert asyncio.get_running_loop().time() - began >= 1.5


async def test_a_place_is_free_again_when_a_stream_is_left(connection: SshConnection) -> None:
    for _ in range(25):
        async with connection.stream("echo up; cat\n") as chunks:
            await anext(chunks)
        await connection.run(":\n", limit=60)


async def test_one_session_serves_one_after_another(
    make_box: MakeBox, transport: SshTransport
) -> None:
    connection = await transport.connect(make_box(max_sessions=1).instance())
    for _ in range(5):
        assert (await connection.run("echo 1\n", limit=60)).stdout == b"1\n"
    async with connection.files() as files:
        await files.walk("~/")
    await connection.close()


async def test_a_round_trip_is_measured_without_a_process(connection: SshConnection) -> None:
    assert 0 < await connection.round_trip() < 5
    await connection.close()
    with pytest.raises(LinkLost):
        await connection.round_trip()


# --- what a login may be ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shell", [name for name in ("bash", "dash", "fish", "tcsh", "zsh") if shutil.which(name)]
)
async def test_any_login_shell_will_do(box: Sshd, transport: SshTransport, shell: str) -> None:
    keys = box.directory / "etc" / "authorized_keys"
    enter = f'exec {shell} -c \\"$SSH_ORIGINAL_COMMAND\\"'
    keys.write_text(f'command="{enter}" {keys.read_text()}')
    connection = await transport.connect(box.instance())
    program = "if true; then x=$((3 + 4)); fi; echo \"$x\" 'a  b' *nothing*\n"
    assert (await connection.run(program, limit=60)).stdout == b"7 a  b *nothing*\n"
    await connection.close()


async def test_words_of_the_config_that_are_for_people_change_nothing(
    box: Sshd, transport: SshTransport
) -> None:
    (box.home / "file").write_text("x")
    box.config.write_text(
        "Host *\n  RemoteCommand tmux attach\n  RequestTTY force\n  ForwardAgent yes\n"
        "  Compression yes\n  SetEnv LANG=C\n  PreferredAuthentications password,publickey\n"
    )
    connection = await transport.connect(box.instance())
    assert (await connection.run("echo plain\n", limit=60)).stdout == b"plain\n"
    async with connection.files() as files:
        assert [entry.path for entry in await files.walk("~/")] == [b"file"]
    await connection.close()


async def test_a_banner_that_is_no_utf8_does_not_refuse_the_login(
    make_box: MakeBox, tmp_path: Path, transport: SshTransport
) -> None:
    banner = tmp_path / "banner"
    banner.write_bytes("欢迎使用\n".encode("gbk"))
    connection = await transport.connect(make_box(extra=f"Banner {banner}\n").instance())
    await connection.close()


async def test_a_proxy_command_is_for_a_shell_and_may_complain(
    box: Sshd, transport: SshTransport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/bash")  # as ssh, which takes the user's own
    relay = tmp_path / "relay.py"
    relay.write_text(RELAY)
    box.config.write_text(
        f"Host box\n  HostName unused.invalid\n  HostKeyAlias [127.0.0.1]:{box.port}\n"
        f"  ProxyCommand echo noise >&2 && [[ %h == unused.* ]] && exec {sys.executable} $HOME/relay.py {box.port} | cat\n"
    )
    os.environ["HOME"], old = str(tmp_path), os.environ["HOME"]
    try:
        access = replace(box.ssh_access, host="box", port=None)
        connection = await transport.connect(Instance("box", access))
    finally:
        os.environ["HOME"] = old
    assert (await connection.run("echo through\n", limit=60)).stdout == b"through\n"
    await connection.close()


@pytest.mark.parametrize(
    ("command", "how", "said"),
    [
        ("no-such-program %h", None, "ended before the login was done: .*no-such-program"),
        ("no-such-program %h", "openssh", "ended before the login was done: .*no-such-program"),
        ("sleep 100", None, "brings no answer"),
    ],
)
async def test_a_proxy_command_that_leads_nowhere_is_named(
    box: Sshd, transport: SshTransport, monkeypatch: pytest.MonkeyPatch,
    command: str, how: str | None, said: str,
) -> None:  # fmt: skip
    if "no answer" in said:
        monkeypatch.setattr(ssh, "HOST_SECONDS", 0.1)
    begun: list[subprocess.Popen[bytes]] = []
    begin = Proxy._started

    def started(self: Proxy) -> subprocess.Popen[bytes]:
        begun.append(begin(self))
        return begun[-1]

    monkeypatch.setattr(Proxy, "_started", started)
    box.config.write_text(f"Host box\n  ProxyCommand {command}\n")
    access = replace(box.ssh_access, host="box", transport=how)
    with pytest.raises(LinkLost, match=f"the ProxyCommand on the way to box:{box.port} {said}"):
        await transport.connect(Instance("box", access))
    if how is None:  # it is ended, and was waited for
        (proxy,) = begun
        assert proxy.stdout is not None
        assert proxy.stdout.closed
        assert proxy.returncode is not None


RELAY = """
import os, socket, sys, threading
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def up():
    while data := os.read(0, 65536):
        peer.sendall(data)
    peer.shutdown(socket.SHUT_WR)
threading.Thread(target=up, daemon=True).start()
while data := peer.recv(65536):
    os.write(1, data)
"""


# --- keys ------------------------------------------------------------------------------------------


@pytest.fixture
def agent(tmp_path: Path) -> AsyncIterator[Path]:
    """A real ssh-agent."""
    socket = tmp_path / "agent"
    process = subprocess.Popen(
        ["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout
    process.stdout.readline()  # printed once it listens
    yield socket
    process.terminate()
    process.wait(60)
    process.stdout.close()


def keygen(*words: str) -> None:
    subprocess.run(["ssh-keygen", "-q", *words], check=True, capture_output=True)


def memory() -> int:
    """The bytes that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def public_key(key: Path) -> str:
    return " ".join(Path(f"{key}.pub").read_text().split()[:2])


def ssh_add(agent: Path, key: Path) -> None:
    env = {**os.environ, "SSH_AUTH_SOCK": str(agent)}
    subprocess.run(["ssh-add", str(key)], env=env, check=True, capture_output=True)


async def test_a_key_of_the_agent_opens_and_a_locked_file_is_its_own(
    box: Sshd, transport: SshTransport, agent: Path
) -> None:
    ssh_add(agent, box.identity)
    keygen("-p", "-N", "secret", "-f", str(box.identity))
    box.config.write_text(f"Host *\n  IdentityAgent {agent}\n  IdentitiesOnly yes\n")
    connection = await transport.connect(box.instance())
    await connection.close()


async def test_identities_only_keeps_other_keys_of_the_agent_back(
    make_box: MakeBox, transport: SshTransport, agent: Path
) -> None:
    box, other = make_box("box"), make_box("other")
    ssh_add(agent, box.identity)
    access = replace(box.ssh_access, identity=str(other.identity))
    box.config.write_text(f"Host *\n  IdentityAgent {agent}\n  IdentitiesOnly yes\n")
    with pytest.raises(AuthRejected) as caught:
        await transport.connect(Instance("box", access))
    assert f"(tried {other.identity})" in str(caught.value)
    box.config.write_text(f"Host *\n  IdentityAgent {agent}\n")
    connection = await transport.connect(Instance("box", access))
    await connection.close()


async def test_too_many_keys_are_told_from_wrong_ones(
    make_box: MakeBox, transport: SshTransport, agent: Path
) -> None:
    box, other = make_box("box", extra="MaxAuthTries 1\n"), make_box("other")
    ssh_add(agent, other.identity)
    box.config.write_text(f"Host *\n  IdentityAgent {agent}\n")
    with pytest.raises(AuthRejected, match="too many keys") as caught:
        await transport.connect(box.instance())
    assert "IdentitiesOnly" in (caught.value.next or "")


# --- hosts that are not as they were ----------------------------------------------------------------


async def test_a_key_of_another_type_is_a_changed_key(box: Sshd, transport: SshTransport) -> None:
    old = box.known_hosts.read_text()
    box.stop()
    box.host_key.unlink()
    keygen("-t", "ecdsa", "-N", "", "-f", str(box.host_key))
    box.start()
    box.known_hosts.write_text(old)
    with pytest.raises(HostKeyRejected, match="CHANGED") as caught:
        await transport.connect(box.instance())
    assert "ecdsa-sha2-nistp256 SHA256:" in str(caught.value)


async def test_the_type_that_is_known_comes_before_the_configs_own_order(
    make_box: MakeBox, transport: SshTransport, tmp_path: Path
) -> None:
    other = tmp_path / "ecdsa"
    keygen("-t", "ecdsa", "-N", "", "-f", str(other))
    box = make_box(extra=f"HostKey {other}\n")  # known_hosts has its ed25519 key
    for listed in ("ecdsa-sha2-nistp256,ssh-ed25519", "^ecdsa-sha2-*", "-ecdsa-*"):
        box.config.write_text(f"HostKeyAlgorithms {listed}\n")
        connection = await transport.connect(box.instance())
        await connection.close()


async def test_a_signed_host_key_is_trusted_through_its_authority(
    box: Sshd, transport: SshTransport, tmp_path: Path
) -> None:
    authority = make_key(tmp_path / "ca", "ca")
    signed = ("-h", "-n", "127.0.0.1", f"{box.host_key}.pub")
    keygen("-s", str(authority), "-I", "host", *signed)
    public = public_key(authority)
    box.stop()
    box._extra = f"HostCertificate {box.host_key}-cert.pub\n"
    box.start()
    box.known_hosts.write_text(f"@cert-authority [127.0.0.1]:* {public}\n")
    connection = await transport.connect(box.instance())
    await connection.close()
    box.known_hosts.write_text(f"@cert-authority [127.0.0.1]:* {public}\n@revoked * {public}\n")
    with pytest.raises(HostKeyRejected):
        await transport.connect(box.instance())
    keygen("-s", str(authority), "-I", "host", "-V", "-2d:-1d", *signed)
    box.stop()
    box.start()
    box.known_hosts.write_text(f"@cert-authority [127.0.0.1]:* {public}\n")
    with pytest.raises(HostKeyRejected, match="not valid: Certificate expired") as caught:
        await transport.connect(box.instance())
    assert caught.value.next == "have its authority sign it anew"


async def test_a_host_that_says_nothing_is_a_timeout(
    box: Sshd, transport: SshTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "HOST_SECONDS", 0.3)
    left = asyncio.Event()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()  # our own banner, then the end
        writer.close()
        left.set()

    silent = await asyncio.start_server(hold, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    with pytest.raises(ConnectTimeout, match=str(port)):
        await transport.connect(Instance("x", replace(box.ssh_access, port=port)))
    silent.close()
    await left.wait()


# --- jump hosts --------------------------------------------------------------------------------------


def behind(jump: Sshd, box: Sshd, name: str = "behind") -> Instance:
    box.known_hosts.write_text(box.known_hosts.read_text() + jump.known_hosts.read_text())
    box.config.write_text(f"Host 127.0.0.1\n  IdentityFile {jump.identity}\n")
    user = box.ssh_access.user
    access = replace(box.ssh_access, jump=f"{user}@127.0.0.1:{jump.port}")
    return Instance(name, access)


async def test_a_jump_of_the_fleet_file_uses_its_known_hosts(
    make_box: MakeBox, transport: SshTransport
) -> None:
    jump, box = make_box("jump"), make_box("box")
    connection = await transport.connect(behind(jump, box))
    assert (await connection.run("echo in\n", limit=60)).stdout == b"in\n"
    await connection.close()


async def test_an_unknown_jump_host_is_named_and_refused(
    make_box: MakeBox, transport: SshTransport
) -> None:
    jump, box = make_box("jump"), make_box("box")
    instance = behind(jump, box)
    box.trust()
    with pytest.raises(HostKeyRejected) as caught:
        await transport.connect(instance)
    assert caught.value.hop == "127.0.0.1"
    assert str(jump.port) in str(caught.value)


async def test_many_boxes_behind_one_jump_share_one_attempt(
    make_box: MakeBox, transport: SshTransport
) -> None:
    jump, box = make_box("jump", extra="MaxStartups 1:100:1\n"), make_box("box")
    instance = behind(jump, box)
    made = await asyncio.gather(*(transport.connect(instance) for _ in range(4)))
    log = (jump.directory / "etc" / "sshd.log").read_text()
    assert log.count("Accepted publickey") == 1
    assert jump.kill_sessions() >= 1
    lost = await asyncio.gather(*(connection.wait_closed() for connection in made))
    assert {error.hop for error in lost if error} == {"127.0.0.1"}
    again = await transport.connect(instance)
    for connection in (again, *made):
        await connection.close()


async def test_a_jump_host_that_talks_without_end_is_not_heard_out(
    make_box: MakeBox, transport: SshTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first session is for sshd only; all that it said in five seconds would be held."""
    monkeypatch.setattr(hops, "WARM_SECONDS", 30.0)
    jump, box = make_box("jump", extra="ForceCommand exec yes\n"), make_box("box")
    began, most = asyncio.get_running_loop().time(), []

    async def weigh() -> None:
        while True:
            most.append(memory())
            await asyncio.sleep(0.02)

    weighing = asyncio.create_task(weigh())
    await asyncio.sleep(0)
    connection = await transport.connect(behind(jump, box))
    assert (await connection.run("echo in\n", limit=60)).stdout == b"in\n"
    weighing.cancel()
    assert asyncio.get_running_loop().time() - began < hops.WARM_SECONDS
    assert max(most) - most[0] < 100_000_000
    await connection.close()


async def test_one_who_gives_up_does_not_take_the_others_jump_away(
    make_box: MakeBox, transport: SshTransport
) -> None:
    jump, box = make_box("jump"), make_box("box")
    instance = behind(jump, box)
    dialling, dial = asyncio.Event(), transport._hops._dial

    async def seen(*words):  # type: ignore[no-untyped-def]
        dialling.set()
        return await dial(*words)

    transport._hops._dial = seen
    first = asyncio.create_task(transport.connect(instance))
    second = asyncio.create_task(transport.connect(instance))
    await dialling.wait()
    first.cancel()
    connection = await second
    assert first.cancelled()
    await connection.close()


async def test_a_jump_host_that_does_not_forward_says_so(
    make_box: MakeBox, transport: SshTransport
) -> None:
    jump, box = make_box("jump", extra="PermitOpen none\n"), make_box("box")
    with pytest.raises(LinkLost, match=r"the jump host \S+ does not forward to 127") as caught:
        await transport.connect(behind(jump, box))
    assert "jump host None" not in str(caught.value)


# --- a hostile file server ---------------------------------------------------------------------------


class Liar(asyncssh.SFTPServer):
    """Lists names that no file can have."""

    names: tuple[bytes, ...] = ()

    async def scandir(self, path: bytes) -> AsyncIterator[asyncssh.SFTPName]:
        attrs = asyncssh.SFTPAttrs(permissions=0o100644, size=1)
        for name in self.names:
            yield asyncssh.SFTPName(name, attrs=attrs)


@pytest.mark.parametrize("name", [b"../../etc/passwd", b"/etc/passwd", b"", b"a\0b", b"x" * 5000])
async def test_names_that_would_lead_elsewhere_are_refused(
    box: Sshd, transport: SshTransport, name: bytes
) -> None:
    Liar.names = (b"good", name)
    key = box.host_key
    server = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_host_keys=[str(key)],
        authorized_client_keys=f"{box.identity}.pub",
        sftp_factory=Liar,
        process_factory=shell,
        encoding=None,
    )
    port = server.get_port()
    box.known_hosts.write_text(f"[127.0.0.1]:{port} {public_key(key)}\n")
    connection = await transport.connect(Instance("x", replace(box.ssh_access, port=port)))
    async with connection.files() as files:
        with pytest.raises(RemoteFileError):
            await files.walk("/")
    await connection.close()
    server.close()
    await server.wait_closed()


# A file server in which every directory holds one more, without end.
ENDLESS = """\
import os, struct
def take(size):
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        part or os._exit(0)
        data += part
    return data
def say(data):
    os.write(1, struct.pack(">I", len(data)) + data)
def text(data):
    return struct.pack(">I", len(data)) + data
unread, name = False, text(b"d" * 2000)
while True:
    asked = take(struct.unpack(">I", take(4))[0])
    kind, id = asked[0], asked[1:5]
    if kind == 1:
        say(b"\\2" + struct.pack(">I", 3))
    elif kind == 11:
        unread = True
        say(b"\\x66" + id + text(b"it"))
    elif kind == 12 and unread:
        unread = False
        say(b"\\x68" + id + struct.pack(">I", 1) + name + name + struct.pack(">II", 4, 0o40755))
    else:
        say(b"\\x65" + id + struct.pack(">I", int(kind == 12)) + text(b"") + text(b""))
"""


async def test_a_tree_without_a_ground_is_left(
    make_box: MakeBox, transport: SshTransport, tmp_path: Path
) -> None:
    """Each path is longer than the one before: a thousand of them are gigabytes."""
    server = tmp_path / "endless.py"
    server.write_text(ENDLESS)
    other = f"case $SSH_ORIGINAL_COMMAND in *sh*) exec sh -s;; *) exec {sys.executable} -IS {server};; esac"
    box = make_box(extra=f"ForceCommand {other}\n")
    connection = await transport.connect(box.instance())
    async with connection.files() as files, asyncio.timeout(60):
        with pytest.raises(RemoteFileError, match="deeper than any path"):
            await files.walk("/tree")
    await connection.close()


async def shell(process: asyncssh.SSHServerProcess[bytes]) -> None:
    """Just enough of a login for a hostile server: a real sh."""
    program = await process.stdin.read(65_536)
    process.stdout.write(await asyncio.to_thread(answer, program))
    process.exit(0)


def answer(program: bytes) -> bytes:
    with subprocess.Popen(
        ["/bin/sh", "-s"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as child:
        assert child.stdin
        assert child.stdout
        child.stdin.write(program)
        child.stdin.flush()
        return child.stdout.read()
