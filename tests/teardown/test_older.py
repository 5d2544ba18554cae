"""The checkpoint of an earlier attempt loads as well as that of this one: only its time tells."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import pytest
from rented import RentedBox, Scene, rest, until

from gpu_tui.core.evidence import Cells
from gpu_tui.core.required import EXPORTED, Required
from gpu_tui.teardown.hashing import written_at
from gpu_tui.teardown.older import older, zone_of

BEGAN = datetime(2020, 11, 20, 11, 0, 1, tzinfo=UTC).timestamp()  # wide, as its queue's log says
CHINA = 8 * 3600.0


def wide_of(box: RentedBox, at: float) -> None:
    """Its checkpoint was last written then; what stands beside it is new."""
    os.utime(box.results / "wide/best.pth", (at, at))


def logged_in_china(box: RentedBox) -> None:
    """The queue's shell had another zone than our login: its closing line was written at 04:00:01 UTC."""
    at = datetime(2020, 11, 20, 4, 0, 1, tzinfo=UTC).timestamp()
    os.utime(box.log, (at, at))


async def test_weights_of_before_the_start_are_an_exception_by_name(scene: Scene) -> None:
    wide_of(scene.box, BEGAN - 7_500)
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("ready", "blocked", "closed"))
    assert view.state == "ready", view.closed_because
    (one,) = view.seconds
    assert one.phrase == "accept older wide"
    assert one.lines[0] == "wide: its weights were written 2 h 05 min before it last started"
    scene.clock.advance(3.0)
    await climb.confirm(view.phrase)
    await climb.acknowledge(one.id, one.phrase)
    async for view in views:
        if view.seconds[0].done:
            break
    assert scene.server.calls == []
    await climb.confirm(view.phrase)
    assert (await rest(views)).outcome == "gone"


@pytest.mark.parametrize(
    ("after", "china", "kinds"),
    [
        (60.0, False, []),  # of this very run
        (-60.0, False, []),  # by a disk whose clock is behind
        (60.0 - CHINA, True, []),
        (-7_500.0 - CHINA, True, ["exception:older"]),
        (-7_500.0, True, []),  # long after 03:00:01 UTC, when it began
    ],
)
async def test_it_is_judged_by_the_zone_that_the_log_was_written_in(
    scene: Scene, after: float, china: bool, kinds: list[str]
) -> None:
    wide_of(scene.box, BEGAN + after)
    if china:
        logged_in_china(scene.box)
    climb = scene.runner().open("pod", "terminate")
    view, views = await until(climb, lambda view: view.state in ("ready", "blocked", "closed"))
    await views.aclose()
    assert (view.state, [one.id for one in view.seconds]) == ("ready", kinds)


def stamp(second: float) -> str:
    at = datetime.fromtimestamp(second, UTC)
    return (
        f"2049 7 10 {at:%Y-%m-%d %H:%M:%S}.000000000 +0000 {at:%Y-%m-%d %H:%M:%S}.000000000 +0000"
    )


def test_what_was_saved_last_counts() -> None:
    required = Required(("checkpoint-*/model.safetensors",))
    cells = Cells(("a", "b"), required=required, began=(("a", 1_000.0), ("b", 1_000.0)))
    files = {
        "a/checkpoint-1/model.safetensors": stamp(10.0),
        "a/checkpoint-2/model.safetensors": stamp(1_500.0),
        "b/checkpoint-1/model.safetensors": stamp(10.0),
        "b/train.log": stamp(1_500.0),
    }
    assert [name for name, _ in older(cells, files)] == ["b"]


def test_of_sealed_runs_the_newest_counts() -> None:
    files = {
        "a-20260101T000000Z/best.pth": stamp(10.0),
        "a-20260102T000000Z/best.pth": stamp(1_500.0),
    }
    cells = Cells(("a",), required=EXPORTED, began=(("a", 1_000.0),))
    assert older(cells, files) == ()
    assert len(older(cells, dict([*files.items()][:1]))) == 1


@pytest.mark.parametrize(
    "said", ["", "2049 7 10 yesterday", "2049 7 10 2026-02-31 10:00:00 +0000 x y z"]
)
def test_what_has_no_time_that_is_known_here_proves_nothing(said: str) -> None:
    cells = Cells(("a",), began=(("a", 1_000.0),))
    assert written_at(said) is None
    assert older(cells, {"a/best.pth": said}) == ()


def test_mtime_as_linux_busybox_and_bsd_say_it() -> None:
    assert written_at(stamp(1_500.0)) == 1_500.0
    assert written_at("2049 7 10 1970-01-01 08:25:00 +0800 1970-01-01 08:25:00 +0800") == 1_500.0
    assert written_at("2049 7 10 1500.123456789 1700.5") == 1_500.0


def test_the_zone_is_that_of_the_closing_line_else_that_of_the_login() -> None:
    assert zone_of(50_000.0 + CHINA, 50_003.0, 0.0) == CHINA
    assert zone_of(50_000.0 + CHINA, 50_400.0, 0.0) == 0.0  # something else was written later
    assert zone_of(50_000.0 + 40 * 3600, 50_000.0, 0.0) == 0.0
    assert zone_of(None, 50_000.0, None) is None
