"""What asyncssh can do with the config of one host, and what of it needs the user's own ssh."""

from __future__ import annotations

import asyncssh

from gpu_tui.transport.ssh_config import UserConfig

_ALGORITHMS = {
    "Ciphers": "encryption_algs",
    "MACs": "mac_algs",
    "KexAlgorithms": "kex_algs",
    "CASignatureAlgorithms": "signature_algs",
}
_METHODS = {
    "publickey": "PubkeyAuthentication",
    "keyboard-interactive": "KbdInteractiveAuthentication",
    "password": "PasswordAuthentication",
}


def methods(config: UserConfig) -> tuple[str, ...]:
    """The ways to log in that are ours and that the config allows, in its order."""
    preferred = config.get("PreferredAuthentications")
    order = preferred.split(",") if isinstance(preferred, str) else list(_METHODS)
    return tuple(
        name for name in order if name in _METHODS and config.get(_METHODS[name]) is not False
    )


def beyond(config: UserConfig) -> str | None:
    """The directive for which a host needs the user's own ssh, or None."""
    get = config.get
    for name in ("PKCS11Provider", "KnownHostsCommand", "RevokedHostKeys", "BindInterface"):
        if str(get(name) or "none").lower() != "none":
            return name
    if str(get("SecurityKeyProvider") or "internal").lower() != "internal":
        return "SecurityKeyProvider"
    if str(get("ProxyUseFdpass") or "no").lower() in ("yes", "true"):
        return "ProxyUseFdpass"
    if not methods(config) and get("GSSAPIAuthentication"):
        return "GSSAPIAuthentication"
    if not methods(config) and get("HostbasedAuthentication"):
        return "HostbasedAuthentication"
    return _strange_algorithm(config)


def _strange_algorithm(config: UserConfig) -> str | None:
    """A list of algorithms of which asyncssh has none."""
    for name, field in _ALGORITHMS.items():
        value = config.get(name)
        if value is not None:
            alone = UserConfig.of(((name, value),), "host")
            try:
                if not getattr(connect_options(alone), field):
                    return name
            except ValueError:
                return name
    return None


def connect_options(config: UserConfig) -> asyncssh.SSHClientConnectionOptions:
    """The config as asyncssh's connect takes it; it reads no file then. ValueError if it cannot."""
    empty = object.__new__(asyncssh.SSHClientConnectionOptions)
    empty.config, empty.kwargs = config, {}
    return asyncssh.SSHClientConnectionOptions(
        empty, host="", config=None, known_hosts=([], [], []), client_keys=None, agent_path=None
    )
