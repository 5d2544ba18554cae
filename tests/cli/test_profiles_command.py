"""`gpu-tui profiles`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpu_tui.cli.main import main
from gpu_tui.resources import profiles_dir

FRESH = ["--today", "2026-11-21"]
LATER = ["--today", "2027-02"]
AUTODL = (profiles_dir() / "autodl.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _nothing_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))


def test_list_names_every_platform_and_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profiles", *FRESH]) == 0
    out = capsys.readouterr().out
    assert out.count(" ok ") == len(out.splitlines()) == 13
    assert all(str(profiles_dir()) in line for line in out.splitlines())


def test_old_facts_make_it_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profiles", "check", "autodl", "--all", *LATER]) == 1
    out = capsys.readouterr().out
    verified = AUTODL.index('verified: "2026-06"', AUTODL.index("id: autodl-release-15d"))
    line = AUTODL[:verified].count("\n") + 1
    assert "older than six months: " in out
    assert f"autodl.md:{line}: stale: clocks autodl-release-15d (2026-06)" in out


def test_unconfirmed_facts_are_listed_and_are_no_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["profiles", "check", *FRESH]) == 0
    out = capsys.readouterr().out
    assert "unconfirmed: clocks kaggle-session-9h (2026-06)" in out
    assert "lanrui" in out
    assert "more unconfirmed; --all shows them" in out


def test_a_month_that_is_still_to_come_is_no_proof(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = AUTODL.replace('verified: "2026-08"', 'verified: "2026-12"', 1)
    (tmp_path / "autodl.md").write_text(text, encoding="utf-8")
    assert main(["profiles", "check", "--dir", str(tmp_path), *FRESH]) == 1
    line = text[: text.index('"2026-12"')].count("\n") + 1
    out = capsys.readouterr().out
    assert (
        f"autodl.md:{line}: storage system was verified in 2026-12, which is still to come" in out
    )
    assert main(["profiles", "check", "--dir", str(tmp_path), "--today", "2026-12-01"]) == 0


def test_the_json_holds_the_whole_frontmatter(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profiles", "list", "--json", *FRESH]) == 0
    rows = {row["profile"]: row for row in json.loads(capsys.readouterr().out)}
    autodl = rows["autodl"]
    assert (autodl["status"], autodl["meter_stop_verb"]) == ("ok", "关机")
    assert autodl["frontmatter"]["status"]["key_env"] == "AUTODL_TOKEN"
    assert autodl["clocks"][0]["after"] == "15d"
    assert autodl["file"] == str(profiles_dir() / "autodl.md")
    assert [row["fact"] for row in rows["autodl"]["unconfirmed"]] == ["clocks autodl-nohup-killed"]


def test_the_source_is_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profiles", "show", "runpod", "--source", *FRESH]) == 0
    assert capsys.readouterr().out == (profiles_dir() / "runpod.md").read_text(encoding="utf-8")


def test_show_draws_the_matrix_of_one_verb(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["profiles", "show", "autodl", "--verb", "释放", *FRESH]) == 0
    out = capsys.readouterr().out
    rows = {line.split("  ")[0]: line for line in out.splitlines()}
    assert "after release" in rows["tier"]
    assert "✗ deleted" in rows["data disk"]
    assert "✓ kept" in rows["shared file system"]
    assert "cannot be undone" in out
    assert main(["profiles", "show", "autodl", *FRESH]) == 0
    out = capsys.readouterr().out
    assert "deleted 15 days later (container, pro)" in " ".join(out.split())
    assert "can be undone" in out


def test_an_unknown_verb_gets_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profiles", "show", "lambda", "--verb", "stop", *FRESH]) == 2
    assert "There are: terminate, delete-filesystem." in capsys.readouterr().err


def test_an_unknown_name_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profiles", "show", "autodi"]) == 2
    assert 'Did you mean "autodl"?' in capsys.readouterr().err
    assert main(["profiles", "show"]) == 2
    assert "autodl" in capsys.readouterr().err


def test_an_invalid_profile_is_named_and_hides_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "autodl.md").write_text(AUTODL, encoding="utf-8")
    (tmp_path / "broken.md").write_text("---\nschema: 1\nkind: x\n---\n", encoding="utf-8")
    (tmp_path / "latin.md").write_bytes(b"---\n\xff\n---\n")
    assert main(["profiles", "check", "--dir", str(tmp_path), *FRESH]) == 1
    out = capsys.readouterr().out
    assert "autodl  ok" in out
    assert f"broken  invalid  {tmp_path / 'broken.md'}:" in out
    assert f"latin   invalid  {tmp_path / 'latin.md'}:2: not UTF-8 text" in out


def test_a_directory_without_profiles_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profiles", "--dir", str(tmp_path)]) == 2
    assert "no profiles" in capsys.readouterr().err
