"""What every cell must leave in its directory of the results, and which directories are a cell's. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace

from gpu_tui.core.fleet import Results
from gpu_tui.core.manifest import is_checkpoint

SEALED = "export"  # the last part of a results directory into which whole runs are renamed
INDEX = ".index.json"  # of a model in shards: it is loaded with all of them
_TIME = re.compile(r"[-_.@](?=[0-9]{8}[0-9TZ:_.+-]{0,24}\Z)")


@dataclass(frozen=True, slots=True)
class Required:
    """`files` are paths below a cell's directory. A `*` stands for any part of one name, as in a shell: not for
    a dot that it begins with. `timed`: a run's directory may be called by its cell and a time, as
    `baseline-20260103T101500Z`.
    """

    files: tuple[str, ...]
    timed: bool = False

    @property
    def weights(self) -> tuple[str, ...]:
        """Those of the files that hold weights."""
        return tuple(file for file in self.files if names_weights(file))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Those of the files that hold numbers for people."""
        return tuple(f for f in self.files if f.endswith(".json") and not names_weights(f))

    def cell_of(self, directory: str, cells: Container[str]) -> str | None:
        """Whose of these cells a directory is; of two that fit, the longer name."""
        if directory in cells:
            return directory
        times = reversed([*_TIME.finditer(directory)]) if self.timed else ()
        names = (directory[: time.start()] for time in times)
        return next((name for name in names if name in cells), None)


COPIED = Required(("best.pth", "best_metrics.json"))  # by run_one.sh
EXPORTED = Required(("best.pth", "test/*/metrics.json", "run.json"), timed=True)  # a sealed run


def required_of(results: Results) -> Required:
    """As the fleet file says, else by the layout that the name of the results directory tells."""
    sealed = (results.remote or "").rstrip("/").rsplit("/", 1)[-1] == SEALED
    usual = EXPORTED if sealed else COPIED
    return replace(usual, files=results.artifacts) if results.artifacts else usual


def names_weights(file: str) -> bool:
    """True where the name says that loading it loads weights."""
    return is_checkpoint(file) or file.endswith(INDEX)


def holders(file: str, paths: Iterable[str], root: str = "") -> frozenset[str]:
    """The directories right below `root` in which one of these paths is such a file."""
    name = re.escape(file).replace(r"\*", "[^/]*")
    name = re.sub(r"(?:^|(?<=/))(?=\[\^/\]\*)", r"(?!\\.)", name)
    fits = re.compile(f"{re.escape(root)}([^/]+)/{name}", re.DOTALL).fullmatch
    return frozenset(match[1] for path in paths if (match := fits(path)))
