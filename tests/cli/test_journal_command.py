"""`gpu-tui journal`: pretty for a person, plain in a pipe, and the one place to state an end by hand."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_tui.cli.main import main
from gpu_tui.core.clock import ManualClock
from gpu_tui.teardown.journal import Journal, open_ends


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    """A teardown that was sent and never seen to end, and one that was."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    made = Journal(tmp_path / "gpu-tui" / "journal", ManualClock(), "me@here")
    about = {"verb": "terminate", "effect": "destroy", "provider_id": "7h9k2m4n6p"}
    made.write("pod", "open", "d", verb="terminate")
    made.write("pod", "plan", "d", running=[], deletes=["disk\x1b[2J"])
    made.write("pod", "loaded", "d", files=3, bad=["wide/best.pth"], refused="not verified")
    made.write("pod", "intent", "d", console=False, **about)
    made.write("pod", "call", "d", **about)
    made.write("pod", "unknown", "d", outcome="unknown")
    made.write("other", "intent", "d", console=False, **about)
    made.write("other", "confirmed-gone", "d", outcome="gone")
    return made


def at_a_terminal(argv: list[str], typed: str, state: Path) -> tuple[int, str]:
    """Run the command on a real pty, with `typed` on its keyboard."""
    master, slave = pty.openpty()
    env = {**os.environ, "XDG_STATE_HOME": str(state), "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(
        [sys.executable, "-m", "gpu_tui", *argv], stdin=slave, stdout=slave, stderr=slave, env=env
    )
    os.close(slave)
    os.write(master, typed.encode())
    data = b""
    while True:
        try:
            part = os.read(master, 65_536)
        except OSError:
            break
        if not part:
            break
        data += part
    os.close(master)
    return process.wait(60), data.decode()


def test_in_a_pipe_it_is_plain_text(journal: Journal, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["journal"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    lines = out.splitlines()
    assert "terminate of 7h9k2m4n6p" in lines[3]
    assert "not good: wide/best.pth; refused: not verified" in lines[2]
    assert lines[-2].startswith("! pod: “terminate”, sent 2025-11-21")
    assert lines[-2].endswith("UNKNOWN")
    assert "--settle" in lines[-1]
    assert not any(line.startswith("! other") for line in lines)


def test_json_is_the_records_and_nothing_else(
    journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["journal", "pod", "--json", "--check"]) == 0
    out, err = capsys.readouterr()
    records = [json.loads(line) for line in out.splitlines()]
    assert [record["seq"] for record in records] == [1, 2, 3, 4, 5, 6]
    assert "8 records, every one follows" in err


def test_a_journal_that_cannot_be_read_is_no_empty_one(
    journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    journal.path.unlink()
    journal.path.mkdir()
    assert main(["journal", "--json"]) == 2
    said = capsys.readouterr()
    assert "no regular file" in json.loads(said.out)["error"]["text"]
    assert str(journal.path) in said.err
    assert main(["journal"]) == 2
    assert "no regular file" in capsys.readouterr().err


def test_nothing_is_stated_without_a_terminal(
    journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["journal", "pod", "--settle"]) != 0
    assert "only a person" in capsys.readouterr().err
    assert "pod" in open_ends(journal.read().records)


def test_on_a_terminal_it_has_colours(journal: Journal, tmp_path: Path) -> None:
    code, out = at_a_terminal(["journal"], "", tmp_path)
    assert code == 0
    assert "\x1b[31;1munknown" in out
    assert "\x1b[2J" not in out


@pytest.mark.parametrize(
    ("typed", "over"),
    [
        ("pod-4n6p is gone\n", True),
        ("pod-4n6p is kept on purpose\n", True),
        ("pod-4n6p\n", False),
        ("yes\n", False),
        ("\x04", False),
    ],
)
def test_only_the_whole_sentence_states_an_end(
    journal: Journal, tmp_path: Path, typed: str, over: bool
) -> None:
    code, out = at_a_terminal(["journal", "pod", "--settle"], typed, tmp_path)
    assert (code == 0) is over, out
    found = journal.read()
    assert found.damage is None
    assert ("pod" not in open_ends(found.records)) is over
    if over:
        last = found.records[-1]
        assert (last.event, last.detail) == ("stated", {"typed": typed.strip(), "settles": 4})


def test_what_is_still_there_stays_red_and_no_longer_in_the_way(
    journal: Journal, tmp_path: Path
) -> None:
    """Who looked and saw it run has resolved nothing but the doubt."""
    assert open_ends(journal.read().records)["pod"].blocks
    typed = "pod-4n6p is still there\n"
    code, _ = at_a_terminal(["journal", "pod", "--settle"], typed, tmp_path)
    assert code == 0
    end = open_ends(journal.read().records)["pod"]
    assert (end.outcome, end.blocks) == ("still-there", False)
    journal.write("pod", "intent")  # another try
    code, _ = at_a_terminal(["journal", "pod", "--settle"], "pod is gone\n", tmp_path)
    assert code == 0
    assert open_ends(journal.read().records) == {}


def test_a_ladder_that_is_open_is_not_settled_under_its_feet(
    journal: Journal, tmp_path: Path
) -> None:
    hold = journal.hold("pod")
    code, out = at_a_terminal(["journal", "pod", "--settle"], "pod-4n6p is gone\n", tmp_path)
    hold.close()
    assert code != 0
    assert "has a ladder open" in out
    assert "pod" in open_ends(journal.read().records)


def test_read_only_by_the_environment_settles_nothing(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = journal.read().records
    monkeypatch.setenv("GPU_TUI_READONLY", "1")
    code, said = at_a_terminal(["journal", "pod", "--settle"], "pod-4n6p is gone\n", tmp_path)
    assert code
    assert "nothing is settled from here" in said
    assert journal.read().records == before


@pytest.mark.parametrize("name", ["pod", "other"])
def test_who_leaves_the_cockpit_is_told_of_a_call_without_a_proven_end(
    name: str,
    journal: Journal,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(f"instances:\n  - name: {name}\n    host: ssh://127.0.0.1:1\n")
    monkeypatch.setattr("gpu_tui.wiring.run_cockpit", lambda *_, **__: 0)
    assert main(["--fleet", str(fleet)]) == 0
    said = capsys.readouterr().err
    assert ("has no proven end: UNKNOWN" in said) is (name == "pod")
    assert ("gpu-tui journal pod --settle" in said) is (name == "pod")
