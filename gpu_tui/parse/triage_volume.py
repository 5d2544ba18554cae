"""Rows of `df` and of `zpool list` in a log: a volume that is full in bytes or in inodes, a pool that misses a disk."""

from __future__ import annotations

import re

from gpu_tui.core.findings import Severity
from gpu_tui.core.logs import Mark

FULL = 95  # percent from which a volume is called full

# In which lines one can stand at all, whatever stands before it: a skeleton has no digits.
ROW = re.compile(rb"%\s+(?:/|\.x\s)")
_TAIL = re.compile(r"%\s+(?:/\S*|\d{1,4}\.\d\dx\s.{2,40})$")
_AMOUNT = r"[0-9]{1,18}(?:\.[0-9]{1,2})?[KMGTPi]{0,2}B?"
_MOUNTED = re.compile(
    rf"(?:^|[\s\]:])(?P<device>[^\s:]\S{{0,200}})\s+(?:(?P<type>[a-z][\w.]{{1,20}})\s+)?(?P<total>{_AMOUNT})\s+(?P<used>{_AMOUNT})\s+"
    rf"(?P<free>{_AMOUNT}|-)\s+(?P<percent>[0-9]{{1,3}})%\s+(?P<mount>/\S*)$"
)
_POOL = re.compile(
    rf"\s{_AMOUNT}\s+{_AMOUNT}\s+{_AMOUNT}\s[-\w.\s%]{{0,60}}\s(?P<percent>[0-9]{{1,3}})%\s+[0-9]{{1,4}}\.[0-9]{{2}}x\s+"
    r"(?P<health>[A-Z]{5,9})\b"
)
_READ_ONLY = re.compile(r"^/dev/(?:loop|sr)\d|squashfs|iso9660|/(?:snap|cdrom|media)/")
_LONGEST = 600


def judge_volume(text: str) -> Mark | None:
    """The mark of such a row, None where the line is none. `df -i` is known by whole numbers that add up."""
    text = text.rstrip()[-_LONGEST:]
    if not _TAIL.search(text):
        return None
    if pool := _POOL.search(text):
        if pool["health"] in ("DEGRADED", "FAULTED", "UNAVAIL", "SUSPENDED"):
            return Mark("hardware", Severity.SERIOUS, True)
        return _mark("disk_full", pool["percent"])
    match = _MOUNTED.search(text)
    if match is None:
        return None
    if _READ_ONLY.search(match[0].lstrip(" \t:]")):
        return Mark("benign", Severity.NONE, False)
    inodes = _counts_inodes(match["device"], match["total"], match["used"], match["free"])
    return _mark("inode" if inodes else "disk_full", match["percent"])


def _mark(label: str, percent: str) -> Mark:
    if int(percent) < FULL:
        return Mark("benign", Severity.NONE, False)
    return Mark(label, Severity.FATAL, True)


def _counts_inodes(device: str, total: str, used: str, free: str) -> bool:
    if total.isdigit() and used.isdigit() and free.isdigit():
        return int(total) == int(used) + int(free)
    dataset = (
        "/" in device and device[0] != "/" and ":" not in device
    )  # of ZFS: it makes them as it goes
    small = device in ("tmpfs", "shm", "devtmpfs")  # of memory: some have a few MB
    return not dataset and not small and total[-1] in "KM" and used[-1] in "KM"
