"""A copy on somebody else's disk is no copy here."""

from __future__ import annotations

from pathlib import Path

import pytest
from rented import Scene, rest, until

from gpu_tui.core.ladder import Rung
from gpu_tui.teardown import mounts
from gpu_tui.teardown.mounts import Mount, Unknown, abroad, from_mount, from_mountinfo

TABLE = """\
22 1 253:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / /home rw,relatime shared:9 - nfs4 filer.lab:/export/home rw,vers=4.2,addr=10.0.0.9
31 22 0:41 / /mnt/my\\040box rw,nosuid - fuse.sshfs root@gpu1:/workspace rw,user_id=1000
32 22 0:42 / /mnt/nas rw - cifs //nas.lab/share rw,vers=3.0
33 22 0:43 / /mnt/c rw - 9p C:\\134 rw,dirsync,aname=drvfs;path=C:\\;uid=1000
34 22 0:44 / /mnt/vm rw - 9p hostshare rw,trans=virtio
35 22 253:1 / /mnt/nas/disk rw - xfs /dev/vdb rw
36 22 0:45 / /mnt/pool rw - fuse.mergerfs disks rw
42 22 8:17 / /mnt/usb rw - fuseblk /dev/sdb1 rw
43 22 0:49 / /mnt/drive rw - fuse.rclone gdrive: rw
44 22 0:50 / /mnt/dav rw - fuse.davfs https://dav.lab/x rw
45 22 0:51 / /mnt/share rw - virtiofs host rw
46 22 0:52 / /mnt/new rw - someday0fs /dev/vdz rw
37 22 0:46 / /mnt/odd rw - fuse box.example:/data rw
38 22 253:2 / /data rw - ext4 /dev/vdc rw
39 38 0:47 / /data/results/big rw - nfs [fd00::7]:/big rw
40 22 0:48 / /again rw - nfs filer:/a rw
41 22 253:3 / /again rw - btrfs /dev/vdd rw
"""


def why(path: str, *names: str, any_host: bool = True) -> str | None:
    found = mounts.below_or_around(Path(path), from_mountinfo(TABLE))
    real = mounts.mounts, mounts._existing
    mounts.mounts, mounts._existing = lambda: tuple(found), lambda path: path  # type: ignore[assignment]
    try:
        return abroad(Path(path), names, any_host=any_host)
    finally:
        mounts.mounts, mounts._existing = real


@pytest.mark.parametrize(
    "path",
    ["/", "/root/x", "/mnt/c/x", "/mnt/nas/disk/x", "/mnt/usb/x", "/data/other", "/again/x"],
)
def test_a_disk_of_this_machine(path: str) -> None:
    if path == "/":
        assert why(path)  # all that is mounted lies below it
    else:
        assert why(path) is None


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("/home/me/results", "filer.lab:/export/home (nfs4)"),
        ("/mnt/my box/results", "root@gpu1:/workspace (fuse.sshfs)"),
        ("/mnt/nas", "//nas.lab/share (cifs)"),
        ("/mnt/vm/x", "hostshare (9p)"),
        ("/mnt/odd/x", "box.example:/data (fuse)"),
        ("/mnt/pool/x", "disks (fuse.mergerfs)"),  # of which disks nobody says
        ("/mnt/drive/x", "gdrive: (fuse.rclone)"),
        ("/mnt/dav/x", "https://dav.lab/x (fuse.davfs)"),
        ("/mnt/share/x", "host (virtiofs)"),
        ("/mnt/new/x", "/dev/vdz (someday0fs)"),  # a kind that nobody here knows is shut
        ("/data/results", "[fd00::7]:/big (nfs)"),  # a part of it
    ],
)
def test_a_disk_of_another_machine(path: str, source: str) -> None:
    said = why(path)
    assert said is not None
    assert source in said
    assert "no disk of this machine as far as is known" in said
    assert why(path, any_host=False) is None


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/mnt/my box/x", "GPU1"),
        ("/data/results", "fd00::7"),
        ("/mnt/nas/x", "nas.lab"),
        ("/home/x", "10.0.0.9"),
    ],
)
def test_the_box_itself_is_named(path: str, name: str) -> None:
    for any_host in (True, False):
        assert "a disk of the box itself" in (why(path, "other", name, any_host=any_host) or "")


def test_what_mount_says_on_a_mac() -> None:
    table = from_mount(
        "/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)\n"
        "//me@nas._smb._tcp.local/my share on /Volumes/my share (smbfs, nodev, nosuid, mounted by me)\n"
        "root@gpu1:/workspace on /Users/me/box (macfuse, nodev, nosuid, synchronous)\n"
    )
    assert table[1] == Mount(
        "/Volumes/my share",
        "smbfs",
        "//me@nas._smb._tcp.local/my share",
        ", nodev, nosuid, mounted by me",
    )
    assert [mount.away for mount in table] == [False, True, True]
    assert [set(mount.hosts) for mount in table] == [set(), {"nas._smb._tcp.local"}, {"gpu1"}]


def test_this_machine_tells(tmp_path: Path) -> None:
    assert abroad(tmp_path / "not" / "there", (), any_host=False) is None
    (tmp_path / "link").symlink_to(tmp_path)
    around = mounts.below_or_around(mounts._existing(tmp_path / "link/x"), mounts.mounts())[0]
    assert tmp_path.resolve().is_relative_to(around.at)


def test_what_cannot_be_told_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mounts, "MOUNTINFO", tmp_path / "none")
    monkeypatch.setattr(mounts.platform, "system", lambda: "Linux")
    assert "nothing here tells" in (abroad(tmp_path, (), any_host=False) or "")
    with pytest.raises(Unknown):
        mounts.below_or_around(tmp_path, ())


async def shut(scene: Scene) -> tuple[str, ...]:
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("blocked", "closed", "ready"))
    await views.aclose()
    assert view.state == "blocked"
    return next(row for row in view.rungs if row.rung is Rung.PULL).lines


def test_a_mount_is_seen_whatever_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The kernel writes only blanks, tabs, line feeds and backslashes as numbers (fs/proc_namespace.c)."""
    table = tmp_path / "mountinfo"
    monkeypatch.setattr(mounts, "MOUNTINFO", table)
    monkeypatch.setattr(mounts.platform, "system", lambda: "Linux")
    for letter in ("\r", "\x0b", "\x1c", "\x85", "\u2028"):
        at = f"/mnt/a{letter}b"
        table.write_bytes(f"{TABLE}99 22 0:99 / {at} rw - nfs gpu1:/data rw\n".encode())
        found = mounts.below_or_around(Path(at) / "runs", mounts.mounts())
        assert [mount.source for mount in found] == ["gpu1:/data"]


@pytest.mark.parametrize("below", ["", "/runs"])
async def test_the_rung_stays_shut_before_a_byte_comes(
    scene: Scene, below: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The table is the real one with one mount more: to make a real one needs a server's kernel part."""
    (scene.local / "runs").mkdir(parents=True)
    line = f"99 1 0:99 / {scene.local}{below} rw - fuse.sshfs u@elsewhere:/x rw\n"
    table = tmp_path / "mountinfo"
    table.write_text(mounts.MOUNTINFO.read_text() + line)
    monkeypatch.setattr(mounts, "MOUNTINFO", table)
    lines = " ".join(await shut(scene))
    assert "u@elsewhere:/x (fuse.sshfs)" in lines
    assert not any(path.is_file() for path in scene.local.rglob("*"))
    (scene.local / "runs").rmdir()  # no cell is called so
    view = await rest(scene.runner().pull_only("pod"))
    assert view.outcome == "verified"  # a copy for its own sake may lie where one likes
