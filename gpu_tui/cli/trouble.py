"""What went wrong, in a person's words: one sentence with its place, and the next step."""

from __future__ import annotations

import os
from typing import cast

from gpu_tui.core.plain import plain
from gpu_tui.core.speech import told

WIDTH = 1_000  # characters of a sentence that may quote a box


def is_expected(error: Exception) -> bool:
    """It has words of its own; anything else is a bug of this program."""
    return hasattr(error, "next") or isinstance(error, OSError)


def words_of(error: Exception) -> tuple[str, str | None]:
    """The sentence without its place, and the next step."""
    if isinstance(error, FileNotFoundError) and not error.filename and _is_astray():
        return "the directory that you stand in is no more", "Change into one that is there."
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror}{where}", None
    text = str(getattr(error, "text", None) or error) or type(error).__name__
    if is_expected(error):
        return text, cast("str | None", getattr(error, "next", None))
    return (
        f"this is a bug in gpu-tui ({type(error).__name__}: {text})",
        "Run it again with --debug and report the traceback.",
    )


def _is_astray() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def shown(error: Exception) -> list[str]:
    """The lines for a terminal or cron's mail, in the language of the person, freed of secrets."""
    from gpu_tui.core.redact import redact  # its tables are for a command that failed

    text, step = words_of(error)
    # The place in a file stands before the sentence, and is no part of it.
    where = str(error).removesuffix(text) if getattr(error, "file", None) is not None else ""
    lines = [plain(redact(where + told(text, own=True)), WIDTH)]
    return [*lines, f"  {plain(redact(told(step, own=True)), WIDTH)}"] if step else lines
