"""The real kubectl against a server of our own, with a kubeconfig and a HOME of its own."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from kube_server import KubeServer

from gpu_tui.core.fleet import HERE, Instance, SchedulerScope


@pytest.fixture
async def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[KubeServer]:
    """An API server that the kubectl on PATH asks."""
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl on PATH (apt: kubernetes-client)")
    server = KubeServer()
    await server.start(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    monkeypatch.setenv("HOME", str(tmp_path))
    try:
        yield server
    finally:
        await server.close()


@pytest.fixture
def namespace() -> Instance:
    """An instance without a box."""
    scope = SchedulerScope(context="lab", namespace="default", kubectl="local")
    return Instance("lab", HERE, "kubernetes", scheduler="kubernetes", scheduler_scope=scope)
