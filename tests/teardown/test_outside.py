"""What does not come home is said before anybody confirms."""

from __future__ import annotations

from rented import Scene, until

from gpu_tui.core.ladder import Rung
from gpu_tui.teardown.hashing import Stamps, stamps
from gpu_tui.teardown.outside import LARGE, coverage

MUCH = b"\xff" * (LARGE + 4096)


async def test_what_lies_beside_the_results_is_on_the_ladder(scene: Scene) -> None:
    home = scene.box.sshd.home
    (home / "other runs").mkdir()
    (home / "other runs/best.pth").write_bytes(MUCH)
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state == "ready")
    await views.aclose()
    rung = next(row for row in view.rungs if row.rung is Rung.MANIFEST)
    lines = [line for line in rung.lines if line.startswith("not covered")]
    assert len(lines) == 1
    assert "other runs, 10.0 MiB, lies outside the results" in lines[0]
    assert any(line.startswith("the newest of them is ") for line in rung.lines)


async def test_only_what_is_beside_the_way_to_the_results(scene: Scene) -> None:
    assert scene.connection is not None
    disk = scene.box.sshd.home / "disk"
    root = disk / "a/b/results"
    for place in (root, disk / "a/b/beside", disk / "a/up", disk / ".cache", disk / "small"):
        place.mkdir(parents=True)
        (place / "it").write_bytes(MUCH if place.name != "small" else b"x")
    (disk / "link").symlink_to(root)
    mounts = (str(disk), str(disk / "a"), str(disk / "nowhere"), str(root))
    found = await coverage(scene.connection, str(root), mounts, Stamps())
    assert found.outside is not None
    assert {path.removeprefix(f"{disk}/") for path, _ in found.outside} == {
        *("a/b/beside", "a/up", ".cache"),
    }
    assert all(size >= LARGE for _, size in found.outside)


async def test_what_could_not_be_counted_is_not_said_to_be_nothing(scene: Scene) -> None:
    assert scene.connection is not None
    home, bin = scene.box.sshd.home, scene.box.sshd.home / "bin"
    bin.mkdir(exist_ok=True)
    (bin / "du").write_text("#!/bin/sh\nexit 1\n")
    (bin / "du").chmod(0o755)
    (home / "other").mkdir()
    real = scene.connection.run

    async def run(program: str, **more: object):  # type: ignore[no-untyped-def]
        return await real(f"PATH={bin}:$PATH\n{program}", **more)  # type: ignore[arg-type]

    blind = _Blind(run)
    found = await coverage(blind, str(scene.box.results), (), Stamps())  # type: ignore[arg-type]
    assert found.outside is None


class _Blind:
    def __init__(self, run: object) -> None:
        self.run = run


async def test_the_newest_result_and_its_age(scene: Scene) -> None:
    assert scene.connection is not None
    looked = await stamps(scene.connection, str(scene.box.results))
    assert looked.newest in looked
    assert looked.newest_age is not None
    assert 0 <= looked.newest_age < 60
