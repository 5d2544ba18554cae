"""What this machine tells for a support bundle: versions, terminal, settings by their kinds, what is kept."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from gpu_tui import __version__, settings
from gpu_tui.core.fleet import Fleet
from gpu_tui.parse.config_file import Alerts, UserConfig
from gpu_tui.places import user_name
from gpu_tui.state.support import Scrub, Surroundings, bundle
from gpu_tui.state.views import FleetView
from gpu_tui.teardown.journal import FILE_NAME, read_journal
from gpu_tui.wiring.report import hops_of, mask_of

PARTS = ("textual", "asyncssh", "cryptography", "plotext", "httpx", "torch", "safetensors")
TERMINAL = ("TERM", "COLORTERM", "TERM_PROGRAM", "LANG", "LC_ALL", "LC_CTYPE", "NO_COLOR")
NAMED = (  # only whether they are set: what they hold may be a name, an address or a password
    *("GPU_TUI_FLEET", "GPU_TUI_CONFIG", "GPU_TUI_READONLY", "XDG_CONFIG_HOME", "XDG_STATE_HOME"),
    *("TMUX", "STY", "SSH_CONNECTION", "SSH_AUTH_SOCK", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"),
    *("NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "KUBECONFIG"),
)
SECRETIVE = ("TOKEN", "KEY", "SECRET", "PASSW", "CREDENTIAL", "WEBHOOK")


def bundle_of(fleet: Fleet, view: FleetView, audit: Iterable[str]) -> str:
    """The text for this fleet as it was seen, on this machine."""
    env = os.environ
    config, wrong = UserConfig(), None
    try:
        config = settings.load_config(env)
    except settings.ConfigError as error:
        wrong = error.text
    around = Surroundings(_versions(), _terminal(env), _settings(config, wrong), _kept(env))
    return bundle(view, around, audit, _scrub(fleet, view), len(view.accounts))


def _scrub(fleet: Fleet, view: FleetView) -> Scrub:
    mask = mask_of(fleet, view, show_hosts=False)
    boxes = [one.instance for one in view.instances]
    hosts = {*mask.hosts, platform.node()}
    hosts |= {host for one in view.instances for host, _ in one.provider.addresses}
    hosts |= {word for one in view.instances for word in (*one.provider.inner, one.link.hop or "")}
    kept = {  # ids, and whatever lies about in the environment under a telling name
        *(box.provider.id for box in boxes if box.provider.id),
        *(tag for box in boxes for tag in box.tags),
        *(cell.name for one in view.instances for cell in one.queue.cells),
        *(v for k, v in os.environ.items() if any(word in k.upper() for word in SECRETIVE)),
        *([view.sweep] if view.sweep else []),
    }
    secrets = (*mask.secrets, *sorted(kept, key=len, reverse=True))
    users = {user_name(), *(user for box in boxes if (user := box.ssh.user))}
    users |= {hop.user for box in boxes for hop in hops_of(box) if hop.user}
    words = type(mask)(secrets, tuple(sorted(filter(None, hosts))), mask.home)
    names = [box.name for box in boxes]
    return Scrub(words, names, sorted(users))


def _versions() -> dict[str, str]:
    rows = {"gpu-tui": __version__, "python": platform.python_version()}
    rows["system"] = f"{platform.system()} {platform.release()} {platform.machine()}"
    for part in PARTS:
        try:
            rows[part] = importlib.metadata.version(part)
        except importlib.metadata.PackageNotFoundError:
            rows[part] = "not installed"
    return rows


def _terminal(env: Mapping[str, str]) -> dict[str, str]:
    rows = {name: env[name] for name in TERMINAL if env.get(name)}
    try:
        size = os.get_terminal_size(sys.__stderr__.fileno() if sys.__stderr__ else 2)
        rows["size"] = f"{size.columns}x{size.lines}"
    except (OSError, ValueError):
        rows["size"] = "stderr is no terminal"
    rows["encoding"] = str(getattr(sys.__stdout__, "encoding", None))
    return rows | {"set": ", ".join(name for name in NAMED if env.get(name)) or "none of ours"}


def _settings(config: UserConfig, wrong: str | None) -> dict[str, str]:
    if wrong is not None:
        return {"config.yaml": f"cannot be read: {wrong}"}
    alerts, usual = config.alerts, Alerts()
    hook = alerts.webhook
    ways = ["command"] if alerts.command else []
    if hook is not None:
        signed = ", signed" if hook.secret_env else ""
        ways.append(f"webhook ({hook.receiver or 'receiver by its host'}{signed})")
    changed = [name for name in ("bell", "desktop", "severity", "kinds", "instances", "quiet", "quiet_lets") if getattr(alerts, name) != getattr(usual, name)]  # fmt: skip
    return {
        "theme": config.theme or "the usual one",
        "layout": config.layout or "the usual one",
        "language": config.language or "by the locale",
        "remapped keys": ", ".join(sorted(config.keys)) or "none",
        "ways out of alerts": ", ".join(ways) or "none",
        "alerts, beside the usual": ", ".join(changed) or "nothing",
        "accounts": ", ".join(config.accounts) or "none named",
        "log_memory": "the usual" if config.log_memory is None else f"{config.log_memory} bytes",
    }


def _kept(env: Mapping[str, str]) -> dict[str, str]:
    """Which files the state directory has, their sizes and rights; of the journal whether it holds together."""
    try:
        place = settings.state_dir(env)
        rows = {file.name: _size(file) for file in sorted(place.iterdir()) if file.is_file()}
    except (OSError, settings.FleetError) as error:
        return {"state directory": f"cannot be read: {getattr(error, 'strerror', None) or error}"}
    try:
        reading = read_journal(place / "journal" / FILE_NAME)
        rows["journal"] = f"{len(reading.records)} records{', damaged' if reading.damage else ''}"
    except OSError as error:
        rows["journal"] = f"cannot be read: {type(error).__name__}"
    return rows or {"files": "none"}


def _size(file: Path) -> str:
    about = file.stat()
    return f"{about.st_size} bytes, mode {about.st_mode & 0o777:o}"
