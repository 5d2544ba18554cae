"""Which keys are offered to a server, in ssh's order, and what a refusal says of them."""

from __future__ import annotations

import asyncio
import base64
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from copy import copy
from functools import partial

import asyncssh

from gpu_tui.transport import patience
from gpu_tui.transport.access import Route
from gpu_tui.transport.agent import Agent, comment
from gpu_tui.transport.base import AuthRejected, State
from gpu_tui.transport.key_file import KeyFile, algorithm, read_certificate, read_key_file
from gpu_tui.transport.pattern import accepts
from gpu_tui.transport.prompts import Asker
from gpu_tui.transport.read_files import state as _state


class KeyRing:
    """Loads each key file once: an RSA key costs 100 ms of checking each time. A certificate that is renewed
    beside it is read.

    A key that a passphrase opened stays open, for all boxes that use it; the passphrase is forgotten.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[list[State | None], KeyFile]] = {}
        self._opened: dict[str, tuple[State | None, KeyFile]] = {}
        self._opening: dict[str, asyncio.Task[KeyFile | None]] = {}

    def load(self, route: Route) -> tuple[KeyFile, ...]:
        """The key files of a route. Blocks: call it off the loop."""
        return tuple(map(self._load, route.identities))

    def _load(self, path: str) -> KeyFile:
        states = [_state(name) for name in (path, f"{path}.pub", f"{path}-cert.pub")]
        if states[:2] == [None, None]:
            return KeyFile(path, trouble="gone")
        kept = self._kept.get(path)
        if kept is None or kept[0] != states:
            kept = states, read_key_file(path)
            self._kept[path] = kept
        return kept[1]

    async def unlock(self, file: KeyFile, route: Route, asker: Asker) -> KeyFile | None:
        """The file with its private key, once the person has given the passphrase; None if not.

        All logins that need the key wait for one question; it stays open if one of them gives up.
        """
        path = file.path
        state, opened = self._opened.get(path, (None, None))
        if opened is not None and state == await asyncio.to_thread(_state, path):
            return opened
        task = self._opening.get(path)
        if task is None:
            task = asyncio.create_task(self._open(path, route, asker))
            self._opening[path] = task
            task.add_done_callback(lambda _: self._opening.pop(path, None))
        with patience.person_types(asker.limits):
            opened = await asyncio.shield(task)
        if opened is None and asker.refused is None:
            asker.refused = f"the passphrase of the key {path} was not given"
        return opened

    async def _open(self, path: str, route: Route, asker: Asker) -> KeyFile | None:
        subject = f"key {path}"
        title = f"the passphrase of the key {path}"
        who = f"{route.user}@{route.host}"
        answers = await asker.ask(subject, who, title, [("Passphrase:", False)])
        if answers is None:
            return None
        state = await asyncio.to_thread(_state, path)
        opened = await asyncio.to_thread(read_key_file, path, answers[0])
        if not opened.pairs:
            asker.wrong(subject, f"{title} was wrong")
            return None
        asker.right(subject)
        self._opened[path] = state, opened
        if kept := self._kept.get(path):
            self._kept[path] = kept[0], opened
        return opened

    async def close(self) -> None:
        """Take away the questions that are open."""
        for task in (tasks := list(self._opening.values())):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class LockedPair(asyncssh.SSHKeyPair):
    """The public half of an encrypted key. As in ssh, its passphrase is asked for only when the server
    has said that it would take this key.
    """

    def __init__(
        self, public: asyncssh.SSHKey, unlock: Callable[[], Awaitable[KeyFile | None]]
    ) -> None:
        super().__init__(
            public.algorithm, public.algorithm, public.sig_algorithms, public.sig_algorithms,
            public.public_data, None,
        )  # fmt: skip
        self._unlock = unlock

    async def sign_async(self, data: bytes) -> bytes:
        """Open the key and sign; ValueError, which asyncssh takes for "next key", where it stays shut."""
        opened = await self._unlock()
        if opened is None or not opened.pairs:
            raise ValueError("the key stays shut")
        pair = copy(opened.pairs[0])  # shared with other logins; a certificate changes no signature
        pair.sig_algorithm = self.sig_algorithm
        return await asyncio.to_thread(pair.sign, data)


class Offer:
    """Hands out the keys one after another and remembers them, for the sentence if all are refused.

    As ssh: certificates that CertificateFile names, keys of the agent that a file names, then the agent's other keys
    (unless IdentitiesOnly), then the files that the agent does not hold and the certificates next to them.
    """

    def __init__(
        self,
        route: Route,
        files: tuple[KeyFile, ...],
        certificates: tuple[asyncssh.SSHCertificate, ...],
        ring: KeyRing,
        asker: Asker | None,
    ) -> None:
        self._route = route
        self._files = files
        self._certificates = certificates
        self._ring = ring
        self._asker = asker
        self._agent = Agent(route.agent) if route.agent else None
        self._keys: AsyncIterator[asyncssh.SSHKeyPair] | None = None
        self._held: dict[bytes, asyncssh.SSHKeyPair] = {}
        self.tried: list[str] = []
        self._over = False  # every key was refused
        self._unasked = False  # nobody was there to give what the server asks

    async def next(self) -> asyncssh.SSHKeyPair | None:
        """The next key to try, or None."""
        if self._keys is None:
            self._keys = self._all()
        async for pair in self._keys:
            if _is_short(pair, self._route.rsa_bits):
                continue
            if (narrowed := _narrowed(pair, self._route.accepted)) is not None:
                return narrowed
        self._over = True
        return None

    def ask_nobody(self) -> None:
        """The server wants an answer, and there is nobody to ask."""
        self._unasked = True

    async def _all(self) -> AsyncIterator[asyncssh.SSHKeyPair]:
        held = await self._agent.keys() if self._agent else []
        named = [file.public for file in self._files if file.public]
        named += [file.certificate.public_data for file in self._files if file.certificate]
        self._held = {pair.key_public_data: pair for pair in held}
        for certificate in self._certificates:
            yield self._certified(certificate)
        wanted = [pair for pair in held if pair.key_public_data in named]
        others = [pair for pair in held if pair.key_public_data not in named]
        for pair in wanted if self._route.identities_only else [*wanted, *others]:
            self.tried.append(f"{comment(pair)} of the agent")
            yield pair
        for file in self._files:
            if file.public not in self._held:
                for pair in await self._pairs(file):
                    yield pair
            if (beside := file.certificate) and beside.public_data not in self._held:
                yield self._certified(beside)

    async def _pairs(self, file: KeyFile) -> tuple[asyncssh.SSHKeyPair, ...]:
        """What can be offered of a file: as ssh does, the public half alone of a key that is not here."""
        pairs = file.pairs
        if file.locked and file.public is None:  # an old PEM file without its .pub
            opened = await self._unlocked(file)
            pairs = opened.pairs if opened is not None else ()
        elif file.public is not None and not pairs:
            pairs = _public_half(file.public, partial(self._unlocked, file))
        if pairs and not file.outside and (self._may_ask or not file.locked):
            self.tried.append(file.path)
        return pairs

    def _certified(self, certificate: asyncssh.SSHCertificate) -> asyncssh.SSHKeyPair:
        """A certificate with what signs for it; as ssh does, also one whose key is nowhere."""
        public = certificate.key.public_data
        file = next((file for file in self._files if file.public == public), KeyFile(""))
        pair = self._held.get(public) or next(iter(file.pairs), None)
        made = copy(pair or LockedPair(certificate.key, partial(self._unlocked, file)))
        made.set_certificate(certificate)
        return made

    @property
    def _may_ask(self) -> bool:
        return self._asker is not None and self._asker.can_ask

    async def _unlocked(self, file: KeyFile) -> KeyFile | None:
        """The file with the key that a passphrase opens; None where it cannot be asked for, or would not help."""
        if self._asker is None or not self._may_ask or not file.locked:
            return None
        return await self._ring.unlock(file, self._route, self._asker)

    async def close(self) -> None:
        """Let go of the agent."""
        if self._agent is not None:
            self._agent.close()
            await self._agent.wait_closed()

    def unsigned(self) -> AuthRejected | None:
        """The agent gave no signature: a person did not confirm or touch, or it is locked."""
        if self._agent is None or self._agent.unsigned is None:
            return None
        route = self._route
        return AuthRejected(
            f"{route.user}@{route.host} was not entered: the agent did not sign with {self._agent.unsigned}",
            next=f"unlock the agent, or confirm what it asks, then press r; by hand: {route.command}",
        )

    def refusal(self, said: str) -> AuthRejected:
        """No key was accepted: which were tried, which could not be, and what to do."""
        route = self._route
        locked = [
            file.path for file in self._files if file.locked and file.public not in self._held
        ]
        if (unsigned := self.unsigned()) is not None:
            return unsigned
        # Not every key was refused only where one was enough for now, or none is taken.
        if self._unasked and not self._over:
            who = f"{route.user}@{route.host}"
            return AuthRejected(
                f"{who} wants a password or a code beside the key, and nobody is here to ask"
                if self.tried
                else f"{who} wants a password or a code, and nobody is here to ask",
                next=f"start the cockpit, which asks; by hand: {route.command}",
            )
        parts = [f"tried {', '.join(dict.fromkeys(self.tried)) or 'no key'}"]
        if self._agent is not None and self._agent.trouble:
            parts.append(f"the agent at {self._agent.path} {self._agent.trouble}")
        asked = self._asker.refused if self._asker else None
        if asked:
            return AuthRejected(
                f"{route.user}@{route.host} was not entered: {asked}",
                next="press r, or run it again, to be asked once more"
                + (f", or: ssh-add {locked[0]}" if locked else f"; by hand: {route.command}"),
            )
        parts += [f"{path} is encrypted and not in the agent" for path in locked]
        outside = [f.path for f in self._files if f.outside and f.public not in self._held]
        parts += [f"of {path} the private key is neither here nor in the agent" for path in outside]
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
        if outside and not self.tried:
            return AuthRejected(
                text,
                next="unlock the agent that holds the key, or name its socket in IdentityAgent, then press r; "
                f"by hand: {route.command}",
            )
        return AuthRejected(
            text,
            next="register your public key at the provider, or name the key in ssh.identity; "
            f"by hand: {route.command}",
        )


def _is_short(pair: asyncssh.SSHKeyPair, least: int) -> bool:
    """Whether it is an RSA key of fewer bits than RequiredRSASize says."""
    if pair.key_algorithm != b"ssh-rsa":
        return False
    rest = pair.key_public_data
    for _ in range(2):  # the algorithm and the exponent, then the modulus
        size = struct.unpack_from(">I", rest)[0]
        rest = rest[4 + size :]
    return int.from_bytes(rest[4:], "big").bit_length() < least


def _narrowed(pair: asyncssh.SSHKeyPair, accepted: str | None) -> asyncssh.SSHKeyPair | None:
    """The key with the signatures that the config allows (PubkeyAcceptedAlgorithms), if any.

    Always a copy: a login notes in it the signature that its server wants.
    """
    if accepted is None:
        return copy(pair)
    if pair.has_cert:
        return copy(pair) if accepts(accepted, pair.algorithm.decode("ascii")) else None
    allowed = [alg for alg in pair.sig_algorithms if accepts(accepted, alg.decode("ascii"))]
    if not allowed:
        return None
    narrowed = copy(pair)
    narrowed.sig_algorithms = allowed
    return narrowed


def _public_half(
    public: bytes, unlock: Callable[[], Awaitable[KeyFile | None]]
) -> tuple[asyncssh.SSHKeyPair, ...]:
    """Of a kind of key that asyncssh does not have: nothing."""
    try:
        text = b"%s %s" % (algorithm(public), base64.b64encode(public))
        return (LockedPair(asyncssh.import_public_key(text), unlock),)
    except (ValueError, struct.error):
        return ()


async def load(ring: KeyRing, route: Route, asker: Asker | None = None) -> Offer:
    """The keys for one login."""
    files = await asyncio.to_thread(ring.load, route)
    found = await asyncio.to_thread(lambda: [*map(read_certificate, route.certificates)])
    return Offer(route, files, tuple(one for one in found if one is not None), ring, asker)
