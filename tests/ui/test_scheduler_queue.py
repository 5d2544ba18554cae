"""The queue of Slurm and of Kubernetes: the columns at each width, arrays as one line, and what a key does there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gpu_tui.core.listing import in_list_order
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.panes.queue import QueuePane
from gpu_tui.ui.text.jobs import head, note, row, sheet_of, status_of
from screenshots.builders import NOW, SceneStore, fleet, instance, view

RUN, WAIT, BAD, END = CellState.RUNNING, CellState.PENDING, CellState.FAILED, CellState.FINISHED
HOUR = 3600.0


def job(id: str, state: CellState, name: str = "train", **more: object) -> Cell:
    given = {"job": id, "listed": True, "status": state.value.upper(), **more}
    return Cell(f"{id}·{name}", 1, "gpu", state, **given)  # type: ignore[arg-type]


SLURM = (
    job("73_0", RUN, epoch=3, epochs=20, loss=0.5, node="gpu01", limit_seconds=24 * HOUR,
        limit_left_seconds=2 * HOUR, eta_seconds=5 * HOUR, duration_seconds=22 * HOUR, gpus=4),
    job("73_1", RUN, node="gpu02", limit_left_seconds=400 * 24 * HOUR, node_state="gpu02 draining: bad ECC"),
    *(job(f"73_{n}", WAIT, reason="JobArrayTaskLimit", why="PENDING: JobArrayTaskLimit: its array may run no more",
          at_once=2, limit_seconds=24 * HOUR, age_seconds=9 * HOUR) for n in range(2, 300)),
    job("80", WAIT, reason="Resources", why="PENDING: Resources: waits for free nodes", age_seconds=9 * HOUR,
        submitted_at=NOW - 9 * HOUR, expected_at=NOW + 2 * HOUR, limit_seconds=HOUR),
    job("60", BAD, status="TIMEOUT", why="TIMEOUT: its time limit ran out", finding="time_limit", node="gpu01"),
    job("50", END, status="COMPLETED", exit_code=0),
)  # fmt: skip
KUBE = (
    replace(job("job/a", RUN, status="Running", restarts=3, node="n1", age_seconds=HOUR), name="a"),
    replace(job("job/b", WAIT, status="ImagePullBackOff", finding="missing_cell", why="ImagePullBackOff: no such",
                age_seconds=9 * HOUR), name="b"),
    replace(job("job/d", WAIT, status="Pending", why="Pending: Unschedulable: 0/4 nodes are available: 4 Insufficient",
                age_seconds=9 * HOUR), name="d"),
    replace(job("job/c", BAD, status="Evicted", why="Evicted: the node was low on storage"), name="c"),
)  # fmt: skip


def seen(kind: str, *cells: Cell) -> InstanceView:
    box = replace(instance("login", "generic-ssh", None), scheduler=kind)
    return view(box, Verdict.RUNNING, tracks={}, queue=Queue(cells, total=len(cells)))


def drawn(kind: str, cells: tuple[Cell, ...], width: int) -> list[str]:
    of, rows = seen(kind, *cells), in_list_order(cells)
    sheet = sheet_of(kind, rows, width)
    return [line.plain for line in (head(sheet), *(row(of, cell, sheet) for cell in rows))]


@pytest.mark.parametrize(
    ("width", "titles"),
    [
        (78, ["status", "cell", "epoch", "left", "loss", "limit", "node"]),
        (156, ["status", "cell", "epoch", "left", "loss", "took", "limit", "gpus", "exit", "node", "partition", "why"]),
    ],
)  # fmt: skip
def test_the_columns_of_slurm_are_those_of_squeue(width: int, titles: list[str]) -> None:
    top, first, second, timeout, array, waits, _ = drawn("slurm", SLURM, width)
    assert top.split() == titles
    assert first.startswith("● running")
    assert "  2h " in first
    assert "gpu01" in first
    assert "400d" in second
    assert "node out" in second
    assert "✗ TIMEOUT" in timeout
    assert "298 wait" in array
    assert "73_[2-299%2]" in array
    assert "· Resources 9h" in waits
    assert "1h" in waits


def test_the_columns_of_kubernetes_are_those_of_kubectl() -> None:
    top, runs, *rest = drawn("kubernetes", KUBE, 78)
    assert {"status", "restarts", "node", "age"} <= set(top.split())
    assert "loss" not in top  # an empty column has no room
    assert " 3 " in runs
    text = "\n".join(rest)
    assert "✗ Evicted" in text
    assert "· ImagePullBackOff 9h" in text
    assert "· Unschedulable 9h" in text


@pytest.mark.parametrize("kind", ["slurm", "kubernetes"])
def test_no_line_is_wider_than_its_pane(kind: str) -> None:
    odd = job("9", WAIT, "训练" * 40, reason="x" * 200, node="n" * 200, status="y" * 90, age_seconds=1e12,
              limit_seconds=1e12, gpus=99_999, restarts=999_999, why="z" * 900)  # fmt: skip
    for width in range(30, 200, 7):
        of, cells = seen(kind, *SLURM, *KUBE, odd), in_list_order((*SLURM, *KUBE, odd))
        sheet = sheet_of(kind, cells, width)
        lines = [head(sheet), *(row(of, cell, sheet) for cell in cells)]
        assert {line.cell_len for line in lines} == {lines[0].cell_len}
        assert lines[0].cell_len <= width, width


def test_the_line_under_the_rows_says_how_long_it_waits_and_when_it_may_start() -> None:
    words = note(SLURM[-3]) or ""
    assert words == (
        "PENDING: Resources: waits for free nodes; waits for 9 h; expected to start in 2 h"
    )
    assert "out of service: gpu02 draining: bad ECC" in (note(SLURM[1]) or "")
    assert note(SLURM[-1]) is None
    told = replace(KUBE[1], why="ImagePullBackOff: waits for 60 min: Back-off pulling image")
    assert (note(told) or "").count("waits") == 1


def test_a_namespace_is_a_column_where_there_is_more_than_one() -> None:
    assert "namespace" not in drawn("kubernetes", KUBE, 156)[0]
    assert (
        "namespace" in drawn("kubernetes", (*KUBE, replace(KUBE[0], task="other", job="x")), 156)[0]
    )


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"still_seconds": 700.0}, "silent 11m"),
        ({"halted": True}, "halted"),
        ({"status": "COMPLETING"}, "COMPLETING"),
        ({"status": None}, "running"),
    ],
)
def test_a_running_row_has_its_trouble_in_words(more: dict[str, object], words: str) -> None:
    cell = job("1", RUN, **more)
    assert status_of(seen("slurm", cell), cell)[1] == words


def test_an_unknown_state_is_never_the_word_of_an_old_list() -> None:
    cell = job("1", CellState.CANNOT_TELL, status="RUNNING", why="not heard of since")
    assert status_of(seen("slurm", cell), cell)[:2] == ("?", "cannot tell")


async def test_enter_on_an_array_that_waits_says_so_and_on_a_job_shows_its_log(
    cockpit: Callable[..., CockpitApp],
) -> None:
    store = SceneStore(fleet(seen("slurm", *SLURM)))
    app = cockpit(store)
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.press("4")
        pane = app.screen.query_one(QueuePane)
        keys = [cell.key for cell in in_list_order(SLURM)]
        pane.rows.point(keys[3])
        await pilot.press("enter")
        await pilot.pause()
        assert pane.has_focus_within
        assert "298 tasks wait" in " ".join(str(one.message) for one in app._notifications)
        pane.rows.point(keys[0])
        await pilot.press("enter")
        await pilot.pause()
        assert not pane.has_focus_within
        assert app.screen.query_one("#log").has_focus_within


async def test_the_filter_looks_at_tasks_one_by_one(cockpit: Callable[..., CockpitApp]) -> None:
    app = cockpit(SceneStore(fleet(seen("slurm", *SLURM))))
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.press("4", "/", *"73_7", "enter")
        await pilot.pause()
        pane = app.screen.query_one(QueuePane)
        assert "11 wait" in pane.rows.lines[0].plain
        assert "73_[7,70-7" in pane.rows.lines[0].plain
        assert "11 of 303" in str(pane.border_title)
