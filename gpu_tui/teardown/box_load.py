"""Where no torch is at hand: the box's own torch loads, bound to the hash of the manifest.

The weaker proof, and called so: a box that lies, or whose memory is broken, says ok as well. Nothing is
written there; the program goes over as text, and what it answers is hostile.
"""

from __future__ import annotations

import json
import secrets
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath

from gpu_tui.core.allowance import TORCH_SUFFIXES
from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.manifest import COMPANION, FileEntry, Manifest, is_checkpoint
from gpu_tui.core.plain import plain
from gpu_tui.core.required import is_state
from gpu_tui.teardown import on_box
from gpu_tui.teardown.box import shell_path
from gpu_tui.transport.base import Connection

BATCH_FILES, BATCH_BYTES = 40, 16 << 30
TEXT_CAP = 1 << 20
DETAIL = 200  # characters of what the box says of one file
# Where images of rented boxes keep the Python that has torch, when it is not the first in PATH.
PYTHONS = (
    "python3",
    "python",
    "$CONDA_PREFIX/bin/python3",
    "/root/miniconda3/bin/python3",
    "/opt/conda/bin/python3",
    "/venv/main/bin/python3",
    "/opt/miniconda3/bin/python3",
)


@dataclass(frozen=True, slots=True)
class BoxLimits:
    """What one file may take there; a network disk reads slowly. `start`: until torch is imported."""

    seconds: float = 60.0
    seconds_per_gib: float = 30.0
    memory: int = 1 << 30
    start: float = 120.0


async def load_on_box(
    connection: Connection,
    root: str,
    manifest: Manifest,
    *,
    limits: BoxLimits | None = None,
    step: Callable[[FileVerdict], None] | None = None,
) -> tuple[FileVerdict, ...]:
    """The verdict of the box on every checkpoint of `manifest` below `root`: ok-remote at best.

    Files that hold no weights are left out. LinkError passes.
    """
    limits = limits or BoxLimits()
    files = [file for file in manifest.files if is_checkpoint(file.path)]
    found: dict[str, FileVerdict] = {}
    for batch in _batches([file for file in files if _suffix(file) in TORCH_SUFFIXES]):
        todo = list(batch)
        while todo:
            answered = await _ask(connection, root, todo, limits)
            found |= answered
            left = [file for file in todo if file.path not in answered]
            if left and len(left) == len(todo):  # nothing came of the first: it ended the reader
                found[left[0].path] = _start(left[0], "the box's python did not live to answer")
                left = left[1:]
            todo = left
            if any(verdict.load == "skipped" for verdict in answered.values()):
                found |= {
                    file.path: _start(file, "no torch on the box", "skipped") for file in todo
                }
                break
    verdicts = tuple(
        found.get(file.path) or _start(file, "the box is not asked for this format", "skipped")
        for file in files
    )
    for verdict in verdicts:
        if step:
            step(verdict)
    return verdicts


async def _ask(
    connection: Connection, root: str, files: Sequence[FileEntry], limits: BoxLimits
) -> dict[str, FileVerdict]:
    """What one run of the program says; files that it did not come to are missing."""
    mark = secrets.token_hex(8)
    rows = [
        [n, file.path, limits.memory + 3 * file.bytes, _besides(file)]
        for n, file in enumerate(files)
    ]
    size = sum(file.bytes for file in files)
    seconds = limits.start + limits.seconds * len(files) + limits.seconds_per_gib * size / 2**30
    program = _PROGRAM.format(
        pythons=" ".join(f'"{python}"' for python in PYTHONS),
        root=shell_path(root),
        source=shlex.quote(_source()),
        mark=mark,
        rows=shlex.quote(json.dumps(rows)),
        seconds=int(seconds),
    )
    try:
        done = await connection.run(program, limit=seconds + 30, stdout_cap=TEXT_CAP)
    except TimeoutError:
        return {}
    text = done.stdout.decode("utf-8", "replace")
    if f"{mark}none\n" in text:
        return {files[0].path: _start(files[0], "no torch on the box", "skipped")}
    lines = (line.split(mark, 1)[1] for line in text.splitlines() if mark in line)
    verdicts = (_verdict(line, files) for line in lines)
    return {verdict.path: verdict for verdict in verdicts if verdict is not None}


@cache
def _source() -> str:
    """The program as text."""
    return Path(on_box.__file__).read_text("utf-8")


def _verdict(line: str, files: Sequence[FileEntry]) -> FileVerdict | None:
    """One answer, believed only in the agreed shape and only about the bytes of the manifest."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        return None
    number = answer.get("n") if isinstance(answer, dict) else None
    if type(number) is not int or not 0 <= number < len(files):
        return None
    file = files[number]
    load, share = answer.get("load"), answer.get("nonfinite")
    version = plain(str(answer.get("torch")), 40)
    detail = answer.get("detail")
    start = _start(file, plain(detail if isinstance(detail, str) else "", DETAIL))
    if load == "refused":
        return replace(start, load="refused")
    if load != "ok":
        return start
    if answer.get("sha256") != file.sha256:
        return replace(start, detail="the box loaded other bytes than the manifest's")
    share = share if isinstance(share, float) and 0 <= share <= 1 else None
    warnings = (f"{share:.2%} of its values are NaN or infinite",) if share else ()
    return replace(
        start,
        load="ok-remote",
        detail=f"loaded on the box by its own torch {version}: the weaker proof",
        nonfinite=share,
        warnings=warnings,
    )


def _start(file: FileEntry, detail: str, load: str = "failed") -> FileVerdict:
    return FileVerdict(file.path, file.sha256, load, detail, checkpoint=True)


def _besides(file: FileEntry) -> str:
    """What it may be that needs no tensor, by its name."""
    if COMPANION.fullmatch(PurePosixPath(file.path).name):
        return "companion"
    return "settings" if is_state(file.path) else ""


def _suffix(file: FileEntry) -> str:
    return PurePosixPath(file.path).suffix.lower()


def _batches(files: Sequence[FileEntry]) -> Iterator[list[FileEntry]]:
    """Few enough files for one command line, few enough bytes for one time limit."""
    batch: list[FileEntry] = []
    for file in files:
        full = len(batch) == BATCH_FILES or sum(f.bytes for f in batch) + file.bytes > BATCH_BYTES
        if batch and full:
            yield batch
            batch = []
        batch.append(file)
    if batch:
        yield batch


# The program is an argument, not a here-document: some shells put those into a file. ulimit -f 0 says
# that nothing is written, and no GPU is touched. `timeout` is in coreutils and busybox.
_PROGRAM = """\
ulimit -c 0; ulimit -f 0
root={root}
cd / || exit 3
unset TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD
found=
for python in {pythons}; do
  command -v "$python" >/dev/null 2>&1 || continue
  "$python" -B -E -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' \\
    </dev/null >/dev/null 2>&1 && found=$python && break
done
[ -n "$found" ] || {{ echo {mark}none; exit 0; }}
CUDA_VISIBLE_DEVICES= OMP_NUM_THREADS=1
export CUDA_VISIBLE_DEVICES OMP_NUM_THREADS
timeout -k 5 {seconds} nice -n 10 "$found" -B -E -c {source} {mark} "$root" {rows} </dev/null 2>/dev/null
exit 0
"""
