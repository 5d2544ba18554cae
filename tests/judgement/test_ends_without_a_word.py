"""A log without an end on a box where nothing runs is never healthy, and never a crash without evidence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judgement.scene import INIT, TRAINER, Scene, cell_log, gpu
from judgement.verdict_scenarios import NAMELESS, NO_QUEUE

from gpu_tui.core import metrics
from gpu_tui.core.findings import Severity
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.readings import Process
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.left_over import parse_left_over
from gpu_tui.state.contract import check_json, fleet_verdict

A = cell_log("a")
STOPPED = "".join(f"Epoch {n}/100 loss {3 / n:.3f}\n" for n in range(1, 38))
UNENDED = {
    "epochs": (STOPPED, "its log stops at epoch 37 of 100"),
    "steps": ("step 100/5000 loss 2.0\nstep 200/5000 loss 1.9\n", "its log stops at step 200 of 5000"),
    "no total": ("iter 100: loss 2.0\niter 200: loss 1.9\n", "its log stops at step 200,"),
    "a bar": ("\r 36%|###  | 36/100 [00:36<01:04]\r 37%|###  | 37/100 [00:37<01:03]", "at step 37 of 100"),
    "hf": ("{'loss': 2.1, 'epoch': 0.5}\n{'loss': 1.9, 'epoch': 0.9}\n 30%|###       | 30/100 [00:30<01:10,  1.00it/s]\n", "at step 30 of 100"),
}  # fmt: skip


def found(text: str, *, ago: float = 120.0, processes: tuple[Process, ...] = (INIT,)) -> Scene:
    """The first look at a box on which that log was left."""
    s = Scene(instance=NO_QUEUE)
    s.processes, s.gpus = processes, gpu(0.0)
    s.link("live")
    s.write(A, text, history=True, ago=ago)
    s.look()
    return s


def seen(s: Scene) -> tuple[str, str, list[tuple[str, str | None, Severity]]]:
    view = s.view()
    kinds = [(f.kind, f.cell, f.severity) for f in view.findings]
    return fleet_verdict(s.store.view(s.at)), str(view.verdict), kinds


@pytest.mark.parametrize("kind", UNENDED)
def test_a_log_that_stops_half_way_ended_without_saying_how(kind: str) -> None:
    text, words = UNENDED[kind]
    s = found(text)
    assert seen(s) == ("cannot-tell", "idle", [("suspicious_end", "a", Severity.WARN)])
    (finding,) = s.view().findings
    assert words in finding.evidence
    assert "no process of it is left: it ended without saying how" in finding.evidence
    assert "a ended without saying how" in s.view().because
    (lab,) = check_json(s.store.view(s.at))["instances"]  # type: ignore[misc]
    assert [f["kind"] for f in lab["findings"]] == ["suspicious_end"]
    again = Scene(
        instance=NO_QUEUE, history=s.history, at=s.at + 300, processes=s.processes, gpus=s.gpus
    )
    again.link("live")
    again.write(A, text, history=True, ago=420)
    again.look()
    assert seen(again) == seen(s)


TWINS = {
    "finished": "Epoch 99/100 loss 0.1\nEpoch 100/100 loss 0.1\n",
    "said so": "Epoch 37/100 loss 0.1\nTraining completed.\n",
    "stopped early": "Epoch 37/100 loss 0.1\nEarly stopping at epoch 37\n",
    "counts from 0": "Epoch 98/100 loss 0.1\nEpoch 99/100 loss 0.1\n",
    "logs each tenth step": "step 980/1000 loss 0.1\nstep 990/1000 loss 0.1\n",
    "a set-up": "Collecting torch\nInstalling collected packages: torch\nWARNING: pip as root\n",
    "a server": "Uvicorn running on http://0.0.0.0:8000\nGET /health 200\n",
    "empty": "\n",
}


@pytest.mark.parametrize("kind", TWINS)
def test_logs_with_nothing_wrong_are_no_finding(kind: str) -> None:
    s = found(TWINS[kind])
    assert [f.kind for f in s.view().findings] == []
    assert fleet_verdict(s.store.view(s.at)) == "healthy"


@pytest.mark.parametrize(
    ("ago", "processes", "busy"),
    [
        (3 * 86_400.0, (INIT,), 0.0),  # history
        (120.0, (INIT, replace(TRAINER, ppid=1)), 0.97),  # an unknown training runs
        (120.0, (INIT, Process(50, 1, "llama-finetune", ("./llama-finetune",), "R")), 0.97),
        (1.0, (INIT,), 0.0),  # it may go on
    ],
)
def test_a_log_that_may_go_on_or_is_old_is_no_finding(
    ago: float, processes: tuple[Process, ...], busy: float
) -> None:
    s = found(STOPPED, ago=ago)
    s.processes, s.gpus = processes, gpu(busy)
    s.look()
    assert [f.kind for f in s.view().findings] == []


def test_a_log_that_an_unknown_process_writes_has_not_ended() -> None:
    s = found(STOPPED)
    assert seen(s)[0] == "cannot-tell"
    s.wait(60)
    s.write(A, "Epoch 38/100 loss 0.07\n")  # no trainer is in the process table
    s.watch(30)
    assert [f.kind for f in s.view().findings] == []


def test_a_log_that_was_abandoned_for_another_one_is_no_finding() -> None:
    s = found("step 12/90 loss 0.7\n", ago=2_000)
    assert seen(s)[0] == "cannot-tell"
    s.write(cell_log("b"), "step 90/90 loss 0.1\n", history=True, ago=60)
    s.look()
    assert seen(s)[2] == []


def test_a_log_that_is_not_read_to_its_end_yet_is_no_finding() -> None:
    s = found(STOPPED)
    s.touch(A, 120.0, 10_000)
    s.look()
    assert [f.kind for f in s.view().findings] == []


def test_a_log_that_moves_again_ends_the_finding() -> None:
    s = found(STOPPED)
    assert seen(s)[0] == "cannot-tell"
    s.processes, s.gpus = (INIT, replace(TRAINER, ppid=1)), gpu(0.9)
    s.write(A, "Epoch 38/100 loss 0.07\n")
    s.look()
    assert seen(s) == ("healthy", "running", [])


@pytest.mark.parametrize("text", ["iter 100: loss 2.0\niter 200: loss 1.9\n", STOPPED])
def test_an_output_file_that_a_program_left_is_judged_the_same(text: str) -> None:
    s = Scene(instance=NAMELESS)
    s.processes, s.gpus = (INIT,), gpu(0.0)
    s.link("live")
    left = parse_left_over(f"{s.at - 120:.0f} /root/exp/nohup.out\n".encode(), b"", s.box_now)
    s.sample(metrics.LEFT.name, left)
    s.sample(metrics.DETACHED.name, JobTable("nohup"))
    s.look()
    assert [f.kind for f in s.view().findings] == []  # it is not read yet
    s.write("/root/exp/nohup.out", text, history=True, ago=120, cell="exp/nohup.out")
    s.sample(metrics.LEFT.name, left)
    s.look()
    assert seen(s) == ("cannot-tell", "idle", [("suspicious_end", "exp/nohup.out", Severity.WARN)])
    assert s.view().queue.cells[0].state is CellState.CANNOT_TELL


def beside_a_run(log: str, *, ago: float, wrote: str | None, began: float = 3_600.0) -> Scene:
    """A first look: `python train.py >logs/r1.log` runs and writes into `wrote`; the log of `a` was left `ago`."""
    s = Scene(instance=NO_QUEUE)
    trainer = replace(TRAINER, ppid=1, age_seconds=began)
    s.processes, s.gpus = (INIT, trainer), gpu(0.0)
    s.link("live")
    s.write(A, log, history=True, ago=ago)
    if wrote is not None:
        s.write(wrote, "Epoch 3/900 loss 0.5\n", ago=1)
    run = Job("41", "r1", CellState.RUNNING, "running", stdout=wrote, pids=(41, 1))
    s.sample(metrics.DETACHED.name, JobTable("nohup", (run,)))
    s.look()
    return s


FAILED_LOG = "Epoch 3/9 loss 1\nTraceback (most recent call last):\nValueError: bad shape\n"


@pytest.mark.parametrize(
    ("log", "ago", "state", "kinds"),
    [
        (STOPPED, 1_200.0, CellState.CANNOT_TELL, ["suspicious_end"]),
        (STOPPED, 240.0, CellState.CANNOT_TELL, []),  # not for long yet
        ("Epoch 99/100 loss 0.1\nEpoch 100/100 loss 0.1\n", 30.0, CellState.FINISHED, []),
        (FAILED_LOG, 30.0, CellState.FAILED, ["crashed"]),
        (STOPPED, 20.0, CellState.RUNNING, []),  # a logger of the run may write there, besides its output
    ],
)  # fmt: skip
def test_a_dead_run_is_not_running_because_another_one_is(
    log: str, ago: float, state: CellState, kinds: list[str]
) -> None:
    s = beside_a_run(log, ago=ago, wrote=cell_log("r1"))
    cells = {cell.name: cell.state for cell in s.view().queue.cells}
    assert cells == {"a": state, "r1": CellState.RUNNING}
    assert [f.kind for f in s.view().findings] == kinds


def test_of_a_run_whose_output_is_nowhere_known_any_log_may_be_the_one() -> None:
    s = beside_a_run(STOPPED, ago=240.0, wrote=None)
    assert {cell.name: cell.state for cell in s.view().queue.cells}["a"] is CellState.RUNNING


def test_a_run_that_began_after_the_log_stopped_was_started_instead_of_it() -> None:
    s = beside_a_run(STOPPED, ago=1_200.0, wrote=cell_log("r1"), began=600.0)
    assert [f.kind for f in s.view().findings] == []
