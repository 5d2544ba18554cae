"""Rows of `df` in a log: a volume that is full in bytes or in inodes."""

from __future__ import annotations

import re

from gpu_tui.core.findings import Severity
from gpu_tui.core.logs import Mark

FULL = 95  # percent from which a volume is called full

_AMOUNT = r"[0-9]{1,18}(?:\.[0-9])?[KMGTPi]{0,2}B?"
_ROW = re.compile(
    rf"^\s*(?P<device>\S{{1,200}})\s+(?:(?P<type>[a-z][\w.]{{1,20}})\s+)?(?P<total>{_AMOUNT})\s+(?P<used>{_AMOUNT})\s+"
    rf"(?P<free>{_AMOUNT}|-)\s+(?P<percent>[0-9]{{1,3}})%\s+(?P<mount>/\S*)\s*$"
)
_READ_ONLY = re.compile(r"^/dev/(?:loop|sr)\d|squashfs|iso9660|\s/(?:snap|cdrom|media)/")


def judge_volume(text: str) -> Mark | None:
    """The mark of a `df` row, None where the line is none. `df -i` is known by whole numbers that add up."""
    match = _ROW.match(text)
    if match is None:
        return None
    if int(match["percent"]) < FULL or _READ_ONLY.search(text):
        return Mark("benign", Severity.NONE, False)
    inodes = _counts_inodes(match["total"], match["used"], match["free"])
    return Mark("inode" if inodes else "disk_full", Severity.FATAL, True)


def _counts_inodes(total: str, used: str, free: str) -> bool:
    if total.isdigit() and used.isdigit() and free.isdigit():
        return int(total) == int(used) + int(free)
    return total[-1] in "KM" and used[-1] in "KM"
