"""Copying by OSC 52: the terminal that a person sits at gets the text, over any number of ssh hops.

Terminals drop what is long without a word, and so does one that never knew the sequence or was told not to
take it. So the text stands in a file, too, and the toast says where. Only the tmux around us says whether it
took it: it drops what a program inside sends, as it comes, and so is handed the text by its own command. What
is copied may come from a box, and will be pasted into a shell: nothing in it but printable characters, line
ends and tabs.
"""

from __future__ import annotations

import asyncio
import base64
import os
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from gpu_tui.core.speech import say
from gpu_tui.places import make_private
from gpu_tui.start_process import start_process
from gpu_tui.ui.terminal.app import TerminalApp

CAP = 74_994  # bytes of text: 100,000 of base64, what xterm, tmux and screen take at most
SCREEN_PIECE = 76  # characters that GNU screen passes on in one string
TMUX_SECONDS = 3.0  # for a tmux on this very machine
DEAF = frozenset({"linux", "dumb", "vt100", "vt220"})  # terminals that have no clipboard


class Copies(Protocol):
    """Who has a clipboard: the cockpit's application."""

    def copy(self, text: str, said: str) -> None:
        """Copy, and say `said`; or say where it went instead."""


def harmless(text: str) -> str:
    """The text without anything that a shell or a terminal would act on when it is pasted."""
    kept = (char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)
    return "".join(kept)


def too_long(text: str) -> bool:
    """More than terminals take."""
    return len(text.encode("utf-8", "replace")) > CAP


def sequence(text: str, env: Mapping[str, str]) -> str | None:
    """What sets the clipboard to `text`; None where it is too long or the terminal has none.

    A tmux that took nothing from `to_tmux` takes the plain form with `set-clipboard on`, the wrapped one with
    `allow-passthrough on`; it drops the other. screen takes pieces.
    """
    if too_long(text) or env.get("TERM", "") in DEAF:
        return None
    raw = text.encode("utf-8", "replace")
    code = base64.b64encode(raw).decode("ascii")
    plain = f"\x1b]52;c;{code}\x07"
    if env.get("TMUX"):
        return plain + f"\x1bPtmux;\x1b{plain}\x1b\\"
    if env.get("STY"):
        pieces = [plain[at : at + SCREEN_PIECE] for at in range(0, len(plain), SCREEN_PIECE)]
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return plain


def to_file(text: str, directory: Path) -> Path:
    """Write `text` to the one file for copies, readable by its owner only. Raises OSError."""
    make_private(directory)
    path = directory / "copied.txt"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    return path


async def to_tmux(text: str, env: Mapping[str, str]) -> bool:
    """Whether the tmux around us took it: for a buffer of its own, and for the terminal outside (3.2 and later)."""
    if not env.get("TMUX") or too_long(text):
        return False
    try:
        tmux = await start_process(
            "tmux", "load-buffer", "-w", "-", stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, env=env
        )
    except OSError:
        return False
    try:
        async with asyncio.timeout(TMUX_SECONDS):
            await tmux.communicate(text.encode("utf-8", "replace"))
    except TimeoutError:
        return False
    finally:  # also where the next text is copied before this one was taken
        if tmux.returncode is None:
            with suppress(ProcessLookupError):
                tmux.kill()
            await tmux.wait()
    return tmux.returncode == 0


async def copy(app: TerminalApp[Any], text: str, said: str, directory: Path) -> None:
    """Copy `text`, and tell `said` where somebody took it; else where it is. Without `said` a success is silent."""
    alone = app.is_headless or app.is_web  # no terminal; a browser takes the sequence
    if not alone and await to_tmux(text, os.environ):
        _tell(app, said)
        return
    code = sequence(text, os.environ)
    sent = code is not None and (app.is_headless or app.send(code))
    if sent and alone:
        _tell(app, said)
        return
    try:
        path = to_file(text, directory)
    except OSError as error:
        why = say("not copied: {strerror}", strerror=error.strerror)
        app.notify(why, severity="error", markup=False)
        return
    if sent:
        _tell(app, said and say("{said} · if it does not arrive: {path}", said=said, path=path))
    elif too_long(text):
        app.notify(say("too long for the clipboard: it is in {path}", path=path), markup=False)
    else:
        text = say("this terminal takes nothing for the clipboard: it is in {path}", path=path)
        app.notify(text, markup=False)


def _tell(app: TerminalApp[Any], said: str) -> None:
    if said:
        app.notify(said, markup=False)
