"""Decides whether runs can use a disk, from df, the mount table and an earlier look. Pure.

A disk that only a platform's profile lists and that this box never had is no fault. A disk that the fleet file
lists, that runs write to, or that an earlier look saw mounted must be mounted and writable.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from gpu_tui.core.readings import NO_PATH, Mount

ROOT = "/"
COUNTS = ("bytes_used", "bytes_total", "inodes_used", "inodes_total")
STATES = ("stale", "not-connected", "error", "hung", "read-only", "not-mounted")
REMEDIES = {  # by state, where the remedy for an unresponsive disk does not help
    "not-mounted": "Mount the disk, or attach it in the console; then move what was written to the root disk meanwhile. If none belongs there, take it out of mounts in the fleet file.",
    "read-only": "Nothing can be saved there. dmesg names the error that made it read-only; let the runs write to another disk, and repair it only once it is unmounted.",
}
TROUBLE = {  # `Mount.trouble`
    "stale": "the disk is stale",
    "not-connected": "the disk is not connected",
    "error": "the disk is in error",
    "hung": "the disk hangs",
}
# Kinds of filesystem that are read-only by design.
READ_ONLY_KINDS = frozenset(
    {"squashfs", "erofs", "iso9660", "udf", "cramfs", "romfs", "cvmfs2", "cvmfs", "fuse.cvmfs2",
     "fuse.squashfuse", "squashfuse", "fuse.squashfuse_ll", "fuse.ratarmount", "fuse.archivemount", "zfs-snap"}
)  # fmt: skip
# Words in the path of a disk that is provided read-only.
_TO_READ = re.compile(
    r"(?:^|[/_.-])(?:datasets?|data-?ro|public|pub|cvmfs|inputs?|snap|readonly|read-only|ro|shared-models)(?=$|[/_.-])",
    re.IGNORECASE,
)
# Directories that are part of every root disk (hier(7)): listing one of them means the root disk.
_OF_ROOT = re.compile(r"/|/(?:root|home(?:/[^/]+)?|tmp|opt|srv|(?:var|usr|etc)(?:/.*)?)/?|~.*")


@dataclass(frozen=True, slots=True)
class SeenMount:
    """A mount that an earlier look saw: a filesystem of its own at this path."""

    fstype: str | None
    writable: bool


@dataclass(frozen=True, slots=True)
class MountFault:
    """`state` is one of `STATES`; `text` says how it is known."""

    state: str
    text: str


def fault_of(mount: Mount, before: SeenMount | None = None) -> MountFault | None:
    """Why the runs cannot use this disk; None if they can, or if nothing shows that they should."""
    if mount.trouble is not None:
        return MountFault(mount.trouble, _why(mount))
    return _absent(mount, before) or _read_only(mount, before)


def shown(mount: Mount, fault: MountFault | None) -> Mount:
    """The mount for display, without numbers that belong to another disk."""
    if fault is None or fault.state != "not-mounted":
        return mount
    return replace(
        mount,
        bytes_used=None,
        bytes_total=None,
        bytes_available=None,
        inodes_used=None,
        inodes_total=None,
        why=dict.fromkeys(COUNTS, NO_PATH) | {"bytes_total": fault.text},
    )


def state_of(mount: Mount, fault: MountFault | None) -> str | None:
    """One word for the screen and the JSON: a state of `STATES`, ok, or None where df gave no numbers."""
    if fault is not None:
        return fault.state
    return None if mount.bytes_total is None else "ok"


def _why(mount: Mount) -> str:
    said = mount.why.get("bytes_total", "")
    said = said.removeprefix("df: ").removeprefix(f"{mount.path}: ") or "df gave no numbers"
    return f"{TROUBLE[mount.trouble or 'error']}: {said}"


def _absent(mount: Mount, before: SeenMount | None) -> MountFault | None:
    was = f"; it was {before.fstype or 'mounted'} at an earlier look" if before else ""
    if mount.why.get("bytes_total") == NO_PATH:
        if not mount.named and before is None:
            return None
        return MountFault("not-mounted", f"not mounted: there is no such directory{was}")
    if mount.place is None or mount.place.rstrip("/") == mount.path.rstrip("/"):
        return None
    if before is not None and mount.path.startswith(mount.place) and mount.place != ROOT:
        return MountFault("not-mounted", f"not mounted: this is the disk of {mount.place}{was}")
    expected = (mount.named or mount.written) and not _OF_ROOT.fullmatch(mount.path)
    if mount.place == ROOT and (expected or before is not None):
        return MountFault("not-mounted", f"not mounted: this is the root disk{was}")
    return None


def _read_only(mount: Mount, before: SeenMount | None) -> MountFault | None:
    if not mount.read_only:
        return None
    if mount.turned:
        return MountFault("read-only", "the kernel made it read-only, as it does after errors")
    if mount.written:
        return MountFault("read-only", "it is read-only, and runs write there")
    if before is not None and before.writable:
        return MountFault("read-only", "it is read-only; it was writable at an earlier look")
    if mount.named and not _handed_out(mount):
        return MountFault("read-only", "it is read-only, and the fleet file names it")
    return None


def _handed_out(mount: Mount) -> bool:
    """Whether a disk is provided read-only, by its kind or its name."""
    return mount.fstype in READ_ONLY_KINDS or _TO_READ.search(mount.path) is not None
