"""Today's program reads what 0.1.0 left: its journal, its marks and choices, its recording (fixtures/state-0.1.0)."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from gpu_tui.alerts.ledger import Ledger, Post
from gpu_tui.cli.main import main
from gpu_tui.core.findings import Severity
from gpu_tui.core.logs import LogSource
from gpu_tui.parse.config_file import parse_config
from gpu_tui.resources import load_profiles
from gpu_tui.settings import load_fleet
from gpu_tui.state.bookmarks import kept_bookmarks
from gpu_tui.state.habits import Habits
from gpu_tui.state.history import SqliteHistory
from gpu_tui.state.news import News
from gpu_tui.ui.recall import Recall

FIXTURES = Path(__file__).parent.parent / "fixtures" / "state-0.1.0"
LOG = LogSource("~/autodl-tmp/runs/logs/q1_master.log")
MARKED = {
    ("polaris", "created_at"),
    ("mira", "stopped_at"),
    ("sirius", "created_at"),
    ("rigel", "deadline:autodl-host-delist"),
    ("altair", "rental_end"),
    ("lyra", "since:lambda-reservation-lapse"),
}
# The same instances; nothing listens on that port.
FLEET = """\
sweep: demo-ablation
instances:
  - {name: mira, host: "ssh://root@127.0.0.1:1", platform: autodl}
  - {name: rigel, host: "ssh://root@127.0.0.1:1", platform: autodl}
"""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy in its place: nothing writes into the fixture."""
    shutil.copytree(FIXTURES / "state", tmp_path / "state")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("GPU_TUI_CONFIG", raising=False)
    return tmp_path / "state" / "gpu-tui"


@pytest.fixture
def fleet(tmp_path: Path) -> str:
    (tmp_path / "fleet.yaml").write_text(FLEET)
    return str(tmp_path / "fleet.yaml")


def test_its_journal_is_whole_and_its_open_end_is_told(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["journal", "--check"]) == 0
    told = capsys.readouterr().out
    assert "47 records, every one follows the one before" in told
    assert "polaris  confirmed-gone" in told
    assert "! rigel: “释放”, steps given" in told
    assert "! deneb" not in told  # its end was stated


def test_a_changed_record_of_it_is_found(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = state / "journal" / "teardown.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"confirmed-gone"', b'"still-there"', 1))
    assert main(["journal", "--check"]) == 1
    assert "follows the one before" not in capsys.readouterr().out


def test_clocks_run_from_its_marks(
    state: Path, fleet: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["clocks", "--json", "--fleet", fleet, "--limit", "1"]) == 0
    rows = json.loads(capsys.readouterr().out)["clocks"]
    marked = {(one["instance"], one["id"]): one for one in rows if one["started_basis"] == "manual"}
    stopped = marked["mira", "autodl-release-15d"]
    assert (stopped["state"], stopped["started_at"]) in (
        ("running", "2026-11-28T05:31:02Z"),
        ("fired", "2026-11-28T05:31:02Z"),
    )
    assert ("rigel", "autodl-host-delist") in {
        (one["instance"], one["id"]) for one in rows if one["fires_at"]
    }


def test_its_history_has_every_mark_and_bookmark(state: Path) -> None:
    with SqliteHistory(state / "history.sqlite") as history:
        assert history.trouble is None
        found = {
            (name, kind)
            for name in ("polaris", "mira", "sirius", "rigel", "altair", "lyra", "vega", "deneb")
            for kind, (_, basis) in history.anchors(name).items()
            if basis == "manual"
        }
        assert found == MARKED
        marks = kept_bookmarks(history, "rigel", LOG)
    assert [mark.text for mark in marks] == ["loading configs/patch_64.yaml"]


def test_its_alerts_are_not_sent_again_by_a_channel_that_it_had(state: Path) -> None:
    news = [
        News(f"finding:{id}", "nan", Severity.FATAL, place, "x", 0.0)
        for id, place in (("021f32a617b9", "rigel"), ("68d492349d3f", "altair"), ("new", "rigel"))
    ]
    places = frozenset({"rigel", "altair"})
    posts = [Post(name) for name in ("screen", "command", "webhook", "pager")]
    ledger = Ledger(state / "history.sqlite")
    try:
        assert ledger.trouble is None
        found = ledger.sift(posts, "demo-ablation", news, places, places, now=2e9, since=2e9)
    finally:
        ledger.close()
    for name in ("screen", "command", "webhook"):
        assert [one.key for one in found[name].fresh] == ["finding:new"], name
        assert not found[name].first
    assert len(found["pager"].first) == 3  # it had no such channel


def test_its_choices_and_filters_are_kept(state: Path) -> None:
    assert Habits(state / "screen.json").get("layout") == "log-first"
    assert Recall(state / "filters.json").kept == ("epoch", "polaris", "rigel", "deneb", "lyra")


def test_its_fleet_file_and_settings_are_read() -> None:
    fleet = load_fleet(FIXTURES / "fleet.yaml", load_profiles())
    assert fleet.names == ("vega", "rigel", "lyra", "altair", "deneb", "polaris", "mira", "sirius")
    config = parse_config((FIXTURES / "config.yaml").read_text("utf-8"), "config.yaml")
    assert (config.theme, config.accounts) == ("amber", ("runpod",))
    assert config.alerts.webhook is not None


def test_the_cockpit_opens_its_recording(state: Path) -> None:
    words = [sys.executable, "-m", "gpu_tui", "replay", str(FIXTURES / "demo.tape"), "--at", "end"]
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    with subprocess.Popen(
        words, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True
    ) as process:
        os.close(slave)
        shown = read_until(master, b"friday-notebook")  # billed, and in no fleet file
        os.write(master, b"q")
        shown += read_until(master, None)
    os.close(master)
    assert b"friday-notebook" in shown
    assert b"Traceback" not in shown
    assert process.returncode == 0


def read_until(terminal: int, wanted: bytes | None) -> bytes:
    """All output of a terminal until `wanted` is in it, or until its program has ended."""
    shown = b""
    while wanted is None or wanted not in shown:
        try:
            part = os.read(terminal, 65_536)
        except OSError:  # EIO: the other side is closed
            break
        if not part:
            break
        shown += part
    return shown
