"""Why a host key was refused, in one sentence with the next step. Never a way to accept it."""

from __future__ import annotations

import shlex

import asyncssh

from gpu_tui.transport.access import Route
from gpu_tui.transport.base import HostKeyRejected

COMPARE = "compare the fingerprint with the one in the provider's console"
OTHER_NAME = (
    "another box may answer; if it is the right one, have its authority sign it for this name too"
)


def refusal(route: Route, shown: asyncssh.SSHKey | None, said: str) -> HostKeyRejected:
    """The error for a key that was not accepted: asyncssh raises the same one for all of them.

    `shown` is the key that the host offered, None where it was a certificate; `said` is asyncssh's text.
    """
    trust = route.trust
    name = trust.name
    revoked = [entry for entry in trust.revoked if entry.key == shown]
    if revoked or "revoked" in said:
        where = f" ({revoked[0].file} line {revoked[0].line})" if revoked else ""
        return HostKeyRejected(
            f"{name} shows a host key that is marked as revoked{where}: {describe(shown)}",
            next="do not connect; ask whoever revoked it, or destroy the box in the console",
            host_key=_fingerprint(shown),
        )
    if shown is None and "principal" in said:
        return HostKeyRejected(
            f"{name} shows a host certificate that is for other names: {said}", next=OTHER_NAME
        )
    if shown is None and said.startswith("Certificate "):
        return HostKeyRejected(
            f"{name} shows a host certificate that is not valid: {said}",
            next="have its authority sign it anew",
        )
    if shown is None:
        return HostKeyRejected(
            f"{name} shows a host certificate that no trusted authority signed, or not for it: {said}",
            next=f"add the authority to known_hosts as @cert-authority, or try: {route.command}",
        )
    if trust.keys:
        old = ", ".join(dict.fromkeys(describe(entry.key) for entry in trust.keys))
        file, line = trust.keys[0].file, trust.keys[0].line
        return HostKeyRejected(
            f"the host key of {name} CHANGED: it shows {describe(shown)}, {file} line {line} has {old}",
            next=f"another box answers, or this one was re-created: {COMPARE}, and only if it is the "
            f"same: ssh-keygen -f {shlex.quote(file)} -R {shlex.quote(name)} && {route.command}",
            host_key=_fingerprint(shown),
        )
    return HostKeyRejected(
        f"the host key of {name} is unknown: it shows {describe(shown)}{_elsewhere(route, shown)}",
        next=f"{COMPARE}, then connect once by hand: {route.command}",
        host_key=_fingerprint(shown),
    )


def describe(key: asyncssh.SSHKey | None) -> str:
    """Type and SHA-256 fingerprint."""
    if key is None:
        return "a certificate"
    return f"{key.algorithm.decode('ascii', 'replace')} {key.get_fingerprint()}"


def _fingerprint(key: asyncssh.SSHKey | None) -> str | None:
    return key.get_fingerprint() if key else None


def _elsewhere(route: Route, shown: asyncssh.SSHKey) -> str:
    """What is known under the same host name and another port: there other boxes may answer."""
    known = (*route.trust.bare, *route.trust.elsewhere)
    if not known:
        return ""
    same = [entry for entry in known if entry.key == shown]
    names = ", ".join(dict.fromkeys(entry.patterns for entry in (same or known)))
    names = "a hashed entry" if "|" in names else names
    verb = "has this very key as" if same else "knows other keys of this host, for"
    return f" (known_hosts {verb} {names})"
