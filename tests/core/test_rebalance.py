"""What to move so that a sweep ends sooner: never later, no cell lost, no cell twice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeps import cell, ended, lane, running

from gpu_tui.core.campaign import Lane, Trust, outlook_of
from gpu_tui.core.rebalance import Plan, suggest
from gpu_tui.core.sweep import CellState, Queue

HOUR = 3600.0
MOVABLE = CellState.PENDING


def carried_out(lanes: list[Lane], plan: Plan) -> list[Lane]:
    """The queues after a person did what the plan says; each target runs on, or is started again."""
    queues = {one.name: list(one.queue.cells) for one in lanes}
    for move in plan.moves:
        (moved,) = [one for one in queues[move.origin] if one.name == move.cell]
        queues[move.origin].remove(moved)
        queues[move.target].append(moved)
    return [
        replace(
            one,
            queue=replace(
                one.queue, cells=tuple(queues[one.name]), total=len(queues[one.name]), claimed_done=False
            ),
        )
        for one in lanes
    ]  # fmt: skip


def end_of(one: Lane, lanes: list[Lane]) -> float:
    """When one queue ends by the typical durations of all: what runs, then what waits."""
    typical = outlook_of(lanes).typical
    runs = sum(c.eta_seconds or 0.0 for c in one.queue.cells if c.state is CellState.RUNNING)
    waits = [typical.expect(c, one.name).best or 0.0 for c in one.queue.cells if c.state is MOVABLE]
    return runs + sum(waits)


@st.composite
def sweeps(draw: st.DrawFn) -> list[Lane]:
    """Two to five queues of two tasks; some idle, some out of reach, some names twice."""
    lanes = []
    for box in range(draw(st.integers(2, 5))):
        cells = [
            ended(
                f"done-{box}-{n}", draw(st.floats(60, 2 * HOUR)), task=draw(st.sampled_from("tu"))
            )
            for n in range(draw(st.integers(0, 3)))
        ]
        if draw(st.booleans()):
            cells.append(running(f"run-{box}", 100.0, draw(st.floats(1, 3 * HOUR))))
        for n in range(draw(st.integers(0, 6))):
            shared = draw(st.integers(0, 9)) == 0
            name = f"shared-{n}" if shared else f"wait-{box}-{n}"
            cells.append(cell(name, task=draw(st.sampled_from("tuv"))))
        trust = draw(st.sampled_from([Trust.LIVE] * 4 + [Trust.UNREACHABLE]))
        one_by_one = draw(st.integers(0, 5)) > 0
        lanes.append(lane(f"box-{box}", *cells, trust=trust, one_by_one=one_by_one))
    return lanes


@settings(max_examples=60)
@given(sweeps())
def test_a_plan_never_ends_later_and_neither_loses_nor_doubles_a_cell(lanes: list[Lane]) -> None:
    plan = suggest(outlook_of(lanes))
    if plan is None:
        return
    told = [one.lane.name for one in outlook_of(lanes).lanes if one.left.best is not None]
    after = carried_out(lanes, plan)
    ends = [end_of(one, lanes) for one in after if one.name in told]
    assert plan.after == pytest.approx(max(ends))
    assert plan.after < plan.before
    assert plan.before == pytest.approx(
        max(end_of(one, lanes) for one in lanes if one.name in told)
    )

    def names(which: list[Lane]) -> list[str]:
        return sorted(c.name for one in which for c in one.queue.cells)

    assert names(after) == names(lanes)
    assert len({move.cell for move in plan.moves}) == len(plan.moves)


@settings(max_examples=60)
@given(sweeps())
def test_only_the_end_of_a_live_queue_file_is_moved(lanes: list[Lane]) -> None:
    plan = suggest(outlook_of(lanes))
    by_name = {one.name: one for one in lanes}
    taken: dict[str, list[str]] = {}
    for move in plan.moves if plan else ():
        taken.setdefault(move.origin, []).append(move.cell)
        for one in (by_name[move.origin], by_name[move.target]):
            assert one.trust is Trust.LIVE
            assert one.one_by_one
        assert move.cell not in {c.name for c in by_name[move.target].queue.cells}
    for origin, names in taken.items():
        tail = list(by_name[origin].queue.cells)[-len(names) :]
        assert [c.name for c in reversed(tail)] == names
        assert all(c.state is CellState.PENDING for c in tail)


def uneven(**target: object) -> list[Lane]:
    done = [ended(f"d{n}", HOUR) for n in range(3)]
    late = lane("late", *done, running("r", 1, 600), *(cell(name) for name in ("p1", "p2", "p3")))
    return [late, lane("soon", ended("s", HOUR), running("q", 1, 600), **target)]


def test_the_last_queue_gives_its_last_cells_to_the_one_that_is_free_soonest() -> None:
    plan = suggest(outlook_of(uneven()))
    assert plan is not None
    assert plan.last == "late"
    assert plan.behind == pytest.approx(3 * HOUR)
    assert [(move.cell, move.origin, move.target) for move in plan.moves] == [
        ("p3", "late", "soon")
    ]
    assert (plan.before, plan.after) == (3 * HOUR + 600, 2 * HOUR + 600)
    assert plan.restart == ()
    assert not plan.rough


@pytest.mark.parametrize(
    "changed",
    [
        {"trust": Trust.UNREACHABLE},
        {"trust": Trust.STALE},
        {"trust": Trust.OFF},
        {"stalled": True},
        {"one_by_one": False},
        {"queue": Queue()},
        {"unfit": "disk_full"},
        {"ends_in": 600 + HOUR - 1},  # p3 would end a second later
    ],
)
def test_nothing_goes_to_a_queue_that_cannot_be_relied_on(changed: dict[str, object]) -> None:
    assert suggest(outlook_of(uneven(**changed))) is None


def test_a_box_that_lasts_longer_than_the_cell_takes_it() -> None:
    plan = suggest(outlook_of(uneven(ends_in=600 + HOUR + 1)))
    assert plan is not None
    assert [move.cell for move in plan.moves] == ["p3"]


def test_a_box_in_trouble_still_gives_its_cells_away() -> None:
    late, soon = uneven()
    plan = suggest(outlook_of([replace(late, unfit="disk_full", ends_in=HOUR), soon]))
    assert plan is not None
    assert {move.origin for move in plan.moves} == {"late"}


def test_a_queue_whose_runner_is_gone_has_no_end_and_takes_nothing() -> None:
    late, soon = uneven()
    outlook = outlook_of([replace(late, adrift=True), soon])
    assert outlook.lanes[0].left.best is None
    assert outlook.lanes[0].why == "its runner is gone, and 3 never ran"
    assert suggest(outlook) is None
    alone = replace(
        late, adrift=True, queue=replace(late.queue, cells=late.queue.cells[:4], total=4)
    )
    assert outlook_of([alone]).lanes[0].why is None


def test_a_queue_that_has_ended_must_be_started_again() -> None:
    late, _ = uneven()
    plan = suggest(outlook_of([late, lane("over", ended("s", HOUR))]))
    assert plan is not None
    assert plan.restart == ("over",)


def test_a_name_that_stands_twice_and_what_lies_before_it_stay() -> None:
    late, soon = uneven()
    twice = replace(late, queue=replace(late.queue, cells=(*late.queue.cells, cell("p1"))))
    assert suggest(outlook_of([twice, soon])) is None


def test_a_gain_that_nobody_would_get_up_for_is_not_suggested() -> None:
    even = [
        lane("x", ended("a", 50), running("b", 1, 60), cell("c")),
        lane("y", running("d", 1, 50)),
    ]
    assert suggest(outlook_of(even)) is None


def test_a_task_that_never_ended_makes_a_rough_plan() -> None:
    late, soon = uneven()
    cells = [replace(c, task="new") if c.name == "p3" else c for c in late.queue.cells]
    plan = suggest(outlook_of([replace(late, queue=replace(late.queue, cells=tuple(cells))), soon]))
    assert plan is not None
    assert plan.rough
