"""When a login may ask a person: one question at a time, and never again by itself after a No.

A secret lives as long as the login that needs it. What is remembered is only that the answer was No,
or wrong, until the person asks for another try.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar

from gpu_tui.core.ports import Prompter
from gpu_tui.core.prompts import MOST_FIELDS, MOST_LINES, MOST_ROUNDS, Prompt, Prompts
from gpu_tui.parse.lines import clean
from gpu_tui.transport.patience import Limit, person_types


class Desk:
    """The one place where questions queue. Without a prompter nobody is ever asked."""

    def __init__(self, prompter: Prompter | None = None) -> None:
        self.prompter = prompter
        self._turn: asyncio.Lock | None = None
        self._declined: set[str] = set()
        self._insisting: set[str] = set()

    def again(self, instance: str) -> None:
        """A person wants another try: the next login of this box may ask whatever it needs."""
        self._insisting.add(instance)

    def asker(self, instance: str) -> Asker:
        """Who asks for one login of one box."""
        insist = instance in self._insisting
        self._insisting.discard(instance)
        return Asker(self, instance, insist=insist)

    def declined(self, subject: str) -> bool:
        """Whether the last answer was No, or wrong."""
        return subject in self._declined

    def decline(self, subject: str) -> None:
        """The answer was No, or wrong."""
        self._declined.add(subject)

    def accept(self, subject: str) -> None:
        """The answer was right."""
        self._declined.discard(subject)

    async def ask(self, prompts: Prompts, limits: Sequence[Limit] | None) -> tuple[str, ...] | None:
        """One question; those before it come first. `limits` stand still meanwhile, None: all."""
        if self.prompter is None:
            return None
        with person_types(limits):
            self._turn = self._turn or asyncio.Lock()
            async with self._turn:
                return await self.prompter.ask(prompts)


class Asker:
    """Asks on behalf of one login, hop by hop. `refused` says what was asked for in vain."""

    def __init__(self, desk: Desk, instance: str, *, insist: bool = False) -> None:
        self._desk = desk
        self._instance = instance
        self._insist = insist
        self._rounds = 0
        self._over = False
        self.refused: str | None = None
        self.limits: tuple[Limit, ...] = ()  # of the login, as far as it has come

    @property
    def can_ask(self) -> bool:
        """Whether there is anybody to ask."""
        return self._desk.prompter is not None

    async def ask(
        self,
        subject: str,
        who: str,
        title: str,
        fields: Sequence[tuple[str, bool]],
        *,
        hop: str | None = None,
        note: str = "",
    ) -> tuple[str, ...] | None:
        """The answers, or None. `subject` is what a No is remembered for; texts may be hostile."""
        if not self.can_ask or self._over:
            return None
        if self._desk.declined(subject) and not self._insist:
            self.refused = self.refused or f"{title} was not given before, or wrong"
            return None
        self._rounds += 1
        if len(fields) > MOST_FIELDS or self._rounds > MOST_ROUNDS:
            self.wrong(subject, f"{title}: it asks too much")
            return None
        shown = tuple(Prompt(_safe(text) or "answer", echo) for text, echo in fields)
        asked = Prompts(self._instance, clean(who), clean(title), shown, hop, _safe(note))
        answers = await self._desk.ask(asked, None if hop else self.limits)
        if answers is None:
            self.wrong(subject, f"{title} was not given")
        return answers

    def wrong(self, subject: str, what: str) -> None:
        """It was not answered, or not rightly: this login asks nothing more."""
        self._over = True
        self.refused = what
        self._desk.decline(subject)

    def right(self, subject: str) -> None:
        """It was answered rightly."""
        self._desk.accept(subject)


def _safe(text: str) -> str:
    """A server's words, line by line: a second factor may come with a list to choose from."""
    lines = (clean(line.strip()).strip() for line in text.split("\n", MOST_LINES)[:MOST_LINES])
    return "\n".join(line for line in lines if line)


# Set for each login, and inherited by the tasks that it starts: a jump host asks for the box that
# opened the way.
ASKER: ContextVar[Asker | None] = ContextVar("asker", default=None)
