"""What the box says of its files: which of them are too young to be trusted, and what is never hashed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from rented import Scene

from gpu_tui.teardown.hashing import hash_files, stamps
from gpu_tui.teardown.inventory import Hashed, remote_manifest
from gpu_tui.teardown.listing import list_remote

CHANGED = "base/train.log"


def _clock_of_the_box(scene: Scene, seconds: int) -> None:
    """Its `date +%s`, this long after the last change of the file."""
    at = int((scene.box.results / CHANGED).stat().st_ctime) + seconds
    scene.box.sshd.program("date", f"#!/bin/sh\necho {at}\n")


@pytest.mark.parametrize(("seconds", "young"), [(0, True), (1, True), (2, True), (3, False)])
async def test_a_file_that_changed_within_three_seconds_is_hashed_again(
    scene: Scene, seconds: int, young: bool
) -> None:
    """A clock tick of some file systems is two seconds: a second change within it leaves the stamp as it is."""
    assert scene.connection is not None
    _clock_of_the_box(scene, seconds)
    root = str(scene.box.results)
    seen = await stamps(scene.connection, root)
    assert (CHANGED in seen.young) is young
    hashed = Hashed()
    await remote_manifest(
        scene.connection, await list_remote(scene.connection, root), _count, hashed
    )
    assert (hashed.still(CHANGED, seen[CHANGED]) is None) is young


def _count(count: int, file: str | None = None, *, moved: bool = True) -> None:
    """Progress, which nothing here is about."""


async def test_a_link_is_not_hashed_in_the_place_of_the_file_it_leads_to(scene: Scene) -> None:
    """It was a file when it was listed, and a link to another file when it came to be hashed."""
    assert scene.connection is not None
    root = scene.box.results
    listing = await list_remote(scene.connection, str(root))
    (root / "wide/best.pth").unlink()
    (root / "wide/best.pth").symlink_to(root / "base/best.pth")
    found = [
        path async for path, _ in hash_files(scene.connection, str(root), listing.files, _count)
    ]
    assert set(found) == {path for path, _ in listing.files} - {"wide/best.pth"}


def _device(place: Path) -> None:
    place.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, _device])
async def test_only_a_file_is_hashed(scene: Scene, make: Callable[[Path], None]) -> None:
    assert scene.connection is not None
    make(scene.box.results / "odd")
    rows = [("odd", 0), ("base/best.pth", 1)]
    found = hash_files(scene.connection, str(scene.box.results), rows, _count)
    assert [path async for path, _ in found] == ["base/best.pth"]
