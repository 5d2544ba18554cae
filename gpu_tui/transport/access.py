"""How to reach one host: ~/.ssh/config read as ssh reads it, then the fleet file's own words.

asyncssh reads the file; what it does otherwise than OpenSSH (missing identity files, `none`, a
ProxyCommand with shell words, `$VAR` in IdentityAgent) is evened out here.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh
from asyncssh.config import SSHClientConfig, SSHConfig

from gpu_tui.core.fleet import SshAccess
from gpu_tui.transport.base import AuthRejected, HostKeyRejected, LinkError

DEFAULT_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa", "id_ed25519_sk", "id_ecdsa_sk")
GLOBAL_KNOWN_HOSTS = "/etc/ssh/ssh_known_hosts"


@dataclass(frozen=True, slots=True)
class Route:
    """Everything ssh must know of one host. `jump` is a ProxyJump value, `named` how a person calls it."""

    named: str
    host: str
    port: int
    user: str
    config: tuple[str, ...]
    identities: tuple[str, ...] = ()
    known_hosts: tuple[str, ...] = ()
    host_key_alias: str | None = None
    jump: str | None = None
    proxy_command: str | None = None
    agent: str | None = None
    encrypted: tuple[str, ...] = ()
    trusted: asyncssh.SSHKnownHosts = field(default_factory=asyncssh.SSHKnownHosts, compare=False)

    @property
    def known_hosts_name(self) -> str:
        """The name under which known_hosts keeps this host's key."""
        host = self.host_key_alias or self.host
        return host if self.port == 22 or self.host_key_alias else f"[{host}]:{self.port}"


def resolve(access: SshAccess) -> Route:
    """Read config, keys and known_hosts. Blocks on files: call it off the loop. Raises LinkError."""
    user = access.user or ()
    port = access.port or ()
    paths = _config_paths(access)
    try:
        config = SSHClientConfig.load(
            None, paths, False, False, False, getpass.getuser(), user, access.host, port
        )
    except (asyncssh.ConfigParseError, OSError, UnicodeDecodeError) as error:
        raise LinkError(
            f"the ssh config cannot be read: {error}", next=f"fix {', '.join(paths)}"
        ) from None
    identities = _identities(access, _strings(config.get("IdentityFile", [])))
    known_hosts = _known_hosts(access, config)
    jump = access.jump or _string(config.get("ProxyJump"))
    return Route(
        named=access.host,
        host=_string(config.get("Hostname")) or access.host,
        port=int(str(config.get("Port", 22))),
        user=_string(config.get("User")) or getpass.getuser(),
        config=tuple(paths),
        identities=identities,
        known_hosts=known_hosts,
        host_key_alias=_string(config.get("HostKeyAlias")),
        jump=None if jump in (None, "", "none") else jump,
        proxy_command=_proxy_command(config),
        agent=_agent(config),
        encrypted=tuple(path for path in identities if _is_encrypted(path)),
        trusted=_load_known_hosts(known_hosts),
    )


def _config_paths(access: SshAccess) -> list[str]:
    if access.config:
        path = Path(access.config).expanduser()
        if not path.is_file():
            raise LinkError(
                f"the ssh config {path} does not exist", next="correct ssh.config in the fleet file"
            )
        return [str(path)]
    default = Path("~/.ssh/config").expanduser()
    return [str(default)] if default.is_file() else []


def _identities(access: SshAccess, configured: Sequence[str]) -> tuple[str, ...]:
    """Private keys that exist, in ssh's order. A key that was named and is not there is an error."""
    if access.identity:
        path = Path(access.identity).expanduser()
        if not path.is_file():
            raise AuthRejected(
                f"the key {path} does not exist", next="correct ssh.identity in the fleet file"
            )
        return (str(path),)
    names = configured or [f"~/.ssh/{name}" for name in DEFAULT_KEYS]
    found = (Path(os.path.expandvars(name)).expanduser() for name in names)
    return tuple(str(path) for path in found if path.is_file())


def _is_encrypted(path: str) -> bool:
    try:
        asyncssh.read_private_key(path)
    except (asyncssh.KeyEncryptionError, asyncssh.KeyImportError):
        return True
    except (OSError, ValueError):
        return False
    return False


def _known_hosts(access: SshAccess, config: SSHConfig) -> tuple[str, ...]:
    if access.known_hosts:
        return (str(Path(access.known_hosts).expanduser()),)
    configured = config.get("UserKnownHostsFile", None)
    if configured == [] or _strings(configured) == ["none"]:
        raise HostKeyRejected(
            "the ssh config says `UserKnownHostsFile none`: no host key could be checked",
            next="name a known_hosts file there, or in ssh.known_hosts of the fleet file",
        )
    users = _strings(configured) or ["~/.ssh/known_hosts", "~/.ssh/known_hosts2"]
    everyone = _strings(config.get("GlobalKnownHostsFile", None)) or [GLOBAL_KNOWN_HOSTS]
    return tuple(str(Path(name).expanduser()) for name in (*users, *everyone))


def _load_known_hosts(paths: Sequence[str]) -> asyncssh.SSHKnownHosts:
    """All good lines of all files; a line that is no entry is passed over, as ssh does."""
    good: list[str] = []
    for path in paths:
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for line in text.splitlines():
            try:
                asyncssh.import_known_hosts(line)
            except ValueError:
                continue
            good.append(line)
    return asyncssh.import_known_hosts("\n".join(good))


def _proxy_command(config: SSHConfig) -> str | None:
    command = config.get("ProxyCommand")
    if command is None or command == "none":
        return None
    return command if isinstance(command, str) else " ".join(_strings(command))


def _agent(config: SSHConfig) -> str | None:
    """The agent's socket: IdentityAgent with its variables expanded, else SSH_AUTH_SOCK."""
    configured = _string(config.get("IdentityAgent"))
    if configured == "none":
        return None
    if configured in (None, "", "SSH_AUTH_SOCK"):
        return os.environ.get("SSH_AUTH_SOCK") or None
    return str(Path(os.path.expandvars(configured)).expanduser())


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [str(item) for item in value] if isinstance(value, list | tuple) else []
