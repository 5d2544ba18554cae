"""No API: a person acts at the provider's console. This says what to click and never claims the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_tui.core.clock import Clock
from gpu_tui.core.fleet import Instance, ProviderState
from gpu_tui.core.profile import Profile, Verb
from gpu_tui.providers.base import Answer, AnswerKind

if TYPE_CHECKING:
    from gpu_tui.core.gate import StopPermit

# Verbs about what hangs beside an instance. No call is made for them: only a person knows which one.
BESIDE: dict[tuple[str, str], tuple[str, ...]] = {
    ("runpod", "delete-network-volume"): (
        "Open https://console.runpod.io/user/storage.",
        "Find the network volume by its id and its size; no pod may mount it any more.",
        "Pull and verify whatever is on it: it is gone for good.",
        "Choose Delete, type its name, and confirm.",
        "Look at the list again: while it is there, it bills.",
    ),
    ("vastai", "delete-volume"): (
        "Open https://cloud.vast.ai/volumes/.",
        "Find the volume by its id; the instances that use it must be destroyed first.",
        "Pull and verify whatever is on it: it is gone for good.",
        "Click its bin and confirm.",
        "Look at the list again: while it is there, it bills.",
    ),
    ("lambda", "delete-filesystem"): (
        "Open https://cloud.lambda.ai/file-systems.",
        "Find the file system by its name and region; it must not be in use.",
        "Pull and verify whatever is on it: it is gone for good.",
        "Choose Delete and confirm.",
        "Look at the list again: while it is there, it bills for what is in it.",
    ),
    ("paperspace", "delete-snapshot"): (
        "Open https://console.paperspace.com and choose CORE → Machines.",
        "Open the machine's page and its snapshots; find the one by its name and date.",
        "Choose Delete and confirm: nothing can be restored from it afterwards.",
        "Look at the list again: while it is there, it bills.",
    ),
}


class Manual:
    """Console-only. `why` says why no API is used, where one exists."""

    reads = False

    def __init__(
        self, instance: Instance, profile: Profile | None, clock: Clock, why: str | None = None
    ) -> None:
        self._instance = instance
        self._profile = profile
        self._clock = clock
        self.why = why

    def offers(self, verb: Verb) -> bool:
        """Nothing is carried out from here."""
        return False

    def remember(self, id: str) -> None:
        """Nothing to remember: only a person can look."""

    async def read(self, id: str) -> ProviderState:
        """Unknown, always: an SSH silence is no proof that a meter stopped."""
        return ProviderState(error=self.why or "only the provider's console knows")

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
        if (steps := BESIDE.get((self._instance.platform, verb))) is not None:
            return steps
        ssh = self._instance.ssh
        # Many boxes of one provider answer at one address: the port tells them apart.
        address = f"{ssh.host}:{ssh.port}" if ssh.port not in (None, 22) else ssh.host
        named = self._instance.provider.id or f"the one behind {address}"
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
