"""Everything that happens to the fleet, in the past tense. Collect emits them; the store applies them.

Each event is frozen and whole, names its instance, and carries this machine's epoch time in `at`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_tui.core.account import Account
from gpu_tui.core.alert_channel import AlertChannel
from gpu_tui.core.ending import OpenEnd, OwnEnd
from gpu_tui.core.fleet import LinkState, ProviderState
from gpu_tui.core.log_block import LogBlock
from gpu_tui.core.logs import LogLine, LogSource
from gpu_tui.core.sample import Absent, Failure, Reading


@dataclass(frozen=True, slots=True)
class LinkChanged:
    """The connection of one box went into another state."""

    instance: str
    at: float
    link: LinkState


@dataclass(frozen=True, slots=True)
class Sampled:
    """One probe answered, or failed to. `metric` is a name of core.metrics."""

    instance: str
    at: float
    metric: str
    sample: Reading[object] | Absent | Failure


@dataclass(frozen=True, slots=True)
class LogOpened:
    """A tail starts. `resumed` is false where the file was not read from where we left it
    (first contact, rotation, truncation); `offset` is where its bytes start, `skipped` how many
    bytes before it were never read, `size` the bytes that it has now (None: not known). `next_attempt`: the same program
    was started again, and the lines above are an earlier attempt's. `title` names the writer: a pod and its
    container.
    """

    instance: str
    at: float
    source: LogSource
    inode: int
    offset: int
    skipped: int
    resumed: bool
    next_attempt: bool = False
    title: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class LogArrived:
    """Lines of one chunk, in order. The last one may be `open`: the next batch replaces it.

    `backfill` is true for what was in the file before we came: history, not news. `upto` is the byte of
    the file where the last line begins if it is open, else where the next one will; None: not known.
    Of a backfill: `written_at` is when its file was written last, in epoch seconds by the box's clock, and `stamps` are the
    epoch seconds of each finished line by the clock of the machine that wrote it; None and empty: not known.
    """

    instance: str
    at: float
    source: LogSource
    lines: Sequence[LogLine]
    backfill: bool = False
    upto: int | None = None
    written_at: float | None = None
    stamps: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class LogCame:
    """Whole lines of one chunk as they came, not yet judged, so that they can be shown at once.

    A LogArrived of the same lines follows in the same turn of the loop, and says what they mean.
    Who waits for that needs not hear this.
    """

    instance: str
    at: float
    source: LogSource
    lines: LogBlock
    upto: int | None = None


@dataclass(frozen=True, slots=True)
class LogFailed:
    """A log cannot be followed now (`why` in a person's words); it is retried."""

    instance: str
    at: float
    source: LogSource
    why: str


@dataclass(frozen=True, slots=True)
class ProviderRead:
    """The control API answered, or failed to: then `state.error` says why and the rest is the old one."""

    instance: str
    at: float
    state: ProviderState


@dataclass(frozen=True, slots=True)
class AccountRead:
    """A provider listed an account, or failed to: then `account.error` says why."""

    at: float
    account: Account


@dataclass(frozen=True, slots=True)
class TeardownEnd:
    """The journal holds a teardown without a proven end, or (`end` None) none any more; `own` is the last
    destruction that is over.
    """

    instance: str
    at: float
    end: OpenEnd | None
    own: OwnEnd | None = None


@dataclass(frozen=True, slots=True)
class ChannelsSeen:
    """The state of the user's alert channels. It belongs to this machine, so that recordings leave it out."""

    at: float
    channels: tuple[AlertChannel, ...]


@dataclass(frozen=True, slots=True)
class Noted:
    """Something about gpu-tui itself that a person should read once (a reloaded fleet file, a bug)."""

    instance: str | None
    at: float
    text: str


Event = (
    LinkChanged
    | Sampled
    | LogOpened
    | LogCame
    | LogArrived
    | LogFailed
    | ProviderRead
    | AccountRead
    | TeardownEnd
    | ChannelsSeen
    | Noted
)
