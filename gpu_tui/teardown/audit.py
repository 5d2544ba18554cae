"""The match and load rungs on a directory that is here already: what `gpu-tui verify` reports.

The rules: every file of the manifest is here with its size and SHA-256, and nothing else is, but for the
manifest, what a box said of its own results (`PULL_*.json.from-box`) and `*.tmp`; every directory is a cell with its artifacts; every
checkpoint loads. Nothing to compare with is never a success.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.manifest import FileEntry, Manifest
from gpu_tui.core.proof import beside, blank_of, cover, home, proves, tops, weighed
from gpu_tui.core.required import COPIED, Required
from gpu_tui.core.sweep import Roster
from gpu_tui.teardown.local import directories, local_tree
from gpu_tui.teardown.verify import Limits, Reader, load_with, reader

LISTED = (
    "no roster: the manifest of the last pull lists what came, not what should have come: name the queue file "
    "with --roster"
)
EXITS = {"verified": 0, "failed": 1, "incomplete": 2}


@dataclass(frozen=True, slots=True)
class AuditFile:
    """One file. `match` is None where no manifest says what it should be."""

    path: str
    bytes: int
    sha256: str
    match: bool | None
    load: str
    detail: str
    warnings: tuple[str, ...] = ()
    nonfinite: float | None = None
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Audit:
    """The whole report. `expected` are the cells' directories, None where nothing names them; `how`
    names what read the files and whether it could reach the network.
    """

    verdict: str
    expected: tuple[str, ...] | None
    present: int
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    files: tuple[AuditFile, ...]
    why: tuple[str, ...]
    how: str = ""

    @property
    def total_bytes(self) -> int:
        """Sum of the sizes of what is here."""
        return sum(file.bytes for file in self.files)


async def audit(
    root: Path,
    manifest: Manifest | None,
    roster: Roster | None,
    *,
    required: Required = COPIED,
    besides: frozenset[str] = frozenset(),
    expect: int | None = None,
    whole: bool = True,
    child: Reader | None = None,
) -> Audit:
    """Judge a directory against its manifest and its roster, either of which may be missing.

    A manifest without a roster names the cells itself: its top directories. `besides`: paths below
    `root` that are no results, as the manifest itself. `required`: what each cell must leave. `expect`: the number of cells. `whole`: the
    manifest says what should be here, and not only what once came. `child` reads the files, else one of its own.
    """
    tree = await asyncio.to_thread(local_tree, root)
    wanted = {file.path for file in manifest.files} if manifest else set()

    def ignored(path: str) -> bool:
        return path in besides or (beside(path) and path not in wanted)

    here = Manifest.of(file for file in tree.manifest.files if not ignored(file.path))
    async with reader(sys.executable, Limits()) if child is None else nullcontext(child) as readers:
        verdicts = weighed(await load_with(readers, root, here), required)
        how = readers.how
    cells = tuple(dict.fromkeys(cell.name for cell in roster.cells)) if roster else None
    if cells is None and manifest is not None:
        cells = tuple(sorted(tops(manifest)))
    files = _rows(here, manifest, verdicts)
    found = await asyncio.to_thread(directories, root)
    covered = cover(cells or (), required, here, found)
    missing = tuple(name for name, _ in covered.incomplete)
    unexpected = tuple(name for name, _ in covered.unnamed) if cells is not None else ()
    odd = [path for path in tree.odd if not ignored(path)]
    failures = _failures(odd, here, manifest, files, verdicts)
    failures += [
        f"cell {name} is not complete: no {' and no '.join(absent)}"
        for name, absent in covered.incomplete
    ]
    failures += [f"no cell is called {name}" for name in unexpected]
    failures += doubts_of(roster) if roster else []
    if cells is not None and not cells:
        failures.append("the roster names no cell")
    if expect is not None and len(found) != expect:
        failures.append(f"there are {len(found)} cells, not {expect}")
    unsure = roster is None and expect is None and not whole
    gaps = sorted({_gap(verdict) for verdict in verdicts if _is_gap(verdict)})
    if cells is None:
        gaps.append("no roster: name the queue file with --roster, or a manifest")
    elif unsure:
        gaps.append(LISTED)
    return Audit(
        verdict="failed" if failures else "incomplete" if gaps else "verified",
        expected=None if unsure else cells,
        present=len(cells or ()) - len(missing),
        missing=missing,
        unexpected=unexpected,
        files=files,
        why=(*failures, *gaps),
        how=how,
    )


def doubts_of(roster: Roster) -> list[str]:
    """Why the queue file may mean other cells than the ones that were read."""
    more = [f"{roster.dropped} more lines of the roster were not read"] if roster.dropped else []
    return [
        *(f"the roster names {name} twice" for name in roster.duplicates),
        *(f"the roster has a line that is no cell: {line}" for line in roster.rejected),
        *more,
    ]


def unreadable(why: str) -> Audit:
    """The report where the manifest itself is none: nothing can be compared."""
    return Audit("failed", None, 0, (), (), (), (why,))


def _failures(
    odd: list[str],
    here: Manifest,
    manifest: Manifest | None,
    files: tuple[AuditFile, ...],
    verdicts: tuple[FileVerdict, ...],
) -> list[str]:
    found = [f"{path} is no regular file" for path in odd]
    if not here.files:
        found.append("there is no file to verify")
    if manifest is not None and not home(manifest, here).ok:
        found += [f"{file.path}: {file.detail}" for file in files if file.match is False]
    bad = [v for v in verdicts if not proves(v) and not _is_gap(v)]
    found += [f"{verdict.path}: {verdict.detail}" for verdict in bad]
    return found + [f"{v.path}: {why}" for v in verdicts if v.load == "ok" and (why := blank_of(v))]


def _rows(
    here: Manifest, manifest: Manifest | None, verdicts: tuple[FileVerdict, ...]
) -> tuple[AuditFile, ...]:
    wanted = {file.path: file for file in manifest.files} if manifest else None
    rows = [
        _matched(
            AuditFile(
                *(file.path, file.bytes, file.sha256, None, *_load(v)),
                *(v.warnings, v.nonfinite, v.needs),
            ),
            file,
            wanted,
        )
        for file, v in zip(here.files, verdicts, strict=True)
    ]
    known = {file.path for file in here.files}
    rows += [
        AuditFile(file.path, file.bytes, file.sha256, False, "failed", "it is not here")
        for file in (manifest.files if manifest else ())
        if file.path not in known
    ]
    return tuple(rows)


def _load(verdict: FileVerdict) -> tuple[str, str]:
    """How it loaded, and what is to be said of it: weights that are all zero load, and are none."""
    why = blank_of(verdict) if verdict.load == "ok" else None
    return ("failed", why) if why else (verdict.load, verdict.detail)


def _matched(row: AuditFile, file: FileEntry, wanted: dict[str, FileEntry] | None) -> AuditFile:
    if wanted is None:
        return row
    should = wanted.get(file.path)
    if should == file:
        return replace(row, match=True)
    if should is None:
        return replace(row, match=False, detail="the manifest does not have it")
    what = "size" if should.bytes != file.bytes else "SHA-256"
    return replace(row, match=False, detail=f"its {what} is not the manifest's")


def _is_gap(verdict: FileVerdict) -> bool:
    """It would have to be loaded, but the reader is not installed; or another part of its set is not here."""
    return verdict.load == "incomplete" or (verdict.load == "skipped" and not proves(verdict))


def _gap(verdict: FileVerdict) -> str:
    """A missing reader is said once, a missing part with the directory that lacks it."""
    if verdict.load == "skipped":
        return verdict.detail
    at = verdict.path.rpartition("/")[0]
    return f"{at}: {verdict.detail}" if at else verdict.detail
