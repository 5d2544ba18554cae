"""One fault at every await of a ladder: no call without a permit, never two, nothing left, and it is said why."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from quick import TERMINATE, Points, Quick

from gpu_tui.core.clock import ManualClock
from gpu_tui.core.evidence import Tick
from gpu_tui.core.fleet import ProviderState
from gpu_tui.core.gate import GateShut
from gpu_tui.providers.base import Answer, AnswerKind
from gpu_tui.teardown.journal import Journal, open_ends
from gpu_tui.transport.base import LinkLost


def _garbage(name: str) -> object:
    """An answer that is none of what was asked for."""
    if name == "provider read":
        return ProviderState("flying")
    if name == "provider stopped":
        return Answer(AnswerKind.UNKNOWN, "\x1b[2J\x00" * 50, 599)
    return None if name.startswith(("journal", "provider")) else Tick()


FAULTS: dict[str, Callable[[], BaseException] | None] = {
    "link": lambda: LinkLost("the connection was lost"),
    "timeout": TimeoutError,
    "full": lambda: OSError(errno.ENOSPC, "No space left on device", "teardown.jsonl"),
    "cancelled": asyncio.CancelledError,
    "garbage": None,
}


async def _points(state: Path) -> list[str]:
    """What a ladder without a fault passes, in order."""
    quick = Quick(state)
    views = await quick.to_the_end(quick.climb())
    assert views[-1].outcome == "gone", views[-1]
    assert quick.provider.done == 1
    return quick.points.seen


async def test_a_ladder_without_a_fault_passes_these_points(tmp_path: Path) -> None:
    seen = await _points(tmp_path)
    assert seen.index("journal intent") < seen.index("provider stop")
    assert seen.count("provider stop") == 1
    for name in ("plan", "quiet", "inventory", "pull", "match", "load", "recheck"):
        assert seen.count(name) == 1
    assert len(seen) > 25


@pytest.mark.parametrize("kind", FAULTS)
async def test_a_fault_at_every_await(kind: str, tmp_path: Path) -> None:
    total = len(await _points(tmp_path / "whole"))
    for number in range(1, total + 1):
        await _one(kind, number, tmp_path / str(number))


async def _one(kind: str, number: int, state: Path) -> None:
    make = FAULTS[kind]

    def act(count: int, name: str) -> object:
        if count != number:
            return None
        if make is None:
            return _garbage(name)
        raise make()

    quick = Quick(state, Points(act))
    climb = quick.climb()
    views = await asyncio.wait_for(quick.to_the_end(climb), 60)
    where = f"{kind} at {number}: {quick.points.seen[number - 1]}"
    last = climb._latest
    assert quick.points.seen.count("provider stop") <= 1, where
    assert quick.provider.done <= 1, where
    assert climb.over, where
    # The view says how it ended, or why not.
    assert last.outcome or last.closed_because, where
    if last.outcome == "gone":
        assert quick.provider.done == 1, where
    found = quick.journal.read()
    assert found.damage is None, where
    events = [record.event for record in found.records]
    if quick.provider.done:
        assert "intent" in events, where
    ended = last.outcome == "gone" and "confirmed-gone" in events
    if "intent" in events and quick.provider.done and not ended:
        assert open_ends(found.records), where  # red until it is proven
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, (where, left)
    # The instance is free again, and what is not resolved is settled before anything else.
    again = Quick(state)
    end = await again.to_the_end(again.climb())
    assert again.provider.done == 1, (
        where
    )  # the second ladder, or the first one, ended it: not both
    assert end[-1].outcome == "gone" or "gone already" in (end[-1].closed_because or ""), where
    assert views


@pytest.mark.parametrize("kind", ["link", "timeout", "full"])
async def test_a_look_that_fails_after_the_call_is_made_again(kind: str, tmp_path: Path) -> None:
    make = FAULTS[kind]
    seen: list[str] = []

    def act(count: int, name: str) -> object:
        seen.append(name)
        if make is not None and seen.count("provider stopped") and name == "provider read":
            seen.remove("provider stopped")
            raise make()
        return None

    quick = Quick(tmp_path, Points(act))
    views = await quick.to_the_end(quick.climb())
    assert views[-1].outcome == "gone"
    assert quick.provider.done == 1
    looks = [r.detail for r in quick.journal.read().records if r.event == "read-back"]
    assert [look["state"] for look in looks] == ["unknown", "gone"]


@pytest.mark.parametrize("effect", ["destroy", "stop"])
async def test_a_job_that_ended_proves_no_other_verb_done(effect: str, tmp_path: Path) -> None:
    """`ended` is the word for a job or a machine that is over; neither is it gone, nor is it switched off."""

    def act(count: int, name: str) -> object:
        over = name == "provider read" and quick.provider.done
        return ProviderState("ended") if over else None

    quick = Quick(tmp_path, Points(act))
    verb = replace(TERMINATE, effect=effect)
    views = await quick.to_the_end(quick.climb(verb))
    assert quick.provider.done == 1
    assert views[-1].outcome == "still-there"
    assert not any("proven" in line for line in views[-1].outcome_lines)
    looks = [r.detail["state"] for r in quick.journal.read().records if r.event == "read-back"]
    assert len(looks) > 1  # it is looked at until the time to give up
    assert quick.journal.read().records[-1].event == "still-there"


def _answers(quick: Quick) -> list[object]:
    return [r.detail["kind"] for r in quick.journal.read().records if r.event == "answer"]


async def test_a_permit_that_a_provider_does_not_take_was_not_sent(tmp_path: Path) -> None:
    """The machine slept between the intent and the call: nothing left, and nobody looks for five minutes."""

    def act(count: int, name: str) -> object:
        if name == "provider stop":
            raise GateShut("this permit has expired")
        return None

    quick = Quick(tmp_path, Points(act))
    views = await quick.to_the_end(quick.climb())
    assert (quick.provider.done, views[-1].outcome) == (0, "still-there")
    assert _answers(quick) == ["refused"]
    assert [r.event for r in quick.journal.read().records].count("read-back") == 1


async def test_a_refusal_proves_nothing_while_the_provider_does_not_say(tmp_path: Path) -> None:
    """Another gateway may have refused what the first one carried out."""

    def act(count: int, name: str) -> object:
        if name == "provider stopped":
            return Answer(AnswerKind.REFUSED, "locked", 409)
        over = name == "provider read" and quick.provider.done
        return ProviderState(error="no answer") if over else None

    quick = Quick(tmp_path, Points(act))
    views = await quick.to_the_end(quick.climb())
    assert (quick.provider.done, views[-1].outcome) == (1, "unknown")
    assert _answers(quick) == ["refused"]
    assert [r.event for r in quick.journal.read().records].count("read-back") > 1
    assert open_ends(quick.journal.read().records)


async def test_two_ladders_on_one_state_directory(tmp_path: Path) -> None:
    one, other = Quick(tmp_path), Quick(tmp_path)
    climb = one.climb()
    views = climb.views()
    async for view in views:
        if view.state == "ready":
            break
    second = await other.to_the_end(other.climb())
    assert second[-1].state == "closed"
    assert "another gpu-tui" in (second[-1].closed_because or "")
    await views.aclose()
    third = await other.to_the_end(other.climb())
    assert third[-1].outcome == "gone"
    assert other.provider.done == 1


async def test_an_intent_that_came_first_keeps_the_second_call_back(tmp_path: Path) -> None:
    """Between the look at the journal and our own intent another gpu-tui writes its one."""
    other = Journal(tmp_path / "journal", ManualClock(), "other@here")

    def act(count: int, name: str) -> object:
        return other.write("box", "intent", verb="terminate") if name == "journal permit" else None

    quick = Quick(tmp_path, Points(act))
    views = await quick.to_the_end(quick.climb())
    assert views[-1].state == "closed"
    assert "under way already" in (views[-1].closed_because or "")
    assert quick.provider.done == 0
