"""Keys and certificates with a real ssh-agent and a real sshd."""

# ruff: noqa: ASYNC221, ASYNC240 - a test may block between two steps of its own

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest
from boxes import Sshd, make_key

from gpu_tui.core.fleet import Instance, SshAccess
from gpu_tui.core.prompts import Prompts
from gpu_tui.transport import agent as agent_module
from gpu_tui.transport import patience
from gpu_tui.transport.access import resolve
from gpu_tui.transport.base import AuthRejected
from gpu_tui.transport.keys import KeyRing, load
from gpu_tui.transport.ssh import SshTransport

MakeBox = Callable[..., Sshd]


class Nobody:
    """Fails the test where anything is asked."""

    async def ask(self, prompts: Prompts) -> tuple[str, ...] | None:
        raise AssertionError(f"asked: {prompts}")


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Path]:
    """A running ssh-agent; its socket."""
    if shutil.which("ssh-agent") is None:
        pytest.skip("no ssh-agent here")
    socket = Path("/tmp") / f"gta{os.getpid()}-{tmp_path.name[-6:]}"
    process = subprocess.Popen(
        ["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, "SSH_ASKPASS": "/bin/false"},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline()  # it says where it listens once it does
    yield socket
    process.stdout.close()
    process.terminate()
    process.wait(60)
    socket.unlink(missing_ok=True)


def add(socket: Path, key: Path, *more: str) -> None:
    words = ["ssh-add", "-q", *more, str(key)]
    subprocess.run(
        words, check=True, env={**os.environ, "SSH_AUTH_SOCK": str(socket)}, capture_output=True
    )


def lock(key: Path) -> None:
    words = ["ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", str(key)]
    subprocess.run(words, check=True, capture_output=True)


def sign(authority: Path, key: Path, user: str) -> Path:
    words = ["ssh-keygen", "-q", "-s", str(authority), "-I", "me", "-n", user, f"{key}.pub"]
    subprocess.run(words, check=True)
    return Path(f"{key}-cert.pub")


async def enter(instance: Instance) -> None:
    transport = SshTransport(Nobody())
    try:
        connection = await transport.connect(instance)
        assert (await connection.run("echo in\n", limit=60)).stdout == b"in\n"
        await connection.close()
    finally:
        await transport.close()


@pytest.mark.parametrize("how", ["SSH_AUTH_SOCK", "$MY_AGENT", "${MY_AGENT}", "path", ""])
async def test_an_encrypted_key_that_the_agent_holds_is_not_asked_for(
    box: Sshd, agent: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(agent, box.identity)
    lock(box.identity)
    monkeypatch.setenv("SSH_AUTH_SOCK" if how in ("SSH_AUTH_SOCK", "") else "MY_AGENT", str(agent))
    if how:
        box.config.write_text(f"IdentityAgent {agent if how == 'path' else how}\n")
    await enter(box.instance())


async def test_a_key_that_only_the_agent_has(box: Sshd, agent: Path) -> None:
    add(agent, box.identity)
    shutil.move(box.identity, box.directory / "hidden")
    box.config.write_text(f"IdentityAgent {agent}\nIdentityFile {box.identity}.pub\n")
    await enter(box.instance(ssh=replace(box.ssh_access, identity=None)))


@pytest.mark.parametrize("by", ["config", "fleet file"])
async def test_a_key_of_which_only_the_public_half_lies_here(
    box: Sshd, agent: Path, by: str
) -> None:
    """As ssh: `KEY.pub` tells which key of the agent `IdentityFile KEY` means."""
    stranger = make_key(box.directory / "stranger", "stranger")
    add(agent, stranger)
    add(agent, box.identity)
    box.identity.rename(box.directory / "hidden")
    identity = str(box.identity)
    named = f"IdentityFile {identity}\n" if by == "config" else ""
    box.config.write_text(f"IdentityAgent {agent}\nIdentitiesOnly yes\n{named}")
    instance = box.instance(
        ssh=replace(box.ssh_access, identity=identity if by == "fleet file" else None)
    )
    await enter(instance)
    add(agent, box.directory / "hidden", "-d")
    with pytest.raises(AuthRejected, match=f"of {identity} the private key is neither") as caught:
        await enter(instance)
    assert "unlock the agent" in str(caught.value.next)
    add(agent, box.directory / "hidden", "-c")  # each use is to be confirmed, and nobody is there
    with pytest.raises(AuthRejected, match="the agent did not sign with user"):
        await enter(instance)


@pytest.mark.parametrize("pub", [True, False])
async def test_a_default_key_of_which_only_the_public_half_lies_here(
    box: Sshd, agent: Path, pub: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(box.directory))
    (box.directory / ".ssh").mkdir()
    if pub:
        shutil.copy(f"{box.identity}.pub", box.directory / ".ssh" / "id_ed25519.pub")
    add(agent, box.identity)
    box.config.write_text(f"IdentityAgent {agent}\nIdentitiesOnly yes\n")
    instance = box.instance(ssh=replace(box.ssh_access, identity=None))
    if pub:
        await enter(instance)
    else:
        with pytest.raises(AuthRejected, match="tried no key"):
            await enter(instance)


async def test_with_identities_only_the_agents_other_keys_are_not_offered(
    box: Sshd, agent: Path, tmp_path: Path
) -> None:
    add(agent, box.identity)
    stranger = make_key(tmp_path / "stranger", "stranger")
    box.config.write_text(f"IdentityAgent {agent}\nIdentitiesOnly yes\nIdentityFile {stranger}\n")
    access = replace(box.ssh_access, identity=None)
    with pytest.raises(AuthRejected):
        await enter(box.instance(ssh=access))
    box.config.write_text(f"IdentityAgent {agent}\nIdentityFile {stranger}\n")
    await enter(box.instance(ssh=access))


@pytest.mark.parametrize("where", ["agent", "file beside the key", "named", "named, key in agent"])
async def test_a_certificate_opens_the_door(
    make_box: MakeBox, agent: Path, tmp_path: Path, where: str
) -> None:
    authority = make_key(tmp_path / "ca", "ca")
    box = make_box(extra=f"TrustedUserCAKeys {authority}.pub\n")
    (box.directory / "etc" / "authorized_keys").write_text("")
    certificate = sign(authority, box.identity, str(box.ssh_access.user))
    text = ""
    if where == "agent":
        add(agent, box.identity)
        certificate.unlink()
        text = f"IdentityAgent {agent}\n"
    elif where.startswith("named"):
        elsewhere = certificate.rename(tmp_path / "elsewhere-cert.pub")
        text = f"CertificateFile {elsewhere}\n"
        if "agent" in where:
            add(agent, box.identity)
            lock(box.identity)
            text += f"IdentityAgent {agent}\n"
    box.config.write_text(text)
    await enter(box.instance())


async def test_an_agent_that_refuses_to_sign_is_named_and_not_the_box(
    box: Sshd, agent: Path
) -> None:
    add(agent, box.identity, "-c")  # each use is to be confirmed, and nobody is there
    box.config.write_text(f"IdentityAgent {agent}\n")
    with pytest.raises(AuthRejected, match="the agent did not sign with user") as caught:
        await enter(box.instance())
    assert "confirm" in str(caught.value.next)


async def test_an_agent_that_hangs_keeps_no_key_file_from_opening(
    box: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_module, "LIST_SECONDS", 0.05)
    path = f"/tmp/gth{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(path)
        silent.listen()
        box.config.write_text(f"IdentityAgent {path}\n")
        await enter(box.instance())
        stranger = make_key(tmp_path / "stranger", "stranger")
        with pytest.raises(AuthRejected, match=f"the agent at {path} does not answer"):
            await enter(box.instance(ssh=replace(box.ssh_access, identity=str(stranger))))
    Path(path).unlink()


async def test_an_agent_that_never_signs_is_named(
    box: Sshd, agent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asyncssh.SSHAgentClient, "sign", hang)
    add(agent, box.identity)
    box.config.write_text(f"IdentityAgent {agent}\n")
    with pytest.raises(AuthRejected, match="the agent did not sign with user"):
        await enter(box.instance())


async def hang(*_: object) -> bytes:
    for limit in patience._running:  # the time is over now
        limit._timeout.reschedule(0)
    await asyncio.Event().wait()
    raise AssertionError


async def test_an_agent_that_is_gone_holds_no_keys(box: Sshd, tmp_path: Path) -> None:
    box.config.write_text(f"IdentityAgent {tmp_path}/nowhere\n")
    await enter(box.instance())
    Path(box.identity).unlink()
    with pytest.raises(AuthRejected, match=f"the agent at {tmp_path}/nowhere cannot be reached"):
        await enter(box.instance())


def test_a_security_key_is_the_business_of_ssh(tmp_path: Path, box: Sshd) -> None:
    """Made by hand in OpenSSH's format: there is no such device here."""
    import base64
    import struct

    def text(data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + data

    public = text(b"sk-ssh-ed25519@openssh.com") + text(b"\1" * 32) + text(b"ssh:")
    blob = b"openssh-key-v1\0" + text(b"none") * 2 + text(b"") + struct.pack(">I", 1) + text(public)
    armour = base64.encodebytes(blob + text(b"")).decode()
    path = tmp_path / "id_ed25519_sk"
    path.write_text(
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{armour}-----END OPENSSH PRIVATE KEY-----\n"
    )
    access = replace(box.ssh_access, identity=None)
    box.config.write_text(f"IdentityFile {path}\n")
    assert resolve(access).via == "security key"
    box.config.write_text(f"IdentityFile {path}\nIdentityFile {box.identity}\n")
    assert resolve(access).via is None
    box.identity.unlink()  # what only an agent has is no reason to go without the security key
    assert resolve(access).via == "security key"


@pytest.mark.parametrize("kind", ["ed25519", "rsa"])
async def test_only_keys_and_signatures_that_the_config_accepts_are_offered(
    box: Sshd, kind: str, tmp_path: Path
) -> None:
    key = box.identity
    if kind == "rsa":
        key = tmp_path / "rsa"
        words = ["ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", str(key)]
        subprocess.run(words, check=True)
        (box.directory / "etc" / "authorized_keys").write_text(Path(f"{key}.pub").read_text())
    instance = box.instance(ssh=replace(box.ssh_access, identity=str(key)))
    box.config.write_text("PubkeyAcceptedAlgorithms ecdsa-sha2-nistp256\n")
    with pytest.raises(AuthRejected):
        await enter(instance)
    wanted = "rsa-sha2-512" if kind == "rsa" else "ssh-ed25519"
    box.config.write_text(f"PubkeyAcceptedAlgorithms ecdsa-sha2-nistp256,{wanted}\n")
    await enter(instance)


async def test_what_one_login_notes_in_a_key_is_not_seen_by_another(tmp_path: Path) -> None:
    """Servers differ in the signatures that they take of one RSA key."""
    key = tmp_path / "id_rsa"
    words = ["ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", str(key)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    config = tmp_path / "config"
    config.write_text("")
    route = resolve(SshAccess("box", identity=str(key), config=str(config)))
    ring = KeyRing()
    one, two = await load(ring, route), await load(ring, route)
    first = await one.next()
    assert first is not None
    first.set_sig_algorithm(b"rsa-sha2-512")
    second = await two.next()
    assert second is not None
    assert second.sig_algorithm != b"rsa-sha2-512"
    second.set_sig_algorithm(b"rsa-sha2-256")
    assert first.sig_algorithm == b"rsa-sha2-512"
