"""A file is written whole or not at all, and never over another one."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_tui.new_file import write_new, write_whole


def test_it_writes_line_ends_as_they_stand(tmp_path: Path) -> None:
    write_new(tmp_path / "a.csv", "a\r\nb\n")
    assert (tmp_path / "a.csv").read_bytes() == b"a\r\nb\n"
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("links", [True, False])
def test_what_is_there_stays_unless_it_may_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    if not links:
        monkeypatch.setattr(os, "link", none)
    path = tmp_path / "a.md"
    write_new(path, "new")
    with pytest.raises(FileExistsError):
        write_new(path, "newer")
    assert path.read_text() == "new"
    write_new(path, "newest", replace=True)
    assert path.read_text() == "newest"
    assert os.listdir(tmp_path) == ["a.md"]


def test_a_dangling_link_is_something_too(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "a", "text")
    assert not (tmp_path / "elsewhere").exists()


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_new(tmp_path / "a", "\udcff")
    assert os.listdir(tmp_path) == []


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to(tmp_path / "far" / "file")
    for text in ("a longer one\r\n", "new\n"):
        write_new(tmp_path / "near", text, replace=True)
    assert (tmp_path / "near").is_symlink()
    assert (tmp_path / "far" / "file").read_bytes() == b"new\n"


def test_a_pipe_stays_one(tmp_path: Path) -> None:
    """As a device does: root who writes to /dev/null must have one afterwards."""
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_new(tmp_path / "pipe", "text", replace=True)
        assert os.read(reader, 10) == b"text"
    finally:
        os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_missing_directory_is_told_by_the_name_that_was_asked_for(tmp_path: Path) -> None:
    asked = tmp_path / "missing" / "cells.csv"
    with pytest.raises(FileNotFoundError) as told:
        write_new(asked, "")
    assert told.value.filename == str(asked)


@pytest.mark.parametrize("write", [write_new, write_whole])
def test_the_mode_is_the_one_asked_for_else_that_of_the_file_there(
    tmp_path: Path, write: Callable[..., None]
) -> None:
    path = tmp_path / "a"
    write(path, b"\xff", mode=0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    write(path, "b", replace=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    write(path, "c", replace=True, mode=0o600)
    assert (stat.S_IMODE(path.stat().st_mode), path.read_text()) == (0o600, "c")


def test_a_link_in_place_of_an_own_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("theirs")
    (tmp_path / "own").symlink_to(tmp_path / "victim")
    write_whole(tmp_path / "own", "ours")
    assert (tmp_path / "victim").read_text() == "theirs"
    assert not (tmp_path / "own").is_symlink()
    assert (tmp_path / "own").read_text() == "ours"


@pytest.mark.parametrize("fault", ["fsync", "fchmod", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.EIO, "a broken disk")

    path = tmp_path / "a"
    path.write_text("old")
    monkeypatch.setattr(*((Path, "replace") if fault == "replace" else (os, fault)), fails)
    with pytest.raises(OSError, match="a broken disk") as told:
        write_whole(path, "new")
    assert told.value.filename == str(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("synced", [True, False])
def test_the_bytes_are_on_the_disk_before_they_get_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, synced: bool
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (done.append("synced"), fsync(fd)))
    monkeypatch.setattr(Path, "replace", lambda *paths: (done.append("named"), replace(*paths)))
    write_whole(tmp_path / "a", "text", synced=synced)
    assert done == (["synced", "named"] if synced else ["named"])


@pytest.mark.parametrize("letter", ["a", "宽"])
def test_a_name_may_be_as_long_as_the_disk_takes(tmp_path: Path, letter: str) -> None:
    name = letter * (255 // len(letter.encode()))
    write_new(tmp_path / name, "text")
    assert os.listdir(tmp_path) == [name]
