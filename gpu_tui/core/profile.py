"""One platform's facts, as its `profiles/<id>.md` states them. Nothing here is a guess: every fact
has a source, a month and a confidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date

STALE_FACT_MONTHS = 6
MOUNTS = "<mounts>"  # a tier's path: whatever the fleet file names as mounts


@dataclass(frozen=True, slots=True)
class Tier:
    """One storage tier. None in `survives_*` means that it is not known, and counts as "no"."""

    id: str
    path: str
    survives_stop: bool | None
    survives_destroy: bool | None
    label: str | None = None
    size: str | None = None
    speed: str | None = None
    inode_cap: str | None = None
    bills_when_stopped: str | None = None
    region_locked: bool = False
    note: str | None = None
    applies_to: tuple[str, ...] = ()  # variants that have this tier; empty = all

    @property
    def place(self) -> str | None:
        """Its path or, where the profile has words for one (`<anywhere else>`), those; None where nobody knows."""
        if self.path in (MOUNTS, "<mount>"):
            return None
        return self.path.strip("<>") if self.path.startswith("<") else self.path


@dataclass(frozen=True, slots=True)
class ClockFact:
    """One danger clock of the platform. `after` is seconds, or None where no duration is known."""

    id: str
    when: str  # running | stopped | account | storage | reading
    anchor: str  # stopped_at | created_at | last_contact | balance | rental_end | reading | signal | manual
    after: float | None
    effect: str  # destroys | stops | bills
    loses: tuple[str, ...]
    severity: str  # critical | high | medium | low
    avoid: str
    source: str
    verified: str  # YYYY-MM
    confidence: str  # high | medium | low
    applies_to: tuple[str, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Verb:
    """One teardown verb and what it really does here.

    `meter` is stops, partly or continues; `deletes` are tier ids; `via` is http, ssh, cli or console.
    `park` is true only where the profile row says that the verb deletes nothing.
    """

    verb: str
    label: str
    deletes: tuple[str, ...]
    meter: str
    reversible: bool
    via: str
    effect: str = "stop"  # stop | destroy
    applies_to: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()  # for a console verb: what to click, in order
    note: str | None = None
    source: str | None = None
    verified: str | None = None
    confidence: str | None = None

    def concerns(self, tier: Tier) -> bool:
        """True unless this row is about variants that do not have the tier at all."""
        return meet(self.applies_to, tier.applies_to)

    @property
    def key(self) -> str:
        """What tells the rows of one verb apart: a platform may offer it by more than one way."""
        return f"{self.verb}:{self.via}"

    @property
    def park(self) -> bool:
        """True when the row says that nothing is deleted and that it can be undone."""
        return self.reversible and not self.deletes and self.effect == "stop"


@dataclass(frozen=True, slots=True)
class Gotcha:
    """Symptom, cause, fix, under the platform's own id (AD4, RP8)."""

    id: str
    symptom: str
    cause: str
    fix: str


@dataclass(frozen=True, slots=True)
class Proof:
    """What one fact rests on. `part` is the frontmatter's key, `name` the row's id, verb or number;
    `line` (from 1) is where the month stands.
    """

    part: str
    name: str
    source: str
    verified: str  # YYYY-MM
    confidence: str  # high | medium | low
    line: int

    @property
    def where(self) -> str:
        """The fact, as `clocks autodl-release-15d`."""
        return f"{self.part} {self.name}".strip()


@dataclass(frozen=True, slots=True)
class Sign:
    """What only a box of this platform has: `file`, a path that is there, or `env`, a variable of the container's."""

    platform: str
    kind: str  # file | env
    name: str


@dataclass(frozen=True, slots=True)
class Profile:
    """The whole profile: machine-readable facts, and the prose in eight sections."""

    id: str
    title: str
    kind: str
    storage: tuple[Tier, ...] = ()
    clocks: tuple[ClockFact, ...] = ()
    conveniences: tuple[str, ...] = ()
    teardown: tuple[Verb, ...] = ()
    gotchas: tuple[Gotcha, ...] = ()
    overrides: Mapping[str, str | None] = field(default_factory=dict)
    currency: str | None = None
    facts: Mapping[str, object] = field(default_factory=dict)  # the whole frontmatter
    body: str = ""
    path: str | None = None
    proofs: tuple[Proof, ...] = ()
    signs: tuple[Sign, ...] = ()

    def tier(self, id: str) -> Tier | None:
        """The tier called `id`."""
        return next((tier for tier in self.storage if tier.id == id), None)

    def tiers_under(self, verb: Verb, variant: str | None) -> tuple[Tier, ...]:
        """The tiers that an instance of `variant` (None: nobody said) has when `verb` is used on it."""
        having = (variant,) if variant else verb.applies_to
        return tuple(tier for tier in self.storage if meet(tier.applies_to, having))


def placed(tiers: tuple[Tier, ...], mounts: tuple[str, ...]) -> tuple[Tier, ...]:
    """The tiers with what the fleet file names as `mounts` of the instance where a profile leaves that open."""
    named = ", ".join(mounts)
    return tuple(
        replace(tier, path=named) if named and tier.path == MOUNTS else tier for tier in tiers
    )


FALLBACK_PLATFORM = "generic-ssh"
LOGIN_NODE = "slurm"  # the platform of boxes that hand out jobs and compute nothing


def scheduler_of(profile: Profile) -> str | None:
    """Who runs the jobs there, where nothing else is said: a login node without its Slurm would show nobody's work."""
    return "slurm" if profile.kind == "slurm" else None


def all_signs(profiles: Mapping[str, Profile]) -> tuple[Sign, ...]:
    """What a box may show of which platform it is."""
    return tuple(sign for profile in profiles.values() for sign in profile.signs)


def meet(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two `applies_to` have a variant in common; an empty one means all of them."""
    return not one or not other or not set(one).isdisjoint(other)


def fact_is_stale(verified: str, today: date) -> bool:
    """True where a `YYYY-MM` lies more than six months back, or is not a month at all."""
    try:
        year, month = int(verified[:4]), int(verified[5:7])
    except ValueError:
        return True
    return (today.year - year) * 12 + today.month - month > STALE_FACT_MONTHS
