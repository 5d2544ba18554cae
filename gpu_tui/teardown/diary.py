"""The pen of one climb: every record it writes carries what was on screen at that moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpu_tui.core.gate import Gate
from gpu_tui.core.plain import plain
from gpu_tui.teardown.journal import Journal, JournalDamaged


@dataclass(frozen=True, slots=True)
class Diary:
    """Writes for one gate. `say` shows a line to the person."""

    journal: Journal
    gate: Gate
    say: Callable[[str], None]

    async def write(self, event: str, **detail: object) -> None:
        """One durable record. For a pull, which stops nothing, a broken journal is no obstacle."""
        try:
            await asyncio.to_thread(
                self.journal.write, self.gate.instance, event, self.gate.digest, **detail
            )
        except (OSError, JournalDamaged):
            if self.gate.kind != "pull":
                raise

    async def note(self, event: str, **detail: object) -> None:
        """A record after the intent: nothing can be called off any more, so trouble is only shown."""
        try:
            await self.write(event, **detail)
        except (OSError, JournalDamaged) as error:
            self.say(f"the journal cannot be written: {sentence(error)}")


def names(found: Sequence[str] | None) -> list[str] | None:
    """Foreign names as a record keeps them."""
    return None if found is None else [plain(name) for name in found]


def sentence(error: Exception) -> str:
    """What went wrong, for a person."""
    if isinstance(error, TimeoutError):
        return "the box did not answer in time"
    if isinstance(error, OSError) and error.strerror:
        return plain(f"{error.strerror}: {error.filename or 'here'}")
    return plain(str(error) or type(error).__name__)
