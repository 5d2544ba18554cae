"""What one file alone cannot show: shards that are not all here, twins, and files of an odd size. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from gpu_tui.core import units
from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.manifest import Manifest
from gpu_tui.teardown.shards import gaps, half_blank

FACTOR = 4.0  # larger or smaller than its siblings by this much is worth a word
SIBLINGS_LEAST = 3  # others to compare with


def together(manifest: Manifest, verdicts: Sequence[FileVerdict]) -> tuple[FileVerdict, ...]:
    """The verdicts with what only the whole tree shows. `verdicts` stand in the order of the manifest."""
    warnings: dict[str, list[str]] = defaultdict(list)
    for path, text in (*_twins(manifest, verdicts), *_odd_sizes(manifest, verdicts)):
        warnings[path].append(text)
    lost, biases = gaps(verdicts), set(half_blank(verdicts))
    broken = {verdict.path for verdict in verdicts if verdict.load == "failed"}
    lost = {path: why for path, why in lost.items() if path not in broken}
    return tuple(
        replace(
            verdict,
            load="incomplete" if verdict.path in lost else verdict.load,
            detail=lost.get(verdict.path, verdict.detail),
            blank=None if verdict.path in biases else verdict.blank,
            warnings=(*verdict.warnings, *warnings[verdict.path]),
        )
        for verdict in verdicts
    )


def _twins(manifest: Manifest, verdicts: Sequence[FileVerdict]) -> list[tuple[str, str]]:
    """Two cells with the same weights: one of them was written over, or was never trained. What holds
    no weights, as a scheduler, is often alike.
    """
    owners: dict[str, list[str]] = defaultdict(list)
    for file, verdict in zip(manifest.files, verdicts, strict=True):
        weights = verdict.checkpoint and verdict.nonfinite is not None
        if weights and verdict.load == "ok" and "/" in file.path:
            owners[file.sha256].append(file.path)
    return [
        (path, f"the same bytes as {next(p for p in paths if _cell(p) != _cell(path))}")
        for paths in owners.values()
        for path in paths
        if len({_cell(p) for p in paths}) > 1
    ]


def _odd_sizes(manifest: Manifest, verdicts: Sequence[FileVerdict]) -> list[tuple[str, str]]:
    """The same name in the other cells is four times larger or smaller."""
    sizes: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for file, verdict in zip(manifest.files, verdicts, strict=True):
        if verdict.checkpoint and verdict.load == "ok" and "/" in file.path:
            sizes[file.path.split("/", 1)[1]].append((file.path, file.bytes))
    found = []
    for rows in sizes.values():
        for path, size in rows:
            others = [count for other, count in rows if other != path]
            usual = median(others) if len(others) >= SIBLINGS_LEAST else size
            if size * FACTOR < usual or size > usual * FACTOR:
                found.append(
                    (path, f"{units.size(size)}, the other cells' have about {units.size(usual)}")
                )
    return found


def _cell(path: str) -> str:
    return path.split("/", 1)[0]
