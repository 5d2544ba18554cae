"""Judges which configured channels cannot deliver alerts, by this program's checks and the shared ledger. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_tui.alerts.channel import Unusable
from gpu_tui.alerts.ledger import ChannelState
from gpu_tui.core.alert_channel import AlertChannel

FAILING = 300.0  # seconds of failed attempts after which a channel counts as unusable
ELSEWHERE = (
    3_600.0  # seconds; if another gpu-tui could use the channel since then, it is only a warning
)
FAILED_NEXT = "Check that its receiver can be reached from here. Then: gpu-tui check --test-alert"


def channels_now(
    wrong: Mapping[str, Unusable | None], states: Mapping[str, ChannelState], now: float
) -> tuple[AlertChannel, ...]:
    """The state of each channel; `wrong` is why this program cannot use it, None if it can."""
    return tuple(_judged(name, why, states[name], now) for name, why in wrong.items())


def _judged(name: str, why: Unusable | None, state: ChannelState, now: float) -> AlertChannel:
    failing = state.error is not None and state.failing is not None
    lasts = failing and (state.refused or abs(now - (state.failing or now)) >= FAILING)
    if why is not None:
        elsewhere = not failing and state.ready is not None and 0 <= now - state.ready < ELSEWHERE
        return AlertChannel(name, str(why), why.next, state.waiting, elsewhere)
    if lasts:
        return AlertChannel(name, state.error, state.next or FAILED_NEXT, state.waiting)
    return AlertChannel(name, waiting=state.waiting)
