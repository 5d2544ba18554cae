"""Exceptions: what is at home and loads, and yet is not what was promised, is accepted by its own words or not at all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gate_faults import EXCEPTIONS, confirm, excepted_way
from gate_oracle import wrongs
from gate_world import CELLS, CONTENT, PARK, World

from gpu_tui.core.evidence import Acknowledged, Cells
from gpu_tui.core.gate import Gate, State
from gpu_tui.core.ladder import Rung
from gpu_tui.core.proof import NO_COPY
from gpu_tui.core.waiver import Waiver
from gpu_tui.teardown.words import paint

PHRASES = {
    "unfinished": ("accept unfinished late", "late: exit 1"),
    "unsynced": ("accept unsynced late", "late: exit 2, as after a copy that failed"),
    "missing": ("accept missing lost", "lost: exit 1, it left nothing"),
    "unclosed": ("accept unclosed queue", "queue: its log does not end with QUEUE DONE"),
    "unnamed": (
        "accept unnamed late void",
        "void: as a cell it lacks best.pth and best_metrics.json",
    ),
    "fewer": ("accept fewer lost", "lost"),
    "older": ("accept older late", "late: written before it began"),
    "cards": ("accept cards GPU-0 nvidia-smi", "GPU-0: in use"),
    "nan": ("accept nan 1", "wide/best.pth: 100% of its values are NaN or infinite"),
    "zero": ("accept zero 1", "wide/best.pth: every weight in it is zero"),
    "memory": ("accept memory 1", "/tmp: results.local lies on it"),
}


@pytest.mark.parametrize("kind", EXCEPTIONS)
def test_each_exception_is_taken_by_its_own_words_and_named_whole(kind: str) -> None:
    world = World()
    for name, value in EXCEPTIONS[kind].items():
        setattr(world, name, value)
    assert world.climb() is State.READY
    (waiver,) = world.gate.waivers
    phrase, line = PHRASES[kind]
    (shown,) = paint(world.gate, world.boot).seconds
    assert (shown.phrase, shown.exception, shown.done) == (phrase, True, False)
    assert line in shown.lines
    assert "accept" in shown.lines[-1]
    world.acknowledge(waiver)
    assert "too early" in (world.gate.note or "")
    world.beat(3.0)
    assert world.type() is State.READY
    assert f"not yet acknowledged: {waiver.label}" in (world.gate.note or "")
    for wrong in ("", "accept", phrase.rsplit(" ", 1)[0], world.gate.phrase):
        world.acknowledge(waiver, wrong)
        assert world.gate.unseen == (waiver,)
        assert phrase in (world.gate.note or "")
    world.apply(Acknowledged(waiver.key, phrase, "older"))
    assert world.gate.unseen == (waiver,)
    world.acknowledge(waiver)
    assert world.gate.unseen == ()
    assert confirm(world) is State.RECHECKING
    assert world.press() is not None
    assert wrongs(world) == []


@pytest.mark.parametrize("kind", EXCEPTIONS)
def test_an_exception_is_void_when_what_it_names_changes(kind: str) -> None:
    world = World()
    excepted_way(world, kind)
    confirm(world)
    if kind == "unnamed":
        world.put("box", "more/best.pth", "ok")
    else:
        world.cells = replace(world.cells or CELLS, unfinished=(("late", "exit 2"),))
    assert world.press() is None
    assert world.gate.state is State.CLOSED


def test_what_was_accepted_of_one_checkpoint_is_not_accepted_of_the_next_that_is_loaded() -> None:
    world = World(spoilt=("base/best.pth", "wide/best.pth"))
    world.put("box", "base/best.pth", "needs foo.Bar x")
    assert world.climb(State.BLOCKED) is State.BLOCKED
    world.running = None  # what works there is not known: nothing can be given up, only allowed
    world.step()
    world.beat(3.0)
    (waiver,) = world.gate.waivers
    assert waiver.names == ("wide/best.pth",)
    world.acknowledge(waiver)
    assert world.gate.unseen == ()
    assert world.override() is State.LOADING
    world.climb()
    assert [one.names for one in world.gate.unseen] == [("base/best.pth", "wide/best.pth")]


def crashed(*unfinished: tuple[str, str], finished: tuple[str, ...] = CELLS.names) -> Cells:
    return replace(CELLS, finished=finished, unfinished=unfinished)


@pytest.mark.parametrize("state", ["exit 1", "exit -9", "exit 137", "no end line"])
def test_a_cell_that_crashed_and_left_nothing_is_accepted_by_its_name(state: str) -> None:
    world = World(
        cells=crashed(
            ("lost", state), ("half", "exit 1"), ("late", "exit 3"), finished=("base", "wide")
        )
    )
    world.box["half/best.pth"] = "ok half"
    assert world.climb() is State.READY
    about = {one.kind: one.about for one in world.gate.waivers}
    assert about == {
        "unfinished": (("late", "exit 3"),),
        "missing": (
            ("lost", f"{state}, it left nothing"),
            ("half", "exit 1, no best_metrics.json"),
        ),
    }
    world.beat(3.0)
    assert world.type() is State.READY  # not before both are accepted


# What is in doubt shuts the gate as before: cells, what is on the box beside all the others, what is said.
DOUBT: dict[str, tuple[Cells, dict[str, str], str]] = {
    "it ended well": (crashed(finished=(*CELLS.names, "lost")), {}, "lost (finished): no best.pth"),
    "it may still run": (crashed(("lost", "running")), {}, "lost (running): no best.pth"),
    "nothing says how it ended": (crashed(("lost", "no log of the queue")), {}, "no best.pth"),
    "no number": (crashed(("lost", "exit None")), {}, "lost (exit None)"),
    "more than a number": (crashed(("lost", "exit 1, or so")), {}, "lost (exit 1, or so)"),
    "it never began": (crashed(("lost", "no start line")), {}, "lost (no start line)"),
    "no cell is whole": (
        crashed(*((name, "exit 1") for name in ("lost", "half")), finished=()),
        {"half/optimizer.pth": "ok"},
        "cells without their artifacts: lost (exit 1): no best.pth and no best_metrics.json, half (exit 1)",
    ),
    "one of two ended well": (
        crashed(("lost", "exit 1"), finished=(*CELLS.names, "other")),
        {},
        "cells without their artifacts: other (finished): no best.pth and no best_metrics.json",
    ),
    "in doubt": (replace(crashed(("lost", "exit 1")), doubtful=("lost stands twice",)), {}, "in doubt"),
    "what it left does not load": (
        crashed(("lost", "exit 1")),
        {"lost/best.pth": "bad"},
        "not verified: lost/best.pth",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DOUBT)
def test_a_cell_without_results_whose_end_is_in_doubt_shuts_the_gate(case: str) -> None:
    cells, more, said = DOUBT[case]
    world = World(cells=cells)
    world.box |= more
    assert world.climb(State.BLOCKED) is State.BLOCKED
    assert said in (world.gate.because or "")


@pytest.mark.parametrize("change", ["a file of it", "another end", "it ended well"])
def test_what_was_accepted_as_nothing_must_still_be_nothing(change: str) -> None:
    world = World(cells=crashed(("lost", "exit 1")))
    assert world.arm() is State.READY
    confirm(world)
    if change == "a file of it":
        world.put("box", "lost/best.pth", "ok")
    else:
        ended = ("lost",) if change == "it ended well" else ()
        rest = () if ended else (("lost", "no end line"),)
        world.cells = crashed(*rest, finished=(*CELLS.names, *ended))
    assert world.press() is None
    assert world.gate.state is State.CLOSED


def test_a_pull_does_not_take_a_crashed_cell_for_whole() -> None:
    """It has nobody to ask, and says where somebody is asked."""
    world = World(cells=crashed(("lost", "exit 1")))
    world.gate = Gate("box")
    assert world.climb(State.BLOCKED) is State.BLOCKED
    assert "cells without their artifacts: lost (exit 1)" in (world.gate.because or "")
    rung = next(row for row in paint(world.gate, world.boot).rungs if row.rung is Rung.MATCH)
    said, _, command = (rung.next or "").partition("; or pull the others alone: ")
    assert said.endswith("a teardown (t) lets you accept by name that they left nothing")
    assert command == "gpu-tui pull box --cells base,wide,late"


def test_a_pull_takes_no_weights_that_are_all_zero() -> None:
    """Before a destruction they are an exception by their name."""
    for alone in (False, True):
        world = World(zeros=("wide/best.pth",))
        if alone:
            world.gate = Gate("box")
        end = State.BLOCKED if alone else State.READY
        assert world.climb(end) is end
        if alone:
            assert world.gate.because == (
                "not verified: wide/best.pth (every weight in it is zero)"
            )
        else:
            assert [one.kind for one in world.gate.waivers] == ["zero"]


def test_a_pull_of_a_cell_that_was_only_not_copied_says_to_copy_and_not_to_train() -> None:
    """Its weights lie on the disk that a release deletes: no advice sends it through the queue again."""
    for more, ends in (
        ((), "then pull again: what is here is kept"),
        ((("lost", "exit 1"),), "The others (lost): let them end well"),
    ):
        world = World(cells=replace(crashed(("held", NO_COPY), *more), trained_in="/d/checkpoints"))
        world.gate = Gate("box")
        assert world.climb(State.BLOCKED) is State.BLOCKED
        rungs = {row.rung: row for row in paint(world.gate, world.boot).rungs}
        said, _, command = (rungs[Rung.MATCH].next or "").partition("; or pull the others alone: ")
        assert command == "gpu-tui pull box --cells base,wide,late"
        assert said.startswith(
            "trained, but the durable copy is missing: held, from /d/checkpoints/held: copy the results "
            "into results.remote before any teardown, do not train again; then pull again"
        )
        assert said.endswith(ends)
        assert ("let them end well" in said) == bool(more)


def test_without_an_exception_there_is_none_to_take() -> None:
    world = World()
    assert world.arm() is State.READY
    assert world.gate.waivers == ()
    world.apply(Acknowledged("exception:unfinished", "accept unfinished late", world.gate.digest))
    assert "no such" in (world.gate.note or "")


def test_many_names_or_odd_ones_are_counted_and_still_all_shown() -> None:
    about = tuple((f"c{number}", "exit 1") for number in range(400))
    many = Waiver("unfinished", about)
    assert many.phrase == "accept unfinished 400"
    assert len(many.lines) == 401
    assert Waiver("fewer", (("two words", ""),)).phrase == "accept fewer 1"
    assert Waiver("fewer", (("名", ""),)).phrase == "accept fewer 1"
    assert Waiver("fewer", (("a", ""), ("b.c", ""), ("d_e", ""))).phrase == "accept fewer a b.c d_e"


def test_a_park_and_an_abandonment_ask_for_none() -> None:
    """A park deletes nothing; an abandonment lists every cell by itself."""
    cells = Cells(("base",), (("late", "exit 1"),))
    world = World(PARK, cells=cells, before=("lost",))
    assert world.arm() is State.READY
    assert world.gate.waivers == ()
    world = World(cells=cells, before=("lost",))
    world.box["base/best.pth"] = "bad"
    assert world.climb(State.BLOCKED) is State.BLOCKED
    world.step()
    world.beat(3.0)
    assert world.gate.waivers == ()
    assert world.abandon() is State.RECHECKING


def test_a_pull_has_nobody_to_ask() -> None:
    world = World(cells=Cells(("base", "wide")))
    world.gate = Gate("box")
    assert world.climb(State.BLOCKED) is State.BLOCKED
    assert world.gate.because == "no cell is called late"
    rung = next(row for row in paint(world.gate, world.boot).rungs if row.rung is Rung.MATCH)
    assert rung.next == (
        "name every cell as results.cells in the fleet file (gpu-tui help fleet), or move what is none out of "
        "results.remote, then pull again: what is here is kept"
    )
    for hollow, here in ((("void",), ()), ((), ("void",))):
        world = World(hollow=hollow)
        world.gate = Gate("box")
        world.climb(State.MATCHING)
        state = world.apply(replace(world.matched(), directories=here))
        assert state is State.BLOCKED
        assert world.gate.because == "no cell is called void"


def test_what_stands_only_here_is_named_too() -> None:
    world = World()
    world.climb(State.MATCHING)
    world.apply(replace(world.matched(), directories=("base", "late", "mine", "wide")))
    world.step()
    assert [one.names for one in world.gate.waivers] == [("mine",)]


def test_notes_and_files_under_way_that_stand_only_here_are_no_results() -> None:
    world = World()
    for path in ("PULL_VERIFIED.json.from-box", "PULL_MANIFEST.json.from-box", "base/y.tmp"):
        world.local[path] = "ok"
    assert world.arm() is State.READY
    confirm(world)
    assert world.press() is not None
    for path in ("base/PULL_VERIFIED.json", "PULL_VERIFIED.json", "PULL_MANIFEST.json"):
        world = World(local={path: "ok"})
        assert world.climb(State.BLOCKED) is State.BLOCKED
        assert f"not on the box: {path}" in (world.gate.because or "")


def test_a_proof_of_the_box_is_compared_under_the_name_it_has_here() -> None:
    for path, text in (
        (None, ""),
        ("PULL_VERIFIED.json.from-box", "changed"),
        ("PULL_VERIFIED.json", "ok"),
    ):
        world = World()
        world.box["PULL_VERIFIED.json"] = "ok"
        assert world.arm() is State.READY
        assert set(world.local) == {*CONTENT, "PULL_VERIFIED.json.from-box"}
        confirm(world)
        if path is not None:
            world.local[path] = text
        assert (world.press() is not None) is (path is None)


def test_a_file_at_the_top_is_no_directory() -> None:
    world = World()
    world.box["notes.log"] = "ok"
    assert world.arm() is State.READY
    assert world.gate.waivers == ()


def test_a_card_that_was_accepted_may_work_more_or_less_and_no_other_may_begin() -> None:
    world = World()
    excepted_way(world, "cards")
    confirm(world)
    world.cards = (("GPU-0", "more of it is in use"),)
    assert world.press() is not None
    assert wrongs(world) == []


def test_a_park_is_accepted_with_the_cards_that_work_for_somebody_unseen() -> None:
    world = World(verb=PARK, cards=(("GPU-0", "in use"),))
    world.step()
    assert world.step() is State.ACCEPTING
    assert paint(world.gate, world.boot).needs_acceptance == (
        "GPU-0 may work for somebody who is not seen there",
    )
    assert world.arm() is State.READY
    confirm(world)
    assert world.press() is not None
