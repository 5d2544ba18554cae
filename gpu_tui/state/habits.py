"""What a person chose on screen (theme, layout, columns), kept for the next start.

One small file in the state directory. It is a convenience: where it cannot be read or written the choice
lasts as long as the program.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from gpu_tui.new_file import write_new

FILE = "screen.json"
LARGEST_BYTES = 16 * 1024
LONGEST = 400  # characters of one choice


class Habits:
    """Choices by name; `path` None keeps them in memory alone."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._kept = _read(path)

    def get(self, name: str) -> str | None:
        """What was chosen; None where nothing was."""
        return self._kept.get(name)

    def keep(self, name: str, value: str) -> None:
        """From now on, and at the next start."""
        if self._kept.get(name) == value:
            return
        # Another cockpit may have kept something meanwhile.
        self._kept = {**self._kept, **_read(self._path), name: value[:LONGEST]}
        if self._path is not None:
            with suppress(OSError):
                write_new(self._path, json.dumps(self._kept, indent=1) + "\n", replace=True)


def _read(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        with path.open("rb") as file:
            raw = json.loads(file.read(LARGEST_BYTES))
    except (OSError, ValueError):
        return {}
    pairs = raw.items() if isinstance(raw, dict) else ()
    return {name: value for name, value in pairs if isinstance(value, str)}
