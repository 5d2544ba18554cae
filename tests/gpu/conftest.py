"""A box with a real card: this machine's own, behind a real sshd."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from boxes import Sshd
from sweep import Sweep

TRAINER = Path(__file__).parent / "train_on_card.py"


def _cards() -> str:
    """Why there is no card to test with; empty where there is one."""
    if shutil.which("nvidia-smi") is None:
        return "no nvidia-smi here: this needs a machine with a card"
    asked = "import torch; torch.ones(1, device='cuda')"
    said = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=False
    )
    last = said.stderr.strip().rpartition("\n")[2]
    return f"torch finds no card here: {last}" if said.returncode else ""


@pytest.fixture(scope="session", autouse=True)
def a_card() -> None:
    """Skips where there is none."""
    if why := _cards():
        pytest.skip(why)


@pytest.fixture
def card_box(make_box: Callable[..., Sshd]) -> Sshd:
    """The box, on which the machine's own nvidia-smi is found wherever it lies."""
    box = make_box()
    found = shutil.which("nvidia-smi")
    assert found is not None
    (box.bin / "nvidia-smi").symlink_to(found)
    return box


@pytest.fixture
def run(card_box: Sshd) -> Iterator[Callable[..., Sweep]]:
    """Starts a sweep of these cells on it."""
    made: list[Sweep] = []

    def start(*cells: str) -> Sweep:
        sweep = Sweep(card_box.home, cells, trainer=TRAINER)
        made.append(sweep)
        sweep.start()
        return sweep

    yield start
    for sweep in made:
        sweep.kill()
