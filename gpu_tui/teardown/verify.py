"""Proves that files here can be read: structure and checksums in this process, loading in a child.

The child may be killed by a hostile or huge file; whatever ends it early means "not verified".
No torch is needed on this side.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import gpu_tui
from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.manifest import FileEntry, Manifest, must_load
from gpu_tui.core.plain import plain

ANSWER_CAP = 16_384  # bytes of one answer
GRACE = 0.5  # seconds that a child gets to end by itself
RECORDS = 100_000  # members that a zip may have
MEMORY_FLOOR = 1 << 30  # bytes a loader may use beyond twice the file
SECONDS_FLOOR, SECONDS_PER_GIB = 60.0, 3.0
PACKAGE = str(Path(gpu_tui.__file__).resolve().parents[1])  # where the child imports us from
LOADS = frozenset({"ok", "failed", "refused", "skipped"})
SUFFIX_KINDS = {
    **dict.fromkeys((".pth", ".pt", ".ckpt", ".bin", ".th"), "torch"),
    ".safetensors": "safetensors",
    ".json": "json",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What one load may take: seconds = floor + rate × GiB, memory = floor + 2 × size."""

    seconds: float = SECONDS_FLOOR
    seconds_per_gib: float = SECONDS_PER_GIB
    memory: int = MEMORY_FLOOR


def kind_of(path: Path) -> str:
    """torch, safetensors, json, sealed (nothing here may open it) or data (its hash is enough)."""
    kind = SUFFIX_KINDS.get(path.suffix.lower())
    if kind:
        return kind
    if must_load(path.name):
        return "sealed"
    if path.suffix:
        return "data"
    with path.open("rb") as file:  # a checkpoint without a suffix is still a checkpoint
        return "torch" if file.read(4) == b"PK\x03\x04" else "data"


def zip_problem(path: Path) -> tuple[str | None, str]:
    """(what is wrong with a zip checkpoint or None, a note). Not a zip: no problem, and a note."""
    if not zipfile.is_zipfile(path):
        return None, "no checksum inside: its hash carries it"
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > RECORDS:
                return f"more than {RECORDS} members", ""
            if any(member.compress_type != zipfile.ZIP_STORED for member in members):
                return "a member is compressed: no trainer writes that", ""
            if sum(member.file_size for member in members) > path.stat().st_size:
                return "its members are larger than the file", ""
            if _overlap(members):
                return "its members overlap", ""
            if members and not any(member.CRC for member in members if member.file_size):
                return None, "no checksum inside: its hash carries it"
            bad = archive.testzip()
    except Exception as error:  # a broken zip raises whatever it likes
        return f"a broken archive ({type(error).__name__})", ""
    return (f"the checksum of {plain(bad, 60)} is wrong", "") if bad else (None, "")


async def load_all(
    root: Path,
    manifest: Manifest,
    *,
    limits: Limits | None = None,
    python: str | None = None,
    step: Callable[[FileVerdict], None] | None = None,
) -> tuple[FileVerdict, ...]:
    """The verdict on every file of `manifest` below `root`, in its order."""
    verdicts: list[FileVerdict] = []
    async with _worker(python or sys.executable, limits or Limits()) as worker:
        for file in manifest.files:
            verdict = await _verdict(worker, root, file)
            verdicts.append(verdict)
            if step:
                step(verdict)
    return tuple(verdicts)


async def _verdict(worker: _Worker, root: Path, file: FileEntry) -> FileVerdict:
    path = root.joinpath(*file.path.split("/"))
    start = FileVerdict(file.path, file.sha256, "failed")
    try:
        kind = await asyncio.to_thread(kind_of, path)
    except OSError as error:
        return replace(start, detail=f"cannot be read here: {error.strerror}")
    if kind == "data":
        return replace(start, load="skipped", detail="no checkpoint: equal bytes are enough")
    checkpoint = kind != "json"
    if kind == "sealed":
        detail = "a pickle or a shard: nothing here can open it safely"
        return replace(start, load="refused", detail=detail, checkpoint=True)
    note = ""
    if kind == "torch":
        problem, note = await asyncio.to_thread(zip_problem, path)
        if problem:
            return replace(start, detail=problem, checkpoint=True)
    verdict = await worker.load(start, path, kind, file.bytes)
    detail = "; ".join(part for part in (verdict.detail, note) if part)
    return replace(verdict, detail=detail, checkpoint=checkpoint)


class _Worker:
    """The child process, started when it is first needed and again after each death."""

    def __init__(self, python: str, limits: Limits) -> None:
        self._python = python
        self._limits = limits
        self._child: asyncio.subprocess.Process | None = None

    async def load(self, start: FileVerdict, path: Path, kind: str, size: int) -> FileVerdict:
        """What the child says of one file, or that it did not live to say it."""
        strict = path.name in ("best.pth", "best_metrics.json")
        request = {
            "path": _absolute(path),
            "kind": kind,
            "strict": strict,
            "memory": self._limits.memory + 2 * size,
        }
        seconds = self._limits.seconds + self._limits.seconds_per_gib * size / (1 << 30)
        try:
            async with asyncio.timeout(seconds):
                line = await self._ask(json.dumps(request).encode() + b"\n")
        except TimeoutError:
            await self.end()
            return replace(start, detail=f"loading took longer than {seconds:.0f} s")
        if line is None:
            code = await self.end()
            cause = f"signal {-code}" if code is not None and code < 0 else f"exit {code}"
            return replace(start, detail=f"loading it killed the reader ({cause})")
        return _parsed(start, line)

    async def end(self) -> int | None:
        """End the child and all it may have started; its exit code, as it died by itself if it did."""
        child, self._child = self._child, None
        if child is None or child.stdout is None:
            return None
        try:
            async with asyncio.timeout(GRACE):
                await child.wait()
        except TimeoutError:
            pass  # it is killed below, as it is when this wait is cancelled
        finally:
            if child.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
        code = await child.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await child.stdout.read()  # to its end, or the pipe stays open
        return code

    async def _ask(self, request: bytes) -> bytes | None:
        """One answer line, or None where the child is gone or babbles."""
        if self._child is None:
            self._child = await self._start()
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            self._child.stdin.write(request)
            await self._child.stdin.drain()
            line = await self._child.stdout.readline()
        except (ConnectionError, ValueError):
            return None
        return line if line.endswith(b"\n") else None

    async def _start(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(self._python, "-m", "gpu_tui.teardown.verify_worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            # Scrubbed: torch reads switches from the environment that turn its protection off.
            env={
                "PATH": os.defpath,
                "PYTHONPATH": PACKAGE,
                "HOME": os.environ.get("HOME", "/"),
                "LANG": "C.UTF-8",
                "OMP_NUM_THREADS": "1",
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            limit=ANSWER_CAP,
        )


@asynccontextmanager
async def _worker(python: str, limits: Limits) -> AsyncIterator[_Worker]:
    worker = _Worker(python, limits)
    try:
        yield worker
    finally:
        if worker._child is not None and worker._child.stdin is not None:
            worker._child.stdin.close()
        await worker.end()


def _parsed(start: FileVerdict, line: bytes) -> FileVerdict:
    """The child's answer, believed only in the agreed shape: it has just read hostile bytes."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        return replace(start, detail="the reader gave no answer")
    if not isinstance(answer, dict) or answer.get("load") not in LOADS:
        return replace(start, detail="the reader gave no answer")
    share, detail = answer.get("nonfinite"), answer.get("detail")
    return replace(
        start,
        load=str(answer["load"]),
        detail=plain(detail) if isinstance(detail, str) else "",
        nonfinite=share if isinstance(share, float) and 0 <= share <= 1 else None,
    )


def _overlap(members: list[zipfile.ZipInfo]) -> bool:
    spans = sorted((member.header_offset, member.file_size) for member in members)
    return any(start + size > following for (start, size), (following, _) in pairwise(spans))


def _absolute(path: Path) -> str:
    """The child lives in another directory."""
    return str(path.absolute())
