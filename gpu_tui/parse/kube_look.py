"""The parts of one pod that are judged, and the result of judging some of them."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_tui.core.sweep import CellState
from gpu_tui.parse.kube_containers import Container, Judges
from gpu_tui.parse.kube_object import Object, text


@dataclass(frozen=True, slots=True)
class Seen:
    """A state of a pod by some of its parts. `by` is the container that decided it."""

    state: CellState
    word: str
    why: str | None = None
    finding: str | None = None
    by: Container | None = None
    reason: str | None = None  # the code of why it waits, where that is not its word
    since: float | None = None  # when that wait began


@dataclass(frozen=True, slots=True)
class Look:
    """The parts of one pod, as they were at `now`."""

    meta: Object
    spec: Object
    status: Object
    inits: tuple[Container, ...]
    containers: tuple[Container, ...]
    judges: Judges
    now: float

    @property
    def began(self) -> bool:
        """A container of it has run."""
        return any(one.runs or one.ended or one.restarts for one in self.containers)


def phase_of(status: Object) -> str | None:
    """Pending, Running, Succeeded, Failed or Unknown."""
    return text(status, "phase")
