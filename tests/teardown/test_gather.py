"""What each rung is told of one box, method by method: nothing that was seen is left out."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rented import PROFILES, TERMINATE, TIERS, Scene
from test_cards import BUSY, row, smi

from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.fleet import Results
from gpu_tui.core.manifest import Manifest
from gpu_tui.core.proof import NO_WEIGHTS
from gpu_tui.teardown import gather as module
from gpu_tui.teardown.box import BoxError, NotConnected
from gpu_tui.teardown.gather import Gather
from gpu_tui.teardown.listing import Listing
from gpu_tui.teardown.verifier import verifier
from gpu_tui.transport.base import Connection

LINKED = "base/best.pth"


@pytest.fixture
def gather(scene: Scene) -> Gather:
    return scene.runner()._gather("pod", lambda transfer: None)


def _work(scene: Scene) -> None:
    scene.box.process(77, ["python", "train.py"])


# --- the plan ---


async def test_a_plan_holds_all_that_was_seen(scene: Scene, gather: Gather) -> None:
    assert scene.server.pod is not None
    scene.box.process(55, ["sshd: ann@pts/3"])
    plan = await gather.plan(TERMINATE, "an earlier call")
    assert plan.logins == ("ann on pts/3",)
    assert (plan.instance, plan.verb, plan.provider) == ("pod", TERMINATE, "running")
    assert (plan.results, plan.unresolved) == (str(scene.box.results), "an earlier call")
    assert plan.cells is not None
    assert plan.cells.names == ("base", "wide")
    assert plan.basis
    assert plan.elsewhere is None
    assert not plan.console
    assert not plan.read_only
    assert plan.identity.provider_id == scene.instance.provider.id
    assert plan.identity.host_key
    assert plan.identity.boot_id


async def test_a_plan_for_another_box_says_so(scene: Scene, gather: Gather) -> None:
    scene.box.says_its_id("another1")
    assert "the box says that it is another1" in (
        (await gather.plan(TERMINATE, None)).elsewhere or ""
    )


async def test_without_a_place_for_them_there_are_no_results(scene: Scene, gather: Gather) -> None:
    scene.set(results=Results(str(scene.box.results), None))
    assert (await gather.plan(TERMINATE, None)).results is None


async def test_a_disk_that_bills_by_itself_is_to_be_acknowledged(gather: Gather) -> None:
    assert (await gather.plan(TERMINATE, None)).seconds == ()
    billed = replace(TIERS[1], bills_when_stopped="yes")
    gather.profile = replace(PROFILES["runpod"], storage=(TIERS[0], billed))
    plan = await gather.plan(TERMINATE, None)
    assert [one.key for one in plan.seconds] == ["storage:net"]
    assert plan.tiers == (TIERS[0], billed)


async def test_the_instance_is_the_one_of_the_fleet_file_now(scene: Scene, gather: Gather) -> None:
    assert gather.instance is scene.instance
    scene.set(read_only=True)
    assert gather.instance.read_only
    scene.set(name="renamed")
    with pytest.raises(BoxError, match="no longer in the fleet file"):
        _ = gather.instance


# --- what works there ---


async def test_what_works_and_what_is_written_is_told(scene: Scene, gather: Gather) -> None:
    quiet = await gather.quiet()
    assert (quiet.running, quiet.busy, quiet.cards, quiet.why) == ((), (), (), None)
    _work(scene)
    scene.box.write("wide/new.pth", b"x", age=0.0)
    scene.box.sshd.program("nvidia-smi", smi(row(**BUSY)))
    quiet = await gather.quiet()
    assert quiet.running == ("python train.py (pid 77)",)
    assert quiet.busy == ("wide/new.pth",)
    assert [name for name, _ in quiet.cards] == ["GPU-0"]


async def test_a_table_with_holes_says_why_it_is_none(
    scene: Scene, gather: Gather, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.survey

    async def hidden(*words: object) -> object:
        return replace(await real(*words), hidden=True)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "survey", hidden)
    quiet = await gather.quiet()
    assert quiet.running is None
    assert "hidepid" in (quiet.why or "")


# --- the files ---


def _pipe(scene: Scene) -> None:
    os.mkfifo(scene.box.results / "wide/pipe")


def _claim(scene: Scene) -> None:
    scene.box.write("PULL_MANIFEST.json", b"{")


@pytest.fixture
def swaps(monkeypatch: pytest.MonkeyPatch) -> Callable[[Scene], None]:
    """A file becomes a link right after it was listed."""

    def later(scene: Scene) -> None:
        real = module.list_remote

        async def listed(connection: Connection, root: str) -> Listing:
            found = await real(connection, root)
            _link(scene)
            return found

        monkeypatch.setattr(module, "list_remote", listed)

    return later


def _link(scene: Scene) -> None:
    target = scene.box.results / "wide/best_metrics.json"
    if not target.is_symlink():
        target.unlink()
        target.symlink_to(scene.box.results / "base/best_metrics.json")


async def test_what_cannot_be_listed_or_hashed_is_refused_by_name(
    scene: Scene, gather: Gather, swaps: Callable[[Scene], None]
) -> None:
    assert (await gather.inventory()).refused == ()
    _pipe(scene)
    _claim(scene)
    swaps(scene)
    refused = dict((await gather.inventory()).refused)
    assert set(refused) >= {"wide/pipe", "wide/best_metrics.json"}
    assert any(name.startswith("PULL_MANIFEST.json") for name in refused)


async def test_a_pull_alone_may_lie_on_a_disk_of_another_machine(
    scene: Scene, gather: Gather, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before a destruction it may not: that disk may go with the box."""
    asked: list[bool] = []

    def abroad(local: Path, names: object, *, any_host: bool) -> str | None:
        asked.append(any_host)
        return "it is a disk of another machine" if any_host else None

    monkeypatch.setattr(module, "abroad", abroad)
    manifest = (await gather.inventory()).manifest
    pulled = await gather.pulled(manifest)
    assert (pulled.failed, pulled.files) == ((), len(manifest.files))
    await gather.plan(TERMINATE, None)
    pulled = await gather.pulled(manifest)
    assert (pulled.failed, pulled.files) == (
        ((f"into {scene.local}", "it is a disk of another machine"),),
        0,
    )
    assert asked == [False, True]


async def test_nothing_is_pulled_before_it_was_listed(gather: Gather) -> None:
    with pytest.raises(BoxError, match="nothing was listed"):
        await gather.pulled(Manifest())


@pytest.fixture
async def pulled(gather: Gather) -> Manifest:
    manifest = (await gather.inventory()).manifest
    assert (await gather.pulled(manifest)).failed == ()
    return manifest


async def test_both_sides_are_read_again(scene: Scene, gather: Gather, pulled: Manifest) -> None:
    matched = await gather.matched(pulled)
    assert matched.remote == matched.local == pulled
    assert matched.stamps
    assert matched.directories == ("base", "wide")


def _odd(scene: Scene) -> None:
    (scene.local / "wide/odd").symlink_to("best.pth")


@pytest.mark.parametrize("happens", [_pipe, _odd, None])
async def test_what_cannot_be_compared_is_no_match(
    scene: Scene,
    gather: Gather,
    pulled: Manifest,
    swaps: Callable[[Scene], None],
    happens: Callable[[Scene], None] | None,
) -> None:
    (happens or swaps)(scene)
    with pytest.raises(BoxError, match="cannot be compared: wide/"):
        await gather.matched(pulled)


async def test_copies_in_memory_are_told(
    scene: Scene, gather: Gather, pulled: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "in_memory", lambda local: ("/dev/shm",))
    assert (await gather.matched(pulled)).memory == ("/dev/shm",)


# --- loading ---


async def test_every_file_is_judged_and_who_judged_is_noted(
    scene: Scene, gather: Gather, pulled: Manifest
) -> None:
    loaded = await gather.loaded(pulled)
    assert [one.path for one in loaded.verdicts] == [file.path for file in pulled.files]
    assert loaded.verifier == verifier()


@pytest.mark.parametrize("on_box", [False, True])
async def test_the_boxs_own_word_is_asked_only_where_a_person_allowed_it(
    scene: Scene,
    gather: Gather,
    pulled: Manifest,
    monkeypatch: pytest.MonkeyPatch,
    on_box: bool,
) -> None:
    """And only for a checkpoint that nothing here could read."""
    asked: list[str] = []

    async def there(link: object, root: str, rest: Manifest) -> tuple[FileVerdict, ...]:
        asked.extend(file.path for file in rest.files)
        return tuple(
            FileVerdict(f.path, f.sha256, "ok-remote", checkpoint=True) for f in rest.files
        )

    async def here(root: Path, manifest: Manifest, **words: object) -> tuple[FileVerdict, ...]:
        load = {"wide/best.pth": "skipped", "base/train.log": "skipped"}
        return tuple(
            FileVerdict(
                f.path, f.sha256, load.get(f.path, "ok"), checkpoint=f.path.endswith(".pth")
            )
            for f in manifest.files
        )

    monkeypatch.setattr(module, "load_on_box", there)
    monkeypatch.setattr(module, "load_all", here)
    found = {one.path: one.load for one in (await gather.loaded(pulled, on_box=on_box)).verdicts}
    assert asked == (["wide/best.pth"] if on_box else [])
    assert found["wide/best.pth"] == ("ok-remote" if on_box else "skipped")
    assert found["base/best.pth"] == "ok"
    assert found["base/train.log"] == "skipped"


async def test_what_a_person_allowed_is_told_to_the_reader(
    gather: Gather, pulled: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[object] = []

    async def here(root: Path, manifest: Manifest, **words: object) -> tuple[FileVerdict, ...]:
        told.append(words["allow"])
        return ()

    monkeypatch.setattr(module, "load_all", here)
    await gather.loaded(pulled, frozenset({"foo.Bar"}))
    assert told == [frozenset({"foo.Bar"})]


async def test_an_optimizer_that_stands_for_weights_is_judged_again(
    gather: Gather, pulled: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def here(root: Path, manifest: Manifest, **words: object) -> tuple[FileVerdict, ...]:
        return tuple(
            FileVerdict(f.path, f.sha256, "ok", "", True, None, (), (NO_WEIGHTS,))
            for f in manifest.files
        )

    monkeypatch.setattr(module, "load_all", here)
    found = {one.path: one.load for one in (await gather.loaded(pulled)).verdicts}
    assert found["base/best.pth"] == "failed"


# --- what an abandonment would lose ---


async def test_every_path_and_all_that_works_there_is_lost(scene: Scene, gather: Gather) -> None:
    (scene.box.results / "last.pth").symlink_to(LINKED)
    _pipe(scene)
    _work(scene)
    scene.box.sshd.program("nvidia-smi", smi(row(**BUSY)))
    listed = await gather.listed()
    files = {
        path.relative_to(scene.box.results).as_posix()
        for path in scene.box.results.rglob("*")
        if not path.is_dir()
    }
    assert set(listed.paths) == files
    assert len(listed.sizes) == len(listed.paths)
    sizes = dict(zip(listed.paths, listed.sizes, strict=True))
    assert (sizes["wide/pipe"], sizes["last.pth"]) == (None, None)
    assert sizes[LINKED] == (scene.box.results / LINKED).stat().st_size
    assert listed.running == (
        "python train.py (pid 77)",
        "GPU-0 may work for somebody who is not seen there",
    )
    assert listed.identity.boot_id


# --- the parts ---


def test_the_copies_lie_where_the_fleet_file_says(
    scene: Scene, gather: Gather, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gather.local == scene.local
    monkeypatch.setenv("HOME", "/home/ann")
    scene.set(results=Results("/r", "~/runs"))
    assert gather.local == Path("/home/ann/runs")
    scene.set(results=Results("/r", None))
    with pytest.raises(BoxError, match="is not named in the fleet file"):
        _ = gather.local


def test_there_is_one_connection_and_it_is_the_first(scene: Scene, gather: Gather) -> None:
    first = scene.connection
    assert gather.link() is first
    assert gather.changed() is None
    scene.connection = None
    with pytest.raises(NotConnected):
        gather.link()
    assert gather.changed() == "there is no connection to the box"
    scene.connection = object()  # type: ignore[assignment]
    with pytest.raises(BoxError, match="came back"):
        gather.link()
    assert "came back" in (gather.changed() or "")
    scene.connection = first
    assert gather.link() is first
