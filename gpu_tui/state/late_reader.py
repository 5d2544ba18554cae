"""How a line of a log becomes text, loaded with the first line: its tables take longer than a screen to paint."""

from __future__ import annotations

from gpu_tui.core.logs import LogLine, Progress


def read_line(raw: bytes) -> LogLine:
    """One line, judged."""
    from gpu_tui.parse.log_reader import read_line as read

    return read(raw)


def show_line(raw: bytes) -> str:
    """The text of one line."""
    from gpu_tui.parse.log_reader import show_line as show

    return show(raw)


def reports(text: str) -> bool:
    """A line tells how far its run has come."""
    return progress_of(text) is not None


def progress_of(text: str) -> Progress | None:
    """The progress that a line reports."""
    from gpu_tui.parse.progress import parse_progress

    return parse_progress(text)
