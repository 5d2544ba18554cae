"""Real terminals for the end-to-end tests."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from test_cockpit_tmux import Terminal


@pytest.fixture
async def make_terminal(tmp_path: Path) -> AsyncIterator[Callable[[int, int], Terminal]]:
    """Opens tmux windows of a fixed size, each with a server of its own, and closes them."""
    if shutil.which("tmux") is None:
        pytest.fail("tmux is not installed: apt-get install tmux")
    made: list[Terminal] = []

    def make(width: int, height: int) -> Terminal:
        made.append(Terminal(tmp_path / f"tmux{len(made)}", width, height))
        return made[-1]

    yield make
    for terminal in made:
        await terminal.close()
