"""One file on its way home, and the directory it comes to: without a box."""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from gpu_tui.core.manifest import FileEntry
from gpu_tui.teardown.box import BoxError
from gpu_tui.teardown.part import BLOCK, SPARE_INODES, Part, Shelf


def entry(path: str, data: bytes) -> FileEntry:
    return FileEntry(path, len(data), hashlib.sha256(data).hexdigest())


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path / "here")
    shelf.open()
    return shelf


def put(shelf: Shelf, path: str, data: bytes) -> Path:
    place = shelf.local / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    return place


def pull(shelf: Shelf, path: str, data: bytes) -> Part:
    """Take up what is there and write the rest."""
    part = Part(shelf, entry(path, data))
    part.begin(lambda: True)
    part.append([data[part.have :]])
    return part


def free(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return True
    return False


# --- the directory ---


def test_its_directories_are_for_their_owner_alone(shelf: Shelf) -> None:
    for place in (shelf.local / ".gpu-tui", shelf.parts, shelf.local / ".gpu-tui/replaced"):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", [".gpu-tui", ".gpu-tui/parts", ".gpu-tui/replaced"])
@pytest.mark.parametrize("what", ["link", "dangling link", "file"])
def test_what_is_in_its_place_is_not_used(tmp_path: Path, name: str, what: str) -> None:
    local, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    (local / name).parent.mkdir(parents=True)
    if what == "file":
        (local / name).write_bytes(b"x")
    else:
        (local / name).symlink_to(elsewhere)
    if what == "link":
        elsewhere.mkdir()
    with pytest.raises(NotADirectoryError):
        Shelf(local).open()
    assert what != "link" or list(elsewhere.iterdir()) == []


def test_one_process_at_a_time_holds_it(shelf: Shelf) -> None:
    other = Shelf(shelf.local)
    with pytest.raises(BoxError, match="another gpu-tui pulls"):
        other.open()
    held = shelf._lock
    shelf.close()
    shelf.close()  # once more does nothing
    assert free(held)
    other.open()
    with pytest.raises(BoxError):
        shelf.open()
    other.close()
    Shelf(shelf.local).close()  # one that was never open


def test_where_locks_do_not_exist_it_is_open_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", none)
    shelf = Shelf(tmp_path / "here")
    shelf.open()
    assert not free(shelf._lock)
    shelf.close()


@pytest.mark.parametrize(
    ("here", "same"),
    [(b"weights", True), (b"weightz", False), (b"weight", False), (b"", False), (None, False)],
)
def test_only_the_same_bytes_are_here_already(shelf: Shelf, here: bytes | None, same: bool) -> None:
    if here is not None:
        put(shelf, "base/best.pth", here)
    assert shelf.is_here(entry("base/best.pth", b"weights")) is same


def test_a_link_to_the_same_bytes_is_not_here(shelf: Shelf) -> None:
    put(shelf, "other", b"weights")
    (shelf.local / "best.pth").symlink_to("other")
    assert not shelf.is_here(entry("best.pth", b"weights"))


def test_what_is_here_is_synced_with_its_directory_where_that_can_be(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = put(shelf, "base/best.pth", b"weights")
    synced: set[int] = set()
    monkeypatch.setattr(os, "fsync", lambda fd: synced.add(os.fstat(fd).st_ino))
    assert shelf.is_here(entry("base/best.pth", b"weights"))
    assert synced == {place.stat().st_ino, place.parent.stat().st_ino}

    def refused(fd: int) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "fsync", refused)
    assert shelf.is_here(entry("base/best.pth", b"weights"))


def test_each_path_and_each_content_has_a_part_of_its_own(shelf: Shelf) -> None:
    files = [entry("a/x", b"1"), entry("b/x", b"1"), entry("a/x", b"2")]
    parts = [shelf.part_of(file) for file in files]
    assert len(set(parts)) == 3
    assert {part.parent for part in parts} == {shelf.parts}
    assert parts[0] == Shelf(shelf.local).part_of(files[0])


def test_only_parts_that_nobody_wants_are_swept(shelf: Shelf) -> None:
    wanted, other = entry("a", b"1"), entry("b", b"2")
    for file in (wanted, other):
        shelf.part_of(file).write_bytes(b"x")
    (shelf.parts / "notes.txt").write_bytes(b"somebody's own")
    shelf.sweep([wanted])
    assert {place.name for place in shelf.parts.iterdir()} == {
        shelf.part_of(wanted).name,
        "notes.txt",
    }


def _disk(monkeypatch: pytest.MonkeyPatch, *, free: int, inodes: int = 10_000) -> None:
    """A disk with so many bytes free for us; more are free for root."""
    row = (1, 1, 10 * free + 1_000_000, 9 * free + 1_000_000, free, 100_000, inodes, inodes, 0, 255)
    monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result(row))


@pytest.mark.parametrize(("free", "room"), [(1_100, True), (1_099, False), (1_000, False)])
def test_a_tenth_more_than_the_bytes_must_be_free(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, free: int, room: bool
) -> None:
    _disk(monkeypatch, free=free)
    why = shelf.problem([entry("a", bytes(600)), entry("b", bytes(400))])
    assert (why is None) is room
    assert room or "needs 1.1 KiB free in" in (why or "")


@pytest.mark.parametrize(("part", "room"), [(400, False), (900, True), (1_000, True)])
def test_what_came_already_needs_no_room(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, part: int, room: bool
) -> None:
    file = entry("a", bytes(1_000))
    shelf.part_of(file).write_bytes(bytes(part))
    _disk(monkeypatch, free=111)
    assert (shelf.problem([file]) is None) is room


def test_a_part_that_is_too_long_makes_no_room_for_another_file(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other = entry("a", bytes(1_000)), entry("b", bytes(5_000))
    shelf.part_of(file).write_bytes(bytes(9_000))
    _disk(monkeypatch, free=1_000)
    assert shelf.problem([file, other]) is not None


@pytest.mark.parametrize(("spare", "room"), [(0, True), (-1, False)])
def test_each_file_and_each_directory_needs_an_inode(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, spare: int, room: bool
) -> None:
    files = [entry("a/b/one", b""), entry("a/b/two", b""), entry("c/three", b"")]
    _disk(monkeypatch, free=10**9, inodes=3 + 3 + SPARE_INODES + spare)
    why = shelf.problem(files)
    assert (why is None) is room
    assert room or "inodes free" in (why or "")


def test_an_older_file_of_that_name_moves_aside_with_its_bytes(shelf: Shelf) -> None:
    old = put(shelf, "base/best.pth", b"old")
    os.utime(old, ns=(10**18, 10**18))
    assert pull(shelf, "base/best.pth", b"new").finish()
    assert (shelf.local / "base/best.pth").read_bytes() == b"new"
    (kept,) = (shelf.local / ".gpu-tui/replaced").glob(f"{10**18}-*/base/best.pth")
    assert kept.read_bytes() == b"old"
    assert shelf.aside == ["base/best.pth"]


def test_what_is_no_file_keeps_its_place(shelf: Shelf) -> None:
    (shelf.local / "best.pth").mkdir()
    with pytest.raises(BoxError, match="move it away"):
        pull(shelf, "best.pth", b"new").finish()
    assert (shelf.local / "best.pth").is_dir()


def test_every_directory_that_got_a_name_is_synced_once(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pull(shelf, "a/b/best.pth", b"new").finish()
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_ino))
    shelf.settle()
    places = (shelf.local, shelf.local / "a", shelf.local / "a/b")
    assert sorted(synced) == sorted(place.stat().st_ino for place in places)
    synced.clear()
    shelf.settle()
    assert synced == []


# --- the file ---


def test_a_part_is_taken_up_at_whole_blocks(shelf: Shelf) -> None:
    data = os.urandom(2 * BLOCK + 17)
    file = entry("best.pth", data)
    shelf.part_of(file).write_bytes(data[: BLOCK + 5])
    part = Part(shelf, file)
    part.begin(lambda: True)
    assert (part.have, part.resumed) == (BLOCK, True)
    part.append([data[BLOCK:]])
    assert part.finish()
    assert (shelf.local / "best.pth").read_bytes() == data


def test_of_a_part_that_is_too_long_no_more_than_the_file_is_taken(shelf: Shelf) -> None:
    data = os.urandom(BLOCK + 17)
    file = entry("best.pth", data)
    shelf.part_of(file).write_bytes(data + bytes(2 * BLOCK))
    part = Part(shelf, file)
    part.begin(lambda: True)
    assert part.have == BLOCK
    part.append([data[BLOCK:]])
    assert part.finish()
    assert (shelf.local / "best.pth").read_bytes() == data


@pytest.mark.parametrize("size", [0, BLOCK - 1])
def test_less_than_a_block_is_begun_again(shelf: Shelf, size: int) -> None:
    data = os.urandom(BLOCK)
    file = entry("best.pth", data)
    shelf.part_of(file).write_bytes(data[:size])
    part = Part(shelf, file)
    part.begin(lambda: True)
    assert (part.have, part.resumed) == (0, False)
    assert pull(shelf, "best.pth", data).finish()


def test_it_stops_to_read_when_it_is_asked_to(shelf: Shelf) -> None:
    data = os.urandom(3 * BLOCK)
    file = entry("best.pth", data)
    shelf.part_of(file).write_bytes(data)
    asked: list[bool] = []

    def go_on() -> bool:
        asked.append(True)
        return len(asked) < 2

    part = Part(shelf, file)
    part.begin(go_on)
    assert part.have == BLOCK


def test_a_write_that_the_disk_takes_in_pieces_is_whole(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: real(fd, data[:3], at))
    data = os.urandom(100)
    part = Part(shelf, entry("best.pth", data))
    part.append([data[:50], data[50:]])
    assert part.have == 100
    assert part.finish()
    assert (shelf.local / "best.pth").read_bytes() == data


@pytest.mark.parametrize(
    "came", [b"weightz", b"weight", b"weights and more", b""], ids=["other", "cut", "long", "none"]
)
def test_other_bytes_get_no_name_and_are_thrown_away(shelf: Shelf, came: bytes) -> None:
    part = Part(shelf, entry("best.pth", b"weights"))
    part.append([came])
    assert not part.finish()
    assert not (shelf.local / "best.pth").exists()
    assert list(shelf.parts.iterdir()) == []


def test_its_bytes_are_synced_before_it_has_its_name(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, named = os.fsync, []

    def fsync(fd: int) -> None:
        named.append((shelf.local / "best.pth").exists())
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    assert pull(shelf, "best.pth", b"weights").finish()
    assert named == [False]


def test_what_is_given_up_leaves_nothing(shelf: Shelf) -> None:
    part = Part(shelf, entry("best.pth", b"weights"))
    part.discard()  # before its first byte
    part.append([b"wei"])
    held = part._fd
    part.discard()
    assert free(held)
    assert list(shelf.parts.iterdir()) == []


def test_what_is_let_go_stays_for_the_next_pull(shelf: Shelf) -> None:
    part = Part(shelf, entry("best.pth", b"weights"))
    part.close()  # before its first byte
    part.append([b"wei"])
    held = part._fd
    part.close()
    part.close()
    assert free(held)
    assert [place.read_bytes() for place in shelf.parts.iterdir()] == [b"wei"]


def test_a_file_that_cannot_be_opened_holds_nothing(shelf: Shelf, monkeypatch: Any) -> None:
    file = entry("best.pth", b"weights")
    os.mkfifo(shelf.part_of(file))
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(BoxError, match="move it away"):
        Part(shelf, file).append([b"x"])
    assert len(os.listdir("/dev/fd")) == before
