"""A pull that is cut anywhere: nothing wrong ever stands under a final name, and the next one goes on."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random

import pytest
from boxes import Sshd
from faults.wire import Wire, behind
from rented import Scene

from gpu_tui.core.ladder import Rung
from gpu_tui.core.manifest import Manifest
from gpu_tui.core.transfer import Transfer
from gpu_tui.teardown import pull
from gpu_tui.teardown.inventory import Hashed, remote_manifest
from gpu_tui.teardown.listing import Listing, list_remote
from gpu_tui.teardown.local import local_tree
from gpu_tui.teardown.part import Shelf
from gpu_tui.teardown.pull import pull_files
from gpu_tui.transport.base import Connection, LinkError
from gpu_tui.transport.ssh import SshTransport

NIGHTLY = os.environ.get("GPU_TUI_NIGHTLY") == "1"
MB = 1 << 20


def fill(root: Path, seed: int = 0) -> None:
    """Small, empty, whole-block and odd files, in directories."""
    random = Random(seed)
    sizes = [0, 1, 17, MB - 1, MB, MB + 1, 3 * MB + 7, 5 * MB, 2 * MB + 123]
    for number, size in enumerate(sizes):
        path = root / f"cell {number % 3}/shard-{number}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(random.randbytes(size))


async def look(connection: Connection, root: Path) -> tuple[Listing, Manifest]:
    listing = await list_remote(connection, str(root))
    manifest, failed = await remote_manifest(connection, listing)
    assert not failed
    return listing, manifest


def wrong(local: Path, manifest: Manifest) -> list[str]:
    """Files under a final name that are not those of the manifest."""
    right = set(manifest.files)
    return [file.path for file in local_tree(local).manifest.files if file not in right]


@asynccontextmanager
async def connected(box: Sshd, wire: Wire) -> AsyncIterator[Connection]:
    transport = SshTransport()
    connection = await transport.connect(behind(box, wire))
    try:
        yield connection
    finally:
        await connection.close()
        await transport.close()


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(50 if NIGHTLY else 4))
async def test_a_link_cut_at_any_byte(box: Sshd, tmp_path: Path, seed: int) -> None:
    root, local = box.home / "results", tmp_path / "here"
    fill(root)
    random = Random(seed)
    async with Wire(box.port) as wire:
        async with connected(box, wire) as connection:
            _, manifest = await look(connection, root)
        while True:
            left = random.randrange(1, manifest.total_bytes)

            def cut(count: int, file: str | None = None, *, moved: bool = True) -> None:
                nonlocal left
                left -= count if moved else 0
                if left <= 0:
                    wire.reset()

            with suppress(LinkError):
                async with connected(box, wire) as connection:
                    pulled = await pull_files(connection, str(root), manifest, local, cut)
                    assert pulled.failed == ()
                    break
            assert wrong(local, manifest) == []
    assert local_tree(local).manifest == manifest
    assert list((local / ".gpu-tui/parts").iterdir()) == []


async def test_what_was_hashed_before_a_cut_is_not_hashed_again(box: Sshd) -> None:
    root = box.home / "results"
    fill(root)
    for path in root.rglob("*.bin"):
        os.utime(path)
    hashed, told = Hashed(), []
    async with Wire(box.port) as wire:
        async with connected(box, wire) as connection:
            listing = await list_remote(connection, str(root))
            # What changed within the last seconds is never trusted to look the same again.
            await remote_manifest(connection, listing, hashed=hashed)
            assert hashed.still(listing.files[0][0], "any") is None
            await connection.run("sleep 4\n", limit=30)

            def cut(count: int, file: str | None = None, *, moved: bool = True) -> None:
                told.append(file)
                if len(told) == 5:
                    wire.reset()

            with pytest.raises(LinkError):
                await remote_manifest(connection, listing, cut, hashed)
        first, told[:] = list(told), []
        async with connected(box, wire) as connection:
            again: list[tuple[str | None, bool]] = []

            def heard(count: int, file: str | None = None, *, moved: bool = True) -> None:
                again.append((file, moved))

            (root / "cell 0/shard-0.bin").write_bytes(b"new")
            listing = await list_remote(connection, str(root))
            manifest, failed = await remote_manifest(connection, listing, heard, hashed)
            assert failed == ()
            assert manifest == local_tree(root).manifest
    read = [file for file, moved in again if moved]
    assert "cell 0/shard-0.bin" in read
    assert {file for file, moved in again if not moved} >= set(first[:4]) - {"cell 0/shard-0.bin"}


@pytest.mark.parametrize("how", ["rewritten", "cut short", "grown", "replaced", "gone", "a fifo"])
async def test_a_file_that_is_touched_before_it_comes_gets_no_name(scene: Scene, how: str) -> None:
    assert scene.connection
    root = scene.box.results
    fill(root)
    _, manifest = await look(scene.connection, root)
    target = root / "cell 0/shard-6.bin"
    data = target.read_bytes()
    match how:
        case "rewritten":
            target.write_bytes(data[:-1] + b"?")
        case "cut short":
            os.truncate(target, len(data) // 2)
        case "grown":
            target.write_bytes(data + b"more")
        case "replaced":
            target.with_suffix(".new").write_bytes(data[::-1])
            target.with_suffix(".new").rename(target)
        case "gone":
            target.unlink()
        case _:
            target.unlink()
            os.mkfifo(target)
    pulled = await pull_files(scene.connection, str(root), manifest, scene.local)
    assert [path for path, _ in pulled.failed] == ["cell 0/shard-6.bin"]
    assert pulled.files == len(manifest.files) - 1
    assert wrong(scene.local, manifest) == []
    assert not (scene.local / "cell 0/shard-6.bin").exists()
    assert list((scene.local / ".gpu-tui/parts").iterdir()) == []


async def test_a_part_of_another_file_is_read_again_from_its_start(scene: Scene) -> None:
    assert scene.connection
    fill(scene.box.results)
    _, manifest = await look(scene.connection, scene.box.results)
    shelf = Shelf(scene.local)
    shelf.open()
    for file in manifest.files:
        shelf.part_of(file).write_bytes(b"\0" * (2 * MB))
    shelf.close()
    pulled = await pull_files(scene.connection, str(scene.box.results), manifest, scene.local)
    assert pulled.failed == ()
    assert local_tree(scene.local).manifest == manifest


async def test_cancelled_it_goes_on_where_it_was(scene: Scene) -> None:
    assert scene.connection
    fill(scene.box.results)
    _, manifest = await look(scene.connection, scene.box.results)
    enough = asyncio.Event()
    moved = 0

    def heard(count: int, file: str | None = None, **_: bool) -> None:
        nonlocal moved
        moved += count
        if moved > 6 * MB:
            enough.set()

    root = str(scene.box.results)
    task = asyncio.create_task(pull_files(scene.connection, root, manifest, scene.local, heard))
    await enough.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert wrong(scene.local, manifest) == []
    fresh = 0

    def again(count: int, file: str | None = None, *, moved: bool = True) -> None:
        nonlocal fresh
        fresh += count if moved else 0

    pulled = await pull_files(scene.connection, root, manifest, scene.local, again)
    assert pulled.failed == ()
    assert local_tree(scene.local).manifest == manifest
    assert fresh < manifest.total_bytes


async def test_two_pulls_into_one_directory_do_not_meet(scene: Scene) -> None:
    assert scene.connection
    _, manifest = await look(scene.connection, scene.box.results)
    shelf = Shelf(scene.local)
    shelf.open()
    pulled = await pull_files(scene.connection, str(scene.box.results), manifest, scene.local)
    shelf.close()
    assert pulled.failed == (
        ("the directory here", "another gpu-tui pulls into this directory: wait for it"),
    )
    assert not list(scene.local.rglob("*.pth"))


@pytest.fixture(params=["size=4m", "nr_inodes=12", "ro"])
def small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A real file system without room: its option, and where it is mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", request.param, "tmpfs", str(disk)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("mounting a file system needs root")
    yield request.param, disk
    subprocess.run(["umount", str(disk)], check=True)


async def test_a_disk_here_without_room(scene: Scene, small_disk: tuple[str, Path]) -> None:
    assert scene.connection
    limit, disk = small_disk
    fill(scene.box.results)
    _, manifest = await look(scene.connection, scene.box.results)
    root = str(scene.box.results)
    if limit == "ro":
        with pytest.raises(OSError, match="Read-only") as caught:
            await pull_files(scene.connection, root, manifest, disk / "here")
        assert caught.value.errno == errno.EROFS
        return
    ((place, why),) = (await pull_files(scene.connection, root, manifest, disk)).failed
    assert place == "the disk here"
    assert ("MiB free in" if "size" in limit else "inodes free") in why
    assert local_tree(disk).manifest == Manifest()


@pytest.mark.parametrize("small_disk", ["size=24m"], indirect=True)
async def test_a_disk_that_fills_up_under_way_keeps_what_came(
    scene: Scene, small_disk: tuple[str, Path]
) -> None:
    """Somebody else takes the rest of a real disk as soon as the first bytes are there."""
    assert scene.connection
    _, disk = small_disk
    fill(scene.box.results)
    _, manifest = await look(scene.connection, scene.box.results)
    root, local, stranger = str(scene.box.results), disk / "here", disk / "somebody else's"

    def take_the_rest(*_: object, **__: object) -> None:
        with stranger.open("ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(MB // 4))

    pulled = await pull_files(scene.connection, root, manifest, local, take_the_rest)
    assert "the disk here is full" in dict(pulled.failed).values()
    assert wrong(local, manifest) == []
    here = local_tree(local).manifest
    assert (pulled.files, pulled.bytes) == (len(here.files), here.total_bytes)
    stranger.unlink()
    assert (await pull_files(scene.connection, root, manifest, local)).failed == ()
    assert local_tree(local).manifest == manifest


async def test_fewer_channels_than_wanted_are_enough(
    make_box: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "CHANNELS", 4)
    box: Sshd = make_box("narrow", max_sessions=2)  # type: ignore[operator]
    fill(box.home / "results")
    transport = SshTransport()
    connection = await transport.connect(box.instance())
    try:
        _, manifest = await look(connection, box.home / "results")
        pulled = await pull_files(connection, str(box.home / "results"), manifest, tmp_path / "l")
    finally:
        await connection.close()
        await transport.close()
    assert pulled.failed == ()
    assert local_tree(tmp_path / "l").manifest == manifest


async def test_the_bytes_that_are_told_are_the_bytes_there_are(scene: Scene) -> None:
    assert scene.connection
    fill(scene.box.results)
    seen: list[tuple[Rung, Transfer]] = []
    total = local_tree(scene.box.results).manifest.total_bytes
    views = scene.runner().pull_only("pod")
    async for view in views:
        seen += [(rung.rung, rung.transfer) for rung in view.rungs if rung.transfer]
        if seen and seen[-1][0] is Rung.LOAD:
            break
    await views.aclose()
    assert {rung for rung, _ in seen} >= {Rung.MANIFEST, Rung.PULL, Rung.MATCH}
    for rung, transfer in seen:
        assert 0 <= transfer.done <= transfer.total
        assert transfer.total == (2 * total if rung is Rung.MATCH else total)
    assert Transfer(total, total) in {
        Transfer(each.done, each.total) for rung, each in seen if rung is Rung.PULL
    }
