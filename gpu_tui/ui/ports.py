"""What the screen needs of the store. Reading it never blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gpu_tui.core.logs import LogSource
from gpu_tui.state.bookmarks import Bookmark
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.state.news import Bulletin
from gpu_tui.state.views import FleetView


class FleetStore(Protocol):
    """The only thing that panes are painted from."""

    def view(self, now: float) -> FleetView:
        """Everything known at `now` (epoch seconds)."""
        ...

    def log(self, instance: str, source: LogSource) -> LogBuffer | None:
        """The kept lines of one followed log; None where nothing follows it."""
        ...

    def bookmarks(self, instance: str, source: LogSource) -> Sequence[Bookmark]:
        """The bookmarks of one log, also of earlier starts."""
        ...

    def keep_bookmarks(self, instance: str, source: LogSource, marks: Sequence[Bookmark]) -> None:
        """Keep these bookmarks of one log."""
        ...

    def drain(self) -> frozenset[str]:
        """Names of what changed since the last drain; "" stands for the fleet as a whole."""
        ...

    def acknowledge(self, finding_id: str) -> None:
        """Hide one finding until it is another one."""
        ...

    def meet(self, platform: str) -> None:
        """What is good to know on this platform was read: never show it unasked again."""
        ...


class Shells(Protocol):
    """Ways into boxes by the user's own ssh, and into pods by their own kubectl."""

    def command(self, instance: str, cell: str | None = None) -> Sequence[str] | None:
        """The program and its arguments, of a cluster for the pod of `cell`; None where no shell leads there."""
        ...


class NewsPort(Protocol):
    """What the screen should say at once. Each bulletin is handed out once."""

    def take(self, view: FleetView) -> Sequence[Bulletin]:
        """What came since the last call."""
        ...
