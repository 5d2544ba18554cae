"""The last look as the gate is told of it: what changed since the comparison, on either side, and when it ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rented import TERMINATE, Scene
from test_cards import BUSY, row, smi

from gpu_tui.core.evidence import Matched
from gpu_tui.core.manifest import Manifest
from gpu_tui.teardown import gather as module
from gpu_tui.teardown.gather import Gather
from gpu_tui.teardown.last_look import LastLook

AGO = 1_600_000_000


@pytest.fixture
def gather(scene: Scene) -> Gather:
    return scene.runner()._gather("pod", lambda transfer: None)


@pytest.fixture
async def matched(gather: Gather) -> Matched:
    """Up to the comparison, which found both sides alike."""
    await gather.plan(TERMINATE, None)
    manifest = (await gather.inventory()).manifest
    assert (await gather.pulled(manifest)).failed == ()
    found = await gather.matched(manifest)
    assert found.remote == found.local == manifest
    return found


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int, Callable[[], object]], None]:
    """`before(name, n, happens)`: it happens right before the nth call of that function of `gather`."""

    def hook(name: str, nth: int, happens: Callable[[], object]) -> None:
        real, count = getattr(module, name), [0]

        def called(*args: Any, **kinds: Any) -> Any:
            count[0] += 1
            if count[0] == nth:
                happens()
            return real(*args, **kinds)

        monkeypatch.setattr(module, name, called)

    return hook


Before = Callable[[str, int, Callable[[], object]], None]


async def test_where_nothing_changed_all_is_as_it_was_compared(
    gather: Gather, matched: Matched
) -> None:
    seen = await gather.recheck(matched.remote)
    assert seen.remote == seen.local == matched.remote
    assert set(seen.paths or ()) == {file.path for file in matched.remote.files}
    assert seen.stamps == matched.stamps
    assert (seen.touched, seen.moved, seen.changing) == ((), (), ())
    assert (seen.running, seen.busy, seen.cards, seen.logins) == ((), (), (), ())
    assert (seen.provider, seen.elsewhere, seen.seconds) == ("running", None, ())
    assert seen.cells is not None
    assert seen.basis
    assert seen.verifier
    assert seen.identity.boot_id


def _touched(path: Path) -> None:
    os.utime(path, (AGO, AGO))


def _rewritten(path: Path) -> None:
    at = path.stat()
    path.write_bytes(path.read_bytes()[::-1])
    os.utime(path, ns=(at.st_atime_ns, at.st_mtime_ns))


@pytest.mark.parametrize(
    ("step", "change"),
    [
        *(("last_look", change) for change in (_touched, _rewritten, os.unlink)),
        *((step, _rewritten) for step in ("state_of", "read_cells", "unseen_cards")),
    ],
)
async def test_a_file_on_the_box_that_changed_while_it_looked_is_not_hashed_as_it_is_now(
    scene: Scene,
    gather: Gather,
    matched: Matched,
    before: Before,
    step: str,
    change: Callable[[Path], None],
) -> None:
    path = scene.box.results / "wide/best.pth"
    before(step, 1, lambda: change(path))
    seen = await gather.recheck(matched.remote)
    assert seen.remote is None
    assert seen.touched == ("wide/best.pth",)
    assert "wide/best.pth" in " ".join(seen.moved)


async def test_a_file_that_came_while_it_looked_is_among_the_paths(
    scene: Scene, gather: Gather, matched: Matched, before: Before
) -> None:
    before("last_look", 1, lambda: scene.box.write("wide/late.pth", b"x", age=7_200.0))
    assert "wide/late.pth" in ((await gather.recheck(matched.remote)).paths or ())


@pytest.mark.parametrize(
    ("step", "nth", "change"),
    [
        *(("last_look", 1, change) for change in (_touched, _rewritten, os.unlink)),
        *(("local_stamps", nth, _touched) for nth in (2, 3)),
        ("state_of", 1, _rewritten),
    ],
)
async def test_a_copy_that_changed_while_it_looked_is_none(
    scene: Scene,
    gather: Gather,
    matched: Matched,
    before: Before,
    step: str,
    nth: int,
    change: Callable[[Path], None],
) -> None:
    path = scene.local / "wide/best.pth"
    before(step, nth, lambda: change(path))
    assert (await gather.recheck(matched.remote)).local is None


@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_a_copy_that_was_away_for_a_moment_is_none(
    gather: Gather, matched: Matched, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    """Moved and moved back, on a file system where that leaves the change time as it was."""
    real, count = module.local_stamps, [0]

    def stamps(root: Path) -> dict[str, tuple[int, ...]]:
        found = real(root)
        count[0] += 1
        if count[0] == nth:
            found.pop(str(root / "wide/best.pth"))
        return found

    monkeypatch.setattr(module, "local_stamps", stamps)
    assert (await gather.recheck(matched.remote)).local is None
    assert count == [3]


async def test_its_age_counts_from_the_last_byte_of_the_box(
    scene: Scene, gather: Gather, matched: Matched, before: Before
) -> None:
    """Whatever comes before it, and whatever is done here after it, takes from the two seconds."""
    before("unseen_cards", 1, lambda: scene.clock.advance(7.0))
    before("local_stamps", 3, lambda: scene.clock.advance(3.0))
    at = scene.clock.boot()
    seen = await gather.recheck(matched.remote)
    assert (seen.began_at, seen.read_at) == (at, at + 7.0)
    assert scene.clock.boot() == at + 10.0


async def test_after_the_last_look_the_box_is_not_asked_again(
    scene: Scene, gather: Gather, matched: Matched, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.last_look

    async def last(*args: Any) -> LastLook:
        found = await real(*args)
        link, called = scene.connection, ("run", "stream", "files")
        for name in called:
            monkeypatch.setattr(type(link), name, lambda *_, **__: pytest.fail("asked again"))
        return found

    monkeypatch.setattr(module, "last_look", last)
    assert (await gather.recheck(matched.remote)).remote == matched.remote


async def test_bytes_are_read_again_whatever_was_hashed_before(
    gather: Gather, matched: Matched, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, told = module.remote_manifest, []

    async def manifest(*args: Any, **kinds: Any) -> Any:
        told.append((args[2:], kinds))
        return await real(*args, **kinds)

    monkeypatch.setattr(module, "remote_manifest", manifest)
    await gather.recheck(matched.remote)
    assert told == [((), {})]


async def test_all_that_may_shut_the_gate_is_told(
    scene: Scene, gather: Gather, matched: Matched
) -> None:
    scene.box.process(77, ["python", "train.py"])
    scene.box.process(55, ["sshd: ann@pts/3"])
    scene.box.write("wide/new.pth", b"x", age=0.0)
    scene.box.sshd.program("nvidia-smi", smi(row(**BUSY)))
    scene.box.boot("11111111-2222-4333-8444-555566667777")
    scene.set(read_only=True)
    scene.box.says_its_id("another1")
    assert scene.server.pod
    scene.server.pod["status"] = "EXITED"
    seen = await gather.recheck(matched.remote)
    assert seen.running == ("python train.py (pid 77)",)
    assert seen.logins == ("ann on pts/3",)
    assert seen.busy == ("wide/new.pth",)
    assert [name for name, _ in seen.cards] == ["GPU-0"]
    assert seen.identity.boot_id == "11111111-2222-4333-8444-555566667777"
    assert seen.read_only
    assert seen.provider == "stopped"
    assert "another1" in (seen.elsewhere or "") or "is stopped" in (seen.elsewhere or "")


async def test_of_a_park_no_file_is_read(scene: Scene, gather: Gather, matched: Matched) -> None:
    scene.box.write("wide/new.pth", b"x")
    seen = await gather.recheck(None)
    assert (seen.remote, seen.local, seen.paths, seen.stamps) == (None, None, None, "")
    assert seen.identity.boot_id


async def test_of_an_abandonment_only_what_is_kept_is_hashed(
    gather: Gather, matched: Matched
) -> None:
    kept = Manifest(matched.remote.files[:2])
    seen = await gather.recheck(kept)
    assert seen.remote == kept
    assert set(seen.paths or ()) == {file.path for file in matched.remote.files}
