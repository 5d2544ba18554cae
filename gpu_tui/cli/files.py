"""Writing what a command made into a file, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def replace_text(path: Path, text: str) -> None:
    """Put `text` into `path` in one step: a reader sees the old file or the new one. OSError if it cannot be."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
