"""Settings that the cockpit would refuse are told by the commands that run without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpu_tui import wiring
from gpu_tui.cli.main import main
from screenshots.builders import NOW
from screenshots.scenes import sweep

CONFIG = """\
theme: nihgt
keys: {cockpit.zoom: Z,
  cockpit.findigns: F}
"""


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A fleet at whose port nobody listens, and settings that are read well and fit nowhere."""
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "fleet.yaml").write_text("instances: [{name: box, host: 'ssh://a@127.0.0.1:9'}]\n")
    monkeypatch.setenv("GPU_TUI_CONFIG", str(tmp_path / "config.yaml"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return ["--fleet", str(tmp_path / "fleet.yaml"), "--limit", "5"]


def test_a_patrol_tells_of_them_and_goes_on(
    fleet: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *fleet]) == 1  # for the box that refuses, as without them
    said = capsys.readouterr()
    assert "box" in said.out
    assert f'{tmp_path}/config.yaml:3:3: no action is called "cockpit.findigns"' in said.err
    assert 'Did you mean "cockpit.findings"?' in said.err
    assert "asks for the theme 'nihgt'" in said.err
    assert "Did you mean night?" in said.err


def test_the_audit_counts_them(fleet: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json", *fleet]) == 2
    items = json.loads(capsys.readouterr().out)["items"]
    told = [item for item in items if item["check"] == "settings"]
    assert [item["status"] for item in told] == ["fail", "fail"]
    assert "config.yaml:3" in told[0]["detail"]


def test_an_alert_goes_out_although_the_report_can_be_written_nowhere(
    fleet: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.yaml").write_text("alerts: {command: ['true']}")
    view, heard = sweep().view(NOW), []

    async def seen(*_: object) -> object:
        return view

    async def tell(_: object, news: object, *__: object, limit: float) -> list[str]:
        heard.append(news)
        return []

    monkeypatch.setattr(wiring, "collect_once", seen, raising=False)
    monkeypatch.setattr(wiring, "tell", tell, raising=False)
    assert main(["check", "--alert", "--out", str(tmp_path / "none/check.prom"), *fleet]) == 2
    assert heard == [view]


def test_a_lone_dash_is_stdout_and_no_file(
    fleet: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def seen(*_: object) -> object:
        return sweep().view(NOW)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(wiring, "collect_once", seen, raising=False)
    assert main(["clocks", "--ics", "-", *fleet]) == 0
    assert capsys.readouterr().out.startswith("BEGIN:VCALENDAR\r\n")
    assert main(["check", "--json", "--out", "-", *fleet]) == 1
    assert json.loads(capsys.readouterr().out)["verdict"] == "escalate"
    assert not (tmp_path / "-").exists()
