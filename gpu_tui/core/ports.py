"""What one room needs of another without knowing it. Wiring binds them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from gpu_tui.core.events import Event
    from gpu_tui.core.gate import GateView
    from gpu_tui.core.ladder import Way
    from gpu_tui.core.log_range import LogAsk, LogHits, LogPart, Term
    from gpu_tui.core.logs import LogSource
    from gpu_tui.core.playhead import Playhead
    from gpu_tui.core.profile import Verb
    from gpu_tui.core.prompts import Prompts


class Sink(Protocol):
    """Where events go. Never blocks, never raises."""

    def __call__(self, event: Event) -> None:
        """Take one event."""
        ...


class FleetControl(Protocol):
    """What the screen may ask of the collectors."""

    def reconnect(self, instance: str) -> None:
        """Try this box again now, whatever its back-off says."""
        ...

    def follow_cell(self, instance: str, cell: str | None) -> None:
        """Tail this cell's log (None: the queue's master log only) besides what is tailed anyway."""
        ...

    async def read_log(self, instance: str, source: LogSource, ask: LogAsk) -> LogPart:
        """Read a stretch of one log as history: no finding comes of it. Raises LogUnread."""
        ...

    async def search_log(self, instance: str, source: LogSource, terms: Sequence[Term]) -> LogHits:
        """Search the whole of one log, on the box. Raises LogUnread."""
        ...


class Prompter(Protocol):
    """Asks a person what a login needs. One question at a time."""

    async def ask(self, prompts: Prompts) -> tuple[str, ...] | None:
        """One answer per field, or None where the person cancels. Being cancelled takes it away."""
        ...


class ByteRecorder(Protocol):
    """Keeps what channels say. Never blocks, never raises."""

    def opened(self, instance: str, program: str) -> int:
        """A channel was opened for a program; its number."""
        ...

    def said(self, channel: int, data: bytes) -> None:
        """A channel brought bytes."""
        ...

    def seam(self, data: bytes, at: int) -> int:
        """The last place up to `at` where a line without end may be cut, and no secret with it; 0: none."""
        ...

    def closed(self, channel: int) -> None:
        """A channel ended."""
        ...


class Playback(Protocol):
    """What the screen may ask of a recording that it shows."""

    def badge(self) -> str:
        """What the header says of it."""
        ...

    def play(self) -> None:
        """Pause, or go on."""
        ...

    def faster(self, by: int) -> None:
        """The next faster (1) or slower (-1) speed."""
        ...

    def head(self) -> Playhead:
        """Where it stands."""
        ...

    def skip(self, seconds: float) -> None:
        """Forward or back in recorded time."""
        ...

    def seek(self, place: str) -> str | None:
        """Go to a place as a person writes it; where it is none, how to write one."""
        ...

    def next_finding(self) -> None:
        """On to where a new finding appears."""
        ...

    def finding_before(self) -> None:
        """Back to where the last finding appeared."""
        ...


class Teardown(Protocol):
    """One open ladder. Closing it, for any reason, shuts its gate."""

    def views(self) -> AsyncIterator[GateView]:
        """The ladder each time it changes, until it ends; the last view has an outcome or is closed."""
        ...

    async def accept(self) -> None:
        """Accept the running work that the view named (parks only)."""
        ...

    async def confirm(self, typed: str) -> None:
        """Offer the typed phrase; the next view says what came of it."""
        ...

    async def abandon(self, typed: str) -> None:
        """Give up the listed paths; `typed` must equal the view's `abandon_phrase`."""
        ...

    async def override(self, typed: str) -> None:
        """Allow what the view's `override_lines` say; `typed` must equal its `override_phrase`."""
        ...

    async def acknowledge(self, resource_id: str, typed: str) -> None:
        """What becomes of one of the view's `seconds` is seen; `typed` must equal its `phrase`."""
        ...

    async def relock(self, reason: str) -> None:
        """Shut the gate: the screen can no longer show all of the evidence."""
        ...

    async def close(self) -> None:
        """Cancel: shut the gate and stop all work."""
        ...


class TeardownPort(Protocol):
    """Where a teardown starts."""

    def verbs(self, instance: str) -> Sequence[Verb]:
        """The verbs that this instance's profile and variant offer."""
        ...

    def look(self, instance: str) -> Coroutine[Any, Any, None] | None:
        """What is to be awaited before `verbs` can tell what works there, a moment at most; None: nothing."""
        ...

    def way(self, instance: str, verb: Verb) -> Way:
        """Whether a call would be made for it, as far as is known before its ladder is opened."""
        ...

    def open(self, instance: str, verb: str) -> Teardown:
        """Start climbing by a verb's key, or by its name: then its first row.

        Raises nothing: a refusal is a closed view with its reason.
        """
        ...
