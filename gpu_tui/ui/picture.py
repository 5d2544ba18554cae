"""The cockpit drawn once without a terminal, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.logs import LogSource
from gpu_tui.core.profile import Profile
from gpu_tui.report.svg import plain_svg
from gpu_tui.state.bookmarks import Bookmark
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.state.views import FleetView
from gpu_tui.ui.app import CockpitApp
from gpu_tui.ui.theme import CockpitTheme


class OneView:
    """A store that shows one view of the fleet and no logs."""

    def __init__(self, view: FleetView) -> None:
        self._view = view

    def view(self, now: float) -> FleetView:
        """The view as it was taken, whatever the time is."""
        return self._view

    def log(self, instance: str, source: LogSource) -> LogBuffer | None:
        """No log: nothing of one leaves with a picture."""
        return None

    def bookmarks(self, instance: str, source: LogSource) -> Sequence[Bookmark]:
        """No bookmarks."""
        return ()

    def keep_bookmarks(self, instance: str, source: LogSource, marks: Sequence[Bookmark]) -> None:
        """Does nothing: no one presses a key here."""

    def drain(self) -> frozenset[str]:
        """Nothing changes."""
        return frozenset()

    def acknowledge(self, finding_id: str) -> None:
        """Does nothing."""

    def meet(self, platform: str) -> None:
        """Does nothing."""


async def draw_cockpit(
    view: FleetView,
    profiles: Mapping[str, Profile],
    themes: Sequence[CockpitTheme],
    size: tuple[int, int] = (160, 40),
) -> str:
    """The cockpit that shows this view without its logs, as SVG. `size` is in columns and rows."""
    app = CockpitApp(
        OneView(view), ManualClock(view.taken_at), control=None, teardown=None,
        profiles=profiles, themes=themes, theme="night", zone=UTC, read_only=True,
    )  # fmt: skip
    async with app.run_test(size=size) as pilot:
        # The log's pane would be empty: it gives its room to the others.
        app.screen.query_one("#log").display = False
        body = app.screen.query_one("#body").styles
        body.grid_size_rows, body.grid_rows = 2, "2fr 3fr"
        await pilot.pause()
        return plain_svg(app.export_screenshot(title="gpu-tui"))
