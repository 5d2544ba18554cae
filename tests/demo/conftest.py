from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from demo_boxes import Boxes

from gpu_tui.demo.box import Box
from gpu_tui.demo.cast import STARS, Part
from gpu_tui.demo.fleet import Demo, running_fleet


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    """A whole fleet in its own process, thirty times as fast as life."""
    with running_fleet(boxes=8, speed=30.0, seed=7) as running:
        yield running


@pytest.fixture
def boxes(demo: Demo) -> Boxes:
    return Boxes(demo)


@pytest.fixture
def part() -> Part:
    """The cast's AutoDL box: two disks, one of them capped by inodes."""
    return next(part for part in STARS if part.name == "rigel")


@pytest.fixture
def box(tmp_path: Path, part: Part) -> Box:
    built = Box(
        "rigel", tmp_path / "rigel", part.hardware, Random(1), 1_763_600_000.0, part.hostname
    )
    built.beat(1_763_700_000.0, 1.0)
    return built
