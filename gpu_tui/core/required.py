"""What every cell must leave in its directory of the results, and which directories are a cell's. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from gpu_tui.core.fleet import Results
from gpu_tui.core.manifest import ARRAY_SUFFIXES, COMPANION, is_checkpoint

SEALED = "export"  # the last part of a results directory into which whole runs are renamed
INDEX = ".index.json"  # of a model in shards: it is loaded with all of them
_TIME = re.compile(
    r"[-_.@](?=20[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9TZ:_.+-]{0,24}\Z)"
)
# It has the suffix of weights and holds what goes on with the training: a star never takes it for weights.
_STATE = re.compile(
    rf"(?:\A|/)(?:{COMPANION.pattern}|[^/]*optim_states\.pt"
    r"|(?:optimizer|opt_state)(?:_\d+)?\.(?:pt|pth|bin|h5|hdf5|msgpack|npz|npy)"
    r"|optimizer(?:_\d+)?/(?:\.metadata|[^/]+\.distcp))\Z",
    re.ASCII | re.IGNORECASE,
)
_ANY_ARRAY = (*ARRAY_SUFFIXES, ".h5", ".hdf5", ".pkl", ".pickle")
_BESIDE_MODEL = re.compile(
    r"(?:\A|[/_.-])(?:ema\w*|optim\w*|opt_?state|(?:lr_)?scheduler|scaler|rng)(?=[/_.-])"
)
# Trainers and uploads write under such names until they are done: no star stands for them.
_BEGUN = r"(?!\.|(?i:tmp[-_.]))"
_HALF = "".join(
    rf"(?<!(?i:[-_.]{end}))" for end in ("tmp", "temp", "part", "partial", "incomplete")
)


@dataclass(frozen=True, slots=True)
class Required:
    """`files` are paths below a cell's directory. A `*` stands for any part of one name, as in a shell: not for
    a dot that it begins with, and not for the mark of a file under way, as in `checkpoint-500.tmp`. `timed`: a
    run's directory may be called by its cell and a time, as `baseline-20260103T101500Z`.
    """

    files: tuple[str, ...]
    timed: bool = False

    @property
    def weights(self) -> tuple[str, ...]:
        """Those of the files that hold weights; arrays of numpy only where no other file does."""
        return _weights(self.files)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Those of the files that hold numbers for people."""
        return tuple(f for f in self.files if f.endswith(".json") and not names_weights(f))

    def cell_of(self, directory: str, cells: Container[str]) -> str | None:
        """Whose of these cells a directory is; of two that fit, the longer name."""
        names = names_of(directory) if self.timed else (directory,)
        return next((name for name in names if name in cells), None)


@lru_cache(64)  # asked for each cell of a sweep at every look
def _weights(files: tuple[str, ...]) -> tuple[str, ...]:
    if named := tuple(file for file in files if names_weights(file)):
        return named
    arrays = tuple(file for file in files if names_arrays(file))
    kinds = (tuple(f for f in arrays if f.lower().endswith(end)) for end in ARRAY_SUFFIXES)
    return next(filter(None, kinds), ())


COPIED = Required(("best.pth", "best_metrics.json"))  # by run_one.sh
EXPORTED = Required(("best.pth", "test/*/metrics.json", "run.json"), timed=True)  # a sealed run


def required_of(results: Results) -> Required:
    """As the fleet file says, else by the layout that the name of the results directory tells."""
    sealed = (results.remote or "").rstrip("/").rsplit("/", 1)[-1] == SEALED
    usual = EXPORTED if sealed else COPIED
    return replace(usual, files=results.artifacts) if results.artifacts else usual


def names_of(directory: str) -> Iterator[str]:
    """The cells that a sealed run may be of, the longest name first: an id may also be a name as it stands."""
    yield directory
    for time in reversed([*_TIME.finditer(directory)]):
        yield directory[: time.start()]


def names_weights(file: str) -> bool:
    """True where the name says that loading it loads weights."""
    return not is_state(file) and (is_checkpoint(file) or file.lower().endswith(INDEX))


def names_arrays(file: str) -> bool:
    """True where the name says that arrays of numpy are in it, which may be weights."""
    return not is_state(file) and file.lower().endswith(ARRAY_SUFFIXES)


def is_state(file: str) -> bool:
    """True where the name says that it goes on with a training, and is never taken for weights."""
    return _STATE.search(file.replace("*", "0")) is not None


def is_model(path: str) -> bool:
    """True where nothing in the name speaks against a model: no data, no average, no state of a training."""
    low = path.lower()
    data = low.endswith(_ANY_ARRAY) and not low.endswith(".weights.h5")
    return not (data or is_state(path) or _BESIDE_MODEL.search(low))


def holders(file: str, paths: Iterable[str], root: str = "") -> frozenset[str]:
    """The directories right below `root` in which one of these paths is such a file."""
    return frozenset(directory for directory, _ in holding(file, paths, root))


def holding(file: str, paths: Iterable[str], root: str = "") -> Iterator[tuple[str, str]]:
    """(directory right below `root`, path) of each of these paths that is such a file."""
    _, _, tail = file.rpartition("*")  # most of many paths end otherwise: that is looked at first
    name = "/".join(map(_part, file.split("/")))
    fits = re.compile(f"{re.escape(root)}([^/]+)/({name})", re.DOTALL).fullmatch
    weights = names_weights(file) or names_arrays(file)
    for path in paths:
        if not path.endswith(tail) or (match := fits(path)) is None:
            continue
        if not (weights and _STATE.search(match[2])):
            yield match[1], path


def _part(part: str) -> str:
    """One name of a path as a regular expression."""
    head, star, tail = map(re.escape, part.partition("*"))
    if not star:
        return head
    return f"{'' if head else _BEGUN}{head}[^/]*{tail or _HALF}"
