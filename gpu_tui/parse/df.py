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
    r"(?<!\S)([0-9]{1,20}|-) +(-?[0-9]{1,20}|-) +(?:-?[0-9]{1,20}|-) +(?:[0-9]{1,20}%|-) +(/.{0,4096})$",
    re.ASCII,
)
_OCTAL = re.compile(r"\\([0-7]{3})", re.ASCII)
MAX_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class MountEntry:
    """One line of /proc/mounts."""

    directory: str
    fstype: str
    read_only: bool


def parse_mount_table(text: bytes) -> Mapping[str, MountEntry]:
    """Directory -> its entry in /proc/mounts; the last one mounted there wins."""
    table = {}
    for line in text.decode("utf-8", "replace").split("\n"):
        fields = line.split(" ")
        if len(fields) >= 4:
            directory = _OCTAL.sub(lambda match: chr(int(match.group(1), 8)), fields[1])
            table[directory] = MountEntry(
                directory, plain(fields[2], 40), "ro" in fields[3].split(",")
            )
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
    size, used, directory = _row(by_bytes, bytes_exit)
    if isinstance(size, str):
        why["bytes_total"] = why["bytes_used"] = size
        size = used = None
    elif used is None:
        why["bytes_used"] = NOT_REPORTED
    inodes: int | str | None
    inodes, inodes_used, directory2 = _row(by_inodes or b"", inodes_exit)
    if by_inodes is None:
        inodes = why.get("bytes_total", "not asked")
    if isinstance(inodes, str) or not inodes:
        reason = inodes if isinstance(inodes, str) else NOT_REPORTED
        why["inodes_total"] = why["inodes_used"] = reason
        inodes = inodes_used = None
    elif inodes_used is None:
        why["inodes_used"] = NOT_REPORTED
    entry = _entry(directory or directory2, table or {})
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
    )


def mounted_at(by_bytes: bytes, code: int) -> str | None:
    """The directory where the filesystem that was asked about is mounted; None where `df` does not say."""
    return _row(by_bytes, code)[2]


def is_missing(mount: Mount) -> bool:
    """The box answered that there is no such path."""
    return mount.why.get("bytes_total") == NO_PATH


def _row(output: bytes, code: int) -> tuple[int | str | None, int | None, str | None]:
    """Size, used and mount point; instead of the size the reason where there is no row."""
    if code in TIMED_OUT:
        return "df did not return: the mount behind it may be dead", None, None
    lines = output[:MAX_BYTES].decode("utf-8", "replace").split("\n")
    rows = [line for line in lines if line.strip() and not line.startswith(("Filesystem", "df: "))]
    match = _ROW.search(" ".join(rows))  # a long device name may stand on a line of its own
    if match is None:
        return _complaint(lines, code), None, None
    size, used, directory = match.groups()
    if size == "-":
        return NOT_REPORTED, None, directory
    # More free than there is, as some servers say, makes a used that is below nothing.
    return int(size), None if used.startswith("-") else int(used), directory


def _complaint(lines: Sequence[str], code: int) -> str:
    said = next((line.strip() for line in reversed(lines) if line.startswith("df: ")), "")
    if "No such file" in said or "can't find mount point" in said:  # coreutils, busybox
        return NO_PATH
    return plain(said) or f"df printed no row (exit {code})"


def _entry(directory: str | None, table: Mapping[str, MountEntry]) -> MountEntry | None:
    return None if directory is None else table.get(directory)
