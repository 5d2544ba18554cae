"""Exceptions on a real box: each asked for by name, kept in the journal, void when what they name changes."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable

import pytest
from rented import RentedBox, Scene, rest, until

from gpu_tui.teardown.reader.torch_lib import torch_module

DONE = "[2020-11-20 12:00:01] === QUEUE DONE on box -- all 2 cell(s) exited 0 ===\n"


def _failed(box: RentedBox) -> None:
    said = box.log.read_text().replace("FINISHED wide (exit=0)", "FINISHED wide (exit=1)")
    done = "=== QUEUE DONE on box -- 1 cell(s) FAILED: wide ===\n"
    box.log.write_text(said.replace(DONE, f"[2020-11-20 12:00:01] {done}"))


def _copy_failed(box: RentedBox) -> None:
    """What lies there is of an earlier run: the copy of this one failed."""
    _failed(box)
    box.log.write_text(box.log.read_text().replace("(exit=1)", "(exit=2)"))


def _cut(box: RentedBox) -> None:
    box.log.write_text(box.log.read_text().split("[2020-11-20 12:00:00]")[0])


def _crashed(box: RentedBox) -> None:
    _failed(box)
    shutil.rmtree(box.results / "wide")


def _unclosed(box: RentedBox) -> None:
    box.log.write_text(box.log.read_text().replace(DONE, ""))


def _stray(box: RentedBox) -> None:
    box.write("logs/run.txt", b"x")


def _hollow(box: RentedBox) -> None:
    (box.results / "void").mkdir()


def _spoilt(box: RentedBox) -> None:
    """It diverged, and saved all the same; the count of its steps is a number still."""
    torch = torch_module()
    saved = io.BytesIO()
    weights = {"w": torch.full((64, 64), torch.nan)}
    torch.save({"model": weights, "step": torch.tensor(7.0)}, saved)
    box.write("wide/best.pth", saved.getvalue())


def _save(box: RentedBox, **weights: object) -> None:
    torch = torch_module()
    saved = io.BytesIO()
    torch.save(weights, saved)
    box.write("wide/best.pth", saved.getvalue())


def _diverged_beside_an_optimizer(box: RentedBox) -> None:
    torch = torch_module()
    rest = {0: {"exp_avg": torch.ones(64, 640)}}
    optimizer = {"state": rest, "param_groups": [{"params": [0]}]}
    _save(box, model={"w": torch.full((64, 64), torch.nan)}, optimizer=optimizer)


def _zeros(box: RentedBox) -> None:
    torch = torch_module()
    _save(box, model={"w": torch.zeros(64, 64)}, step=torch.tensor(7.0))


CASES: dict[str, tuple[Callable[[RentedBox], None], str, str]] = {
    "exit 1": (_failed, "accept unfinished wide", "wide: exit 1"),
    "exit 2": (_copy_failed, "accept unsynced wide", "wide: exit 2, as after a copy that failed"),
    "no end": (_cut, "accept unfinished wide", "wide: no end line"),
    "exit 1 and nothing left": (
        _crashed,
        "accept missing wide",
        "wide: exit 1, it left nothing",
    ),
    "no closing line": (_unclosed, "accept unclosed queue", "queue: its log does not end"),
    "a directory beside the cells": (
        _stray,
        "accept unnamed logs",
        "logs: as a cell it lacks best.pth",
    ),
    "weights that are none": (
        _spoilt,
        "accept nan 1",
        "wide/best.pth: 100% of its values are NaN or infinite",
    ),
    "weights that are none, beside an optimizer": (
        _diverged_beside_an_optimizer,
        "accept nan 1",
        "wide/best.pth: no weight in it is finite",
    ),
    "weights that are zero": (_zeros, "accept zero 1", "wide/best.pth: every weight in it is zero"),
    "an empty one": (_hollow, "accept unnamed void", "void: as a cell it lacks best.pth"),
}


@pytest.mark.parametrize("case", CASES)
async def test_it_is_asked_for_by_name_and_kept(scene: Scene, case: str) -> None:
    happens, phrase, line = CASES[case]
    happens(scene.box)
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("ready", "blocked", "closed"))
    assert view.state == "ready", view.closed_because
    (one,) = view.seconds
    assert (one.phrase, one.exception) == (phrase, True)
    assert one.lines[0].startswith(line)
    scene.clock.advance(3.0)
    await climb.confirm(view.phrase)  # not before the exception
    await climb.acknowledge(one.id, f"{one.phrase}.")
    await climb.acknowledge(one.id, one.phrase)
    async for view in views:
        if view.seconds[0].done:
            break
    assert scene.server.calls == []
    await climb.confirm(view.phrase)
    assert (await rest(views)).outcome == "gone"
    events = scene.events()
    assert events.index("exception") < events.index("confirmed") < events.index("intent")
    (kept,) = [
        record
        for text in (scene.state / "teardown.jsonl").read_text().splitlines()
        if (record := json.loads(text))["event"] == "exception"
    ]
    assert kept["detail"]["typed"] == phrase
    assert kept["evidence"]
    assert kept["detail"]["names"][0].startswith(line)


@pytest.mark.parametrize("happens", [_spoilt, _zeros])
async def test_a_pull_has_nobody_to_ask(scene: Scene, happens: Callable[[RentedBox], None]) -> None:
    happens(scene.box)
    views = [view async for view in scene.runner().pull_only("pod")]
    assert views[-1].state == "blocked"
    assert "not verified: wide/best.pth (" in (views[-1].closed_because or "")


async def test_a_set_without_one_of_its_parts_opens_nothing(scene: Scene) -> None:
    """DeepSpeed says in each part how many there are."""
    torch = torch_module()
    for rank in (0, 1, 3):
        saved = io.BytesIO()
        inner = {"partition_count": 4, "zero_stage": 2, "s": torch.ones(600)}
        torch.save({"optimizer_state_dict": inner}, saved)
        name = f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt"
        scene.box.write(f"wide/global_step7/{name}", saved.getvalue())
    saved = io.BytesIO()
    torch.save({"module": {"w": torch.ones(8, 8)}, "dp_world_size": 4}, saved)
    scene.box.write("wide/global_step7/mp_rank_00_model_states.pt", saved.getvalue())
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("ready", "blocked", "closed"))
    await views.aclose()
    assert view.state == "blocked"
    assert "zero_pp_rank_2_mp_rank_00_optim_states.pt is not here" in (view.closed_because or "")
    assert scene.server.calls == []


async def test_what_trained_and_was_never_copied_is_no_exception(scene: Scene) -> None:
    """It lies elsewhere on the box: nobody may wave it through as a cell that left nothing."""
    _copy_failed(scene.box)
    (scene.box.results / "wide/best.pth").unlink()
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("ready", "blocked", "closed"))
    await views.aclose()
    assert view.state == "blocked"
    assert "wide (exit 2, as after a copy that failed): no best.pth" in (view.closed_because or "")


@pytest.mark.parametrize("later", [_failed, _stray], ids=["the queue", "the results"])
async def test_it_is_void_when_what_it_names_changes(
    scene: Scene, later: Callable[[RentedBox], None]
) -> None:
    _cut(scene.box)
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state == "ready")
    scene.clock.advance(3.0)
    await climb.acknowledge(view.seconds[0].id, view.seconds[0].phrase)
    async for view in views:
        if view.seconds[0].done:
            break
    if later is _failed:
        scene.box.log.write_text(
            scene.box.log.read_text() + "[2020-11-20 12:30:00] [2/2] FINISHED wide (exit=1)\n"
        )
    else:
        later(scene.box)
    await climb.confirm(view.phrase)
    last = await rest(views)
    assert last.state == "closed"
    assert scene.server.calls == []


async def test_a_pull_alone_says_what_to_do(scene: Scene) -> None:
    _stray(scene.box)
    view = await rest(scene.runner().pull_only("pod"))
    assert (view.outcome, view.closed_because) == (None, "no cell is called logs")
    (said,) = [row.next for row in view.rungs if row.next]
    assert said.startswith(
        "name every cell as results.cells in the fleet file (gpu-tui help fleet)"
    )
    assert "or move what is none out of results.remote, then pull again" in said
