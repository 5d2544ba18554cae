"""The profiles that come with gpu-tui: whole, with one meaning, and with the facts that matter most."""

from __future__ import annotations

import re
from datetime import date

import pytest
import yaml

from gpu_tui.core.anchors import Anchors
from gpu_tui.core.clocks import clocks_of
from gpu_tui.core.profile import Profile, fact_is_stale
from gpu_tui.resources import load_profiles, profile_files

PROFILES = load_profiles()
EACH = pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES.keys())
DAY = 86_400.0


def test_the_platforms_that_gpu_tui_knows() -> None:
    assert {"autodl", "runpod", "generic-ssh", "lambda", "vastai"} <= set(PROFILES)
    assert "_schema" not in PROFILES


@EACH
def test_every_yaml_reader_reads_the_same(profile: Profile) -> None:
    text = profile_files()[profile.id].read_text(encoding="utf-8")
    assert yaml.safe_load(text.split("\n---\n")[0].removeprefix("---")) == profile.facts


@EACH
def test_every_fact_has_its_month(profile: Profile) -> None:
    assert len(proofs(profile)) >= 20
    assert not [what for what, month in proofs(profile) if fact_is_stale(month, date(2026, 11, 21))]
    assert all(fact_is_stale(month, date(2027, 3, 1)) for _, month in proofs(profile))


@EACH
def test_ids_name_their_platform(profile: Profile) -> None:
    families = {clock.id.split("-")[0] for clock in profile.clocks}
    assert len(families) == 1
    assert profile.id.startswith(families.pop()[:3])


@EACH
def test_nothing_is_exported_empty(profile: Profile) -> None:
    assert "DATA_DIR" in profile.overrides
    assert "" not in profile.overrides.values()


@EACH
def test_a_verb_that_ends_everything_is_there(profile: Profile) -> None:
    gone = {tier.id for tier in profile.storage if tier.survives_destroy is False}
    assert any(verb.effect == "destroy" and gone <= set(verb.deletes) for verb in profile.teardown)


@EACH
def test_the_prose_is_whole(profile: Profile) -> None:
    sections = re.split(r"^## \d\. .*$", profile.body, flags=re.MULTILINE)[1:]
    assert len(sections) == 8
    assert all(len(section.split()) >= 10 for section in sections)


def test_autodl_power_off_is_the_only_park() -> None:
    autodl = PROFILES["autodl"]
    parks = [verb for verb in autodl.teardown if verb.park]
    assert {(verb.verb, verb.via) for verb in parks} == {
        ("关机", "ssh"), ("关机", "http"), ("关机", "console"),
    }  # fmt: skip
    others = [verb for name, each in PROFILES.items() if name != "autodl" for verb in each.teardown]
    assert not any(verb.park for verb in others)


def test_autodl_release_deletes_both_disks() -> None:
    release = PROFILES["autodl"].verb("释放")
    assert release is not None
    assert set(release.deletes) == {"system", "data"}
    assert release.steps
    assert not release.reversible


@pytest.mark.parametrize(
    ("variant", "days", "clock"),
    [("container", 15, "autodl-release-15d"), ("tidal", 7, "autodl-tidal-release-7d")],
)
def test_a_parked_autodl_box_counts_down(variant: str, days: int, clock: str) -> None:
    stopped = 1_763_700_000.0
    anchors = Anchors(power="stopped", stopped_at=stopped, stopped_basis="api")
    clocks = {
        row.id: row for row in clocks_of(PROFILES["autodl"], "box", anchors, stopped, variant)
    }
    assert clocks[clock].fires_at == stopped + days * DAY
    assert clocks[clock].loses == "system disk, data disk"
    assert len([row for row in clocks.values() if row.fires_at]) == 1


def test_runpod_stop_wipes_the_container_disk() -> None:
    runpod = PROFILES["runpod"]
    stop, terminate = runpod.verb("stop"), runpod.verb("terminate")
    assert stop is not None
    assert terminate is not None
    assert (stop.deletes, stop.meter) == (("container",), "partly")
    assert set(terminate.deletes) == {"container", "volume"}
    volume = runpod.verb("delete-network-volume")
    assert volume is not None
    assert volume.deletes == ("network-volume",)


def test_lambda_has_no_stop_at_all() -> None:
    assert not [verb for verb in PROFILES["lambda"].teardown if verb.effect == "stop"]


def test_a_bare_box_promises_nothing() -> None:
    bare = PROFILES["generic-ssh"]
    assert [verb.verb for verb in bare.teardown] == ["manual"]
    assert bare.teardown[0].meter == "continues"
    assert not any(tier.survives_stop for tier in bare.storage)
