"""Copying by OSC 52: the terminal that a person sits at gets the text, over any number of ssh hops.

Terminals drop what is long without a word, and some never knew the sequence: then the text goes to a file,
and the toast says where. What is copied may come from a box, and will be pasted into a shell: nothing in it
but printable characters, line ends and tabs.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

CAP = 74_994  # bytes of text: 100,000 of base64, what xterm, tmux and screen take at most
SCREEN_PIECE = 76  # characters that GNU screen passes on in one string
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

    tmux takes the plain form with `set-clipboard on`, the wrapped one with `allow-passthrough on`;
    it drops the other. screen takes pieces.
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
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = directory / "copied.txt"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    return path
