"""A real box over a real link that fails at the n-th request of a ladder: nothing is called, all is closed."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from rented import Scene, until
from runpod_server import POD

from gpu_tui.core.gate import DWELL
from gpu_tui.core.ladder import GateView
from gpu_tui.teardown.local import local_tree
from gpu_tui.transport.base import Completed, Connection, FileAccess, LinkLost

NIGHTLY = bool(os.environ.get("GPU_TUI_NIGHTLY"))
PHRASE = "pod-4n6p"
FAULTS = (
    lambda: LinkLost("the connection was lost"),
    TimeoutError,
    lambda: OSError(errno.ENOSPC, "No space left on device", "here"),
    lambda: Completed(b"\x00\xff garbage \x1b[2J\n", b"", 0),
)


class Faulty:
    """A connection that counts what is asked of it, and answers one request with a fault."""

    def __init__(self, real: Connection, at: int = 0, fault: Any = None) -> None:
        self.real, self.at, self.fault = real, at, fault
        self.count = 0
        self.host_key = real.host_key
        self.peer = getattr(real, "peer", None)

    def _next(self) -> Completed | None:
        self.count += 1
        if self.count != self.at:
            return None
        made = self.fault()
        if isinstance(made, BaseException):
            raise made
        return made  # type: ignore[no-any-return]

    async def run(self, program: str, *, limit: float, stdout_cap: int = 4_194_304) -> Completed:
        if (garbage := self._next()) is not None:
            return garbage
        return await self.real.run(program, limit=limit, stdout_cap=stdout_cap)

    def stream(self, program: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        garbage = self._next()
        return _said(garbage.stdout) if garbage is not None else self.real.stream(program)

    def files(self) -> AbstractAsyncContextManager[FileAccess]:
        self._next()
        return self.real.files()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


@asynccontextmanager
async def _said(data: bytes) -> AsyncIterator[AsyncIterator[bytes]]:
    async def once() -> AsyncIterator[bytes]:
        yield data

    yield once()


async def _climb(scene: Scene) -> GateView:
    climb = scene.runner().open("pod", "terminate")
    views = climb.views()
    last = None
    async for view in views:
        last = view
        if view.state == "ready":
            break
        if view.state == "blocked":  # the files are not all proven: nobody gives them up here
            await views.aclose()
            return view
    assert last is not None
    if last.state != "ready":
        return last
    scene.clock.advance(DWELL)
    await climb.confirm(PHRASE)
    async for view in views:
        last = view
        if (
            view.state == "ready" and view.seconds
        ):  # nobody acknowledges an end that could not be read
            await views.aclose()
            break
    return last


@pytest.mark.nightly
@pytest.mark.timeout(3_600 if NIGHTLY else 120)
async def test_a_link_that_fails_at_one_request(scene: Scene) -> None:
    """One of each kind at a place of its own; at night each of them at every place."""
    assert scene.connection is not None
    real = scene.connection
    counted = Faulty(real)
    scene.connection = counted  # type: ignore[assignment]
    climb = scene.runner().open("pod", "terminate")
    _, views = await until(climb, lambda view: view.state == "ready")
    await views.aclose()
    total = counted.count
    assert total >= 8
    places = range(1, total + 1) if NIGHTLY else ()
    short = [(kind, 1 + kind * total // len(FAULTS)) for kind in range(len(FAULTS))]
    plan = [(kind, at) for at in places for kind in range(len(FAULTS))] or short
    for kind, at in plan:
        faulty = Faulty(real, at, FAULTS[kind])
        scene.connection = faulty  # type: ignore[assignment]
        last = await asyncio.wait_for(_climb(scene), 60)
        where = (kind, at, last.closed_because)
        if scene.server.calls:
            # A fault that was overcome (a request asked again) may end well, and only well.
            assert last.outcome == "gone", where
            assert len(scene.server.calls) == 1, where
            assert local_tree(scene.local).manifest == local_tree(scene.box.results).manifest
            scene.server.pod = dict(POD)
            scene.server.requests.clear()
            continue
        assert last.closed_because or last.seconds, where
        assert "\x1b" not in (last.closed_because or ""), where
        left = [task for task in asyncio.all_tasks() if task.get_name().startswith("teardown")]
        assert not left, where
