"""Where the user's own files are, and what stands in them: the fleet, the config, the state directory."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_tui.core import units
from gpu_tui.parse.yaml_strict import (
    LARGEST_BYTES,
    ConfigError,
    FleetError,
    SourceError,
    did_you_mean,
)
from gpu_tui.places import config_dir, expand_home, make_private, user_home, xdg

if TYPE_CHECKING:  # every command imports this module; few of them read a fleet before they run
    from gpu_tui.core.fleet import Fleet
    from gpu_tui.core.profile import Profile
    from gpu_tui.parse.config_file import UserConfig
    from gpu_tui.parse.host import HostAddress

__all__ = [
    "ConfigError",
    "FleetError",
    "config_dir",
    "config_path",
    "find_fleet",
    "fleet_of_hosts",
    "load_config",
    "load_fleet",
    "must_not_act",
    "state_dir",
    "user_home",
]


def find_fleet(explicit: str | None, env: Mapping[str, str], cwd: Path) -> Path | None:
    """The fleet file: `--fleet`, $GPU_TUI_FLEET, ./fleet.yaml, the user's config directory, or None.

    A file that was named must be there: FleetError.
    """
    named = [(explicit, "--fleet"), (env.get("GPU_TUI_FLEET") or None, "$GPU_TUI_FLEET")]
    for name, origin in named:
        if name is not None:
            path = cwd / expand_home(name, user_home(env))
            if not path.exists():
                raise FleetError(
                    f"{origin} names {name}, and there is no such file",
                    str(path),
                    next="Check the path, or write the file with: gpu-tui init",
                )
            return path
    places = (cwd / "fleet.yaml", config_dir(env) / "fleet.yaml")
    return next((place for place in places if place.is_file()), None)


def load_fleet(path: Path, profiles: Mapping[str, Profile]) -> Fleet:
    """The fleet in `path`. Raises FleetError."""
    from gpu_tui.parse.fleet_file import parse_fleet

    return parse_fleet(read_text(path, FleetError), path, profiles, user_home(os.environ))


def fleet_of_hosts(
    hosts: Sequence[str], platform: str | None, profiles: Mapping[str, Profile] | None = None
) -> Fleet:
    """A fleet that no file describes: each host as alias, user@host, ssh://user@host:port or [v6].

    Without a `platform` each is a bare box that may show which one it is.
    """
    from gpu_tui.core.fleet import Fleet, Instance, Results, SshAccess
    from gpu_tui.core.profile import FALLBACK_PLATFORM, all_signs, scheduler_of
    from gpu_tui.parse.box_paths import BoxPaths
    from gpu_tui.parse.host import AddressError, parse_host
    from gpu_tui.resources import load_profiles

    known = load_profiles() if profiles is None else profiles
    signs = all_signs(known) if platform is None else ()
    platform = platform or FALLBACK_PLATFORM
    if platform not in known:
        hint = did_you_mean(platform, known) or f"There are: {', '.join(sorted(known))}."
        raise FleetError(f'no platform is called "{platform}"', next=hint)
    instances: list[Instance] = []
    for host in hosts:
        try:
            address = parse_host(host)
        except AddressError as error:
            raise FleetError(error.text, next=error.next) from None
        paths = BoxPaths(known[platform])
        instances.append(
            Instance(
                name=_free_name(address, {instance.name for instance in instances}),
                ssh=SshAccess(address.host, address.user, address.port),
                platform=platform,
                logs=paths.logs,
                results=Results(paths.results, None),
                mounts=paths.mounts,
                scheduler=scheduler_of(known[platform]),
                signs=signs,
            )
        )
    return Fleet(None, tuple(instances), None)


def config_path(env: Mapping[str, str]) -> Path:
    """The user's settings file: $GPU_TUI_CONFIG (set by --config), else config.yaml; it need not be there."""
    named = env.get("GPU_TUI_CONFIG")
    return expand_home(named, user_home(env)) if named else config_dir(env) / "config.yaml"


def must_not_act(env: Mapping[str, str]) -> bool:
    """$GPU_TUI_READONLY is set: nothing may be stopped from here, whatever a flag or the fleet file says.

    Only `0` and an empty value do not count: whoever wrote something else meant it.
    """
    return env.get("GPU_TUI_READONLY", "") not in ("", "0")


def load_config(env: Mapping[str, str]) -> UserConfig:
    """The user's settings: $GPU_TUI_CONFIG (set by --config), else config.yaml; defaults if there is none.

    A file that was named must be there. Raises ConfigError.
    """
    from gpu_tui.parse.config_file import UserConfig, parse_config

    path = config_path(env)
    if not env.get("GPU_TUI_CONFIG") and not path.exists():
        return UserConfig()
    text = _from_pipe(path) if path.is_fifo() else read_text(path, ConfigError)
    return parse_config(text, str(path))


@cache
def _from_pipe(path: Path) -> str:
    """What comes out of a pipe, `--config <(...)`, comes once; the settings are asked for more often."""
    return read_text(path, ConfigError)


def read_text(path: Path, raises: type[SourceError], errors: str = "strict") -> str:
    """A small UTF-8 file's text; `raises` says why it cannot be had. `errors` is as of `bytes.decode`."""
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        hint = "Check the path and its permissions."
        raise raises(f"cannot be read: {error.strerror}", str(path), next=hint) from None
    if len(raw) > LARGEST_BYTES:
        hint = f"Keep it below {units.size(LARGEST_BYTES)}."
        raise raises("far too large for a settings file", str(path), next=hint)
    try:
        return raw.decode("utf-8-sig", errors)
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise raises("not UTF-8 text", str(path), line, next="Save the file as UTF-8.") from None


def state_dir(env: Mapping[str, str]) -> Path:
    """$XDG_STATE_HOME/gpu-tui, made if missing, readable by its owner only.

    Where it cannot be made it is named all the same: whoever opens a file there says what is not kept, and goes on.
    One that cannot be closed to others is refused: they could read what is kept, and put something there.
    """
    place = xdg(env, "XDG_STATE_HOME", ".local/state") / "gpu-tui"
    try:
        with suppress(OSError):
            make_private(place)
        if place.is_dir() and stat.S_IMODE(place.stat().st_mode) & 0o077:
            place.chmod(0o700)
    except OSError as error:
        raise FleetError(
            f"the state directory cannot be used: {error.strerror}",
            str(place),
            next="Make it writable, or set XDG_STATE_HOME to a directory of yours.",
        ) from None
    return place


def _free_name(address: HostAddress, taken: set[str]) -> str:
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", address.host).strip("-.")[:56] or "host"
    if base not in taken:
        return base
    numbered = f"{base}-{address.port}" if address.port else base
    number = 2
    while numbered in taken:
        numbered = f"{base}-{number}"
        number += 1
    return numbered
