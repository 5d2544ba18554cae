"""What reading one file came to: three ways not to have read it, and what was seen otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gpu_tui.core.manifest import NO_WEIGHTS

INSTALL = "pip install 'gpu-tui[verify]'"
NAMES_MOST = 20  # of what a file needs; more are nobody's to allow
WARNINGS_MOST = 8


class Refused(Exception):
    """Readable perhaps, but not by anything that is allowed here. `needs`: dotted names it asks for."""

    def __init__(self, text: str, needs: Iterable[str] = ()) -> None:
        super().__init__(text)
        self.needs = tuple(sorted(set(needs)))


class Skipped(Exception):
    """The reader is not installed, or there is none for this format: its hash is all that is known."""


class Failed(Exception):
    """Not what it should be."""


@dataclass(slots=True)
class Seen:
    """A file that was read whole. `nonfinite`: the share of its weights that are NaN or infinite."""

    detail: str = ""
    warnings: list[str] = field(default_factory=list)
    nonfinite: float | None = None
    tensors: int = 0
    bytes: int = 0

    def no_weights(self) -> None:
        """It reads well, and never stands for weights."""
        self.nonfinite = None
        self.warnings.append(NO_WEIGHTS)
