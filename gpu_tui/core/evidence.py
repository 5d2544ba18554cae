"""What the runner saw on the way up the gate: immutable, whole, and each piece says where it ends.

None always means "not known", and what is not known never opens anything. Times are boot seconds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpu_tui.core.fleet import Instance, Money
from gpu_tui.core.manifest import Manifest
from gpu_tui.core.profile import Tier, Verb
from gpu_tui.core.required import COPIED, Required

# (card, why): in use by nobody who is seen on the box, or its driver does not say whether it is.
Cards = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """Which machine this is: the provider's id, the host key it showed, its boot."""

    provider_id: str | None = None
    host_key: str | None = None
    boot_id: str | None = None


@dataclass(frozen=True, slots=True)
class Cells:
    """The queue as its file and log say now. `doubtful`: lines that are no cell, names twice. `closed`: the
    log's last line of the queue's own says that it is done. `required`: what each of them must leave. `began`: (name, epoch second) of the
    last starts whose time is known. `trained_in`: the directory on the box in which each of them trains in one of its own, where
    that is known.
    """

    finished: tuple[str, ...] = ()
    unfinished: tuple[tuple[str, str], ...] = ()  # (name, state)
    doubtful: tuple[str, ...] = ()
    closed: bool = True
    required: Required = COPIED
    began: tuple[tuple[str, float], ...] = ()
    trained_in: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Every cell of the roster."""
        return self.finished + tuple(name for name, _ in self.unfinished)


@dataclass(frozen=True, slots=True)
class SecondResource:
    """What hangs on the instance and has an end or a price of its own under this verb: a volume, a file
    system, a static IP, a snapshot.

    `fate` is dies, bills-on or unknown. What could not be listed is one too, with the fate unknown.
    `price` is per hour.
    """

    id: str
    kind: str
    label: str
    fate: str
    price: Money | None = None
    note: str | None = None

    @property
    def key(self) -> str:
        """What tells it from every other: platforms number their kinds apart."""
        return f"{self.kind}:{self.id}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the results are not. `outside`: (directory, bytes) beside them that is large; None where
    nobody looked. `newest` is the youngest result, `newest_age` its age in seconds by the box's clock.
    """

    outside: tuple[tuple[str, int], ...] | None = None
    newest: str | None = None
    newest_age: float | None = None


@dataclass(frozen=True, slots=True)
class NotPulled:
    """What stands among the results on the box, has no bytes of its own and does not come home: links as (path,
    what it leads to among the results), and directories with nothing in them.
    """

    links: tuple[tuple[str, str], ...] = ()
    empty: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All of it."""
        return (*(path for path, _ in self.links), *(f"{path}/" for path in self.empty))


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be done to which machine. `provider` is a ProviderState.state.

    `console`: no control API will be called, a person gets the steps. `unresolved`: an earlier call
    whose end nobody saw. `basis` is the `basis_of` what the fleet file and the profile say.
    `ends_at` is the epoch second at which the provider takes the instance away by itself. `before`:
    every cell and directory that an earlier climb saw on this box, as the journal knows. `logins`:
    who else is logged in there, None where the box does not say. `price_after`: what is billed per hour
    once the verb is done, where the provider tells it.
    """

    instance: str
    verb: Verb
    identity: Identity
    provider: str
    console: bool
    read_only: bool
    results: str | None = None
    cells: Cells | None = None
    tiers: tuple[Tier, ...] = ()
    price: Money | None = None
    provider_error: str | None = None
    unresolved: str | None = None
    elsewhere: str | None = None  # why the provider's instance is not the box that was looked at
    seconds: tuple[SecondResource, ...] = ()
    basis: str = ""
    ends_at: float | None = None
    before: tuple[str, ...] = ()
    logins: tuple[str, ...] | None = None
    price_after: Money | None = None
    lacks: tuple[str, ...] = ()  # ids of tiers that this very instance has not, as its API says


@dataclass(frozen=True, slots=True)
class Quiet:
    """Work on the box. `running` None: the process table was not read. `busy`: files just written,
    None where that cannot be told. `cards`: those that work for nobody who is seen there, or do not say.
    """

    running: tuple[str, ...] | None
    busy: tuple[str, ...] | None = ()
    why: str | None = None
    cards: Cards = ()

    @property
    def at_work(self) -> tuple[str, ...] | None:
        """What works there, seen or not: what a park must be accepted with."""
        return at_work(self.running, self.cards)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A person accepted exactly this running work (a park only)."""

    running: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inventory:
    """Every result file on the box, hashed there. `refused`: (path, why) of what cannot be pulled;
    `directories`: what stands at the top there, empty or not. `older`: (cell, by how much)
    whose newest weights were written before its last start. `only`: the cells that a person named, where this is
    about those alone; `others` then are (cell or path, what it left).
    """

    manifest: Manifest
    identity: Identity
    cells: Cells | None
    refused: tuple[tuple[str, str], ...] = ()
    coverage: Coverage | None = None
    directories: tuple[str, ...] = ()
    left: NotPulled = NotPulled()
    older: tuple[tuple[str, str], ...] = ()
    only: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Pulled:
    """The files that are home under their final names; `failed`: (path, why). `aside`: paths where
    another file stood here, which was moved away and kept. `into`: the directory here.
    """

    files: int
    bytes: int
    failed: tuple[tuple[str, str], ...] = ()
    aside: tuple[str, ...] = ()
    into: str | None = None


@dataclass(frozen=True, slots=True)
class Matched:
    """Both sides read again after the pull. `stamps`: a digest over every path, size, time and inode
    of both sides, so that a file that was merely touched is noticed. `directories`: what stands at the
    top here. `memory`: mounts that the copies lie on and that are gone when this machine restarts. `kept`:
    SHA-256 of the manifest file that was written here.
    """

    remote: Manifest
    local: Manifest
    stamps: str = ""
    directories: tuple[str, ...] = ()
    left: NotPulled = (
        NotPulled()
    )  # on the box, as of this look; from here on `stamps` watch the links
    memory: tuple[str, ...] = ()
    kept: str = ""


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """What loading one file showed. `load` is ok, ok-remote, failed, incomplete, refused or skipped.

    ok-remote: the box's own torch loaded the bytes with this hash, a weaker proof. incomplete: another part of its
    set is not here. `blank`: every weight in it is `nan` (or infinite) or `zero`. `ranks`: how many parts its set has,
    as the file says; `points_to`: the step that it names. `needs` are the
    dotted names that a safe load refused. `nonfinite` is the share of weights that are NaN or infinite,
    None where none were read. `warnings` block nothing, but whoever confirms must have read them.
    """

    path: str
    sha256: str
    load: str
    detail: str = ""
    checkpoint: bool = False
    nonfinite: float | None = None
    needs: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    blank: str | None = None
    ranks: tuple[tuple[str, int], ...] = ()
    points_to: str | None = None


@dataclass(frozen=True, slots=True)
class Loaded:
    """The load verdict of every file of the manifest. `verifier` names what read them, with versions."""

    verdicts: tuple[FileVerdict, ...]
    verifier: str = ""


@dataclass(frozen=True, slots=True)
class Overridden:
    """A person allows, under the list of what that means, what a safe load here refused."""

    text: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A person saw what becomes of one second resource, or takes one exception. `resource_id` is its key."""

    resource_id: str
    typed: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Listed:
    """All paths below the results on the box, read after the climb was blocked.

    `sizes` are their bytes, None for what is no regular file; empty where nobody asked.
    """

    paths: tuple[str, ...]
    identity: Identity
    running: tuple[str, ...] | None
    sizes: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Typed:
    """The confirmation, and the digest of the evidence that was on screen while it was typed."""

    text: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The abandonment, typed under the list of what will be lost."""

    text: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Recheck:
    """Everything again, between the confirmation and the call. Times are boot seconds.

    `read_at`: when the last byte came of the program that looked last, after which the box is not asked again.
    `changing`: what changed on the box while that program ran, directories included. `touched` names files on
    the box that changed since this look began, `moved` those that were touched on either side since they were
    compared: for a person's eyes alone, no rule asks whether they are empty. `without_ctime`: (directory, file
    system) of results whose change times may not move, here or on the box, so that the look was made without.
    """

    began_at: float
    read_at: float
    read_only: bool
    identity: Identity
    provider: str
    running: tuple[str, ...] | None
    busy: tuple[str, ...] | None = ()
    elsewhere: str | None = None
    cells: Cells | None = None
    paths: tuple[str, ...] | None = None
    remote: Manifest | None = None
    local: Manifest | None = None
    seconds: tuple[SecondResource, ...] = ()
    basis: str = ""
    stamps: str = ""
    verifier: str = ""
    logins: tuple[str, ...] | None = None
    touched: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    cards: Cards = ()
    changing: tuple[str, ...] = ()
    without_ctime: tuple[tuple[str, str], ...] = ()

    @property
    def at_work(self) -> tuple[str, ...] | None:
        """As of `Quiet`."""
        return at_work(self.running, self.cards)


@dataclass(frozen=True, slots=True)
class IntentWritten:
    """The journal holds the intent durably; only now may the call leave."""

    evidence: str


@dataclass(frozen=True, slots=True)
class Unsent:
    """The permit ran out before a byte of the call was written."""


@dataclass(frozen=True, slots=True)
class ReadBack:
    """How it ended: gone, stopped, still-there, unknown or steps."""

    outcome: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Relocked:
    """Something changed, or somebody left: the climb is over."""

    reason: str


@dataclass(frozen=True, slots=True)
class Tick:
    """Nothing but time passed."""


Event = (
    Plan | Quiet | Accepted | Inventory | Pulled | Matched | Loaded | Listed | Overridden
    | Acknowledged | Typed | Abandoned | Recheck | IntentWritten | Unsent | ReadBack | Relocked | Tick
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Loss:
    """What an abandonment gives up. `proven` is what is safe at home all the same; `sizes` in bytes."""

    paths: tuple[str, ...]
    cells: tuple[str, ...]
    running: tuple[str, ...]
    proven: Manifest
    sizes: tuple[int | None, ...] = ()  # of `paths`; None where it is not known


def at_work(running: tuple[str, ...] | None, cards: Cards) -> tuple[str, ...] | None:
    """Running work and the cards at work, each named alike at every look: how much they do changes."""
    return None if running is None else (*running, *unseen_work(cards))


def unseen_work(cards: Cards) -> tuple[str, ...]:
    """The cards as work, in a person's words."""
    return tuple(f"{card} may work for somebody who is not seen there" for card, _ in cards)


def basis_of(instance: Instance, verb: Verb | None, tiers: tuple[Tier, ...]) -> str:
    """SHA-256 over what the fleet file and the profile say of a teardown. `verb` None: no such row now.

    What is only drawn (price, tags, the beat of the readings) is left out.
    """
    plain = replace(instance, price=None, tags=(), poll=1.0, stall_after=0.0)
    return hashlib.sha256(repr((plain, verb, tiers)).encode("utf-8", "replace")).hexdigest()


def stamps_of(there: Mapping[str, object], here: Mapping[str, object]) -> str:
    """SHA-256 over what `stat` said of every file on the box and of every copy here.

    Row by row: whoever asks from another thread must not keep the others waiting. No row holds a line end.
    """
    digest = hashlib.sha256()
    for side in (there, here):
        digest.update(b"side\n")
        for path in sorted(side):
            digest.update(f"{path!r} {side[path]!r}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
