"""The header, the panes, notices, `check`, the report and the exporter say the same of one state of a queue."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest

from gpu_tui.core.mask import Mask
from gpu_tui.core.queue_words import queue_words, sweep_words
from gpu_tui.core.speech import told as translated
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.core.verdict import Verdict
from gpu_tui.language import speak_in
from gpu_tui.state.contract import check_json
from gpu_tui.state.news import CELL_FINISHED, SWEEP_FINISHED, news_of
from gpu_tui.state.patrol import patrol_lines
from gpu_tui.state.prometheus import exposition
from gpu_tui.state.report import handover
from gpu_tui.state.sweep_outlook import sweep_outlook
from gpu_tui.state.views import FleetView
from gpu_tui.ui.text.fleet import _cell as board_cell
from gpu_tui.ui.text.header import header
from gpu_tui.ui.text.sweep import totals
from screenshots.builders import NOW, fleet
from screenshots.scene_ablation import ablation

S = CellState


def world(states: tuple[CellState, ...], **facts: object) -> FleetView:
    """One box whose queue has cells in these states."""
    cells = tuple(
        Cell(f"c{n}", n, None, state, job=f"{n}" if facts.get("more") else None, logged=True)
        for n, state in enumerate(states, 1)
    )
    total = None if facts.get("more") else max(len(cells), facts.pop("total", 0))  # type: ignore[call-overload]
    queue = Queue(cells, total=total, **facts)  # type: ignore[arg-type]
    view = ablation().fleet["autodl-2"]
    return fleet(replace(view, queue=queue, verdict=Verdict.RUNNING, findings=()))


WORLDS = [
    *(
        pytest.param(states, facts, id=f"{'-'.join(states)}-{'-'.join(facts)}")
        for states in (
            *itertools.combinations_with_replacement(
                (S.FINISHED, S.FAILED, S.RUNNING, S.CANNOT_TELL, S.SYNC_FAILED, S.SUSPICIOUS), 2
            ),
            (S.FINISHED,),
            (S.FINISHED, S.RUNNING, S.PENDING),
            (S.FINISHED, S.FAILED, S.SKIPPED),
        )
        for facts in ({}, {"more": True}, {"total": 6}, {"claimed_done": True})
    )
]


@pytest.mark.parametrize(("states", "facts"), WORLDS)
def test_every_surface_says_the_same_of_one_queue(
    states: tuple[CellState, ...], facts: dict[str, object]
) -> None:
    seen = world(states, **dict(facts))
    (view,) = seen.instances
    outlook = sweep_outlook(seen)
    told, done = queue_words(view.queue), states.count(S.FINISHED)
    total = None if view.queue.more else max(len(states), view.queue.total or 0)
    assert told.count == (f"{done} done" if total is None else f"{done}/{total} done")
    assert sweep_words(outlook) == told

    head = header(seen, 200, (), None, outlook).plain
    assert f"  {told.count}" in head
    assert ("more unknown" in head) is view.queue.more
    assert bool(re.search(r"\bended\b", head)) is (told.end == "ended")
    pane = " ".join(row.plain for row in totals(view, outlook.of(view.name), None, 200))
    assert told.brief in pane
    if view.queue.place is None:
        assert board_cell(view, 60).plain.startswith(told.count)
    check = " ".join(patrol_lines(view, NOW))
    assert f"queue: {told.sentence}" in check
    queue = check_json(seen)["instances"][0]["queue"]  # type: ignore[index]
    assert (queue["done"], queue["total"], queue["more"]) == (done, total, view.queue.more)
    assert queue["failed"] == states.count(S.FAILED)
    hand = handover(seen, {}, Mask(), version="1", fleet=None)
    assert hand.count(told.sentence) == 2, "in its head and in the table of instances"
    metrics = exposition(seen, "1")
    for state in set(states):
        assert re.search(
            rf'queue_cells\{{instance="autodl-2",state="{state}"\}} {states.count(state)}\n',
            metrics,
        )
    notices = [news for news in news_of(seen) if news.kind == CELL_FINISHED]
    assert len(notices) == done
    assert all(news.text.endswith(f"(queue: {told.brief})") for news in notices)
    sweeps = [news for news in news_of(seen) if news.kind == SWEEP_FINISHED]
    assert not sweeps or told.end == "ended"


def test_the_total_of_a_sweep_is_a_lower_bound_if_one_queue_has_none() -> None:
    one, two = world((S.FINISHED, S.RUNNING), more=True), world((S.FINISHED, S.PENDING))
    other = replace(two.instances[0], instance=replace(two.instances[0].instance, name="b"))
    both = sweep_outlook(fleet(one.instances[0], replace(other, queue=Queue(
        tuple(replace(cell, name=f"b{cell.name}") for cell in other.queue.cells), total=2
    ))))  # fmt: skip
    assert sweep_words(both).brief == "2/4+ done · more unknown"


def test_a_name_that_a_queue_has_twice_is_run_twice() -> None:
    rows = tuple(Cell("a", n, None, S.FINISHED, logged=True) for n in (1, 2))
    assert queue_words(Queue(rows, total=2)).sentence == "2/2 done · ended"


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ({"job": None}, "its log says finished"),
        ({"job": "7", "listed": True}, "its runner says finished"),
        ({"job": "7", "exit_code": 0}, "it ended with exit 0"),
        ({"job": "7"}, "its log says finished"),
        (
            {"job": "7", "why": "gone: by its log alone: its counters came to their end"},
            "its log reached the end of its counters",
        ),
        ({"job": "7", "listed": True, "why": "gone: by its log alone: it says “done”"}, "its log says finished"),
    ],
)  # fmt: skip
def test_a_notice_names_a_runner_only_where_there_is_one(
    cell: dict[str, object], words: str
) -> None:
    done = Cell("a", 1, None, S.FINISHED, **cell)  # type: ignore[arg-type]
    view = replace(ablation().fleet["autodl-2"], queue=Queue((done,), total=1), findings=())
    (news,) = [one for one in news_of(fleet(view)) if one.kind == CELL_FINISHED]
    assert news.text.startswith(words)


@pytest.mark.parametrize(("states", "facts"), WORLDS)
def test_the_words_are_the_same_in_chinese(
    states: tuple[CellState, ...], facts: dict[str, object]
) -> None:
    seen = world(states, **dict(facts))
    speak_in("zh")
    try:
        told = queue_words(seen.instances[0].queue)
        assert told == sweep_words(sweep_outlook(seen))
        assert "done" not in told.sentence
        assert "ended" not in told.sentence
        assert f"队列：{told.sentence}" in " ".join(patrol_lines(seen.instances[0], NOW))
        for news in news_of(seen):
            if news.kind == CELL_FINISHED:
                assert translated(news.text).endswith(f"（队列：{told.brief}）")
    finally:
        speak_in("en")
