"""Cells whose program went without a word of its end, and how far they were. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_tui.core.left_queue import LEFT
from gpu_tui.core.queue_join import FAST_END_SHARE
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.core.vanished import GONE, UNTOLD, WENT_ON

NEARLY = 0.98  # of the total; reports may be some steps apart
COMPLETE = 0.999  # of the whole way: a last step need not be logged


def cut_short(cell: Cell) -> str | None:
    """A program that is gone, told nothing of its end, and whose counters stand before theirs."""
    if cell.state is not CellState.CANNOT_TELL or cell.job is None or cell.finished_at is None:
        return None
    if (cell.why or "").startswith(LEFT):
        return _left(cell) if cell.finding == UNTOLD else None
    share = cell.share
    if cell.finding == UNTOLD and cell.seen_at is None:
        words = _by_log_alone(cell)
    elif share is None:
        words = _without_total(cell) if cell.finding == UNTOLD else None
    elif share >= COMPLETE:
        return None
    else:
        words = f"its process is gone at {share:.0%} of its way, and nothing says how it ended"
    return f"{words}; {WENT_ON}{cell.then}" if words and cell.then else words


def _left(cell: Cell) -> str:
    """The same of a job that its scheduler no longer lists."""
    said = (cell.why or "").removeprefix(f"{LEFT}: ")
    if cell.epoch is not None:
        of = f" of {cell.epochs}" if cell.epochs else ""
        return f"left the queue between two checks at epoch {cell.epoch}{of}: {said}"
    if cell.step is not None:
        of = f" of {cell.steps}" if cell.steps else ""
        return f"left the queue between two checks at step {cell.step}{of}: {said}"
    return cell.why or LEFT


def _by_log_alone(cell: Cell) -> str | None:
    """The same for a log that no process was seen writing; None if it shows no training, or may be complete.

    A count may begin at 0, and not every step is logged, so the last report may be one short of the total.
    """
    counts = ((cell.epoch, cell.epochs), (cell.step, cell.steps))
    known = [(done, total) for done, total in counts if done is not None]
    if not known or (cell.share is not None and cell.share >= NEARLY):
        return None
    if cell.share is not None and all(total and done >= total - 1 for done, total in known):
        return None
    if cell.epoch is not None and (cell.epochs or not cell.steps):
        at = f"its log stops at epoch {cell.epoch}"
    else:
        at = f"its log stops at step {cell.step}"
    total = next((total for _, total in known if total), None)
    of = f" of {total}" if total else ""
    return f"{at}{of}, and no process of it is left: it ended without saying how"


def _without_total(cell: Cell) -> str:
    """The same of a program whose log shows no end of its counters, or none of them."""
    if cell.epoch is not None:
        return f"its process is gone at epoch {cell.epoch}: its log shows no total, and nothing says how it ended"
    if cell.step is not None:
        return f"its process is gone at step {cell.step}: its log shows no total, and nothing says how it ended"
    return GONE


def cut_early(cell: Cell) -> bool:
    """It was seen at work, and went before that can have been its end: as a cell of a queue that ends too soon."""
    return (
        cell.state is CellState.CANNOT_TELL
        and cell.finding == UNTOLD
        and (cell.seen_at is not None or (cell.why or "").startswith(LEFT))
        and cell.share is not None
        and cell.share < FAST_END_SHARE
    )


def went_last(cells: Iterable[Cell]) -> Cell | None:
    """Of these the one that ended last, if it was seen at work until then and no word tells how it ended."""
    over = [cell for cell in cells if cell.finished_at is not None]
    last = max(over, key=lambda cell: cell.finished_at or 0.0, default=None)
    return None if last is None or last.seen_at is None else last
