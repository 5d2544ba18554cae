"""What verdicts and rosters prove, in a person's words. Pure; the rules that use it stand in `gate`."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from gpu_tui.core.evidence import Cells, FileVerdict, Inventory
from gpu_tui.core.manifest import (
    FROM_BOX,
    MIXED_SUFFIXES,
    NO_WEIGHTS,
    Manifest,
    MatchReport,
    compare,
    is_checkpoint,
    must_load,
)
from gpu_tui.core.plain import plain
from gpu_tui.core.required import Required, holders, holding, is_model

# What the box said of its own results, as it came home. gpu-tui writes no file of the names without the suffix.
NOTES = frozenset({f"PULL_MANIFEST.json{FROM_BOX}", f"PULL_VERIFIED.json{FROM_BOX}"})
UNDER_WAY = ".tmp"
# How the queue's log tells that a cell began and did not come to its end. What is not known is none of it.
NO_END = "no end line"
# run_one.sh trained it, and what lies there may be older.
NO_COPY = "exit 2, as after a copy that failed"
ILL = re.compile(rf"exit -?[0-9]{{1,9}}|{NO_END}")
BLANK = {"nan": "no weight in it is finite", "zero": "every weight in it is zero"}
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ASTRAY = re.compile(
    r"(?:\A|/)\.{0,2}(?:/|\Z)"
)  # a part of a path that is none, or leads elsewhere


def proves(verdict: FileVerdict, *, on_box: bool = False) -> bool:
    """True where the file was loaded, or is no checkpoint and needs only its hash.

    `on_box`: a person takes a load by the box's own torch for one, though it proves less.
    """
    if verdict.checkpoint or must_load(verdict.path):
        return verdict.load == "ok" or (on_box and verdict.load == "ok-remote")
    return verdict.load in ("ok", "skipped")


def weighed(verdicts: Sequence[FileVerdict], required: Required) -> tuple[FileVerdict, ...]:
    """The verdicts, where files stand for the cells' weights: one that holds an optimizer and no model proves
    nothing, and of those that may hold anything neither does the hash alone, nor one without a number to look at.
    `blank` is left to weights: data, an average or an optimizer's state may well be zero.
    """
    paths = [verdict.path for verdict in verdicts]
    standing = {path for file in required.weights for _, path in holding(file, paths)}

    def judged(verdict: FileVerdict) -> FileVerdict:
        if verdict.path not in standing:
            return verdict if is_model(verdict.path) else replace(verdict, blank=None)
        mixed = verdict.path.lower().endswith(MIXED_SUFFIXES)
        empty = NO_WEIGHTS in verdict.warnings or (mixed and verdict.nonfinite is None)
        if verdict.load == "ok" and empty:
            verdict = replace(verdict, load="failed", detail="there is not one weight in it")
        return replace(verdict, checkpoint=True) if mixed else verdict

    return tuple(judged(verdict) for verdict in verdicts)


def blank_of(verdict: FileVerdict) -> str | None:
    """Why nothing can come of these weights, in a person's words; None where something can."""
    return None if verdict.blank is None else BLANK[verdict.blank]


def holds_weights(verdict: FileVerdict) -> bool:
    """True where the content or the name says that it is a checkpoint."""
    return verdict.checkpoint or is_checkpoint(verdict.path)


def misnamed(manifest: Manifest) -> tuple[str, ...]:
    """Rows of a manifest that no honest list has: a path that leaves the results or stands twice, a hash
    that is none.
    """
    twice = {path for path, count in Counter(f.path for f in manifest.files).items() if count > 1}
    return tuple(
        file.path or "a file without a name"
        for file in manifest.files
        if file.path in twice
        or not _SHA256.fullmatch(file.sha256)
        or file.bytes < 0
        or _ASTRAY.search(file.path)
    )


def beside(path: str) -> bool:
    """True for a local file that may lie among the results and is none of them."""
    return path in NOTES or path.endswith(UNDER_WAY)


def home(there: Manifest, here: Manifest) -> MatchReport:
    """The comparison that the gate and `gpu-tui verify` share: exact both ways, but for files under way, and
    what the box once said of its results, that are only here.
    """
    return compare(there, here if here.files == there.files else _results(there, here))


def _results(there: Manifest, here: Manifest) -> Manifest:
    wanted = {file.path for file in there.files}
    return Manifest(tuple(f for f in here.files if f.path in wanted or not beside(f.path)))


@dataclass(frozen=True, slots=True)
class Cover:
    """Cells held against directories, both ways, each with the artifacts that it lacks: `incomplete`
    cells, and directories at the top that no cell is called.
    """

    incomplete: tuple[tuple[str, tuple[str, ...]], ...]
    unnamed: tuple[tuple[str, tuple[str, ...]], ...]


def cover(
    names: Iterable[str], required: Required, files: Manifest, directories: Iterable[str] = ()
) -> Cover:
    """The roster of directories, for the gate and for `gpu-tui verify`: every cell has one with its
    artifacts, and there is no other. `directories`: those that may hold no file at all.
    """
    paths = [file.path for file in files.files]
    holding = {part: holders(part, paths) for part in required.files}
    cells = dict.fromkeys(names)
    runs: dict[str | None, list[str]] = defaultdict(list)
    for directory in sorted({*directories, *tops(files)}):
        runs[required.cell_of(directory, cells)].append(directory)

    def lacks(directory: str) -> tuple[str, ...]:
        return tuple(part for part, having in holding.items() if directory not in having)

    def absent(name: str) -> tuple[str, ...]:
        """Of the first of its runs that is not whole."""
        for run in runs.get(name, (name,)):
            if parts := lacks(run):
                return parts if run == name else tuple(f"{part} in {run}" for part in parts)
        return ()

    return Cover(
        incomplete=tuple((name, parts) for name in cells if (parts := absent(name))),
        unnamed=tuple((directory, lacks(directory)) for directory in runs[None]),
    )


def tops(files: Manifest) -> frozenset[str]:
    """The directories at the top that hold a file somewhere below."""
    return frozenset(file.path.split("/", 1)[0] for file in files.files if "/" in file.path)


def ended_ill(cells: Cells, covered: Cover) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The cells that lack artifacts because they began and never came to their end, as the queue's own log
    tells: each with what it lacks. None where no other cell is whole: then nothing shows that the results are
    looked for at the right place, and giving up all of it is said as that.
    """
    states = dict(cells.unfinished)
    if len(covered.incomplete) >= len(set(cells.names)):
        return ()
    return tuple(
        (name, absent) for name, absent in covered.incomplete if ILL.fullmatch(states.get(name, ""))
    )


def missing_artifacts(cells: Cells, covered: Cover, asked: Container[str] = ()) -> tuple[str, ...]:
    """What each cell should have left and did not, in a person's words. `asked`: cells that a person is asked
    about by name.
    """
    states = dict(cells.unfinished)
    return tuple(
        f"{name} ({states.get(name, 'finished')}): no {' and no '.join(absent)}"
        for name, absent in covered.incomplete
        if name not in asked
    )


def unproven(cells: Cells, proven: Manifest, directories: Iterable[str] = ()) -> tuple[str, ...]:
    """The cells whose artifacts are not all proven to be at home: pulled is not yet proven. `directories`
    stand at the top on the box.
    """
    states = dict(cells.unfinished)
    return tuple(
        f"{name} ({states.get(name, 'finished')}): {' and '.join(absent)} not proven here"
        for name, absent in cover(cells.names, cells.required, proven, directories).incomplete
    )


def cells_refusal(cells: Cells, covered: Cover, asked: Container[str] = ()) -> str | None:
    """Why the roster does not show that every cell is among the files, or None. `asked`: cells that a person
    must accept by name before anything is destroyed.
    """
    if not cells.names:
        return "the queue file names no cell"
    if cells.doubtful:
        return f"the queue file is in doubt: {some(cells.doubtful)}"
    if absent := missing_artifacts(cells, covered, asked):
        return f"cells without their artifacts: {some(absent)}"
    return None


def shrunk(before: Cells | None, inventory: Inventory) -> tuple[str, ...]:
    """The cells that the queue named when the climb began and does not name any more."""
    if before is None:
        return ()
    now = set(inventory.cells.names if inventory.cells else ())
    return tuple(name for name in before.names if name not in now)


def by_reason(verdicts: Sequence[FileVerdict]) -> str:
    """Each reason once, with the first files that have it: one missing reader must not fill a screen."""
    reasons: dict[str, list[str]] = {}
    for verdict in verdicts:
        reasons.setdefault(verdict.detail or verdict.load, []).append(verdict.path)
    return "; ".join(f"{some(paths)} ({plain(why)})" for why, paths in reasons.items())


def changed(
    known: Manifest,
    now: Manifest | None,
    paths: Iterable[str] | None = None,
    touched: Iterable[str] = (),
) -> list[str]:
    """The files that are not as they were known, by all that was seen of them; empty where nobody can say."""
    before = {file.path: file for file in known.files}
    after = before if now is None else {file.path: file for file in now.files}
    names = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    new = () if paths is None else before.keys() ^ set(paths)
    return sorted(names.union(new, touched))


def named(what: str, names: Sequence[str]) -> str:
    """It, with the first few that it is about and how many more there are, where they are known."""
    return f"{what}: {some(names)}" if names else what


def difference(report: MatchReport) -> str:
    """What a comparison found, in words."""
    parts = [
        f"{word}: {some(paths)}"
        for word, paths in (
            ("missing here", report.missing),
            ("not on the box", report.unexpected),
            ("different", report.differing),
        )
        if paths
    ]
    return "; ".join(parts) or "nothing to compare"


def some(names: Sequence[str], limit: int = 3) -> str:
    """The first few names, made harmless, and how many more there are."""
    shown = ", ".join(plain(name) for name in names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown
