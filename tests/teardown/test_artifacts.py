"""Runs that leave other files than ours: a real box, a real pull, and a load of each."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
from good_files import safetensors
from rented import RentedBox, Scene, rest, until

from gpu_tui.core.fleet import QueueFiles
from gpu_tui.core.gate import DWELL
from gpu_tui.core.ladder import GateView, Rung, RungState, RungView
from gpu_tui.teardown.audit import audit
from gpu_tui.teardown.local import local_tree
from gpu_tui.teardown.manifest_file import read_manifest
from gpu_tui.teardown.roster import NO_LOG

PHRASE = "pod-4n6p"
SAVED = ("checkpoint-*/model.safetensors.index.json", "all_results.json")
SHARDS = {
    "layer1": "model-00001-of-00002.safetensors",
    "layer2": "model-00002-of-00002.safetensors",
}


def leave_checkpoints(box: RentedBox, path: Path) -> None:
    """Each cell leaves what a trainer of sharded models does, and nothing of ours."""
    shutil.rmtree(box.results)
    for seed, cell in enumerate(("base", "wide")):
        for key, name in SHARDS.items():
            safetensors(path / name, seed, (key,))
            box.write(f"{cell}/checkpoint-500/{name}", (path / name).read_bytes())
        index = json.dumps({"metadata": {"total_size": 2400}, "weight_map": SHARDS})
        box.write(f"{cell}/checkpoint-500/model.safetensors.index.json", index.encode())
        box.write(f"{cell}/all_results.json", b'{"eval_loss": 1.25}')


@pytest.fixture
def saved(scene: Scene, tmp_path: Path) -> Scene:
    leave_checkpoints(scene.box, tmp_path)
    scene.set(results=replace(scene.instance.results, artifacts=SAVED))
    return scene


async def blocked(scene: Scene) -> RungView:
    """The rung at which a teardown stops; nothing was called."""
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state == "blocked")
    await climb.close()
    await rest(views)
    assert scene.server.calls == []
    return next(row for row in view.rungs if row.state is RungState.BLOCKED)


async def confirmed(scene: Scene, meanwhile: Callable[[], None] = lambda: None) -> GateView:
    """The last view of a teardown that a person confirmed; `meanwhile` comes while it is typed."""
    climb = scene.runner().open("pod", "terminate")
    _, views = await until(climb, lambda view: view.state == "ready")
    meanwhile()
    scene.clock.advance(DWELL)
    async for view in views:
        if view.ready:
            break
    await climb.confirm(PHRASE)
    return await rest(views)


async def test_sharded_models_come_home_and_their_box_is_ended(saved: Scene) -> None:
    last = await confirmed(saved)
    assert last.outcome == "gone"
    match = next(row for row in last.rungs if row.rung is Rung.MATCH)
    assert f"all 2 cells have {SAVED[0]} and {SAVED[1]}" in match.lines
    assert local_tree(saved.local).manifest == local_tree(saved.box.results).manifest
    kept = read_manifest(saved.local / ".gpu-tui/manifest.json")
    assert kept.required.files == SAVED
    again = await audit(saved.local, kept.manifest, None, required=kept.required)
    assert (again.verdict, again.why) == ("verified", ())


@pytest.mark.parametrize(
    ("lost", "rung", "words"),
    [
        ("wide/all_results.json", Rung.MATCH, "wide (finished): no all_results.json"),
        (f"wide/checkpoint-500/{SAVED[0].rpartition('/')[2]}", Rung.MATCH, f"no {SAVED[0]}"),
        (
            f"wide/checkpoint-500/{SHARDS['layer2']}",
            Rung.LOAD,
            "model-00002-of-00002.safetensors is not here",
        ),
    ],
)
async def test_without_one_of_its_files_the_gate_is_shut(
    saved: Scene, lost: str, rung: Rung, words: str
) -> None:
    (saved.box.results / lost).unlink()
    row = await blocked(saved)
    assert row.rung is rung
    assert any(words in line for line in row.lines)


async def test_without_a_queue_the_fleet_file_names_the_cells(saved: Scene) -> None:
    saved.box.queue.unlink()
    saved.box.log.unlink()
    named = replace(saved.instance.results, cells=("base", "wide"))
    saved.set(results=named, queue=QueueFiles())
    assert (await rest(saved.runner().pull_only("pod"))).outcome == "verified"
    climb = saved.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state == "ready")
    (waiver,) = view.seconds
    assert waiver.phrase == "accept unfinished base wide"
    assert f"base: {NO_LOG}" in waiver.lines
    await climb.close()
    await rest(views)


async def test_a_cell_that_the_fleet_file_names_must_be_there(saved: Scene) -> None:
    named = replace(saved.instance.results, cells=("base", "wide", "late"))
    saved.set(results=named, queue=QueueFiles())
    row = await blocked(saved)
    assert row.rung is Rung.MATCH
    assert any("cells without their artifacts: late" in line for line in row.lines)


async def test_a_fleet_file_that_asks_for_less_while_a_person_types_shuts_the_gate(
    saved: Scene,
) -> None:
    less = replace(saved.instance.results, artifacts=SAVED[:1])
    last = await confirmed(saved, lambda: saved.set(results=less))
    assert last.closed_because == "the fleet file or the profile was edited"
    assert saved.server.calls == []


async def test_what_is_under_way_on_the_box_is_no_checkpoint_yet(saved: Scene) -> None:
    place = saved.box.results / "wide/checkpoint-500"
    place.rename(place.with_name("checkpoint-500.tmp"))
    row = await blocked(saved)
    assert row.rung is Rung.MATCH
    assert any(f"wide (finished): no {SAVED[0]}" in line for line in row.lines)


@pytest.mark.parametrize("objects", [False, True])
async def test_arrays_that_stand_for_weights_must_be_opened(scene: Scene, objects: bool) -> None:
    """A pickle inside is data elsewhere, and its hash is enough; here it is all there is of a cell."""
    shutil.rmtree(scene.box.results)
    for cell in ("base", "wide"):
        out = io.BytesIO()
        odd = numpy.array([{}], dtype=object) if objects else numpy.ones(3)
        numpy.savez(out, w=numpy.full(300, len(cell) / 7), odd=odd)
        scene.box.write(f"{cell}/params.npz", out.getvalue())
    scene.set(results=replace(scene.instance.results, artifacts=("params.npz",)))
    if objects:
        row = await blocked(scene)
        assert row.rung is Rung.LOAD
        assert any("never opened" in line for line in row.lines)
    else:
        assert (await rest(scene.runner().pull_only("pod"))).outcome == "verified"


async def test_ours_are_asked_for_where_nothing_else_is_named(scene: Scene, tmp_path: Path) -> None:
    leave_checkpoints(scene.box, tmp_path)
    row = await blocked(scene)
    assert any("no best.pth and no best_metrics.json" in line for line in row.lines)
    assert "results.artifacts" in (row.next or "")
