"""What one climb has seen so far: its evidence, what was allowed and acknowledged, and the digest of it all.

It judges nothing; the rules stand in `gate`.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TypeVar

from gpu_tui.core.allowance import Offer
from gpu_tui.core.evidence import (
    Accepted,
    Cells,
    Event,
    Identity,
    Inventory,
    Listed,
    Loaded,
    Loss,
    Matched,
    Plan,
    Pulled,
    Quiet,
    SecondResource,
    unseen_work,
)
from gpu_tui.core.manifest import Manifest, MatchReport
from gpu_tui.core.profile import Verb
from gpu_tui.core.proof import Cover, cover, proves, unproven
from gpu_tui.core.waiver import Waiver, waivers

E = TypeVar("E")
_EMPTY = Manifest()


class Seen:
    """The latest evidence of each kind, also where it was refused."""

    def __init__(self, instance: str, verb: Verb | None) -> None:
        self.instance = instance
        self.verb = verb
        self.only: tuple[str, ...] = ()  # the cells of a pull that is about these alone
        self.kind = "pull" if verb is None else "park" if verb.park else "stop"
        self.loss: Loss | None = None
        self.report: MatchReport | None = None  # what is here held against the box
        # What is on the box, and which directories here, held against the cells.
        self.covered: Cover | None = None
        self.offer: Offer | None = None
        self.allowed: frozenset[str] = frozenset()  # dotted names allowed to be loaded
        self.on_box = False  # the box's own torch is taken for a proof, though a weaker one
        self.acknowledged: frozenset[str] = frozenset()  # keys of second resources and exceptions
        self.digest = ""
        self._seen: dict[type, Event] = {}
        self._waivers: tuple[Waiver, ...] = ()

    @property
    def park(self) -> bool:
        """Nothing is deleted and it can be undone."""
        return self.kind == "park"

    @property
    def manifest(self) -> Manifest:
        """The files on the box as first read; empty before that."""
        inventory = self.of(Inventory)
        return inventory.manifest if inventory else Manifest()

    @property
    def phrase(self) -> str:
        """What must be typed; empty where it cannot be known yet."""
        plan = self.of(Plan)
        return phrase_of(self.instance, plan.identity) if plan else ""

    @property
    def seconds(self) -> tuple[SecondResource, ...]:
        """What hangs on the instance beside it, as planned; each must be acknowledged by itself."""
        plan = self.of(Plan)
        return plan.seconds if plan else ()

    @property
    def waivers(self) -> tuple[Waiver, ...]:
        """The exceptions without which nothing is destroyed. An abandonment lists all of it by itself."""
        return self._waivers if self.kind == "stop" and self.loss is None else ()

    @property
    def asked(self) -> tuple[SecondResource | Waiver, ...]:
        """Everything that must be acknowledged by its own words."""
        return (*self.seconds, *self.waivers)

    @property
    def unseen(self) -> tuple[SecondResource | Waiver, ...]:
        """The second resources and the exceptions that nobody acknowledged yet."""
        return tuple(one for one in self.asked if one.key not in self.acknowledged)

    @property
    def allowed_work(self) -> tuple[str, ...]:
        """Running work that a person accepted by name; before a destruction only of cards, as an exception."""
        if self.loss is not None:
            return self.loss.running
        accepted, quiet = self.of(Accepted), self.of(Quiet)
        if self.park:
            return accepted.running if accepted else ()
        return unseen_work(quiet.cards) if quiet else ()

    def of(self, kind: type[E]) -> E | None:
        """The latest evidence of one kind."""
        found = self._seen.get(kind)
        return found if isinstance(found, kind) else None

    def keep(self, event: Event) -> None:
        """This is now the latest of its kind."""
        self._seen[type(event)] = event
        inventory, matched, plan = self.of(Inventory), self.of(Matched), self.of(Plan)
        if inventory is not None and isinstance(event, Inventory | Matched):
            cells, here = inventory.cells or Cells(), matched.directories if matched else ()
            there = (*inventory.directories, *here)
            self.covered = cover(cells.names, cells.required, inventory.manifest, there)
        if (
            inventory is not None
            and self.covered
            and isinstance(event, Inventory | Matched | Loaded)
        ):
            before, memory = plan.before if plan else (), matched.memory if matched else ()
            quiet, loaded = self.of(Quiet), self.of(Loaded)
            cards, verdicts = quiet.cards if quiet else (), loaded.verdicts if loaded else ()
            self._waivers = waivers(inventory, self.covered, before, memory, cards, verdicts)
            # What was accepted of fewer of them, or of others, is not accepted of these.
            self.acknowledged -= {one.key for one in self._waivers}

    def forget(self, kind: type[Event]) -> None:
        """As if it had never been seen."""
        self._seen.pop(kind, None)

    def losses(self, listed: Listed) -> Loss:
        """Everything on the box that is not proven to be at home."""
        matched, loaded = self.of(Matched), self.of(Loaded)
        proven = Manifest()
        if matched is not None and loaded is not None:
            good = {
                verdict.path: verdict.sha256
                for verdict in loaded.verdicts
                if proves(verdict, on_box=self.on_box)
            }
            here = set(matched.local.files)
            proven = Manifest.of(
                file
                for file in matched.remote.files
                if good.get(file.path) == file.sha256 and file.at_home in here
            )
        safe = {file.path for file in proven.files}
        inventory, plan = self.of(Inventory), self.of(Plan)
        cells = inventory.cells if inventory else plan.cells if plan else None
        there = inventory.directories if inventory else ()
        lines = ("the roster is not known",) if cells is None else unproven(cells, proven, there)
        lost = tuple(sorted(set(listed.paths) - safe))
        sizes = dict(zip(listed.paths, listed.sizes, strict=False))
        return Loss(
            paths=lost,
            cells=lines,
            running=listed.running or (),
            proven=proven,
            sizes=tuple(sizes.get(path) for path in lost),
        )

    def digest_now(self) -> str:
        """SHA-256 over everything that was seen and everything that would be lost."""
        inventory, matched = self.of(Inventory), self.of(Matched)
        parts = [
            repr(self.of(Plan)),
            repr(self.of(Quiet)),
            repr(self.of(Accepted)),
            repr((inventory.manifest.digest, replace(inventory, manifest=Manifest())))
            if inventory
            else "",
            repr(self.of(Pulled)),
            repr(
                (
                    matched.remote.digest,
                    matched.local.digest,
                    replace(matched, remote=_EMPTY, local=_EMPTY),
                )
            )
            if matched
            else "",
            repr(self.of(Loaded)),
            repr((self.offer, sorted(self.allowed), self.on_box)),
            repr(sorted(self.acknowledged)),
            repr(self.of(Listed)),
            repr(self.loss),
        ]
        return hashlib.sha256("\x1e".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def phrase_of(instance: str, identity: Identity) -> str:
    """`<name>-<last 4 of the provider id, else of the host key>`, or empty where neither is known."""
    for source in (identity.provider_id, identity.host_key):
        if tail := _tail(source or ""):
            return f"{instance}-{tail}"
    return ""


def second_phrase(resource: SecondResource | Waiver) -> str:
    """`<kind>-<last 4 of its id>`: what is typed for this one thing; an exception says its own."""
    if isinstance(resource, Waiver):
        return resource.phrase
    kind = "".join(char for char in resource.kind if char.isascii() and char.isalnum())
    return "-".join(part for part in (kind or "resource", _tail(resource.id)) if part)


def _tail(id: str) -> str:
    return "".join([char for char in id if char.isascii() and char.isalnum()][-4:])
