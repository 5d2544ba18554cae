"""The files that belong to gpu-tui itself: inside the installed package, else in the checkout. And the
platforms' profiles, where a file of the user's own stands before the bundled one of the same name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from gpu_tui.core.profile import Profile, Verb
from gpu_tui.parse.profile_md import ProfileError, parse_profile
from gpu_tui.parse.yaml_strict import LARGEST_BYTES
from gpu_tui.places import config_dir

PACKAGE = Path(__file__).resolve().parent


class ResourceError(Exception):
    """A file that belongs to gpu-tui itself is not there."""

    def __init__(self, text: str, next: str) -> None:
        super().__init__(text)
        self.text = text
        self.next = next


class Shelf(Mapping[str, Profile]):
    """Profiles by id, each read from its file when it is first asked for: a fleet needs one or two."""

    def __init__(self, files: Mapping[str, Path], read: Mapping[str, Profile]) -> None:
        self._files = files
        self._read = dict(read)

    def __getitem__(self, name: str) -> Profile:
        if name not in self._read:
            self._read[name] = read_profile(self._files[name])
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


@dataclass(frozen=True, slots=True)
class Library:
    """All profiles by id, each with the file that it was read from in `path`.

    `refused` are the user's own files that are not what the schema says: where there is a bundled profile of
    that name it stays, else the platform is not known.
    """

    profiles: Mapping[str, Profile]
    refused: tuple[ProfileError, ...] = ()

    @property
    def complaints(self) -> tuple[str, ...]:
        """One sentence for each refused file: where, what, and what is used instead."""
        return tuple(
            f"{error} ({'the bundled profile is used' if _id(error) in self.profiles else 'not used'})"
            for error in self.refused
        )


def profiles_dir() -> Path:
    """The directory with one `<platform>.md` per platform."""
    return _bundled("profiles")


def themes_dir() -> Path:
    """The directory with one file per theme."""
    return _bundled("themes")


def user_profiles_dir(env: Mapping[str, str]) -> Path:
    """Where the user's own profiles stand; it need not be there."""
    return config_dir(env) / "profiles"


def profile_files(directory: Path | None = None) -> Mapping[str, Path]:
    """Profile id -> file, sorted; names that begin with `_` or `.` are no profiles."""
    found = sorted((directory or profiles_dir()).glob("*.md"))
    return {file.stem: file for file in found if not file.name.startswith(("_", "."))}


def read_profile(file: Path) -> Profile:
    """One profile; ProfileError also where the file cannot be read."""
    try:
        with file.open("rb") as opened:
            raw = opened.read(LARGEST_BYTES + 1)  # what is longer is refused by its length
        text = raw.decode("utf-8-sig")
    except OSError as error:
        hint = "Check the file and its permissions."
        raise ProfileError(f"cannot be read: {error.strerror}", str(file), next=hint) from None
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        hint = "Save the file as UTF-8."
        raise ProfileError("not UTF-8 text", str(file), line, next=hint) from None
    return parse_profile(text, str(file))


def load_profiles() -> Mapping[str, Profile]:
    """All profiles by id: the bundled ones, and the user's own before them."""
    return library().profiles


def library(env: Mapping[str, str] | None = None) -> Library:
    """The profiles of this user. Read once: they do not change while the program runs.

    A broken file of the user's is told in `refused`; a broken bundled one raises ProfileError when it is
    asked for.
    """
    return _library(profiles_dir(), user_profiles_dir(os.environ if env is None else env))


@cache
def _library(bundled: Path, own: Path) -> Library:
    files = dict(profile_files(bundled))
    read: dict[str, Profile] = {}
    refused: list[ProfileError] = []
    for name, file in profile_files(own).items():
        try:
            profile = read_profile(file)
        except ProfileError as error:
            refused.append(error)
        else:
            read[name] = _no_laxer(profile, read_profile(files[name])) if name in files else profile
            files[name] = file
    return Library(Shelf(dict(sorted(files.items())), read), tuple(refused))


def _no_laxer(own: Profile, bundled: Profile) -> Profile:
    """`own` with no park that the bundled profile does not know as one: without pulling what lies there nothing
    is stopped on the word of a file that anybody edits in a hurry. Stricter than the bundled one it may be.
    """
    parks = [
        row
        for row in bundled.teardown
        if row.park and all(tier.survives_stop for tier in bundled.tiers_under(row, None))
    ]
    rows = tuple(
        row
        if not row.park or any(_within(row, park) for park in parks)
        else replace(row, reversible=False)
        for row in own.teardown
    )
    return replace(own, teardown=rows)


def _within(row: Verb, park: Verb) -> bool:
    """The same verb, for no other variants."""
    mine = set(row.applies_to)
    return row.verb == park.verb and (
        not park.applies_to or (bool(mine) and mine <= set(park.applies_to))
    )


def _id(error: ProfileError) -> str:
    return Path(error.file or "").stem


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
