"""Start a simulated fleet from another process, and end it: a block long, nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import select
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

READY_SECONDS = 60.0
END_SECONDS = 10.0


class DemoFailed(Exception):
    """The server process did not come up; the message is for a person."""


@dataclass(frozen=True, slots=True)
class Demo:
    """A demo that runs. `key` is what `key_env` must hold for the providers to answer."""

    fleet_path: Path
    directory: Path
    key_env: str
    key: str
    provider_url: str
    boxes: tuple[str, ...]
    process: subprocess.Popen[bytes]

    @property
    def environment(self) -> dict[str, str]:
        """What a command needs in its environment to speak to the demo's providers."""
        return {self.key_env: self.key}


@contextmanager
def running_fleet(
    boxes: int = 8, speed: float = 1.0, seed: int = 7, directory: Path | None = None
) -> Iterator[Demo]:
    """The server process for as long as the block lasts. Raises DemoFailed."""
    # -P: a module of the directory that we stand in, a project's own signal.py, is none of ours.
    command = [sys.executable, "-P", "-m", "gpu_tui.demo.server"]
    command += ["--boxes", str(boxes), "--speed", str(speed), "--seed", str(seed)]
    if directory is not None:
        command += ["--dir", str(directory)]
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            start_new_session=True,  # a Ctrl-C in the cockpit's terminal is not for the boxes
        ) as process,
    ):
        try:
            try:
                line = _first_line(process)
            except KeyboardInterrupt:
                process.terminate()  # it looks at its stdin only when it has loaded
                raise
            if not line:
                process.kill()
                process.wait()
                complaints.seek(0)
                said = complaints.read().decode(errors="replace").strip().splitlines()
                raise DemoFailed(
                    f"the simulated fleet did not start: {said[-1] if said else 'no answer'}"
                )
            yield _demo(line, process)
        finally:
            _end(process)


@asynccontextmanager
async def simulated_fleet(
    boxes: int = 8, speed: float = 1.0, seed: int = 7, directory: Path | None = None
) -> AsyncIterator[Demo]:
    """`running_fleet` for a program that has an event loop; the loop never blocks."""
    block = running_fleet(boxes, speed, seed, directory)
    demo = await asyncio.to_thread(block.__enter__)
    try:
        yield demo
    finally:
        await asyncio.to_thread(block.__exit__, None, None, None)


def _first_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout
    ready, _, _ = select.select([process.stdout], [], [], READY_SECONDS)
    return process.stdout.readline() if ready else b""


def _demo(line: bytes, process: subprocess.Popen[bytes]) -> Demo:
    said = json.loads(line)
    return Demo(
        fleet_path=Path(said["fleet"]),
        directory=Path(said["directory"]),
        key_env=said["key_env"],
        key=said["key"],
        provider_url=said["provider"],
        boxes=tuple(said["boxes"]),
        process=process,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its stdin, which ends it; insist only if it does not."""
    assert process.stdin
    assert process.stdout
    with contextlib.suppress(OSError):
        process.stdin.close()
    # The end of what it says comes with its own end: `wait` with a limit looks only now and then.
    select.select([process.stdout], [], [], END_SECONDS)
    for insist in (process.terminate, process.kill):
        try:
            process.wait(END_SECONDS)
            return
        except subprocess.TimeoutExpired:
            insist()
    process.wait()
