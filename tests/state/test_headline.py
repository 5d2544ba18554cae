"""The first line of `check`: boxes, cells and causes, counted, and the same for one state."""

from __future__ import annotations

import fcntl
import itertools
import os
import pty
import struct
import termios
from dataclasses import replace
from pathlib import Path

import pytest

from gpu_tui.cli.fitted import fitted, on_terminal
from gpu_tui.core.findings import LOG_DATE, Finding, Severity
from gpu_tui.core.fleet import Fleet, Instance, LinkState, SshAccess
from gpu_tui.core.sample import Reading, Track
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.contract import check_json
from gpu_tui.state.history import SqliteHistory
from gpu_tui.state.patrol import patrol_lines, patrol_report
from gpu_tui.state.store import Store
from gpu_tui.state.views import FleetView
from gpu_tui.wiring.patrol import turn_over

NOW = 1_795_000_000.0  # 2026-11-18 11:06:40 UTC
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity"


def found(box: str, kind: str, cell: str | None = None, **facts: object) -> Finding:
    severity = facts.pop("severity", Severity.FATAL)
    made = Finding(
        kind, severity, box, OOM, "log:x:1", "Lower the batch size.", NOW, NOW, cell=cell
    )  # type: ignore[arg-type]
    return replace(made, **facts)  # type: ignore[arg-type]


def seen(*findings: Finding, **verdicts: Verdict) -> FleetView:
    names = verdicts or {"alpha": Verdict.RUNNING, "bravo": Verdict.CRASHED}
    fleet = Fleet(None, tuple(Instance(name, SshAccess(name)) for name in names))
    view = Store(fleet, {}).view(NOW)
    boxes = tuple(
        replace(
            one,
            verdict=names[one.name],
            because=(f"its log ends with: {OOM}",),
            link=LinkState("live"),
            findings=tuple(f for f in findings if f.instance == one.name),
        )
        for one in view.instances
    )
    return replace(view, instances=boxes, findings=findings)


def first(view: FleetView) -> str:
    return patrol_report(view, {})[0]


FOUR = [found("bravo", "gpu_oom", cell) for cell in ("b2", "b3", "b4", "big")]


@pytest.mark.parametrize(
    ("findings", "line"),
    [
        (FOUR, "bravo: 4 cells gpu oom (b2 b3 b4 big)"),
        (FOUR[:1], "bravo: cell b2 gpu oom"),
        ([found("alpha", "crashed", "x")], "alpha: cell x failed; bravo crashed"),
        # A cell is counted once, under its cause, although its end is a second finding.
        ([*FOUR, *(replace(one, kind="crashed") for one in FOUR)], "bravo: 4 cells gpu oom (b2 b3 b4 big)"),
        ([*FOUR, found("bravo", "nan", "c", severity=Severity.SERIOUS)],
         "bravo: 4 cells gpu oom (b2 b3 b4 big), cell c nan"),
        ([found("bravo", "gpu_oom", f"c{n}") for n in (10, 9, 2, 1, 3, 33)], "bravo: 6 cells gpu oom (c1 c2 c3 c9 +2)"),
        ([found("bravo", "disk_full", part="/data")], "bravo disk full"),
        ([found("runpod:old", "unlisted_instance")], "runpod:old unlisted instance; bravo crashed"),
        (
            [found("bravo", "crashed", "c", first_seen=NOW - 3_600, last_seen=NOW - 3_600)],
            "bravo: cell c failed 10:06:40 UTC",
        ),
        (
            [found("bravo", "crashed", "c", first_seen=NOW - 3_600, last_seen=NOW, standing=True, first_basis=LOG_DATE)],
            "bravo: cell c failed ≤10:06:40 UTC",
        ),
        (  # the time of the last of them: one of which only this look tells has none
            [found("bravo", "crashed", "c", first_seen=NOW - 3_600, last_seen=NOW - 3_600), found("bravo", "crashed", "d")],
            "bravo: 2 cells failed (c d)",
        ),
        (  # what is found of the box itself gives a cell no time
            [found("bravo", "crashed", "c", first_seen=NOW - 3_600, last_seen=NOW - 3_600), found("bravo", "crashed")],
            "bravo: cell c failed 10:06:40 UTC",
        ),
    ],
)  # fmt: skip
def test_the_first_line_counts_and_names(findings: list[Finding], line: str) -> None:
    assert first(seen(*findings)) == f"escalate: {line}"


def test_a_box_that_runs_is_not_called_crashed_for_one_cell() -> None:
    line = first(seen(found("alpha", "crashed", "x"), alpha=Verdict.RUNNING))
    assert line == "escalate: alpha: cell x failed"


def test_runs_that_ended_without_a_word_are_named_where_nothing_is_worse() -> None:
    ends = [found("alpha", "suspicious_end", name, severity=Severity.WARN) for name in ("a", "b")]
    view = seen(*ends, alpha=Verdict.IDLE)
    cells = tuple(
        Cell(name, 1, None, CellState.CANNOT_TELL, finished_at=NOW) for name in ("a", "b", "c")
    )
    (box,) = view.instances
    view = replace(view, instances=(replace(box, queue=replace(box.queue, cells=cells)),))
    assert first(view) == "cannot-tell: alpha: 2 cells suspicious end (a b)"
    assert "  warn: 2 cells suspicious end (a b)" in patrol_report(view, {})
    worse = found("alpha", "gpu_oom", "c")
    assert first(replace(view, findings=(*ends, worse))) == "escalate: alpha: cell c gpu oom"


def test_the_order_of_readings_does_not_change_the_line() -> None:
    findings = [
        *FOUR[:2],
        found("alpha", "crashed", "x"),
        found("bravo", "inode_full", part="/data"),
    ]
    lines, orders = set(), set()
    for n, order in enumerate(itertools.permutations(findings)):
        # The second look reads the logs in another order.
        heard = [replace(one, last_seen=NOW - n % 7 - place) for place, one in enumerate(order)]
        view = seen(*heard)
        lines.add("\n".join(patrol_report(view, {})))
        boxes = check_json(view)["instances"]
        orders.add(tuple((f["kind"], f["cell"]) for box in boxes for f in box["findings"]))  # type: ignore[attr-defined,index]
    assert len(lines) == 1
    assert len(orders) == 1


def test_a_text_is_printed_once_per_box() -> None:
    lines = patrol_lines(seen(*FOUR)["bravo"], NOW)
    assert "\n".join(lines).count("CUDA out of memory") == 1
    assert any("4 cells gpu oom (b2 b3 b4 big) -> Lower the batch size." in line for line in lines)
    other = replace(seen(*FOUR)["bravo"], because=("alive",))
    assert "\n".join(patrol_lines(other, NOW)).count("CUDA out of memory") == 1


# --- baselines ------------------------------------------------------------------------------------


def box(done: int) -> FleetView:
    cells = tuple(Cell(f"c{n}", n, None, CellState.FINISHED) for n in range(done))
    view = Store(Fleet(None, (Instance("bravo", SshAccess("bravo")),)), {}).view(NOW)
    tracks = {"gpus": Track(good=Reading(object(), NOW - 1))}
    return replace(
        view, instances=(replace(view["bravo"], queue=Queue(cells, total=done), tracks=tracks),)
    )


def test_hosts_and_the_fleet_file_have_baselines_of_their_own(tmp_path: Path) -> None:
    assert turn_over(box(5), state=tmp_path) == {}
    assert turn_over(box(1), hosts=True, state=tmp_path) == {}  # it knows no queue file: a baseline
    assert turn_over(box(6), state=tmp_path)["bravo"].done == 5
    assert turn_over(box(2), hosts=True, state=tmp_path)["bravo"].done == 1
    assert turn_over(box(6), state=tmp_path)["bravo"].done == 6


def test_rows_of_an_older_version_go_on_counting_for_the_fleet_file(tmp_path: Path) -> None:
    with SqliteHistory(tmp_path / "history.sqlite") as history:
        history.set_counter("bravo", "patrol", '{"at": 1.0, "done": 3, "failed": 1}', 1.0)
    assert turn_over(box(3), hosts=True, state=tmp_path) == {}
    assert turn_over(box(3), state=tmp_path)["bravo"].failed == 1


# --- on a terminal ----------------------------------------------------------------------------------

LINES = [
    "gpu-tui check 2026-11-28T06:11:00Z: escalate: bravo: 4 cells gpu oom (b2 b3 b4 big) 06:25:22 UTC",
    f"bravo: crashed (its log ends with: {OOM}) [live, 1 s ago]",
    "  queue: 1/2 done",
]


def test_rows_end_between_words_at_the_width_of_the_terminal() -> None:
    rows = fitted(LINES, 80, 50)
    assert max(map(len, rows)) <= 80
    assert " ".join(" ".join(rows).split()) == " ".join(" ".join(LINES).split())
    assert rows[-1] == "  queue: 1/2 done"
    wide = fitted(["显存不足" * 30], 80, 50)
    assert max(len(row) + len(row.strip()) for row in wide) <= 80  # two cells each
    assert "".join(row.strip() for row in wide) == "显存不足" * 30


def test_the_first_line_is_repeated_at_the_end_if_it_scrolled_away() -> None:
    rows = fitted(LINES * 9, 80, 24)
    assert rows[-2:] == rows[:2]
    assert fitted(LINES, 200, 24) == LINES


def test_lines_are_wrapped_only_for_a_terminal() -> None:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    end, begin = os.pipe()
    with os.fdopen(slave, "w") as terminal, os.fdopen(begin, "w") as pipe:
        assert max(map(len, on_terminal(LINES, terminal))) <= 80
        assert on_terminal(LINES, pipe) == LINES
    os.close(master)
    os.close(end)
