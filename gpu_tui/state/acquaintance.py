"""Which platforms' conveniences and traps somebody has read. Kept in the history, for all that come after."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_tui.state.history import History
from gpu_tui.state.views import InstanceView

OWNER = ""  # of no instance


class Acquaintance:
    """Remembers. Without a history (a replay, a test) nobody is introduced to anything."""

    def __init__(self, history: History | None) -> None:
        self._history = history
        self._met: dict[str, bool] = {}

    def unmet(self, views: Iterable[InstanceView]) -> frozenset[str]:
        """The platforms that were reached and have something to say that nobody has read yet."""
        return frozenset(
            view.instance.platform
            for view in views
            if view.profile is not None
            and (view.link.live or view.provider.read_at is not None)
            and (view.profile.conveniences or view.profile.gotchas)
            and not self._is_met(view.instance.platform)
        )

    def meet(self, platform: str) -> None:
        """It was read."""
        self._met[platform] = True
        if self._history is not None:
            self._history.set_counter(OWNER, f"met:{platform}", "yes", 0.0)

    def _is_met(self, platform: str) -> bool:
        if self._history is None:
            return True
        if platform not in self._met:
            self._met[platform] = self._history.counter(OWNER, f"met:{platform}") is not None
        return self._met[platform]
