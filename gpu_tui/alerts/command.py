"""The user's own command: an argument list, the message as JSON on stdin and in environment variables.

It runs without a shell, in a process group of its own that is killed when its time is over, whatever it
has started.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress

from gpu_tui.alerts.channel import Undelivered, Unusable
from gpu_tui.alerts.message import Message
from gpu_tui.core.plain import plain
from gpu_tui.transport.child import child

LIMIT = 20.0  # seconds
ENV_WIDTH = 4_000  # characters of one variable
SAID = 300  # bytes of its output that an error quotes
# Errors of this machine, not of the program.
BUSY = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})
NO_PROGRAM = (126, 127)  # exit codes of a shell and of env(1): not executable, not found
NEXT = "Write its whole path, or set PATH where gpu-tui starts (cron's is short). Then: gpu-tui check --test-alert"


class CommandChannel:
    """Runs `argv` once per message."""

    name = "command"

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], *, limit: float = LIMIT
    ) -> None:
        self._argv = tuple(argv)
        self._env = dict(env)
        self._limit = limit

    def ready(self) -> None:
        """Raise Unusable if the program is missing or not executable."""
        program = self._argv[0]
        path = self._env.get("PATH", os.defpath)
        if shutil.which(program, path=path) is None:
            there = os.path.exists(program) if os.sep in program else _in_path(program, path)
            why = "it is not executable" if there else "there is no such command here"
            raise Unusable(f"{plain(program, 80)} cannot be run: {why}", next=NEXT)

    async def send(self, message: Message) -> None:
        """Run it; any exit code but 0 means that the message did not arrive."""
        program = plain(self._argv[0], 80)
        body = json.dumps(message.json(), ensure_ascii=False).encode() + b"\n"
        said, code = bytearray(), None
        running = child(
            self._argv,
            env={**self._env, **variables(message)},
            stdin=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with AsyncExitStack() as stack:
            try:
                process = await stack.enter_async_context(running)
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or error
                text = f"{program} cannot be run: {why}"
                if getattr(error, "errno", None) in BUSY:
                    raise Undelivered(text) from None
                raise Unusable(text, next=NEXT) from None
            with suppress(TimeoutError):
                async with asyncio.timeout(self._limit):
                    await asyncio.gather(_heard(process, said), _told(process, body))
                    await process.wait()
            code = process.returncode  # its own; what it left in the background may still run
        if code is None:
            raise Undelivered(f"{program} did not end in {self._limit:g} s")
        if code != 0:
            words = plain(said.decode("utf-8", "replace").strip(), SAID)
            how = f"exit {code}" if code > 0 else f"signal {-code}"
            text = f"{program} failed ({how})" + (f": {words}" if words else "")
            raise Unusable(text, next=NEXT) if code in NO_PROGRAM else Undelivered(text)


def _in_path(program: str, path: str) -> bool:
    return any(os.path.exists(os.path.join(one, program)) for one in path.split(os.pathsep) if one)


def variables(message: Message) -> dict[str, str]:
    """The message as environment variables; an absent value is an empty one."""
    worst = message.items[0]
    values = {
        "GPU_TUI_EVENT": message.kind,
        "GPU_TUI_EVENT_ID": message.id,
        "GPU_TUI_EVENT_SEVERITY": message.severity,
        "GPU_TUI_EVENT_TITLE": message.title,
        "GPU_TUI_EVENT_TEXT": message.text,
        "GPU_TUI_EVENT_INSTANCE": str(worst.get("instance") or ""),
        "GPU_TUI_EVENT_CELL": str(worst.get("cell") or ""),
        "GPU_TUI_EVENT_COUNT": str(len(message.items)),
    }
    return {name: value[:ENV_WIDTH] for name, value in values.items()}


async def _told(process: asyncio.subprocess.Process, body: bytes) -> None:
    """Write stdin; a command that reads none of it is fine."""
    assert process.stdin is not None
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(body)
        await process.stdin.drain()
    process.stdin.close()


async def _heard(process: asyncio.subprocess.Process, said: bytearray) -> None:
    """Put the beginning of its output into `said`; the rest is read and dropped."""
    assert process.stdout is not None
    while chunk := await process.stdout.read(65_536):
        said += chunk[: max(0, SAID - len(said))]
