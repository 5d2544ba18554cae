"""What the real ssh does with a config, and what our transport does with the same one: both are recorded by sshd.

Recorded are the address and port that were reached and from where, the user, the keys and certificates that were
offered, what each jump host was asked to forward to, and the arguments of every ProxyCommand. A host key that is not
found under the right name ends a login before any key is offered.
"""

# ruff: noqa: ASYNC221 - a test may block between two steps of its own

from __future__ import annotations

import getpass
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from boxes import Sshd, make_key

from gpu_tui.core.fleet import Instance, SshAccess
from gpu_tui.transport import own_ssh
from gpu_tui.transport.base import LinkError
from gpu_tui.transport.ssh import SshTransport

ME = getpass.getuser()
Recorded = dict[str, list[tuple[str, ...]]]
Ways = Callable[[str], Awaitable[tuple[Recorded, Recorded, LinkError]]]


def _has_loopback_net() -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.2", 0))
        except OSError:
            return False
    return True


pytestmark = [
    pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh here"),
    pytest.mark.skipif(not _has_loopback_net(), reason="127.0.0.1 is the only loopback address"),
]

# The fleet file's user and port, the host, the config. @P is the box's port on 127.0.0.1 to .3, @G the jump host's on
# 127.0.0.4 to .6, @D a directory with keys. Each config ends with TAIL.
TAIL = """
Host gate* 127.0.0.4 127.0.0.5 127.0.0.6
 Port @G
 IdentityFile @D/gate
 IdentitiesOnly yes
Host *
 Port @P
 HostName 127.0.0.1
 UserKnownHostsFile @D/known_hosts
 GlobalKnownHostsFile /dev/null
 BatchMode yes
 StrictHostKeyChecking yes
"""
GATES = "Host gate1\n HostName 127.0.0.4\nHost gate2\n HostName 127.0.0.5\nHost gate3\n HostName 127.0.0.6\n"
K1, K2 = " IdentityFile @D/k1\n", " IdentityFile @D/k2\n"

CASES: dict[str, str] = {
    "plain": f"Host box\n HostName 127.0.0.2\n User alice\n{K1}",
    "windows line ends, tabs, equals": "Host box\r\n\tHostName\t127.0.0.2\r\n\tPort = @P\r\n\tUser\tbob\r\n\tIdentityFile @D/k1\r\n",
    "first value wins": f"Host b*\n HostName 127.0.0.2\n User first\n{K1}Host box\n HostName 127.0.0.3\n User second\n{K2}",
    "negation": f"Host * !box\n HostName 127.0.0.2\n{K2}Host * !other\n HostName 127.0.0.3\n{K1}",
    "quotes and comments": 'Host box # it\'s mine\n HostName \'127.0.0.2\' # "\n User "a b"\n IdentityFile "@D/k1"\n',
    "a user with a token": f"Host box\n User %u-gpu\n{K1}",
    "a user of a domain": f"Host box\n User CORP\\alice\n{K1}",
    "a name with a token": f"Host box\n HostName 127.0.0.%n\nHost 2\n HostName 127.0.0.%h\n{K1}",
    "match host": f"Match host box\n HostName 127.0.0.2\n{K1}Match host other\n HostName 127.0.0.3\n{K2}",
    "match by both names": "Host box\n HostName 127.0.0.2\nMatch originalhost box\n User far\n IdentityFile @D/k1\n"
    "Match host 127.0.0.2\n IdentityFile @D/k2\n",
    "match user": f"Host box\n User alice\nMatch user alice\n HostName 127.0.0.2\n{K1}Match user bob\n{K2}",
    "match exec": f'Match exec "test %n = box"\n HostName 127.0.0.2\n{K1}Match exec false\n User no\n{K2}',
    "match final": f"Host box\n HostName 127.0.0.2\n{K1}Match final host 127.0.0.2\n User last\n",
    "canonical names": f"CanonicalizeHostname always\nCanonicalizeMaxDots 9\nHost box\n HostName 127.0.0.2\n{K1}"
    "Match canonical\n User canon\n",
    "an included file": f"Host box\n Include @D/more_*.conf\n HostName 127.0.0.3\n{K1}",
    "a directive to be ignored": f"IgnoreUnknown UseKey*,Other\nUseKeychain yes\nHost box\n Other x y\n{K1}",
    "several files": f"Host box\n IdentityFile @D/nowhere\n{K1}Host b*\n{K2}",
    "files by tokens": "Host box\n User %n\n IdentityFile @D/k_%n_%h_%p_%r\n HostName 127.0.0.2\n",
    "files by more tokens": "Host box\n User u\n IdentityFile @D/k_%k%%%u\n HostKeyAlias al\n IdentityFile @D/%i/%L/%l\n",
    "files by a variable": "Host box\n IdentityFile ${KEYS}/k1\n",
    "a file in quotes with a blank": 'Host box\n IdentityFile "@D/a key"\n',
    "no file": f"Host box\n IdentityFile none\nHost *\n IdentityFile None\n{K1}",
    "only an rsa key is accepted": f"Host box\n PubkeyAcceptedAlgorithms rsa-sha2-*\n{K1} IdentityFile @D/rsa\n",
    "ed25519 alone is accepted": f"Host box\n PubkeyAcceptedAlgorithms ssh-ed25519\n{K1} IdentityFile @D/rsa\n",
    "an rsa key that is too short": f"Host box\n RequiredRSASize 3072\n IdentityFile @D/rsa\n{K1}",
    "an rsa key that is long enough": f"Host box\n RequiredRSASize 2048\n IdentityFile @D/rsa\n{K1}",
    "a key that a passphrase locks": f"Host box\n IdentityFile @D/locked\n{K1} IdentitiesOnly yes\n",
    "a public half alone": f"Host box\n IdentityFile @D/half\n IdentityFile @D/half2.pub\n{K1}",
    "a file with a letter of no ascii": "Host box\n IdentityFile @D/clé\n",
    "a home that nobody has": f"Include ~no-such-user/x\nHost box\n{K1}",
    "no key at all": f"Host box\n PubkeyAuthentication no\n{K1}",
    "the agent comes first": f"Host box\n{K1}",
    "the agent alone": "Host box\n IdentityFile none\n",
    "a key that the agent has": f"Host box\n{K1} IdentityFile @D/held.pub\n IdentitiesOnly yes\n",
    "files only": f"Host box\n{K1} IdentitiesOnly yes\n",
    "no agent": f"Host box\n IdentityAgent none\n{K1}",
    "another agent": "Host box\n IdentityAgent @D/other.sock\n IdentityFile none\n",
    "an agent by a name": "Host box\n IdentityAgent $OTHER_AGENT\n IdentityFile none\n",
    "an agent by a variable": "Host box\n IdentityAgent ${OTHER_AGENT}\n IdentityFile none\n",
    "an agent whose path has a dollar": "Host box\n IdentityAgent @D/$OTHER.sock\n IdentityFile none\n",
    "an agent by a token": "Host box\n HostKeyAlias other\n IdentityAgent @D/%k.sock\n IdentityFile none\n",
    "the usual agent by its name": "Host box\n IdentityAgent SSH_AUTH_SOCK\n IdentityFile none\n",
    "an agent that no variable names": f"Host box\n IdentityAgent $NO_SUCH_VARIABLE\n{K1}",
    "certificates of the agent": "Host box\n IdentityAgent @D/many.sock\n IdentityFile none\n",
    "a certificate that agent and file have": "Host box\n IdentityAgent @D/many.sock\n IdentityFile @D/k1\n"
    f"{K2} IdentityFile @D/signed\n",
    "a certificate of the agent that a file names": "Host box\n IdentityAgent @D/many.sock\n IdentitiesOnly yes\n"
    " CertificateFile @D/signed-cert.pub\n IdentityFile @D/signed.pub\n",
    "only certificates": "Host box\n IdentityAgent @D/many.sock\n IdentityFile @D/signed\n"
    " PubkeyAcceptedAlgorithms ssh-ed25519-cert-v01@openssh.com\n",
    "a certificate by its key": "Host box\n IdentityFile @D/signed\n",
    "a certificate elsewhere": f"Host box\n{K1} CertificateFile @D/k1.cert\n",
    "a certificate by a token": f"Host box\n{K1} CertificateFile @D/k1.%n-cert\n",
    "a certificate of no key": f"Host box\n{K2} CertificateFile @D/k1.cert\n",
    "an alias": f"Host box\n HostKeyAlias al\n UserKnownHostsFile @D/alias\n{K1}",
    "an alias by large letters": f"Host box\n HostKeyAlias AL\n UserKnownHostsFile @D/alias\n{K1}",
    "an alias with a token": f"Host box\n HostKeyAlias al-%h\n UserKnownHostsFile @D/alias\n{K1}",
    "an alias that no key is known for": f"Host box\n HostKeyAlias none\n UserKnownHostsFile @D/alias\n{K1}",
    "known hosts by tokens": f"Host box\n UserKnownHostsFile /dev/null @D/kh_%n_%h\n{K1}",
    "known hosts of everyone": f"Host box\n UserKnownHostsFile /dev/null\n GlobalKnownHostsFile @D/known_hosts\n{K1}",
    "no known host": f"Host box\n UserKnownHostsFile /dev/null\n{K1}",
    "a command on the way": f"Host box\n HostName far\n Port @P\n User u\n ProxyCommand @D/way %h %p %r %n %% '%h %p'\n{K1}",
    "a command for a shell": f"Host box\n HostKeyAlias al\n UserKnownHostsFile @D/alias\n"
    f' ProxyCommand @D/way $KEYS ${{KEYS}} ~ "a  b" $((1 + @P)) 2>/dev/null\n{K1}',
    "a command, then a jump": f"ProxyCommand @D/way %h\nHost box\n ProxyJump gate1\n HostName far\n HostKeyAlias al\n"
    f" UserKnownHostsFile @D/alias\n{K1}",
    "no command bars a jump": f"ProxyCommand none\nHost box\n ProxyJump gate1\n{K1}",
    "a jump": f"{GATES}Host box\n HostName 127.0.0.2\n User alice\n ProxyJump gate1\n{K1}",
    "a jump with user and port": f"Host box\n HostName 127.0.0.2\n ProxyJump {ME}@127.0.0.4:@G\n{K1}",
    "a jump as another user": f"Host box\n HostName 127.0.0.2\n ProxyJump nobody-here@127.0.0.4:@G\n{K1}",
    "a jump as a uri": f"Host box\n ProxyJump ssh://{ME}@127.0.0.5:@G\n{K1}",
    "two jumps": f"{GATES}Host box\n ProxyJump gate1,gate2\n{K1}",
    "a jump of a jump": f"{GATES}Host gate2\n ProxyJump gate1\nHost box\n ProxyJump gate2\n{K1}",
    "a later jump's own jump": f"{GATES}Host gate2\n ProxyJump gate3\nHost box\n ProxyJump gate1,gate2\n{K1}",
    "a chain of three": f"{GATES}Host gate2\n ProxyJump gate1\nHost box\n ProxyJump gate2,gate3\n{K1}",
    "a jump by a token": f"{GATES}Host box\n HostName 127.0.0.2\n ProxyJump gate%p\n Port 1\nHost gate1\n User {ME}\n{K1}",
    "no jump": f"{GATES}Host box\n ProxyJump none\nHost b*\n ProxyJump gate1\n{K1}",
    "a command on the way to a jump": f"{GATES}Host gate1\n ProxyCommand @D/way %h %p %n\nHost box\n ProxyJump gate1\n{K1}",
    "an address of our own": f"Host box\n HostName 127.0.0.2\n BindAddress 127.0.0.9\n{K1}",
    "a family of addresses": f"Host box\n HostName localhost\n AddressFamily inet\n HostKeyAlias al\n"
    f" UserKnownHostsFile @D/alias\n{K1}",
    # Neither goes anywhere.
    "a byte order mark": f"\ufeffHost box\n HostName 127.0.0.2\n{K1}",
    "a misspelt word": f"Host box\n{K1}Hsot other\n HostName 127.0.0.3\n",
    "a word of nobody's": f"Host box\n{K1} Prot @P\n",
    "a bad port of another host": f"Host box\n{K1}Host other\n Port many\n",
    "a quote without an end": f"Host box\n{K1} User 'me\n",
    "a file by a variable that is not set": f"Host box\n IdentityFile ${{NO_SUCH_VARIABLE}}/k1\n{K1}",
    "a file by a token of nobody's": f"Host box\n IdentityFile @D/%q\n{K1}",
    "a file of nobody's home": f"Host box\n IdentityFile ~no-such-user/k1\n{K1}",
    "a certificate of nobody's home": f"Host box\n CertificateFile ~no-such-user/k1\n{K1}",
    "a command by a token of nobody's": f"Host box\n ProxyCommand @D/way %d\n{K1}",
    "an alias for keys in a variable that is not set": f"Host box\n UserKnownHostsFile ${{NO_SUCH_VARIABLE}}\n{K1}",
}
# By the fleet file: user and port.
BY_FLEET = {
    "match user": ("bob", None),
    "plain": ("carol", None),
    "a jump": ("dave", None),
}
REFUSED = tuple(CASES)[tuple(CASES).index("a byte order mark") :]

# Configs that are followed also where no OpenSSH is installed.
WITHOUT = (
    "plain", "negation", "match user", "a directive to be ignored", "files by tokens", "no file",
    "a public half alone", "the agent comes first", "an agent by a name", "a certificate elsewhere", "an alias",
    "a command on the way to a jump", "a jump of a jump", "a jump with user and port", "no jump", "an address of our own",
    "a byte order mark", "a bad port of another host", "a file by a variable that is not set",
)  # fmt: skip

WAY = """\
#!/bin/sh
printf '<%s>' "$@" >> {log}
echo >> {log}
exec {python} -c '
import os, select, socket
peer = socket.create_connection(("127.0.0.{last}", {port}))
ways = {{0: peer.fileno(), peer.fileno(): 1}}
while ways:
    for end in select.select(list(ways), [], [])[0]:
        data = os.read(end, 65536)
        if not data:
            raise SystemExit
        while data:
            data = data[os.write(ways[end], data):]
'
"""


class Recorder(Sshd):
    """An sshd on several addresses that writes down what it is asked for."""

    def __init__(self, directory: Path, addresses: tuple[str, ...], extra: str) -> None:
        more = "".join(f"ListenAddress {address}:@@\n" for address in addresses)
        super().__init__(directory, extra=more + extra, first="LogLevel DEBUG2\nMaxAuthTries 50\n")
        self._log = directory / "etc" / "sshd.log"
        self._seen = 0

    def start(self) -> Recorder:
        from ports import Port

        self._held = Port()
        self.port = self._held.number
        self._extra = self._extra.replace("@@", str(self.port))
        super().start()
        self.events()
        return self

    def events(self) -> list[tuple[str, ...]]:
        """What came since the last time."""
        assert self.wait_left() == []
        text = self._log.read_bytes()[self._seen :].decode("utf-8", "replace")
        self._seen += len(text.encode())
        found: list[tuple[str, ...]] = []
        for line in text.splitlines():
            for kind, pattern in _EVENTS:
                if event := re.search(pattern, line):
                    found.append((kind, *event.groups()))
        return list(dict.fromkeys(found))  # a key is asked about, and then signed with


_EVENTS = (
    ("reached", r"Connection from (\S+) port \d+ on (\S+) port (\d+)"),
    ("user", r"userauth-request for user (.+) service ssh-connection method none"),
    ("key", r"valid user (.+) (?:querying|attempting) public key \S+ (\S+)"),
    ("forward", r"server_request_direct_tcpip: .*target (\S+) port (\d+)"),
)


class Scene:
    """The box, the jump hosts, the keys, and the config of one case."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        every = tuple(f"127.0.0.{last}" for last in (2, 3))
        self.box = Recorder(directory / "box", every, "")
        (directory / "box/etc/authorized_keys").unlink()  # nobody comes in
        self.box.start()
        gates = tuple(f"127.0.0.{last}" for last in (4, 5, 6))
        self.gate = Recorder(directory / "gate", gates, "").start()
        shutil.copy(self.gate.identity, directory / "gate_key")
        (directory / "gate_key").rename(directory / "gate.key")
        self.config = directory / "config"
        self.way_log = directory / "way.log"
        self._keys()
        self._known()
        public = [
            path
            for path in directory.rglob("*")
            if path.suffix in (".pub", ".cert") or "cert" in path.name
        ]
        self.files = {path.read_text().split()[1]: path.name for path in public}

    def _keys(self) -> None:
        at = self.directory
        made = ("k1", "k2", "held", "other", "signed", "k_box_127.0.0.2_%p_%r", "a key")
        for name in made:
            make_key(at / name.replace("%p", str(self.box.port)).replace("%r", "%n"), name)
        make_key(at / f"k_al%{pwd.getpwuid(os.getuid()).pw_name}", "tokens")
        host = socket.gethostname()
        (at / str(os.getuid()) / host.partition(".")[0]).mkdir(parents=True)
        make_key(at / str(os.getuid()) / host.partition(".")[0] / host, "more tokens")
        for name in ("half", "half2", "clé"):
            make_key(at / name, name)
        for name in ("half", "half2"):
            (at / name).unlink()
        keygen("-t", "ed25519", "-N", "secret", "-f", str(at / "locked"))
        keygen("-t", "rsa", "-b", "2048", "-N", "", "-f", str(at / "rsa"))
        make_key(at / "ca", "ca")
        for name, target in (
            ("signed", "signed-cert.pub"),
            ("k1", "k1.cert"),
            ("k1", "k1.box-cert"),
        ):
            shutil.copy(at / f"{name}.pub", at / "to_sign.pub")
            keygen("-s", str(at / "ca"), "-I", name, "-n", "me", str(at / "to_sign.pub"))
            (at / "to_sign-cert.pub").rename(at / target)
        shutil.move(at / "gate.key", at / "gate")
        (at / "gate").chmod(0o600)

    def _known(self) -> None:
        at, lines = self.directory, []
        for sshd, last in ((self.box, range(1, 4)), (self.gate, range(4, 7))):
            key = " ".join(Path(f"{sshd.host_key}.pub").read_text().split()[:2])
            lines += [f"[127.0.0.{n}]:{sshd.port} {key}\n" for n in last]
            if sshd is self.box:
                lines.append(f"[far]:{sshd.port} {key}\n")
                (at / "alias").write_text("".join(f"{name} {key}\n" for name in ("al", "al-%h")))
        (at / "known_hosts").write_text("".join(lines))
        shutil.copy(at / "known_hosts", at / "kh_box_127.0.0.1")

    def put(self, text: str) -> None:
        """Write the config of a case, what it includes, and its ProxyCommand."""
        at = self.directory
        names = {"@P": self.box.port, "@G": self.gate.port, "@D": at}
        text += TAIL
        for name, value in names.items():
            text = text.replace(name, str(value))
        self.config.write_bytes(text.encode())
        (at / "more_b.conf").write_text("User late\nIdentityFile " + str(at / "k2") + "\n")
        (at / "more_a.conf").write_text("HostName 127.0.0.2\nUser early\n")
        last, port = (4, self.gate.port) if "way to a jump" in text else (1, self.box.port)
        if "ProxyCommand" in text and "Host gate1\n ProxyCommand" in text:
            last, port = 4, self.gate.port
        way = at / "way"
        way.write_text(WAY.format(log=self.way_log, python=sys.executable, last=last, port=port))
        way.chmod(0o700)

    def recorded(self) -> Recorded:
        """All that was done since the last time."""
        ways = self.way_log.read_text().splitlines() if self.way_log.exists() else []
        self.way_log.unlink(missing_ok=True)
        return {
            "gate": [self._readable(event) for event in self.gate.events()],
            "box": [self._readable(event) for event in self.box.events()],
            "commands": [(line,) for line in ways],
        }

    def _readable(self, event: tuple[str, ...]) -> tuple[str, ...]:
        """With the file of a key in place of its bytes."""
        return tuple(self.files.get(word, word) for word in event)

    def close(self) -> None:
        self.gate.close()
        self.box.close()


def keygen(*words: str) -> None:
    subprocess.run(["ssh-keygen", "-q", *words], check=True, stdin=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    made = Scene(tmp_path_factory.mktemp("route"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def agents(scene: Scene) -> Iterator[dict[str, str]]:
    """Three agents: the usual one, another with another key, and one that also holds a certificate."""
    at, running, sockets = scene.directory, [], {}
    held = {"usual": ("held",), "other": ("other",), "many": ("signed", "k2")}
    for name, keys in held.items():
        socket_path = at / f"{name}.sock"
        words = ["ssh-agent", "-D", "-a", str(socket_path)]
        running.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE))
        assert running[-1].stdout is not None
        running[-1].stdout.readline()  # it listens
        sockets[name] = str(socket_path)
        env = {**os.environ, "SSH_AUTH_SOCK": str(socket_path)}
        subprocess.run(["ssh-add", "-q", *(str(at / key) for key in keys)], check=True, env=env)
    (at / "$OTHER.sock").symlink_to(at / "other.sock")
    for key in ("held", "other"):
        (at / key).unlink()  # only an agent has it now
    yield sockets
    for agent in running:
        agent.terminate()
        agent.wait(60)
        assert agent.stdout is not None
        agent.stdout.close()


@pytest.fixture
def ways(scene: Scene, agents: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Ways:
    """What ssh does with a case, what our transport does, and our error."""
    monkeypatch.setenv("HOME", pwd.getpwuid(os.getuid()).pw_dir)
    monkeypatch.setenv("SSH_AUTH_SOCK", agents["usual"])
    monkeypatch.setenv("OTHER_AGENT", agents["other"])
    monkeypatch.setenv("KEYS", str(scene.directory))

    async def both(name: str) -> tuple[Recorded, Recorded, LinkError]:
        host = "2" if "a name with a token" in name else "box"
        user, port = BY_FLEET.get(name, (None, None))
        scene.put(CASES[name])
        scene.recorded()
        words = ["ssh", "-F", str(scene.config), *(["-l", user] if user else []), "--", host]
        done = subprocess.run(
            [*words, "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        assert done.returncode == 255
        expected = scene.recorded()
        access = SshAccess(host, user, port, config=str(scene.config))
        transport = SshTransport()
        with pytest.raises(LinkError) as caught:
            await transport.connect(Instance("box", access))
        await transport.close()
        if name in REFUSED:  # some after it has knocked: we do not even knock
            assert [event for event in expected["box"] if event[0] != "reached"] == [], done.stderr
            expected["box"] = []
        assert bool(expected["gate"] or expected["box"]) is not (name in REFUSED), done.stderr
        return expected, scene.recorded(), caught.value

    return both


@pytest.mark.parametrize("name", CASES)
async def test_our_transport_does_what_ssh_does(name: str, ways: Ways) -> None:
    expected, done, error = await ways(name)
    assert done == expected, str(error)


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES if os.environ.get("GPU_TUI_NIGHTLY") else WITHOUT)
async def test_without_openssh_it_does_the_same_or_nothing(
    name: str, ways: Ways, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_ssh, "ask", lambda *question: None)
    expected, done, error = await ways(name)
    if name not in WITHOUT and "ssh config" in str(error):
        expected = {kind: [] for kind in expected}
    assert done == expected, str(error)
    assert name not in REFUSED or "ssh config" in str(error)
