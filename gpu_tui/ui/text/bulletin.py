"""What is new, in the one line that a toast has."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from gpu_tui.core.findings import Severity
from gpu_tui.core.plain import plain
from gpu_tui.core.speech import headed, say, told
from gpu_tui.state.news import News
from gpu_tui.ui.safe import safe
from gpu_tui.ui.text.marks import fit, line, wrap
from gpu_tui.ui.text.signs import SEVERITY_GLYPH

LONGEST = 300  # characters of the text
GOOD = "✓"


def worst_of(news: Sequence[News]) -> tuple[News, int]:
    """The worst of what is new, and how many others are of its kind: findings, or good news."""
    worst = min(news, key=lambda one: one.severity.rank)
    good = worst.severity is Severity.NONE
    return worst, sum((one.severity is Severity.NONE) is good for one in news) - 1


def bulletin(news: News, others: int, width: int) -> str:
    """Sign, kind, box and text in at most `width` cells; how many `others` there are is never cut off."""
    sign = GOOD if news.severity is Severity.NONE else SEVERITY_GLYPH[news.severity]
    words = headed(safe(news.where), plain(safe(told(news.text)), LONGEST))
    text = f"{sign} {say(news.title)} · {words}"
    more = _more(news, others)
    return fit(line(text), max(1, width - cell_len(more))).plain.rstrip() + more


def in_lines(text: str, width: int, most: int) -> str:
    """`text` as it is where it fits into `most` lines of `width` cells, else as much of it as does."""
    text = safe(" ".join(text.splitlines()))
    if cell_len(text) <= width or len(wrap(text, width, "")) <= most:
        return text
    return "\n".join(row.plain for row in wrap(text, width, "", most=most))


def _more(news: News, others: int) -> str:
    if not others:
        return ""
    if news.severity is Severity.NONE:
        return say(" · {others} more", others=others)  # `f` lists findings only
    return say(" · {others} more: f", others=others)
