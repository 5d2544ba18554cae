"""How to reach one host: as the user's own ssh answers (`own_ssh`), then the fleet file's own words.

Without an OpenSSH client `ssh_config` reads the files. Everything here blocks: call it off the loop.
"""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path

from gpu_tui.core.fleet import SshAccess
from gpu_tui.core.number import whole
from gpu_tui.parse.ssh_words import hop as parse_hop
from gpu_tui.places import user_home, user_name
from gpu_tui.transport import own_ssh, ssh_config
from gpu_tui.transport.base import AuthRejected, HostKeyRejected, LinkError
from gpu_tui.transport.key_file import public_half
from gpu_tui.transport.known_hosts import SSH_PORT, KnownHosts, Trust
from gpu_tui.transport.read_files import note, note_key
from gpu_tui.transport.ssh_config import SYSTEM_CONFIG
from gpu_tui.transport.ssh_options import Options, beyond, first, is_on, methods

DEFAULT_KEYS = ("id_ed25519_sk", "id_ecdsa_sk", "id_ed25519", "id_ecdsa", "id_rsa")
USER_KNOWN_HOSTS = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
GLOBAL_KNOWN_HOSTS = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
MAX_HOPS = 8
MOST_PORT = 65_535
SSH_G, FALLBACK, BY_SSH = "ssh -G", "fallback", "openssh"


@dataclass(frozen=True, slots=True)
class Route:
    """Everything ssh must know of one host.

    `named` is how a person calls it, `jump` a ProxyJump value, `command` what reaches it by hand.
    Two routes are equal where the same connection serves both.
    """

    named: str
    host: str
    port: int
    user: str
    config: tuple[str, ...] = ()  # the files that were read
    settings: tuple[tuple[str, tuple[str, ...]], ...] = ()  # the options of all kinds
    methods: tuple[str, ...] = ()
    via: str | None = None  # why the user's own ssh program must be used
    connect_timeout: int | None = None
    identities: tuple[str, ...] = ()
    certificates: tuple[str, ...] = ()
    identities_only: bool = False
    accepted: str | None = None  # PubkeyAcceptedAlgorithms
    rsa_bits: int = 0  # RequiredRSASize
    agent: str | None = None
    known_hosts: tuple[str, ...] = ()
    alias: str | None = None
    jump: str | None = None
    proxy_command: str | None = None
    host_key_algs: str | None = None  # HostKeyAlgorithms
    compression: bool = False
    source: str = field(default=FALLBACK, compare=False)  # who resolved it
    # What is named, also where no file is; where nothing is, the usual ones that are here.
    identity_files: tuple[str, ...] = field(default=(), compare=False)
    command: str = field(default="ssh", compare=False)
    trust: Trust = field(default=Trust(""), compare=False)

    @property
    def where(self) -> str:
        """For sentences."""
        return f"{self.host}:{self.port}"

    @property
    def bound(self) -> bool:
        """Whether the config says which of our own addresses to come from."""
        return any(name == "bindaddress" for name, _ in self.settings)

    @property
    def numbers(self) -> tuple[str, int] | None:
        """Address and port, where the config says the address as numbers."""
        try:
            ip_address(self.host)
        except ValueError:
            return None
        return self.host, self.port


def routes_to(access: SshAccess) -> tuple[Route, ...]:
    """Every host on the way, the box itself last. Raises LinkError."""
    return _routes(access, ())


def _routes(access: SshAccess, behind: tuple[SshAccess, ...]) -> tuple[Route, ...]:
    """`behind` are the hosts whose way leads through this one, nearest first."""
    route = resolve(access, hop=bool(behind))
    if route.jump is None:
        return (route,)
    seen = (access, *behind)
    hops: tuple[Route, ...] = ()
    for name in route.jump.split(","):
        hop = hop_access(name.strip(), access)
        if len(seen) > MAX_HOPS or any((hop.host, hop.port) == (s.host, s.port) for s in seen):
            raise LinkError(
                f"the jump hosts of {behind[-1].host if behind else access.host} lead in a circle "
                f"at {hop.host}",
                next="correct ProxyJump in the ssh config",
                hop=hop.host,
            )
        # Only the first hop is reached by its own ProxyJump; the next ones through the one before.
        hops += (resolve(replace(hop, jump="none"), hop=True),) if hops else _routes(hop, seen)
    return (*hops, route)


def resolve(access: SshAccess, *, hop: bool = False) -> Route:
    """One host by itself. For a hop the fleet file's key and known_hosts only add to the config's."""
    file = own_config(access)
    try:
        answer = own_ssh.ask(access.host, file, access.user, access.port)
        if answer is not None:
            return _resolved(access, own_ssh.options_of(answer, file), _read(file), SSH_G, hop=hop)
        paths = _read(file if access.config else None)
        options = ssh_config.read(paths, access.host, access.user, access.port)
        return _resolved(access, options, paths, FALLBACK, hop=hop)
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: nobody's home
        raise LinkError(
            f"the ssh config cannot be read: {error}",
            next=f"correct {', '.join(_read(file)) or 'the ssh config'}",
        ) from None


def _resolved(
    access: SshAccess, options: Options, paths: Sequence[str], source: str, *, hop: bool
) -> Route:
    host = (first(options, "hostname") or access.host).lower()
    number = int(first(options, "port") or SSH_PORT)
    if not 0 < number <= MOST_PORT:  # of a jump host, or of the fleet file
        raise ValueError(f"there is no port {number}, which {access.host} is to have")
    alias = first(options, "hostkeyalias")
    known_hosts = _known_hosts(access, options, hop=hop)
    note(*known_hosts)
    jump = access.jump or first(options, "proxyjump")
    command = first(options, "proxycommand")
    identities = _identities(access, options, hop=hop)
    certificates = [_at_home(name) for name in options.get("certificatefile", ())]
    agent = _agent(options)
    note(*certificates, *([agent] if agent else []))
    named_keys = (str(_at_home(name)) for name in options.get("identityfile", ()))
    return Route(
        named=access.host,
        host=host,
        port=number,
        user=first(options, "user") or user_name(),
        config=tuple(paths),
        settings=tuple(sorted(options.items())),
        methods=methods(options),
        via=_via(access, options, identities),
        source=source,
        connect_timeout=whole(first(options, "connecttimeout") or "") or None,
        identities=identities,
        identity_files=identities
        if access.identity
        else tuple(dict.fromkeys(named_keys)) or identities,
        certificates=tuple(str(path) for path in certificates if path.is_file()),
        identities_only=is_on(options, "identitiesonly"),
        accepted=first(options, "pubkeyacceptedalgorithms"),
        rsa_bits=whole(first(options, "requiredrsasize") or "") or 0,
        agent=agent,
        known_hosts=known_hosts,
        alias=alias,
        jump=None if jump is None or jump.lower() in ("", "none") else jump,
        proxy_command=None if command is None or command.lower() == "none" else command,
        host_key_algs=first(options, "hostkeyalgorithms"),
        compression=is_on(options, "compression"),
        command=_command(access),
        trust=KnownHosts.read(known_hosts).trust(host, number, alias),
    )


def hop_access(name: str, behind: SshAccess) -> SshAccess:
    """One hop of a ProxyJump value, `[user@]host[:port]`, on the way to `behind`."""
    user, host, port = parse_hop(name)
    number = _port_of(port) if port else None
    if port and number is None:
        raise LinkError(
            f"the jump host {name} has a port that is none",
            next="correct ProxyJump in the ssh config",
        )
    return SshAccess(
        host,
        user,
        number,
        known_hosts=behind.known_hosts,
        identity=behind.identity,
        config=behind.config,
    )


def _port_of(word: str) -> int | None:
    """A number, or the name of a service; None where it is no port."""
    number = whole(word)
    if number is None:
        try:
            number = socket.getservbyname(word, "tcp")
        except OSError:
            return None
    return number if 0 < number <= MOST_PORT else None


def own_config(access: SshAccess) -> str | None:
    """The file that ssh must read in place of its usual ones, or None. LinkError where it is not there."""
    if access.config:
        path = _at_home(access.config)
        if not path.is_file():
            raise LinkError(
                f"the ssh config {path} does not exist", next="correct ssh.config in the fleet file"
            )
        return str(path)
    return home_config()


def home_config() -> str | None:
    """The user's config, where ssh would look for it in another home than $HOME; None where it would not."""
    if not own_ssh.home_differs():
        return None
    path = user_home(os.environ) / ".ssh/config"
    return str(path) if path.exists() else os.devnull


def _read(file: str | None) -> tuple[str, ...]:
    """The config files of a route: `file` alone, or the usual ones."""
    if file is not None:
        return () if file == os.devnull else (file,)
    both = (str(_at_home("~/.ssh/config")), SYSTEM_CONFIG)
    note(*both)
    return tuple(path for path in both if os.access(path, os.R_OK))


def openssh_missing(host: str, why: str) -> LinkError:
    """The error for a host that only the ssh program can reach."""
    return LinkError(
        f"{host} needs the ssh program ({why}), and there is none here",
        next="install OpenSSH's client",
    )


def _via(access: SshAccess, options: Options, identities: tuple[str, ...]) -> str | None:
    if access.transport is not None:
        return "ssh.transport of the fleet file" if access.transport == "openssh" else None
    here = [
        path for path in identities if os.path.isfile(path)
    ]  # the others only an agent can hold
    if here and all(_security_key(path) for path in here):
        return "security key"
    return beyond(options)


def _security_key(path: str) -> bool:
    return b"sk-" in (public_half(path) or b"")[4:8]


def _identities(access: SshAccess, options: Options, *, hop: bool) -> tuple[str, ...]:
    """Key files that exist, in ssh's order. A key that the fleet file names must exist.

    Of a key that only the agent has, its public half does: `KEY.pub` beside a KEY that is not there.
    """
    own: list[str] = []
    if access.identity:
        path = _at_home(access.identity)
        note_key(path)
        if not _is_key(path):
            raise AuthRejected(
                f"the key {path} does not exist", next="correct ssh.identity in the fleet file"
            )
        own = [str(path)]
        if not hop:
            return tuple(own)
    usual = options.get(own_ssh.USUAL_KEYS) or [f"~/.ssh/{name}" for name in DEFAULT_KEYS]
    paths = [_at_home(name) for name in options.get("identityfile", usual)]
    for path in paths:
        note_key(path)
    found = (str(path) for path in paths if _is_key(path))
    return tuple(dict.fromkeys([*found, *own]))


def _is_key(path: Path) -> bool:
    return path.is_file() or Path(f"{path}.pub").is_file()


def _known_hosts(access: SshAccess, options: Options, *, hop: bool) -> tuple[str, ...]:
    own = [str(_at_home(access.known_hosts))] if access.known_hosts else []
    if own and not hop:
        return tuple(own)
    users = options.get("userknownhostsfile", USER_KNOWN_HOSTS)
    if not own and not users:
        raise HostKeyRejected(
            f"the ssh config says `UserKnownHostsFile none` for {access.host}: "
            "no host key could be checked",
            next="name a known_hosts file there, or in ssh.known_hosts of the fleet file",
        )
    everyone = options.get("globalknownhostsfile", GLOBAL_KNOWN_HOSTS)
    return (*own, *(str(_at_home(name)) for name in (*users, *everyone)))


def _agent(options: Options) -> str | None:
    """The agent's socket: IdentityAgent with its variables expanded, else SSH_AUTH_SOCK."""
    path = first(options, "identityagent")
    if "identityagent" in options and path is None:  # `IdentityAgent none`
        return None
    if path in (None, "SSH_AUTH_SOCK"):
        return os.environ.get("SSH_AUTH_SOCK") or None
    if path.startswith("$"):
        path = os.environ.get(path[1:], "")
    return str(_at_home(path)) if path else None


def _command(access: SshAccess) -> str:
    """What a person types to get to the same place by hand."""
    words = ["ssh"]
    if access.port:
        words += ["-p", str(access.port)]
    if access.config:
        words += ["-F", access.config]
    if access.identity:
        words += ["-i", access.identity]
    if access.known_hosts:
        words += ["-o", f"UserKnownHostsFile={access.known_hosts}"]
    if access.jump:
        words += ["-J", access.jump]
    words.append(f"{access.user}@{access.host}" if access.user else access.host)
    return shlex.join(words)


def _at_home(path: str) -> Path:
    """Without `~`; where there is no such user it stays, and names no file."""
    return Path(os.path.expanduser(path))
