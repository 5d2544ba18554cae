"""Killed with SIGKILL at every I/O point of a ladder: a new start is locked, and nothing is called twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
NIGHTLY = bool(os.environ.get("GPU_TUI_NIGHTLY"))
WHICH = ["all"] if NIGHTLY else []
pytestmark = pytest.mark.nightly  # all points; the short form runs always


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """One report per point; the last says how many there were."""
    path = os.pathsep.join([str(HERE), *sys.path])
    done = subprocess.run(
        [
            sys.executable,
            str(HERE / "crash_driver.py"),
            str(tmp_path_factory.mktemp("crash")),
            *WHICH,
        ],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        timeout=1_800 if NIGHTLY else 110,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_point_was_reached_and_reported(reports: list[dict[str, Any]]) -> None:
    *points, end = reports
    assert end["status"] == 0
    assert [one.get("point") for one in points] == list(range(1, end["points"] + 1)), points
    places = [one["at"] for one in points]
    assert {"before write", "after write"} <= set(places)
    if NIGHTLY:
        assert {"before fsync", "after fsync", "after open"} <= set(places)
    assert {"provider stop", "provider stopped", "provider read", "recheck"} <= set(places)
    assert len(places) >= (120 if NIGHTLY else 40)


def test_the_journal_is_whole_after_every_kill(reports: list[dict[str, Any]]) -> None:
    for one in reports[:-1]:
        assert one["damage"] is None, one
        assert one["last_damage"] is None, one


def test_nothing_is_called_without_its_intent_and_never_twice(
    reports: list[dict[str, Any]],
) -> None:
    ended = 0
    for one in reports[:-1]:
        assert one["done"] <= 1, one
        if one["done"]:
            assert "intent" in one["events"], one
        assert one["last_done"] == 1, one  # by the first ladder or by the last, never by both
        ended += one["done"]
    assert 0 < ended < len(reports)  # some were killed before it left, some after


def test_an_intent_without_an_end_is_red_and_locks(reports: list[dict[str, Any]]) -> None:
    locked = 0
    for one in reports[:-1]:
        assert one["first"] == ["planning"], one  # nothing of the old evidence is left
        unresolved = "intent" in one["events"] and "confirmed-gone" not in one["events"]
        assert one["open"] == (["box"] if unresolved else []), one
        assert one["red"] == one["open"], one
        if unresolved:
            assert "never seen to end" in one["silent"], one
            assert one["silent_done"] == one["done"], one
            locked += 1
        # Where the API answers it is settled, and red no more.
        assert one["last_open"] == [], one
        assert one["last"] == "gone" or "gone already" in one["last"], one
    assert locked > 10
