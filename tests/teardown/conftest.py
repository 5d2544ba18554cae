"""One rented box per test, connected."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from boxes import Sshd
from rented import RentedBox, Scene
from runpod_server import RunPodServer

from gpu_tui.core.clock import ManualClock
from gpu_tui.transport.ssh import SshTransport


@pytest.fixture
async def scene(make_box: Callable[..., Sshd], tmp_path: Path) -> AsyncIterator[Scene]:
    box = RentedBox(make_box())
    local = tmp_path / "here"
    instance = box.instance(local)
    async with RunPodServer() as server:
        connection = await SshTransport().connect(instance)
        try:
            yield Scene(box, local, ManualClock(), server, instance, connection, tmp_path / "state")
        finally:
            await connection.close()
