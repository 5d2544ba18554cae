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
    """This program cannot use the channel until a person changes something; `next` says what to change.

    The message stays due, because another gpu-tui of this user may be able to send it.
    """

    def __init__(self, text: str, *, next: str = "") -> None:
        super().__init__(text, retry=False)
        self.next = next


class Channel(Protocol):
    """One way out. `name` is its name in the outbox and to people."""

    name: str

    def ready(self) -> None:
        """Raise Unusable if it is known without sending that the channel cannot be used. May read files."""
        ...

    async def send(self, message: Message) -> None:
        """Deliver it within the channel's own time limit; Undelivered where that fails."""
        ...


class Unready:
    """A configured channel that cannot be built from these settings and this environment."""

    def __init__(self, name: str, why: str, next: str) -> None:
        self.name = name
        self._why = why
        self._next = next

    def ready(self) -> None:
        """Raise Unusable with the reason."""
        raise Unusable(self._why, next=self._next)

    async def send(self, message: Message) -> None:
        """Raise Unusable with the reason."""
        self.ready()
