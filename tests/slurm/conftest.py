"""One real Slurm for this folder's tests; where none can run they are skipped, with the reason."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from boxes import Sshd
from slurm_lab import Slurm, started

from gpu_tui.collect import sampler
from gpu_tui.core import metrics

sys.path.insert(0, str(Path(__file__).parents[1] / "teardown"))  # a box with results on it


@pytest.fixture(scope="session")
def shared_slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    """One cluster for all tests: a start takes seconds."""
    yield from started(Slurm(tmp_path_factory.mktemp("slurm")))


@pytest.fixture
def slurm(shared_slurm: Slurm) -> Iterator[Slurm]:
    """The shared cluster. Its node is free: no job of another test holds a processor."""
    yield shared_slurm
    shared_slurm.cancel_all()


@pytest.fixture
def login_node(slurm: Slurm, make_box: Callable[..., Sshd]) -> Sshd:
    """A real sshd whose PATH has the real clients of that cluster."""
    return make_box("login", env=slurm.env)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask the controller every few seconds: nobody else uses this one."""
    quick = tuple(
        replace(probe, every=2.0) if probe.metric == metrics.SLURM.name else probe
        for probe in sampler.PROBES
    )
    monkeypatch.setattr(sampler, "PROBES", quick)
