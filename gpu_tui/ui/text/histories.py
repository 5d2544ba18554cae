"""What the histories of a box are called, in which order they matter, and how their values are written."""

from __future__ import annotations

from collections.abc import Callable

from gpu_tui.core import units
from gpu_tui.core.speech import say

SHARES = {"gpu": "GPU utilisation", "gpu_memory": "GPU memory", "memory": "memory of its limit"}
ORDER = (*SHARES, "loss", "bytes", "inodes")  # what is looked at most comes first
UNITS: dict[str, Callable[[float], str]] = {"bytes": units.size, "inodes": units.count}


def place(name: str) -> tuple[int, str]:
    """Where a history comes among the others."""
    kind = name.partition(":")[0]
    return (ORDER.index(kind) if kind in ORDER else len(ORDER)), name


def unit(name: str) -> Callable[[float], str]:
    """How the values of a history are written."""
    if name in SHARES:
        return units.percent
    return UNITS.get(name.partition(":")[0], units.number)


def title(name: str) -> str:
    """A history in words: `bytes:/data` is what is used of /data."""
    kind, _, of = name.partition(":")
    words = {
        "loss": say("loss of {of}", of=of),
        "bytes": say("bytes used on {of}", of=of),
        "inodes": say("inodes used on {of}", of=of),
    }
    return say(SHARES.get(name, "")) or words.get(kind, name)
