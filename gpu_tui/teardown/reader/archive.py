"""The zip around a checkpoint: nothing packed, nothing hidden, and every member's checksum right.

torch.load compiles the checksums of its zip reader out and takes a flipped bit for good (pytorch#126952).
"""

from __future__ import annotations

import stat
import zipfile
from collections import Counter
from itertools import pairwise
from typing import BinaryIO

from gpu_tui.core.plain import plain
from gpu_tui.teardown.reader.outcome import Failed

MEMBERS = 100_000
END = b"PK\x05\x06"
LOCAL_HEADER = 30  # bytes before the name
NO_CHECKSUM = "no checksum inside: its hash carries it"


def check(file: BinaryIO, size: int, *, packed: int = 0) -> tuple[str, zipfile.ZipFile]:
    """(a note, the open archive) of a sound one; Failed for anything else. The file must stay open.

    `packed`: bytes that its members may unpack to; 0 where no writer of this format packs any.
    """
    try:
        archive = zipfile.ZipFile(file)
        problem = _shape(archive, size, packed) or _tail(file, size)
        note = "" if problem else _checksums(archive)
    except Failed:
        raise
    except Exception as error:  # a broken zip raises whatever it likes
        raise Failed(f"a broken archive ({type(error).__name__})") from None
    if problem:
        raise Failed(problem)
    file.seek(0)
    return note, archive


def _shape(archive: zipfile.ZipFile, size: int, packed: int) -> str | None:
    """What no trainer's writer makes, and what two readers would read in two ways."""
    members = archive.infolist()
    stored = all(m.compress_type == zipfile.ZIP_STORED for m in members)
    if not members:
        return "an archive with nothing in it"
    if len(members) > MEMBERS:
        return f"more than {MEMBERS} members"
    if any(member.flag_bits & 1 for member in members):
        return "a member is encrypted"
    if not stored and not packed:
        return "a member is compressed: no trainer writes that"
    if sum(member.file_size for member in members) > (size if stored else packed):
        return "its members are larger than the file" if stored else "it unpacks to far too much"
    if any(m.file_size != m.compress_size for m in members if not m.compress_type):
        return "a member has two sizes"
    if twice := [name for name, count in Counter(m.filename for m in members).items() if count > 1]:
        return f"two members are called {plain(twice[0], 60)}"
    if odd := [m.filename for m in members if _odd(m)]:
        return f"a member that is no plain file inside: {plain(odd[0], 60)}"
    if _overlap(members, archive.start_dir):
        return "its members overlap"
    if min(m.header_offset for m in members) > 0:
        return "something stands before the archive"
    return None


def _tail(file: BinaryIO, size: int) -> str | None:
    """The end record is the last thing in the file, or another reader may find another one."""
    file.seek(max(0, size - len(END) - 18))
    return None if file.read(len(END)) == END else "something stands behind the archive"


def is_program(file: BinaryIO) -> bool:
    """TorchScript: the code lies beside the weights."""
    try:
        names = zipfile.ZipFile(file).namelist()
    except Exception:  # what is broken is found out later
        return False
    return any({"constants.pkl", "code"} & {*name.split("/")} for name in names)


def _odd(member: zipfile.ZipInfo) -> bool:
    """Nothing is ever unpacked to disk; a name that leaves the archive is a sign of what made it."""
    name = member.filename
    linked = stat.S_ISLNK(member.external_attr >> 16)
    return linked or name.startswith("/") or ".." in name.split("/") or "\\" in name


def _overlap(members: list[zipfile.ZipInfo], directory: int) -> bool:
    spans = sorted(
        (m.header_offset, m.header_offset + LOCAL_HEADER + len(m.filename) + m.compress_size)
        for m in members
    )
    return any(end > start for (_, end), (start, _) in pairwise([*spans, (directory, directory)]))


def _checksums(archive: zipfile.ZipFile) -> str:
    filled = [member for member in archive.infolist() if member.file_size]
    if filled and not any(member.CRC for member in filled):
        return NO_CHECKSUM  # torch.save with compute_crc32=False
    if bad := archive.testzip():
        raise Failed(f"the checksum of {plain(bad, 60)} is wrong")
    return ""
