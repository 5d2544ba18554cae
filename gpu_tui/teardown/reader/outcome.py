"""What reading one file came to: four ways not to have read it, and what was seen otherwise."""

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


class Incomplete(Exception):
    """Part of a set of which another part is not here. The text names that part."""


@dataclass(slots=True)
class Seen:
    """A file that was read whole. `nonfinite`: the share of its values that are NaN or infinite. `blank`: all its
    weights are `nan` or `zero`, and the file has the form of weights. `ranks`: how many parts its set has, as it says
    itself. `points_to`: the step that it names.
    """

    detail: str = ""
    warnings: list[str] = field(default_factory=list)
    nonfinite: float | None = None
    tensors: int = 0
    bytes: int = 0
    blank: str | None = None
    ranks: dict[str, int] = field(default_factory=dict)
    points_to: str | None = None

    def no_weights(self) -> None:
        """It reads well, and never stands for weights."""
        self.nonfinite = self.blank = None
        self.warnings.append(NO_WEIGHTS)
