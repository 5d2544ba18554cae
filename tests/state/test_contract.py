"""The JSON of `check`: strict, whole, and null where nothing is known."""

from __future__ import annotations

import json
import math

from gpu_tui.core.events import LinkChanged
from gpu_tui.core.fleet import Fleet, Instance, LinkState, SshAccess
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.state.contract import _cell, check_json, fleet_verdict
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.state.patrol import patrol_lines
from gpu_tui.state.store import Store

T0 = 1_795_000_000.0


def store() -> Store:
    return Store(Fleet("s", (Instance("box", SshAccess("box")),)), {})


def test_a_box_never_read_is_all_null() -> None:
    made = json.loads(json.dumps(check_json(store().view(T0)), allow_nan=False))
    (box,) = made["instances"]
    assert (made["version"], made["verdict"]) == (1, "cannot-tell")
    assert box["memory"] is None
    assert box["cpu"] is None
    assert box["gpus"] == []
    assert box["latency_seconds"] is None
    assert box["why"]["gpus"] == "not read yet"
    assert box["cost"] == {
        "per_hour": None,
        "currency": None,
        "spent": None,
        "since": None,
        "basis": "unknown",
        "why": {"per_hour": "no price in the fleet file, and none from an API"},
    }


def test_an_unreachable_box_escalates() -> None:
    kept = store()
    kept.apply(LinkChanged("box", T0, LinkState("refused", T0, "port closed")))
    assert fleet_verdict(kept.view(T0)) == "escalate"


def test_a_nan_loss_is_null_and_says_why() -> None:
    row = _cell(Cell("a", 1, None, CellState.RUNNING, loss=math.nan))
    assert row["loss"] is None
    assert row["why"] == {"loss": "nan"}


def test_a_patrol_speaks_also_when_nothing_is_known() -> None:
    lines = patrol_lines(store().view(T0)["box"], T0)
    assert lines[0].startswith("box: cannot-tell")
    assert len(lines) >= 2


def test_line_numbers_never_shift_when_old_lines_leave() -> None:
    from gpu_tui.core.findings import Severity
    from gpu_tui.core.logs import LogLine, Mark

    buffer = LogBuffer(3)
    mark = Mark("benign", Severity.NONE, False)
    buffer.extend(LogLine(str(n), mark) for n in range(5))
    assert (buffer.first, buffer.end) == (2, 5)
    assert buffer[4].text == "4"
    assert [line.text for line in buffer.slice(0, 9)] == ["2", "3", "4"]
