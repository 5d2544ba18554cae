"""Finds full volumes in the rows that `df` and `df -i` print."""

from __future__ import annotations

import re

from gpu_tui.core.findings import Severity
from gpu_tui.core.logs import Mark

FULL = 95  # percent; a volume at or above it is full

# Occurs in every row, also after its digits were removed.
ROW = re.compile(rb"%\s+/")
_AMOUNT = r"[0-9]{1,18}(?:\.[0-9]{1,2})?[KMGTPi]{0,2}B?"
_TAIL = re.compile(r"%\s+/\S*$")
_ROW = re.compile(
    rf"(?:^|[\s\]:])(?P<device>[^\s:]\S{{0,200}})\s+(?:[a-z][\w.]{{1,20}}\s+)?(?P<total>{_AMOUNT})\s+(?P<used>{_AMOUNT})\s+"
    rf"(?P<free>{_AMOUNT}|-)\s+(?P<percent>[0-9]{{1,3}})%\s+/\S*$"
)
_READ_ONLY = re.compile(r"^/dev/(?:loop|sr)\d|squashfs|iso9660|/(?:snap|cdrom|media)/")
_LONGEST = 600  # characters at the end of a line; a row is not longer


def may_be_volume(text: str) -> bool:
    """False if the text cannot end with a row of `df`."""
    return "%" in text and _TAIL.search(text) is not None


def judge_volume(text: str) -> Mark | None:
    """The mark of a row of `df`; None for another line."""
    row = _ROW.search(text.rstrip()[-_LONGEST:])
    if row is None:
        return None
    full = int(row["percent"]) >= FULL
    if not full or _READ_ONLY.search(row[0].lstrip(" \t:]")):
        return Mark("benign", Severity.NONE, False)
    inodes = _counts_inodes(row["device"], row["total"], row["used"], row["free"])
    return Mark("inode" if inodes else "disk_full", Severity.FATAL, True)


def _counts_inodes(device: str, total: str, used: str, free: str) -> bool:
    # In `df -i` used and free add up to the total; in `df` most filesystems reserve blocks.
    if total.isdigit() and used.isdigit() and free.isdigit():
        return int(total) == int(used) + int(free)
    # ZFS creates inodes on demand, and some tmpfs volumes have a few MB: their K and M are bytes.
    dataset = "/" in device and device[0] != "/" and ":" not in device
    small = device in ("tmpfs", "shm", "devtmpfs")
    return not dataset and not small and total[-1] in "KM" and used[-1] in "KM"
