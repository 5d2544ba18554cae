"""No API: a person acts at the provider's console. This says what to click and never claims the end."""

from __future__ import annotations

from gpu_tui.core.clock import Clock
from gpu_tui.core.fleet import Instance, ProviderState
from gpu_tui.core.gate import StopPermit
from gpu_tui.core.profile import Profile, Verb
from gpu_tui.providers.base import Answer, AnswerKind


class Manual:
    """Console-only. `why` says why no API is used, where one exists."""

    reads = False

    def __init__(
        self, instance: Instance, profile: Profile | None, clock: Clock, why: str | None = None
    ) -> None:
        self._instance = instance
        self._profile = profile
        self._clock = clock
        self._why = why

    def offers(self, verb: Verb) -> bool:
        """Nothing is carried out from here."""
        return False

    def remember(self, id: str) -> None:
        """Nothing to remember: only a person can look."""

    async def read(self, id: str) -> ProviderState:
        """Unknown, always: an SSH silence is no proof that a meter stopped."""
        return ProviderState(error=self._why or "only the provider's console knows")

    async def stop(self, permit: StopPermit) -> Answer:
        """The exact steps; nothing is sent anywhere."""
        permit.redeem(self._instance.provider.id, self._clock.boot())
        return Answer(AnswerKind.STEPS, "do this at the provider", lines=self.steps(permit.verb))

    def steps(self, verb: str) -> tuple[str, ...]:
        """What to click for one verb, from the profile where it says so."""
        rows = self._rows(verb)
        for row in rows:
            if row.steps:
                return row.steps
        named = self._instance.provider.id or f"the one behind {self._instance.ssh.host}"
        where = self._profile.title if self._profile else self._instance.platform
        return (
            f"Open the console of {where}{self._console()}.",
            f"Find the instance: {named}.",
            f"Choose “{rows[0].label if rows else verb}” and confirm it there.",
            "Look at the list again: only the console proves that the meter stopped.",
        )

    def _rows(self, verb: str) -> tuple[Verb, ...]:
        """The profile's rows of one verb for this variant; only the console's has steps."""
        variant = self._instance.provider.variant
        return tuple(
            row
            for row in (self._profile.teardown if self._profile else ())
            if row.verb == verb
            and (variant is None or not row.applies_to or variant in row.applies_to)
        )

    def _console(self) -> str:
        display = self._profile.facts.get("display") if self._profile else None
        url = display.get("console") if isinstance(display, dict) else None
        return f" ({url})" if isinstance(url, str) else ""
