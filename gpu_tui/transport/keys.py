"""Which keys are offered to a server, in ssh's order, and what a refusal says of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from gpu_tui.transport.access import Route
from gpu_tui.transport.base import AuthRejected


@dataclass(frozen=True, slots=True)
class KeyFile:
    """One identity file. `pairs` are its usable private keys (with and without certificate).

    `public` is the public key as bytes, known also where the private one is encrypted or only in the
    agent; `trouble` says why it cannot be used, in a word or two.
    """

    path: str
    pairs: tuple[asyncssh.SSHKeyPair, ...] = ()
    public: bytes | None = None
    trouble: str | None = None


class KeyRing:
    """Loads each key file once: an RSA key costs 100 ms of checking each time."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int, int, tuple[str, ...]], KeyFile] = {}

    def load(self, route: Route) -> tuple[KeyFile, ...]:
        """The key files of a route. Blocks: call it off the loop."""
        return tuple(self._load(path, route.certificates) for path in route.identities)

    def _load(self, path: str, certificates: tuple[str, ...]) -> KeyFile:
        try:
            stat = Path(path).stat()
        except OSError:
            return KeyFile(path, trouble="gone")
        key = (path, stat.st_mtime_ns, stat.st_size, certificates)
        if key not in self._kept:
            self._kept[key] = read_key_file(path, certificates)
        return self._kept[key]


def read_key_file(path: str, certificates: tuple[str, ...] = ()) -> KeyFile:
    """Read one file, whatever is in it."""
    public = _public(path)
    try:
        pairs = tuple(asyncssh.load_keypairs([path], None, list(certificates)))
    except asyncssh.KeyImportError as error:
        if "assphrase" in str(error):
            return KeyFile(path, public=public, trouble="encrypted")
        if public is not None:  # a public key as IdentityFile names a key of the agent
            return KeyFile(path, public=public)
        return KeyFile(path, trouble="not a key that can be read")
    except (OSError, ValueError) as error:
        return KeyFile(path, public=public, trouble=str(error))
    plain = next((pair.key_public_data for pair in pairs), public)
    return KeyFile(path, pairs, plain)


def _public(path: str) -> bytes | None:
    for name in (path, f"{path}.pub"):
        try:
            return asyncssh.read_public_key(name).public_data
        except (OSError, ValueError):
            continue
    return None


class Offer:
    """Hands out the keys one after another and remembers them, for the sentence if all are refused.

    As ssh: keys of the agent that a file names, then the agent's other keys (unless IdentitiesOnly),
    then the files that the agent does not hold.
    """

    def __init__(self, route: Route, files: tuple[KeyFile, ...]) -> None:
        self._route = route
        self._files = files
        self._agent: asyncssh.SSHAgentClient | None = None
        self._keys: AsyncIterator[asyncssh.SSHKeyPair] | None = None
        self._held: set[bytes] = set()
        self.tried: list[str] = []

    async def next(self) -> asyncssh.SSHKeyPair | None:
        """The next key to try, or None."""
        if self._keys is None:
            self._keys = self._all()
        return await anext(self._keys, None)

    async def _all(self) -> AsyncIterator[asyncssh.SSHKeyPair]:
        held = await self._agent_keys()
        named = [file.public for file in self._files if file.public]
        self._held = {pair.key_public_data for pair in held}
        wanted = [pair for pair in held if pair.key_public_data in named]
        others = [pair for pair in held if pair.key_public_data not in named]
        for pair in wanted if self._route.identities_only else [*wanted, *others]:
            self.tried.append(f"{_comment(pair)} of the agent")
            yield pair
        for file in self._files:
            if file.public in self._held:
                continue
            if file.pairs:
                self.tried.append(file.path)
            for pair in file.pairs:
                yield pair

    async def _agent_keys(self) -> list[asyncssh.SSHKeyPair]:
        if self._route.agent is None:
            return []
        try:
            self._agent = await asyncssh.connect_agent(self._route.agent)
            return list(await self._agent.get_keys())
        except (OSError, ValueError, asyncssh.Error):
            return []  # an agent that is gone holds no keys

    async def close(self) -> None:
        """Let go of the agent."""
        if self._agent is not None:
            self._agent.close()
            await self._agent.wait_closed()

    def refusal(self, said: str) -> AuthRejected:
        """No key was accepted: which were tried, which could not be, and what to do."""
        route = self._route
        locked = [
            file.path
            for file in self._files
            if file.trouble == "encrypted" and file.public not in self._held
        ]
        parts = [f"tried {', '.join(dict.fromkeys(self.tried)) or 'no key'}"]
        parts += [f"{path} is encrypted and not in the agent" for path in locked]
        parts += [
            f"{file.path} is {file.trouble}"
            for file in self._files
            if file.trouble not in (None, "encrypted")
        ]
        text = f"{route.user}@{route.host} accepts none of our keys ({'; '.join(parts)})"
        if "oo many" in said:
            return AuthRejected(
                f"{route.user}@{route.host} hung up after too many keys ({'; '.join(parts)})",
                next="name the right one: IdentityFile and `IdentitiesOnly yes` in the ssh config",
            )
        if locked:
            return AuthRejected(text, next=f"ssh-add {locked[0]}")
        return AuthRejected(
            text,
            next="register your public key at the provider, or name the key in ssh.identity; "
            f"by hand: {route.command}",
        )


def _comment(pair: asyncssh.SSHKeyPair) -> str:
    comment = pair.get_comment_bytes() or b"a key"
    return comment[:80].decode("utf-8", "replace")


async def load(ring: KeyRing, route: Route) -> Offer:
    """The keys for one login."""
    return Offer(route, await asyncio.to_thread(ring.load, route))
