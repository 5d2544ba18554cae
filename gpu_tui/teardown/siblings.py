"""What one file alone cannot show: shards that are not all here, twins, and files of an odd size. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.manifest import Manifest

FACTOR = 4.0  # larger or smaller than its siblings by this much is worth a word
SIBLINGS_LEAST = 3  # others to compare with
_SHARD = re.compile(r"(.*)-(\d{5})-of-(\d{5})((?:\.[a-z0-9]+)?)", re.ASCII)


def together(manifest: Manifest, verdicts: Sequence[FileVerdict]) -> tuple[FileVerdict, ...]:
    """The verdicts with what only the whole tree shows. `verdicts` stand in the order of the manifest."""
    warnings: dict[str, list[str]] = defaultdict(list)
    for path, text in (*_twins(manifest, verdicts), *_odd_sizes(manifest, verdicts)):
        warnings[path].append(text)
    gaps = _gaps(manifest)
    return tuple(
        replace(
            verdict,
            load="failed" if verdict.path in gaps else verdict.load,
            detail=gaps.get(verdict.path, verdict.detail),
            warnings=(*verdict.warnings, *warnings[verdict.path]),
        )
        for verdict in verdicts
    )


def _gaps(manifest: Manifest) -> dict[str, str]:
    """`x-00002-of-00003.bin` says how many there must be: a part of a set proves nothing.

    Hugging Face counts weights from 1; its datasets (`data-00000-of-00002.arrow`) and TensorFlow's checkpoints
    (`model.data-00000-of-00002`) are counted from 0.
    """
    sets: dict[tuple[str, str, str], dict[int, str]] = defaultdict(dict)
    for file in manifest.files:
        if match := _SHARD.fullmatch(file.path):
            sets[match[1], match[3], match[4]][int(match[2])] = file.path
    found: dict[str, str] = {}
    for (_, count, _), parts in sets.items():
        first = 0 if 0 in parts else 1
        absent = next((n for n in range(first, first + int(count)) if n not in parts), None)
        if absent is not None:
            text = f"shard {absent} of {int(count)} is not here"
            found |= dict.fromkeys(parts.values(), text)
    return found


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
                found.append((path, f"{size} bytes, the other cells' have about {usual:.0f}"))
    return found


def _cell(path: str) -> str:
    return path.split("/", 1)[0]
