"""What the ssh program is told, and what it says: command lines, a config around the user's, errors."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpu_tui.core.fleet import SshAccess
from gpu_tui.parse.lines import clean
from gpu_tui.transport.access import Route, home_config
from gpu_tui.transport.base import (
    AuthRejected,
    ConnectRefused,
    ConnectTimeout,
    HostKeyRejected,
    LinkError,
    LinkLost,
    NameUnknown,
)
from gpu_tui.transport.hostkey import COMPARE, OTHER_NAME

# First in the file, so nothing of the user's can undo it, on the way through jump hosts too. Host keys
# are checked strictly, nobody is asked, nothing is forwarded, run here or left behind.
FORCED = """\
Host *
  BatchMode yes
  StrictHostKeyChecking yes
  UpdateHostKeys no
  VerifyHostKeyDNS no
  NoHostAuthenticationForLocalhost no
  ControlMaster no
  ControlPath none
  ControlPersist no
  ClearAllForwardings yes
  ForwardAgent no
  ForwardX11 no
  Tunnel no
  PermitLocalCommand no
  RemoteCommand none
  RequestTTY no
  AddKeysToAgent no
  VisualHostKey no
  ServerAliveInterval 5
  ServerAliveCountMax 3
  ConnectionAttempts 1
"""

# An ssh before 8.7 stops at these words: they are said only where the user's own config has them.
FORCED_WHERE_NAMED = (
    ("ForkAfterAuthentication", "no"), ("SessionType", "default"), ("StdinNull", "no"),
)  # fmt: skip

# What the config would send of our environment (`SendEnv *` has the keys of providers in it) is struck
# out where it was collected, at the end.
LAST = """\
Host *
  SendEnv -*
"""


def config_text(access: SshAccess, chain: Sequence[Route]) -> str:
    """A config file: what is forced, what the fleet file adds for jump hosts, then the user's own."""
    *hops, target = chain
    text = FORCED
    named = {name for route in chain for name, _ in route.settings}
    text += "".join(
        f"  {name} {value}\n" for name, value in FORCED_WHERE_NAMED if name.lower() in named
    )
    for hop in hops:
        text += f"Host {hop.named}\n"
        if access.known_hosts:
            text += f"  UserKnownHostsFile {_quoted(*hop.known_hosts)}\n"
        if access.identity:
            text += f"  IdentityFile {_quoted(access.identity)}\n"
    text += "Host *\n" + "".join(f"  Include {_quoted(path)}\n" for path in target.config)
    return text + LAST


def master_words(access: SshAccess, config: str, socket: str, log: str, program: str) -> list[str]:
    """The connection itself; its own session runs `program`, and its end is the end of all.

    -M over `ControlMaster no` of the file: the command line comes first. The log goes elsewhere than
    stderr, for there the box's banner is shown, which may look like anything.
    """
    words = ["-v", "-E", log, "-F", config, "-M", "-S", socket, "-T"]
    return [*words, *_way_words(access), "--", access.host, program]


def shell_words(access: SshAccess) -> list[str]:
    """A shell for a person, by the user's own ssh and its own config, known hosts, agent and prompts."""
    file = access.config or home_config()
    config = ["-F", file] if file else []
    return [*config, *_way_words(access), "--", access.host]


def _way_words(access: SshAccess) -> list[str]:
    """What the fleet file says beyond the user's own config."""
    words: list[str] = []
    if access.user:
        words += ["-l", access.user]
    if access.port:
        words += ["-p", str(access.port)]
    if access.identity:
        words += ["-i", access.identity]
    if access.known_hosts:
        words += ["-o", f"UserKnownHostsFile={_quoted(access.known_hosts)}"]
        words += ["-o", "GlobalKnownHostsFile=/dev/null"]
    if access.jump:
        words += ["-J", access.jump]
    return words


def session_words(socket: str, what: str, *, subsystem: bool = False) -> list[str]:
    """One more session over the connection. Where that fails, ssh would log in anew: it must not."""
    options = ["-o", "BatchMode=yes", "-o", "ProxyCommand=exec false", "-o", "LogLevel=ERROR"]
    words = ["-F", "/dev/null", "-S", socket, "-T", *options]
    return [*words, *(["-s"] if subsystem else []), "--", "box", what]


def _quoted(*paths: str) -> str:
    return " ".join(f'"{path}"' for path in paths)


_CHAT = ("debug", "OpenSSH_", "Transferred:", "Bytes per second", "Authenticated", "Warning:")


class Said:
    """What one ssh wrote, as far as it matters. Bounded."""

    CAP = 40

    def __init__(self) -> None:
        self.host_key = ""
        self.passed = 0  # hosts that let us in
        self.lines: list[str] = []

    def add(self, raw: bytes) -> None:
        """One line."""
        line = raw[:1000].decode("utf-8", "replace").strip()
        if line.startswith("debug1: Server host key: "):
            self.host_key = line.split()[-1]
        elif re.match(r"(debug1: )?Authenticated to ", line):
            self.passed += 1
        elif line and not line.startswith(_CHAT):
            self.lines = [*self.lines, line][-self.CAP :]


def failure(log: Said, way: Said, chain: Sequence[Route]) -> LinkError:
    """Why there is no connection. `chain` are all hosts on the way, the box last.

    `log` is ssh's own log; `way` its stderr, where jump hosts and banners speak.
    """
    *hops, box = chain
    command = box.command
    if way.passed < len(hops):
        hop = hops[way.passed]
        before = hops[way.passed - 1].named if way.passed else None
        error = _error(way.lines, hop, before, command, way.host_key)
        error.met_at(hop.named, hop.where)
        return error
    before = hops[-1].named if hops else None
    return _error([*way.lines, *log.lines], box, before, command, log.host_key)


def _error(
    lines: Sequence[str], route: Route, hop: str | None, command: str, host_key: str
) -> LinkError:
    """`hop` is the jump host before this one."""
    where = route.where
    said = clean(lines[-1]) if lines else "ssh ended without a word"
    by_hand = f"by hand: {command}"
    for pattern, kind, sentence, next_step in _TABLE:
        found = next((line for line in reversed(lines) if re.search(pattern, line)), None)
        if found is not None and (hop is not None or "{hop}" not in sentence):
            said = clean(found)
            if pattern is _CLOSED and hop is None and route.proxy_command is not None:
                # What it said itself comes first.
                return LinkLost(
                    f"the ProxyCommand on the way to {where} ended before the login was done: "
                    f"{clean(lines[0])}",
                    next=by_hand,
                )
            return kind(
                sentence.format(
                    where=where, user=route.user, said=said, hop=hop, key=host_key or "none"
                ),
                next=next_step or by_hand,
                host_key=host_key or None if kind is HostKeyRejected else None,
            )
    return LinkLost(f"{where}: {said}", next=by_hand)


# The last is said where ssh's own banner finds nobody at the other end any more.
_CLOSED = r"Connection (closed|reset)|kex_exchange_identification|banner exchange: .*: Broken pipe"

# The first that is found in what ssh said: pattern, error, sentence, next step (None: try by hand).
_TABLE: tuple[tuple[str, type[LinkError], str, str | None], ...] = (
    (
        r"marked as revoked|REVOKED HOST KEY",
        HostKeyRejected, "{where} shows a host key that is marked as revoked: {key}",
        "do not connect; ask whoever revoked it, or destroy the box in the console",
    ),
    (
        r"IDENTIFICATION HAS CHANGED|host key .*has changed",
        HostKeyRejected, "the host key of {where} CHANGED: it shows {key}",
        f"another box answers, or this one was re-created: {COMPARE}",
    ),
    (
        r"Certificate (invalid: name is not|lacks) .*principal",
        HostKeyRejected, "{where} shows a host certificate that is for other names: {said}",
        OTHER_NAME,
    ),
    (
        r"Certificate invalid",
        HostKeyRejected, "{where} shows a host certificate that is not valid: {said}",
        "have its authority sign it anew",
    ),
    (
        r"Host key verification failed|host key is known for",
        HostKeyRejected, "the host key of {where} is unknown: it shows {key}",
        f"{COMPARE}, then connect once by hand",
    ),
    (r"no matching host key type", HostKeyRejected, "{where}: {said}", None),
    (
        r"administratively prohibited",
        LinkLost, "the jump host {hop} does not forward to {where}: {said}",
        "ask its administrator for TCP forwarding (AllowTcpForwarding, PermitOpen)",
    ),
    (
        r"Permission denied|[Tt]oo many authentication failures|No supported authentication methods",
        AuthRejected, "{user}@{where} does not let ssh in without asking ({said})",
        "put the key into the agent (ssh-add, or ssh-add -s for a PKCS11 provider), then press r",
    ),
    (
        r"Could not resolve hostname|Name or service not known",
        NameUnknown, "the name of {where} does not resolve",
        "check the host in the fleet file or ~/.ssh/config, and your own network",
    ),
    (
        r"Connection refused", ConnectRefused, "{where} refuses the connection",
        "the box is off, or its port changed: read it again at the provider",
    ),
    (
        r"timed out", ConnectTimeout, "{where} does not answer",
        "check the provider's console: address, port, power, balance",
    ),
    (
        r"No route to host|Network is unreachable", LinkLost, "there is no route to {where}",
        "check your own network or VPN",
    ),
    (
        r"[Bb]ad configuration option|Bad owner or permissions|keyword .* (argument|value)",
        LinkError, "ssh cannot use its config: {said}", "correct the ssh config, then press r",
    ),
    (
        _CLOSED, LinkLost,
        "{where} closed the connection before the login was done",
        "too many logins at once, or a ban after failed ones: wait a little",
    ),
)  # fmt: skip
