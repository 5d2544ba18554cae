"""What the rules over a whole fleet look at: every member's queue and state, and what the accounts say. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpu_tui.core.account import Account, Listed
from gpu_tui.core.alert_channel import AlertChannel
from gpu_tui.core.ending import OpenEnd, OwnEnd
from gpu_tui.core.fleet import Instance, ProviderState
from gpu_tui.core.sweep import Queue, Roster
from gpu_tui.core.thresholds import THRESHOLDS, Threshold


@dataclass(frozen=True, slots=True)
class Member:
    """What the fleet's rules look at of one instance. `roster` is None where no queue file was read."""

    instance: Instance
    queue: Queue
    roster: Roster | None
    provider: ProviderState
    live: bool
    box: tuple[str, ...] | None = None  # host key, boot id, PID 1's start and namespace, all fresh
    own_end: OwnEnd | None = None  # of the last teardown that is over


@dataclass(frozen=True, slots=True)
class FleetNow:
    """All members in fleet-file order, and all accounts that were asked."""

    now: float
    members: tuple[Member, ...]
    accounts: tuple[Account, ...] = ()
    unlisted: tuple[Listed, ...] = ()  # the accounts hold them, the fleet file does not
    platforms: Mapping[str, str] = field(default_factory=dict)  # platform id -> its name
    thresholds: tuple[Threshold, ...] = THRESHOLDS  # at which the end of the money is told
    ends: tuple[OpenEnd, ...] = ()  # of teardowns, whose instances the fleet file does not name
    channels: tuple[AlertChannel, ...] = ()  # alert channels, if this program checks them
