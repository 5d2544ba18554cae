"""Where the bundled profiles and themes are: inside the installed package, else in the checkout."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from gpu_tui.core.profile import Profile
from gpu_tui.parse.profile_md import ProfileError, parse_profile

PACKAGE = Path(__file__).resolve().parent


class ResourceError(Exception):
    """A file that belongs to gpu-tui itself is not there."""

    def __init__(self, text: str, next: str) -> None:
        super().__init__(text)
        self.text = text
        self.next = next


def profiles_dir() -> Path:
    """The directory with one `<platform>.md` per platform."""
    return _bundled("profiles")


def themes_dir() -> Path:
    """The directory with one file per theme."""
    return _bundled("themes")


def profile_files(directory: Path | None = None) -> Mapping[str, Path]:
    """Profile id -> file, sorted; names that begin with `_` are documentation."""
    found = sorted((directory or profiles_dir()).glob("*.md"))
    return {file.stem: file for file in found if not file.name.startswith("_")}


def read_profile(file: Path) -> Profile:
    """One profile; ProfileError also where the file cannot be read."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise ProfileError(f"cannot be read: {error.strerror}", str(file)) from None
    except UnicodeDecodeError as error:
        raise ProfileError(f"not UTF-8 at byte {error.start}", str(file)) from None
    return parse_profile(text, str(file))


@cache
def load_profiles() -> Mapping[str, Profile]:
    """All bundled profiles by id. Read once: they do not change while the program runs."""
    return {name: read_profile(file) for name, file in profile_files().items()}


def _bundled(name: str) -> Path:
    places = (PACKAGE / "_bundled" / name, PACKAGE.parent / name)
    for place in places:
        if place.is_dir():
            return place
    tried = " and ".join(str(place) for place in places)
    raise ResourceError(
        f"the bundled {name} are missing (looked in {tried})",
        "Install gpu-tui again; a checkout needs the folder beside gpu_tui/.",
    )
