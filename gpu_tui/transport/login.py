"""One login as asyncssh asks for it: host keys are refused, our keys handed out, a person asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import Enum

import asyncssh

from gpu_tui.transport import keys
from gpu_tui.transport.access import Route
from gpu_tui.transport.prompts import Asker


class Stage(Enum):
    """How far a login has come."""

    NAME = "its name is being looked up"
    WAY = "its address, or what leads there, is asked"
    MET = "a server is there"


class Login(asyncssh.SSHClient):
    """Refuses every host key that known_hosts lacks and remembers it; answers what the server asks.

    A method is tried once: where the server comes back to it, the answer was wrong.
    """

    def __init__(
        self, route: Route, offer: keys.Offer, asker: Asker | None = None, hop: str | None = None
    ) -> None:
        self._route = route
        self._offer = offer
        self._asker = asker
        self._hop = hop
        self._subject = f"login {route.user}@{route.where}"
        self._answered: dict[str, str] = {}  # method -> what was asked, in words
        self.stage = Stage.WAY
        self.shown: asyncssh.SSHKey | None = None
        self.lost: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        """Bytes can go there and back."""
        self.stage = Stage.MET

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        """Asked only for a key that is not trusted."""
        self.shown = key
        return False

    def validate_host_ca_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        """Asked only for an authority that is not trusted."""
        return False

    async def public_key_auth_requested(self) -> asyncssh.SSHKeyPair | None:
        """The next key."""
        return await self._offer.next()

    def kbdint_auth_requested(self) -> str | None:
        """Whether to try it: only with somebody to ask."""
        return "" if self._may_try("keyboard-interactive") else None

    async def kbdint_challenge_received(
        self, name: str, instructions: str, lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> list[str] | None:
        """One round of questions; a second factor comes as another round."""
        if not prompts:
            return []
        note = " ".join(part for part in (name, instructions) if part)
        answers = await self._ask("keyboard-interactive", "what the server asks", prompts, note)
        return None if answers is None else list(answers)

    async def password_auth_requested(self) -> str | None:
        """The password."""
        if not self._may_try("password"):
            return None
        answers = await self._ask("password", "the password", [("Password:", False)])
        return answers[0] if answers else None

    def _may_try(self, method: str) -> bool:
        if self._asker is None or not self._asker.can_ask:
            self._offer.ask_nobody()
            return False
        for tried, what in self._answered.items():
            if tried == method:
                self._asker.wrong(self._subject, f"{what} was not answered rightly")
        return method not in self._answered and self._asker.refused is None

    async def _ask(
        self, method: str, title: str, fields: Sequence[tuple[str, bool]], note: str = ""
    ) -> tuple[str, ...] | None:
        assert self._asker is not None
        self._answered[method] = title
        who = f"{self._route.user}@{self._route.host}"
        return await self._asker.ask(self._subject, who, title, fields, hop=self._hop, note=note)

    def auth_completed(self) -> None:
        """We are in."""
        if self._asker is not None and self._answered:
            self._asker.right(self._subject)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        if not self.lost.done():
            self.lost.set_result(exc)
