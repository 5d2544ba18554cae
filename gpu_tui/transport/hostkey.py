"""Why a host key was refused, in one sentence with the next step. Never a way to accept it."""

from __future__ import annotations

import asyncssh

from gpu_tui.transport.access import Route
from gpu_tui.transport.base import HostKeyRejected


def refusal(route: Route, offered: asyncssh.SSHKey | None, why: str) -> HostKeyRejected:
    """Tell a new key from a changed and a revoked one: asyncssh raises the same error for all."""
    shown = _shown(offered)
    print_ = offered.get_fingerprint() if offered else None
    name = route.known_hosts_name
    if "revoked" in why:
        return HostKeyRejected(
            f"{name} shows a host key that is marked revoked: {shown}",
            next="do not connect; ask the provider why this key is in use",
            host_key=print_,
        )
    known = trusted_keys(route)
    if known:
        old = ", ".join(_shown(key) for key in known)
        file = next(iter(route.known_hosts), "~/.ssh/known_hosts")
        return HostKeyRejected(
            f"the host key of {name} CHANGED: it shows {shown}, known_hosts has {old}",
            next=f"compare it with the provider's console; only if the box was re-created: "
            f"ssh-keygen -f {file} -R '{name}', then: {_ssh_command(route)}",
            host_key=print_,
        )
    return HostKeyRejected(
        f"the host key of {name} is unknown: it shows {shown}",
        next=f"compare it with the provider's console, then connect once by hand: "
        f"{_ssh_command(route)}",
        host_key=print_,
    )


def trusted_keys(route: Route) -> list[asyncssh.SSHKey]:
    """The keys that known_hosts has for exactly this host and port."""
    return list(route.trusted.match(route.known_hosts_name, "", None)[0])


def _shown(key: asyncssh.SSHKey | None) -> str:
    if key is None:
        return "a key that could not be read"
    return f"{key.algorithm.decode('ascii', 'replace')} {key.get_fingerprint()}"


def _ssh_command(route: Route) -> str:
    if route.named != route.host:
        return f"ssh {route.named}"
    port = f"-p {route.port} " if route.port != 22 else ""
    return f"ssh {port}{route.user}@{route.host}"
