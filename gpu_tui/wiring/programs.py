"""Where a program runs: on a box over its live connection, or here. Bound to what needs a RunCommand."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from gpu_tui.core.command import CommandFailed, Completed, RunCommand
from gpu_tui.transport.argv import Here
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
    return await Here().run(argv, limit=limit, cap=OUTPUT_CAP)
