"""Names that a box may offer, and what becomes of them here."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from rented import Scene, until

from gpu_tui.core.fleet import Results
from gpu_tui.core.ladder import Rung
from gpu_tui.core.manifest import FileEntry, Manifest
from gpu_tui.teardown.box import read_text, shell_path
from gpu_tui.teardown.hashing import file_of
from gpu_tui.teardown.inventory import remote_manifest
from gpu_tui.teardown.listing import list_remote, path_problem
from gpu_tui.teardown.local import hash_file, local_tree
from gpu_tui.teardown.pull import pull_files

BAD = [
    *("", ".", "..", "../x", "a/../x", "/etc/x", "a//b", "a/", "/", "a/./b", "a/.."),
    *("a\nb", "a\rb", "a\x1b[2J", "a\x00b", "a\x7f", "a\u202eb", "a\u200bb", "a\\b", "a\tb"),
    *("\udcff", "a/\udce9.pth", "x" * 241, "é" * 121, "/".join(["d" * 100] * 11)),
    *(".gpu-tui/x", "a/.gpu-tui/b"),
]
GOOD = [
    "plain",
    "a/best.pth",
    "-rf",
    "a b/c d",
    "CON",
    "权重/最好.pth",
    "~",
    "$(id)",
    "a'b",
    "%s",
    "x" * 240,
]


@pytest.mark.parametrize("path", BAD)
def test_a_name_that_cannot_be_here(path: str) -> None:
    assert path_problem(path)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("a/\udce9.pth", "not UTF-8"),
        ("a/../x", "leaves its directory"),
        ("a\nb", "control characters"),
        ("a\\b", "control characters"),
        (".gpu-tui/x", "reserved"),
        ("a/.gpu-tui/b", "reserved"),
        ("a/.GPU-Tui/b", "reserved"),
        ("é" * 121, "too long"),
        ("/".join(["d" * 100] * 11), "too long"),
    ],
)
def test_it_is_said_why_a_name_cannot_be_here(path: str, why: str) -> None:
    assert why in (path_problem(path) or "")


@pytest.mark.parametrize("path", GOOD)
def test_a_name_that_can(path: str) -> None:
    assert path_problem(path) is None


@pytest.mark.parametrize(
    ("path", "word"),
    [("~", '"$HOME"'), ("~/a b", "\"$HOME\"/'a b'"), ("/x;id", "'/x;id'"), ("~x", "'~x'")],
)
def test_a_path_as_one_word_of_a_shell(path: str, word: str) -> None:
    assert shell_path(path) == word


async def test_odd_names_are_refused_one_by_one_and_good_ones_come_home(scene: Scene) -> None:
    assert scene.connection
    root = scene.box.results
    for path in GOOD:
        scene.box.write(f"odd/{path}", path.encode())
    for name in (b"bad\xff.pth", b"line\nfeed", b"esc\x1b[2J"):
        (root / os.fsdecode(name)).write_bytes(b"x")
    (root / "case.pth").write_bytes(b"x")
    (root / "CASE.pth").write_bytes(b"y")
    (root / "good-link.pth").symlink_to("base/best.pth")
    (root / "far-link.pth").symlink_to("/etc/hostname")
    (root / "dead-link.pth").symlink_to("nowhere")
    (root / "loop").symlink_to("loop")
    (root / "dir-link").symlink_to("base")
    os.mkfifo(root / "pipe")
    (root / "base/runs/empty").mkdir(parents=True)
    listing = await list_remote(scene.connection, str(root))
    refused = {path for path, _ in listing.refused}
    assert refused == {
        *("bad\udcff.pth", "line\nfeed", "esc\x1b[2J", "case.pth"),
        *("far-link.pth", "dead-link.pth", "loop", "pipe"),
    }
    assert listing.left.links == (("dir-link", "base"), ("good-link.pth", "base/best.pth"))
    assert listing.left.empty == ("base/runs/empty",)
    manifest, failed = await remote_manifest(scene.connection, listing)
    assert failed == ()
    assert manifest == Manifest.of(
        FileEntry(path, *hash_file(root / path)) for path, _ in listing.files
    )
    pulled = await pull_files(scene.connection, str(root), manifest, scene.local)
    assert pulled.failed == ()
    assert local_tree(scene.local).manifest == manifest


async def test_a_file_that_changes_under_the_pull_gets_no_name(scene: Scene) -> None:
    assert scene.connection
    listing = await list_remote(scene.connection, str(scene.box.results))
    manifest, _ = await remote_manifest(scene.connection, listing)
    target = scene.box.results / "wide/best.pth"
    data = bytearray(target.read_bytes())
    data[7] ^= 1
    target.write_bytes(data)
    pulled = await pull_files(scene.connection, listing.root, manifest, scene.local)
    assert [path for path, _ in pulled.failed] == ["wide/best.pth"]
    assert not (scene.local / "wide/best.pth").exists()
    assert pulled.files == len(manifest.files) - 1


@pytest.mark.parametrize("tool", ["sha256sum", "openssl", "python3"])
async def test_each_hash_program_says_the_same(scene: Scene, tool: str) -> None:
    assert scene.connection
    for other in {"sha256sum", "openssl", "python3", "python"} - {tool}:
        scene.box.sshd.program(other, "#!/bin/sh\nexit 127\n")
    if tool == "python3":
        import sys

        scene.box.sshd.program("python3", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    listing = await list_remote(scene.connection, str(scene.box.results))
    manifest, failed = await remote_manifest(scene.connection, listing)
    assert failed == ()
    assert manifest == local_tree(scene.box.results).manifest


async def test_no_room_here_is_said_before_a_byte_comes(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scene.connection
    listing = await list_remote(scene.connection, str(scene.box.results))
    manifest, _ = await remote_manifest(scene.connection, listing)
    real = os.statvfs

    def full(path: Path) -> os.statvfs_result:
        fields = list(real(path))
        fields[4] = 0  # f_bavail
        return os.statvfs_result(fields)

    monkeypatch.setattr(os, "statvfs", full)
    pulled = await pull_files(scene.connection, listing.root, manifest, scene.local)
    ((place, why),) = pulled.failed
    assert place == "the disk here"
    assert "needs 11.6 KiB free in" in why
    assert pulled.files == 0


async def test_a_text_is_read_whole_or_not_at_all(scene: Scene) -> None:
    assert scene.connection
    assert await read_text(scene.connection, str(scene.box.queue)) == scene.box.queue.read_bytes()
    assert await read_text(scene.connection, "~/nowhere") is None
    assert await read_text(scene.connection, str(scene.box.results)) is None


def test_links_and_devices_here_are_odd(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "link").symlink_to("a")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / ".gpu-tui").mkdir()
    (tmp_path / ".gpu-tui/part").write_text("x")
    tree = local_tree(tmp_path)
    assert [file.path for file in tree.manifest.files] == ["a"]
    assert tree.odd == ("link", "pipe")
    assert local_tree(tmp_path / "nowhere").manifest == Manifest()


async def test_replaced_copies_of_one_name_and_time_are_all_kept(scene: Scene) -> None:
    assert scene.connection
    old = {"base/best.pth": b"old base", "wide/best.pth": b"old wide"}
    for path, data in old.items():
        target = scene.local / path
        target.parent.mkdir(parents=True)
        target.write_bytes(data)
        os.utime(target, ns=(10**18, 10**18))
    listing = await list_remote(scene.connection, str(scene.box.results))
    manifest, _ = await remote_manifest(scene.connection, listing)
    pulled = await pull_files(scene.connection, listing.root, manifest, scene.local)
    assert (pulled.failed, pulled.aside) == ((), ("base/best.pth", "wide/best.pth"))
    kept = scene.local / ".gpu-tui/replaced"
    assert {
        p.relative_to(p.parents[1]).as_posix(): p.read_bytes() for p in kept.glob("*/*/*")
    } == old


async def test_no_file_is_written_or_synced_on_the_loop(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scene.connection
    loop = threading.get_ident()
    seen: set[str] = set()
    for name in ("pwrite", "fsync", "link", "statvfs"):
        real = getattr(os, name)

        def watched(*args: Any, name: str = name, real: Any = real, **keys: Any) -> Any:
            assert threading.get_ident() != loop or not _of_a_file(args), name
            seen.add(name)
            return real(*args, **keys)

        monkeypatch.setattr(os, name, watched)
    scene.box.write("base/last.log", os.urandom(3_000_000))
    listing = await list_remote(scene.connection, str(scene.box.results))
    manifest, _ = await remote_manifest(scene.connection, listing)
    assert (await pull_files(scene.connection, listing.root, manifest, scene.local)).failed == ()
    assert seen == {"pwrite", "fsync", "link", "statvfs"}
    assert local_tree(scene.local).manifest == manifest


def _of_a_file(args: tuple[Any, ...]) -> bool:
    """Not a pipe or socket of the loop's own."""
    return not isinstance(args[0], int) or stat.S_ISREG(os.fstat(args[0]).st_mode)


async def test_the_boxes_own_files_are_no_copies(scene: Scene) -> None:
    """A disk that both mount, or a box that is this machine: pulled onto itself nothing is saved."""
    before = sorted(str(path) for path in scene.box.results.rglob("*"))
    scene.set(results=Results(str(scene.box.results), str(scene.box.results)))
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state == "blocked")
    await views.aclose()
    pull = next(row for row in view.rungs if row.rung is Rung.PULL)
    assert "the box's own file and no copy" in " ".join(pull.lines)
    assert sorted(str(path) for path in scene.box.results.rglob("*")) == before


async def test_a_hard_link_is_no_copy_either(scene: Scene) -> None:
    (scene.local / "wide").mkdir(parents=True)
    (scene.local / "wide/best.pth").hardlink_to(scene.box.results / "wide/best.pth")
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state == "blocked")
    await views.aclose()
    assert any("wide/best.pth" in line for row in view.rungs for line in row.lines)


@pytest.mark.parametrize(
    ("stamp", "known"),
    [
        ("2049 7 42 2026-11-21 20:00:00.5 +0800 2025-11-21 04:40:00.000000001 +0000", True),
        ("2049 7 42 2026-11-21 20:00:00.5 +0800 2025-11-21 12:40:00.000000001 +0800", True),
        ("2049 7 42 1763700000.9 1763700000.000000001", True),
        ("2049 7 42 1763700000.9 1763700000.000000002", False),
        ("2049 7 42 ? ?", False),
        ("2049 7 42 2026-99-99 99:00:00.5 +0000 2026-99-99 20:00:00.5 +0000", False),
        ("", False),
    ],
)
def test_which_file_a_stamp_is_of(stamp: str, known: bool) -> None:
    assert (file_of(stamp) == (7, 42, 1763700000 * 10**9 + 1)) is known


async def test_what_is_here_already_is_made_durable_as_well(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody's copy of a minute ago may be in memory alone, and the box is about to go."""
    assert scene.connection is not None
    listing = await list_remote(scene.connection, str(scene.box.results))
    manifest, _ = await remote_manifest(scene.connection, listing)
    await pull_files(scene.connection, listing.root, manifest, scene.local)
    synced, real = set[int](), os.fsync

    def fsync(fd: int) -> None:
        synced.add(os.fstat(fd).st_ino)
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    again = await pull_files(scene.connection, listing.root, manifest, scene.local)
    assert again.files == len(manifest.files)
    here = [scene.local / file.path for file in manifest.files]
    assert {path.stat().st_ino for path in (*here, *(path.parent for path in here))} <= synced
