"""Whether runs can use a disk, from what df and the mount table say and what was seen before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_tui.core.mount_state import SeenMount, fault_of, shown, state_of
from gpu_tui.core.readings import Mount
from gpu_tui.parse.df import MountEntry, parse_mount

HEAD = "Filesystem 1024-blocks Used Available Capacity Mounted on\n"
SEEN = SeenMount("xfs", True)


def said(words: str, path: str = "/data", code: int = 1) -> Mount:
    return parse_mount(path, f"df: {path}: {words}\n".encode(), code, None, 0, {})


def row(path: str, place: str, **changes: object) -> Mount:
    text = f"{HEAD}/dev/x 1000 500 500 50% {place}\n"
    return replace(parse_mount(path, text.encode(), 0, None, 0, {}), **changes)  # type: ignore[arg-type]


def state(mount: Mount, before: SeenMount | None = None) -> str | None:
    found = fault_of(mount, before)
    return found.state if found else None


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Stale file handle", "stale"),
        ("Stale NFS file handle", "stale"),
        ("Transport endpoint is not connected", "not-connected"),
        ("Cannot send after transport endpoint shutdown", "not-connected"),
        ("Socket not connected", "not-connected"),  # musl
        ("Software caused connection abort", "not-connected"),
        ("Host is down", "not-connected"),
        ("Connection timed out", "not-connected"),
        ("Input/output error", "error"),
        ("I/O error", "error"),  # musl
        ("Remote I/O error", "error"),
        ("Structure needs cleaning", "error"),
        ("No such device", "error"),
        ("Required key not available", "error"),
        ("Unknown error 524", "error"),
    ],
)
def test_a_disk_that_answers_with_an_error(words: str, expected: str) -> None:
    found = fault_of(said(words))
    assert found is not None
    assert found.state == expected
    assert words in found.text


@pytest.mark.parametrize(
    "words",
    ["Permission denied", "Operation not permitted", "Not a directory", "File name too long",
     "Too many levels of symbolic links", "Function not implemented"],
)  # fmt: skip
def test_a_refusal_is_no_fault_of_the_disk(words: str) -> None:
    assert state(said(words)) is None


def test_an_error_about_another_path_is_ignored() -> None:
    other = b"df: /elsewhere: Input/output error\n"
    assert state(parse_mount("/data", other, 1, None, 0, {})) is None


@pytest.mark.parametrize("code", [124, 137, 143])
def test_a_df_that_did_not_return(code: int) -> None:
    assert state(parse_mount("/data", b"", code, None, 0, {})) == "hung"


@pytest.mark.parametrize("words", ["No such file or directory", "can't find mount point"])
def test_a_path_that_is_not_there(words: str) -> None:
    assert state(said(words)) is None  # the platform may have such a disk, this box never had it
    assert state(replace(said(words), written=True)) is None  # a run has yet to make it
    assert state(replace(said(words), named=True)) == "not-mounted"
    assert state(said(words), SEEN) == "not-mounted"


def test_a_mounted_disk_that_busybox_reports_as_missing_is_in_error() -> None:
    text = b"df: /data: can't find mount point\n"
    table = {"/data": MountEntry("/data", "fuse.s3fs", read_only=False)}
    assert state(parse_mount("/data", text, 1, None, 0, table)) == "error"


@pytest.mark.parametrize("path", ["/workspace", "/data", "/root/autodl-tmp", "/mnt/volume/"])
def test_the_root_disk_under_the_name_of_a_volume(path: str) -> None:
    assert state(row(path, "/", named=True)) == "not-mounted"
    assert state(row(path, "/", written=True)) == "not-mounted"
    assert state(row(path, "/"), SEEN) == "not-mounted"
    assert state(row(path, "/")) is None
    mount = row(path, "/", named=True)
    hidden = shown(mount, fault_of(mount))
    assert (hidden.bytes_used, hidden.bytes_total, hidden.bytes_available) == (None, None, None)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/", "/"),
        ("/root", "/"),
        ("/home/me", "/"),
        ("/tmp", "/"),
        ("~", "/"),
        ("~/runs", "/"),
        ("/data", "/data"),
        ("/data/", "/data"),
        ("/data/me/runs", "/data"),
        ("/link", "/mnt/disk3"),
    ],
)
def test_a_directory_of_a_disk_is_no_missing_mount(path: str, place: str) -> None:
    mount = row(path, place, named=True, written=True)
    assert state(mount) is None
    assert state_of(mount, None) == "ok"
    assert shown(mount, None) == mount


def test_a_mount_that_an_earlier_look_saw_is_missed() -> None:
    found = fault_of(row("/data/volume", "/data"), SeenMount("nfs4", True))
    assert found is not None
    assert found.text == "not mounted: this is the disk of /data; it was nfs4 at an earlier look"


def test_a_directory_of_the_root_disk_that_is_bound_elsewhere_is_mounted() -> None:
    text = f"{HEAD}/dev/root 1000 500 500 50% /\n".encode()  # output of busybox's df
    table = {at: MountEntry(at, "ext4", read_only=False) for at in ("/", "/workspace")}
    for path in ("/workspace", "/workspace/"):
        assert state(replace(parse_mount(path, text, 0, None, 0, table), named=True)) is None


READ_ONLY = {"read_only": True}


def test_a_disk_that_takes_no_writes() -> None:
    mount = row("/data", "/data", **READ_ONLY)
    assert state(replace(mount, named=True)) == "read-only"
    assert state(replace(mount, written=True)) == "read-only"
    assert state(replace(mount, turned=True)) == "read-only"
    assert state(mount, SEEN) == "read-only"
    assert state(replace(row("/", "/", **READ_ONLY), turned=True)) == "read-only"


@pytest.mark.parametrize(
    ("path", "fstype"),
    [
        ("/cvmfs/sft.cern.ch", "fuse.cvmfs2"),
        ("/cvmfs/x", "fuse"),
        ("/datasets", "ext4"),
        ("/mnt/datasets/imagenet", "nfs4"),
        ("/root/autodl-pub", "nfs4"),
        ("/kaggle/input", "ext4"),
        ("/opt/images", "squashfs"),
        ("/media/cdrom", "iso9660"),
    ],
)
def test_a_disk_that_is_meant_to_be_read(path: str, fstype: str) -> None:
    mount = row(path, path, named=True, fstype=fstype, **READ_ONLY)
    assert state(mount) is None
    assert state(mount, SeenMount(fstype, False)) is None
    assert state(replace(mount, written=True)) == "read-only"


def test_a_root_disk_that_is_read_only_by_design() -> None:
    assert state(row("/", "/", fstype="overlay", **READ_ONLY)) is None
    assert state(row("/volume", "/volume", **READ_ONLY)) is None  # only a profile lists it
