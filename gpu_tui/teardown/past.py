"""What earlier climbs saw on one box, as the journal knows it: names alone, and never a reason to open anything."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_tui.core.evidence import Identity
from gpu_tui.core.plain import plain
from gpu_tui.teardown.journal import Record


def box_of(identity: Identity) -> str:
    """Which box a record is about: another id under the same name is another box."""
    return plain(identity.provider_id or identity.host_key or "", 200)


def seen_before(records: Iterable[Record], instance: str, identity: Identity) -> frozenset[str]:
    """Every cell and directory that a record of this box names."""
    box = box_of(identity)
    found: set[str] = set()
    for record in records:
        detail, names = record.detail, record.detail.get("seen")
        if record.instance == instance and box and detail.get("box") == box:
            found |= (
                {name for name in names if isinstance(name, str)}
                if isinstance(names, list)
                else set()
            )
    return frozenset(found)
