"""A moment as JSON may say it -> epoch seconds. Without a zone it names no moment."""

from __future__ import annotations

import re
from datetime import datetime

from gpu_tui.core.clock import LATEST

_FINE = re.compile(r"(\.[0-9]{6})[0-9]+")


def epoch_of(value: object) -> float | None:
    """Epoch seconds from a number, or from RFC 3339 with a zone; None for everything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if 0 <= value < LATEST else None
    if not isinstance(value, str) or len(value) > 64:
        return None
    try:
        moment = datetime.fromisoformat(_FINE.sub(r"\1", value))
    except ValueError:
        return None
    if moment.tzinfo is None or moment.year <= 1970:
        return None
    return at if (at := moment.timestamp()) < LATEST else None
