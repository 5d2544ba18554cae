"""Earlier filters, one key away: kept for the next start in one small file of the user's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from textual.app import App

from gpu_tui.new_file import write_new

FILE = "filters.json"
MOST = 100  # earlier filters that are kept
LONGEST = 300  # characters of one
LARGEST_BYTES = 256 * 1024  # that are read back


class Recall:
    """The newest last, each once; `path` None keeps them in memory alone."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._kept = _read(path)

    @property
    def kept(self) -> Sequence[str]:
        """All of them, the newest last."""
        return tuple(self._kept)

    def add(self, text: str) -> bool:
        """Keep one more; True where that is news, and worth a `save`."""
        text = text.strip()
        if not text or len(text) > LONGEST or self._kept[-1:] == [text]:
            return False
        self._kept = [*(one for one in self._kept if one != text), text][-MOST:]
        return True

    def save(self) -> None:
        """Write them, whole or not at all. Blocks; a convenience: what cannot be written lasts as long as we do."""
        if self._path is not None:
            with suppress(OSError):
                write_new(self._path, json.dumps(self._kept, ensure_ascii=False), replace=True)


class Walk:
    """One person's way through what is kept, from the newest back, and forth again to what stood there."""

    def __init__(self, recall: Recall, draft: str) -> None:
        self._texts = [*recall.kept, draft]
        self._at = len(self._texts) - 1

    def step(self, by: int) -> str:
        """The one before (-1) or after (1); the ends hold."""
        self._at = max(0, min(len(self._texts) - 1, self._at + by))
        return self._texts[self._at]


def _read(path: Path | None) -> list[str]:
    if path is None:
        return []
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(LARGEST_BYTES))
    except (OSError, ValueError):
        return []
    texts = found if isinstance(found, list) else []
    return [text for text in texts if isinstance(text, str) and 0 < len(text) <= LONGEST][-MOST:]


def recall_of(app: App[Any]) -> Recall:
    """The app's; one that has none forgets at once."""
    found = getattr(app, "recall", None)
    return found if isinstance(found, Recall) else Recall()
