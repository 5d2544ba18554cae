"""A profile is what the schema says, or it is refused with its place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_tui.parse.profile_md import PARTS, SUMMARY, ProfileError, parse_profile
from gpu_tui.resources import profile_files

AUTODL = profile_files()["autodl"].read_text(encoding="utf-8")


def place(needle: str) -> int:
    """The line of the profile on which `needle` first stands."""
    return AUTODL[: AUTODL.index(needle)].count("\n") + 1


def refused(old: str, new: str) -> ProfileError:
    assert old in AUTODL
    with pytest.raises(ProfileError) as caught:
        parse_profile(AUTODL.replace(old, new, 1), "profiles/autodl.md")
    assert caught.value.file == "profiles/autodl.md"
    return caught.value


MISTAKES = [
    # what stands there, what is written instead, words of the error
    ("spot_grace: ", "spot_grase: ", 'unknown key "spot_grase"'),
    ("local_nvme: true\n", "", 'lacks the key "local_nvme"'),
    ("local_nvme: true", "local_nvme: maybe", "must be true, false or host-dependent"),
    ("platform: autodl", "platform: autodi", "not the file's name"),
    ("kind: ssh-rental", "kind: ssh-rentel", "'ssh-rentel'"),
    ("schema: 1", "schema: 2", "schema 1"),
    ('spot_grace: "n/a"', "spot_grace: 5", "must be a text"),
    ('after: "15d"', "after: 15", '"after" must be a duration'),
    ('after: "15d"', 'after: "15"', "not a duration"),
    ('after: "15d"', "after: 1:30", "without quotes"),
    ('after: "15d"', "after: 24:00:00", "without quotes"),
    ("loses: [system, data]", "loses: [system, dat]", "'dat'"),
    ("loses: [system, data]", "loses: []", "what it loses"),
    ("anchor: stopped_at", "anchor: stoped_at", "'stoped_at'"),
    ("effect: destroys", "effect: destroy", "'destroy'"),
    ("severity: critical", "severity: fatal", "'fatal'"),
    ('verified: "2026-08"', 'verified: "2026-13"', "must be a month"),
    ('verified: "2026-08"', "verified: 2026", "must be a month"),
    ("    confidence: high\n", "", 'lacks the key "confidence"'),
    ("applies_to: [container, pro]", "applies_to: [containr]", "'containr'"),
    ("survives_stop: true", "survives_stop: yes", "'yes' without quotes"),
    ("survives_stop: true", "survives_stop: 'yes'", "true or false"),
    ("survives_stop: true", "survives_stop: false", "not known to survive a stop"),
    ("survives_stop: true", "survives_stop: null", "not known to survive a stop"),
    ("meter: partly", "meter: half", "'half'"),
    ("reversible: true", "reversible: host-dependent", "true or false"),
    ("deletes: [system, data]", "deletes: []", "deletes something"),
    ("    call: /usr/bin/shutdown\n", "", "must name its call"),
    ("DETACH: tmux", 'DETACH: ""', "is empty"),
    ("DETACH: tmux", "detach: tmux", "not the name of an environment variable"),
    ("key_env: AUTODL_TOKEN", "key_env: abc123", "name of an environment variable"),
    ("id: autodl-tidal-release-7d", "id: autodl-release-15d", "stands twice"),
    ("    when: stopped", "    skip_gate: true\n    when: stopped", 'unknown key "skip_gate"'),
    ("    effect: stop\n", "    effect: stop\n    force: true\n", 'unknown key "force"'),
    ("  key_env: AUTODL_TOKEN\n", "", "which variable holds its key"),
    ("  available: false\n", "  available: true\n", '"available" is not what "spot_available" says'),
    ('  grace: "n/a"\n', '  grace: "5s"\n', '"grace" is not what "spot_grace" says'),
    ("    anchor: stopped_at\n", "    anchor: created_at\n", 'from "created_at" cannot tick when "stopped"'),
    ("    note: the full hourly price, busy or idle\n", "", "must say what it bills"),
    ("    via: http\n    applies_to: [pro]\n", "    via: ssh\n    applies_to: [pro, tidal]\n", "stands twice"),
    ("    region_locked: true\n    note: 文件存储", "    region_locked: true\n    survives: x\n    note: 文件存储", 'unknown key "survives"'),
    ("    survives_destroy: true\n", "    survives_destroy: null\n", "no verb that destroys deletes it"),
    ("## 3. NETWORK\n", "## 3. NETWORK\n\n## 4. X\n", "section 3 is empty"),
    ("## 3. NETWORK", "## 3. Net", "section 3"),
    ("## 3. NETWORK", "", 'section 3 is out of place'),
    ("## 8. SCRIPT OVERRIDES", "", 'no section "## 8. SCRIPT OVERRIDES"'),
    ("env: AutoDLContainerUUID", "env: A-B", "'A-B' cannot be a sign"),
    ("file: /root/autodl-tmp", "file: autodl-tmp", "cannot be a sign"),
    ("env: AutoDLContainerUUID", "file: /a, env: B", "one file or one variable"),
    ("---\nschema", "schema", "no frontmatter"),
    ("schema: 1", "schema: 1\nschema: 1", "second time"),
    ("schema: 1", "schema: &a 1", "anchors"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "words"), MISTAKES, ids=[row[2] for row in MISTAKES])
def test_a_mistake_is_refused(old: str, new: str, words: str) -> None:
    assert words in refused(old, new).text


def test_the_error_points_into_the_file() -> None:
    error = refused("meter: partly", "meter: half")
    assert error.line == place("meter: partly")
    assert error.column == len("    meter: ") + 1


def test_a_tier_of_one_variant_is_not_another_variants() -> None:
    only_pro = AUTODL.replace(
        "    survives_stop: true\n", "    survives_stop: true\n    applies_to: [pro]\n", 1
    )
    with pytest.raises(ProfileError, match='the tier "system" is not there in tidal'):
        parse_profile(only_pro, "autodl.md")


def test_a_stop_of_one_variant_answers_for_its_own_tiers() -> None:
    lossy = AUTODL.replace(
        "    survives_stop: true\n", "    survives_stop: false\n    applies_to: [elastic]\n", 2
    )
    lossy = lossy.replace("loses: [system, data]", "loses: [shared-fs]").replace(
        "deletes: [system, data]", "deletes: [shared-fs]"
    )
    # Nothing else is wrong with it: the two disks are only the elastic variant's, which no verb is for.
    with pytest.raises(
        ProfileError, match='the tier "system" is not known to survive, and no verb'
    ):
        parse_profile(lossy, "autodl.md")


def test_a_missing_section_is_placed_at_the_end() -> None:
    error = refused("## 8. SCRIPT OVERRIDES", "")
    assert error.line == AUTODL.rstrip().count("\n") + 1


def test_a_park_needs_a_matrix_that_says_so() -> None:
    profile = parse_profile(AUTODL, "autodl.md")
    assert {verb.verb for verb in profile.teardown if verb.park} == {"关机"}
    changed = AUTODL.replace("deletes: []", "deletes: [data]", 1)
    assert not parse_profile(changed, "autodl.md").teardown[0].park


def test_all_keys_of_the_schema_are_required() -> None:
    assert len(SUMMARY) == 13
    for key in ("schema", *SUMMARY, *PARTS):
        lines = AUTODL.split("\n")
        at = next(number for number, line in enumerate(lines) if line.startswith(f"{key}:"))
        lines[at] = f"# {lines[at]}"
        with pytest.raises(ProfileError):
            parse_profile("\n".join(lines), "autodl.md")


def test_a_large_file_is_refused() -> None:
    with pytest.raises(ProfileError, match=r"512\.0 KiB"):
        parse_profile(AUTODL + "x" * 600_000, "autodl.md")


def test_line_ends_of_windows_are_read() -> None:
    assert parse_profile(AUTODL.replace("\n", "\r\n"), "autodl.md").id == "autodl"


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_a_damaged_profile_is_read_or_refused(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(AUTODL)))
    length = data.draw(st.integers(0, 200))
    junk = data.draw(st.text(max_size=20))
    damaged = AUTODL[:start] + junk + AUTODL[start + length :]
    try:
        profile = parse_profile(damaged, "autodl.md")
    except ProfileError:
        return
    # Whatever is accepted still obeys the matrix: no park over a tier that a stop may take.
    for verb in profile.teardown:
        if verb.park:
            assert all(tier.survives_stop for tier in profile.storage)
