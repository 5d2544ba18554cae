"""The question that is put to the user's own ssh, how long its answer counts, and what is made of it."""

from __future__ import annotations

import asyncio
import os
import pwd
import select
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from gpu_tui.core.fleet import Instance, SshAccess
from gpu_tui.transport import own_ssh
from gpu_tui.transport.access import MAX_HOPS, resolve, routes_to
from gpu_tui.transport.base import LinkError
from gpu_tui.transport.openssh_words import shell_words
from gpu_tui.transport.own_ssh import Answers
from gpu_tui.transport.ssh import SshTransport
from gpu_tui.transport.ssh_config import ConfigRefused
from gpu_tui.transport.ssh_options import connect_arguments

SSH = shutil.which("ssh")
pytestmark = pytest.mark.skipif(SSH is None, reason="no ssh here")
Ssh = Callable[[str], Path]
HOME = pwd.getpwuid(os.getuid()).pw_dir


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ssh:
    """Puts a program that calls the real ssh into PATH; it writes its words into the file that is returned."""

    def put(before: str) -> Path:
        log, bin = tmp_path / "words", tmp_path / "bin"
        bin.mkdir()
        text = f'#!/bin/sh\necho "$*" >> {log}\n{before}\nexec {SSH} "$@"\n'
        (bin / "ssh").write_text(text)
        (bin / "ssh").chmod(0o700)
        monkeypatch.setenv("PATH", f"{bin}:{os.environ['PATH']}")
        return log

    return put


def config(tmp_path: Path, text: str) -> SshAccess:
    (tmp_path / "config").write_text(text)
    return SshAccess("box", config=str(tmp_path / "config"))


def asked(log: Path) -> list[str]:
    return [line for line in log.read_text().splitlines() if line != "-F /dev/null -G x"]


def test_the_words_are_those_of_a_question_and_nothing_else(ssh: Ssh, tmp_path: Path) -> None:
    where = "; ".join(("readlink /proc/$$/fd/0", "cut -d' ' -f6 /proc/$$/stat", "echo $$ $LC_ALL"))
    log = ssh(f"{{ {where}; }} > {tmp_path}/seen")
    file = config(tmp_path, "").config
    assert resolve(SshAccess("box", "me", 2222, config=file)).source == "ssh -G"
    assert asked(log) == [f"-F {file} -l me -p 2222 -G -- box"]
    stdin, session, pid = (tmp_path / "seen").read_text().splitlines()
    assert (stdin, pid) == ("/dev/null", f"{session} C")


@pytest.mark.parametrize(
    "host", ["-oProxyCommand=touch RAN", "-G", "--", "a b", "$(touch RAN)", "a;touch RAN"]
)
def test_a_name_is_no_option_and_no_command(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = config(tmp_path, "").config
    for access in (SshAccess(host, config=file), SshAccess("box", jump=host, config=file)):
        with pytest.raises(LinkError, match="invalid characters"):
            routes_to(access)
    assert not (tmp_path / "RAN").exists()


def test_where_home_is_elsewhere_its_config_alone_is_read(
    ssh: Ssh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = ssh("")
    monkeypatch.setenv("HOME", HOME)
    resolve(SshAccess("box"))
    monkeypatch.setenv("HOME", f"{HOME}/.")
    resolve(SshAccess("box"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve(SshAccess("box")).config == ()
    (tmp_path / ".ssh").mkdir()
    mine = tmp_path / ".ssh/config"
    mine.write_text(
        "Host box\n Port 7\n UserKnownHostsFile ~/kh %d/%h /far\n IdentityAgent ~/sock\n"
    )
    route = resolve(SshAccess("box"))
    assert (route.port, route.config) == (7, (str(mine),))
    assert route.known_hosts[:3] == (f"{tmp_path}/kh", f"{tmp_path}/box", "/far")
    assert route.agent == f"{tmp_path}/sock"
    usual, null, own = "-G -- box", f"-F {os.devnull} -G -- box", f"-F {mine} -G -- box"
    assert asked(log) == [usual, usual, null, own]
    assert shell_words(SshAccess("box"))[:2] == ["-F", str(mine)]


def test_an_answer_counts_until_a_file_changes_and_once_for_each_box(
    ssh: Ssh, tmp_path: Path
) -> None:
    log = ssh("")
    more = tmp_path / "more"
    more.mkdir()
    text = f"Include {more}/*\nHost * !gate\n ProxyJump gate\n"
    file = config(tmp_path, text).config
    answers, hop = Answers(), f"-F {file} -G -- gate"

    def enter(name: str) -> int:
        """How often the jump host was asked about for one login."""
        before = asked(log).count(hop) if log.exists() else 0
        answers.used_by(name, routes_to, SshAccess(name, config=file))
        return asked(log).count(hop) - before

    assert (enter("one"), enter("two")) == (1, 0)  # they share it
    assert (enter("one"), enter("two")) == (1, 0)  # each has come back
    for path in (more / "new", more / "new", tmp_path / "config"):
        path.write_text(path.read_text() + "\n" if path.exists() else "# new\n")
        assert (enter("three"), enter("four")) == (1, 0)


@pytest.mark.parametrize("by", ["config", "stub", "what a command of the config left"])
def test_a_question_that_does_not_end_is_given_up_with_all_that_it_began(
    by: str, ssh: Ssh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleep = f"sleep 1000.{os.getpid()}"
    commands = f"{sleep} &" if by.startswith("what") else f"{sleep} & {sleep}"
    access = config(tmp_path, "" if by == "stub" else f'Match exec "{commands}"\n')
    resolve(SshAccess("box"))  # what this ssh has by itself is known now
    ssh(commands if by == "stub" else "")
    monkeypatch.setattr(own_ssh, "SECONDS", 0.5)
    with pytest.raises(LinkError, match=r"does not end within 0\.5 s"):
        Answers().used_by("box", resolve, access)
    assert left(sleep) == []


async def test_leaving_ends_what_is_still_asked(ssh: Ssh, tmp_path: Path) -> None:
    sleep = f"sleep 2000.{os.getpid()}"
    began = tmp_path / "began"
    os.mkfifo(began)
    access = config(tmp_path, f'Match exec "echo > {began}; {sleep}"\n')
    transport = SshTransport()
    task = asyncio.create_task(transport.connect(Instance("box", access)))
    await asyncio.to_thread(began.read_text)
    await transport.close()
    with pytest.raises(LinkError):
        await task
    assert left(sleep) == []


def test_what_is_asked_while_leaving_is_ended_too(tmp_path: Path) -> None:
    sleep = f"sleep 3000.{os.getpid()}"
    access = config(tmp_path, f'Match exec "{sleep}"\n')
    for known in (False, True):  # what this ssh has by itself
        answers = Answers()
        if known:
            answers.used_by("box", resolve, SshAccess("box"))
        answers.close()
        with pytest.raises(LinkError, match=r"was ended, as the connections are closed"):
            answers.used_by("box", resolve, access)
    assert left(sleep) == []


def left(words: str) -> list[int]:
    """The processes that still run these words when what was killed has had 10 s to end: a signal takes effect when the process is next scheduled."""
    for pid in running(words):
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(pid)
            select.select([handle], [], [], 10)
            os.close(handle)
    return running(words)


def running(words: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            except OSError:
                continue
            if line == words:
                found.append(int(entry.name))
    return found


def test_no_more_than_four_are_asked_at_once(ssh: Ssh, tmp_path: Path) -> None:
    busy = tmp_path / "busy"
    busy.mkdir()
    ssh(
        f"touch {busy}/$$; ls {busy} | wc -l >> {tmp_path}/counts\n"
        f'{SSH} "$@"; code=$?; rm {busy}/$$; exit $code'
    )
    file = config(tmp_path, "").config
    hosts = [SshAccess(f"box{number}", config=file) for number in range(24)]
    with ThreadPoolExecutor(24) as threads:
        assert {route.port for route in threads.map(resolve, hosts)} == {22}
    counts = [int(line) for line in (tmp_path / "counts").read_text().split()]
    assert len(counts) >= 24
    assert max(counts) <= own_ssh.AT_ONCE == 4


@pytest.mark.parametrize("said", ["Dropbear v2022.83", "ssh: SSH Tectia Client 6.6"])
def test_another_ssh_than_openssh_is_none(said: str, ssh: Ssh, tmp_path: Path) -> None:
    ssh(f"echo '{said}' >&2; exit 1")
    assert resolve(config(tmp_path, "Host box\n Port 7\n")).source == "fallback"


def test_without_an_ssh_in_path_our_own_reader_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    route = resolve(config(tmp_path, "Host box\n Port 7\n"))
    assert (route.source, route.port) == ("fallback", 7)
    with pytest.raises(LinkError, match="line 2: Bad configuration option: prot"):
        resolve(config(tmp_path, "Host box\n Prot 7\n"))


def test_the_place_of_what_ssh_refuses_is_known(tmp_path: Path) -> None:
    access = config(tmp_path, "Host box\n Port 7\nHsot far\n")
    with pytest.raises(ConfigRefused, match="Bad configuration option: hsot") as caught:
        resolve(access)
    assert (caught.value.file, caught.value.line) == (access.config, 3)
    with pytest.raises(ConfigRefused) as caught:
        resolve(config(tmp_path, "\ufeffHost box\n"))
    assert "byte order mark" in str(caught.value.next)


BLANKS = {  # the value of a directive, and whether it is refused
    '"{at}/a b"': True,
    "{at}/a\\ b /c": True,
    '/c "/a /b"': True,
    '"/x/my hosts/%h"': True,
    "${{BLANK}}/kh": True,
    "/a /b": False,
    "\"/a\" '/b'": False,
    "relative": False,
    "${{PLAIN}}/kh": False,
}


@pytest.mark.parametrize("option", ["UserKnownHostsFile", "GlobalKnownHostsFile"])
@pytest.mark.parametrize("value", BLANKS)
def test_a_known_hosts_file_with_a_blank_is_refused_by_name(
    value: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLANK", "/my dir")
    monkeypatch.setenv("PLAIN", "/dir")
    if "{{" in value and option.startswith("Global"):
        return  # ssh replaces no variable there
    line = f"{option} {value.format(at=tmp_path)}\n"
    others = 'Host other\n UserKnownHostsFile "/of another/kh"\n GlobalKnownHostsFile "/a b"\n'
    access = config(tmp_path, f"{others}Host box\n {line}")
    if BLANKS[value]:
        with pytest.raises(ConfigRefused, match=f"{option} of box holds a path with a blank"):
            resolve(access)
    else:
        assert not any(" " in path for path in resolve(access).known_hosts)


def test_a_chain_of_jump_hosts_has_an_end(tmp_path: Path) -> None:
    def chain(hops: int) -> SshAccess:
        lines = [f"Host h{n}\n ProxyJump h{n + 1}\n" for n in range(1, hops)]
        return config(tmp_path, "Host box\n ProxyJump h1\n" + "".join(lines))

    named = [f"h{n}" for n in range(MAX_HOPS, 0, -1)]
    assert [route.named for route in routes_to(chain(MAX_HOPS))] == [*named, "box"]
    with pytest.raises(LinkError, match="in a circle"):
        routes_to(chain(MAX_HOPS + 1))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("PKCS11Provider /usr/lib/x.so", "PKCS11Provider"),
        ("PKCS11Provider none", None),
        ("SecurityKeyProvider /usr/lib/sk.so", "SecurityKeyProvider"),
        ("SecurityKeyProvider internal", None),
        ("KnownHostsCommand /bin/x", "KnownHostsCommand"),
        ("RevokedHostKeys /etc/revoked", "RevokedHostKeys"),
        ("RevokedHostKeys none", None),
        ("BindInterface lo", "BindInterface"),
        ("ProxyUseFdpass yes\n ProxyCommand x", "ProxyUseFdpass"),
        ("CanonicalizeHostname yes\n CanonicalDomains example.invalid", None),
        ("Match final\n Port 7", None),
        ("PubkeyAcceptedAlgorithms +ssh-rsa", None),
        ("GSSAPIAuthentication yes", None),
        (
            "GSSAPIAuthentication yes\n PreferredAuthentications gssapi-with-mic",
            "GSSAPIAuthentication",
        ),
        (
            "HostbasedAuthentication yes\n PreferredAuthentications hostbased",
            "HostbasedAuthentication",
        ),
        ("MACs umac-64-etm@openssh.com,hmac-sha2-256", None),
        ("Ciphers ^aes256-ctr\n KexAlgorithms -diffie-hellman-*", None),
        ("ControlMaster auto\n ControlPath ~/.ssh/%C\n ControlPersist 10m", None),
        ("RemoteCommand tmux attach\n RequestTTY force\n SetEnv A=b\n SendEnv LC_*", None),
        ("ForkAfterAuthentication yes", None),
        ("SessionType subsystem", None),
        ("SessionType none\n StdinNull yes", None),
        ("RekeyLimit 2G 2h\n TCPKeepAlive no\n Compression yes\n AddressFamily inet", None),
        ("RekeyLimit 0 0\n BindAddress 127.0.0.1\n ConnectTimeout 1m30s", None),
    ],
)
def test_what_only_ssh_can_do_is_for_ssh(line: str, reason: str | None, tmp_path: Path) -> None:
    route = resolve(config(tmp_path, f"Host box\n {line}\n"))
    assert (route.source, route.via) == ("ssh -G", reason)


def test_what_is_as_usual_is_not_the_users_own(tmp_path: Path) -> None:
    route = resolve(
        config(tmp_path, "Host box\n Compression no\n StdinNull no\n ConnectTimeout none\n")
    )
    assert not route.compression
    assert (route.host_key_algs, route.connect_timeout) == (None, None)
    assert {"stdinnull", "ciphers", "macs"}.isdisjoint(name for name, _ in route.settings)
    chosen = resolve(config(tmp_path, "Ciphers aes256-ctr\n"))
    assert connect_arguments(dict(chosen.settings))["encryption_algs"] == ["aes256-ctr"]
    assert resolve(config(tmp_path, "ConnectTimeout 1m30s\n")).connect_timeout == 90
