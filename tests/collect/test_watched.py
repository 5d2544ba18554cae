"""What is asked of a box again is asked less and less often."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from gpu_tui.collect import watched
from gpu_tui.collect.watched import LONGEST_PAUSE, REFUSED_SECONDS, Watched
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.fleet import Instance, SshAccess


async def test_an_ended_log_that_a_dead_mount_keeps_is_asked_for_ever_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each who asks hangs there for good: those that hang must not pile up."""
    pauses: list[float | None] = []
    answers: Iterator[bool] = iter([False] * 8 + [True, False])
    over = asyncio.Event()

    async def read_ended(*_: object) -> bool:
        if (answer := next(answers, None)) is None:
            over.set()
            await asyncio.Event().wait()
        return bool(answer)

    def timeout(seconds: float | None) -> asyncio.Timeout:
        pauses.append(seconds)
        return asyncio.timeout(0)

    box = Watched(Instance("box", SshAccess("box")), lambda event: None, ManualClock())
    monkeypatch.setattr(box, "_read_ended", read_ended)
    monkeypatch.setattr(
        watched, "asyncio", SimpleNamespace(**{**vars(asyncio), "timeout": timeout})
    )
    connection: Any = None
    following = asyncio.create_task(box._follow_cells(connection))
    await asyncio.wait_for(over.wait(), 10)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    grown = [min(REFUSED_SECONDS * 2**n, LONGEST_PAUSE) for n in range(8)]
    assert pauses == [*grown, None, REFUSED_SECONDS]
