"""The user's ssh agent: it may be gone, hang, or ask a person before it signs, and is not the box."""

from __future__ import annotations

import asyncio

import asyncssh

LIST_SECONDS = 5.0  # for which keys it has; a signature may wait for a touch


class Agent(asyncssh.SSHAgentClient):
    """One connection to it. `trouble`: why it did not say what it holds; `unsigned`: the key that it did
    not sign with when it was asked last.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path
        self.trouble: str | None = None
        self.unsigned: str | None = None
        self._names: dict[bytes, str] = {}

    async def keys(self) -> list[asyncssh.SSHKeyPair]:
        """What it holds; nothing where it is gone or silent."""
        try:
            async with asyncio.timeout(LIST_SECONDS):
                await self.connect()
                held = list(await self.get_keys())
        except TimeoutError:
            self.trouble = "does not answer"
            return []
        except OSError:
            self.trouble = "cannot be reached"
            return []
        except (ValueError, asyncssh.Error):
            self.trouble = "does not say which keys it holds"
            return []
        self._names = {pair.key_public_data: comment(pair) for pair in held}
        return held

    async def sign(self, key_blob: bytes, data: bytes, flags: int = 0) -> bytes:
        """A signature; ValueError, which asyncssh takes for "next key", where the agent gives none."""
        self.unsigned = self._names.get(key_blob, "a key")
        signature = await super().sign(key_blob, data, flags)
        self.unsigned = None
        return signature


def comment(pair: asyncssh.SSHKeyPair) -> str:
    """What a key is called."""
    return (pair.get_comment_bytes() or b"a key")[:80].decode("utf-8", "replace")
