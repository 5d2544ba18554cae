"""What is new, in the one line that a toast has."""

from __future__ import annotations

from rich.cells import cell_len

from gpu_tui.core.findings import Severity
from gpu_tui.core.plain import plain
from gpu_tui.core.speech import headed, say, told
from gpu_tui.state.news import News
from gpu_tui.ui.safe import safe
from gpu_tui.ui.text.fleet import SEVERITY_GLYPH
from gpu_tui.ui.text.marks import fit, line

LONGEST = 300  # characters of the text
GOOD = "✓"


def bulletin(news: News, others: int, width: int) -> str:
    """Sign, kind, box and text in at most `width` cells; how many `others` there are is never cut off."""
    sign = GOOD if news.severity is Severity.NONE else SEVERITY_GLYPH[news.severity]
    words = headed(safe(news.where), plain(safe(told(news.text)), LONGEST))
    text = f"{sign} {say(news.title)} · {words}"
    more = say(" · {others} more: f", others=others) if others else ""
    return fit(line(text), max(1, width - cell_len(more))).plain.rstrip() + more
