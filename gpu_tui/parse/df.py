"""What `df -Pk PATH` and `df -Pi PATH` print for one path -> a Mount.

One path a call: a row is then found by its numbers, whatever spaces the device and the directory
have, and one wedged mount cannot hide the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpu_tui.core.plain import plain
from gpu_tui.core.readings import NO_PATH, NOT_REPORTED, Mount
from gpu_tui.parse.nvidia_smi import TIMED_OUT

KIB = 1024
_ROW = re.compile(
    r"(?<!\S)([0-9]{1,20}|-) +(-?[0-9]{1,20}|-) +(-?[0-9]{1,20}|-) +(?:[0-9]{1,20}%|-) +(/.{0,4096})$",
    re.ASCII,
)
_OCTAL = re.compile(r"\\([0-7]{3})", re.ASCII)
MAX_BYTES = 16_384
NOT_ASKED = "not asked: df of another mount does not return"
HUNG = "df did not return: the mount behind it may be dead"
_BARE = re.compile(r"[\w./~+-]{1,100}", re.ASCII)  # a path that df prints unchanged
TURNED = "!"  # in place of the device in a line of the mount table: the kernel made it read-only
# Texts of strerror for a mount whose server or program is gone, in glibc and in musl.
_STALE = re.compile(r"stale .{0,12}handle", re.IGNORECASE)
_CUT_OFF = re.compile(
    r"not connected|endpoint shutdown|socket shutdown|connection (?:abort|refused|reset|timed out)|"
    r"connection aborted|operation timed out|host is (?:down|unreachable)|no route to host|"
    r"network (?:is|unreachable)|caused connection abort",
    re.IGNORECASE,
)
# Texts of strerror for a path where the disk is not at fault.
_NO_FAULT = re.compile(
    r"permission denied|operation not permitted|no such file|can't find mount point|not a directory|"
    r"symbolic link|name too long|not supported|not implemented|value too large|cannot read table|"
    r"no file systems|option|not found|resource temporarily|cannot allocate|interrupted",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class MountEntry:
    """One line of /proc/mounts."""

    directory: str
    fstype: str
    read_only: bool
    turned: bool = False  # mounted writable, and made read-only by the kernel


def parse_mount_table(text: bytes) -> Mapping[str, MountEntry]:
    """Directory -> its entry in /proc/mounts; the last one mounted there wins."""
    table = {}
    for line in text.decode("utf-8", "replace").split("\n"):
        fields = line.split(" ")
        if len(fields) >= 4:
            directory = _OCTAL.sub(lambda match: chr(int(match.group(1), 8)), fields[1])
            turned = fields[0] == TURNED
            read_only = turned or "ro" in fields[3].split(",")
            table[directory] = MountEntry(directory, plain(fields[2], 40), read_only, turned)
    return table


def parse_mount(
    path: str,
    by_bytes: bytes,
    bytes_exit: int,
    by_inodes: bytes | None = None,
    inodes_exit: int = 0,
    table: Mapping[str, MountEntry] | None = None,
) -> Mount:
    """The mount that `path` lies on, under the name it was asked by. Never raises.

    `by_inodes` is None where it was not asked, because the first question already hung.
    """
    why: dict[str, str] = {}
    size, used, available, directory = _row(by_bytes, bytes_exit)
    trouble = _trouble(size, path, table or {}) if isinstance(size, str) else None
    if trouble == "error" and size == NO_PATH:
        size = "it is mounted, and nothing can be read there"
    if isinstance(size, str):
        why["bytes_total"] = why["bytes_used"] = size
        size = used = None
    elif used is None:
        why["bytes_used"] = NOT_REPORTED
    inodes: int | str | None
    inodes, inodes_used, _, directory2 = _row(by_inodes or b"", inodes_exit)
    if by_inodes is None:
        inodes = why.get("bytes_total", "not asked")
    if isinstance(inodes, str) or not inodes:
        reason = inodes if isinstance(inodes, str) else NOT_REPORTED
        why["inodes_total"] = why["inodes_used"] = reason
        inodes = inodes_used = None
    elif inodes_used is None:
        why["inodes_used"] = NOT_REPORTED
    place = directory or directory2
    if place is not None and (own := path.rstrip("/") or "/") in (table or {}):
        place = own  # busybox's df names the first mount of the same device
    entry = _entry(place, table or {})
    if entry is None:
        why["fstype"] = "not in the mount table"
    return Mount(
        path=path,
        fstype=entry.fstype if entry else None,
        bytes_used=None if used is None else used * KIB,
        bytes_total=None if size is None else size * KIB,
        inodes_used=inodes_used,
        inodes_total=inodes,
        read_only=entry.read_only if entry else False,
        why=why,
        bytes_available=None if size is None or available is None else available * KIB,
        place=place,
        trouble=trouble,
        turned=entry.turned if entry else False,
    )


def unasked(path: str) -> Mount:
    """The row of a mount for which df was not run, because another one hangs."""
    why = dict.fromkeys(("bytes_total", "bytes_used", "inodes_total", "inodes_used"), NOT_ASKED)
    return Mount(path, None, None, None, None, None, why=why)


def mount_point(path: str, table: Mapping[str, MountEntry]) -> str | None:
    """The innermost mount of the table that `path` lies on, the root disk aside."""
    parts = path.rstrip("/").split("/")
    above = ("/".join(parts[:depth]) for depth in range(len(parts), 1, -1))
    return next((directory for directory in above if directory in table), None)


def is_missing(mount: Mount) -> bool:
    """The box answered that there is no such path."""
    return mount.why.get("bytes_total") == NO_PATH


def _row(output: bytes, code: int) -> tuple[int | str | None, int | None, int | None, str | None]:
    """Size, used, available and mount point; without a row, the reason is in place of the size."""
    if code in TIMED_OUT:
        return HUNG, None, None, None
    lines = output[:MAX_BYTES].decode("utf-8", "replace").split("\n")
    rows = [line for line in lines if line.strip() and not line.startswith(("Filesystem", "df: "))]
    match = _ROW.search(" ".join(rows))  # a long device name may stand on a line of its own
    if match is None:
        return _complaint(lines, code), None, None, None
    size, used, available, directory = match.groups()
    if size == "-":
        return NOT_REPORTED, None, None, directory
    # Some servers report more free than total space: then used is negative. Available is negative when root has used
    # reserved blocks.
    return (
        int(size),
        None if used.startswith("-") else int(used),
        None if available == "-" else max(0, int(available)),
        directory,
    )


def _complaint(lines: Sequence[str], code: int) -> str:
    said = next((line.strip() for line in reversed(lines) if line.startswith("df: ")), "")
    if "No such file" in said or "can't find mount point" in said:  # coreutils, busybox
        return NO_PATH
    return plain(said) or f"df printed no row (exit {code})"


def _trouble(why: str, path: str, table: Mapping[str, MountEntry]) -> str | None:
    """The `Mount.trouble` of the disk at `path`, for which df gave no row; None if nothing shows a fault."""
    if why == HUNG:
        return "hung"
    if why == NO_PATH:  # busybox's df also says this of an existing mount that cannot be read
        return "error" if path in table else None
    if not why.startswith("df: ") or (_BARE.fullmatch(path) and path.lstrip("~") not in why):
        return None
    if _STALE.search(why):
        return "stale"
    if _CUT_OFF.search(why):
        return "not-connected"
    return None if _NO_FAULT.search(why.rpartition(": ")[2]) else "error"


def _entry(directory: str | None, table: Mapping[str, MountEntry]) -> MountEntry | None:
    return None if directory is None else table.get(directory)
