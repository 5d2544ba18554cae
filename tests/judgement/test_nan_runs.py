"""A run whose loss is NaN: the same words at every look, its cost, and the value that ends the alarm."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import pytest
from judgement.nan_logs import FRAMEWORKS
from judgement.scene import BOX, Scene
from judgement.verdict_scenarios import A, B, began, ended, running

from gpu_tui.core.findings import Finding
from gpu_tui.core.fleet import Instance


def short(findings: Iterable[Finding]) -> list[tuple[str, str, str | None]]:
    """Kind, severity and cell of each."""
    return [(one.kind, one.severity.value, one.cell) for one in findings]


def started(box: Instance = BOX) -> Scene:
    """A healthy run of cell a."""
    scene = Scene(box)
    running(scene)
    return scene


def told(scene: Scene) -> str:
    """The evidence of the only finding."""
    (finding,) = scene.view().findings
    return finding.evidence


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_every_look_agrees_and_only_a_finite_value_ends_the_alarm(
    name: str,
) -> None:
    lost, moves, back = FRAMEWORKS[name]
    scene = started()
    for text, severity in ((lost + moves, "serious"), (back, "warn"), (lost, "serious")):
        for line in text.splitlines(keepends=True):
            for piece in (line[: len(line) // 2], line[len(line) // 2 : -1], line[-1:]):
                before = short(scene.view().findings)
                scene.write(A, piece)
                one, other = scene.view(), scene.view()
                assert (one.verdict, one.findings) == (other.verdict, other.findings)
                scene.watch(1.0)
                assert short(scene.view().findings) == short(one.findings)
                if before and severity == "serious" and text is not lost:
                    assert short(one.findings) == before, piece
        assert {row[1] for row in short(scene.view().findings)} == {severity}
        # A first look judges the same log in the same way.
    first = Scene(BOX)
    running(first)
    first.write(A, lost + moves + back + lost, history=True)
    assert short(first.view().findings) == short(scene.view().findings)


def test_from_the_third_report_the_finding_gives_the_cost() -> None:
    scene = started()
    epochs = iter(range(4, 20))

    def report(s: Scene, _: float) -> None:
        s.write(A, f"Epoch {next(epochs)}/20 train_loss: nan\n")

    scene.watch(20.0, report)
    assert told(scene) == "Epoch 4/20 train_loss: nan"
    scene.watch(10.0, report)
    assert told(scene) == "3 reports in a row, 20 s and $0.011 since; Epoch 4/20 train_loss: nan"
    scene.watch(100.0, lambda s, _: s.touch(A))
    assert told(scene).startswith("3 reports in a row, 2 min and $0.067 since; ")
    scene.write(A, "Epoch 7/20 train_loss: 0.5\n")
    went_on = "(the run went on: finite again at epoch 7)"
    assert told(scene) == f"Epoch 4/20 train_loss: nan {went_on}"


def test_without_a_price_the_finding_gives_only_the_time() -> None:
    scene = started(replace(BOX, price=None))
    epochs = iter(range(4, 20))
    scene.watch(40.0, lambda s, _: s.write(A, f"Epoch {next(epochs)}/20 train_loss: nan\n"))
    assert told(scene).startswith("4 reports in a row, 30 s since; ")


def test_the_time_of_reports_before_the_first_look_is_estimated() -> None:
    scene = started()
    scene.write(A, "".join(f"Epoch {n}/20 train_loss: nan\n" for n in range(4, 9)), history=True)
    scene.watch(10.0)  # its queue started it 640 s ago
    assert told(scene).startswith("5 reports in a row, about 5 min and $0.18 since; ")
    bare = started()
    bare.write(A, "loss: nan\n" * 4, history=True)
    bare.watch(10.0)
    assert told(bare).startswith("4 reports in a row, up to 10 min and $0.36 since; ")


def test_a_finite_loss_of_another_cell_ends_no_nan() -> None:
    scene = started()
    scene.write(A, "Epoch 4/20 train_loss: nan\n" * 2)
    scene.write(B, "".join(f"Epoch {n}/20 train_loss: 0.5\n" for n in range(1, 9)), cell="b")
    assert short(scene.view().findings) == [("nan", "serious", "a")]


def test_only_a_finite_validation_loss_ends_a_nan_of_the_validation_loss() -> None:
    scene = started()
    for epoch in range(4, 8):
        scene.write(A, f"Epoch {epoch}/20 train_loss: 0.5 val_loss: nan\n")
    assert told(scene).startswith("4 reports in a row, ")
    scene.write(A, "Epoch 8/20 train_loss: 0.5 val_loss: 0.7\n")
    assert short(scene.view().findings) == [("nan", "warn", "a")]


def test_a_new_start_of_the_cell_ends_the_nan() -> None:
    scene = started()
    scene.write(A, "Epoch 4/20 train_loss: nan\n" * 3)
    scene.write(A, "Epoch 1/20 train_loss: 2.3\n")
    assert re.search("a run began anew after it", told(scene))


def test_the_cost_of_a_nan_stops_at_the_end_of_its_cell() -> None:
    scene = started()
    for epoch in range(4, 21):
        scene.write(A, f"Epoch {epoch}/20 train_loss: nan\n")
        scene.watch(10.0, lambda s, _: s.touch(A))
    scene.write("/root/run/q.log", ended(scene, "a", 0) + began(scene, "b"))
    scene.watch(600.0, lambda s, _: s.touch(B))
    (nan,) = [one for one in scene.view().findings if one.kind == "nan"]
    assert nan.evidence.startswith("17 reports in a row, 2 min and $0.089 since; ")
