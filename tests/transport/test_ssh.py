"""The transport against a real OpenSSH sshd: host keys, shells, floods, limits, files."""

from __future__ import annotations

import ast
import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from boxes import Sshd, make_key

from gpu_tui.core.fleet import Instance, SshAccess
from gpu_tui.transport import base
from gpu_tui.transport.base import (
    AuthRejected,
    ConnectRefused,
    HostKeyRejected,
    LinkError,
    LinkLost,
    NameUnknown,
    NoShell,
    RemoteFileError,
)
from gpu_tui.transport.channels import WIDEST
from gpu_tui.transport.ssh import SshConnection, SshTransport

MakeBox = Callable[..., Sshd]


@pytest.fixture
async def transport() -> AsyncIterator[SshTransport]:
    made = SshTransport()
    yield made
    await made.close()


def reach(box: Sshd, **changed: object) -> Instance:
    return box.instance(ssh=replace(box.ssh_access, **changed))  # type: ignore[arg-type]


@pytest.fixture
async def connection(box: Sshd, transport: SshTransport) -> AsyncIterator[SshConnection]:
    made = await transport.connect(box.instance())
    yield made
    await made.close()


async def test_a_program_runs_in_sh_with_the_boxs_home(
    box: Sshd, connection: SshConnection
) -> None:
    done = await connection.run('printf "%s" "$HOME"; echo err >&2; exit 3\n', limit=60)
    assert (done.stdout, done.stderr, done.exit) == (str(box.home).encode(), b"err\n", 3)
    assert connection.host_key.startswith("SHA256:")


async def test_bytes_that_are_no_text_do_no_harm(connection: SshConnection) -> None:
    done = await connection.run("printf '\\377\\000\\233ok'\n", limit=60)
    assert done.stdout == b"\xff\x00\x9bok"


async def test_output_past_the_cap_is_cut_and_a_long_program_times_out(
    connection: SshConnection,
) -> None:
    done = await connection.run("head -c 500000 /dev/zero\n", limit=20, stdout_cap=1000)
    assert (len(done.stdout), done.exit) == (1000, 0)
    with pytest.raises(TimeoutError):
        await connection.run("sleep 60\n", limit=0.2)
    assert (await connection.run("echo on\n", limit=60)).stdout == b"on\n"


async def test_a_slow_reader_makes_the_box_wait(connection: SshConnection) -> None:
    async with connection.stream("yes | head -c 20000000; exit\n") as chunks:
        total = 0
        async for chunk in chunks:
            assert len(chunk) <= WIDEST
            total += len(chunk)
            await asyncio.sleep(0)
    assert total == 20_000_000


async def test_leaving_a_stream_ends_the_program_on_the_box(
    box: Sshd, connection: SshConnection
) -> None:
    guard = (
        "exec 3<&0; echo $$; (while :; do sleep 1; done) & w=$!\n"
        "cat <&3 >/dev/null; kill $w; echo gone > ~/left\n"
    )
    async with connection.stream(guard) as chunks:
        first = await anext(chunks)
        assert first.strip().isdigit()
    done = await connection.run("while [ ! -s ~/left ]; do :; done; cat ~/left\n", limit=60)
    assert done.stdout == b"gone\n"


async def test_motd_and_profile_noise_does_not_hide_the_shell(make_box: MakeBox) -> None:
    box = make_box()
    (box.home / ".bashrc").write_text("echo noise from an rc file\n")
    transport = SshTransport()
    connection = await transport.connect(box.instance())
    assert b"7" in (await connection.run("echo $((3 + 4))\n", limit=60)).stdout
    await connection.close()


READERS = {
    "a menu of the image": 'echo "noetic(1) foxy(2) ?"\nread edition\n[ "$edition" = 1 ] || :\n',
    "two questions": "read -r name\nread -r -t 5 other\n",
    "any key": "read -n 1 -s key\n",
    "until it fits": 'for _ in 1 2 3; do read -r x; [ -n "$x" ] && break; done\n',
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("by", ["asyncssh", "openssh"])
async def test_a_start_up_file_that_reads_stdin_consumes_no_line_of_a_program(
    box: Sshd, transport: SshTransport, name: str, by: str
) -> None:
    (box.home / ".bashrc").write_text(READERS[name])
    access = {"transport": "openssh"} if by == "openssh" else {}
    connection = await transport.connect(reach(box, **access))
    try:
        program = "main() {\necho begun\necho ended\n}\nmain\nexit\n"
        async with connection.stream(program) as chunks:
            said = b"".join([chunk async for chunk in chunks])
        assert said.endswith(b"begun\nended\n")
        assert (await connection.run("echo $((3 + 4))\n", limit=60)).stdout.endswith(b"7\n")
    finally:
        await connection.close()


async def test_a_start_up_file_that_starts_tmux_is_named_in_the_advice(
    box: Sshd, transport: SshTransport
) -> None:
    (box.home / ".bashrc").write_text('[ -z "$TMUX" ] && exec tmux new -A -s main\n')
    with pytest.raises(NoShell) as caught:
        await transport.connect(box.instance())
    assert "not a terminal" in str(caught.value)
    assert caught.value.next is not None
    assert caught.value.next.startswith("a start-up file of the login shell")
    assert "direct SSH" not in caught.value.next
    box.home.joinpath(".bashrc").write_text(
        "echo This service allows sftp connections only.; exit 1\n"
    )
    with pytest.raises(NoShell) as caught:
        await transport.connect(box.instance())
    assert caught.value.next is not None
    assert "direct SSH" in caught.value.next


# --- host keys ---


async def refused(transport: SshTransport, instance: Instance) -> HostKeyRejected:
    with pytest.raises(HostKeyRejected) as caught:
        await transport.connect(instance)
    return caught.value


async def test_an_unknown_key_is_refused_with_fingerprint_and_next_step(
    box: Sshd, transport: SshTransport, tmp_path: Path
) -> None:
    for known_hosts in ("", "garbage\n", f"127.0.0.1 {other_key(tmp_path)}\n"):
        box.known_hosts.write_text(known_hosts)
        error = await refused(transport, box.instance())
        assert "unknown" in str(error)
        assert fingerprint(box) in str(error)
        assert error.host_key == fingerprint(box)
        assert error.next is not None
        assert f"ssh -p {box.port}" in error.next


async def test_a_missing_known_hosts_file_is_an_empty_one(
    box: Sshd, transport: SshTransport, tmp_path: Path
) -> None:
    error = await refused(transport, reach(box, known_hosts=str(tmp_path / "none")))
    assert "unknown" in str(error)


async def test_a_changed_key_is_another_error_than_an_unknown_one(
    box: Sshd, transport: SshTransport
) -> None:
    old = fingerprint(box)
    box.restart_with_new_host_key()
    error = await refused(transport, box.instance())
    assert "CHANGED" in str(error)
    assert old in str(error)
    assert fingerprint(box) in str(error)
    assert error.next is not None
    assert f"-R '[127.0.0.1]:{box.port}'" in error.next


async def test_a_revoked_key_is_never_taken(box: Sshd, transport: SshTransport) -> None:
    line = box.known_hosts.read_text()
    box.known_hosts.write_text(f"{line}@revoked {line}")
    assert "revoked" in str(await refused(transport, box.instance()))


async def test_a_hashed_entry_and_an_alias_are_understood(
    box: Sshd, transport: SshTransport
) -> None:
    keygen("-H", "-f", str(box.known_hosts))
    assert "127.0.0.1" not in box.known_hosts.read_text()
    connection = await transport.connect(box.instance())
    await connection.close()


async def test_a_config_that_would_accept_any_key_is_refused(
    box: Sshd, transport: SshTransport
) -> None:
    box.config.write_text("Host *\n  UserKnownHostsFile none\n  StrictHostKeyChecking no\n")
    error = await refused(transport, reach(box, known_hosts=None))
    assert "UserKnownHostsFile none" in str(error)


# --- ~/.ssh/config ---


async def test_an_alias_with_port_user_identity_and_known_hosts(
    box: Sshd, transport: SshTransport
) -> None:
    access = box.ssh_access
    box.config.write_text(
        f"Host 盒子\n  HostName 127.0.0.1\n  Port {box.port}\n  User {access.user}\n"
        f"  IdentityFile {box.home}/no-such-key\n  IdentityFile {access.identity}\n"
        f"  UserKnownHostsFile {access.known_hosts}\n"
    )
    for how in (None, "openssh"):
        alias = Instance("lab", SshAccess("盒子", config=str(box.config), transport=how))
        connection = await transport.connect(alias)
        assert (await connection.run("echo hi\n", limit=60)).stdout == b"hi\n"
        await connection.close()


async def test_a_jump_host_is_shared_and_a_broken_one_is_named(
    make_box: MakeBox, transport: SshTransport
) -> None:
    jump, box = make_box("jump"), make_box("target")
    user = box.ssh_access.user
    box.config.write_text(
        f"Host hop\n  HostName 127.0.0.1\n  Port {jump.port}\n  User {user}\n"
        f"  IdentityFile {jump.identity}\n  UserKnownHostsFile {jump.known_hosts}\n"
        f"Host behind\n  HostName 127.0.0.1\n  Port {box.port}\n  User {user}\n"
        f"  IdentityFile {box.identity}\n  UserKnownHostsFile {box.known_hosts}\n"
        f"  ProxyJump hop\n"
    )
    behind = Instance("behind", SshAccess("behind", config=str(box.config)))
    first = await transport.connect(behind)
    second = await transport.connect(behind)
    assert (await second.run("echo $HOME\n", limit=60)).stdout.strip() == str(box.home).encode()
    assert sum("Accepted publickey" in line for line in sshd_log(jump)) == 1
    await first.close()
    await second.close()
    await transport.close()
    jump.stop()
    with pytest.raises(ConnectRefused) as caught:
        await transport.connect(behind)
    assert caught.value.hop == "hop"
    assert str(caught.value) == f"the jump host hop: 127.0.0.1:{jump.port} refuses the connection"
    assert caught.value.next is not None
    assert caught.value.next.startswith("the jump host is off, or its port changed: ")


async def test_a_jump_host_behind_another_and_one_with_a_new_key_are_named(
    make_box: MakeBox, transport: SshTransport
) -> None:
    near, far = make_box("near"), make_box("far")
    user = near.ssh_access.user
    near.config.write_text(
        f"Host near\n  HostName 127.0.0.1\n  Port {near.port}\n  User {user}\n"
        f"  IdentityFile {near.identity}\n  UserKnownHostsFile {near.known_hosts}\n"
        f"Host far\n  HostName 127.0.0.1\n  Port {far.port}\n  ProxyJump near\n"
        f"Host behind\n  HostName 127.0.0.1\n  Port 9\n  ProxyJump far\n"
        f"Host beside\n  HostName 127.0.0.1\n  Port 9\n  ProxyJump near\n"
    )
    behind, beside = (
        Instance(name, SshAccess(name, config=str(near.config))) for name in ("behind", "beside")
    )
    far.stop()
    with pytest.raises(ConnectRefused) as caught:
        await transport.connect(behind)
    assert str(caught.value).startswith(
        f"the jump host near cannot reach the jump host far (127.0.0.1:{far.port}): "
    )
    assert caught.value.hop == "far"
    assert str(caught.value.next).startswith("it is off, or its address changed as seen from")
    with pytest.raises(ConnectRefused) as caught:  # the box itself, behind one that works
        await transport.connect(beside)
    assert caught.value.hop is None
    assert str(caught.value.next).startswith("the box is off, or its address changed")
    await transport.close()
    near.known_hosts.write_text(f"[127.0.0.1]:{near.port} {other_key(near.directory)}\n")
    with pytest.raises(HostKeyRejected) as changed:
        await transport.connect(beside)
    assert str(changed.value).startswith("the jump host near: the host key of [127.0.0.1]")
    assert changed.value.hop == "near"
    told = str(changed.value.next)
    assert "box" not in told
    assert "provider" not in told
    assert told.startswith("another machine answers, or the jump host was set up anew: compare")


def test_each_step_that_is_turned_to_a_jump_host_is_one_that_is_told() -> None:
    room = Path(base.__file__).parent
    said = [
        part.value
        for path in room.glob("*.py")
        if path.name != "base.py"
        for part in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    for of_box, _ in base.STEPS:
        assert any(of_box in text for text in said), of_box


# --- what else can go wrong ---


async def test_refused_port_unknown_name_and_wrong_key(
    box: Sshd, transport: SshTransport, tmp_path: Path
) -> None:
    with pytest.raises(NameUnknown):
        await transport.connect(reach(box, host="no-such-host.invalid"))
    stranger = make_key(tmp_path / "stranger", "x")
    with pytest.raises(AuthRejected) as caught:
        await transport.connect(reach(box, identity=str(stranger)))
    assert "stranger" in str(caught.value)
    with pytest.raises(LinkError, match="does not exist"):
        await transport.connect(reach(box, identity=str(tmp_path / "nothing")))
    box.stop()
    with pytest.raises(ConnectRefused) as closed:
        await transport.connect(box.instance())
    assert str(box.port) in str(closed.value)


async def test_an_encrypted_key_is_named_as_the_reason(box: Sshd, transport: SshTransport) -> None:
    keygen("-q", "-p", "-N", "secret", "-f", str(box.identity))
    with pytest.raises(AuthRejected) as caught:
        await transport.connect(box.instance())
    assert "encrypted" in str(caught.value)
    assert caught.value.next == f"ssh-add {box.identity}"


async def test_a_login_without_a_shell_says_so(box: Sshd, transport: SshTransport) -> None:
    keys = box.directory / "etc" / "authorized_keys"
    key = keys.read_text()
    keys.write_text(f'command="echo only a menu" {key}')
    with pytest.raises(NoShell, match="only a menu"):
        await transport.connect(box.instance())
    keys.write_text(f'command="kill -9 $PPID" {key}')
    with pytest.raises(LinkLost, match="hangs up before a sh answers") as caught:
        await transport.connect(box.instance())
    assert "see what it says: ssh" in str(caught.value.next)


async def test_a_killed_session_ends_the_stream_and_names_the_loss(
    box: Sshd, connection: SshConnection
) -> None:
    async with connection.stream("echo up; cat\n") as chunks:
        await anext(chunks)
        assert box.kill_sessions() == 1
        with pytest.raises(LinkLost):
            await anext(chunks)
    assert isinstance(await connection.wait_closed(), LinkLost)
    with pytest.raises(LinkLost):
        await connection.run("echo\n", limit=5)


async def test_our_own_close_is_no_loss(connection: SshConnection) -> None:
    await connection.close()
    assert await connection.wait_closed() is None


# --- files ---


async def test_a_tree_is_listed_without_following_links(
    box: Sshd, connection: SshConnection
) -> None:
    out = box.home / "out"
    (out / "a").mkdir(parents=True)
    (out / "a" / "best.pth").write_bytes(b"x" * 300_000)
    (out / "link").symlink_to("/etc")
    (out / "odd\udcff").write_bytes(b"1")
    async with connection.files() as files:
        found = {entry.path: (entry.kind, entry.size) for entry in await files.walk("~/out")}
        assert found[b"a"][0] == "dir"
        assert found[b"a/best.pth"] == ("file", 300_000)
        assert found[b"link"][0] == "link"
        assert found[b"odd\xff"] == ("file", 1)
        assert b"link/passwd" not in found
        tail = b"".join([chunk async for chunk in files.read("~/out/a/best.pth", 299_990)])
        assert tail == b"x" * 10
        with pytest.raises(RemoteFileError, match="regular"):
            _ = [chunk async for chunk in files.read("~/out/link")]
        with pytest.raises(RemoteFileError):
            await files.walk("~/nowhere")
        with pytest.raises(RemoteFileError, match="more than"):
            await files.walk("~/out", limit=2)


def fingerprint(box: Sshd) -> str:
    return keygen("-l", "-f", f"{box.host_key}.pub").split()[1]


def keygen(*words: str) -> str:
    done = subprocess.run(["ssh-keygen", *words], check=True, capture_output=True, text=True)
    return done.stdout


def other_key(directory: Path) -> str:
    path = make_key(directory / "other", "other")
    return " ".join(Path(f"{path}.pub").read_text().split()[:2])


def sshd_log(box: Sshd) -> list[str]:
    return (box.directory / "etc" / "sshd.log").read_text().splitlines()
