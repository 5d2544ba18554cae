"""The life of one connection: connect, serve, lose, back off, return. Never a storm.

"Cannot connect" is not "the box died": the link says what is known and since when, nothing more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from random import Random

from gpu_tui.collect.way import Ways
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import LinkChanged
from gpu_tui.core.fleet import Instance, LinkState
from gpu_tui.core.ports import Sink
from gpu_tui.transport import patience
from gpu_tui.transport.base import Connection, ConnectTimeout, LinkError, LinkLost, Transport
from gpu_tui.transport.read_files import states

CONNECT_LIMIT = 90.0  # a chain of hops at 400 ms needs about 20 s
WAITS = (1.0, 5.0)  # after the first losses, then the longest
LONGEST_WAIT = 15.0  # while somebody looks
# A server bans addresses after a few refused logins; a person must act first anyway.
PERSON_WAIT = 900.0
EDIT_SECONDS = 2.0
SETTLED = 10.0  # seconds of life after which the next loss starts the back-off anew
LATENCY_SECONDS = 10.0
LOSS_SECONDS = 0.5
PROBE_SECONDS = 3.0  # for a sign of life after a suspend


def wait_seconds(
    attempt: int, error: LinkError, random: Random, longest: float = LONGEST_WAIT
) -> float:
    """How long to wait before attempt `attempt` + 1: growing, jittered, capped.

    A link that flaps is tried six times in its first minute, five times in each later one.
    """
    if error.needs_person:
        return PERSON_WAIT
    wait = min(
        longest, WAITS[attempt] if attempt < len(WAITS) else 15.0 * 2.0 ** min(attempt - 2, 8)
    )
    return wait * (0.8 + random.random() / 5)


class Link:
    """Keeps one instance connected. `wake` makes it try again now."""

    def __init__(
        self,
        instance: Instance,
        transport: Transport,
        sink: Sink,
        clock: Clock,
        serve: Callable[[Connection], Awaitable[None]],
        ways: Ways,
        random: Random,
        longest_wait: float = LONGEST_WAIT,
    ) -> None:
        self.connection: Connection | None = None
        self._instance = instance
        self._transport = transport
        self._sink = sink
        self._clock = clock
        self._serve = serve
        self._ways = ways
        self._random = random
        self._longest_wait = longest_wait
        self._woken = asyncio.Event()
        self._doubted = asyncio.Event()
        self._live_at: float | None = None
        self._hasty = False  # the last try was made because a file changed during the one before
        self._stuck_at: str | None = None

    def wake(self) -> None:
        """Try again now, whatever the back-off says."""
        self._woken.set()

    def resumed(self) -> None:
        """This machine was asleep: look whether the connection survived it, or try again now."""
        self._woken.set()
        self._doubted.set()

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
            wait = self._wait_after(attempt, error)
            attempt += 1
            self._failed(error, since, self._clock.now() + wait)
            if await self._woken_within(wait, error):
                attempt = 0
                self._say(LinkState("connecting", self._clock.now()))

    def _wait_after(self, attempt: int, error: LinkError) -> float:
        def wait(attempt: int) -> float:
            return wait_seconds(attempt, error, self._random, self._longest_wait)

        if error.hop is None:
            self._passed()
            return wait(attempt)
        self._stuck_at = error.hop
        return self._ways.failed(error.hop, self, wait)

    def _passed(self) -> None:
        """The jump host that held us up is open."""
        if self._stuck_at is not None:
            self._ways.passed(self._stuck_at)
            self._stuck_at = None

    def _lived(self) -> float | None:
        """Seconds that the last connection was up, or None where none came up."""
        return None if self._live_at is None else self._clock.boot() - self._live_at

    async def _once(self) -> LinkError:
        """One connection from handshake to loss."""
        try:
            async with patience.limit(CONNECT_LIMIT):
                connection = await self._transport.connect(self._instance)
        except TimeoutError:
            raise ConnectTimeout(
                f"no login within {CONNECT_LIMIT:.0f} s",
                next="check the provider's console, then press r to try again",
            ) from None
        try:
            self._passed()
            self._doubted.clear()
            self.connection, self._live_at = connection, self._clock.boot()
            live = LinkState(
                "live",
                self._clock.now(),
                host_key=connection.host_key,
                via=getattr(connection, "via", None),
            )
            self._say(live)
            return await self._serve_until_lost(connection, live)
        finally:
            await connection.close()

    async def _serve_until_lost(self, connection: Connection, live: LinkState) -> LinkError:
        """Serve until the connection goes; the reason it went."""
        serving = asyncio.ensure_future(self._serve(connection))
        closing = asyncio.ensure_future(connection.wait_closed())
        doubting = asyncio.ensure_future(self._silent(connection))
        measuring = asyncio.ensure_future(self._measure(connection, live))
        ends = {serving, closing, doubting}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                # Serving only ends by an error: a LinkError is a loss, anything else is a bug.
                error = serving.exception()
                if not isinstance(error, LinkError):
                    raise error or AssertionError("serving ended by itself")
                # The connection itself knows more of a loss, such as which hop went.
                await asyncio.wait({closing}, timeout=LOSS_SECONDS)
                if not closing.done():
                    return error
            if closing.done():
                return closing.result() or LinkError("the connection was closed")
            return doubting.result()
        finally:
            for task in (*ends, measuring):
                task.cancel()
            await asyncio.gather(*ends, measuring, return_exceptions=True)

    async def _silent(self, connection: Connection) -> LinkError:
        """Return when the connection did not survive a suspend of this machine."""
        while True:
            await self._doubted.wait()
            self._doubted.clear()
            if not await connection.answers(PROBE_SECONDS):
                return LinkLost("the connection did not survive the sleep of this machine")

    async def _measure(self, connection: Connection, live: LinkState) -> None:
        """Keep the latency true; a connection that is gone is noticed elsewhere."""
        with suppress(LinkError):
            while True:
                latency = await connection.round_trip()
                self._say(replace(live, latency=latency))
                await asyncio.sleep(LATENCY_SECONDS)

    async def _woken_within(self, seconds: float, error: LinkError) -> bool:
        """Wait out the back-off; True where a person, or an edited file, asks for another try."""
        self._woken.clear()
        pause = self._ways.turn(error.hop, self) if error.hop else asyncio.sleep(seconds)
        waits: list[Coroutine[object, object, object]] = [self._woken.wait(), pause]
        if error.needs_person:
            waits.append(self._edited(error))
        woken, *others = tasks = [asyncio.ensure_future(wait) for wait in waits]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            early = woken.done() or any(other.done() for other in others[1:])
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if early and error.hop:
            self._ways.scout(error.hop, self)
        return early

    async def _edited(self, error: LinkError) -> None:
        """Return when a file that the attempt was made with is another than it was then.

        What changes while we try, and again while we try because of it, is written by the attempt
        itself (by a ProxyCommand, a `Match exec`): that is no person's work.
        """
        tried, at_once = error.read, await asyncio.to_thread(states, error.read)
        self._hasty, hasty = at_once != tried and not self._hasty, self._hasty
        if hasty:
            tried = at_once
        while await asyncio.to_thread(states, tried) == tried:  # noqa: ASYNC110
            await asyncio.sleep(EDIT_SECONDS)

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
