"""The life of one connection: connect, serve, lose, back off, return. Never a storm.

"Cannot connect" is not "the box died": the link says what is known and since when, nothing more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from random import Random

from gpu_tui.core.clock import Clock
from gpu_tui.core.events import LinkChanged
from gpu_tui.core.fleet import Instance, LinkState
from gpu_tui.core.ports import Sink
from gpu_tui.transport.base import (
    AuthRejected,
    Connection,
    ConnectTimeout,
    HostKeyRejected,
    LinkError,
    Transport,
)

CONNECT_LIMIT = 60.0  # a chain of hops at 400 ms needs about 20 s
FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
# A server bans addresses after a few refused logins; a person must act first anyway.
REFUSED_WAIT = 300.0
SETTLED = 10.0  # seconds of life after which the next loss starts the back-off anew
LATENCY_SECONDS = 10.0
LOSS_SECONDS = 0.5


def wait_seconds(attempt: int, error: LinkError, random: Random) -> float:
    """How long to wait before attempt `attempt` + 1: exponential, jittered, capped."""
    if isinstance(error, AuthRejected | HostKeyRejected):
        return REFUSED_WAIT
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(attempt, 16))
    return longest * (0.5 + random.random() / 2)


class Link:
    """Keeps one instance connected. `wake` makes it try again now."""

    def __init__(
        self,
        instance: Instance,
        transport: Transport,
        sink: Sink,
        clock: Clock,
        serve: Callable[[Connection], Awaitable[None]],
        handshakes: asyncio.Semaphore,
        random: Random,
    ) -> None:
        self.connection: Connection | None = None
        self._instance = instance
        self._transport = transport
        self._sink = sink
        self._clock = clock
        self._serve = serve
        self._handshakes = handshakes
        self._random = random
        self._woken = asyncio.Event()
        self._live_at: float | None = None

    def wake(self) -> None:
        """Try again now, whatever the back-off says."""
        self._woken.set()

    async def keep(self) -> None:
        """Connect and serve for ever."""
        attempt = 0
        since = self._clock.now()
        self._say(LinkState("connecting", since))
        while True:
            self._live_at = None
            try:
                error = await self._once()
            except LinkError as failed:
                error = failed
            self.connection = None
            lived = self._lived()
            if lived is not None:
                since = self._clock.now()
                attempt = 0 if lived > SETTLED else attempt
            wait = wait_seconds(attempt, error, self._random)
            attempt += 1
            self._failed(error, since, self._clock.now() + wait)
            if await self._woken_within(wait):
                attempt = 0
                self._say(LinkState("connecting", self._clock.now()))

    def _lived(self) -> float | None:
        """Seconds that the last connection was up, or None where none came up."""
        return None if self._live_at is None else self._clock.boot() - self._live_at

    async def _once(self) -> LinkError:
        """One connection from handshake to loss."""
        async with self._handshakes:
            try:
                async with asyncio.timeout(CONNECT_LIMIT):
                    connection = await self._transport.connect(self._instance)
            except TimeoutError:
                raise ConnectTimeout(
                    f"no login within {CONNECT_LIMIT:.0f} s",
                    next="check the provider's console, then press r to try again",
                ) from None
        try:
            latency = await connection.round_trip()
            self.connection, self._live_at = connection, self._clock.boot()
            live = LinkState(
                "live", self._clock.now(), host_key=connection.host_key, latency=latency
            )
            self._say(live)
            return await self._serve_until_lost(connection, live)
        finally:
            await connection.close()

    async def _serve_until_lost(self, connection: Connection, live: LinkState) -> LinkError:
        """Serve until the connection goes; the reason it went."""
        serving = asyncio.ensure_future(self._serve(connection))
        closing = asyncio.ensure_future(connection.wait_closed())
        measuring = asyncio.ensure_future(self._measure(connection, live))
        try:
            await asyncio.wait({serving, closing}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                # Serving only ends by an error: a LinkError is a loss, anything else is a bug.
                error = serving.exception()
                if not isinstance(error, LinkError):
                    raise error or AssertionError("serving ended by itself")
                # The connection itself knows more of a loss, such as which hop went.
                await asyncio.wait({closing}, timeout=LOSS_SECONDS)
                if not closing.done():
                    return error
            return (await closing) or LinkError("the connection was closed")
        finally:
            for task in (serving, closing, measuring):
                task.cancel()
            await asyncio.gather(serving, closing, measuring, return_exceptions=True)

    async def _measure(self, connection: Connection, live: LinkState) -> None:
        """Keep the latency true; a connection that is gone is noticed elsewhere."""
        with suppress(LinkError):
            while True:
                await asyncio.sleep(LATENCY_SECONDS)
                latency = await connection.round_trip()
                self._say(replace(live, latency=latency))

    async def _woken_within(self, seconds: float) -> bool:
        """Wait out the back-off; True where somebody asked for another try before its end."""
        self._woken.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return False
        return True

    def _failed(self, error: LinkError, since: float, retry_at: float) -> None:
        state = error.state if error.state != "live" else "unreachable"
        self._say(
            LinkState(
                state,
                since,
                error=str(error),
                next=error.next,
                hop=error.hop,
                host_key=error.host_key,
                retry_at=retry_at,
            )
        )

    def _say(self, link: LinkState) -> None:
        self._sink(LinkChanged(self._instance.name, self._clock.now(), link))
