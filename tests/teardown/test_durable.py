"""The copies are on the disk before the box goes, and no link here leads a write elsewhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from rented import Scene, rest, until
from runpod_server import POD

from gpu_tui.core.gate import DWELL
from gpu_tui.core.manifest import Manifest
from gpu_tui.teardown.inventory import remote_manifest
from gpu_tui.teardown.journal import Journal, Record
from gpu_tui.teardown.listing import list_remote
from gpu_tui.teardown.part import Shelf
from gpu_tui.teardown.pull import pull_files


async def test_bytes_and_names_are_on_the_disk_before_the_call(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this order: a file's bytes, its name, its directories, the permit, the intent, the call."""
    done: list[tuple[str, object]] = []
    fsync, link, write, answer = os.fsync, os.link, Journal.write, scene.server._answer

    def synced(fd: int) -> None:
        fsync(fd)
        done.append(("synced", os.fstat(fd).st_ino))

    def linked(src: Any, dst: Any, **keys: Any) -> None:
        link(src, dst, **keys)
        done.append(("named", os.stat(dst, dir_fd=keys["dst_dir_fd"]).st_ino))

    def written(self: Journal, instance: str, event: str, *words: str, **detail: object) -> Record:
        record = write(self, instance, event, *words, **detail)
        done.append(("journal", event))
        return record

    def called(method: str, *rest: Any) -> tuple[int | None, bytes]:
        if method != "GET":
            done.append(("called", method))
        return answer(method, *rest)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "link", linked)
    monkeypatch.setattr(Journal, "write", written)
    monkeypatch.setattr(scene.server, "_answer", called)
    climb = scene.runner().open("pod", "terminate")
    _, views = await until(climb, lambda view: view.state == "ready")
    scene.clock.advance(DWELL)
    await climb.confirm("pod-4n6p")
    assert (await rest(views)).outcome == "gone"
    assert scene.server.calls == [f"DELETE /v2/pods/{POD['id']}"]

    permit = done.index(("journal", "permit"))
    assert permit < done.index(("journal", "intent")) < done.index(("called", "DELETE"))
    files = [path for path in scene.local.glob("*/*") if ".gpu-tui" not in path.parts]
    assert len(files) == 5
    for path in files:
        inode = path.stat().st_ino
        assert done.index(("synced", inode)) < done.index(("named", inode)), path
    last = max(number for number, (what, _) in enumerate(done) if what == "named")
    for place in (scene.local, scene.local / "base", scene.local / "wide"):
        assert ("synced", place.stat().st_ino) in done[last:permit], place


async def _manifest(scene: Scene) -> Manifest:
    assert scene.connection is not None
    listing = await list_remote(scene.connection, str(scene.box.results))
    return (await remote_manifest(scene.connection, listing))[0]


async def _pull(scene: Scene, manifest: Manifest) -> dict[str, str]:
    assert scene.connection is not None
    root = str(scene.box.results)
    return dict((await pull_files(scene.connection, root, manifest, scene.local)).failed)


@pytest.mark.parametrize("above", ["base", "deep/er"])
async def test_no_file_is_written_through_a_linked_directory(
    scene: Scene, tmp_path: Path, above: str
) -> None:
    scene.box.write("deep/er/best.pth", b"x")
    manifest = await _manifest(scene)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = scene.local / above
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    failed = await _pull(scene, manifest)
    assert set(failed) == {f.path for f in manifest.files if f.path.startswith(f"{above}/")}
    assert all("cannot be written here" in why for why in failed.values())
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("there", [True, False])
async def test_no_part_is_written_through_a_link(scene: Scene, tmp_path: Path, there: bool) -> None:
    manifest = await _manifest(scene)
    file = next(file for file in manifest.files if file.path == "wide/best.pth")
    shelf = Shelf(scene.local)
    shelf.open()
    shelf.close()
    elsewhere = tmp_path / "elsewhere"
    if there:
        elsewhere.write_bytes(b"somebody's own")
    shelf.part_of(file).symlink_to(elsewhere)
    with pytest.raises(OSError):  # noqa: PT011 - a link that leads nowhere is another error than one to a file
        await _pull(scene, manifest)
    assert not (scene.local / "wide/best.pth").exists()
    assert elsewhere.exists() is there
    if there:
        assert elsewhere.read_bytes() == b"somebody's own"
