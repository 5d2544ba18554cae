"""Every row of the verdict's tables is needed: without it some scenario comes out otherwise."""

from __future__ import annotations

import os

import pytest
from judgement.report_verdicts import expected, got
from judgement.scene import Scene
from judgement.verdict_scenarios import SCENARIOS, Scenario

from gpu_tui.core import cause, verdict

TABLES = ((verdict, "QUESTIONS"), (cause, "CAUSES"), (verdict, "REMARKS"))
ROWS = [
    pytest.param(module, table, at, id=f"{table}{getattr(row[1], '__name__', '')}")
    for module, table in TABLES
    for at, row in enumerate(getattr(module, table))
    if row[1].__name__ not in ("_gone", "_unknown")  # the last rows answer always
]


def differs(row: Scenario) -> bool:
    """This scenario comes out otherwise than the table says."""
    if got(row) != expected(row):
        return True
    scene = Scene(row.box)
    row.story(scene)
    reasons = " | ".join(scene.view().because)
    return not all(word in reasons for word in row.because)


@pytest.mark.nightly
@pytest.mark.skipif(
    not os.environ.get("GPU_TUI_NIGHTLY"), reason="only in the nightly run (GPU_TUI_NIGHTLY=1)"
)
@pytest.mark.parametrize(("module", "table", "at"), ROWS)
def test_without_this_row_a_scenario_fails(
    module: object, table: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = getattr(module, table)
    monkeypatch.setattr(module, table, rows[:at] + rows[at + 1 :])
    assert any(differs(row) for row in SCENARIOS)
