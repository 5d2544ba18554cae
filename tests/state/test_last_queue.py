"""What is kept of the queue of a box that was stopped: shown with its age, and never as what is true now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_tui.core.fleet import Instance, QueueFiles, SshAccess
from gpu_tui.core.sweep import CELLS_KEPT, Cell, CellState, Queue
from gpu_tui.state.history import CONTACT_EVERY, NoHistory
from gpu_tui.state.last_queue import QueueKept

T0 = 1_795_000_000.0
BOX = Instance("a", SshAccess("a"), queue=QueueFiles("/q", "/l"))
CELLS = (
    Cell("one", 1, "t", CellState.FINISHED, epoch=3, epochs=3, metrics={"psnr": 31.0}, exit_code=0),
    Cell("two", 2, "t", CellState.SYNC_FAILED, exit_code=2, why="no copy", finished_at=T0 - 5),
    Cell("three", 3, None, CellState.RUNNING, epoch=1, epochs=3),
    Cell("four", 4, "t", CellState.PENDING),
)
QUEUE = Queue(CELLS, "/q", "/l", total=4)


def test_what_ended_comes_back_as_it_was_and_what_ran_does_not_run() -> None:
    history = NoHistory()
    QueueKept(history, BOX).keep(QUEUE, T0)
    last = QueueKept(history, BOX).read()
    assert last is not None
    assert last.at == T0
    assert last.queue.cells[:2] == CELLS[:2]
    assert last.queue.cells[3] == CELLS[3]
    assert last.queue.cells[2].state is CellState.CANNOT_TELL
    assert "at work when the box was read last" in (last.queue.cells[2].why or "")
    other = replace(BOX, ssh=SshAccess("b"))
    assert QueueKept(history, other).read() is None


def test_it_is_written_seldom_and_bounded() -> None:
    history = NoHistory()
    kept = QueueKept(history, BOX)
    many = tuple(Cell(f"c{n}", n, "t", CellState.PENDING) for n in range(CELLS_KEPT * 2))
    kept.keep(Queue(many, total=len(many)), T0)
    last = kept.read()
    assert last is not None
    assert (len(last.queue.cells), last.queue.total) == (CELLS_KEPT, CELLS_KEPT * 2)
    for after, at in (
        (1, T0 + 1),
        (CONTACT_EVERY / 2, T0 + 1),
        (CONTACT_EVERY + 1, T0 + CONTACT_EVERY + 1),
    ):
        kept.keep(QUEUE, T0 + after)
        last = kept.read()
        assert last is not None
        assert (len(last.queue.cells), last.at) == (4, at)


@pytest.mark.parametrize("text", ["", "[]", "{", '["@a:", 1.0, null, null, 1, false, "[{}]"]', "7"])
def test_what_is_not_whole_is_nothing(text: str) -> None:
    history = NoHistory()
    history.set_counter("a", "queue", text, T0)
    assert QueueKept(history, BOX).read() is None
