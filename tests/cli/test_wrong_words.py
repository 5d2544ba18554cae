"""Command lines that a person mistypes: what was wrong with them, in words, and the code that says whose fault it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_tui.cli.fleet_args import seconds
from gpu_tui.cli.main import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "--limit", "0"], "'0' is no time to wait: write it like 30 or 2m"),
        (["check", "--limit", "nan"], "'nan' is no time to wait"),
        (["check", "--limit", "2 days"], "'2 days' is no time to wait"),
        (["check", "--limit", "30h"], "'30h' is no time to wait"),
        (["verify", ".", "--expect", "-1"], "'-1' is no number of cells"),
        (["verify", ".", "--expect", "0"], "'0' is no number of cells"),
        (["verify", ".", "--expect", "some"], "'some' is no number of cells"),
        (["clocks", "mark", "box"], "required: WHAT, TIME"),
        (["clocks", "mark", "box", "stoped", "now"], "argument WHAT: invalid choice: 'stoped'"),
    ],
)
def test_a_wrong_word_is_named(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 64
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "limit"), [("30", 30.0), ("0.5", 0.5), ("30s", 30.0), ("2m", 120.0)]
)
def test_a_limit_may_be_written_as_everywhere_else(text: str, limit: float) -> None:
    assert seconds(text) == limit


def test_what_is_no_directory_is_none_for_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("instances: [{name: box, host: 'ssh://a@127.0.0.1:9'}]\n")
    for out in (tmp_path / "file", tmp_path / "file/below"):
        assert main(["report", "--fleet", str(fleet), "--out", str(out)]) == 2
        assert f"{out} is no directory\n  name a directory" in capsys.readouterr().err


def test_a_pull_from_a_box_that_is_not_there_could_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It exited as one that did not verify, said neither why nor what to do, and wrote into the journal."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("instances: [{name: box, host: 'ssh://a@127.0.0.1:9'}]\n")
    assert main(["pull", "box", "--fleet", str(fleet), "--limit", "5"]) == 2
    err = capsys.readouterr().err
    assert "box: 127.0.0.1:9 refuses the connection\n  the box is off" in err
    assert not (tmp_path / "state/gpu-tui/journal/teardown.jsonl").exists()
