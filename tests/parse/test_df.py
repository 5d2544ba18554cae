"""df's rows: found by their numbers, whatever spaces devices and directories have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.core.levels import share
from gpu_tui.parse.df import is_missing, parse_mount, parse_mount_table

K = b"Filesystem     1024-blocks     Used Available Capacity Mounted on\n"
I = b"Filesystem       Inodes  IUsed    IFree IUse% Mounted on\n"  # noqa: E741
TABLE = parse_mount_table(
    b"/dev/md127 /root/autodl-tmp xfs rw,relatime 0 0\n"
    b"nas:/e /root/autodl-fs nfs4 rw,vers=4.1 0 0\n"
    b"//nas/a\\040b /mnt/my\\040data cifs ro,relatime 0 0\n"
    b"broken line\n"
)


def test_bytes_inodes_and_type():
    mount = parse_mount(
        "/root/autodl-tmp/x",
        K + b"/dev/md127 52428800 10485760 41943040 20% /root/autodl-tmp\n",
        0,
        I + b"/dev/md127 1000000 250000 750000 25% /root/autodl-tmp\n",
        0,
        TABLE,
    )
    assert mount.path == "/root/autodl-tmp/x"
    assert mount.fstype == "xfs"
    assert (mount.bytes_used, mount.bytes_total) == (10485760 * 1024, 52428800 * 1024)
    assert (mount.inodes_used, mount.inodes_total) == (250000, 1000000)
    assert not mount.read_only
    assert mount.why == {}


@pytest.mark.parametrize(
    "row", [b"nas:/e - - - - /root/autodl-fs", b"nas:/e 0 0 0 - /root/autodl-fs"]
)
def test_inodes_that_the_filesystem_does_not_report(row: bytes):
    mount = parse_mount(
        "/root/autodl-fs", K + b"nas:/e 9 1 8 12% /root/autodl-fs\n", 0, I + row, 0, TABLE
    )
    assert mount.fstype == "nfs4"
    assert mount.inodes_total is None
    assert mount.inodes_used is None
    assert mount.why["inodes_total"] == "not reported by this filesystem"
    assert mount.bytes_total == 9 * 1024


def test_spaces_in_device_and_directory_and_a_read_only_mount():
    mount = parse_mount(
        "/mnt/my data", K + b"//nas/a b 100 100 0 100% /mnt/my data\n", 0, I, 0, TABLE
    )
    assert (mount.fstype, mount.read_only) == ("cifs", True)
    assert (mount.bytes_used, mount.bytes_total) == (102400, 102400)


def test_a_long_device_name_on_a_line_of_its_own():
    text = (
        K
        + b"very-long-server-name.example.org:/volume/with/a/long/path\n   200 50 150 25% /root/autodl-fs\n"
    )
    mount = parse_mount("/root/autodl-fs", text, 0, I, 0, TABLE)
    assert (mount.bytes_used, mount.bytes_total) == (50 * 1024, 200 * 1024)


def test_reserved_blocks_may_make_the_available_negative():
    mount = parse_mount("/", K + b"/dev/vda 100 102 -2 102% /\n", 0, I, 0)
    assert mount.bytes_used == 102 * 1024
    assert mount.bytes_available == 0
    assert share(*mount.counts("bytes")) == 1.0


@pytest.mark.parametrize(
    ("row", "full"),
    [
        ("/dev/sda1 1921802520 1824000000 150000 100% /", 1.0),  # ext4: 5 % are root's
        ("/dev/sda1 1000 500 450 53% /", 500 / 950),
        ("/dev/sdb 1000 850 0 100% /", 1.0),  # btrfs: the rest is for its own tree
        ("/dev/sdb 2000 900 1050 47% /", 900 / 1950),  # btrfs of two disks
        ("tank/home 4000 3900 9000 31% /", 3900 / 12900),  # more room than its own size
        ("/dev/md0 1000 400 2 100% /", 400 / 402),  # a project quota of XFS
        ("overlay 1000 - 0 - /", 1.0),
        ("gcsfuse 1000 0 0 0% /", 0.0),
        ("s3fs 1000 0 1000 0% /", 0.0),
    ],
)
def test_a_disk_is_as_full_as_its_available_says(row: str, full: float):
    mount = parse_mount("/", K + row.encode() + b"\n", 0, I, 0)
    used = share(*mount.counts("bytes"))
    assert used == pytest.approx(full, abs=1e-4)


def test_the_kernel_made_it_read_only():
    table = parse_mount_table(
        b"- /data ext4 ro\n! /data ext4 ro\n- /pub squashfs ro\n- /work xfs rw\n"
    )
    rows = {
        at: parse_mount(at, K + f"/dev/x 9 1 8 12% {at}\n".encode(), 0, I, 0, table)
        for at in ("/data", "/pub", "/work")
    }
    assert [(row.read_only, row.turned) for row in rows.values()] == [
        (True, True),
        (True, False),
        (False, False),
    ]


@pytest.mark.parametrize("used", [b"-", b"-200"])  # CephFS; a server with more free than there is
def test_a_total_whose_used_part_nobody_knows(used: bytes):
    row = b"ceph:/ 1000 " + used + b" 1200 - /data\n"
    mount = parse_mount("/data", K + row, 0, I + row, 0)
    assert (mount.bytes_total, mount.bytes_used) == (1000 * 1024, None)
    assert (mount.inodes_total, mount.inodes_used) == (1000, None)
    reason = "not reported by this filesystem"
    assert (mount.why["bytes_used"], mount.why["inodes_used"]) == (reason, reason)


@pytest.mark.parametrize("said", [b"No such file or directory", b"can't find mount point"])
def test_a_path_that_is_not_there(said: bytes):
    mount = parse_mount("/nope", b"df: /nope: " + said + b"\n", 1)
    assert is_missing(mount)
    assert mount.bytes_total is None
    assert mount.inodes_total is None


def test_a_mount_that_answers_with_an_error():
    said = b"df: /data: Transport endpoint is not connected\n"
    mount = parse_mount("/data", said, 1, said, 1)
    assert not is_missing(mount)
    assert "Transport endpoint" in mount.why["bytes_total"]


@pytest.mark.parametrize("code", [124, 137, 143])
def test_a_dead_mount_has_no_numbers_but_a_reason(code: int):
    mount = parse_mount("/data", b"", code)
    assert mount.bytes_used is None
    assert "did not return" in mount.why["bytes_used"]
    assert "did not return" in mount.why["inodes_total"]


@given(st.binary(max_size=300), st.integers(0, 255), st.binary(max_size=300), st.integers(0, 255))
def test_any_bytes_give_a_number_or_a_reason(size, code, inodes, inodes_code):
    mount = parse_mount("/x", size, code, inodes, inodes_code, parse_mount_table(size))
    assert (mount.bytes_total is None) == ("bytes_total" in mount.why)
    assert (mount.inodes_total is None) == ("inodes_total" in mount.why)
    assert all(reason.isprintable() for reason in mount.why.values())
