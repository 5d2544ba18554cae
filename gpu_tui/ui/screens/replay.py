"""The cockpit on a recording: the same panes, and the keys of a player."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.binding import BindingType

from gpu_tui.core.ports import Playback
from gpu_tui.core.profile import Profile
from gpu_tui.ui.keys import bindings
from gpu_tui.ui.ports import FleetStore
from gpu_tui.ui.screens.cockpit import Cockpit


class ReplayCockpit(Cockpit):
    """Shows a recording. Nothing in it can act: there is no box behind it."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("replay")]
    CONTEXTS: ClassVar[tuple[str, ...]] = ("replay", "cockpit")

    def __init__(
        self,
        store: FleetStore,
        profiles: Mapping[str, Profile],
        *,
        playback: Playback,
        keymap: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(store, None, profiles, keymap=keymap)
        self._playback = playback

    def badges(self) -> Sequence[str]:
        """Where the tape is."""
        return (self._playback.badge(),)

    def action_play(self) -> None:
        """Pause, or go on."""
        self._playback.play()

    def action_speed(self, by: str) -> None:
        """Another speed."""
        self._playback.faster(int(by))

    def action_skip(self, seconds: str) -> None:
        """Forward or back."""
        self._playback.skip(float(seconds))

    def action_next_finding(self) -> None:
        """On to a new finding."""
        self._playback.next_finding()
