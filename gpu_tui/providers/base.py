"""What every control API must answer, and the small tree of errors that leaves this room.

An answer is never proof: whether the meter stopped is what the next `read` says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from gpu_tui.core.account import Account, Stored
from gpu_tui.core.clock import Clock
from gpu_tui.core.command import RunCommand
from gpu_tui.core.fleet import ProviderState
from gpu_tui.core.profile import Verb

if TYPE_CHECKING:
    from gpu_tui.core.gate import StopPermit


class ProviderError(Exception):
    """The control API gave nothing usable. `next` is what the user can do."""

    def __init__(self, text: str, *, next: str | None = None) -> None:
        super().__init__(text)
        self.next = next


class KeyRefused(ProviderError):
    """No key, or one that the API does not take."""


class TooManyRequests(ProviderError):
    """The API asks to slow down. `after` is how many seconds it named, if it named any."""

    def __init__(self, text: str, *, after: float | None = None) -> None:
        super().__init__(text)
        self.after = after


class BadAnswer(ProviderError):
    """Not the shape that was agreed: never guessed at."""


class Refused(BadAnswer):
    """The API understood, and says no."""


class NoAnswer(ProviderError):
    """Nothing came in time, or the connection broke."""


NOT_KNOWN = "nobody knows whether it was done, and nothing is sent again by itself"


class AnswerKind(StrEnum):
    """What came of one destructive call. `unknown`: it may or may not have had its effect."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    STEPS = "steps"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one call. `lines` are the steps where a person must act."""

    kind: AnswerKind
    text: str
    status: int | None = None
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Means:
    """What a control plane may use: the environment (for keys), a clock, programs of the box and of here.

    `sleep` is how it waits between two questions, in seconds.
    """

    env: Mapping[str, str]
    clock: Clock
    on_box: RunCommand | None = None
    here: RunCommand | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class AccountReader(Protocol):
    """Lists one account at a provider. `key` tells it from others, `serves` are its instances' names."""

    key: str
    serves: tuple[str, ...]

    async def read(self) -> Account:
        """What the account holds now. Never raises: trouble is an Account with its `error`."""
        ...


class Provider(Protocol):
    """One platform's control plane for one instance.

    `reads` is false where nothing but a person can tell what state the instance is in.
    """

    reads: bool

    def offers(self, verb: Verb) -> bool:
        """True where `stop` carries this verb out; false where it only names the steps."""
        ...

    def remember(self, id: str) -> None:
        """This id was seen by an earlier run: from now on "not found" means gone."""
        ...

    async def read(self, id: str) -> ProviderState:
        """What the API says now. Never raises: trouble is a state `unknown` with its `error`."""
        ...

    async def stop(self, permit: StopPermit) -> Answer:
        """Redeem the permit, send its one call, once, and say what was answered."""
        ...


@runtime_checkable
class WorksElsewhere(Protocol):
    """A control plane whose work is not on the machine that was looked at: a cluster's, behind a jump host."""

    async def at_work(self, id: str) -> tuple[str, ...] | None:
        """What of it has not ended, named for a person; None where that cannot be told."""
        ...


@runtime_checkable
class SeenFromInside(Protocol):
    """A box that nobody but itself can be asked about: what runs on it tells that it is there."""

    async def look_inside(self) -> ProviderState:
        """Running where the box answers as one of its platform. Silence is unknown: it proves nothing."""
        ...


@runtime_checkable
class OfAccount(Protocol):
    """A control plane that is asked with a key: with another one, the same id is found nowhere."""

    def account(self) -> str | None:
        """A word that stays the same as long as key and address do; None without a key.

        It is short and of this instance alone: the key cannot be found with it.
        """
        ...


@runtime_checkable
class HoldsMore(Protocol):
    """A control plane that lists what hangs on an instance beside it."""

    async def beside(self, id: str) -> tuple[Stored, ...]:
        """What this instance uses, and what nobody says who uses it. Raises ProviderError."""
        ...


async def state_of(provider: Provider, id: str | None) -> ProviderState:
    """What the provider says now, or the box of itself; unknown where only a person can look."""
    if isinstance(provider, SeenFromInside):
        return await provider.look_inside()
    if id is None or not provider.reads:
        return ProviderState()
    return await provider.read(id)
