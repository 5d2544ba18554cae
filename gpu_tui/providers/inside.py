"""A box that releases itself: a program of its own, run over SSH. Nobody can ask what came of it.

The exit code is no proof, a refused login is none either: the end is what a person sees in the console.
"""

from __future__ import annotations

from typing import ClassVar

from gpu_tui.core.command import CommandFailed, RunCommand
from gpu_tui.core.fleet import Instance, ProviderState
from gpu_tui.core.gate import StopPermit
from gpu_tui.core.profile import Verb
from gpu_tui.providers.base import Answer, AnswerKind, Means

LIMIT = 30.0  # seconds; a box that is released may never answer
NOT_FOUND = 127  # exit code of sh where there is no such program: nothing was run


class Inside:
    """Carries out `verb` by `script`, a fixed POSIX sh program; nothing of the user's stands in it."""

    reads = False
    verb: ClassVar[str]
    script: ClassVar[str]
    look: ClassVar[str]  # where a person sees whether the bill has ended

    def __init__(self, instance: Instance, means: Means) -> None:
        self._id = instance.provider.id
        self._clock = means.clock
        self._on_box: RunCommand | None = means.on_box

    def offers(self, verb: Verb) -> bool:
        """The release from inside, where the profile has that row."""
        mine = verb.verb == self.verb and verb.via == "ssh" and not verb.park
        return self._on_box is not None and mine

    def remember(self, id: str) -> None:
        """Nothing to remember: only a person can look."""

    async def read(self, id: str) -> ProviderState:
        """Unknown, always."""
        return ProviderState(error=f"no API tells its state: {self.look}")

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
        if done.exit == NOT_FOUND:
            return Answer(AnswerKind.REFUSED, "the box has no program that releases it")
        if done.exit == 0:
            return Answer(
                AnswerKind.ACCEPTED, "the box says that it is released", lines=(self.look,)
            )
        text = f"the box's program ended with exit code {done.exit}"
        return Answer(AnswerKind.UNKNOWN, text, lines=(self.look,))
