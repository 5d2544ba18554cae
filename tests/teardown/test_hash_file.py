"""What was hashed on a box is not hashed again by the next gpu-tui, and nothing else is believed of it."""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from rented import Scene, rest, until

from gpu_tui.core.manifest import FileEntry
from gpu_tui.teardown import hash_file, inventory
from gpu_tui.teardown.hash_file import HashFile, hash_file_of
from gpu_tui.teardown.local import local_tree

ENTRY = FileEntry("base/best.pth", 7, "a" * 64)
BOX = ("pod-1", "boot-1", "/r")


def kept(directory: Path) -> HashFile:
    return hash_file_of(directory / "hashes", "pod")


def test_one_box_one_boot_one_root(tmp_path: Path) -> None:
    file = kept(tmp_path)
    assert file.begin(BOX) == {}
    file.add(ENTRY, "1 7 2 3")
    odd = replace(ENTRY, path="bad\udcff\n\u202e", sha256="b" * 64)
    file.add(odd, "4 7 2 3")
    file.add(replace(ENTRY, sha256="c" * 64), "1 7 9 9")  # the later one counts
    assert kept(tmp_path).begin(BOX) == {
        ENTRY.path: ("1 7 9 9", replace(ENTRY, sha256="c" * 64)),
        odd.path: ("4 7 2 3", odd),
    }
    for other in (("pod-2", "boot-1", "/r"), ("pod-1", "boot-2", "/r"), ("pod-1", "boot-1", "/s")):
        assert kept(tmp_path).begin(other) == {}
    assert hash_file_of(tmp_path / "hashes", "pod-b").begin(BOX) == {}
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "line",
    [
        b"", b"{", b"[]", b"null", b"[1,2,3,4,5]", b"\xff" * 40, b"[" * 9_000,
        b'["BOX","s","p",7,"short"]', b'["BOX","s","p","7","%s"]' % (b"a" * 64),
        b'["BOX","s","p",true,"%s"]' % (b"a" * 64), b'["BOX",3,"p",7,"%s"]' % (b"a" * 64),
    ],
)  # fmt: skip
def test_a_line_that_is_none_is_passed_over(tmp_path: Path, line: bytes) -> None:
    file = kept(tmp_path)
    file.begin(BOX)
    file.add(ENTRY, "1 7 2 3")
    with file.path.open("ab") as end:
        end.write(line.replace(b"BOX", file._box.encode()))  # perhaps cut: no newline
    again = kept(tmp_path)
    assert list(again.begin(BOX)) == [ENTRY.path]
    again.add(replace(ENTRY, path="x"), "1")
    assert list(kept(tmp_path).begin(BOX)) == [ENTRY.path, "x"]


def test_it_does_not_grow_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hash_file, "LARGEST", 4_096)
    file = kept(tmp_path)
    file.begin(BOX)
    for number in range(200):
        file.add(replace(ENTRY, path=f"{number}"), "s")
    assert file.path.stat().st_size <= 4_096
    file.path.write_bytes(b"x" * 5_000)
    assert kept(tmp_path).begin(BOX) == {}
    assert file.path.stat().st_size == 0


@pytest.mark.parametrize("trouble", ["a link", "a directory", "others may write"])
def test_without_it_the_work_is_only_done_again(tmp_path: Path, trouble: str) -> None:
    file = kept(tmp_path)
    file.path.parent.mkdir(mode=0o700)
    if trouble == "a link":
        file.path.symlink_to(tmp_path / "elsewhere")
    elif trouble == "a directory":
        file.path.mkdir()
    else:
        file.path.parent.chmod(0o777)
    assert file.begin(BOX) == {}
    file.add(ENTRY, "1 7 2 3")
    assert not (tmp_path / "elsewhere").exists()


def test_each_instance_has_a_file_of_its_own_whatever_its_name(tmp_path: Path) -> None:
    names = ["pod", "pod-2", "", "../pod", "a/b", "\udcff", "x" * 500]
    files = {hash_file_of(tmp_path / "hashes", name).path for name in names}
    assert len(files) == len(names)
    for path in files:
        assert path.parent == tmp_path / "hashes"
        assert re.fullmatch(r"[0-9a-f]{16}\.jsonl", path.name)
    assert kept(tmp_path).path == kept(tmp_path).path


def test_only_the_end_of_a_file_is_written_and_only_by_its_owner(tmp_path: Path) -> None:
    file, other = kept(tmp_path), kept(tmp_path)
    file.begin(BOX)
    other.begin(BOX)
    for number in range(3):  # two programs at once lose nothing of each other
        file.add(replace(ENTRY, path=f"a{number}"), "s")
        other.add(replace(ENTRY, path=f"b{number}"), "s")
    assert len(kept(tmp_path).begin(BOX)) == 6
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


def test_a_line_that_is_too_long_is_left_out(tmp_path: Path) -> None:
    file = kept(tmp_path)
    file.begin(BOX)
    file.add(replace(ENTRY, path="x" * hash_file.LINE), "s")
    assert file.path.stat().st_size == 0
    file.add(ENTRY, "s")
    assert list(kept(tmp_path).begin(BOX)) == [ENTRY.path]


def test_begun_again_or_closed_it_holds_one_file_or_none(tmp_path: Path) -> None:
    file = kept(tmp_path)
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        file.begin(BOX)
    assert len(os.listdir("/dev/fd")) == before + 1
    file.close()
    file.close()
    assert len(os.listdir("/dev/fd")) == before
    file.add(ENTRY, "s")
    assert file.path.stat().st_size == 0


def test_a_descriptor_that_is_gone_is_let_go(tmp_path: Path) -> None:
    file = kept(tmp_path)
    file.begin(BOX)
    os.close(file._fd)
    file.add(ENTRY, "s")  # a disk that fails costs the memory, and nothing else
    assert file._fd == -1
    file.begin(BOX)
    os.close(file._fd)
    file.close()
    assert file._fd == -1


async def test_the_next_gpu_tui_hashes_only_what_changed(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = inventory.hash_files

    def told(connection: object, root: str, todo: list[tuple[str, int]], count: object) -> object:
        asked.extend(path for path, _ in todo)
        return real(connection, root, todo, count)  # type: ignore[arg-type]

    monkeypatch.setattr(inventory, "hash_files", told)
    assert scene.connection
    await scene.connection.run("sleep 3\n", limit=30)  # what is this young is never trusted
    assert (await rest(scene.runner().pull_only("pod"))).outcome == "verified"
    assert len(asked) == 5
    asked.clear()
    changed = scene.box.write("base/train.log", b"epoch 2 loss 0.2\n")
    assert changed.exists()
    climb = scene.runner().open("pod", "terminate")  # a new one knows only the file
    view, views = await until(climb, lambda view: view.state in ("ready", "blocked", "closed"))
    assert view.state == "ready", view.closed_because
    assert set(asked) == {"base/train.log"}
    assert local_tree(scene.local).manifest == local_tree(scene.box.results).manifest
    asked.clear()
    scene.clock.advance(3.0)
    await climb.confirm(view.phrase)
    assert (await rest(views)).outcome == "gone"
    assert len(asked) == 5  # the last look reads every byte


async def test_a_hash_that_somebody_wrote_into_it_ends_in_a_shut_gate(scene: Scene) -> None:
    assert scene.connection
    await scene.connection.run("sleep 3\n", limit=30)
    assert (await rest(scene.runner().pull_only("pod"))).outcome == "verified"
    path = hash_file_of(scene.state / "hashes", "pod").path
    rows = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    path.write_text("".join(json.dumps([*row[:4], "0" * 64]) + "\n" for row in rows))
    os.chmod(path, 0o600)
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("ready", "blocked", "closed"))
    assert view.state == "blocked"
    await views.aclose()
    assert scene.server.calls == []
