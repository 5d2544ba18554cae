"""The roster of files to bring home, and the comparison of two such rosters. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

FROM_BOX = ".from-box"
# Names by which a machine that pulled says what it proved, as a disk that is blind to case reads them.
_PROOF = re.compile(rf"pull_(?:verified|manifest)\.json(?:{re.escape(FROM_BOX)})*\Z", re.IGNORECASE)


def home_path(path: str) -> str:
    """The path that a file of the box gets here: its own, unless that reads as a proof of this machine.

    No two paths share one: a file that is called `NAME.from-box` already gets the suffix once more.
    """
    return path + FROM_BOX if _PROOF.match(path) else path


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One regular file: path relative to the result root with `/`, size in bytes, SHA-256 in hex."""

    path: str
    bytes: int
    sha256: str

    @property
    def at_home(self) -> FileEntry:
        """The same file under the path that it gets here."""
        return replace(self, path=home_path(self.path)) if _PROOF.match(self.path) else self


@dataclass(frozen=True, slots=True)
class Manifest:
    """All result files of one instance, sorted by path."""

    files: tuple[FileEntry, ...] = ()

    @classmethod
    def of(cls, files: Iterable[FileEntry]) -> Manifest:
        """A manifest in canonical order."""
        return cls(tuple(sorted(files, key=lambda file: file.path)))

    @property
    def total_bytes(self) -> int:
        """Sum of all sizes."""
        return sum(file.bytes for file in self.files)

    @property
    def at_home(self) -> Manifest:
        """The same files under the paths that they get here."""
        if not self.renamed:
            return self
        return Manifest.of(file.at_home for file in self.files)

    @property
    def renamed(self) -> tuple[str, ...]:
        """The paths that are other ones here."""
        return tuple(file.path for file in self.files if _PROOF.match(file.path))

    @property
    def digest(self) -> str:
        """SHA-256 over the sorted (path, size, hash) rows: the identity of this evidence."""
        text = "\n".join(f"{file.path}\t{file.bytes}\t{file.sha256}" for file in self.files)
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True, slots=True)
class MatchReport:
    """Two manifests compared. `ok` needs every list empty and at least one file."""

    matched: int
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()
    missing_cells: tuple[str, ...] = field(default_factory=tuple)

    @property
    def ok(self) -> bool:
        """True only where something was compared and nothing differs."""
        wrong = self.missing or self.unexpected or self.differing or self.missing_cells
        return self.matched > 0 and not wrong


def compare(remote: Manifest, local: Manifest, cells: Iterable[str] = ()) -> MatchReport:
    """Compare what the box has with what is here; `cells` must each have a directory in it."""
    there = {file.path: file for file in remote.files}
    roots = {path.partition("/")[0] for path in there}
    missing_cells = tuple(sorted(set(cells) - roots))
    if (
        remote.files == local.files
    ):  # as it is to be: a hundred thousand files take a tenth of the time
        return MatchReport(len(there), missing_cells=missing_cells)
    here = {file.path: file for file in local.files}
    common = there.keys() & here.keys()
    differing = tuple(sorted(path for path in common if there[path] != here[path]))
    return MatchReport(
        matched=len(common) - len(differing),
        missing=tuple(sorted(there.keys() - here.keys())),
        unexpected=tuple(sorted(here.keys() - there.keys())),
        differing=differing,
        missing_cells=missing_cells,
    )


# What must be loaded before it counts as safe. Everything else is data: equal bytes are enough.
CHECKPOINT_SUFFIXES = frozenset(
    {
        *(".pth", ".pt", ".ckpt", ".bin", ".th", ".safetensors", ".pkl", ".pickle", ".distcp"),
        *(".keras", ".h5", ".hdf5", ".msgpack"),
    }
)
# Arrays of numpy: weights where nothing else of a cell is, the likelier ones first; data otherwise.
ARRAY_SUFFIXES = (".npz", ".npy")
# They hold whatever a program puts there: weights only where floats are in them.
MIXED_SUFFIXES = (*ARRAY_SUFFIXES, ".h5", ".hdf5", ".keras", ".msgpack")


# What trainers keep beside the weights under names of their own: nothing of it must be a tensor.
COMPANION = re.compile(
    r"(scheduler(_\d+)?\.(pt|bin)|scaler(_\d+)?\.(pt|bin)|training_args\.bin|sampler(_\d+)?\.bin"
    r"|random_states_\d+\.pkl|rng_state(_\d+)?\.(pth|pt))",
    re.ASCII,
)


# What is said of a file that reads well, and never stands for the weights of anything.
NO_WEIGHTS = "an optimizer's numbers are in it, and not one weight"


def must_load(path: str) -> bool:
    """True where the name says checkpoint or metrics: a file whose bytes alone prove too little.

    A proof that the box wrote of itself is data: it proves nothing here, readable or not.
    """
    if _PROOF.match(path):
        return False
    name = path.rsplit("/", 1)[-1].lower()
    return name.endswith((*CHECKPOINT_SUFFIXES, ".json")) or name == ".metadata"


def is_checkpoint(path: str) -> bool:
    """True where the name says that weights are in it."""
    return must_load(path) and not path.lower().endswith(".json")
