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


class Channel(Protocol):
    """One way out. `name` is its name in the outbox and to people."""

    name: str

    async def send(self, message: Message) -> None:
        """Deliver it within the channel's own time limit; Undelivered where that fails."""
        ...
