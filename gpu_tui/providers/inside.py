"""A box that ends itself: a program of its own, run over SSH. Nobody can ask from outside what came of it.

While it answers, it is there and its meter runs: that much the box proves. Its silence, a refused login,
an exit code prove nothing: the end is what a person sees in the console.
"""

from __future__ import annotations

import re
from typing import ClassVar

from gpu_tui.core.command import CommandFailed, Completed, RunCommand
from gpu_tui.core.fleet import Instance, ProviderState
from gpu_tui.core.gate import StopPermit
from gpu_tui.core.plain import plain
from gpu_tui.core.profile import Verb
from gpu_tui.providers.base import Answer, AnswerKind, Means

LIMIT = 30.0  # seconds; a box that is released may never answer
LOOK_LIMIT = 15.0
NO_PROGRAM = "the box has no program of its own that ends it"
NOT_BEGUN = frozenset({126, 127})  # exit codes of a script that found nothing to run
_ID = re.compile(rb"[A-Za-z0-9_-]{1,64}")


class Inside:
    """Carries out `verb` by `script`; both scripts are fixed POSIX sh, nothing of the user's stands in them.

    `presence` ends with 0 where this is a box of the platform that can end itself, and prints the
    instance's id where the box knows it.
    """

    reads = False
    verb: ClassVar[str]
    presence: ClassVar[str]
    script: ClassVar[str]
    look: ClassVar[str]  # where a person sees whether the bill has ended
    parks: ClassVar[bool] = False  # nothing of the box is lost by it

    def __init__(self, instance: Instance, means: Means) -> None:
        self._id = instance.provider.id
        self._clock = means.clock
        self._on_box: RunCommand | None = means.on_box

    def offers(self, verb: Verb) -> bool:
        """What the box does to itself, where the profile has that row and calls it no more harmless."""
        mine = verb.verb == self.verb and verb.via == "ssh" and (self.parks or not verb.park)
        return self._on_box is not None and mine

    def remember(self, id: str) -> None:
        """Nothing to remember: only a person can look."""

    async def read(self, id: str) -> ProviderState:
        """Unknown, always."""
        return ProviderState(error=f"no API tells its state: {self.look}")

    async def look_inside(self) -> ProviderState:
        """Running where the box answers as the one that is meant; unknown otherwise, with the reason."""
        if self._on_box is None:
            return ProviderState(error="there is no box to ask")
        try:
            done = await self._on_box(("sh", "-c", self.presence), limit=LOOK_LIMIT)
        except CommandFailed as error:
            return ProviderState(error=f"{plain(str(error))}: that proves nothing. {self.look}")
        if done.exit != 0:
            return ProviderState(error=NO_PROGRAM)
        return self._seen(done)

    def _seen(self, done: Completed) -> ProviderState:
        """The box answered: it is there. Whose it is, is what its own id says."""
        told = done.stdout.strip()
        own = told.decode() if _ID.fullmatch(told) else None
        if own is not None and self._id is not None and own != self._id:
            return ProviderState(
                error=f"the box says that it is {own}, provider.id is {plain(self._id, 64)}: correct it"
            )
        facts = {"asked": "the box itself"} | ({"id": own} if own else {})
        return ProviderState("running", read_at=self._clock.now(), facts=facts)

    async def stop(self, permit: StopPermit) -> Answer:
        """Run the program once. What it prints is not kept: it may show the box's own token."""
        return await self._carry_out(permit)

    async def _carry_out(self, permit: StopPermit) -> Answer:
        permit.redeem(self._id, self._clock.boot())
        if permit.verb != self.verb or self._on_box is None:
            return Answer(AnswerKind.REFUSED, f"nothing here carries out {permit.verb}")
        try:
            done = await self._on_box(("sh", "-c", self.script), limit=LIMIT)
        except CommandFailed as error:
            return Answer(AnswerKind.UNKNOWN, str(error), lines=(self.look,))
        if done.exit in NOT_BEGUN:
            return Answer(AnswerKind.REFUSED, "the box has nothing that ends it: nothing was run")
        if done.exit == 0:
            text = "the box's program ended with 0, which proves nothing yet"
            return Answer(AnswerKind.ACCEPTED, text, lines=(self.look,))
        text = f"the box's program ended with exit code {done.exit}"
        return Answer(AnswerKind.UNKNOWN, text, lines=(self.look,))
