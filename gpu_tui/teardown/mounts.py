"""Whether a directory lies on a disk of this machine: a copy on another one's may be the box's own disk.

Linux tells of its mounts in /proc/self/mountinfo (proc(5)), macOS and the BSDs by `mount` (mount(8)).
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpu_tui.core.fleet import Instance
from gpu_tui.core.plain import plain
from gpu_tui.transport.base import Connection, peer_of

MOUNTINFO = Path("/proc/self/mountinfo")
LIMIT = 10.0  # seconds for `mount`
# File systems whose bytes are on this machine, by the name that the kernel or `fuse.` gives them. Whatever
# is not among them may be a network's, a cloud's or a hypervisor's.
HERE = frozenset(
    {
        "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "bcachefs", "f2fs", "jfs", "nilfs2",
        "reiserfs", "vfat", "exfat", "msdos", "msdosfs", "ntfs", "ntfs3", "fuseblk", "ntfs-3g",
        "udf", "apfs", "hfs", "hfsplus", "ufs", "ffs", "hammer2", "overlay", "fuse-overlayfs",
        "aufs", "tmpfs", "ramfs", "rootfs", "ecryptfs", "gocryptfs", "encfs",
    }
)  # fmt: skip
# Of these, what is gone when this machine restarts.
MEMORY = frozenset({"tmpfs", "ramfs"})
# What a kernel shows below a root, where no file is ever kept.
KERNEL = frozenset(
    {
        "proc", "sysfs", "devtmpfs", "devpts", "devfs", "mqueue", "cgroup", "cgroup2", "securityfs",
        "debugfs", "tracefs", "bpf", "pstore", "efivarfs", "configfs", "fusectl", "hugetlbfs",
        "binfmt_misc", "nsfs", "rpc_pipefs", "selinuxfs",
    }
)  # fmt: skip
# File systems that may show the mtime as ctime, or a ctime of their own making: what FUSE shows is up to its
# program (sshfs, rclone and gcsfuse have no ctime to show), FAT has none on the disk (Linux: fs/fat/misc.c),
# and of what 9p and cifs show the server decides.
MAY_LACK_CTIME = frozenset({"fuse", "vfat", "msdos", "exfat", "9p", "cifs", "smb3"})
_HOST = re.compile(r"(?:[^@/]*@)?(\[[^\]]+\]|[^:/\[\]]+):(?=[/~.\w]|$)|//(?:[^@/]*@)?([^/]+)/")


class Unknown(Exception):
    """This machine does not say what is mounted where."""


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of the table: where, what kind of file system, from where."""

    at: str
    kind: str
    source: str
    options: str = ""

    @property
    def hosts(self) -> frozenset[str]:
        """The other machine: `user@host:/path`, `//host/share`, and its address where the options say it."""
        source = _HOST.match(self.source)
        address = re.search(r"(?:^|,)addr=([^,]+)", self.options)
        found = [(source[1] or source[2]).strip("[]")] if source else []
        return frozenset(name.lower() for name in (*found, *(address.groups() if address else ())))

    @property
    def away(self) -> bool:
        """Nothing says that it lies on this machine. Windows' own disks are 9p to its Linux."""
        kind = self.kind.lower()
        if kind == "9p" and "aname=drvfs" in self.options:
            return False
        return bool(self.hosts) or kind.removeprefix("fuse.") not in HERE | KERNEL


def names_of(instance: Instance, connection: Connection) -> frozenset[str]:
    """By what the box may stand in a table of mounts."""
    peer = peer_of(connection)
    words = (instance.name, *re.split("[@:]", instance.ssh.host), peer[0] if peer else "")
    return frozenset(word for word in words if word)


def abroad(local: Path, own_names: Collection[str], *, any_host: bool) -> str | None:
    """Why what is put into `local` is not on a disk of this machine, or None.

    `own_names`: names and addresses of the box itself; of other machines only where `any_host`. What
    cannot be told counts as abroad. It asks the file system: not on the event loop.
    """
    try:
        found = below_or_around(_existing(local), mounts())
    except (Unknown, OSError) as error:
        return f"nothing here tells on which disk it lies ({plain(str(error), 80)})"
    names = {name.lower() for name in own_names}
    for mount in found:
        if not mount.away:
            continue
        where = f"{plain(mount.source, 60)} ({plain(mount.kind, 20)})"
        if mount.hosts & names:
            return f"it lies on {where}, a disk of the box itself: name another results.local"
        if any_host:
            return (
                f"it lies on {where}, which is no disk of this machine as far as is known here, so "
                "nothing shows that it outlives the box: name another results.local"
            )
    return None


def in_memory(local: Path) -> tuple[str, ...]:
    """The mounts on which what is put into `local` lies in memory. It asks the file system: not on the event loop."""
    try:
        found = below_or_around(_existing(local), mounts())
    except (Unknown, OSError):
        return ()  # `abroad` refuses what cannot be told
    return tuple(mount.at for mount in found if mount.kind.lower() in MEMORY)


def without_ctime(path: Path, table: Iterable[Mount]) -> tuple[tuple[str, str], ...]:
    """(mount, file system) of what holds `path` or lies below, where a change may not move the change time.

    Unknown where no mount of the table holds it.
    """
    return tuple(
        (mount.at, mount.kind)
        for mount in below_or_around(path, table)
        if mount.kind.lower().partition(".")[0] in MAY_LACK_CTIME
    )


def local_without_ctime(local: Path) -> tuple[tuple[str, str], ...]:
    """The same for a directory here. It asks the file system: not on the event loop."""
    try:
        return without_ctime(_existing(local), mounts())
    except (Unknown, OSError):
        return ()


def below_or_around(path: Path, table: Iterable[Mount]) -> Sequence[Mount]:
    """The mount that `path` lies on, and all below it. Of two at one place the later is on top."""
    top: dict[str, Mount] = {}
    for mount in table:
        top.pop(mount.at, None)
        top[mount.at] = mount
    around = [mount for mount in top.values() if path.is_relative_to(mount.at)]
    below = [m for m in top.values() if m.at != str(path) and Path(m.at).is_relative_to(path)]
    if not around:
        raise Unknown(f"no mount holds {path}")
    return max(around, key=lambda mount: len(Path(mount.at).parts)), *below


def mounts() -> tuple[Mount, ...]:
    """All mounts of this machine; Unknown where they cannot be read."""
    try:
        if platform.system() == "Linux":
            # Not as text: in a name the kernel leaves a carriage return as it is.
            return from_mountinfo(MOUNTINFO.read_bytes().decode("utf-8", "surrogateescape"))
        done = subprocess.run(["mount"], capture_output=True, timeout=LIMIT, check=True)
        return from_mount(done.stdout.decode("utf-8", "surrogateescape"))
    except (OSError, subprocess.SubprocessError) as error:
        raise Unknown(str(error)) from None


def from_mountinfo(text: str) -> tuple[Mount, ...]:
    r"""Lines `ID PARENT DEV ROOT AT OPTIONS [TAGS…] - KIND SOURCE OPTIONS`; blanks in them are `\040`."""
    found: list[Mount] = []
    for line in text.split("\n"):
        left, _, right = line.partition(" - ")
        before, after = left.split(" "), right.split(" ")
        if len(before) >= 6 and len(after) >= 3:
            at, kind, source, options = (_plain(word) for word in (before[4], *after[:3]))
            found.append(Mount(at, kind, source, options))
    return tuple(found)


def from_mount_table(text: str) -> tuple[Mount, ...]:
    """Lines `SOURCE AT KIND OPTIONS …` of /proc/self/mounts, with the same escapes."""
    rows = (line.split(" ") for line in text.split("\n"))
    return tuple(
        Mount(_plain(row[1]), _plain(row[2]), _plain(row[0])) for row in rows if len(row) >= 4
    )


def from_mount(text: str) -> tuple[Mount, ...]:
    """Lines `SOURCE on AT (KIND, OPTION, …)`."""
    rows = re.finditer(r"^(.*?) on (/.*) \(([^,)]+)([^)]*)\)$", text, re.MULTILINE)
    return tuple(Mount(row[2], row[3].strip(), row[1], row[4]) for row in rows)


def _plain(word: str) -> str:
    """Without mountinfo's octal escapes."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), word)


def _existing(path: Path) -> Path:
    """The part of it that is there already, without links. Looking at it mounts what mounts itself."""
    real = Path(os.path.realpath(path))
    while not os.path.lexists(real) and real != real.parent:
        real = real.parent
    if real.is_dir():
        os.scandir(real).close()
    return real
