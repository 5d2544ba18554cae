"""Every loaded line of a log, to a new file."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from textual.app import App

from gpu_tui.core.speech import counted, say
from gpu_tui.new_file import write_new
from gpu_tui.state.log_document import LogDocument

AT_ONCE = 5_000  # lines that are read before others get their turn


async def save(app: App[Any], path: Path, document: LogDocument) -> None:
    """Write it, and tell the person how it went. A file that is there already stays as it is."""
    texts: list[str] = []
    for text in _texts(document):
        texts.append(text)
        if len(texts) % AT_ONCE == 0:
            await asyncio.sleep(0)
    try:
        await asyncio.to_thread(_write, path, texts)
    except OSError as wrong:
        app.notify(
            say("not saved: {strerror} ({path})", strerror=wrong.strerror, path=path),
            severity="error",
            markup=False,
        )
        return
    app.notify(
        say("{texts} saved to {path}", texts=counted(len(texts), "line"), path=path), markup=False
    )


def _write(path: Path, texts: Sequence[str]) -> None:
    write_new(path, "".join(f"{text}\n" for text in texts))


def _texts(document: LogDocument) -> Iterable[str]:
    """Every loaded line that is still there when its turn comes."""
    for key in list(document.numbers):
        try:
            entry = document.line(key)
        except IndexError:
            continue
        if entry is not None:
            yield entry.text
