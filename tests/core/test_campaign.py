"""The whole sweep: what counts once, when it ends, what it costs, and what nobody can tell."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sweeps import cell, ended, lane, running

from gpu_tui.core.bounds import NO_IDEA, NOTHING, Span, exactly, longest, total
from gpu_tui.core.campaign import Lane, Trust, outlook_of
from gpu_tui.core.sweep import CellState, Queue
from gpu_tui.core.typical import typical_of

PENDING, RUNNING, FINISHED = CellState.PENDING, CellState.RUNNING, CellState.FINISHED
spans = st.builds(
    lambda low, more, most: Span(low, low + more, low + more + most),
    *[st.floats(0, 1e6)] * 3,
) | st.builds(Span, st.floats(0, 1e6))  # fmt: skip


@given(st.lists(spans, max_size=6))
def test_a_sum_and_a_maximum_never_say_more_than_their_parts(parts: list[Span]) -> None:
    for made in (total(parts), longest(parts)):
        assert made.known is all(part.known for part in parts)
        assert made.low >= max((part.low for part in parts), default=0.0)
        if made.best is not None and made.high is not None:
            assert made.low <= made.best <= made.high


def test_what_is_gone_is_taken_off_until_nothing_is_known() -> None:
    assert Span(50, 100, 150).less(30) == Span(20, 70, 120)
    assert Span(50, 100, 150).less(70) == Span(0, 30, 80)
    assert Span(50, 100, 150).less(100) == NO_IDEA
    assert Span(50, 100, 150).at_least(20) == Span(30)


# --- typical durations ------------------------------------------------------------------------


def test_the_median_of_the_task_over_all_queues_is_what_a_cell_takes() -> None:
    cells = [ended("a", 100), ended("b", 120), ended("c", 900, task="u")]
    typical = typical_of([("x", cells), ("y", [ended("d", 400)])])
    assert typical.expect(cell("e"), "z").best == 120
    assert typical.expect(cell("e", task="u"), "z").best == 900


def test_another_task_counts_only_where_the_own_one_never_ended_and_with_more_doubt() -> None:
    typical = typical_of([("x", [ended("a", 100), ended("b", 300)])])
    assert typical.expect(cell("c", task="other"), "x") == Span(100, 200, 400)
    assert not typical.same_task(cell("c", task="other"))
    assert typical_of([("x", [running("a", 5, 5)])]).expect(cell("c"), "x") == NO_IDEA


def test_a_box_is_as_fast_as_it_was_with_the_same_task() -> None:
    typical = typical_of(
        [("slow", [ended("a", 200), ended("b", 200)]), ("fast", [ended("c", 100), ended("d", 100)])]
    )
    slow, fast = (typical.expect(cell("e"), box).best or 0 for box in ("slow", "fast"))
    assert (slow, fast) == (200, 100)
    assert typical.expect(cell("e"), "new").best == 150
    assert typical_of([("x", [ended("a", 9)]), ("y", [ended("b", 5, task="u")])]).speeds == {}


def test_epochs_scale_where_every_finished_cell_tells_them() -> None:
    told = [ended("a", 100, epochs=10), ended("b", 200, epochs=20), ended("c", 300, epochs=30)]
    assert typical_of([("x", told)]).expect(cell("d", epochs=40), "x") == exactly(400)
    assert typical_of([("x", told)]).expect(cell("d"), "x").best == 200
    mixed = [*told, ended("e", 250)]
    assert typical_of([("x", mixed)]).expect(cell("d", epochs=40), "x").best == 225


@pytest.mark.parametrize("seconds", [0.0, -5.0, float("nan"), float("inf"), None])
def test_no_odd_duration_makes_a_typical_one(seconds: float | None) -> None:
    assert typical_of([("x", [ended("a", seconds)])]).expect(cell("b"), "x") == NO_IDEA  # type: ignore[arg-type]


def test_cells_that_failed_or_ended_too_soon_are_no_measure() -> None:
    bad = [
        cell("a", CellState.FAILED, duration_seconds=9.0),
        cell("b", CellState.SUSPICIOUS, duration_seconds=9.0),
    ]
    assert typical_of([("x", bad)]).expect(cell("c"), "x") == NO_IDEA


# --- queues -----------------------------------------------------------------------------------


def test_a_queue_ends_after_what_runs_and_what_waits() -> None:
    view = outlook_of([lane("x", ended("a", 100), running("b", 40, 60), cell("c"), cell("d"))])
    assert view.left.best == 60 + 100 + 100
    assert view.left.low == pytest.approx(60 / 1.5 + 200 / 1.5)
    assert view.left.high == pytest.approx(60 * 1.5 + 200 * 1.5)
    assert view.last == "x"


def test_the_range_of_a_running_cell_is_its_own() -> None:
    view = outlook_of([lane("x", running("b", 40, 60, eta_range=(50.0, 90.0)))])
    assert view.left == Span(50, 60, 90)


def test_a_running_cell_without_an_eta_has_what_the_typical_one_leaves() -> None:
    done = [ended(name, 100) for name in "abc"]
    assert outlook_of([lane("x", *done, running("d", 30, None))]).left.best == 70
    late = outlook_of([lane("x", *done, running("d", 130, None))])
    assert late.left == Span(0)
    assert late.lanes[0].why == "d tells no end"


def test_jobs_that_run_side_by_side_share_the_places_that_are_taken_now() -> None:
    cells = [ended("a", 100), running("b", 1, 60), running("c", 1, 80), cell("d"), cell("e")]
    view = outlook_of([lane("x", *cells, one_by_one=False)])
    assert view.left.best == 80 + 100
    alone = outlook_of([lane("x", *cells)])
    assert alone.left.best == 60 + 200


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"trust": Trust.UNREACHABLE, "contact": 50.0}, "unreachable: this is what was seen last"),
        ({"trust": Trust.STALE, "contact": 50.0}, "stale: this is what was seen last"),
        ({"trust": Trust.OFF}, "the box is off"),
        ({"stalled": True}, "b stands still"),
    ],
)
def test_a_queue_that_cannot_tell_is_a_bound_and_makes_the_sweep_one(
    changed: dict[str, object], why: str
) -> None:
    blind = lane("x", ended("a", 100), running("b", 40, 60), cell("c"), **changed)
    seeing = lane("y", running("d", 10, 20))
    view = outlook_of([blind, seeing])
    one = view.lanes[0]
    assert one.why == why
    assert not one.left.known
    assert one.left.low == pytest.approx((60 + 100) / 1.5 - (blind.contact or 0))
    assert view.left == Span(one.left.low)
    assert view.told == view.lanes[1].left
    assert view.silent == ("x",)
    assert view.last == "y"


def test_what_was_never_read_is_no_zero() -> None:
    view = outlook_of([Lane("x", Queue(), Trust.UNREAD), lane("y", ended("a", 5))])
    assert view.left == NO_IDEA
    assert not view.whole
    assert not view.over
    assert outlook_of([lane("y", ended("a", 5))]).over


@pytest.mark.parametrize(
    ("queue", "why"),
    [
        ({}, "nothing runs, and 1 never ran"),
        ({"claimed_done": True}, "its queue has ended, and 1 never ran"),
        ({"refused": "no python"}, "its wrapper refused to start"),
    ],
)
def test_cells_that_wait_while_nothing_runs_may_wait_for_ever(
    queue: dict[str, object], why: str
) -> None:
    of = lane("x", ended("a", 100), cell("b"))
    one = outlook_of([replace(of, queue=replace(of.queue, **queue))]).lanes[0]
    assert one.why == why
    assert not one.left.known


def test_a_cell_that_may_or_may_not_run_tells_no_end() -> None:
    view = outlook_of([lane("x", ended("a", 9), cell("b", CellState.CANNOT_TELL))])
    assert view.lanes[0].why == "nothing says whether b still runs"
    assert view.left == Span(0)


def test_a_cell_that_is_gone_holds_no_end_up_whatever_became_of_it() -> None:
    gone = replace(cell("b", CellState.CANNOT_TELL), finished_at=500.0)
    view = outlook_of([lane("x", gone, running("c", 1, 60))])
    assert view.lanes[0].why is None
    assert view.left.known
    assert outlook_of([lane("x", gone)]).lanes[0].why == "nothing says how b ended"


def test_cells_that_only_the_log_counts_are_counted_and_make_a_bound() -> None:
    of = lane("x", ended("a", 100), running("b", 1, 60))
    view = outlook_of([replace(of, queue=replace(of.queue, total=5))])
    assert (view.tally.total, view.tally.left) == (5, 3)
    assert view.lanes[0].why == "3 of its cells are not known by name"


def test_a_cell_that_the_queue_comes_to_again_takes_its_time_again() -> None:
    cells = [ended("a", 100), running("b", 1, 60), ended("c", 100, again=True)]
    view = outlook_of([lane("x", *cells)])
    assert view.left.best == 60 + 100
    assert view.tally.done == 2


def test_a_cell_that_the_queue_went_past_is_still_to_be_done() -> None:
    past = cell("b", CellState.SKIPPED, never_run=True)
    over = outlook_of([lane("x", ended("a", 100), past)])
    assert over.tally.left == 1
    assert not over.over
    assert over.lanes[0].why == "nothing runs, and 1 never ran"
    runs = outlook_of([lane("x", ended("a", 100), past, running("c", 1, 60))])
    assert runs.left.best == 60  # this start of the queue does not come back to it


# --- cells ------------------------------------------------------------------------------------


def test_a_cell_of_two_queues_counts_once_in_the_state_that_tells_most() -> None:
    view = outlook_of(
        [lane("x", ended("a", 9), cell("b"), cell("c")), lane("y", cell("a"), running("b", 1, 2))]
    )
    assert view.tally.states == {FINISHED: 1, RUNNING: 1, PENDING: 1}
    assert view.tally.total == 3
    assert view.doubled == ("a", "b")


states = st.sampled_from(CellState)
queues = st.lists(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), states), max_size=6), min_size=1, max_size=4
)


@given(queues)
def test_every_name_counts_exactly_once(drawn: list[list[tuple[str, CellState]]]) -> None:
    lanes = [
        lane(f"box{n}", *(cell(name, state, duration_seconds=5.0) for name, state in row))
        for n, row in enumerate(drawn)
    ]
    view = outlook_of(lanes)
    # Of several queues that name a cell one counts; a queue that names it twice runs it twice.
    times = [Counter(name for name, _ in row) for row in drawn]
    names = {name for row in times for name in row}
    assert view.tally.total == sum(max(row[name] for row in times) for name in names)
    assert view.left.known is (view.silent == ())


# --- money ------------------------------------------------------------------------------------


def test_currencies_are_never_added_up() -> None:
    view = outlook_of(
        [
            lane("x", running("a", 1, 3600), per_hour=2.0, currency="CNY", spent=10.0),
            lane("y", running("b", 1, 7200), per_hour=3.0, currency="USD", spent=4.0, spent_exact=True),
            lane("z", running("c", 1, 3600), per_hour=1.0, currency="USD", spent=1.0, spent_exact=True),
            lane("w", running("d", 1, 10)),
        ]
    )  # fmt: skip
    assert set(view.bills) == {"CNY", "USD"}
    assert view.bills["CNY"].to_come.best == pytest.approx(2.0)
    assert view.bills["USD"].to_come.best == pytest.approx(7.0)
    assert view.bills["CNY"].spent == Span(10.0)  # since it was first seen: a bound
    assert view.bills["USD"].spent == exactly(5.0)
    assert view.unpriced == ("w",)


def test_a_queue_that_cannot_tell_makes_its_currency_a_bound_only() -> None:
    view = outlook_of(
        [
            lane("x", running("a", 1, None), per_hour=2.0, currency="CNY", spent=1.0),
            lane("y", running("b", 1, 3600), per_hour=3.0, currency="USD", spent=None),
        ]
    )
    assert not view.bills["CNY"].to_come.known
    assert view.bills["USD"].to_come.best == pytest.approx(3.0)
    assert view.bills["USD"].spent == NO_IDEA


def test_a_queue_that_is_over_costs_nothing_more() -> None:
    view = outlook_of([lane("x", ended("a", 9), per_hour=2.0, currency="CNY", spent=1.0)])
    assert view.left == NOTHING
    assert view.bills["CNY"].to_come == NOTHING


def test_a_queue_names_the_cell_that_tells_no_end() -> None:
    cells = [running("told", 1, 60), running("late", 1, None)]
    assert outlook_of([lane("x", *cells)]).lanes[0].why == "late tells no end"
    waits = outlook_of([lane("x", running("a", 1, 60), cell("b"))])
    assert waits.lanes[0].why == "no cell has ended yet to go by"
