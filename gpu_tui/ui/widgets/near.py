"""Lines of a long list, painted only near the cursor and only where what they show has changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text

AROUND = 150  # lines above and below the cursor: a list may hold thousands, a screen does not
UNPAINTED = Text(end="")


class NearCursor:
    """Keeps the painted lines of one list by their keys."""

    def __init__(self) -> None:
        self._painted: dict[str, tuple[object, Text]] = {}

    def lines(
        self,
        keys: Sequence[str],
        cursor: str | None,
        seen: Callable[[int], object],
        paint: Callable[[int], Text],
    ) -> list[Text]:
        """One line for each key. `seen(n)` is all that line n is made of, `paint(n)` makes it."""
        near = keys.index(cursor) if cursor in keys else 0
        lines = [UNPAINTED] * len(keys)
        painted: dict[str, tuple[object, Text]] = {}
        for n in range(max(0, near - AROUND), min(len(keys), near + AROUND + 1)):
            now, old = seen(n), self._painted.get(keys[n])
            text = old[1] if old is not None and old[0] == now else paint(n)
            painted[keys[n]] = (now, text)
            lines[n] = text
        self._painted = painted
        return lines

    def at_edge(self, cursor: str, total: int) -> bool:
        """Whether the cursor has come so far that lines in sight may not be painted."""
        keys = list(self._painted)
        if total <= len(keys):
            return False
        return cursor not in self._painted or abs(keys.index(cursor) - len(keys) // 2) > AROUND // 2
