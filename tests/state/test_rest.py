"""A box on which nothing runs is told to cost money by a patrol too, which looks but once at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judgement.scene import INIT, Scene, gpu
from judgement.verdict_scenarios import NO_QUEUE, A

from gpu_tui.state.history import NoHistory
from gpu_tui.state.rest import COUNTER


def patrol(history: NoHistory, after: float, *, uptime: float = 8_640_000.0) -> Scene:
    """One look at a box where nothing runs, of a program that remembers nothing else."""
    scene = Scene(NO_QUEUE, history=history, uptime=uptime + after)
    scene.at += after
    scene.processes, scene.gpus = (replace(INIT, age_seconds=uptime + after),), gpu(0.0)
    scene.touch(A, after + 9_000)
    scene.link("live")
    return scene


def told(scene: Scene) -> list[str]:
    scene.look()
    return [f.evidence for f in scene.view().findings if f.kind == "idle_billing"]


def test_idle_at_every_look_for_ten_minutes_is_told_with_what_it_may_have_cost() -> None:
    history = NoHistory()
    assert told(patrol(history, 0)) == []
    assert told(patrol(history, 300)) == []
    (said,) = told(patrol(history, 900))
    assert said == (
        "each look found nothing at work, and nothing left a trace between them, for 15 min"
        " and the meter runs, up to $0.50 so far"
    )


@pytest.mark.parametrize("between", ["a log", "a reboot", "a day", "another box", "a run"])
def test_what_may_have_worked_between_two_looks_is_not_called_idle(between: str) -> None:
    history = NoHistory()
    told(patrol(history, 0))
    after = 86_400.0 if between == "a day" else 900.0
    scene = patrol(history, after, uptime=-200.0 if between == "a reboot" else 8_640_000.0)
    if between == "a log":
        scene.touch(A, 450)
    elif between == "another box":
        history.set_counter("box", COUNTER, '["elsewhere", 1.0, 1795000000.0]', scene.at)
    elif between == "a run":
        busy = patrol(history, 450)
        busy.gpus = gpu(0.9)
        busy.look()
        busy.view()
    assert told(scene) == []
    assert told(patrol(history, after + 300)) == []
    assert told(patrol(history, after + 900)) != []


@pytest.mark.parametrize("kept", ["", "x", "[]", "{}", '["@box:", "nan", 3]', "[" * 9_000, "7"])
def test_what_the_file_of_the_history_holds_wrongly_is_no_look(kept: str) -> None:
    history = NoHistory()
    history.set_counter("box", COUNTER, kept, 1.0)
    assert told(patrol(history, 0)) == []


def test_a_cockpit_goes_on_from_what_the_patrols_saw_and_they_from_it() -> None:
    history = NoHistory()
    told(patrol(history, 0))
    cockpit = patrol(history, 300)
    cockpit.watch(330)
    assert "for 10 min" in told(cockpit)[0]
    assert "for 20 min" in told(patrol(history, 1_200))[0]
