"""ssh_config on a machine without OpenSSH, against what `ssh -G` makes of the same file: the same, or refused."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest
from boxes import make_key

from gpu_tui.core.fleet import SshAccess
from gpu_tui.core.speech import Catalogue, speak, told
from gpu_tui.language import catalogue
from gpu_tui.transport import access as access_module
from gpu_tui.transport import own_ssh, ssh_keywords
from gpu_tui.transport.access import Route, resolve, routes_to
from gpu_tui.transport.base import HostKeyRejected, LinkError
from gpu_tui.transport.pattern import accepts
from gpu_tui.transport.ssh_config import ConfigRefused
from gpu_tui.transport.ssh_options import beyond, connect_arguments

ASK = own_ssh.ask


@pytest.fixture(autouse=True)
def no_openssh(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without one."""
    monkeypatch.setattr(own_ssh, "ask", lambda *question: None)


needs_ssh = pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh here")


def read(path: Path, text: str) -> SshAccess:
    path.write_text(text)
    return SshAccess("box", config=str(path))


def ssh_prints(path: Path, host: str = "box") -> str:
    """The answer of `ssh -G`; CalledProcessError where it refuses the file."""
    return subprocess.run(
        ["ssh", "-G", "-F", str(path), host], check=True, capture_output=True, text=True
    ).stdout


def meaning(route: Route) -> dict[str, object]:
    """All that a login follows."""
    names = (
        "host", "port", "user", "alias", "jump", "proxy_command", "identity_files", "certificates", "identities_only",
        "known_hosts", "agent", "methods", "compression", "connect_timeout", "host_key_algs", "via", "bound",
    )  # fmt: skip
    found: dict[str, object] = {name: getattr(route, name) for name in names}
    return found | connect_arguments(dict(route.settings))


def both(
    access: SshAccess, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, object], dict[str, object]]:
    """One host as it is read without OpenSSH, and as `ssh -G` answers."""
    without = resolve(access)
    assert without.source == "fallback"
    with monkeypatch.context() as patch:
        patch.setattr(own_ssh, "ask", ASK)
        by_ssh = resolve(access)
    assert by_ssh.source == "ssh -G"
    return meaning(without), meaning(by_ssh)


CASES = {
    "nothing": "",
    "plain": "Host box\n HostName 10.0.0.1\n Port 2222\n User me\n",
    "first value wins": "Host b*\n Port 1\nHost box\n Port 2\n User x\n",
    "negation": "Host * !box\n Port 1\nHost * !other\n Port 2\n",
    "question mark": "Host bo?\n Port 7\n",
    "several patterns": "Host other box more\n Port 9\n",
    "equals and quotes": 'Host=box\n HostName = "10.0.0.2"\n User="some one"\n Port=44\n',
    "tabs and equals": "Host\tbox\n\tPort=\t46\n\tUser\t=\tme\n",
    "case of words": "HOST box\n hOsTnAmE 10.0.0.3\n PORT 5\n",
    "comments and blanks": "# one\n\n   # two\nHost box\n\tPort 6\n",
    "tokens in HostName": "Host box\n HostName %h.example.org\n",
    "match host": "Match host box\n Port 8\nMatch host other\n User no\n",
    "match original host": "Host box\n HostName far\nMatch originalhost box\n Port 8\n"
    "Match host far\n User yes\n",
    "match user": "Host box\n User alice\nMatch user alice\n Port 81\nMatch user bob\n Port 82\n",
    "match local user": f"Match localuser {getpass.getuser()}\n Port 83\nMatch localuser x\n User x\n",
    "match negated": "Match !host other\n Port 86\nMatch host box !user root\n User never\n",
    "match all": "Host box\n Port 87\nMatch all\n User every\n",
    "alias": "Host box\n HostKeyAlias rented\n HostName 10.0.0.4\n",
    "jump": "Host box\n ProxyJump a@hop:2022,second\n",
    "jump none bars no command": "ProxyJump none\nProxyCommand x y\nProxyJump b\n",
    "jump none": "Host box\n ProxyJump none\nHost *\n ProxyJump hop\n",
    "proxy command": "Host box\n HostName far\n Port 9\n User u\n"
    " ProxyCommand nc -x 'a b' %h %p | cat && echo $HOME %r %n\n",
    "proxy command none": "Host box\n ProxyCommand none\nHost *\n ProxyCommand x\n",
    "identities only": "Host box\n IdentitiesOnly yes\n Compression yes\n",
    "windows line ends": "Host box\r\n Port 91\r\n User me\r\n",
}
# What ssh takes and asyncssh would read as something else: refused, with the line that it is.
ONLY_SSH = {
    "a comment behind": (1, "Host box # mine\n Port 45 # five\n User a#b\n"),
    "match exec": (1, "Match exec true\n Port 84\nMatch exec false\n User x\n"),
    "match exec with tokens": (1, 'Match exec "test %n = box"\n Port 85\nMatch exec "test %h = x"\n User x\n'),
    "match with a comment": (1, "Match host box # us\n Port 47\n"),
    "match of several": (1, "Match host box exec true\n Port 88\nMatch host box exec false\n User x\n"),
    "match final": (3, "Host box\n HostName far\nMatch final\n Port 89\n User last\n"),
    "match final does not override": (1, "Match final\n Port 90\n User x\nHost box\n Port 89\n"),
    "hosts go by their real names in the end": (5, "Host box\n HostName far\nHost far\n User real\n"
    "Match final all\n Compression yes\n"),
    "match final by small letters": (2, 'Host box\n HostName FAR\nMatch final exec "test %h = far"\n Port 9\n'),
    "match final and exec": (1, "Match final exec true\n Port 91\nMatch !final\n User early\n"),
    "large letters": (3, "Host BOX\n Port 1\nMatch host BOX\n HostName Far.Example\n ProxyCommand x %h\n"),
    "proxy command with equals": (2, "Host box\n ProxyCommand=nc %h %p\n"),
    "a user of a domain": (2, "Host box\n User CORP\\alice\n HostName 10.0.0.5\n"),
    "a comment with an apostrophe": (1, "Host box # Bob's, don't\n Port 48 # \"\n User 'a b' # it's\n"),
    "escapes": (2, 'Host box\n UserKnownHostsFile "/a\\"b" /c\\ d /e\\f\n User "#me"\n'),
    "times with units": (1, "ConnectTimeout 1m30s\nServerAliveInterval 1h\nHost box\n Port 49\n"),
    "times that are none": (1, "ConnectTimeout none\nHost box\n ServerAliveInterval 15s\n Port 50\n"),
    "how keys are bound": (1, "PubkeyAuthentication unbound\nHost box\n PubkeyAuthentication host-bound\n"),
    "a comma parts no hosts": (1, "Host other,box\n Port 1\nHost !far,box box\n Port 2\n"
    "Match host other,box\n User of-match\n"),
    "a user called none": (2, "Host box\n User none\nMatch user none\n Port 52\nHost *\n User no\n"),
    "an alias called none": (2, "Host box\n HostKeyAlias none\nHost *\n HostKeyAlias other\n"),
    "signs before a command": (1, "ProxyCommand = = nc %h %p\n"),
    "a criterion with its value": (1, "Match host=box !user=root\n Port 53\nMatch user=root,me\n Port 1\n"),
    "a home that nobody has": (1, "Include ~nosuchuser/x\nHost box\n Port 51\n"),
    "a comment with an apostrophe for another host": (2, "Host other\n Port 48 # it's\n"),
    "a command with an apostrophe": (1, "ProxyCommand x # it's\n"),
    "a user with two signs": (2, "Host box\n User=a=b\n"),
    "a name in large letters": (2, "Host box\n HostName Far.Example\n"),
    "a percent sign in a path": (1, "IdentityFile /k%%h\n"),
    "a key in the home of another user": (1, "IdentityFile ~root/k\n"),
    "a token that asyncssh does not have": (1, "IdentityFile /%k\n"),
    "a variable in a command": (1, "ProxyCommand nc ${HOST} %p\n"),
    "known hosts by a token": (1, "UserKnownHostsFile /kh_%h\n"),
    "a jump by a token": (1, "ProxyJump gate%p\n"),
    "ignored below a match": (2, "Match user *\n IgnoreUnknown Prot\nProt 7\n"),
    "a host key alias by a token": (1, "HostKeyAlias al-%h\n"),
    **{
        line: (2, f"Host box\n {line}\n")
        for line in (
            "BindInterface lo", "CanonicalizeHostname yes", "KnownHostsCommand /bin/x", "ProxyUseFdpass yes", "PubkeyAcceptedAlgorithms ssh-ed25519", "RequiredRSASize 2048",
            "RevokedHostKeys /etc/revoked", "SecurityKeyProvider /usr/lib/sk.so",
        )
    },
}  # fmt: skip
# What ssh refuses without looking at it as a value: whole files, as bytes.
NO_CONFIG = {
    "a byte order mark": b"\xef\xbb\xbfHost box\n Port 7\n",
    "utf-16": "Host box\n Port 7\n".encode("utf-16"),
    "utf-16 without a mark": "Host box\n Port 7\n".encode("utf-16-le"),
    "a misspelt word": b"Host box\n Hsot other\n",
    "a misspelt word of another host": b"Host other\n Prot 7\nHost box\n Port 7\n",
    "a misspelt word that is ignored too late": b"Host box\n Prot 7\nIgnoreUnknown Prot\n",
    "a misspelt word that another host ignores": b"Host other\n IgnoreUnknown Prot\nHost box\n Prot 7\n",
    "a misspelt word, another is ignored": b"IgnoreUnknown Use*\nHost box\n Prot 7\n",
    "an included misspelt word": b"Host other\n Include {more}\n",
}
REFUSED_BY_BOTH = (
    "Port 70000", "Port -1", "Port 0", "Port 2_2", "ConnectTimeout -1", "ConnectTimeout 1x",
    "User 'me", "Include {path}", "ProxyJump h:99999", "ProxyJump h:²",
    "ProxyJump h:x", "User", "HostName a b", "Compression maybe", "AddressFamily ipv4", "StrictHostKeyChecking maybe",
    "BatchMode 1", "NumberOfPasswordPrompts x",
)  # fmt: skip


@needs_ssh
@pytest.mark.parametrize("name", CASES)
def test_a_config_means_what_it_means_to_ssh(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without, by_ssh = both(read(tmp_path / "config", CASES[name]), monkeypatch)
    assert without == by_ssh


@needs_ssh
@pytest.mark.parametrize("name", ONLY_SSH)
def test_a_line_that_only_ssh_reads_is_refused_by_its_place(name: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    line, text = ONLY_SSH[name]
    access = read(path, text)
    ssh_prints(path)
    with pytest.raises(ConfigRefused, match=f"line {line}: only OpenSSH's client") as caught:
        resolve(access)
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert "install OpenSSH's client" in str(caught.value.next)


@needs_ssh
@pytest.mark.parametrize(
    "block",
    [
        text
        for name, (_, text) in ONLY_SSH.items()
        if not text.startswith(("Host", "Match")) and "'" not in text
    ],
)
def test_such_a_line_for_another_host_does_no_harm(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = block.splitlines()[0]
    text = f"Host other\n {lines}\nHost box\n Port 7\n"
    without, by_ssh = both(read(tmp_path / "config", text), monkeypatch)
    assert without == by_ssh


@needs_ssh
@pytest.mark.parametrize(
    "text", ["ProxyJump a\nProxyCommand x\n", "ProxyCommand none\nProxyJump a\n"]
)
def test_a_jump_next_to_a_command_is_for_ssh(text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigRefused, match="ProxyJump and ProxyCommand for box"):
        resolve(read(tmp_path / "config", text))


VALUES = ("NO", "ask", "7", "1h2m", "maybe")


@needs_ssh
def test_a_value_that_ssh_refuses_is_refused(tmp_path: Path) -> None:
    """In a block for another host, where nothing but the form of the value counts."""
    path, wrong = tmp_path / "config", []
    for name, value in product(ssh_keywords.TAKEN_BY_SSH, VALUES):
        access = read(path, f"Host other\n {name} {value}\n")
        done = subprocess.run(["ssh", "-G", "-F", path, "box"], capture_output=True)
        try:
            resolve(access)
            taken = True
        except ConfigRefused:
            taken = False
        wrong += [] if taken is (done.returncode == 0) else [(name, value, done.stderr)]
    assert wrong == []


@needs_ssh
@pytest.mark.parametrize("line", REFUSED_BY_BOTH)
def test_what_ssh_refuses_is_a_sentence(line: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    access = read(path, f"Host box\n HostName 127.0.0.1\n {line.format(path=path)}\n")
    with pytest.raises(subprocess.CalledProcessError):
        ssh_prints(path)
    with pytest.raises(LinkError):
        routes_to(access)


@needs_ssh
@pytest.mark.parametrize("name", NO_CONFIG)
def test_a_file_that_ssh_refuses_leads_nowhere(name: str, tmp_path: Path) -> None:
    path, more = tmp_path / "config", tmp_path / "more"
    more.write_text("Host box\nHots other\n")
    path.write_bytes(NO_CONFIG[name].replace(b"{more}", os.fsencode(more)))
    with pytest.raises(subprocess.CalledProcessError):
        ssh_prints(path)
    with pytest.raises(LinkError, match="Bad configuration option"):
        resolve(SshAccess("box", config=str(path)))


@needs_ssh
def test_what_this_ssh_knows_is_no_misspelt_word(tmp_path: Path) -> None:
    """Also what it only warns of; and of what no ssh knows, what it was asked to ignore."""
    path = tmp_path / "config"
    for word in ssh_keywords.KNOWN:
        path.write_text(f"Host other\n {word} 5\n")
        said = subprocess.run(["ssh", "-F", path, "-G", "box"], capture_output=True, text=True)
        if "Bad configuration option" in said.stderr:
            assert word in NEWER, word
    path.write_text("")
    printed = {line.split(" ")[0].lower() for line in ssh_prints(path).splitlines()}
    assert printed <= ssh_keywords.KNOWN
    for words in ("IgnoreUnknown Prot", "IgnoreUnknown a,PR*\nPrim 4", "IgnoreUnknown *"):
        assert resolve(read(path, f"{words}\nHost box\n Prot 7\n Port 8\n")).port == 8


# Words of an ssh that is newer than the oldest one that this test may run with.
NEWER = {
    "channeltimeout", "gssapiclientidentity", "gssapikexalgorithms", "gssapikeyexchange",
    "gssapirenewalforcesrekey", "gssapiserveridentity", "gssapitrustdns", "obscurekeystroketiming",
    "refuseconnection", "tag", "usekeychain", "versionaddendum", "warnweakcrypto",
}  # fmt: skip


def test_a_file_of_nobodys_home_is_none(tmp_path: Path) -> None:
    route = resolve(read(tmp_path / "c", "UserKnownHostsFile ~nosuchuser/x\n"))
    assert route.trust.accepted == []


@needs_ssh
def test_includes_come_in_the_order_of_names_and_end_with_their_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = tmp_path / "more"
    more.mkdir()
    for number in (3, 1, 2, 5, 4):
        text = f"Host box\n Port {number}\n IdentityFile /k{number}\n Match all\n"
        (more / f"{number}.conf").write_text(text)
    (more / "user").write_text("User late\n")
    (more / "first").write_text("Compression yes\nPort 6\n")
    text = f"Include {more}/first\nInclude {more}/?.conf\nHost nobody\n Include {more}/user\nHost box\n User own\n"
    without, by_ssh = both(read(tmp_path / "config", text), monkeypatch)
    assert without == by_ssh
    assert (without["port"], without["identity_files"]) == (6, ("/k1", "/k2", "/k3", "/k4", "/k5"))


INCLUDES = {  # the config, what its Include finds, the line that is refused
    "several below another line": ("Host box\nInclude @/*.conf\n", {"a.conf": "", "b.conf": ""}, "config line 2"),
    "one that is hidden": ("Include @/*\n", {".a": "Port 7\n"}, "config line 1"),
    "a name that others may set": ("Include @/*\n", {"a": "Match user me\nPort 7\n", "b": ""}, "a line 1"),
    "a token, and then its value": (
        "Include @/a\nHostName far\n", {"a": "IdentityFile /k/%h\n"}, "config line 2",
    ),
    "relative to what others may set": ("Include @/a\n", {"a": "Match host x\nPort 7\n"}, "a line 1"),
    "itself": ("Include @/a\n", {"a": "Include @/a\n"}, "a line 1: too many files"),
}  # fmt: skip


@pytest.mark.parametrize("name", INCLUDES)
def test_includes_that_asyncssh_reads_otherwise_are_refused(name: str, tmp_path: Path) -> None:
    text, files, place = INCLUDES[name]
    more = tmp_path / "more"
    more.mkdir()
    for file, content in files.items():
        (more / file).write_text(content.replace("@", str(more)))
    with pytest.raises(ConfigRefused, match=place):
        resolve(read(tmp_path / "config", text.replace("@", str(more))))


@needs_ssh
def test_files_of_keys_and_hosts_are_those_of_ssh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHERE", str(tmp_path))
    keys = [make_key(tmp_path / f"k_{word}", word) for word in ("one", "far")]
    access = read(
        tmp_path / "config",
        f"Host box\n HostName far\n IdentityFile {tmp_path}/k_one\n IdentityFile {tmp_path}/none\n"
        f" IdentityFile ${{WHERE}}/k_%h\n UserKnownHostsFile {tmp_path}/a {tmp_path}/b\n"
        f" GlobalKnownHostsFile {tmp_path}/g\n CertificateFile {tmp_path}/k_one\n",
    )
    assert list(resolve(access).identities) == [str(path) for path in keys]
    without, by_ssh = both(access, monkeypatch)
    assert without == by_ssh


@needs_ssh
@pytest.mark.parametrize(
    "line",
    [
        "Ciphers aes256-ctr,aes128-ctr",
        "Ciphers ^aes256-ctr",
        "MACs hmac-sha2-512",
        "KexAlgorithms curve25519-sha256",
        "KexAlgorithms -diffie-hellman-*",
        "AddressFamily inet",
        "BindAddress 127.0.0.1",
    ],
)
def test_what_asyncssh_follows_it_is_given(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = read(tmp_path / "config", f"Host box\n {line}\n")
    assert resolve(access).via is None
    assert connect_arguments(dict(resolve(access).settings)) != connect_arguments({})
    if " ^" not in line and " -" not in line:  # these change asyncssh's own list, or that of ssh
        without, by_ssh = both(access, monkeypatch)
        assert without == by_ssh


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("PKCS11Provider /usr/lib/x.so", "PKCS11Provider"),
        ("PKCS11Provider none", None),
        ("SecurityKeyProvider internal", None),
        ("CanonicalizeHostname no", None),
        ("PubkeyAcceptedAlgorithms +ssh-rsa", None),
        ("GSSAPIAuthentication yes", None),
        (
            "GSSAPIAuthentication yes\n PreferredAuthentications gssapi-with-mic",
            "GSSAPIAuthentication",
        ),
        ("Ciphers some-cipher@vendor", "Ciphers"),
        ("MACs some-mac@vendor", "MACs"),
        ("RemoteCommand tmux attach\n RequestTTY force\n SetEnv A=b\n SendEnv LC_*", None),
        ("ControlMaster auto\n ControlPath ~/.ssh/%C\n ControlPersist 10m", None),
    ],
)
def test_what_only_ssh_can_do_is_named(line: str, reason: str | None, tmp_path: Path) -> None:
    assert resolve(read(tmp_path / "config", f"Host box\n {line}\n")).via == reason


@pytest.mark.parametrize(
    ("listed", "name", "taken"),
    [
        (None, "ssh-rsa", True),
        ("+ssh-rsa", "ssh-rsa", True),
        ("^ssh-ed25519", "ssh-rsa", True),
        ("-ssh-rsa,ssh-dss*", "ssh-rsa", False),
        ("-ssh-rsa,ssh-dss*", "ssh-ed25519", True),
        ("ssh-ed25519,rsa-sha2-*", "rsa-sha2-512", True),
        ("ssh-ed25519,rsa-sha2-*", "ssh-rsa", False),
    ],
)
def test_a_list_of_algorithms(listed: str | None, name: str, taken: bool) -> None:
    assert accepts(listed, name) is taken


def test_the_fleet_file_has_the_last_word(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("PKCS11Provider /usr/lib/x.so\n")
    direct = SshAccess("box", config=str(path), transport="direct")
    assert resolve(direct).via is None
    path.write_text("")
    asked = SshAccess("box", config=str(path), transport="openssh")
    assert resolve(asked).via == "ssh.transport of the fleet file"


@pytest.mark.parametrize(
    ("line", "methods"),
    [
        ("", ("publickey", "keyboard-interactive", "password")),
        ("PreferredAuthentications password,publickey", ("password", "publickey")),
        ("PasswordAuthentication no", ("publickey", "keyboard-interactive")),
        ("PubkeyAuthentication no", ("keyboard-interactive", "password")),
        ("KbdInteractiveAuthentication no", ("publickey", "password")),
        ("ChallengeResponseAuthentication no", ("publickey", "password")),
        ("PreferredAuthentications none", ()),
    ],
)
def test_the_ways_to_log_in(line: str, methods: tuple[str, ...], tmp_path: Path) -> None:
    assert resolve(read(tmp_path / "config", f"Host box\n {line}\n")).methods == methods


def test_the_systems_file_comes_after_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text("Host box\n Port 1\nMatch all\n")
    system = tmp_path / "ssh_config"
    system.write_text("Host box\n Port 2\n User everyone\n")
    monkeypatch.setattr(access_module, "SYSTEM_CONFIG", str(system))
    route = resolve(SshAccess("box"))
    assert (route.port, route.user) == (1, "everyone")
    own = tmp_path / "own"
    own.write_text("")
    assert resolve(SshAccess("box", config=str(own))).user == getpass.getuser()


# What two distributions put into /etc/ssh: no host may need the ssh program for it.
DEBIAN = "Host *\n SendEnv LANG LC_*\n HashKnownHosts yes\n GSSAPIAuthentication yes\n"
RED_HAT = {
    "gssapiauthentication": "yes",
    "ciphers": "aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,aes256-ctr",
    "macs": "hmac-sha2-256-etm@openssh.com,umac-128-etm@openssh.com",
    "kexalgorithms": "mlkem768x25519-sha256,curve25519-sha256,ecdh-sha2-nistp256",
    "casignaturealgorithms": "ecdsa-sha2-nistp256,ssh-ed25519,rsa-sha2-256",
    "requiredrsasize": "2048",
}


def test_what_distributions_ship_needs_no_other_program(tmp_path: Path) -> None:
    assert resolve(read(tmp_path / "config", DEBIAN)).via is None
    assert beyond({name: (value,) for name, value in RED_HAT.items()}) is None


def test_a_text_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_bytes(b"# caf\xe9\nHost box\n Port 5\n")
    with pytest.raises(LinkError, match="cannot be read: 'utf-8' codec") as caught:
        resolve(SshAccess("box", config=str(path)))
    assert caught.value.next == f"correct {path}"


def test_an_edited_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "config"
    assert resolve(read(path, "Host box\n Port 5\n")).port == 5
    assert resolve(read(path, "Host box\n Port 60\n")).port == 60


def test_known_hosts_none_is_refused_on_the_way_too(tmp_path: Path) -> None:
    text = "Host hop\n UserKnownHostsFile none\nHost box\n ProxyJump hop\n"
    with pytest.raises(HostKeyRejected, match="hop"):
        routes_to(read(tmp_path / "config", text))


@pytest.mark.parametrize(
    "text", ["Hots box\n", "Port\n", "Port 1 2\n", "Port x-\nPort -\n", "Match exec true\n"]
)
def test_what_is_refused_is_told_in_chinese(text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigRefused) as caught:
        resolve(read(tmp_path / "config", text))
    speak(catalogue("zh"))
    try:
        for sentence in (str(caught.value), str(caught.value.next)):
            assert not re.search(
                r"config cannot|after|option|bad value|only|correct|install", told(sentence)
            )
    finally:
        speak(Catalogue())
