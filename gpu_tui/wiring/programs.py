"""Where a program runs: on a box over its live connection, or here. Bound to what needs a RunCommand."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Sequence

from gpu_tui.core.command import CommandFailed, Completed, RunCommand
from gpu_tui.transport.base import Connection, LinkError

OUTPUT_CAP = 4 << 20


def on_box(connection: Callable[[], Connection | None], name: str) -> RunCommand:
    """Programs of the box called `name`, over whatever connection is live at that moment."""

    async def run(argv: Sequence[str], *, limit: float) -> Completed:
        link = connection()
        if link is None:
            raise CommandFailed(f"{name} is not connected", next="Press r to try it again.")
        try:
            return await link.run("exec " + shlex.join(argv), limit=limit, stdout_cap=OUTPUT_CAP)
        except TimeoutError:
            raise CommandFailed(f"{argv[0]} on {name} did not end in {limit:g} s") from None
        except LinkError as error:
            raise CommandFailed(str(error), next=error.next) from None

    return run


async def here(argv: Sequence[str], *, limit: float) -> Completed:
    """Run a program of this machine; what it prints beyond OUTPUT_CAP is cut off."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise CommandFailed(f"{argv[0]} cannot be run here: {error.strerror}") from None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(limit):
            out, err = await asyncio.gather(_capped(process.stdout), _capped(process.stderr))
            return Completed(out, err, await process.wait())
    except TimeoutError:
        raise CommandFailed(f"{argv[0]} did not end in {limit:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _capped(stream: asyncio.StreamReader) -> bytes:
    kept = bytearray()
    while chunk := await stream.read(65_536):
        kept += chunk[: max(0, OUTPUT_CAP - len(kept))]
    return bytes(kept)
