"""A teardown whose end is not proven: what was asked for, and what is known of it. Pure.

It stays until the provider says that it is over, or a person states what they saw in its console.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu_tui.core.clock import rfc3339
from gpu_tui.core.fleet import LinkState, ProviderState


@dataclass(frozen=True, slots=True)
class OpenEnd:
    """One intent without a proven end. `at` is an epoch second, None where its record's time is no time.

    `outcome` is unknown or still-there. `console`: a person was given the steps, nothing was sent.
    `place` is where `provider_id` means this instance, `account` with which key; `watched`: its state tells
    whether it is over.
    """

    instance: str
    at: float | None
    seq: int
    verb: str
    effect: str
    outcome: str = "unknown"
    console: bool = False
    provider_id: str | None = None
    place: str | None = None
    watched: bool = True
    account: str | None = None

    @property
    def blocks(self) -> bool:
        """Another call must wait: this one may still have its effect."""
        return not self.console and self.outcome == "unknown"

    @property
    def statement(self) -> str:
        """The end of what a person types to say that it is over."""
        return "is stopped" if self.effect == "stop" else "is gone"


@dataclass(frozen=True, slots=True)
class OwnEnd:
    """A destruction that was confirmed here and is over. `at`: when that was proven or stated, in epoch seconds."""

    verb: str
    provider_id: str | None
    at: float | None


def proofs(effect: str) -> frozenset[str]:
    """The provider states that prove a verb done. A destroyed box must be gone, not merely off."""
    return frozenset({"stopped", "gone"}) if effect == "stop" else frozenset({"gone"})


def ending_words(
    end: OpenEnd, link: LinkState | None = None, provider: ProviderState | None = None
) -> str:
    """What is known of it now, in one line. A box that does not answer proves nothing.

    `link` and `provider` are None for an instance that the fleet file does not name any more.
    """
    when = rfc3339(end.at) or "an earlier day"
    asked = (
        f"the steps of “{end.verb}” were given {when}"
        if end.console
        else f"“{end.verb}” was sent {when}"
    )
    if end.outcome == "still-there":
        told = "STILL THERE: the provider said so, and the meter runs"
    elif link is None or provider is None:
        told = "UNKNOWN: nobody looks at it, for the fleet file does not name it"
    elif provider.state in ("running", "stopped", "ended") and provider.error is None:
        told = f"not over: the provider says {provider.state}"
    elif link.live:
        told = "not over: the box still answers"
    else:
        told = "UNKNOWN: the box does not answer, which proves nothing"
    return f"{asked}; {told}"
