"""The profiles that come with gpu-tui: whole, with one meaning, and with the facts that matter most."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date

import pytest
import yaml

from gpu_tui.core.profile import Profile, fact_is_stale
from gpu_tui.resources import profile_files, profiles_dir, read_profile

# The bundled files themselves: what the developer has in the config directory must not count here.
PROFILES = {name: read_profile(file) for name, file in profile_files(profiles_dir()).items()}
EACH = pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES.keys())
HOUR, DAY = 3600.0, 86_400.0

THIRTEEN = {
    "autodl", "colab-kaggle", "featurize", "generic-ssh", "gpushare", "kubernetes", "lambda",
    "lanrui", "matpool", "paperspace", "runpod", "slurm", "vastai",
}  # fmt: skip


def test_the_platforms_that_gpu_tui_knows() -> None:
    assert set(PROFILES) == THIRTEEN


@EACH
def test_every_yaml_reader_reads_the_same(profile: Profile) -> None:
    text = profile_files()[profile.id].read_text(encoding="utf-8")
    assert yaml.safe_load(text.split("\n---\n")[0].removeprefix("---")) == profile.facts


@EACH
def test_every_fact_has_its_month(profile: Profile) -> None:
    assert len(profile.proofs) >= 20
    months = [(proof.where, proof.verified) for proof in profile.proofs]
    assert not [row for row in months if fact_is_stale(row[1], date(2026, 11, 21))]
    assert all(fact_is_stale(month, date(2027, 6, 1)) for _, month in months)


@EACH
def test_a_proof_points_at_its_line(profile: Profile) -> None:
    lines = profile_files()[profile.id].read_text(encoding="utf-8").splitlines()
    assert all(f'"{proof.verified}"' in lines[proof.line - 1] for proof in profile.proofs)


def test_no_clock_belongs_to_two_platforms() -> None:
    ids = Counter(clock.id for profile in PROFILES.values() for clock in profile.clocks)
    assert [name for name, times in ids.items() if times > 1] == []


@EACH
def test_every_clock_can_be_acted_on(profile: Profile) -> None:
    assert profile.clocks
    assert all(len(clock.avoid.split()) >= 2 for clock in profile.clocks)


@EACH
def test_nothing_is_exported_empty(profile: Profile) -> None:
    assert "DATA_DIR" in profile.overrides
    assert "" not in profile.overrides.values()


@EACH
def test_a_verb_that_ends_everything_is_there(profile: Profile) -> None:
    ends = [verb for verb in profile.teardown if verb.effect == "destroy"]
    for tier in profile.storage:
        if tier.survives_destroy is not True:
            assert any(tier.id in verb.deletes for verb in ends), tier.id


@EACH
def test_the_prose_is_whole(profile: Profile) -> None:
    sections = re.split(r"^## \d\. .*$", profile.body, flags=re.MULTILINE)[1:]
    assert len(sections) == 8
    assert all(len(section.split()) >= 10 for section in sections)


def test_switching_off_is_a_park_on_two_platforms_only() -> None:
    parks = {
        (name, verb.verb, verb.via)
        for name, profile in PROFILES.items()
        for verb in profile.teardown
        if verb.park
    }
    assert parks == {
        ("autodl", "关机", "ssh"), ("autodl", "关机", "http"), ("autodl", "关机", "console"),
        ("paperspace", "shut-down", "http"), ("paperspace", "shut-down", "console"),
    }  # fmt: skip


# (platform, verb, deletes, meter, reversible): the verbs that people mistake for one another.
VERBS = [
    ("autodl", "关机", set(), "partly", True),  # autodl.com/docs/save_money
    ("autodl", "释放", {"system", "data"}, "stops", False),  # autodl.com/docs/price
    ("gpushare", "关机", {"system", "hy-tmp"}, "partly", False),  # gpushare.com/docs/data/storage
    ("gpushare", "释放", {"system", "hy-tmp"}, "partly", False),  # gpushare.com/docs/instance/manage
    ("matpool", "停止并释放", {"system"}, "stops", False),  # matpool.com/supports/reference/faqs
    ("featurize", "实例归还", {"local"}, "stops", False),  # docs.featurize.cn
    ("lanrui", "停止", {"system"}, "partly", False),  # docs.lanrui.co
    ("lanrui", "销毁数据盘", {"system", "datadisk"}, "stops", False),  # docs.lanrui.co
    ("runpod", "stop", {"container"}, "partly", False),  # docs.runpod.io/pods/manage-pods
    ("runpod", "terminate", {"container", "volume"}, "stops", False),  # the same page
    ("runpod", "delete-network-volume", {"network-volume"}, "partly", False),
    ("vastai", "stop", set(), "partly", False),  # docs.vast.ai/guides/instances/manage-instances
    ("vastai", "destroy", {"container"}, "stops", False),  # the same page
    ("lambda", "terminate", {"root"}, "stops", False),  # docs-api.lambda.ai/api/cloud
    ("paperspace", "shut-down", set(), "partly", True),  # docs.digitalocean.com/products/paperspace
    ("paperspace", "destroy", {"block", "snapshot"}, "partly", False),  # .../machines/how-to/deactivate
    ("colab-kaggle", "disconnect-and-delete", {"colab-content"}, "stops", False),  # Colab's FAQ
    ("colab-kaggle", "stop-session", {"kaggle-working", "kaggle-temp"}, "stops", False),
    ("slurm", "scancel", {"tmpdir"}, "stops", False),  # slurm.schedmd.com/scancel.html
    ("kubernetes", "delete", {"pod-fs", "emptydir", "pod-log"}, "partly", False),  # the node bills on
    ("kubernetes", "delete-pvc", {"pvc"}, "partly", False),  # persistent-volumes/#reclaiming
    ("generic-ssh", "manual", {"root", "volume"}, "continues", False),  # by definition
]  # fmt: skip


@pytest.mark.parametrize(("name", "word", "deletes", "meter", "reversible"), VERBS)
def test_what_a_verb_does(
    name: str, word: str, deletes: set[str], meter: str, reversible: bool
) -> None:
    rows = [verb for verb in PROFILES[name].teardown if verb.verb == word]
    assert rows
    for verb in rows:
        assert (set(verb.deletes), verb.meter, verb.reversible) == (deletes, meter, reversible)


# (clock, when, anchor, after in seconds, loses): the deadlines that cost people their data.
CLOCKS = [
    ("autodl-release-15d", "stopped", "stopped_at", 15 * DAY, {"system", "data"}),  # autodl.com/docs/price
    ("autodl-tidal-release-7d", "stopped", "stopped_at", 7 * DAY, {"system", "data"}),  # autodl.com/docs/wave
    ("autodl-prepaid-expiry-15d", "account", "rental_end", 15 * DAY, {"system", "data"}),  # docs/price
    ("gs-hytmp-24h", "stopped", "stopped_at", 24 * HOUR, {"hy-tmp"}),  # gpushare.com/docs/data/storage
    ("gs-release-10d", "stopped", "stopped_at", 10 * DAY, {"system", "hy-tmp"}),  # docs/instance/manage
    ("gs-arrears-15d", "account", "balance", 15 * DAY, {"hy-nas", "system", "hy-tmp"}),  # docs/faq/payment
    ("lr-datadisk-bleed", "stopped", "stopped_at", None, set()),  # docs.lanrui.co
    ("fz-return-wipes", "running", "signal", None, {"local"}),  # docs.featurize.cn
    ("mp-release-wipes", "running", "signal", None, {"system"}),  # matpool.com/supports/reference/faqs
    ("runpod-zero-balance", "account", "balance", None, {"container", "volume"}),  # accounts-billing/billing
    ("runpod-stopped-volume-2x", "stopped", "stopped_at", None, set()),  # docs.runpod.io/pods/pricing
    ("vast-expired-48h", "account", "rental_end", 48 * HOUR, {"container"}),  # docs.vast.ai manage-instances
    ("vast-stopped-disk", "stopped", "stopped_at", None, set()),  # docs.vast.ai/guides/reference/billing
    ("lambda-os-shutdown-trap", "running", "signal", None, set()),  # docs.lambda.ai/public-cloud/billing
    ("ps-notebook-limit", "running", "created_at", 6 * HOUR, {"nb-ephemeral"}),  # the shorter of 6 h and 12 h
    ("ps-auto-shutdown-machine", "running", "rental_end", None, set()),  # manage-auto-shutdown
    ("colab-max-12h", "running", "created_at", 12 * HOUR, {"colab-content"}),  # Colab's FAQ
    ("colab-idle-90m", "running", "last_contact", 90 * 60, {"colab-content"}),  # field use
    ("kaggle-session-9h", "running", "created_at", 9 * HOUR, {"kaggle-working", "kaggle-temp"}),  # the shorter
    ("gen-forgotten-box", "running", "reading", None, set()),  # by definition
]  # fmt: skip


@pytest.mark.parametrize(("id", "when", "anchor", "after", "loses"), CLOCKS)
def test_when_a_clock_fires(
    id: str, when: str, anchor: str, after: float | None, loses: set[str]
) -> None:
    found = [clock for profile in PROFILES.values() for clock in profile.clocks if clock.id == id]
    assert len(found) == 1
    clock = found[0]
    assert (clock.when, clock.anchor, clock.after) == (when, anchor, after)
    assert set(clock.loses) == loses


# Where sources contradict each other the profile takes the worse case, says so, and is not sure.
CONFLICTS = ["ps-notebook-limit", "ps-orphan-snapshot", "kaggle-session-9h"]


@pytest.mark.parametrize("id", CONFLICTS)
def test_contradictions_are_told(id: str) -> None:
    clock = next(c for profile in PROFILES.values() for c in profile.clocks if c.id == id)
    assert clock.confidence == "low"
    assert re.search("conflict|contradict", clock.note or "")


def test_a_snapshot_that_may_die_counts_as_dead() -> None:
    snapshot = PROFILES["paperspace"].tier("snapshot")
    assert snapshot is not None
    assert snapshot.survives_destroy is None
    assert "conflict" in (snapshot.note or "")


def test_lambda_has_no_stop_at_all() -> None:
    assert not [verb for verb in PROFILES["lambda"].teardown if verb.effect == "stop"]


def test_a_bare_box_promises_nothing() -> None:
    bare = PROFILES["generic-ssh"]
    assert [verb.verb for verb in bare.teardown] == ["manual"]
    assert not any(tier.survives_stop for tier in bare.storage)


def test_a_variant_has_its_own_tiers() -> None:
    paperspace = PROFILES["paperspace"]
    park = next(verb for verb in paperspace.teardown if verb.verb == "shut-down")
    disks = {"block", "snapshot", "shared-drive"}
    assert {tier.id for tier in paperspace.tiers_under(park, "machine")} == disks
    # Nobody said which variant it is: the verb itself is for machines.
    assert {tier.id for tier in paperspace.tiers_under(park, None)} == disks


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("autodl", "AUTODL_TOKEN"), ("runpod", "RUNPOD_API_KEY"), ("vastai", "VAST_API_KEY"),
        ("lambda", "LAMBDA_API_KEY"), ("paperspace", "PAPERSPACE_API_KEY"),
        ("featurize", "FEATURIZE_API_TOKEN"),
    ],
)  # fmt: skip
def test_an_api_names_the_variable_of_its_key(name: str, variable: str) -> None:
    status = PROFILES[name].facts["status"]
    assert isinstance(status, dict)
    assert status["key_env"] == variable


@pytest.mark.parametrize(
    "word", ["关机", "释放", "停止并释放", "矩池云", "恒源云", "揽睿星舟", "归还", "销毁", "数据盘"]
)
def test_the_consoles_own_words_are_there(word: str) -> None:
    files = [file.read_text(encoding="utf-8") for file in profile_files(profiles_dir()).values()]
    assert any(word in text for text in files)
