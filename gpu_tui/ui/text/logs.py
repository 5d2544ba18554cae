"""Log lines as they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len, chop_cells
from rich.style import Style
from rich.text import Text

from gpu_tui.core import units
from gpu_tui.core.artifact import layout_of
from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.logs import LogLine, Span
from gpu_tui.core.metrics import DETACHED
from gpu_tui.core.queue_done import failed_names, listed
from gpu_tui.core.queue_history import CellFinished, QueueDone, QueueEvent, SyncFailed
from gpu_tui.core.remedies import REMEDIES
from gpu_tui.core.sample import Freshness
from gpu_tui.core.speech import say, told
from gpu_tui.core.sweep import CellState
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.log_document import BETWEEN, OLDER, LogDocument
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.safe import safe
from gpu_tui.ui.text.marks import line
from gpu_tui.ui.text.names import CUT

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
# Findings that say why a cell ended badly.
REASONS = frozenset(
    {
        "gpu_oom", "host_oom", "disk_full", "inode_full", "nccl", "hang", "xid", "hardware", "cuda_error",
        "traceback", "preempted", "time_limit",
    }
)  # fmt: skip
MOST_INKS = 24  # of one row: a new one costs a tenth of a millisecond, and a box may colour each letter anew
NUMBER = 7
GUTTER = NUMBER + 3
BOOKMARK = "◆"


def mark_style(entry: LogLine) -> str:
    """The meaning of a line; an alarm that did not really alarm is only a warning."""
    style = MARKS.get(entry.mark.label, "mark-none")
    if entry.mark.alarm or style in ("mark-progress", "mark-none"):
        return style
    return "mark-warning" if entry.mark.severity is Severity.WARN else "mark-none"


def log_row(
    label: str | int,
    entry: LogLine,
    *,
    shift: int = 0,
    current: bool = False,
    marked: bool = False,
    part: tuple[int, int] | None = None,
    inks: Callable[[str], Style | str] = str,
) -> Text:
    """One line behind its gutter: number, bookmark, mark, text. The gutter is ours, so no text can
    fake it. `label` is what stands there, or a line's number from 0; `part` are the characters of one
    row of a wrapped line, of which only the first row has a number. `shift` are the characters that
    stand out of sight on the left; a sign in front of the text tells. `inks` draws what the box coloured.
    """
    style = mark_style(entry)
    gutter = "▶" if current else "█" if entry.mark.alarm else "▏"
    body = Text(safe(entry.text), style, no_wrap=True, end="")
    if not entry.mark.alarm:
        _colour(body, entry.spans, part or (shift, len(body)), inks)
    if part is not None:
        body = body[part[0] : part[1]]
    elif shift:
        body = body[shift:]
    first = part is None or part[0] == 0
    before = (CUT, "faint") if shift and part is None and entry.text else (" ", "")
    number = f"{label + 1}" if isinstance(label, int) else label
    edge = style if entry.mark.alarm or current else "track"
    return line(
        (f"{number if first else '':>{NUMBER}}", "faint"),
        (BOOKMARK if marked else " ", "accent"),
        (gutter, edge),
        before,
        body,
    )


def _colour(
    body: Text, spans: Sequence[Span], seen: tuple[int, int], inks: Callable[[str], Style | str]
) -> None:
    """Draw the spans in sight in the box's colours; of more than there is time for, the last in our own."""
    known: dict[str, Style | str] = {}
    for span in spans:
        if span.end <= seen[0] or span.start >= seen[1]:
            continue
        if span.style not in known:
            if len(known) == MOST_INKS:
                continue
            known[span.style] = inks(span.style)
        body.stylize(known[span.style], span.start, span.end)


def wrapped(text: str, width: int) -> list[tuple[int, int]]:
    """The characters [start, stop) of each row of a line that is `width` cells wide at most."""
    width = max(1, width)
    if len(text) <= width and cell_len(text) <= width:
        return [(0, len(text))]
    if text.isascii():
        return [(at, at + width) for at in range(0, len(text), width)]
    rows, at = [], 0
    for piece in chop_cells(text, width):
        rows.append((at, at + len(piece)))
        at += len(piece)
    return rows


def label_of(document: LogDocument, key: int) -> str | int:
    """What stands in front of a line: its number, else about where in the file it begins."""
    number = document.number(key)
    if number is not None:
        return number
    if key >= 0:
        return f"+{key + 1}"  # counted from where reading began
    byte = document.byte(key)
    return "" if byte is None else f"@{units.short_size(byte)}"


def note_row(document: LogDocument, key: int) -> Text:
    """What is said where lines are not loaded: how much, and the keys that fetch it."""
    if key == OLDER:
        size = units.size(document.start or 0)
        if document.said:
            text, style = f"▲ {document.said}", "accent"
        elif not document.reach:
            text, style = say("▲ {size} stood before this and are not here", size=size), "muted"
        else:
            text, style = (
                say("▲ {size} of older lines on the box · pgup reads on · g the start", size=size),
                "muted",
            )
    elif key == BETWEEN and document.gap is not None and document.gap > 0:
        said = f" · {document.said}" if document.said else say(" · pgdn reads on · G the live end")
        text, style = (
            say("⋯ {gap} are not loaded{said}", gap=units.size(document.gap), said=said),
            "muted",
        )
    else:
        text, style = say("⋯ another file begins: the log was rotated"), "muted"
    return line(" " * (NUMBER + 1), ("▏", "track"), " ", (text, style))


def no_log(view: InstanceView, *, asks: bool = True) -> str:
    """Why there is no log of this box, and what to do; where nobody can be asked, as in a recording, only why."""
    if view.link.state == "off" or view.verdict is Verdict.OFF:
        return say("the box is off: its logs lie on its disk and are read when it runs again")
    if view.link.state == "connecting" and view.link.error is None:
        return say("the box is being reached: its logs come with the first answer")
    if not view.link.live and not asks:
        return say(
            "the box cannot be reached at this moment, so no log was read: Vitals (3) says why"
        )
    if not view.link.live:
        return say(
            "the box cannot be reached, so no log can be read: Vitals (3) says why, r tries again"
        )
    if view.last_contact is None or view.freshness(DETACHED) is Freshness.UNKNOWN:
        return say("what runs there, and where it logs, is being read")
    return say(
        "no log is where the fleet file or the platform's profile says: name it as `logs:` or "
        "`queue: {log: PATH}`; a job that writes to a file is found by itself"
    )


def unfollowed(path: str, error: str) -> str:
    """Why a log is not followed; most reasons name it themselves."""
    why = told(error)
    if error.startswith(path):
        return why
    return say("cannot follow {path}: {error}", path=path, error=why)


def advice(view: InstanceView, entry: LogLine) -> tuple[str, str | None]:
    """What a line is called, and what to do about it: a cell that trained and was not copied is no failed run, and of
    one that failed its reason goes before its end.
    """
    if (reason := _reason(view, entry.queue)) is not None:
        return say(reason.kind.replace("_", " ")), told(reason.remedy)
    text, unsynced = remedy_of(entry.mark.label), _unsynced(view, entry.queue)
    label = say(entry.mark.label.replace("_", " "))
    if not entry.mark.alarm or unsynced is None:
        return label, say(text) if text else None
    names, others = unsynced
    if not others:
        return say("sync failed"), say(REMEDIES["sync_failed"]) + _trained_in(view, names)
    more = say(
        "Trained, only the durable copy is missing: {names}. Copy, do not train again.",
        names=listed(names),
    )
    return label, f"{say(text)} {more}" if text else more


def _reason(view: InstanceView, event: QueueEvent | None) -> Finding | None:
    """Why a cell failed, where a line tells of the last end that is known of it."""
    match event:
        case CellFinished(name=name, exit_code=code) if code not in (0, 2):
            ends = {cell.name: cell.exit_code for cell in view.queue.cells}
            ours = (one for one in view.findings if one.cell == name and ends.get(name) == code)
            return next((one for one in ours if one.kind in REASONS), None)
    return None


def _unsynced(view: InstanceView, event: QueueEvent | None) -> tuple[list[str], list[str]] | None:
    """Of the cells that a line of the queue's log calls failed: those that only were not copied, and the others."""
    match event:
        case SyncFailed(name=name) | CellFinished(name=name, exit_code=2):
            return [name], []
        case QueueDone(failed=str(failed)):
            states = {cell.name: cell.state for cell in view.queue.cells}
            names = failed_names(failed, states)
            own = [name for name in names if states.get(name) is CellState.SYNC_FAILED]
            return (own, [name for name in names if name not in own]) if own else None
    return None


def _trained_in(view: InstanceView, names: Sequence[str]) -> str:
    """Where the weights of these lie, where that is known."""
    root = layout_of(view.instance).checkpoints
    return (
        say(" They lie in {places}.", places=listed([f"{root}/{n}" for n in names])) if root else ""
    )


def remedy_of(label: str) -> str | None:
    """What to do about a line of this label; None where there is nothing to do."""
    return REMEDIES.get(KINDS.get(label, label))
