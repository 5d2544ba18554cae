"""A ladder that cannot begin because nothing leads to the box: why nothing is offered, and what to do instead. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_tui.core import units
from gpu_tui.core.fleet import ProviderState
from gpu_tui.teardown.journal import Record

OFF = "the provider says that it is stopped: a box that is off shows nobody what is on it"
NO_LIST = (
    "nothing can be abandoned either: what would be lost is listed by the box alone. Whoever ends it in the "
    "provider's console loses unseen whatever is not here yet"
)
NEVER = "the journal knows of no pull under this name that was verified"
START = (
    "start it again in the provider's console, correct its address in the fleet file (the port may be another "
    "one), wait until it answers, then open the ladder again"
)
CONNECT = "look in the provider's console whether it is on, press r to connect again, then open the ladder again"


@dataclass(frozen=True, slots=True)
class Unreached:
    """What the plan says instead of evidence, and the next step."""

    lines: tuple[str, ...]
    next: str


def unreached(provider: ProviderState, records: Iterable[Record], instance: str) -> Unreached:
    """`records`: the whole journal, of which the last verified pull under this name is told."""
    off = provider.state == "stopped"
    before = last_verified([record for record in records if record.instance == instance])
    return Unreached(
        ((OFF,) if off else ()) + (before or NEVER, NO_LIST), START if off else CONNECT
    )


def last_verified(records: Iterable[Record]) -> str | None:
    """When, what and where to the last pull went that was compared and loaded; a name is no proof of which box."""
    pulled: Record | None = None
    found: tuple[Record, Record] | None = None
    for record in records:
        if record.event == "open" or "refused" in record.detail:
            pulled = None
        elif record.event == "pulled":
            pulled = record
        elif record.event == "loaded" and pulled is not None:
            found = pulled, record
    if found is None:
        return None
    pulled, loaded = found
    files, size, into = (pulled.detail.get(key) for key in ("files", "bytes", "into"))
    much = units.size(size if isinstance(size, int) else None)
    if isinstance(into, str):
        return (
            f"the journal: {files} files, {much}, were pulled to {into} under this name and verified "
            f"{loaded.at}; what came later is not among them"
        )
    return (
        f"the journal: {files} files, {much}, were pulled under this name and verified {loaded.at}; "
        "what came later is not among them"
    )
