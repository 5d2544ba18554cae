"""The child process from outside: started when it is first needed, ended, started again. It is never trusted.

Whatever ends it early, and whatever it says that is not in the agreed shape, means "not verified".
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import gpu_tui
from gpu_tui.core.evidence import FileVerdict
from gpu_tui.core.plain import plain
from gpu_tui.start_process import start_process

ANSWER_CAP = 16_384  # bytes of one answer
GRACE = 0.5  # seconds that a child gets to end by itself
LINES_MOST, NAMES_MOST = 8, 20
LOADS = frozenset({"ok", "failed", "incomplete", "refused", "skipped"})
RANKS = ("world", "data", "model", "parts", "stage", "tensor", "pipeline", "expert")
RANKS_MOST = 65_536  # parts of one set
PACKAGE = str(Path(gpu_tui.__file__).resolve().parents[1])  # where the child imports us from
_STEP = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+=-]{0,99}", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9_]{1,60}(\.[A-Za-z0-9_]{1,60}){0,12}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one load may take: seconds = floor + rate × GiB, memory in bytes = floor + 2 × size.

    `start`: seconds that the reader itself gets to start and to import torch.
    """

    seconds: float = 60.0
    seconds_per_gib: float = 3.0
    memory: int = 1 << 30
    start: float = 60.0


class Reader:
    """The child. `how`: what it said of itself when it last answered."""

    def __init__(self, python: str, limits: Limits, allow: frozenset[str]) -> None:
        self._python = python
        self._limits = limits
        self._allow = sorted(allow)
        self._child: asyncio.subprocess.Process | None = None
        self.how = ""
        self.exposed = False  # it could not cut the network off

    async def load(self, start: FileVerdict, path: Path, size: int) -> FileVerdict:
        """What the child says of one file at an absolute path, or that it did not live to say it."""
        seconds = self._limits.seconds + self._limits.seconds_per_gib * size / (1 << 30)
        request = {
            "path": str(path),
            "memory": self._limits.memory + 2 * size,
            "seconds": seconds,
            "allow": self._allow,
        }
        try:
            async with asyncio.timeout(seconds + self._limits.start):
                line = await self._ask(json.dumps(request).encode() + b"\n")
        except TimeoutError:
            await self.end()
            return replace(start, detail=f"loading took longer than {seconds:.0f} s")
        if line is None:
            code = await self.end()
            cause = f"signal {-code}" if code is not None and code < 0 else f"exit {code}"
            return replace(start, detail=f"loading it killed the reader ({cause})")
        return self._parsed(start, line)

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
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                # To its end: while output is left in the pipe, the pipe stays open and the child is waited for.
                await child.stdout.read()
                await child.wait()
        return child.returncode

    async def close(self) -> None:
        """Nothing more will be asked."""
        if self._child is not None and self._child.stdin is not None:
            self._child.stdin.close()
        await self.end()

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
        return await start_process(
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

    def _parsed(self, start: FileVerdict, line: bytes) -> FileVerdict:
        """The child's answer, believed only in the agreed shape: it has just read hostile bytes."""
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            return replace(start, detail="the reader gave no answer")
        if not isinstance(answer, dict) or answer.get("load") not in LOADS:
            return replace(start, detail="the reader gave no answer")
        share, how = answer.get("nonfinite"), answer.get("how")
        points = _text(answer.get("points_to"))
        if isinstance(how, str) and len(how) >= len(self.how):  # torch is named once it was needed
            self.how = plain(how)
        self.exposed = answer.get("network") is not False
        return replace(
            start,
            load=str(answer["load"]),
            detail=plain(_text(answer.get("detail"))),
            checkpoint=answer.get("checkpoint") is True or start.checkpoint,
            nonfinite=share if isinstance(share, float) and 0 <= share <= 1 else None,
            needs=_needs(answer) if answer["load"] == "refused" else (),
            blank=_one_of(answer.get("blank"), ("nan", "zero")),
            ranks=_ranks(answer.get("ranks")),
            points_to=points if points and _STEP.fullmatch(points) else None,
            warnings=tuple(plain(_text(w)) for w in _list(answer.get("warnings"))[:LINES_MOST]),
        )


@asynccontextmanager
async def reader(
    python: str, limits: Limits, allow: frozenset[str] = frozenset()
) -> AsyncIterator[Reader]:
    """A child for as long as the block lasts."""
    child = Reader(python, limits, allow)
    try:
        yield child
    finally:
        await child.close()


def _needs(answer: dict[str, object]) -> tuple[str, ...]:
    """The names that it would take, all of them or none: half an allowance helps nobody."""
    names = [_text(name) for name in _list(answer.get("needs"))]
    good = len(names) <= NAMES_MOST and all(_NAME.fullmatch(name) for name in names)
    return tuple(sorted(set(names))) if good else ()


def _ranks(value: object) -> tuple[tuple[str, int], ...]:
    said = value if isinstance(value, dict) else {}
    found = ((name, said.get(name)) for name in RANKS)
    return tuple((name, n) for name, n in found if type(n) is int and 0 < n <= RANKS_MOST)


def _one_of(value: object, known: tuple[str, ...]) -> str | None:
    return value if isinstance(value, str) and value in known else None


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
