"""Every clock of every profile has at least one scenario: what is observed, what state the clock is in, and
what the screen says of it. The tables stand in clock_scenarios/, one per profile.

After a change of a profile's words, `python tests/profiles/test_clock_scenarios.py` draws the tables again
from their `given` parts; what it changed is to be read like code.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from clock_bench import Bench, shown

from gpu_tui.resources import load_profiles

HEAD = (
    "# What is observed, the state of the clock, and what the screen draws (2026-11-21 12:00 UTC)."
)
TABLES = Path(__file__).parent / "clock_scenarios"
PROFILES = load_profiles()


@dataclass(frozen=True)
class Scenario:
    profile: str
    clock: str
    given: str
    state: str
    text: str


def read(profile: str) -> list[Scenario]:
    """The scenarios of one table: `== CLOCK | given`, the state, and the lines as drawn."""
    path = TABLES / f"{profile}.txt"
    if not path.exists():
        return []
    found = []
    for block in path.read_text("utf-8").split("\n== ")[1:]:
        head, *drawn = block.rstrip("\n").split("\n")
        state, *lines = drawn or [""]
        clock, _, given = head.partition(" | ")
        found.append(Scenario(profile, clock, given, state, "\n".join(lines)))
    return found


SCENARIOS = [one for profile in PROFILES for one in read(profile)]


@pytest.mark.parametrize("profile", PROFILES)
def test_every_clock_has_a_scenario(profile: str) -> None:
    told = {one.clock for one in SCENARIOS if one.profile == profile}
    assert {fact.id for fact in PROFILES[profile].clocks} == told


def test_no_table_is_of_a_profile_that_is_not_there() -> None:
    assert {path.stem for path in TABLES.glob("*.txt")} <= set(PROFILES)


def test_a_clock_with_a_duration_is_seen_counting() -> None:
    """An armed clock proves nothing of the arithmetic."""
    counting = {one.clock for one in SCENARIOS if one.state in ("running", "fired")}
    timed = {fact.id for one in PROFILES.values() for fact in one.clocks if fact.after}
    assert timed - counting == {fact.id for one in PROFILES.values() for fact in one.clocks
                                if fact.after and fact.anchor == "signal"}  # fmt: skip


@pytest.mark.parametrize("one", SCENARIOS, ids=lambda one: f"{one.clock}: {one.given or 'nothing'}")
def test_the_clock_is_as_the_table_says(one: Scenario) -> None:
    state, lines = shown(Bench(PROFILES[one.profile], one.given, one.clock), one.clock)
    assert (state, "\n".join(lines)) == (one.state, one.text)


def draw_again() -> None:
    """Write every table anew from its given parts."""
    for name, profile in PROFILES.items():
        blocks = [HEAD]
        for one in read(name):
            state, lines = shown(Bench(profile, one.given, one.clock), one.clock)
            head = f"== {one.clock} | {one.given}" if one.given else f"== {one.clock}"
            blocks.append("\n".join((head, state, *lines, "")))
        (TABLES / f"{name}.txt").write_text("\n".join(blocks).rstrip() + "\n", "utf-8")


if __name__ == "__main__":
    draw_again()
