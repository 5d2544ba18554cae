"""The match and load rungs on a directory that is here already: what `gpu-tui verify` reports."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.manifest import FileEntry, Manifest, compare
from gpu_tui.core.proof import ARTIFACTS, proves
from gpu_tui.teardown.local import LocalTree, local_tree
from gpu_tui.teardown.verify import Limits, load_all

IGNORED = frozenset({"PULL_MANIFEST.json", "PULL_VERIFIED.json"})  # notes beside the results
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


@dataclass(frozen=True, slots=True)
class Audit:
    """The whole report. `expected` are the cells' directories, None where nothing names them."""

    verdict: str
    expected: tuple[str, ...] | None
    present: int
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    files: tuple[AuditFile, ...]
    why: tuple[str, ...]

    @property
    def total_bytes(self) -> int:
        """Sum of the sizes of what is here."""
        return sum(file.bytes for file in self.files)


async def audit(
    root: Path,
    manifest: Manifest | None,
    cells: Sequence[str] | None,
    *,
    limits: Limits | None = None,
) -> Audit:
    """Judge a directory against its manifest and its roster, either of which may be missing.

    A manifest without a roster names the cells itself: its top directories.
    """
    tree = await asyncio.to_thread(local_tree, root)
    here = Manifest.of(file for file in tree.manifest.files if not _ignored(file.path))
    verdicts = await load_all(root, here, limits=limits)
    if cells is None and manifest is not None:
        cells = sorted({file.path.split("/")[0] for file in manifest.files if "/" in file.path})
    files = _rows(here, manifest, verdicts)
    paths = {file.path for file in here.files}
    complete = [n for n in cells or () if all(f"{n}/{part}" in paths for part in ARTIFACTS)]
    directories = {path.split("/")[0] for path in paths if "/" in path}
    missing = tuple(name for name in cells or () if name not in complete)
    unexpected = tuple(sorted(directories - set(cells))) if cells is not None else ()
    failures = _failures(tree, here, manifest, files, verdicts)
    failures += [f"cell {name} is not complete" for name in missing]
    failures += [f"no cell is called {name}" for name in unexpected]
    if cells is not None and not cells:
        failures.append("the roster names no cell")
    gaps = sorted({verdict.detail for verdict in verdicts if _only_skipped(verdict)})
    if cells is None:
        gaps.append("no roster: name the queue file with --roster, or a manifest")
    return Audit(
        verdict="failed" if failures else "incomplete" if gaps else "verified",
        expected=tuple(cells) if cells is not None else None,
        present=len(complete),
        missing=missing,
        unexpected=unexpected,
        files=files,
        why=(*failures, *gaps),
    )


def _failures(
    tree: LocalTree,
    here: Manifest,
    manifest: Manifest | None,
    files: tuple[AuditFile, ...],
    verdicts: tuple[FileVerdict, ...],
) -> list[str]:
    found = [f"{path} is no regular file" for path in tree.odd if not _ignored(path)]
    if not here.files:
        found.append("there is no file to verify")
    if manifest is not None and not compare(manifest, here).ok:
        found += [f"{file.path}: {file.detail}" for file in files if file.match is False]
    bad = [v for v in verdicts if not proves(v) and not _only_skipped(v)]
    return found + [f"{verdict.path}: {verdict.detail}" for verdict in bad]


def _rows(
    here: Manifest, manifest: Manifest | None, verdicts: tuple[FileVerdict, ...]
) -> tuple[AuditFile, ...]:
    wanted = {file.path: file for file in manifest.files} if manifest else None
    rows = [
        _matched(
            AuditFile(file.path, file.bytes, file.sha256, None, v.load, v.detail), file, wanted
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


def _only_skipped(verdict: FileVerdict) -> bool:
    """It would have to be loaded, but the reader is not installed."""
    return verdict.load == "skipped" and not proves(verdict)


def _ignored(path: str) -> bool:
    return path in IGNORED or path.endswith(".tmp")
