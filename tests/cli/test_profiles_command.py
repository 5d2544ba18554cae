"""`gpu-tui profiles`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpu_tui.cli.main import main
from gpu_tui.resources import profiles_dir

FRESH = ["--today", "2026-11-21"]
LATER = ["--today", "2027-02"]


def test_list_names_every_platform(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profiles", *FRESH]) == 0
    out = capsys.readouterr().out
    assert out.count(" ok ") == len(out.splitlines()) >= 5


def test_old_facts_make_it_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profiles", "check", *LATER]) == 1
    out = capsys.readouterr().out
    assert "stale" in out
    assert "clocks autodl-release-15d (2026-06)" in out


def test_the_json_holds_the_whole_frontmatter(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profiles", "list", "--json", *FRESH]) == 0
    rows = {row["profile"]: row for row in json.loads(capsys.readouterr().out)}
    autodl = rows["autodl"]
    assert (autodl["status"], autodl["meter_stop_verb"]) == ("ok", "关机")
    assert autodl["frontmatter"]["status"]["key_env"] == "AUTODL_TOKEN"
    assert autodl["clocks"][0]["after"] == "15d"


def test_show_prints_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profiles", "show", "runpod", *FRESH]) == 0
    assert capsys.readouterr().out == (profiles_dir() / "runpod.md").read_text(encoding="utf-8")


def test_an_unknown_name_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profiles", "show", "autodi"]) == 2
    assert 'Did you mean "autodl"?' in capsys.readouterr().err
    assert main(["profiles", "show"]) == 2
    assert "autodl" in capsys.readouterr().err


def test_an_invalid_profile_is_named_and_hides_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = (profiles_dir() / "autodl.md").read_text(encoding="utf-8")
    (tmp_path / "autodl.md").write_text(good, encoding="utf-8")
    (tmp_path / "broken.md").write_text("---\nschema: 1\nkind: x\n---\n", encoding="utf-8")
    (tmp_path / "latin.md").write_bytes(b"---\n\xff\n---\n")
    assert main(["profiles", "check", "--dir", str(tmp_path), *FRESH]) == 1
    out = capsys.readouterr().out
    assert "autodl  ok" in out
    assert "broken  invalid" in out
    assert "latin   invalid" in out


def test_a_directory_without_profiles_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profiles", "--dir", str(tmp_path)]) == 2
    assert "no profiles" in capsys.readouterr().err
