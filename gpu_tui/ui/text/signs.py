"""How one box stands, in a sign and a word: its verdict, its worst finding, its clock, its colour, and how much it
needs a human. All panes say it alike.
"""

from __future__ import annotations

import hashlib

from rich.text import Text

from gpu_tui.core.clocks import SEVERITY_RANK, earliest
from gpu_tui.core.findings import Severity
from gpu_tui.core.speech import say
from gpu_tui.core.verdict import ESCALATES, Verdict
from gpu_tui.state.settled import is_fresh
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.text.marks import ACT, WATCH, line

# verdict -> (glyph, word, style, how much it needs a human: 0 is most)
VERDICTS: dict[Verdict, tuple[str, str, str, int]] = {
    Verdict.CRASHED: ("✗", "crashed", "level-act", 0),
    Verdict.STALLED: ("■", "stalled", "level-act", 1),
    Verdict.PREEMPTED: ("↯", "preempted", "level-act", 2),
    Verdict.UNREACHABLE: ("⊘", "unreachable", "level-act", 3),
    Verdict.FINISHED_BUT_HUNG: ("◆", "done, hung", "level-watch", 4),
    Verdict.CANNOT_TELL: ("?", "cannot tell", "unknown", 5),
    Verdict.FINISHED: ("✓", "finished", "accent", 6),
    Verdict.IDLE: ("○", "idle", "level-watch", 7),
    Verdict.RUNNING: ("●", "running", "level-ok", 8),
    Verdict.OFF: ("◌", "off", "muted", 9),
}
SEVERITY_GLYPH = {
    Severity.FATAL: "✗",
    Severity.SERIOUS: "▲",
    Severity.WARN: "△",
    Severity.NONE: " ",
}


def need(view: InstanceView) -> tuple[int, int, int, float, str]:
    """Sort key: who needs a human most comes first; a due clock or a verdict
    that escalates counts like a serious finding.
    """
    clock = earliest(view.clocks)
    fires = clock.deadline if clock else None
    rank = view.worst.rank
    due = clock is not None and clock.due(view.taken_at)
    if due or view.verdict in ESCALATES:
        rank = min(rank, Severity.SERIOUS.rank)
    alarms = sum(finding.severity.rank <= Severity.SERIOUS.rank for finding in view.findings)
    return (
        rank,
        -alarms,
        VERDICTS[view.verdict][3],
        fires if fires is not None else float("inf"),
        view.name,
    )


def outcries(one: InstanceView, other: InstanceView) -> bool:
    """One calls for a human, and louder than the other."""
    rank = need(one)[0]
    return rank <= Severity.SERIOUS.rank and rank < need(other)[0]


def tells(view: InstanceView) -> bool:
    """There is something to look at: the box was read, or it is said why it is not."""
    seen = view.last_contact is not None or view.link.error is not None
    return seen and view.verdict is not Verdict.OFF


def is_new(view: InstanceView) -> bool:
    """It is tried for the first time, or about to be read: nobody can say yet that it cannot be reached."""
    link = view.link
    if link.live:
        return view.last_contact is None
    return link.state == "connecting" and link.error is None and view.verdict is not Verdict.OFF


def box_style(name: str) -> str:
    """The colour of one box, the same in every pane and every session."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    return f"box-{digest[0] % 6 + 1}"


def verdict(view: InstanceView) -> Text:
    """Glyph and word."""
    if is_new(view) and view.last_contact is None:
        return line((say("◔ connecting"), "muted"))
    if view.verdict is Verdict.CANNOT_TELL and is_fresh(view):
        return line((say("◔ first look"), "muted"))
    glyph, word, style, _ = VERDICTS[view.verdict]
    return line((f"{glyph} {say(word)}", style))


# How loud a clock is, for who sees no colours; what stands before a countdown that is not exact.
CLOCK_MARK = {"level-act": ACT, "level-watch": WATCH}
BOUND_SIGN = {"earliest": "≥", "latest": "≤", "rate": "~"}


def clock_style(severity: str, *, due: bool) -> str:
    """How loud a clock is."""
    if due:
        return "level-act" if SEVERITY_RANK.get(severity, 9) <= 1 else "level-watch"
    return "level-watch" if SEVERITY_RANK.get(severity, 9) == 0 else "muted"
