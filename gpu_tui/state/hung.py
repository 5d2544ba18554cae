"""Detects cells that still run although their log came to its end: a process that hangs or has become a server."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpu_tui.core.cut_short import COMPLETE
from gpu_tui.core.last_words import WORDS_WITHIN, last_word
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.state.instance import InstanceState
from gpu_tui.state.job_tables import ending_of

# Lines that Python servers print when they are ready, and for each request.
_SERVES = re.compile(
    r"\b(?:uvicorn|hypercorn|gunicorn|waitress|streamlit)\b|application startup complete|debugger is active"
    r"|\b(?:listening|serving|running|started|available|ready)(?: \w+)? (?:at|on)\b.{0,40}(?::\d{2,5}\b|\bport\b|https?://)"
    r"|https?://(?:0\.0\.0\.0|localhost|127\.0\.0\.1|\[::1?\])\b|press ctrl.?c to (?:quit|stop|exit)"
    r"|\bwaiting for (?:requests|connections|jobs)\b|\"(?:GET|POST|PUT|HEAD|DELETE) \S+ HTTP/",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Hung:
    """`words`: how one cell came to its end, if every running cell did so or serves; `serves`: one of them serves."""

    words: str | None = None
    serves: bool = False


def hung_of(kept: InstanceState, queue: Queue) -> Hung:
    """Judge the running cells together. Reads their last lines, so call it only while nothing moves."""
    runs = [cell for cell in queue.cells if cell.state is CellState.RUNNING]
    serving = {cell.name for cell in runs if serves(kept, cell.name)}
    words = [at_end(kept, cell) for cell in runs if cell.name not in serving]
    known = [word for word in words if word is not None]
    if len(known) < len(words) or not known:
        return Hung(None, bool(serving))
    return Hung(known[0], bool(serving))


def at_end(kept: InstanceState, cell: Cell) -> str | None:
    """How the log of a cell says that it came to its end; None if it does not."""
    end = ending_of(kept, cell.name)
    if end.failure is not None:
        return None
    if end.complete or (cell.share is not None and cell.share >= COMPLETE):
        return f"{cell.name} reached its last step"
    return f"{cell.name} says “{end.said}”" if end.well else None


def serves(kept: InstanceState, name: str) -> bool:
    """Whether a log of this cell has a server's line after the last report and the last word of training."""
    from gpu_tui.parse.progress import parse_progress  # not before the first frame

    for source, log in kept.logs.buffers.items():
        if source.cell != name:
            continue
        for number in range(log.end - 1, max(log.first, log.end - WORDS_WITHIN) - 1, -1):
            text = log.text(number)
            if _SERVES.search(text):
                return True
            if last_word([text]) is not None or parse_progress(text) is not None:
                break
    return False
