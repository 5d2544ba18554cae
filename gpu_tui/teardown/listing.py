"""What lies below the results on the box, name by name; nothing is left out, nothing is followed.

A name that cannot be here, or a link to what is not pulled, is refused by name. A link to something
that is pulled under its own name loses nothing but itself, and is told of.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import shlex
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gpu_tui.core.evidence import NotPulled
from gpu_tui.core.manifest import home_path
from gpu_tui.teardown.box import SURVEY_LIMIT, TEXT_CAP
from gpu_tui.teardown.local import OWN
from gpu_tui.transport.base import Connection, RemoteEntry, RemoteFileError

MAX_ENTRIES = 100_000
COMPONENT_BYTES, PATH_BYTES = 240, 1_024
LINKS_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Listing:
    """The tree on the box. `files`: (path, size). `refused`: (path, why), nothing is left out.
    `directories`: what stands at the top, empty or not.
    """

    root: str
    files: tuple[tuple[str, int], ...]
    refused: tuple[tuple[str, str], ...] = ()
    directories: tuple[str, ...] = ()
    left: NotPulled = field(default_factory=NotPulled)

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that would be lost, also those that cannot be pulled."""
        return tuple(path for path, _ in self.files) + tuple(path for path, _ in self.refused)

    @property
    def sizes(self) -> tuple[int | None, ...]:
        """Bytes of each of `paths`; None for what was refused."""
        return tuple(size for _, size in self.files) + (None,) * len(self.refused)

    @property
    def bytes(self) -> int:
        """Sum of all sizes."""
        return sum(size for _, size in self.files)


async def list_remote(connection: Connection, root: str) -> Listing:
    """Everything below `root` (absolute). RemoteFileError where it cannot be read whole."""
    async with connection.files() as files:
        entries = await files.walk(root, limit=MAX_ENTRIES)
    if len(entries) >= MAX_ENTRIES:
        raise RemoteFileError(f"more than {MAX_ENTRIES} files: too many to be sure of")
    # Of a hundred thousand names that takes most of a second: not on the event loop.
    regular, links, refused = await asyncio.to_thread(_judged, entries)
    top, empty = await asyncio.to_thread(_directories, entries)
    good: tuple[tuple[str, str], ...] = ()
    if links:
        good, bad = await _followed(connection, root, links, {path for path, _ in regular})
        refused += bad
    return Listing(root, tuple(regular), tuple(refused), top, NotPulled(good, empty))


def _directories(entries: Iterable[RemoteEntry]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those that stand at the top, and those that hold nothing."""
    names = {entry: _text(entry) for entry in entries}
    dirs = sorted(name for entry, name in names.items() if entry.kind == "dir")
    holding = {name.rpartition("/")[0] for name in names.values()}
    top = tuple(name for name in dirs if "/" not in name)
    return top, tuple(name for name in dirs if name not in holding)


def _judged(
    entries: Sequence[RemoteEntry],
) -> tuple[list[tuple[str, int]], list[str], list[tuple[str, str]]]:
    """The regular files, the links and what is refused."""
    found = sorted((entry for entry in entries if entry.kind != "dir"), key=lambda e: e.path)
    regular: list[tuple[str, int]] = []
    links: list[str] = []
    refused: list[tuple[str, str]] = []
    folded: set[str] = set()
    tops = {_folded(_text(e)) for e in entries if e.kind == "dir" and b"/" not in e.path}
    for entry in found:
        path = _text(entry)
        why = _problem(entry, path, folded)
        if not why and home_path(path) != path and _folded(home_path(path)) in tops:
            why = f"it comes home as {home_path(path)}, and that is a directory there"
        folded.add(_folded(path))
        if why:
            refused.append((path, why))
        elif entry.kind == "link":
            links.append(path)
        else:
            regular.append((path, entry.size))
    return regular, links, refused


def path_problem(path: str) -> str | None:
    """Why a remote path cannot be a local one, or None."""
    try:
        data = path.encode()
    except UnicodeEncodeError:
        return "the name is not UTF-8"
    parts = path.split("/")
    if not path or any(part in ("", ".", "..") for part in parts):
        return "the path leaves its directory"
    if not path.isprintable() or "\\" in path:
        return "the name has control characters"
    if OWN in path.casefold().split("/"):
        return f"{OWN} is reserved"
    if len(data) > PATH_BYTES or any(len(part.encode()) > COMPONENT_BYTES for part in parts):
        return "the name is too long"
    return None


def _problem(entry: RemoteEntry, path: str, folded: set[str]) -> str | None:
    if entry.kind not in ("file", "link"):
        return "it is neither a file nor a directory"
    if _folded(path) in folded:
        return "another name differs only in case or in how it is composed"
    return path_problem(path)


def _text(entry: RemoteEntry) -> str:
    return entry.path.decode("utf-8", "surrogateescape")


def _folded(path: str) -> str:
    """What a disk that is blind to case and to Unicode forms makes of a name."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


async def _followed(
    connection: Connection, root: str, links: Sequence[str], files: set[str]
) -> tuple[tuple[tuple[str, str], ...], list[tuple[str, str]]]:
    """Links with what each leads to among what is pulled; and those that lead to nothing of it, neither to a
    file nor to a directory below.
    """
    targets: dict[str, tuple[str, str]] = {}
    for first in range(0, len(links), LINKS_AT_ONCE):
        targets |= await _targets(connection, root, links[first : first + LINKS_AT_ONCE])
    good: list[tuple[str, str]] = []
    bad: list[tuple[str, str]] = []
    for path in links:
        kind, target = targets.get(path, ("", ""))
        below = target.removeprefix(f"{root}/")
        inside = kind == "d" and below != target
        if inside or (kind == "f" and below in files):
            good.append((path, below))
        else:
            bad.append((path, "it is a link to something that is not pulled"))
    return tuple(good), bad


async def _targets(
    connection: Connection, root: str, paths: Sequence[str]
) -> Mapping[str, tuple[str, str]]:
    """Map each path to `f` or `d` and what it finally points at, absolute; broken ones are missing."""
    mark = secrets.token_hex(8)
    calls = "\n".join(f"l {number} {shlex.quote('./' + path)}" for number, path in enumerate(paths))
    program = _TARGETS.format(root=shlex.quote(root), mark=mark, calls=calls)
    done = await connection.run(program, limit=SURVEY_LIMIT, stdout_cap=TEXT_CAP)
    found: dict[str, tuple[str, str]] = {}
    for line in done.stdout.decode("utf-8", "surrogateescape").split("\n"):
        match = re.fullmatch(rf"{mark} (\d{{1,9}}) ([fd]) (/.*)", line)
        if match and int(match[1]) < len(paths):
            found[paths[int(match[1])]] = (match[2], match[3])
    return found


_TARGETS = """
cd -- {root} || exit 1
l() {{
  t=$(readlink -f -- "$2") || return 0
  k=
  [ -f "$t" ] && k=f
  [ -d "$t" ] && k=d
  [ -n "$k" ] && printf '{mark} %s %s %s\\n' "$1" "$k" "$t"
}}
{calls}
"""
