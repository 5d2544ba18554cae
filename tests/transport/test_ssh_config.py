"""Our own reader of ssh_config, for machines without OpenSSH, against what `ssh -G` makes of the same file.

`DIRECTIVES` says of every directive what becomes of it; a directive that is not in it fails.
"""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import subprocess
from pathlib import Path

import pytest
from boxes import make_key

from gpu_tui.core.fleet import SshAccess
from gpu_tui.transport import access as access_module
from gpu_tui.transport import own_ssh, ssh_config
from gpu_tui.transport.access import Route, resolve, routes_to
from gpu_tui.transport.base import HostKeyRejected, LinkError
from gpu_tui.transport.pattern import accepts
from gpu_tui.transport.ssh_config import UserConfig
from gpu_tui.transport.ssh_options import beyond, connect_options

HONOURED, FALLBACK, REFUSED, MOOT = "honoured", "by ssh itself", "refused", "moot"

# What becomes of each directive of ssh_config(5): honoured as ssh does; by ssh itself, which is then
# the transport of that host, and said so; refused, with the reason; or moot, having nothing to act on.
DIRECTIVES: dict[str, tuple[str, str]] = {
    "Host": (HONOURED, ""),
    "Match": (HONOURED, "localnetwork and newer criteria: refused where no OpenSSH is here"),
    "Include": (HONOURED, ""),
    "AddKeysToAgent": (REFUSED, "nothing is left in the user's agent"),
    "AddressFamily": (HONOURED, ""),
    "BatchMode": (MOOT, "who may be asked is ours to say"),
    "BindAddress": (HONOURED, ""),
    "BindInterface": (FALLBACK, ""),
    "CanonicalDomains": (HONOURED, "with CanonicalizeHostname"),
    "CanonicalizeFallbackLocal": (HONOURED, "with CanonicalizeHostname"),
    "CanonicalizeHostname": (HONOURED, "refused where no OpenSSH is here"),
    "CanonicalizeMaxDots": (HONOURED, "with CanonicalizeHostname"),
    "CanonicalizePermittedCNAMEs": (HONOURED, "with CanonicalizeHostname"),
    "CASignatureAlgorithms": (HONOURED, "by ssh itself where a name is unknown to us"),
    "CertificateFile": (HONOURED, ""),
    "CheckHostIP": (MOOT, "off by default, and no check less is made"),
    "Ciphers": (HONOURED, "by ssh itself where a name is unknown to us"),
    "ClearAllForwardings": (MOOT, "there are none"),
    "Compression": (HONOURED, ""),
    "ConnectionAttempts": (REFUSED, "how often is tried is the back-off's business"),
    "ConnectTimeout": (HONOURED, "for the whole login, without the time a person types"),
    "ControlMaster": (REFUSED, "each box has one connection of ours, with its own limits"),
    "ControlPath": (REFUSED, "as ControlMaster"),
    "ControlPersist": (REFUSED, "nothing stays when the cockpit closes"),
    "DynamicForward": (REFUSED, "watching opens no port"),
    "EnableEscapeCommandline": (MOOT, "no terminal"),
    "EnableSSHKeysign": (FALLBACK, "with HostbasedAuthentication"),
    "EscapeChar": (MOOT, "no terminal"),
    "ExitOnForwardFailure": (MOOT, "there are no forwardings"),
    "FingerprintHash": (REFUSED, "always SHA256"),
    "ForkAfterAuthentication": (REFUSED, "nothing stays when the cockpit closes"),
    "ForwardAgent": (REFUSED, "a box is never given the agent"),
    "ForwardX11": (REFUSED, "a box is never given the display"),
    "ForwardX11Timeout": (REFUSED, "as ForwardX11"),
    "ForwardX11Trusted": (REFUSED, "as ForwardX11"),
    "GatewayPorts": (MOOT, "there are no forwardings"),
    "GlobalKnownHostsFile": (HONOURED, ""),
    "GSSAPIAuthentication": (FALLBACK, "where no other method is allowed"),
    "GSSAPIDelegateCredentials": (FALLBACK, "with GSSAPIAuthentication"),
    "GSSAPIKexAlgorithms": (FALLBACK, "with GSSAPIAuthentication"),
    "GSSAPIKeyExchange": (FALLBACK, "with GSSAPIAuthentication"),
    "GSSAPIRenewalForcesRekey": (FALLBACK, "with GSSAPIAuthentication"),
    "GSSAPITrustDNS": (FALLBACK, "with GSSAPIAuthentication"),
    "HashKnownHosts": (MOOT, "known_hosts is never written"),
    "HostbasedAcceptedAlgorithms": (FALLBACK, "with HostbasedAuthentication"),
    "HostbasedAuthentication": (FALLBACK, "where no other method is allowed"),
    "HostKeyAlgorithms": (HONOURED, ""),
    "HostKeyAlias": (HONOURED, ""),
    "Hostname": (HONOURED, ""),
    "IdentitiesOnly": (HONOURED, ""),
    "IdentityAgent": (HONOURED, ""),
    "IdentityFile": (HONOURED, ""),
    "IgnoreUnknown": (HONOURED, ""),
    "IPQoS": (MOOT, "left to the system"),
    "KbdInteractiveAuthentication": (HONOURED, ""),
    "KbdInteractiveDevices": (MOOT, "left to the server"),
    "KexAlgorithms": (HONOURED, "by ssh itself where a name is unknown to us"),
    "KnownHostsCommand": (FALLBACK, ""),
    "LocalCommand": (REFUSED, "watching runs nothing here"),
    "LocalForward": (REFUSED, "watching opens no port"),
    "LogLevel": (MOOT, "errors are said in full"),
    "LogVerbose": (MOOT, "as LogLevel"),
    "MACs": (HONOURED, "by ssh itself where a name is unknown to us"),
    "NoHostAuthenticationForLocalhost": (REFUSED, "every host key is checked"),
    "NumberOfPasswordPrompts": (REFUSED, "asked once; the next time a person says so"),
    "PasswordAuthentication": (HONOURED, ""),
    "PermitLocalCommand": (REFUSED, "as LocalCommand"),
    "PermitRemoteOpen": (MOOT, "there are no forwardings"),
    "PKCS11Provider": (FALLBACK, ""),
    "Port": (HONOURED, ""),
    "PreferredAuthentications": (HONOURED, ""),
    "ProxyCommand": (HONOURED, ""),
    "ProxyJump": (HONOURED, ""),
    "ProxyUseFdpass": (FALLBACK, ""),
    "PubkeyAcceptedAlgorithms": (HONOURED, ""),
    "PubkeyAuthentication": (HONOURED, ""),
    "RekeyLimit": (HONOURED, ""),
    "RemoteCommand": (REFUSED, "what runs on a box is ours"),
    "RemoteForward": (REFUSED, "watching opens no port"),
    "RequestTTY": (REFUSED, "bytes go unchanged only without one"),
    "RequiredRSASize": (HONOURED, "of our keys"),
    "RevokedHostKeys": (FALLBACK, ""),
    "SecurityKeyProvider": (FALLBACK, ""),
    "SendEnv": (REFUSED, "a box learns nothing of this machine"),
    "ServerAliveCountMax": (REFUSED, "a dead link is noticed within 20 s everywhere"),
    "ServerAliveInterval": (REFUSED, "as ServerAliveCountMax"),
    "SessionType": (REFUSED, "what runs on a box is ours"),
    "SetEnv": (REFUSED, "as SendEnv"),
    "StdinNull": (REFUSED, "programs go over stdin"),
    "StreamLocalBindMask": (MOOT, "there are no forwardings"),
    "StreamLocalBindUnlink": (MOOT, "there are no forwardings"),
    "StrictHostKeyChecking": (REFUSED, "always yes: an unknown key is never taken"),
    "SyslogFacility": (MOOT, "no syslog"),
    "Tag": (HONOURED, "and Match tagged"),
    "TCPKeepAlive": (HONOURED, ""),
    "Tunnel": (REFUSED, "watching opens no device"),
    "TunnelDevice": (REFUSED, "as Tunnel"),
    "UpdateHostKeys": (REFUSED, "known_hosts is never written"),
    "User": (HONOURED, ""),
    "UserKnownHostsFile": (HONOURED, "none: refused, no key could be checked"),
    "VerifyHostKeyDNS": (REFUSED, "DNS is no witness for a key"),
    "VisualHostKey": (MOOT, "no terminal"),
    "XAuthLocation": (REFUSED, "as ForwardX11"),
}


@pytest.fixture(autouse=True)
def no_openssh(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without one: our own reader reads."""
    monkeypatch.setattr(own_ssh, "ask", lambda *question: None)


needs_ssh = pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh here")


def read(path: Path, text: str) -> SshAccess:
    path.write_text(text)
    return SshAccess("box", config=str(path))


def oracle(path: Path, host: str = "box") -> dict[str, list[str]]:
    """What ssh itself makes of the file."""
    done = subprocess.run(
        ["ssh", "-G", "-F", str(path), host], check=True, capture_output=True, text=True
    )
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        word, _, value = line.partition(" ")
        found.setdefault(word, []).append(value)
    return found


def ours(route: Route) -> dict[str, list[str]]:
    """The same words, from a route."""
    said = {
        "hostname": [route.host],
        "port": [str(route.port)],
        "user": [route.user],
        "identitiesonly": ["yes" if route.identities_only else "no"],
        "compression": ["yes" if route.compression else "no"],
        "userknownhostsfile": [],
        "certificatefile": list(route.certificates),
    }
    if route.alias:
        said["hostkeyalias"] = [route.alias]
    if route.jump:
        said["proxyjump"] = [route.jump]
    if route.proxy_command:
        said["proxycommand"] = [route.proxy_command]
    return {word: value for word, value in said.items() if value}


CASES = {
    "nothing": "",
    "plain": "Host box\n HostName 10.0.0.1\n Port 2222\n User me\n",
    "first value wins": "Host b*\n Port 1\nHost box\n Port 2\n User x\n",
    "negation": "Host * !box\n Port 1\nHost * !other\n Port 2\n",
    "question mark": "Host bo?\n Port 7\n",
    "several patterns": "Host other box more\n Port 9\n",
    "equals and quotes": 'Host=box\n HostName = "10.0.0.2"\n User="some one"\n Port=44\n',
    "a comment behind": "Host box # mine\n Port 45 # five\n User a#b\n",
    "tabs and equals": "Host\tbox\n\tPort=\t46\n\tUser\t=\tme\n",
    "case of words": "HOST box\n hOsTnAmE 10.0.0.3\n PORT 5\n",
    "comments and blanks": "# one\n\n   # two\nHost box\n\tPort 6\n",
    "tokens in HostName": "Host box\n HostName %h.example.org\n",
    "match host": "Match host box\n Port 8\nMatch host other\n User no\n",
    "match original host": "Host box\n HostName far\nMatch originalhost box\n Port 8\n"
    "Match host far\n User yes\n",
    "match user": "Host box\n User alice\nMatch user alice\n Port 81\nMatch user bob\n Port 82\n",
    "match local user": f"Match localuser {getpass.getuser()}\n Port 83\nMatch localuser x\n User x\n",
    "match exec": "Match exec true\n Port 84\nMatch exec false\n User x\n",
    "match exec with tokens": 'Match exec "test %n = box"\n Port 85\nMatch exec "test %h = x"\n User x\n',
    "match with a comment": "Match host box # us\n Port 47\n",
    "match negated": "Match !host other\n Port 86\nMatch host box !user root\n User never\n",
    "match all": "Host box\n Port 87\nMatch all\n User every\n",
    "match of several": "Match host box exec true\n Port 88\nMatch host box exec false\n User x\n",
    "match final": "Host box\n HostName far\nMatch final\n Port 89\n User last\n",
    "match final does not override": "Match final\n Port 90\n User x\nHost box\n Port 89\n",
    "hosts go by their real names in the end": "Host box\n HostName far\nHost far\n User real\n"
    "Match final all\n Compression yes\n",
    "match final by small letters": 'Host box\n HostName FAR\nMatch final exec "test %h = far"\n Port 9\n',
    "match final and exec": "Match final exec true\n Port 91\nMatch !final\n User early\n",
    "alias": "Host box\n HostKeyAlias rented\n HostName 10.0.0.4\n",
    "jump": "Host box\n ProxyJump a@hop:2022,second\n",
    "jump none bars no command": "ProxyJump none\nProxyCommand x y\nProxyJump b\n",
    "the first of jump and command": "ProxyJump a\nProxyCommand x\n",
    "no command bars a jump": "ProxyCommand none\nProxyJump a\n",
    "large letters": "Host BOX\n Port 1\nMatch host BOX\n HostName Far.Example\n ProxyCommand x %h\n",
    "jump none": "Host box\n ProxyJump none\nHost *\n ProxyJump hop\n",
    "proxy command": "Host box\n HostName far\n Port 9\n User u\n"
    " ProxyCommand nc -x 'a b' %h %p | cat && echo $HOME %r %n\n",
    "proxy command with equals": "Host box\n ProxyCommand=nc %h %p\n",
    "proxy command none": "Host box\n ProxyCommand none\nHost *\n ProxyCommand x\n",
    "identities only": "Host box\n IdentitiesOnly yes\n Compression yes\n",
    "a user of a domain": "Host box\n User CORP\\alice\n HostName 10.0.0.5\n",
    "a comment with an apostrophe": "Host box # Bob's, don't\n Port 48 # \"\n User 'a b' # it's\n",
    "escapes": 'Host box\n UserKnownHostsFile "/a\\"b" /c\\ d /e\\f\n User "#me"\n',
    "times with units": "ConnectTimeout 1m30s\nServerAliveInterval 1h\nHost box\n Port 49\n",
    "times that are none": "ConnectTimeout none\nHost box\n ServerAliveInterval 15s\n Port 50\n",
    "a port by its name": "Host box\n Port ssh\n",
    "how keys are bound": "PubkeyAuthentication unbound\nHost box\n PubkeyAuthentication host-bound\n",
    "a home that nobody has": "Include ~nosuchuser/x\nIdentityFile ~nosuchuser/k\nHost box\n Port 51\n",
    "a comma parts no hosts": "Host other,box\n Port 1\nHost !far,box box\n Port 2\n"
    "Match host other,box\n User of-match\n",
    "a user called none": "Host box\n User none\nMatch user none\n Port 52\nHost *\n User no\n",
    "an alias called none": "Host box\n HostKeyAlias none\nHost *\n HostKeyAlias other\n",
    "signs before a command": "ProxyCommand = = nc %h %p\n",
    "a criterion with its value": "Match host=box !user=root\n Port 53\nMatch user=root,me\n Port 1\n",
    "windows line ends": "Host box\r\n Port 91\r\n User me\r\n",
}
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
    "User 'me", "Include {path}", "ProxyJump h:99999", "ProxyJump h:²", "ProxyJump h:x",
)  # fmt: skip


@needs_ssh
@pytest.mark.parametrize("name", CASES)
def test_we_read_what_ssh_reads(name: str, tmp_path: Path) -> None:
    access = read(tmp_path / "config", CASES[name])
    said, expected = ours(resolve(access)), oracle(tmp_path / "config")
    for word in ("hostkeyalias", "proxyjump", "proxycommand"):
        if said.get(word) is None:
            assert expected.get(word, ["none"]) == ["none"]
    if "proxycommand" in said:  # -G shows it before its tokens are replaced
        tokens = {"%h": "hostname", "%p": "port", "%r": "user"}
        [command] = expected["proxycommand"]
        for token, word in tokens.items():
            command = command.replace(token, expected[word][0])
        expected["proxycommand"] = [command.replace("%n", "box")]
    assert {word: expected.get(word) for word in said} == said


@needs_ssh
@pytest.mark.parametrize("line", REFUSED_BY_BOTH)
def test_what_ssh_refuses_is_a_sentence(line: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    access = read(path, f"Host box\n HostName 127.0.0.1\n {line.format(path=path)}\n")
    with pytest.raises(subprocess.CalledProcessError):
        oracle(path)
    with pytest.raises(LinkError):
        routes_to(access)


@needs_ssh
@pytest.mark.parametrize("name", NO_CONFIG)
def test_a_file_that_ssh_refuses_leads_nowhere(name: str, tmp_path: Path) -> None:
    path, more = tmp_path / "config", tmp_path / "more"
    more.write_text("Host box\nHots other\n")
    path.write_bytes(NO_CONFIG[name].replace(b"{more}", os.fsencode(more)))
    with pytest.raises(subprocess.CalledProcessError):
        oracle(path)
    with pytest.raises(LinkError, match="Bad configuration option"):
        resolve(SshAccess("box", config=str(path)))


@needs_ssh
def test_what_this_ssh_knows_is_no_misspelt_word(tmp_path: Path) -> None:
    """Also what it only warns of; and of what no ssh knows, what it was asked to ignore."""
    path = tmp_path / "config"
    for word in (*ssh_config._PASSED_OVER, *UserConfig._handlers, *ssh_config._OURS):
        path.write_text(f"Host other\n {word} 5\n")
        said = subprocess.run(["ssh", "-F", path, "-G", "box"], capture_output=True, text=True)
        if "Bad configuration option" in said.stderr:
            assert word in NEWER, word
    path.write_text("")
    for word in oracle(path):
        assert resolve(read(path, f"Host other\n {word} 5\nHost box\n Port 8\n")).port == 8
    for words in ("IgnoreUnknown Prot", "IgnoreUnknown a,PR*\nPrim 4", "IgnoreUnknown *"):
        assert resolve(read(path, f"{words}\nHost box\n Prot 7\n Port 8\n")).port == 8


# Words of an ssh that is newer than the oldest one that this test may run with.
NEWER = {
    "channeltimeout", "gssapiclientidentity", "gssapikexalgorithms", "gssapikeyexchange",
    "gssapirenewalforcesrekey", "gssapiserveridentity", "gssapitrustdns", "obscurekeystroketiming",
    "refuseconnection", "tag", "usekeychain", "versionaddendum", "warnweakcrypto",
}  # fmt: skip


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("CanonicalizeHostname yes", "CanonicalizeHostname"),
        ("Match localnetwork 10.0.0.0/8\n Port 7", "Match localnetwork"),
    ],
)
def test_what_only_ssh_reads_is_refused_without_one(line: str, reason: str, tmp_path: Path) -> None:
    access = read(tmp_path / "config", f"Host box\n {line}\n")
    with pytest.raises(LinkError, match=rf"needs the ssh program \({reason}\)") as caught:
        resolve(access)
    assert caught.value.next == "install OpenSSH's client"


def test_a_time_to_connect(tmp_path: Path) -> None:
    for text, expected in (("90", 90), ("1M30s", 90), ("2h", 7200), ("none", None), ("0", None)):
        assert resolve(read(tmp_path / "c", f"ConnectTimeout {text}\n")).connect_timeout == expected


def test_a_file_of_nobodys_home_is_none(tmp_path: Path) -> None:
    text = "".join(f"{name} ~nosuchuser/x\n" for name in ("CertificateFile", "UserKnownHostsFile"))
    route = resolve(read(tmp_path / "c", text))
    assert route.certificates == ()
    assert route.trust.accepted == []


@needs_ssh
def test_includes_come_in_the_order_of_names_and_end_with_their_block(tmp_path: Path) -> None:
    more = tmp_path / "more"
    more.mkdir()
    for number in (3, 1, 2):
        (more / f"{number}.conf").write_text(
            f"Host box\n Port {number}\n IdentityFile /k{number}\n"
        )
    (more / "user.conf").write_text("User late\n")
    text = f"Host nobody\n Include {more}/user.conf\nHost box\n Include {more}/?.conf\n User own\n"
    access = read(tmp_path / "config", text)
    route, expected = resolve(access), oracle(tmp_path / "config")
    assert (str(route.port), route.user) == (expected["port"][0], expected["user"][0])
    files = UserConfig.read([str(tmp_path / "config")], "box").get("IdentityFile")
    assert files == expected["identityfile"] == ["/k1", "/k2", "/k3"]


@needs_ssh
def test_a_block_that_does_not_match_may_ask_for_a_last_pass(tmp_path: Path) -> None:
    (tmp_path / "more").write_text(f'Match exec "touch {tmp_path}/ran"\nMatch final\n User no\n')
    text = f"Host other\n Include {tmp_path}/more\nHost far\n Port 7\nHost box\n HostName far\n"
    access = read(tmp_path / "config", text)
    route = resolve(access)
    assert not (tmp_path / "ran").exists()
    expected = oracle(tmp_path / "config")
    assert (str(route.port), route.user) == (expected["port"][0], expected["user"][0])
    assert route.port == 7


@needs_ssh
@pytest.mark.parametrize("alias", ["", " HostKeyAlias Rented\n"])
def test_tokens_are_those_of_ssh(
    alias: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", pwd.getpwuid(os.getuid()).pw_dir)  # ssh asks nobody else for it
    names = " ".join(f"/x/%{letter}" for letter in "CLdhiklnpru%")
    text = f"Host Box\n{alias} HostName Far.Example\n Port 7\n User u\n"
    read(tmp_path / "config", f"{text} UserKnownHostsFile {names}\n")
    route = resolve(SshAccess("Box", config=str(tmp_path / "config")))
    expected = oracle(tmp_path / "config", "Box")["userknownhostsfile"][0]
    assert list(route.known_hosts[:12]) == [str(Path(name)) for name in expected.split()]


def test_the_token_of_the_last_jump_host(tmp_path: Path) -> None:
    text = "ProxyJump a,me@[fe80::1]:3\nUserKnownHostsFile /x/%j\n"
    assert resolve(read(tmp_path / "c", text)).known_hosts[0] == "/x/fe80::1"
    assert resolve(read(tmp_path / "c", "UserKnownHostsFile /x/%j/y\n")).known_hosts[0] == "/x/y"


def test_a_match_exec_that_does_not_end_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh_config, "EXEC_SECONDS", 0.05)
    access = read(tmp_path / "config", 'Match exec "sleep 1000 & sleep 1000"\n Port 5\n')
    with pytest.raises(LinkError, match=r"line 1: its exec does not end within 0\.05 s: sleep"):
        resolve(access)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_a_match_exec_is_for_the_users_own_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", str(shutil.which("bash")))
    assert resolve(read(tmp_path / "c", 'Match exec "[[ %n == b* ]]"\n Port 5\n')).port == 5


def test_what_is_not_for_a_config_to_say_stands_in_no_way(tmp_path: Path) -> None:
    text = "ServerAliveCountMax 0\nServerAliveInterval none\nRekeyLimit 0 0\n"
    text += "ForwardAgent $NO_SUCH_VARIABLE\n"
    route = resolve(read(tmp_path / "c", text))
    assert connect_options(UserConfig.of(route.settings, "box")).keepalive_count_max == 3


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
    route, expected = resolve(access), oracle(tmp_path / "config")
    assert list(route.identities) == [str(path) for path in keys]
    assert expected["identityfile"][:2] == [f"{tmp_path}/k_one", f"{tmp_path}/none"]
    known = [*expected["userknownhostsfile"], *expected["globalknownhostsfile"]]
    assert " ".join(route.known_hosts) == " ".join(known)
    assert list(route.certificates) == expected["certificatefile"]


@needs_ssh
@pytest.mark.parametrize(
    "line",
    [
        "Ciphers aes256-ctr,aes128-ctr",
        "Ciphers ^aes256-ctr",
        "MACs hmac-sha2-512",
        "KexAlgorithms curve25519-sha256",
        "KexAlgorithms -diffie-hellman-*",
        "RekeyLimit 2G 2h",
        "AddressFamily inet",
        "BindAddress 127.0.0.1",
    ],
)
def test_what_asyncssh_takes_from_the_config_it_takes(line: str, tmp_path: Path) -> None:
    route = resolve(read(tmp_path / "config", f"Host box\n {line}\n"))
    assert route.via is None
    options = connect_options(UserConfig.of(route.settings, "box"))
    plain = connect_options(UserConfig.of((), "box"))
    names = ("encryption_algs", "mac_algs", "kex_algs", "rekey_seconds", "family", "local_addr")
    assert [getattr(options, n) for n in names] != [getattr(plain, n) for n in names]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("PKCS11Provider /usr/lib/x.so", "PKCS11Provider"),
        ("PKCS11Provider none", None),
        ("SecurityKeyProvider /usr/lib/sk.so", "SecurityKeyProvider"),
        ("SecurityKeyProvider internal", None),
        ("KnownHostsCommand /bin/x", "KnownHostsCommand"),
        ("RevokedHostKeys /etc/revoked", "RevokedHostKeys"),
        ("BindInterface eth0", "BindInterface"),
        ("ProxyUseFdpass yes", "ProxyUseFdpass"),
        ("CanonicalizeHostname no", None),
        ("Match final\n Port 7", None),
        ("PubkeyAcceptedAlgorithms +ssh-rsa", None),
        ("PubkeyAcceptedAlgorithms ssh-ed25519", None),
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


# What two distributions put into /etc/ssh: no host of theirs may need the ssh program for it.
DEBIAN = "Host *\n SendEnv LANG LC_*\n HashKnownHosts yes\n GSSAPIAuthentication yes\n"
RED_HAT = (
    "Match final all\n GSSAPIAuthentication yes\n ForwardX11Trusted yes\n"
    " Ciphers aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,aes256-ctr\n"
    " MACs hmac-sha2-256-etm@openssh.com,umac-128-etm@openssh.com\n"
    " GSSAPIKexAlgorithms gss-curve25519-sha256-,gss-nistp256-sha256-\n"
    " KexAlgorithms mlkem768x25519-sha256,curve25519-sha256,ecdh-sha2-nistp256\n"
    " PubkeyAcceptedAlgorithms ecdsa-sha2-nistp256,ssh-ed25519,sk-ssh-ed25519@openssh.com,rsa-sha2-256\n"
    " HostKeyAlgorithms ecdsa-sha2-nistp256,ssh-ed25519,rsa-sha2-256\n"
    " CASignatureAlgorithms ecdsa-sha2-nistp256,ssh-ed25519,rsa-sha2-256\n RequiredRSASize 2048\n"
)


@pytest.mark.parametrize("text", [DEBIAN, RED_HAT])
def test_what_distributions_ship_needs_no_other_program(text: str, tmp_path: Path) -> None:
    assert resolve(read(tmp_path / "config", text)).via is None


def test_a_text_in_another_encoding_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_bytes(b"# caf\xe9\nHost box\n Port 5\n")
    assert resolve(SshAccess("box", config=str(path))).port == 5


def test_an_edited_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "config"
    assert resolve(read(path, "Host box\n Port 5\n")).port == 5
    assert resolve(read(path, "Host box\n Port 60\n")).port == 60


def test_known_hosts_none_is_refused_on_the_way_too(tmp_path: Path) -> None:
    text = "Host hop\n UserKnownHostsFile none\nHost box\n ProxyJump hop\n"
    with pytest.raises(HostKeyRejected, match="hop"):
        routes_to(read(tmp_path / "config", text))


@needs_ssh
def test_the_table_has_every_directive_that_this_ssh_knows(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("")
    old = {"hostbasedkeytypes", "pubkeyacceptedkeytypes", "host"}
    known = {name.lower() for name in DIRECTIVES}
    assert {word.lower() for word in oracle(tmp_path / "config")} - old <= known


def test_the_table_says_what_the_reader_does() -> None:
    """A directive that falls back is one that `beyond` looks at, or one that only goes with it."""
    for name, (fate, _) in DIRECTIVES.items():
        if fate == HONOURED and name not in ("Host", "Match", "Include", "IgnoreUnknown"):
            assert name.lower() in UserConfig._handlers, name
    assert beyond(UserConfig.of((), "box")) is None
