"""What the gate takes the queue's own word for."""

from __future__ import annotations

from gpu_tui.core.queue_history import (
    CellFinished,
    CellStarted,
    QueueDone,
    QueueHistory,
    QueueOpened,
)
from gpu_tui.parse.queue_file import decode_roster
from gpu_tui.teardown.roster import cells_of

PLAN = b"conf/a.yaml t\nconf/b.yaml t\n"


def told(code: int, failed: str | None, *, stamp: float | None = 5.0) -> QueueHistory:
    history = QueueHistory().fold(QueueOpened("q.txt", 2, 1, "box"))
    for index, (name, end) in enumerate((("a", 0), ("b", code)), 1):
        history = history.fold(CellStarted(stamp, index, 2, name, "t", 20))
        history = history.fold(CellFinished(stamp, index, 2, name, end))
    return history.fold(QueueDone(stamp, "box", 2 if failed is None else 1, failed))


def test_a_queue_whose_lines_agree_is_in_no_doubt() -> None:
    for stamp in (5.0, None):
        cells = cells_of(decode_roster(PLAN), told(0, None, stamp=stamp))
        assert (cells.finished, cells.unfinished, cells.doubtful) == (("a", "b"), (), ())


def test_a_closing_line_that_contradicts_an_end_line_is_doubt() -> None:
    cells = cells_of(decode_roster(PLAN), told(0, "b"))
    assert "QUEUE DONE lists b as failed" in cells.doubtful[0]
    assert cells_of(decode_roster(PLAN), told(1, None)).doubtful
    assert cells_of(decode_roster(PLAN), told(1, "b")).doubtful == ()
    assert cells_of(decode_roster(PLAN), told(1, "b")).unfinished == (("b", "exit 1"),)


def test_lines_that_are_no_cell_or_were_not_read_are_doubt() -> None:
    cells = cells_of(decode_roster(PLAN + b"lonely\n"), told(0, None))
    assert cells.doubtful[0].startswith('no cell: line 3 "lonely": the task is missing')
    many = b"".join(b"c%d.yaml t\n" % n for n in range(10_001))
    assert "1 more lines were not read" in cells_of(decode_roster(many), QueueHistory()).doubtful
