"""What must be remembered between readings, and over a restart of the program."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judgement.scene import BOX, QUEUE_LOG, Scene, gpu, memory
from judgement.verdict_scenarios import (
    NOBODY,
    ROSTER,
    RUN,
    A,
    B,
    began,
    ended,
    gone,
    opened,
    running,
)

from gpu_tui.state.history import NoHistory


def restarted(scene: Scene) -> Scene:
    """The program is started again: only its history is left."""
    again = Scene(history=scene.history, at=scene.at, uptime=scene.uptime)
    again.files, again.roster = scene.files, scene.roster
    again.processes, again.gpus, again.memory = scene.processes, scene.gpus, scene.memory
    again.link("live")
    opened(again, 600)
    again.look()
    return again


def test_a_kill_between_two_patrols_is_told_by_the_next_and_by_the_one_after() -> None:
    scene = Scene()
    running(scene)
    scene.wait(300)
    scene.memory, scene.processes, scene.gpus = memory(1), NOBODY, gpu(0.0)
    for _ in range(2):
        scene = restarted(scene)
        assert (scene.view().verdict, scene.view().cause) == ("crashed", "oom-kill")
        scene.wait(300)


@pytest.mark.parametrize(("ago", "blamed"), [(200.0, "a"), (400.0, "b")])
def test_a_kill_between_two_patrols_is_of_the_cell_that_was_killed_within_it(
    ago: float, blamed: str
) -> None:
    """One that a person had killed before the last look is not the one; the one beside it may be."""
    scene = Scene()
    running(scene)
    scene.wait(300)
    scene.memory = memory(1)
    again = restarted(scene)
    again.write(QUEUE_LOG, ended(again, "a", 137, ago) + began(again, "b", ago), history=True)
    again.write(B, "Epoch 1/20 train_loss: 0.9\n")
    assert [(f.kind, f.cell) for f in again.view().findings if f.kind == "host_oom"] == [
        ("host_oom", blamed)
    ]


def test_a_queue_whose_only_cell_was_killed_between_two_patrols() -> None:
    scene = Scene()
    running(scene)
    scene.wait(300)
    scene.memory, scene.processes, scene.gpus = memory(1), NOBODY, gpu(0.0)
    again = restarted(scene)
    again.write(QUEUE_LOG, ended(again, "a", 137, 200), history=True)
    assert [(f.kind, f.cell) for f in again.view().findings] == [("host_oom", "a")]


def test_a_kill_before_the_present_attempt_is_history() -> None:
    scene = Scene()
    running(scene)
    scene.memory = memory(1)
    gone(scene)
    assert scene.view().cause == "oom-kill"
    scene.wait(3000)
    again = Scene(history=scene.history, at=scene.at)
    running(again, kills=1, ago=60)
    assert again.view().findings == ()
    gone(again)
    assert again.view().cause == "killed"


def test_a_kill_of_another_cgroup_is_not_told_after_a_restart_either() -> None:
    scene = Scene()
    running(scene)
    for count in (1, 0):
        scene.memory = memory(count)
        scene.watch(30, lambda s, _: s.touch(A))
    assert restarted(scene).view().findings == ()


def test_a_counter_that_begins_anew_is_another_cgroup() -> None:
    scene = Scene()
    running(scene, kills=5)
    scene.memory = memory(0)
    scene.watch(30, lambda s, _: s.touch(A))
    assert scene.view().findings == ()
    scene.memory = memory(1)
    gone(scene)
    assert scene.view().cause == "oom-kill"


def test_the_usual_pause_survives_a_restart() -> None:
    scene = Scene()
    running(scene)
    scene.watch(4900, lambda s, t: s.touch(A) if t % 1200 == 0 else None)
    again = restarted(scene)
    again.watch(1500)
    assert again.view().verdict == "running"
    again.watch(3000)
    assert again.view().verdict == "stalled"


def test_a_patrol_does_not_call_stalled_what_only_seldom_writes() -> None:
    history, verdicts = NoHistory(), []
    for tick in range(40):
        scene = Scene(history=history)
        scene.wait(300.0 * tick)
        opened(scene, 300.0 * tick + 600)
        scene.touch(A, 300.0 * tick % 1800)
        scene.processes, scene.gpus = RUN, gpu(0.9)
        scene.link("live")
        scene.look()
        verdicts.append(scene.view().verdict)
    assert "stalled" in verdicts[:18]  # until three such pauses were seen to end
    assert set(verdicts[18:]) == {"running"}
    scene.wait(4 * 1800.0)
    scene.look()
    assert scene.view().verdict == "stalled"


def test_a_lost_link_is_no_pause_of_the_run() -> None:
    scene = Scene()
    running(scene)
    for _ in range(5):
        scene.link("timeout")
        scene.wait(1800)
        scene.link("live")
        scene.watch(30, lambda s, _: s.touch(A))
    assert scene.view().verdict == "running"
    scene.watch(1000)
    assert scene.view().verdict == "stalled"


@pytest.mark.parametrize(("price", "words"), [(BOX.price, "0.3"), (None, "not known (no price)")])
def test_idleness_costs_what_is_known(price: object, words: str) -> None:
    scene = Scene(instance=replace(BOX, price=price))  # type: ignore[arg-type]
    scene.link("live")
    scene.roster, scene.processes, scene.gpus = ROSTER, NOBODY, gpu(0.0)
    scene.watch(620)
    (finding,) = scene.view().findings
    assert finding.kind == "idle_billing"
    assert words in finding.evidence


def test_work_by_anybody_sets_the_idle_clock_back() -> None:
    scene = Scene()
    scene.link("live")
    scene.roster, scene.processes, scene.gpus = ROSTER, NOBODY, gpu(0.0)
    scene.watch(590)
    scene.gpus = gpu(0.8)
    scene.watch(20)
    scene.gpus = gpu(0.0)
    scene.watch(590)
    assert scene.view().findings == ()


def test_a_torn_history_is_a_first_look() -> None:
    history = NoHistory()
    for name in ("oom_kill", "oom_since", "oom_rose", "oom_looked", "pulse"):
        history.set_counter("box", name, "not a number", 0.0)
    scene = Scene(history=history)
    running(scene)
    assert (scene.view().verdict, scene.view().findings) == ("running", ())


@pytest.mark.parametrize("kept", ["nan", "inf", "many", "1 2 nan"])
def test_what_the_file_of_the_history_holds_wrongly_is_not_known(kept: str) -> None:
    history = NoHistory()
    for name in ("oom_kill", "oom_since", "oom_rose", "oom_looked", "pulse"):
        history.set_counter(BOX.name, name, kept, 1.0)
    scene = Scene(history=history)
    running(scene)
    assert scene.view().verdict == "running"
