"""A key that an API repeats in its complaint stands in no journal, no view, no log and no exception."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from quick import BOX, Quick
from runpod_server import POD, RunPodServer

from gpu_tui.core.fleet import ProviderAccess
from gpu_tui.providers.base import Means
from gpu_tui.providers.rented import Rented
from gpu_tui.providers.runpod import RunPod

KEY = "canary-key-0123456789"


class Parrot(RunPodServer):
    """Repeats every key it is sent, and refuses each call with it."""

    def _answer(
        self, method: str, path: str, headers: Any, body: bytes
    ) -> tuple[int | None, bytes]:
        if method != "GET":
            said = headers.get("authorization", "").encode()
            return 409, b'{"title": "' + said + b'", "detail": "' + said + b'"}'
        return super()._answer(method, path, headers, body)


async def test_a_key_is_nowhere_after_a_whole_teardown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    async with Parrot(key=KEY) as server:
        server.pod = {**POD, "id": "pod-4242", "env": {"TOKEN": KEY}, "name": f"x {KEY}"}
        quick = Quick(tmp_path / "state")
        access = ProviderAccess("pod-4242", None, "POD_KEY", server.url)
        instance = type(BOX)("box", BOX.ssh, "runpod", provider=access)
        means = Means({"POD_KEY": KEY}, quick.clock)
        provider = Rented(RunPod, instance, means, total_limit=5.0)
        views = await quick.to_the_end(quick.climb(provider=provider))
        assert views[-1].outcome == "still-there"
        assert len(server.calls) == 1
        data = quick.journal.path.read_bytes()
        assert b'"answer"' in data
        assert b"***" in data  # the complaint itself is kept
        for kept in (data.decode(), repr(views), caplog.text):
            assert KEY not in kept
