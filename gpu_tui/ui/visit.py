"""A program of the user's own in our terminal: we step aside, and come back as we were.

Meanwhile the event loop goes on: what is watched stays watched, and nothing of it is drawn.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from textual.app import SuspendNotSupported

from gpu_tui.core import units
from gpu_tui.core.plain import plain
from gpu_tui.core.speech import say
from gpu_tui.ui.terminal.app import TerminalApp

SSH_FAILED = 255  # what ssh itself says when there was no connection, or it broke
END_SECONDS = 2.0


async def visit(app: TerminalApp[Any], name: str, words: Sequence[str]) -> str:
    """Run `words` in front of the app until it ends; how it ended, in a sentence."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        with app.lent():
            _say(
                say("gpu-tui: {words}\n  exit brings you back\n", words=plain(" ".join(words), 300))
            )
            code = await _run(words)
            if code == SSH_FAILED:
                _say(
                    say(
                        "\nssh could not connect, or the connection broke. Enter goes back to gpu-tui."
                    )
                )
                await _enter()
    except SuspendNotSupported:
        return say("a shell needs a real terminal, and this is none")
    except OSError as error:
        return say("{words} cannot be started: {strerror}", words=words[0], strerror=error.strerror)
    took = units.span(loop.time() - began)
    if code == SSH_FAILED:
        return say(
            "the shell on {name} ended after {took}: no connection, or it broke",
            name=name,
            took=took,
        )
    how = say("exit {code}", code=code) if code >= 0 else say("killed by signal {code}", code=-code)
    return say("the shell on {name} ended after {took} ({how})", name=name, took=took, how=how)


def _say(text: str) -> None:
    if sys.__stdout__ is not None:
        sys.__stdout__.write(text + "\n")
        sys.__stdout__.flush()


async def _run(words: Sequence[str]) -> int:
    """Its exit code. It never outlives us."""
    err = None if sys.__stderr__ is not None and sys.__stderr__.isatty() else sys.__stdout__
    process = await asyncio.create_subprocess_exec(*words, stderr=err)
    try:
        return await process.wait()
    except BaseException:
        with suppress(ProcessLookupError):
            process.terminate()
        with suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await process.wait()
        raise


async def _enter() -> None:
    """A line on the terminal, or its end."""
    loop, typed = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(0, typed.set)
    try:
        await typed.wait()
        os.read(0, 4096)
    finally:
        loop.remove_reader(0)
