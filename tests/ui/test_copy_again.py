"""A text that is copied while the tmux around us still holds the one before."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from gpu_tui.ui.clipboard import to_tmux


async def test_a_tmux_that_takes_nothing_is_ended_with_the_copy(tmp_path: Path) -> None:
    pipe, fake = tmp_path / "pid", tmp_path / "tmux"
    os.mkfifo(pipe)
    fake.write_text(f"#!/bin/sh\necho $$ > {pipe}\nexec sleep 600\n")
    fake.chmod(0o700)
    env = {"TMUX": "x", "PATH": f"{tmp_path}:/bin:/usr/bin"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", env["PATH"])
        copying = asyncio.create_task(to_tmux("text", env))
        pid = int(await asyncio.to_thread(pipe.read_text))
        copying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await copying
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
