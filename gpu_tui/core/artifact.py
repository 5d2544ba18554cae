"""Where a cell's artifact lies on the box, and whether it is there. Pure.

Two layouts are known. In the first, run_one.sh trains into `<data>/checkpoints/<name>` and copies what
lasts to `<durable>/<name>`, which the fleet file names as the results. In the second, the results are the
directory `<project>/export`: a run works in `active/<id>`, is gathered in `export/.partial/<id>`, and is
complete when it was renamed to `export/<id>`; what is in `quarantine/<id>` was set aside, not thrown away.
An id is the cell's name, or the name and a time: `baseline-20260103T101500Z`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from gpu_tui.core.fleet import Instance
from gpu_tui.core.required import COPIED, SEALED, Required, holders, names_of, required_of

CELL = "{cell}"
SCRIPT_LOGS = "runs/logs/{cell}.log"  # where run_one.sh logs; its checkpoints lie beside
LATEST = "latest.pth"  # of a run that still trains


@dataclass(frozen=True, slots=True)
class Found:
    """`there`: the finished artifact is where it belongs. `why` says where it is instead."""

    there: bool
    why: str | None = None
    run: str | None = None  # the id of the run that it is of


@dataclass(frozen=True, slots=True)
class Layout:
    """The directories of one box. `results` is what is pulled; `project` only in the second layout."""

    results: str | None = None
    checkpoints: str | None = None
    project: str | None = None
    required: Required = COPIED

    def patterns(self) -> tuple[str, ...]:
        """The paths whose presence tells how far a cell's artifact has come; `{cell}` is any name."""
        files, weights = _patterns(self.required.files), _patterns(self.required.weights)
        if self.project is not None:
            root = f"{self.project}/"
            return (
                *(f"{root}{SEALED}/{CELL}/{name}" for name in (*weights, "run.json")),
                f"{root}{SEALED}/.partial/{CELL}",
                *(f"{root}active/{CELL}/{name}" for name in (*weights, LATEST, "train.csv")),
                f"{root}quarantine/{CELL}",
            )
        found = []
        if self.results:
            found += [f"{self.results}/{CELL}/{name}" for name in files]
        if self.checkpoints:
            found += [f"{self.checkpoints}/{CELL}/{name}" for name in (*weights, LATEST)]
        return tuple(found)

    @property
    def homes(self) -> tuple[str, ...]:
        """The directories in which a cell has one of its own while it trains."""
        if self.project is not None:
            return (f"{self.project}/active",)
        return tuple(root for root in (self.results, self.checkpoints) if root)

    def metrics_files(self) -> tuple[str, ...]:
        """The files that hold the metrics of a finished cell, the best source first."""
        roots = (self.results,) if self.project is not None else (self.results, self.checkpoints)
        names = _patterns(self.required.metrics[:1])
        return tuple(f"{root}/{CELL}/{n}" for n in names for root in dict.fromkeys(roots) if root)

    def look(self, paths: Collection[str]) -> Shelf:
        """What of it is there, for many questions about one table of files."""
        stages: dict[str, Mapping[str, list[str]]] = {}
        if self.project is not None:
            for stage in (SEALED, f"{SEALED}/.partial", "active", "quarantine"):
                stages[stage] = _by_name(_ids(paths, f"{self.project}/{stage}/"))
        starred = {
            (root, file): holders(file, paths, f"{root}/")
            for root in (self.results, self.checkpoints)
            for file in self.required.weights
            if root and "*" in file
        }
        return Shelf(self, paths, starred, stages)


@dataclass(frozen=True, slots=True)
class Shelf:
    """The artifacts that one table of files shows."""

    layout: Layout
    paths: Collection[str]
    _starred: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    _stages: Mapping[str, Mapping[str, list[str]]] = field(default_factory=dict)

    def find(self, name: str) -> Found | None:
        """The artifact of one cell; None where no directory for results is known."""
        layout = self.layout
        if layout.results is None:
            return None
        if layout.project is not None:
            return self._sealed(name, layout.project)
        if self._holds(layout.results, name):
            return Found(True, run=name)
        if layout.checkpoints and self._holds(layout.checkpoints, name):
            return Found(False, f"{self._weights} is only in {layout.checkpoints}/{name}")
        return Found(False, f"there is no {self._weights} in {layout.results}/{name}")

    @property
    def _weights(self) -> str:
        return " and ".join(self.layout.required.weights)

    def _holds(self, root: str, run: str) -> bool:
        """All its weights are in this directory of runs."""
        return all(
            run in self._starred[root, file]
            if "*" in file
            else f"{root}/{run}/{file}" in self.paths
            for file in self.layout.required.weights
        )

    def _sealed(self, name: str, project: str) -> Found:
        for run in self._runs(SEALED, name):
            if self._holds(f"{project}/{SEALED}", run):
                return Found(True, run=run)
        for stage, words in (
            ("quarantine", "it was put into quarantine"),
            (f"{SEALED}/.partial", "its export is not complete"),
            ("active", "it was never sealed"),
            (SEALED, f"its export holds no {self._weights}"),
        ):
            if runs := self._runs(stage, name):
                return Found(False, f"{words}: {project}/{stage}/{runs[0]}")
        return Found(False, f"no run of it in {project}/{SEALED}")

    def _runs(self, stage: str, name: str) -> list[str]:
        """Ids of this cell's runs, the newest first: times sort as they read."""
        return sorted(self._stages.get(stage, {}).get(name, ()), reverse=True)


def layout_of(instance: Instance) -> Layout:
    """The layout of an instance, by the paths that its fleet file or its profile names."""
    remote = instance.results.remote
    results = remote.rstrip("/") if remote else None
    required = required_of(instance.results)
    if results and required.timed:
        return Layout(results, project=results.removesuffix(f"/{SEALED}"), required=required)
    checkpoints = None
    if instance.logs and instance.logs.endswith(f"/{SCRIPT_LOGS}"):
        checkpoints = instance.logs.removesuffix(SCRIPT_LOGS) + "checkpoints"
    return Layout(results, None if checkpoints == results else checkpoints, required=required)


def _patterns(files: Iterable[str]) -> tuple[str, ...]:
    return tuple(file.replace("*", CELL) for file in files)


def _ids(paths: Iterable[str], root: str) -> set[str]:
    return {path[len(root) :].split("/", 1)[0] for path in paths if path.startswith(root)} - {
        ".partial"
    }


def _by_name(ids: Iterable[str]) -> defaultdict[str, list[str]]:
    """Ids by the cell that they may be of."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for run in ids:
        for name in names_of(run):
            found[name].append(run)
    return found
