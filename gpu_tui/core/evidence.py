"""What the runner saw on the way up the gate: immutable, whole, and each piece says where it ends.

None always means "not known", and what is not known never opens anything. Times are boot seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu_tui.core.fleet import Money
from gpu_tui.core.manifest import Manifest
from gpu_tui.core.profile import Tier, Verb


@dataclass(frozen=True, slots=True)
class Identity:
    """Which machine this is: the provider's id, the host key it showed, its boot."""

    provider_id: str | None = None
    host_key: str | None = None
    boot_id: str | None = None


@dataclass(frozen=True, slots=True)
class Cells:
    """The queue as its file and log say now. `doubtful`: lines that are no cell, names twice."""

    finished: tuple[str, ...] = ()
    unfinished: tuple[tuple[str, str], ...] = ()  # (name, state)
    doubtful: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Every cell of the roster."""
        return self.finished + tuple(name for name, _ in self.unfinished)


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be done to which machine. `provider` is a ProviderState.state.

    `console`: no control API will be called, a person gets the steps. `unresolved`: an earlier call
    whose end nobody saw.
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


@dataclass(frozen=True, slots=True)
class Quiet:
    """Work on the box. `running` None: the process table was not read. `busy`: files just written,
    None where that cannot be told.
    """

    running: tuple[str, ...] | None
    busy: tuple[str, ...] | None = ()
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """A person accepted exactly this running work (a park only)."""

    running: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inventory:
    """Every result file on the box, hashed there. `refused`: (path, why) of what cannot be pulled."""

    manifest: Manifest
    identity: Identity
    cells: Cells | None
    refused: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Pulled:
    """The files that are home under their final names; `failed`: (path, why)."""

    files: int
    bytes: int
    failed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Matched:
    """Both sides read again after the pull."""

    remote: Manifest
    local: Manifest


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """What loading one local file showed. `load` is ok, failed, refused or skipped.

    `nonfinite` is the share of weights that are NaN or infinite, None where none were read.
    """

    path: str
    sha256: str
    load: str
    detail: str = ""
    checkpoint: bool = False
    nonfinite: float | None = None


@dataclass(frozen=True, slots=True)
class Loaded:
    """The load verdict of every file of the manifest."""

    verdicts: tuple[FileVerdict, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """All paths below the results on the box, read after the climb was blocked."""

    paths: tuple[str, ...]
    identity: Identity
    running: tuple[str, ...] | None


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
    """Everything again, between the confirmation and the call. Times are boot seconds."""

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


@dataclass(frozen=True, slots=True)
class IntentWritten:
    """The journal holds the intent durably; only now may the call leave."""

    evidence: str


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
    Plan | Quiet | Accepted | Inventory | Pulled | Matched | Loaded | Listed | Typed | Abandoned
    | Recheck | IntentWritten | ReadBack | Relocked | Tick
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Loss:
    """What an abandonment gives up. `proven` is what is safe at home all the same."""

    paths: tuple[str, ...]
    cells: tuple[str, ...]
    running: tuple[str, ...]
    proven: Manifest
