"""Every scenario of the table comes out as it says, whatever the clocks and zones are."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judgement.report_verdicts import expected, got
from judgement.scene import Scene
from judgement.verdict_scenarios import SCENARIOS, Scenario

from gpu_tui.core.cause import Cause
from gpu_tui.core.verdict import Verdict

HOUR = 3600.0
ROWS = pytest.mark.parametrize("row", SCENARIOS, ids=lambda row: row.name.replace(" ", "-"))


@ROWS
def test_scenario(row: Scenario) -> None:
    assert got(row) == expected(row)
    scene = Scene(row.box)
    row.story(scene)
    view = scene.view()
    reasons = " | ".join(view.because)
    assert all(word in reasons for word in row.because), reasons
    told = " | ".join(finding.evidence for finding in view.findings)
    assert all(word in told for word in row.evidence), told


def test_the_table_covers_every_verdict_and_cause() -> None:
    assert {row.verdict for row in SCENARIOS} == {verdict.value for verdict in Verdict}
    assert {row.cause for row in SCENARIOS} == {None, *(cause.value for cause in Cause)}
    assert len({row.name for row in SCENARIOS}) == len(SCENARIOS) >= 40


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    row=st.sampled_from(SCENARIOS),
    skew=st.floats(-12 * HOUR, 12 * HOUR),
    zone=st.integers(-48, 56).map(lambda quarters: quarters * 900.0),
)
def test_no_clock_and_no_zone_of_the_box_shifts_a_judgement(
    row: Scenario, skew: float, zone: float
) -> None:
    assert got(row, skew=skew, zone=zone) == expected(row)


@ROWS
@pytest.mark.parametrize("zone", [8 * HOUR, -6.5 * HOUR])
def test_a_queue_that_stamps_in_another_zone_than_our_login_is_judged_the_same(
    row: Scenario, zone: float
) -> None:
    assert got(row, zone=zone, login_zone=0.0)[:2] == expected(row)[:2]
