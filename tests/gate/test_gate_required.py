"""What every cell must leave is the fleet file's word: the gate holds each cell to it, and to no less."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gate_faults import confirm
from gate_world import CELLS, World

from gpu_tui.core.gate import State
from gpu_tui.core.required import Required

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
