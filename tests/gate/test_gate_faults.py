"""Every way that leads to a call, with exactly one fault on it, at each moment where it can come."""

from __future__ import annotations

import pytest
from gate_faults import FAULTS, MOMENTS, PARK_FAULTS, WAYS, confirm, fault_on_the_way, healthy
from gate_world import World

# What loses nothing that was not given up, file by file, or proven to be here.
NOTHING_LOST = frozenset(
    (
        *("remote is touched", "remote vanishes", "local is touched", "writers unknown"),
        *("queue grows", "queue shrinks", "queue lost"),
    )
)


@pytest.mark.parametrize("way", WAYS)
def test_without_a_fault_it_opens(way: str) -> None:
    assert healthy(way).calls == 1


@pytest.mark.parametrize("way", WAYS)
def test_with_one_fault_no_call_is_a_crime(way: str) -> None:
    for fault in FAULTS:
        for moment in MOMENTS:
            assert fault_on_the_way(way, fault, moment) == [], (fault, moment)


@pytest.mark.parametrize("way", WAYS)
def test_every_fault_shuts_the_gate(way: str) -> None:
    """Also where nothing would be lost: what was shown is no longer what is."""
    faults = PARK_FAULTS if way == "park_way" else FAULTS
    for fault in faults:
        for moment in MOMENTS:
            world = World()
            WAYS[way](world)
            if moment == MOMENTS[0]:
                FAULTS[fault](world)
            confirm(world)
            look = world.look(FAULTS[fault]) if moment == MOMENTS[2] else None
            if moment == MOMENTS[1]:
                FAULTS[fault](world)
            called = world.press(look) is not None
            allowed = way == "abandoned_way" and fault in NOTHING_LOST
            assert not called or allowed, (fault, moment)
            assert called or world.gate.because or world.gate.note, (fault, moment)
