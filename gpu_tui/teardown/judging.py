"""A gate that judges beside the event loop: of a hundred thousand files that takes a second, and screens go on.

While it judges nobody else touches it. What shuts it meanwhile (a cancel, a link that is gone) does so before
anybody acts on what it judged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from gpu_tui.core.clock import Clock
from gpu_tui.core.evidence import Event, Relocked
from gpu_tui.core.gate import Gate, State

# A pool of their own: nobody's dead disk keeps a gate from being shut.
JUDGES = ThreadPoolExecutor(4, "gate")


class Judging:
    """The only hand that feeds this gate."""

    def __init__(self, gate: Gate, clock: Clock, then: Callable[[], object]) -> None:
        """`then` is done beside the loop as well, each time when the gate has judged."""
        self._gate = gate
        self._clock = clock
        self._then = then
        self._done: asyncio.Future[None] | None = None  # while it judges
        self._shut: str | None = None  # why it is to be shut as soon as it has judged

    @property
    def busy(self) -> bool:
        """It judges: what it says now is not to be shown."""
        return self._done is not None

    def apply(self, event: Event) -> State:
        """At once, for what takes no time."""
        assert not self.busy
        return self._gate.apply(event, self._clock.boot(), self._clock.now())

    async def take(self, event: Event) -> None:
        """Judge evidence. Who is cancelled meanwhile still waits for the end of it."""
        assert not self.busy
        at = self._clock.boot(), self._clock.now()
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(
            JUDGES, self._judge, event, *at
        )  # no task: a loop that ends cancels those
        self._done = loop.create_future()
        cancelled = None
        try:
            while not work.done():
                try:
                    await asyncio.wait({work})
                except asyncio.CancelledError as error:
                    cancelled = error
                    self._shut = self._shut or "cancelled"
        finally:
            done, self._done = self._done, None
            done.set_result(None)
        reason, self._shut = self._shut, None
        if reason is not None:
            self.apply(Relocked(reason))
        work.result()
        if cancelled is not None:
            raise cancelled

    def _judge(self, event: Event, boot: float, wall: float) -> None:
        self._gate.apply(event, boot, wall)
        self._then()

    async def shut(self, reason: str) -> bool:
        """Shut the gate, unless the call has left; whether that was the reason."""
        gate = self._gate
        if self._done is not None:
            self._shut = self._shut or reason
            await asyncio.shield(self._done)
            return gate.state is State.CLOSED and gate.because == reason
        if gate.called or gate.ended:
            return False
        self.apply(Relocked(reason))
        return True
