"""Proves that files here can be read: each is opened in a jailed child, then all are looked at together.

A SHA-256 that agrees proves equal bytes, a load proves that they can be read; neither proves a good
result. No torch is needed on this side.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.manifest import FileEntry, Manifest, is_checkpoint
from gpu_tui.teardown.jailed import Limits as Limits
from gpu_tui.teardown.jailed import Reader as Reader
from gpu_tui.teardown.jailed import reader as reader
from gpu_tui.teardown.siblings import together

EXPOSED = "read with the network open: this system lets nobody cut it"  # said once, not per file


async def load_all(
    root: Path,
    manifest: Manifest,
    *,
    limits: Limits | None = None,
    python: str | None = None,
    step: Callable[[FileVerdict], None] | None = None,
    allow: frozenset[str] = frozenset(),
    told: Callable[[str], None] | None = None,
) -> tuple[FileVerdict, ...]:
    """The verdict on every file of `manifest` below `root`, in its order.

    `allow`: dotted names that a person allowed in the gate; a hull stands in for each, so not even these
    are run. `told` hears in the end what read the files: versions, and whether the network was cut.
    """
    async with reader(python or sys.executable, limits or Limits(), allow) as child:
        verdicts = await load_with(child, root, manifest, step)
        if told:
            told(child.how)
    return verdicts


async def load_with(
    child: Reader,
    root: Path,
    manifest: Manifest,
    step: Callable[[FileVerdict], None] | None = None,
) -> tuple[FileVerdict, ...]:
    """The same with a child that is there already: importing torch takes longer than most files."""
    verdicts: list[FileVerdict] = []
    for file in manifest.files:
        verdict = await _verdict(child, root, file)
        verdicts.append(verdict)
        if step:
            step(verdict)
    if verdicts and child.exposed:
        first = next((n for n, verdict in enumerate(verdicts) if verdict.checkpoint), 0)
        verdicts[first] = replace(verdicts[first], warnings=(*verdicts[first].warnings, EXPOSED))
    return together(manifest, verdicts)


async def _verdict(child: Reader, root: Path, file: FileEntry) -> FileVerdict:
    path = root.joinpath(*file.path.split("/"))
    start = FileVerdict(file.path, file.sha256, "failed", checkpoint=is_checkpoint(file.path))
    return await child.load(start, path.absolute(), file.bytes)
