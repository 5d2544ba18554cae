"""A manifest as a JSON file: schema remote-gpu-trainer/PULL/v1, read strictly and written whole."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeGuard

from gpu_tui.core.clock import rfc3339
from gpu_tui.core.manifest import FileEntry, Manifest
from gpu_tui.core.required import COPIED, Required
from gpu_tui.new_file import write_whole
from gpu_tui.parse.artifacts import ArtifactError, artifact_of, check_artifacts
from gpu_tui.teardown.listing import path_problem
from gpu_tui.teardown.local import OWN

SCHEMA = "remote-gpu-trainer/PULL/v1"
OWN_NAME = "PULL_MANIFEST.json"  # at the root of the results
MARKER_NAME = "PULL_VERIFIED.json"  # by which another tool says that it was verified
KEPT = f"{OWN}/manifest.json"  # written by the last pull here
NAMES = (KEPT, OWN_NAME)  # where one is looked for: the other may have come from a box
FILE_CAP = 256 << 20


class ManifestUnreadable(Exception):
    """The file is not a manifest. `next` is what the user can do."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.next = f"a manifest is JSON of schema {SCHEMA}"


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """What one says: its run, its files, what each cell was to leave, and the cells that there were to be;
    None where it does not tell those.
    """

    run_id: str
    manifest: Manifest
    required: Required = COPIED
    cells: tuple[str, ...] | None = None


def manifest_json(
    manifest: Manifest,
    run_id: str,
    now: float,
    required: Required = COPIED,
    cells: Sequence[str] | None = None,
) -> dict[str, object]:
    """The object to write. Only what is unusual to require is said: others read this schema too."""
    return {
        "schema": SCHEMA,
        "run_id": run_id,
        "created_at_utc": rfc3339(now),
        "top_level_dirs": sorted(
            {file.path.split("/")[0] for file in manifest.files if "/" in file.path}
        ),
        "files": [
            {"path": file.path, "bytes": file.bytes, "sha256": file.sha256}
            for file in manifest.files
        ],
        "totals": {"files": len(manifest.files), "bytes": manifest.total_bytes},
        **({} if required == COPIED else {"required": asdict(required)}),
        **({} if cells is None else {"cells": list(cells)}),
    }


def keep(
    local: Path,
    manifest: Manifest,
    run_id: str,
    now: float,
    required: Required,
    cells: Sequence[str] | None = None,
) -> str:
    """Write what was matched beside the results, for `gpu-tui verify` later, and which cells the box was to
    have. It unlocks nothing. Returns the SHA-256 of the file. One that says the same already stays as it is.
    """
    target = local / KEPT
    body = manifest_json(manifest, run_id, now, required, cells)
    with suppress(OSError, ValueError, RecursionError, TypeError):
        text = target.read_bytes()
        if {**json.loads(text), "created_at_utc": None} == {**body, "created_at_utc": None}:
            return hashlib.sha256(text).hexdigest()
    text = json.dumps(body, indent=1).encode()
    write_whole(target, text, mode=0o600)
    return hashlib.sha256(text).hexdigest()


def read_manifest(path: Path) -> ManifestFile:
    """Read one; ManifestUnreadable for anything that is not exactly a manifest."""
    if path.stat().st_size > FILE_CAP:
        raise ManifestUnreadable(f"{path} is far too long")
    return parse_manifest(path.read_bytes(), str(path))


def parse_manifest(text: bytes, path: str) -> ManifestFile:
    """The manifest in `text`; errors name it by `path`. ManifestUnreadable as of `read_manifest`."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ManifestUnreadable(f"{path} is not JSON") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ManifestUnreadable(f"{path} is of another schema")
    run_id, rows = data.get("run_id"), data.get("files")
    if not isinstance(run_id, str) or not run_id:
        raise ManifestUnreadable(f"{path} names no run")
    if not isinstance(rows, list) or not rows:
        raise ManifestUnreadable(f"{path} lists no file")
    files = [_entry(path, row) for row in rows]
    if len({file.path for file in files}) != len(files):
        raise ManifestUnreadable(f"{path} lists a file twice")
    totals = data.get("totals")
    if totals is not None and totals != {"files": len(files), "bytes": sum(f.bytes for f in files)}:
        raise ManifestUnreadable(f"{path} counts other files than it lists")
    tops, listed = (
        data.get("top_level_dirs"),
        {f.path.split("/")[0] for f in files if "/" in f.path},
    )
    if tops is not None and (
        not isinstance(tops, list) or sorted(map(str, tops)) != sorted(listed)
    ):
        raise ManifestUnreadable(f"{path} names other directories than those of its files")
    cells = data.get("cells")
    if cells is not None and not _texts(cells):
        raise ManifestUnreadable(f"{path} does not name its cells")
    required = _required(path, data.get("required"))
    return ManifestFile(
        run_id, Manifest.of(files), required, None if cells is None else tuple(cells)
    )


def _required(source: str, row: object) -> Required:
    if row is None:
        return COPIED
    files, timed = (row.get("files"), row.get("timed")) if isinstance(row, dict) else (None, None)
    if _texts(files) and isinstance(timed, bool):
        with suppress(ArtifactError):
            return Required(check_artifacts([artifact_of(file) for file in files]), timed)
    raise ManifestUnreadable(f"{source} does not say what a cell must leave")


def _texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _entry(source: str, row: object) -> FileEntry:
    if isinstance(row, dict):
        path, size, digest = row.get("path"), row.get("bytes"), row.get("sha256")
        sized = isinstance(size, int) and not isinstance(size, bool) and size >= 0
        hashed = isinstance(digest, str) and re.fullmatch(r"[0-9a-f]{64}", digest)
        if isinstance(path, str) and sized and hashed and path_problem(path) is None:
            return FileEntry(path, int(str(size)), str(digest))
    raise ManifestUnreadable(f"{source} has a file that cannot be one: {str(row)[:80]!r}")
