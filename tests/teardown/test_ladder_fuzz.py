"""Nothing that changes during a teardown is destroyed unseen: random changes in CI, all of them at night."""

from __future__ import annotations

import os
from random import Random

import pytest
from ladder_fuzz import CHANGES, QUICK_CARDS, SLOW_CARDS, ride, told, wrong
from rented import Scene

NIGHTLY = bool(os.environ.get("GPU_TUI_NIGHTLY"))
# The same ladders for every push, others each night; a failure names the seed that repeats it.
SEED = os.environ.get("GPU_TUI_FUZZ_SEED") or (str(Random().randrange(10**9)) if NIGHTLY else "1")
LADDERS = 2_000 if NIGHTLY else 40
UNCHANGED = 200 if NIGHTLY else 2
# Remote calls of a ladder in which nothing changes; `test_a_ladder_makes_these_remote_calls` holds it to that.
REMOTE_CALLS = 36
# The calls from here on follow the confirmation: half of the changes fall there.
CONFIRMED_AT = 25


async def test_a_ladder_makes_these_remote_calls(scene: Scene) -> None:
    found = await ride(scene, None, 0)
    assert found.lost == {}, found.view
    assert found.remote_calls == REMOTE_CALLS
    last = found.said[-1]
    assert "find . -type d" in last, "the box was asked again after the last look"
    assert last.count("find . ! -type d") == 2


@pytest.mark.nightly
@pytest.mark.parametrize("ladder", range(LADDERS))
async def test_a_change_at_random_is_never_destroyed_unseen(ladder: int, scene: Scene) -> None:
    random = Random(f"{SEED}:{ladder}")
    name = random.choice(sorted(CHANGES))
    first = random.choice((1, CONFIRMED_AT))
    at = random.randint(first, REMOTE_CALLS)
    cards = SLOW_CARDS if ladder % 20 == 0 else QUICK_CARDS
    found = await ride(scene, CHANGES[name], at, cards=cards)
    assert wrong(found, name) is None, f"GPU_TUI_FUZZ_SEED={SEED} {told(found, name, at, cards)}"


@pytest.mark.nightly
@pytest.mark.parametrize("ladder", range(UNCHANGED))
async def test_where_nothing_changes_it_opens(ladder: int, scene: Scene) -> None:
    cards = SLOW_CARDS if ladder % 20 == 19 else QUICK_CARDS
    found = await ride(scene, None, 0, cards=cards)
    assert found.lost == {}, told(found, "nothing", 0, cards)


@pytest.mark.nightly
@pytest.mark.skipif(not NIGHTLY, reason="every change before every remote call: make nightly")
@pytest.mark.parametrize("at", range(1, REMOTE_CALLS + 1))
@pytest.mark.parametrize("name", sorted(CHANGES))
async def test_every_change_before_every_remote_call(name: str, at: int, scene: Scene) -> None:
    found = await ride(scene, CHANGES[name], at)
    assert wrong(found, name) is None, told(found, name, at, QUICK_CARDS)
