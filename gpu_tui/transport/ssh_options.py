"""The options of one host: what asyncssh makes of them, and which of them need the user's own ssh."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

from asyncssh.encryption import get_default_encryption_algs, get_encryption_algs
from asyncssh.kex import get_default_kex_algs, get_kex_algs
from asyncssh.mac import get_default_mac_algs, get_mac_algs
from asyncssh.public_key import get_public_key_algs

from gpu_tui.transport.pattern import chosen

# Keyword in lower case -> its values, as `ssh -G` prints them; an empty tuple for `none` where files are listed.
Options = dict[str, tuple[str, ...]]

# Option -> argument of asyncssh's connect, the algorithms it has by default, all that it knows.
_ALGORITHMS = {
    "Ciphers": ("encryption_algs", get_default_encryption_algs, get_encryption_algs),
    "MACs": ("mac_algs", get_default_mac_algs, get_mac_algs),
    "KexAlgorithms": ("kex_algs", get_default_kex_algs, get_kex_algs),
    "CASignatureAlgorithms": ("signature_algs", get_public_key_algs, get_public_key_algs),
}
_METHODS = {
    "publickey": "pubkeyauthentication",
    "keyboard-interactive": "kbdinteractiveauthentication",
    "password": "passwordauthentication",
}
FAMILIES = {"any": socket.AF_UNSPEC, "inet": socket.AF_INET, "inet6": socket.AF_INET6}
# Options that only OpenSSH follows -> the value that asks for nothing.
_OPENSSH_ONLY = {
    "PKCS11Provider": "none",
    "KnownHostsCommand": "none",
    "RevokedHostKeys": "none",
    "BindInterface": "none",
    "SecurityKeyProvider": "internal",
}


def first(options: Mapping[str, tuple[str, ...]], name: str) -> str | None:
    """The first value, or None where the option is not set."""
    return next(iter(options.get(name, ())), None)


def is_on(options: Mapping[str, tuple[str, ...]], name: str, *, default: bool = False) -> bool:
    """Whether a flag is on; `unbound` and `host-bound` of PubkeyAuthentication count as on."""
    value = first(options, name)
    return default if value is None else value.lower() not in ("no", "false")


def methods(options: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The ways to log in that are implemented here and that the config allows, in its order."""
    order = ",".join(options.get("preferredauthentications", _METHODS)).split(",")
    return tuple(
        name for name in order if name in _METHODS and is_on(options, _METHODS[name], default=True)
    )


def beyond(options: Mapping[str, tuple[str, ...]]) -> str | None:
    """The option for which a host needs the user's own ssh, or None."""
    for name, harmless in _OPENSSH_ONLY.items():
        if (first(options, name.lower()) or harmless).lower() != harmless:
            return name
    if is_on(options, "proxyusefdpass"):
        return "ProxyUseFdpass"
    for name in ("GSSAPIAuthentication", "HostbasedAuthentication"):
        if not methods(options) and is_on(options, name.lower()):
            return name
    return next((name for name in _ALGORITHMS if _algorithms(options, name) == []), None)


def _algorithms(options: Mapping[str, tuple[str, ...]], name: str) -> list[str] | None:
    """Those of an option that asyncssh knows, or None where it is not set."""
    listed = first(options, name.lower())
    if listed is None:
        return None
    _, usual, possible = _ALGORITHMS[name]
    return chosen(listed, [*map(bytes.decode, usual())], [*map(bytes.decode, possible())])


def connect_arguments(options: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """The options that asyncssh itself follows, as arguments of its `connect`."""
    found: dict[str, Any] = {}
    for name, (argument, _, _) in _ALGORITHMS.items():
        if (known := _algorithms(options, name)) is not None:
            found[argument] = known
    size, _, time = (first(options, "rekeylimit") or "default").partition(" ")
    if size not in ("0", "default"):
        found["rekey_bytes"] = size
    if time:
        found["rekey_seconds"] = None if time in ("0", "none") else time
    found["family"] = FAMILIES[(first(options, "addressfamily") or "any").lower()]
    if (address := first(options, "bindaddress")) is not None:
        found["local_addr"] = address, 0
    found["tcp_keepalive"] = is_on(options, "tcpkeepalive", default=True)
    found["host_key_alias"] = first(options, "hostkeyalias")
    return found
