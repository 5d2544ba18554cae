"""A run whose log came to its end and whose process stays hangs; one that saves, evaluates or serves does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from judgement.scene import INIT, ROOT, TRAINER, Scene, gpu
from judgement.verdict_scenarios import NAMELESS, A, running

from gpu_tui.core import metrics
from gpu_tui.core.findings import Severity
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.readings import Process
from gpu_tui.core.sweep import CellState
from gpu_tui.state.contract import check_json

ALONE = replace(TRAINER, ppid=1, state="S")
ENDS = {
    "counters": "Epoch 19/20 loss 0.2\nEpoch 20/20 loss 0.1\n",
    "words": "Epoch 12/20 loss 0.1\nTraining completed.\nsaved /root/out/model.pt\n",
    "stopped early": "Epoch 12/20 loss 0.1\nEarly stopping at epoch 12\n",
    "a bar": "\r 99%|#########9| 999/1000 [10:00<00:00]\r100%|##########| 1000/1000 [10:00<00:00]\n",
}


def job(pid: int, name: str) -> Job:
    return Job(
        str(pid), name, CellState.RUNNING, "running", stdout=f"/r/{name}.log", pids=(pid, 1),
        command=f"python {name}.py",
    )  # fmt: skip


def detached(*names: str) -> Callable[[Scene, float], None]:
    """Detached programs without a name in the fleet file, each with a log."""
    jobs = JobTable("nohup", tuple(job(41 + n, name) for n, name in enumerate(names)))
    return lambda s, _: s.sample(metrics.DETACHED.name, jobs)


def nameless(text: str, *names: str, ago: float = 2.0) -> Scene:
    s = Scene(instance=NAMELESS)
    s.processes, s.gpus = (INIT, ALONE, replace(ALONE, pid=42)), gpu(0.0)
    s.link("live")
    for name in names or ("vit",):
        s.write(f"/r/{name}.log", text, history=True, ago=ago)
    return s


def kinds(s: Scene) -> list[tuple[str, Severity]]:
    return [(found.kind, found.severity) for found in s.view().findings]


@pytest.mark.parametrize("end", ENDS)
def test_a_detached_run_that_does_not_exit_after_its_end_hangs(end: str) -> None:
    s = nameless(ENDS[end])
    s.watch(1000, detached("vit"))
    view = s.view()
    assert (view.verdict, kinds(s)) == ("finished-but-hung", [("stalled", Severity.SERIOUS)])
    said = "reached its last step" if end in ("counters", "a bar") else "says “"
    assert view.because[0].startswith(f"vit {said}")
    assert view.because[0].endswith("ago and does not end")
    (lab,) = check_json(s.store.view(s.at))["instances"]  # type: ignore[misc]
    assert lab["verdict"] == "finished-but-hung"


@pytest.mark.parametrize("end", ["counters", "words"])
def test_a_cell_of_a_queue_that_does_not_exit_after_its_end_hangs(end: str) -> None:
    s = Scene()
    running(s)
    s.write(A, ENDS[end])
    s.gpus = gpu(0.0)
    s.watch(1000)
    assert (s.view().verdict, kinds(s)) == ("finished-but-hung", [("stalled", Severity.SERIOUS)])


def test_a_first_look_finds_the_same_hang_as_a_long_watch() -> None:
    s = nameless(ENDS["words"], ago=1800)
    detached("vit")(s, 0.0)
    s.look()
    s.wait(1)
    assert s.view().verdict == "finished-but-hung"


def test_a_hanging_run_next_to_a_live_one_is_named() -> None:
    s = nameless(ENDS["words"], "vit", "bert")

    def goes_on(s: Scene, after: float) -> None:
        detached("vit", "bert")(s, after)
        s.write("/r/bert.log", f"step {int(after)} loss 0.5\n")

    s.watch(1000, goes_on)
    (found,) = s.view().findings
    assert (s.view().verdict, found.kind, found.cell) == ("running", "stalled", "vit")
    assert found.evidence.startswith("vit says “Training completed.”")
    assert found.evidence.endswith("and its process does not exit")


TWINS = {
    "half way and silent for a while": ("Epoch 12/20 loss 0.1\n", 600),
    "at its end for a moment": (ENDS["counters"], 60),
    "became a server": (ENDS["words"] + "INFO:     Uvicorn running on http://0.0.0.0:8000\n", 1000),
    "serves a demo": (ENDS["counters"] + "* Running on local URL:  http://127.0.0.1:7860\n", 1000),
    "answered requests": (
        ENDS["words"] + 'INFO: 10.0.0.1:5 - "GET /generate HTTP/1.1" 200 OK\n',
        1000,
    ),
    "was a server all along": ("Loading model\n * Serving on port 8080\n", 1000),
}


@pytest.mark.parametrize("twin", TWINS)
def test_healthy_runs_that_resemble_a_hang(twin: str) -> None:
    text, seconds = TWINS[twin]
    s = nameless(text)
    s.watch(seconds, detached("vit"))
    assert (s.view().verdict, kinds(s)) == ("running", [])


def test_a_tensorboard_hint_before_the_end_makes_no_server() -> None:
    hint = "TensorBoard: view at http://localhost:6006/\n"
    s = nameless(hint + ENDS["words"])
    s.watch(1000, detached("vit"))
    assert s.view().verdict == "finished-but-hung"


@pytest.mark.parametrize("busy", [0.9, 0.0])
def test_a_last_evaluation_on_the_card_and_files_that_grow_are_work(busy: float) -> None:
    s = Scene()
    running(s)
    s.write(A, ENDS["counters"])
    s.gpus = gpu(busy)
    s.watch(1000, None if busy else lambda s, _: s.touch(f"{ROOT}/out/a/best.pth"))
    assert (s.view().verdict, kinds(s)) == ("running", [])


def test_a_process_that_computes_after_the_last_step_is_at_work() -> None:
    s = nameless(ENDS["counters"])

    def evaluates(s: Scene, after: float) -> None:
        detached("vit")(s, after)
        s.processes = (INIT, replace(ALONE, cpu_seconds=after))

    s.watch(1000, evaluates)
    assert (s.view().verdict, kinds(s)) == ("running", [])
    assert "one of its processes still computes" in s.view().because[0]


def test_a_card_that_is_busy_for_an_hour_after_the_end_hangs_all_the_same() -> None:
    s = Scene()
    running(s)
    s.write(A, ENDS["counters"])
    s.watch(1000)
    s.at, s.uptime = s.at + 3_000, s.uptime + 3_000
    s.look()
    assert s.view().verdict == "finished-but-hung"


def test_a_new_start_into_the_same_log_is_not_at_its_end() -> None:
    s = nameless(ENDS["counters"])
    s.watch(60, detached("vit"))
    s.sample(metrics.DETACHED.name, JobTable("nohup"))
    s.processes = (INIT,)
    s.watch(60)
    assert s.view().queue.cells[0].state is CellState.FINISHED
    again = JobTable("nohup", (replace(job(77, "vit"), started_at=s.at),))
    s.processes = (INIT, Process(77, 1, "python", ("python", "vit.py"), "S", age_seconds=1.0))
    s.watch(600, lambda s, _: s.sample(metrics.DETACHED.name, again))
    assert (s.view().verdict, kinds(s)) == ("running", [])
    assert s.view().queue.cells[0].share is None
