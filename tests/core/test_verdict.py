"""The verdict table: one row per situation."""

from __future__ import annotations

import pytest

from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.core.verdict import Evidence, Verdict, judge


def queue(*states: CellState, done: bool = False) -> Queue:
    cells = tuple(
        Cell(f"c{i}", i, None, state, started_at=1.0 if state is not CellState.PENDING else None)
        for i, state in enumerate(states, 1)
    )
    return Queue(cells, "q", "l", len(cells), done)


RUN, FIN, FAIL, WAIT = CellState.RUNNING, CellState.FINISHED, CellState.FAILED, CellState.PENDING


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (Evidence("connecting"), Verdict.CANNOT_TELL),
        (Evidence("timeout"), Verdict.UNREACHABLE),
        (Evidence("host-key"), Verdict.UNREACHABLE),
        (Evidence("refused", provider="stopped"), Verdict.OFF),
        (Evidence("off"), Verdict.OFF),
        (Evidence("live", queue=queue(RUN, WAIT), alive=True), Verdict.RUNNING),
        (Evidence("live", queue=queue(RUN, WAIT), alive=None), Verdict.CANNOT_TELL),
        (Evidence("live", queue=queue(FAIL, WAIT), alive=False), Verdict.CRASHED),
        (Evidence("live", queue=queue(RUN), alive=False, log_quiet=1.0), Verdict.CRASHED),
        (Evidence("live", queue=queue(FIN, FIN, done=True), alive=False), Verdict.FINISHED),
        (Evidence("live", queue=queue(FIN, done=True), alive=True), Verdict.FINISHED_BUT_HUNG),
        (Evidence("live", queue=queue(FIN, done=True), alive=None), Verdict.FINISHED),
        (Evidence("live", queue=queue(WAIT, WAIT), alive=False), Verdict.IDLE),
        (
            Evidence("live", queue=queue(RUN), alive=True, quiet_seconds=1000, stall_after=900),
            Verdict.STALLED,
        ),
        (
            Evidence("live", queue=queue(RUN), alive=True, quiet_seconds=None),
            Verdict.RUNNING,
        ),
        (Evidence("live", alive=False, busy=0.0), Verdict.IDLE),
        (Evidence("live", alive=None, busy=None), Verdict.CANNOT_TELL),
        (Evidence("live", alive=False, busy=0.9), Verdict.RUNNING),
        (Evidence("live", has_queue=True, alive=False), Verdict.CANNOT_TELL),
    ],
)
def test_verdict(seen: Evidence, verdict: Verdict) -> None:
    found = judge(seen)
    assert found.verdict is verdict
    assert found.because


def test_a_vanished_run_names_its_cause() -> None:
    gone = {"link": "live", "queue": queue(RUN, WAIT), "alive": False}
    assert "rebooted" in judge(Evidence(**gone, rebooted=True)).because[0]  # type: ignore[arg-type]
    assert "OOM" in judge(Evidence(**gone, oom_rose=1)).because[0]  # type: ignore[arg-type]
