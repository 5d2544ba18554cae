"""Running a program somewhere: on a box, or here. What needs one is given a `RunCommand`; wiring binds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Completed:
    """A finished program. `exit` is None where nobody told it."""

    stdout: bytes
    stderr: bytes
    exit: int | None


class CommandFailed(Exception):
    """The program could not be run, or did not end in time: what came of it is not known."""

    def __init__(self, text: str, *, next: str | None = None) -> None:
        super().__init__(text)
        self.next = next


class RunCommand(Protocol):
    """Runs one program by its argument list, never by a shell line."""

    async def __call__(self, argv: Sequence[str], *, limit: float) -> Completed:
        """Run it for at most `limit` seconds. Raises CommandFailed."""
        ...
