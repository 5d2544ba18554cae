"""Delivers one channel's messages: takes what is due from the outbox, sends it, and retries for a day.

A channel that cannot be used from this program takes nothing from the outbox. Its messages stay due, for this program
later or for another one now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import tzinfo

from gpu_tui.alerts.channel import Channel, Undelivered, Unusable
from gpu_tui.alerts.keeper import Keeper
from gpu_tui.alerts.ledger import Batch
from gpu_tui.alerts.message import compose
from gpu_tui.core.clock import Clock

PAUSE = 5.0  # seconds between two messages: what comes in between goes together
DELAYS = (5.0, 15.0, 60.0, 300.0, 900.0)  # seconds before the next attempt; the last one repeats
GIVE_UP = 86_400.0  # seconds after its oldest item a message is given up
LOOK_EVERY = 15.0  # seconds: another gpu-tui may have left something
GRACE = 2.0  # seconds a message that is under way is given when gpu-tui ends
HOLD = DELAYS[-1]  # seconds before a channel that refused is tried again from here


class Courier:
    """Serves one channel. Trouble is said once, when it begins, and once more when it is over."""

    def __init__(
        self,
        channel: Channel,
        keeper: Keeper,
        clock: Clock,
        note: Callable[[str], None],
        zone: tzinfo | None = None,
    ) -> None:
        self.name = channel.name
        self._channel = channel
        self._keeper = keeper
        self._clock = clock
        self._note = note
        self._zone = zone
        self._woken = asyncio.Event()
        self._failing = False
        self._held_until = 0.0  # by the boot clock
        self.ready = False  # usable from this program, as far as that is known without sending
        self.wrong: Unusable | None = None  # why it is not ready

    def wake(self) -> None:
        """Something may be due."""
        self._woken.set()

    async def run(self) -> None:
        """Deliver until cancelled."""
        while True:
            self._woken.clear()
            if await self.step() is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_EVERY):
                        await self._woken.wait()
            else:
                await asyncio.sleep(PAUSE)

    async def empty(self) -> None:
        """Deliver what is due; what fails is tried once more soon, and then left for another time."""
        while (delay := await self.step()) is not None:
            if delay > DELAYS[0]:
                return
            await asyncio.sleep(delay)

    async def look(self) -> None:
        """Check whether the channel can be used from this program."""
        try:
            await asyncio.to_thread(self._channel.ready)
        except Unusable as error:
            self.ready, self.wrong = False, error
        else:
            self.ready, self.wrong = True, None

    async def step(self) -> float | None:
        """Send one message and return the seconds until its next attempt (0: it is done).

        None: no message was due, or the channel cannot be used.

        Cancelled, it lets what is under way arrive, or leaves it for the next gpu-tui at once.
        """
        work = asyncio.ensure_future(self._step())
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait({work}, timeout=GRACE)
            work.cancel()
            await asyncio.wait({work})
            raise

    async def _step(self) -> float | None:
        await self.look()
        if not self.ready or self._clock.boot() < self._held_until:
            return None
        now = self._clock.now()
        batch = await self._keeper.ask(lambda ledger: ledger.take(self.name, now))
        if batch is None:
            return None
        held = any(item.get("held") for item in batch.items)
        try:
            await self._channel.send(
                compose(batch.id, batch.items, at=now, held=held, zone=self._zone)
            )
        except Unusable as error:
            await self._refused(batch, error)
            return None
        except Undelivered as error:
            return await self._failed(batch, error)
        except asyncio.CancelledError:
            await self._keeper.ask(lambda ledger: ledger.again(batch, now))
            raise
        await self._keeper.ask(lambda ledger: ledger.done(batch))
        await self._keeper.ask(lambda ledger: ledger.arrived(self.name, now))
        if self._failing:
            self._failing = False
            self._note(f"alerts by {self.name} arrive again")
        return 0.0

    async def _refused(self, batch: Batch, error: Unusable) -> None:
        """Note that the channel refuses this program: the message stays due, and the channel rests for HOLD seconds."""
        self._held_until = self._clock.boot() + HOLD
        await self._keeper.ask(lambda ledger: ledger.release(batch))
        await self._note_failure(error, error.next, refused=True)
        if not self._failing:
            self._note(f"an alert did not go out: {error}; it stays due")
        self._failing = True

    async def _note_failure(self, error: Undelivered, next: str, *, refused: bool) -> None:
        now = self._clock.now()
        await self._keeper.ask(
            lambda ledger: ledger.failed(self.name, now, str(error), next, refused=refused)
        )

    async def _failed(self, batch: Batch, error: Undelivered) -> float:
        now = self._clock.now()
        await self._note_failure(error, "", refused=not error.retry)
        delay = max(DELAYS[min(batch.tries, len(DELAYS) - 1)], error.after or 0.0)
        lasting = error.retry and now + delay - batch.made < GIVE_UP
        if lasting:
            await self._keeper.ask(lambda ledger: ledger.again(batch, now + delay))
        else:
            await self._keeper.ask(lambda ledger: ledger.done(batch))
        if not self._failing or not lasting:
            end = "it is tried again" if lasting else f"{len(batch.items)} not delivered"
            self._note(f"an alert did not go out: {error}; {end}")
        self._failing = True
        return delay if lasting else 0.0
