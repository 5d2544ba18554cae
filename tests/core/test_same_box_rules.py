"""Two entries of the fleet file that reach one box: what is claimed, and where nothing is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Instance, LinkState, ProviderState, SshAccess
from gpu_tui.core.fleet_now import FleetNow, Member
from gpu_tui.core.fleet_rules import fleet_conditions
from gpu_tui.core.readings import Host
from gpu_tui.core.remedies import remedy
from gpu_tui.core.sample import Failure, FailureKind, Reading, Track
from gpu_tui.core.sweep import Queue
from gpu_tui.state.fleet_outlook import _box
from screenshots.builders import NOW
from screenshots.scenes import sweep

BOX = ("SHA256:key", "77427627-700c", "17 pid:[4026532178]")


def member(name: str, box: tuple[str, ...] | None, same_box: str | None = None) -> Member:
    instance = Instance(name, SshAccess(name), same_box=same_box)
    return Member(instance, Queue(), None, ProviderState(), live=True, box=box)


def found(*members: Member) -> list[tuple[str, str | None]]:
    conditions = list(fleet_conditions(FleetNow(NOW, members)))
    assert all(one.kind == "same_box" for _, one in conditions)
    assert all(one.severity is Severity.SERIOUS for _, one in conditions)
    return [(name, one.part) for name, one in conditions]


def test_each_of_the_two_names_the_other() -> None:
    assert found(member("a", BOX), member("b", BOX), member("c", None)) == [("a", "b"), ("b", "a")]
    (_, condition), _ = fleet_conditions(FleetNow(NOW, (member("a", BOX), member("b", BOX))))
    assert condition.evidence.startswith("a and b in the fleet file reach one box")
    assert "same_box: NAME" in remedy("same_box")


@pytest.mark.parametrize("part", range(3))
def test_containers_that_differ_in_anything_are_not_one_box(part: int) -> None:
    other = (*BOX[:part], "another", *BOX[part + 1 :])
    assert found(member("a", BOX), member("b", other)) == []


def test_where_it_is_said_nothing_is_found() -> None:
    assert found(member("a", BOX), member("b", BOX, "a")) == []
    assert found(member("b", BOX, "a"), member("c", BOX, "a")) == []
    three = member("a", BOX), member("b", BOX, "a"), member("c", BOX)
    assert found(*three) == [("a", "c"), ("b", "c"), ("c", "a"), ("c", "b")]
    assert found(member("a", None), member("b", None)) == []


@pytest.mark.parametrize(
    ("change", "known"),
    [
        ({}, True),
        ({"host": {"machine": None}}, False),
        ({"host": {"boot_id": None}}, False),
        ({"link": {"host_key": None}}, False),
        ({"link": {"state": "timeout"}}, False),
        ({"link": {"since": NOW - 1}}, False),  # read of the connection before this one
        ({"at": NOW - 900}, False),
        ({"failed": True}, False),
    ],
)
def test_what_is_not_fresh_or_not_known_claims_nothing(
    change: dict[str, dict[str, object]], known: bool
) -> None:
    first = sweep().view(NOW).instances[0]
    host = Host(NOW, 9.0, BOX[1], "h", machine=BOX[2])
    host = replace(host, **change.get("host", {}))  # type: ignore[arg-type]
    reading = Reading(host, change.get("at", NOW - 5), 15.0)  # type: ignore[arg-type]
    track = Track(reading, reading)
    if "failed" in change:
        track = track.follow(Failure(FailureKind.UNREAD, "silent", NOW))
    link = LinkState("live", since=NOW - 50, host_key=BOX[0])
    link = replace(link, **change.get("link", {}))  # type: ignore[arg-type]
    view = replace(first, link=link, tracks={"host": track})
    assert _box(view, NOW) == (BOX if known else None)
