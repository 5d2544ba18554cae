"""The filter of `scheduler: {kind: slurm, ...}`: what it takes, and where an error points."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from gpu_tui.core.fleet import SchedulerScope, Since
from gpu_tui.parse.fleet_file import FleetError, parse_fleet
from gpu_tui.resources import load_profiles

PROFILES = load_profiles()


def scope(keys: str) -> SchedulerScope:
    text = f"instances:\n  - name: a\n    host: a\n    scheduler: {{kind: slurm, {keys}}}\n"
    fleet = parse_fleet(text, Path("/x/fleet.yaml"), PROFILES, Path("/home/me"))
    return fleet.instances[0].scheduler_scope


def test_a_value_or_a_list_of_values() -> None:
    assert scope('name: "sweep-*"').name == ("sweep-*",)
    assert scope('name: ["sweep-*", abl_7], partition: gpu') == SchedulerScope(
        name=("sweep-*", "abl_7"), partition=("gpu",)
    )
    assert scope("partition: [a100, h100-long]").partition == ("a100", "h100-long")
    assert scope("array: 41").array == ("41",)
    assert scope('array: [41, "57"]').array == ("41", "57")
    assert scope("user: me, name: null") == SchedulerScope(user="me")


@pytest.mark.parametrize(
    ("written", "since"),
    [
        ("2d", Since("2d", ago=172_800.0)),
        ("1d12h", Since("1d12h", ago=129_600.0)),
        ("now-12hours", Since("now-12hours", ago=43_200.0)),
        ("now-1week", Since("now-1week", ago=604_800.0)),
        ('"2026-11-25T14:00:00+00:00"', Since("2026-11-25T14:00:00+00:00", at=1_795_615_200.0)),
    ],
)
def test_since_is_a_duration_or_a_date(written: str, since: Since) -> None:
    found = scope(f"since: {written}").since
    assert found == since
    assert found.begin(2e9) == (since.at or 2e9 - (since.ago or 0))


def test_a_date_without_a_zone_is_a_local_one() -> None:
    found = scope('since: "2026-11-25"').since
    assert found is not None
    assert found.at == datetime.strptime("2026-11-25", "%Y-%m-%d").astimezone().timestamp()
    assert found.written == "2026-11-25"


def test_the_filter_reads_as_it_was_written() -> None:
    found = scope('name: ["a*", b], partition: gpu, since: 2d, array: 7')
    assert found.filters == "name: a*, b, partition: gpu, since: 2d, array: 7"
    assert scope("user: me").filters == ""


@pytest.mark.parametrize(
    ("keys", "words", "hint"),
    [
        ("nmae: x", 'unknown key "nmae"', 'Did you mean "name"?'),
        ("name: []", '"name" must name 1 to 20', "glob"),
        ("name: [1]", '"name" must be a text', "quotes"),
        ("partition: a b", "cannot be in partition", "sinfo"),
        ('array: "41_3"', "cannot be in array", "sbatch printed"),
        ("array: true", '"array" must be a text', "quotes"),
        ("since: 3", "cannot be since", "Write a duration"),
        ("since: yesterday", "cannot be since", "Write a duration"),
        ('since: "2026-13-01"', "cannot be since", "Write a duration"),
        ("since: 2026-11-25", "2026-11-25", "quotes"),
        ("selector: a", 'unknown key "selector"', "Known keys"),
    ],
)
def test_an_error_names_the_line_and_what_to_write(keys: str, words: str, hint: str) -> None:
    with pytest.raises(FleetError) as caught:
        scope(keys)
    assert caught.value.line == 4
    assert words in str(caught.value)
    assert hint.lower() in (caught.value.next or "").lower()


def test_a_kubernetes_scheduler_has_its_selector_instead() -> None:
    text = "instances:\n  - {name: a, scheduler: {kind: kubernetes, partition: gpu}}\n"
    with pytest.raises(FleetError, match="unknown key"):
        parse_fleet(text, Path("/x/fleet.yaml"), PROFILES, Path("/home/me"))
