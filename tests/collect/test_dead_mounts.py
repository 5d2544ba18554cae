"""Disks that runs cannot use, with a real FUSE mount, a real bind mount and the real df."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from shell_box import ShellBox
from test_sampler import hurried, sampling, value

from gpu_tui.core.fleet import QueueFiles, Results
from gpu_tui.core.mount_state import fault_of
from gpu_tui.core.readings import Mount

HELPER = Path(__file__).with_name("fuse_fault.py")
HEAD = "Filesystem 1024-blocks Used Available Capacity Mounted on\\n"
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a mount of its own")


@contextmanager
def fuse(directory: Path, fault: str) -> Iterator[None]:
    directory.mkdir(exist_ok=True)
    words = [sys.executable, str(HELPER), str(directory), fault]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline() != b"mounted\n":
                pytest.skip("no FUSE here")
            yield
        finally:
            process.kill()
            subprocess.run(["umount", "-l", str(directory)], check=False)


@pytest.fixture
def files(tmp_path: Path) -> ShellBox:
    box = ShellBox(tmp_path)
    box.cgroup2()
    return box


async def one(box: ShellBox, shell: str, path: Path, **changes: object) -> Mount:
    group = box.group(poll=0.1, mounts=(str(path),), **changes)
    group = hurried(group, "disk", 1, 5)
    async with sampling(box, shell, group) as inbox:
        mounts = value(await inbox.metric("mounts"))
    return next(mount for mount in mounts if mount.path == str(path))


@NEEDS_ROOT
@pytest.mark.parametrize(
    ("fault", "state"), [("ESTALE", "stale"), ("EIO", "error"), ("gone", "not-connected")]
)
async def test_the_error_of_df_gives_the_state_of_a_dead_disk(
    files: ShellBox, fault: str, state: str
) -> None:
    disk = files.root / "disk"
    with fuse(disk, fault):
        found = fault_of(await one(files, "dash", disk))
    assert found is not None
    assert found.state == state


@NEEDS_ROOT
@pytest.mark.parametrize("shell", ["dash", "busybox"])
async def test_a_dead_disk_that_only_a_run_uses_is_found(files: ShellBox, shell: str) -> None:
    disk, proc = files.root / "disk", files.proc / "4127"
    files.file("proc/4127/comm", "python\n")
    files.file("proc/mounts", f"/dev/vda / ext4 rw 0 0\nlab {disk} fuse.lab rw 0 0\n")
    (proc / "fd").mkdir(exist_ok=True)
    (proc / "cwd").symlink_to(disk)
    (proc / "fd/1").symlink_to(disk / "out.log")
    with fuse(disk, "EIO"):
        group = files.group(
            poll=0.1, mounts=("/",), queue=QueueFiles(), logs=None, results=Results()
        )
        async with sampling(files, shell, hurried(group, "disk", 1, 5)) as inbox:
            root, dead = value(await inbox.metric("mounts"))
    assert (root.path, dead.path) == ("/", str(disk))
    assert dead.trouble == "error"


@NEEDS_ROOT
@pytest.mark.parametrize("shell", ["dash", "bash"])
async def test_a_disk_whose_df_cannot_even_be_killed_is_named(files: ShellBox, shell: str) -> None:
    disk = files.root / "disk"
    with fuse(disk, "hung"):
        group = files.group(poll=0.1, mounts=("/", str(disk)))
        group = hurried(group, "disk", 1, 5)
        group = replace(group, pace={**group.pace, "mounts": 1.5})
        async with sampling(files, shell, group) as inbox:
            root, dead = value(await inbox.metric("mounts"))
    assert (root.path, root.trouble) == ("/", None)
    assert root.bytes_total
    found = fault_of(dead)
    assert found is not None
    assert found.state == "hung"


@pytest.fixture
def bound(files: ShellBox) -> Iterator[Path]:
    """A disk of its own, mounted writable and then read-only."""
    disk = files.root / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", str(disk)], check=True)
        files.file("proc/mounts", Path("/proc/mounts").read_bytes())
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


@NEEDS_ROOT
async def test_a_disk_that_was_bound_read_only(files: ShellBox, bound: Path) -> None:
    written = await one(files, "dash", bound, results=Results(f"{bound}/out"))
    named = await one(files, "dash", bound)
    for seen, words in ((written, "runs write there"), (named, "the fleet file names it")):
        found = fault_of(seen)
        assert found is not None
        assert found.state == "read-only"
        assert words in found.text


TABLE = """\
21 1 0:1 / / rw,relatime - overlay overlay rw,lowerdir=/l
22 21 8:1 / /turned rw,relatime shared:1 - ext4 /dev/sda1 ro,errors=remount-ro
23 21 8:2 / /asked ro,relatime - ext4 /dev/sdb1 ro
24 21 8:3 / /bound ro,relatime master:2 - xfs /dev/sdc1 rw,attr2
25 21 7:0 / /squash rw,relatime - squashfs /dev/loop0 ro,errors=continue
26 21 8:4 / /fine rw,relatime - btrfs /dev/sdd rw,space_cache
27 21 8:5 / /esp rw,relatime - vfat /dev/sde1 ro,fmask=0022
"""


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
async def test_filesystems_that_the_kernel_made_read_only(files: ShellBox, shell: str) -> None:
    rows = [line.split() for line in TABLE.splitlines()]
    plain = (
        (row[row.index("-") + 1], row[4], "ro" if "ro" in f"{row[5][:2]} {row[-1][:2]}" else "rw")
        for row in rows
    )
    files.file("proc/mounts", "".join(f"/dev/x {at} {kind} {how} 0 0\n" for kind, at, how in plain))
    files.file("proc/self/mountinfo", TABLE)
    files.program("df", f"#!/bin/sh\nshift 2\nprintf '{HEAD}/dev/x 9 5 4 53%% %s\\n' \"$1\"\n")
    group = files.group(poll=0.1, mounts=tuple(row[4] for row in rows))
    async with sampling(files, shell, group) as inbox:
        mounts = value(await inbox.metric("mounts"))
    assert {mount.path for mount in mounts if mount.turned} == {"/turned", "/esp"}
    ways = {"/turned", "/esp", "/asked", "/bound", "/squash"}
    assert {mount.path for mount in mounts if mount.read_only} == ways


SHM = "#!/bin/sh\ncase $3 in */shm) set -- {used} $3 ;; *) set -- 10 / ;; esac\n"


@pytest.mark.parametrize(("used", "paths"), [(100, ["/", "/dev/shm"]), (20, ["/"])])
async def test_shared_memory_has_a_row_where_it_is_full(
    files: ShellBox, used: int, paths: list[str]
) -> None:
    rest = f"printf '{HEAD}tmpfs 100 %s '$((100 - $1))' 9%% %s\\n' \"$@\"\n"
    files.program("df", SHM.format(used=used) + rest)
    group = files.group(poll=0.1, mounts=("/",))
    async with sampling(files, "dash", group) as inbox:
        mounts = value(await inbox.metric("mounts"))
    assert [mount.path for mount in mounts] == paths


async def test_a_root_disk_that_is_read_only_where_results_go_to_a_disk_of_their_own(
    files: ShellBox,
) -> None:
    files.file("proc/mounts", "overlay / overlay ro 0 0\n/dev/b /data xfs rw 0 0\n")
    rows = "case $3 in /data*) set -- /data ;; *) set -- / ;; esac\n"
    files.program("df", f"#!/bin/sh\n{rows}printf '{HEAD}/dev/x 9 5 4 53%% %s\\n' \"$1\"\n")
    group = files.group(
        poll=0.1, mounts=(), results=Results("/data/out"), logs=None, queue=QueueFiles()
    )
    async with sampling(files, "dash", group) as inbox:
        mounts = value(await inbox.metric("mounts"))
    assert [(row.path, row.read_only, row.written) for row in mounts] == [
        ("/", True, False),
        ("/data", False, True),
    ]
    assert not any(map(fault_of, mounts))
