"""Log lines as they are drawn."""

from __future__ import annotations

from rich.text import Text

from gpu_tui.core.findings import Severity
from gpu_tui.core.logs import LogLine
from gpu_tui.core.remedies import REMEDIES
from gpu_tui.ui.safe import safe
from gpu_tui.ui.text.marks import line

# triage label -> the meaning it is coloured by
MARKS: dict[str, str] = {
    "nan": "mark-numeric", "inf": "mark-numeric", "overflow": "mark-numeric",
    "gpu_oom": "mark-memory", "host_oom": "mark-memory",
    "disk_full": "mark-storage", "inode": "mark-storage",
    "hang": "mark-peers", "nccl": "mark-peers", "network": "mark-peers",
    "xid": "mark-hardware", "hardware": "mark-hardware", "cuda_error": "mark-hardware",
    "traceback": "mark-program", "exception": "mark-program", "ckpt_corrupt": "mark-program",
    "killed": "mark-outside", "preempted": "mark-outside",
    "warning": "mark-warning", "progress": "mark-progress", "benign": "mark-none",
}  # fmt: skip
KINDS = {"inode": "inode_full", "killed": "crashed", "exception": "crashed"}
NUMBER = 7
GUTTER = NUMBER + 2


def mark_style(entry: LogLine) -> str:
    """The meaning of a line; an alarm that did not really alarm is only a warning."""
    style = MARKS.get(entry.mark.label, "mark-none")
    if entry.mark.alarm or style in ("mark-progress", "mark-none"):
        return style
    return "mark-warning" if entry.mark.severity is Severity.WARN else "mark-none"


def log_row(number: int, entry: LogLine, *, shift: int = 0, current: bool = False) -> Text:
    """One line behind its gutter: number, mark, text. The gutter is ours, so no text can fake it."""
    style = mark_style(entry)
    gutter = "▶" if current else "█" if entry.mark.alarm else "▏"
    body = Text(safe(entry.text), style, no_wrap=True, end="")
    if not entry.mark.alarm:
        for span in entry.spans:
            body.stylize(span.style, span.start, span.end)
    if shift:
        body = body[shift:]
    edge = style if entry.mark.alarm else "track"
    return line((f"{number + 1:>{NUMBER}} ", "faint"), (gutter, edge), " ", body)


def remedy_of(label: str) -> str | None:
    """What to do about a line of this label; None where there is nothing to do."""
    return REMEDIES.get(KINDS.get(label, label))
