"""What every way out must offer, and how it says that a message did not arrive."""

from __future__ import annotations

from typing import Protocol

from gpu_tui.alerts.message import Message


class Undelivered(Exception):
    """It did not arrive. `retry` = a later attempt may; `after` = seconds that the receiver asked to wait."""

    def __init__(self, text: str, *, retry: bool = True, after: float | None = None) -> None:
        super().__init__(text)
        self.retry = retry
        self.after = after


class Unusable(Undelivered):
    """No message can arrive from here until a person changes something; `next` says what.

    The message stays due: another gpu-tui of this user may have what this one lacks.
    """

    def __init__(self, text: str, *, next: str = "") -> None:
        super().__init__(text, retry=False)
        self.next = next


class Channel(Protocol):
    """One way out. `name` is its name in the outbox and to people."""

    name: str

    def ready(self) -> None:
        """Raise Unusable where that is known without sending anything. May look at files."""
        ...

    async def send(self, message: Message) -> None:
        """Deliver it within the channel's own time limit; Undelivered where that fails."""
        ...


class Unready:
    """A configured channel that cannot be made from these settings and this environment."""

    def __init__(self, name: str, why: str, next: str) -> None:
        self.name = name
        self._why = why
        self._next = next

    def ready(self) -> None:
        """Raise why."""
        raise Unusable(self._why, next=self._next)

    async def send(self, message: Message) -> None:
        """Raise why."""
        self.ready()
