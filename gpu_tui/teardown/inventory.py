"""Every result file of the box with its hash, and whether that is what the box's own manifest claims."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import aclosing
from dataclasses import dataclass, field

from gpu_tui.core.manifest import FileEntry, Manifest, compare
from gpu_tui.core.number import whole
from gpu_tui.core.proof import UNDER_WAY
from gpu_tui.core.transfer import Count
from gpu_tui.teardown.box import read_text
from gpu_tui.teardown.hash_file import HashFile, Known
from gpu_tui.teardown.hashing import Stamps, hash_files, stamps
from gpu_tui.teardown.listing import Listing
from gpu_tui.teardown.manifest_file import (
    MARKER_NAME,
    OWN_NAME,
    ManifestUnreadable,
    parse_manifest,
)
from gpu_tui.transport.base import Connection

Refused = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Hashed:
    """What was hashed already, by path: the stamp that the file had before, and its entry.

    It saves work after a cut and between the rungs. It is good for one boot of one machine and one
    root, and for a file whose stamp is still the same; the last look before a call never uses it.
    `file` keeps it for the next run.
    """

    file: HashFile | None = None
    _of: Hashable = None
    _seen: Known = field(default_factory=dict, repr=False)

    def of(self, box: Hashable) -> Hashed:
        """Itself, emptied where it was of another box. It may read a file: not on the event loop."""
        if box != self._of:
            self._of = box
            self._seen = self.file.begin(box) if self.file else {}
        return self

    def still(self, path: str, stamp: str | None) -> FileEntry | None:
        """The entry of a file that nobody touched since."""
        was, entry = self._seen.get(path, (None, None))
        return entry if stamp is not None and was == stamp else None

    def keep(self, entry: FileEntry, looked: Stamps) -> None:
        """Remember one, unless it changed so lately that the next change may not show."""
        stamp = looked.get(entry.path)
        if stamp is not None and entry.path not in looked.young:
            self._seen[entry.path] = (stamp, entry)
            if self.file:
                self.file.add(entry, stamp)


def nobody(count: int, file: str | None = None, *, moved: bool = True) -> None:
    """A Count that tells nobody."""


async def remote_manifest(
    connection: Connection,
    listing: Listing,
    count: Count = nobody,
    hashed: Hashed | None = None,
) -> tuple[Manifest, Refused]:
    """Hash what was listed, on the box. Also (path, why) of each file that gave no good hash.

    What `hashed` has, and whose stamp is unchanged, is taken from there. Errors as of `hash_files` and
    `stamps`; after a LinkError `hashed` keeps what was done.
    """
    found: dict[str, FileEntry] = {}
    before = await stamps(connection, listing.root)
    todo: list[tuple[str, int]] = []
    for path, size in listing.files:
        entry = hashed.still(path, before.get(path)) if hashed else None
        if entry is not None and entry.bytes == size:
            found[path] = entry
            count(size, path, moved=False)
        else:
            todo.append((path, size))
    sizes = dict(todo)
    if todo:
        async with aclosing(hash_files(connection, listing.root, todo, count)) as hashes:
            async for path, digest in hashes:
                found[path] = FileEntry(path, sizes[path], digest)
                if hashed:
                    hashed.keep(found[path], before)
    after = await stamps(connection, listing.root)
    failed = []
    for path, size in listing.files:
        stamp = before.get(path)
        if stamp is None or after.get(path) != stamp or _size(stamp) != size:
            failed.append((path, "it changed while it was hashed"))
        elif path not in found:
            failed.append((path, "it could not be read on the box"))
    bad = {path for path, _ in failed}
    return Manifest.of(entry for path, entry in found.items() if path not in bad), tuple(failed)


async def own_claim(connection: Connection, listing: Listing, manifest: Manifest) -> Refused:
    """(path, why) of each contradiction between `manifest` and the box's own PULL_MANIFEST.json.

    Empty where it agrees and where the box has none. LinkError and TimeoutError pass.
    """
    if OWN_NAME not in dict(listing.files):
        return ()
    text = await read_text(connection, f"{listing.root}/{OWN_NAME}")
    if text is None:
        return ((OWN_NAME, "it cannot be read on the box"),)
    try:
        claim = parse_manifest(text, OWN_NAME).manifest
    except ManifestUnreadable as error:
        return ((OWN_NAME, str(error)),)
    notes = (OWN_NAME, MARKER_NAME)
    there = Manifest(
        tuple(f for f in manifest.files if f.path not in notes and not f.path.endswith(UNDER_WAY))
    )
    report = compare(claim, there)
    listed = set(listing.paths)  # what is there and has no hash was refused already
    sizes = {file.path: file.bytes for file in claim.files}
    hashes = {file.path: file for file in there.files}
    return (
        *(
            (path, f"{OWN_NAME} lists it, and it is not on the box")
            for path in report.missing
            if path not in listed
        ),
        *((path, f"{OWN_NAME} does not list it") for path in report.unexpected),
        *(
            (path, f"{OWN_NAME} says {sizes[path]} bytes, it has {hashes[path].bytes}")
            if sizes[path] != hashes[path].bytes
            else (path, f"{OWN_NAME} says another SHA-256 than it has")
            for path in report.differing
        ),
    )


def _size(stamp: str) -> int:
    """The size in a stamp `device inode size mtime ctime`; -1 where it is none."""
    _, _, size_on = (*stamp.split(" ", 2), "", "")[:3]
    size = whole(size_on.partition(" ")[0])
    return -1 if size is None else size
