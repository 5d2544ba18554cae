"""`gpu-tui demo --boxes-only`: what it prints works, and it goes when it is told to."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpu_tui.resources import load_profiles
from gpu_tui.settings import load_fleet


@contextmanager
def command(*flags: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "gpu_tui", "demo", "--boxes-only", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def first_lines(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout
    lines = []
    while not lines or not lines[-1].startswith("Ctrl-C"):
        line = process.stdout.readline()
        assert line, process.stderr and process.stderr.read()
        lines.append(line)
    return lines


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_its_fleet_file_is_one_that_the_cockpit_accepts(
    tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "fleet.yaml"
    with command("--fleet-out", str(out)) as process:
        said = first_lines(process)
        assert "8 boxes are up: vega rigel lyra altair deneb polaris mira sirius" in said[0]
        assert any("export GPU_TUI_DEMO_KEY=demo-" in line for line in said)
        fleet = load_fleet(out, load_profiles())
        assert len(fleet.instances) == 8
        assert fleet["polaris"].provider.key_env == "GPU_TUI_DEMO_KEY"
        assert fleet["mira"].provider.variant == "pro"
        assert fleet["rigel"].queue.log == "~/autodl-tmp/runs/logs/q1_master.log"
        directory = Path(fleet["vega"].ssh.known_hosts or "").parent
        assert directory.is_dir()
        process.send_signal(number)
        assert process.wait(60) == 0
    assert not directory.exists()
    assert not out.exists()


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "fleet.yaml"
    out.write_text("mine")
    with command("--boxes", "1", "--fleet-out", str(out)) as process:
        assert process.stderr
        assert "Name a new file" in process.stderr.read()
        assert process.wait(60) == 2
    assert out.read_text() == "mine"


@pytest.mark.parametrize("flags", [("--boxes", "25"), ("--speed", "fast"), ("--boxes", "none")])
def test_flags_out_of_range_are_a_usage_error(flags: tuple[str, str]) -> None:
    with command(*flags) as process:
        assert process.stderr
        assert flags[1] in process.stderr.read()
        assert process.wait(60) == 64


def test_what_was_torn_down_in_it_is_told_when_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its journal lies where nobody looks, and goes with it; the person's own is another one."""
    from gpu_tui import settings, wiring
    from gpu_tui.cli.demo import _play
    from gpu_tui.cli.journal import RECORDS_TOLD
    from gpu_tui.core.clock import ManualClock
    from gpu_tui.demo.fleet import Demo
    from gpu_tui.teardown.journal import Journal

    records = 3
    monkeypatch.setenv("KEY", "before")  # so that what a demo sets is taken back

    def cockpit(*_fleet: object, state: Path, **_looks: object) -> int:
        journal = Journal(state / "journal", ManualClock(), "me@here")
        for number in range(records):
            journal.write("star", "relock", reason=f"number {number}")
        return 7

    monkeypatch.setattr(wiring, "run_cockpit", cockpit)
    monkeypatch.setattr(settings, "load_fleet", lambda *_: None)
    args = argparse.Namespace(fleet_out=None, boxes_only=False, read_only=False, theme=None, layout=None, tour=True)  # fmt: skip

    def said(place: Path) -> list[str]:
        demo = Demo(place / "fleet.yaml", place, "KEY", "k", "", ("star",), None)  # type: ignore[arg-type]
        assert _play(args, demo) == 7
        return capsys.readouterr().out.splitlines()

    head, *lines = said(tmp_path / "few")
    assert head == "The journal of this demo's teardowns, which goes with it:"
    assert [line.rsplit("  ", 1)[1] for line in lines] == [f"number {n}" for n in range(3)]
    records = RECORDS_TOLD + 5
    lines = said(tmp_path / "many")
    assert lines[1] == "  … 5 records before these"
    assert len(lines) == RECORDS_TOLD + 2
    records = 0
    assert said(tmp_path / "none") == []
