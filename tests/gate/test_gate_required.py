"""What every cell must leave is the fleet file's word: the gate holds each cell to it, and to no less."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gate_faults import confirm
from gate_world import CELLS, World

from gpu_tui.core import proof
from gpu_tui.core.evidence import Cells
from gpu_tui.core.gate import State
from gpu_tui.core.ladder import Rung
from gpu_tui.core.required import EXPORTED, Required
from gpu_tui.teardown.words import paint

SAVED = Required(("checkpoint-*/model.pth", "all_results.json"))
NAMES = ("checkpoint-500/model.pth", "all_results.json")


def saved() -> World:
    world = World(cells=replace(CELLS, required=SAVED))
    world.box = {f"{cell}/{name}": f"ok {cell}" for cell in CELLS.names for name in NAMES}
    return world


def test_cells_that_leave_other_files_come_home_and_are_proven() -> None:
    world = saved()
    assert world.climb() is State.READY
    assert world.gate.waivers == ()
    world.beat(3.0)
    assert confirm(world) is State.RECHECKING
    assert world.press() is not None


@pytest.mark.parametrize("name", NAMES)
def test_one_file_of_one_cell_too_few_shuts_the_gate(name: str) -> None:
    world = saved()
    del world.box[f"wide/{name}"]
    assert world.climb() is State.BLOCKED
    part = name.replace("500", "*")
    assert f"cells without their artifacts: wide (finished): no {part}" in (
        world.gate.because or ""
    )


def test_what_is_usual_elsewhere_is_not_enough() -> None:
    world = World(cells=replace(CELLS, required=SAVED))
    assert world.climb() is State.BLOCKED
    assert "cells without their artifacts" in (world.gate.because or "")


def test_a_weight_of_it_that_does_not_load_shuts_the_gate() -> None:
    world = saved()
    world.box["late/checkpoint-500/model.pth"] = "bad"
    assert world.climb() is State.BLOCKED
    assert "not verified: late/checkpoint-500/model.pth" in (world.gate.because or "")


def test_another_word_of_it_while_a_person_types_shuts_the_gate() -> None:
    world = saved()
    world.arm()
    confirm(world)
    world.cells = replace(CELLS, required=Required(SAVED.files[:1]))
    assert world.press() is None
    assert world.gate.state is State.CLOSED


def sealed(*runs: str) -> World:
    """Cells `base` and `base-20260101`, exported by cell and time."""
    world = World(cells=Cells(("base", "base-20260101"), required=EXPORTED))
    names = ("best.pth", "test/clean/metrics.json", "run.json")
    world.box = {f"{run}/{name}": f"ok {run}" for run in runs for name in names}
    return world


OLD, OTHER, NEW = "base-20260102T101500Z", "base-20260101-20260103", "base-20260104T101500Z"


def test_sealed_runs_come_home_as_their_cells() -> None:
    world = sealed(OLD, OTHER)
    assert world.climb() is State.READY
    assert world.gate.waivers == ()


def test_a_run_of_one_cell_is_none_of_the_cell_whose_name_begins_it() -> None:
    world = sealed(OTHER)
    assert world.climb() is State.BLOCKED
    assert "cells without their artifacts: base (finished)" in (world.gate.because or "")


def test_a_later_run_that_left_nothing_shuts_the_gate() -> None:
    """Its directory is all that is known of it: an older run of the same cell does not stand in for it."""
    world = sealed(OLD, OTHER)
    world.hollow = (NEW,)
    assert world.climb() is State.BLOCKED
    assert "cells without their artifacts: base (finished): no best.pth in " + NEW in (
        world.gate.because or ""
    )


def next_step(world: World) -> str:
    rungs = paint(world.gate, world.boot).rungs
    return next(row for row in rungs if row.rung is Rung.MATCH).next or ""


def test_where_no_cell_leaves_what_is_asked_for_the_fleet_file_is_named_first() -> None:
    world = World(cells=replace(CELLS, required=SAVED))
    assert world.climb() is State.BLOCKED
    assert next_step(world).startswith("name what your cells leave as results.artifacts")
    world = saved()
    del world.box["wide/all_results.json"]
    assert world.climb() is State.BLOCKED
    assert next_step(world).startswith("let these cells leave those files")


@pytest.mark.parametrize(
    ("names", "words"),
    [(("base",), "the cell has "), (("base", "wide"), "all 2 cells have ")],
)
def test_what_was_found_is_said_in_the_right_number(names: tuple[str, ...], words: str) -> None:
    world = World(cells=Cells(names, required=SAVED))
    world.box = {f"{cell}/{name}": f"ok {cell}" for cell in names for name in NAMES}
    assert world.climb() is State.READY
    rung = next(row for row in paint(world.gate, world.boot).rungs if row.rung is Rung.MATCH)
    assert rung.lines[-1] == f"{words}{SAVED.files[0]} and {SAVED.files[1]}"


def test_what_is_only_here_is_to_be_moved_away() -> None:
    world = saved()
    world.put("here", "old/all_results.json", "ok")
    assert world.climb() is State.BLOCKED
    assert "not on the box: old/all_results.json" in (world.gate.because or "")
    assert next_step(world) == (
        "move what is not on the box out of results.local, then open the ladder again"
    )


def test_a_ladder_is_painted_from_what_was_judged_already(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is painted every second: with many files nothing may be compared again for it."""
    world = saved()
    del world.box["wide/all_results.json"]
    assert world.climb() is State.BLOCKED
    shown = paint(world.gate, world.boot)

    def again(*args: object) -> None:
        raise AssertionError("compared again")

    monkeypatch.setattr(proof, "compare", again)
    monkeypatch.setattr(proof, "holders", again)
    assert paint(world.gate, world.boot) == shown
