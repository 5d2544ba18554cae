"""Foreign text made harmless for one line of a screen, a journal or an error. Pure."""

from __future__ import annotations


def plain(text: str, limit: int = 200) -> str:
    """`text` on one line, every control, bidi and invisible character replaced, cut to `limit`."""
    shown = text[:limit]
    if not shown.isprintable():
        shown = "".join(char if char.isprintable() else "\ufffd" for char in shown)
    return shown + "…" if len(text) > limit else shown
