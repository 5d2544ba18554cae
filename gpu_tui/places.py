"""Where the user's own directories are, by the XDG standard, what the user is called, and where this program is."""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import stat
import sys
from collections.abc import Mapping
from pathlib import Path


class NoHome(Exception):
    """Nothing says where this user's own files are."""

    next = "Set HOME to a directory of yours."

    def __init__(self) -> None:
        super().__init__(
            "this user has no home directory: $HOME is not set, and the system names none"
        )


def user_name() -> str:
    """What this machine calls whoever runs us; their number where it has no name, as containers do."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def config_dir(env: Mapping[str, str]) -> Path:
    """$XDG_CONFIG_HOME/gpu-tui, with the standard fallback."""
    return xdg(env, "XDG_CONFIG_HOME", ".config") / "gpu-tui"


def rules_dir(env: Mapping[str, str]) -> Path:
    """The directory of the user's triage rules; it may not exist. Raises NoHome."""
    return config_dir(env) / "triage.d"


def user_home(env: Mapping[str, str]) -> Path:
    """$HOME, else what the password database says: also where $HOME is empty or relative. Raises NoHome."""
    home = env.get("HOME", "")
    try:
        return Path(home if home.startswith("/") else pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        raise NoHome from None


def expand_home(text: str, home: Path) -> Path:
    """A local path with a leading `~` replaced."""
    return home / text[2:] if text == "~" or text.startswith("~/") else Path(text)


def xdg(env: Mapping[str, str], name: str, fallback: str) -> Path:
    """An XDG base directory; a relative value counts as not set, as the standard says."""
    value = env.get(name, "")
    return Path(value) if value.startswith("/") else user_home(env) / fallback


def make_private(directory: Path) -> None:
    """Create a directory and its missing parents with mode 0700, whatever the umask is.

    One that exists keeps its mode. Raises OSError as `Path.mkdir` does.
    """
    if directory.is_dir():
        return
    missing = [directory]
    for parent in directory.parents:
        if parent.exists():
            break
        missing.append(parent)
    for place in reversed(missing):
        try:
            place.mkdir(mode=0o700)
        except FileExistsError:  # by another process, at the same time
            if place.is_dir():
                continue
            raise
        if stat.S_IMODE(place.stat().st_mode) & 0o777 != 0o700:
            place.chmod(0o700)


def own_command() -> tuple[str, ...]:
    """How this very program is started where $PATH is not ours: cron knows of /usr/bin and /bin alone."""
    begun = Path(sys.argv[0])
    if begun.name == "gpu-tui" and os.access(begun, os.X_OK):
        return (str(begun.absolute()),)
    found = shutil.which("gpu-tui")
    return (os.path.abspath(found),) if found else (sys.executable, "-m", "gpu_tui")
