"""The end of a cell whose queue lost its shell, judged by log, artifacts and the missing runner."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judgement.scene import INIT, QUEUE_LOG, ROOT, T0, TRAINER, Scene, cell_log, gpu
from judgement.verdict_scenarios import RUN, A, began, done, ended, gone, opened, running

from gpu_tui.core.findings import Severity
from gpu_tui.core.mask import Mask
from gpu_tui.core.resume import resume_of
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.state.contract import check_json
from gpu_tui.state.report import handover
from gpu_tui.state.views import InstanceView

NO_CODE = "its runner was gone, so no exit code"
ORPHAN = replace(TRAINER, ppid=1)


def orphaned(s: Scene) -> None:
    """Let the queue's shell die while its trainer goes on."""
    s.processes = (INIT, ORPHAN)
    s.watch(60, lambda s, _: s.touch(A))


def cell(view: InstanceView, name: str = "a") -> Cell:
    return next(one for one in view.queue.cells if one.name == name)


def kinds(view: InstanceView) -> list[tuple[str, str | None, Severity]]:
    return [(one.kind, one.cell, one.severity) for one in view.findings]


def last_cell(s: Scene) -> None:
    """Cell a ended with an exit code, b runs."""
    running(s)
    s.write(QUEUE_LOG, ended(s, "a", 0) + began(s, "b"))
    s.touch(f"{ROOT}/out/a/best.pth")
    s.write(cell_log("b"), "Epoch 3/20 train_loss: 0.81\n")


def restarted(s: Scene) -> Scene:
    """Start gpu-tui again on an unchanged box."""
    again = Scene(history=s.history, at=s.at, uptime=s.uptime)
    again.files, again.roster = s.files, s.roster
    again.processes, again.gpus, again.memory = s.processes, s.gpus, s.memory
    again.link("live")
    return again


def test_the_last_cell_ended_after_its_runner_died_and_is_finished_by_its_log() -> None:
    s = Scene()
    last_cell(s)
    orphaned(s)
    s.write(cell_log("b"), "Epoch 20/20 train_loss: 0.11\n")
    s.touch(f"{ROOT}/out/b/best.pth")
    gone(s)
    view = s.view()
    b = cell(view, "b")
    assert (b.state, b.why, b.exit_code) == (
        CellState.FINISHED,
        f"finished by its log; {NO_CODE}",
        None,
    )
    assert (view.verdict, view.cause, kinds(view)) == ("finished", None, [])
    assert resume_of(view.queue.cells).start is None
    assert check_json(s.store.view(s.at))["verdict"] == "healthy"
    told = handover(s.store.view(s.at), {}, Mask(), version="1", fleet=None)
    assert "nothing is left to run" in told
    assert "killed" not in told


@pytest.mark.parametrize("words", ["Training completed.\n", "Epoch 20/20 train_loss: 0.11\n"])
def test_waiting_cells_are_named_and_an_ended_one_is_not_restarted(words: str) -> None:
    s = Scene()
    running(s)
    orphaned(s)
    s.write(A, words)
    s.touch(f"{ROOT}/out/a/best.pth")
    gone(s)
    view = s.view()
    assert cell(view).state is CellState.FINISHED
    assert (view.verdict, view.cause) == ("crashed", "unknown")
    assert view.because[0] == "the queue's own shell is gone: the cell that waits will not start"
    start = resume_of(view.queue.cells).start
    assert start is not None
    assert start.name == "b"


@pytest.mark.parametrize(
    ("artifact", "why"),
    [
        (None, f"its artifact is missing (there is no best.pth in {ROOT}/out/a); {NO_CODE}"),
        (9_000.0, f"its artifact is older than its start; {NO_CODE}"),
    ],
)
def test_an_end_without_a_fresh_artifact_is_suspicious(artifact: float | None, why: str) -> None:
    s = Scene()
    running(s)
    orphaned(s)
    s.write(A, "Epoch 20/20 train_loss: 0.11\n")
    if artifact is not None:
        s.touch(f"{ROOT}/out/a/best.pth", artifact)
    gone(s)
    assert cell(s.view()).state is CellState.SUSPICIOUS
    assert cell(s.view()).why == f"finished by its log, but {why}"


def test_a_trainer_that_ended_half_way_without_a_runner_has_an_unknown_cause() -> None:
    s = Scene()
    running(s)
    orphaned(s)
    gone(s)
    view = s.view()
    assert (view.verdict, view.cause) == ("crashed", "unknown")
    assert (
        view.because[0] == "a: its process is gone at 15% of its way, and nothing says how it ended"
    )
    assert cell(view).state is CellState.FAILED


def test_a_first_look_at_an_open_cell_without_a_process_reports_no_kill() -> None:
    s = Scene()
    running(s)
    gone(s)
    assert s.view().cause == "killed"  # both were seen to go
    s.history.set_counter("box", "runner_last", "", s.at)
    again = restarted(s)
    again.write(QUEUE_LOG, began(s, "a", 600), history=True, ago=600)
    again.write(A, "Epoch 3/20 train_loss: 0.81\n", history=True, ago=60)
    again.watch(60)
    assert (again.view().verdict, again.view().cause) == ("crashed", "unknown")


def finished_without_runner() -> Scene:
    s = Scene()
    running(s)
    orphaned(s)
    s.write(A, "Epoch 20/20 train_loss: 0.11\n")
    s.touch(f"{ROOT}/out/a/best.pth")
    gone(s)
    assert cell(s.view()).state is CellState.FINISHED
    return s


def test_a_finished_cell_stays_so_after_a_restart_that_reads_only_the_queues_log() -> None:
    s = finished_without_runner()
    before = s.view()
    again = restarted(s)
    again.look()
    assert cell(again.view()).state is CellState.PENDING  # the queue's log was not read yet
    opened(again, s.at - T0 + 600)
    again.watch(30)
    view = again.view()
    assert (cell(view).state, cell(view).why) == (cell(before).state, cell(before).why)
    assert (cell(view).epoch, cell(view).loss) == (20, 0.11)
    assert (view.verdict, view.because, kinds(view)) == (
        before.verdict,
        before.because,
        kinds(before),
    )


def test_the_queue_is_started_again_with_the_next_cell_and_then_with_this_one() -> None:
    s = finished_without_runner()
    s.processes, s.gpus = RUN, gpu(0.9)
    s.write(QUEUE_LOG, f"=== Queue {ROOT}/q.txt: 2 ablations, starting from 2 on box ===\n")
    s.write(QUEUE_LOG, began(s, "b"))
    s.watch(30, lambda s, _: s.touch(cell_log("b")))
    assert (cell(s.view()).state, cell(s.view(), "b").state) == ("finished", "running")
    s.write(QUEUE_LOG, f"=== Queue {ROOT}/q.txt: 2 ablations, starting from 1 on box ===\n")
    s.write(QUEUE_LOG, began(s, "a"))
    s.watch(30, lambda s, _: s.touch(A))
    assert cell(s.view()).state is CellState.RUNNING
    gone(s)
    assert (cell(s.view()).state, s.view().verdict) == ("failed", "crashed")


def test_a_failure_in_the_log_outweighs_finished_counters() -> None:
    s = Scene()
    running(s)
    orphaned(s)
    s.write(A, "Epoch 20/20 train_loss: 0.11\nRuntimeError: disk quota exceeded while saving\n")
    gone(s)
    assert cell(s.view()).state is CellState.FAILED
    assert s.view().verdict == "crashed"


def test_a_nan_loss_at_the_end_is_suspicious() -> None:
    s = Scene()
    running(s)
    orphaned(s)
    s.write(A, "Epoch 20/20 train_loss: nan\n")
    s.touch(f"{ROOT}/out/a/best.pth")
    gone(s)
    assert cell(s.view()).state is CellState.SUSPICIOUS


def test_an_end_line_of_a_live_runner_is_used() -> None:
    s = Scene()
    last_cell(s)
    s.write(QUEUE_LOG, ended(s, "b", 0) + done(s))
    s.touch(f"{ROOT}/out/b/best.pth")
    gone(s)
    assert (cell(s.view(), "b").exit_code, cell(s.view(), "b").why) == (0, None)
    assert s.view().verdict == "finished"


def test_a_trainer_at_its_last_step_that_still_saves_is_at_work() -> None:
    s = Scene()
    running(s)
    orphaned(s)
    s.write(A, "Epoch 20/20 train_loss: 0.11\n")
    s.gpus = gpu(0.0)
    s.watch(120, lambda s, _: s.touch(f"{ROOT}/out/a/best.pth"))
    assert cell(s.view()).state is CellState.RUNNING
    assert s.view().verdict == "running"
