"""Homes that cannot keep anything: it is said what is not kept, and all that can be done is done."""

from __future__ import annotations

import os
import pwd
import resource
import signal
from pathlib import Path

import pytest

from gpu_tui.cli.main import main
from gpu_tui.new_file import write_new
from gpu_tui.places import NoHome, config_dir, user_home
from gpu_tui.settings import FleetError, state_dir

MINE = Path(pwd.getpwuid(os.getuid()).pw_dir)


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A fleet at whose port nobody listens, and a state directory that nobody can make."""
    (tmp_path / "fleet.yaml").write_text("instances: [{name: box, host: 'ssh://a@127.0.0.1:9'}]\n")
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file/state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file/config"))
    return ["--fleet", str(tmp_path / "fleet.yaml"), "--limit", "5"]


@pytest.mark.parametrize(
    ("words", "code", "out"),
    [
        (["check"], 1, "box: unreachable"),
        (["clocks"], 0, "no clock is ticking"),
        (["doctor"], 2, "FAIL  ssh"),
        (["report"], 0, "# Hand-over"),
        (["sweep"], 2, "no queue is known"),
    ],
)
def test_a_look_goes_on_and_says_what_is_not_kept(
    fleet: list[str], capsys: pytest.CaptureFixture[str], words: list[str], code: int, out: str
) -> None:
    assert main([*words, *fleet]) == code
    said = capsys.readouterr()
    assert out in said.out
    assert "nothing of this watch is kept for the next one" in said.err
    assert "file/state/gpu-tui: Not a directory: set XDG_STATE_HOME" in said.err


def test_what_is_nothing_but_keeping_fails(
    fleet: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["clocks", "mark", "box", "stopped", "now", *fleet[:2]]) == 2
    assert "the marks cannot be kept" in capsys.readouterr().err


@pytest.mark.parametrize("home", ["", "relative/home", ".", "~"])
def test_a_home_that_is_no_place_is_the_one_that_the_machine_names(home: str) -> None:
    """Else files appear wherever a person, or cron, stands; an empty one was taken for /."""
    assert user_home({"HOME": home}) == MINE
    assert user_home({}) == MINE
    assert config_dir({"HOME": home, "XDG_CONFIG_HOME": "relative"}) == MINE / ".config/gpu-tui"


def test_who_has_no_home_at_all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)
    with pytest.raises(NoHome, match="no home directory"):
        user_home({"HOME": ""})


def test_a_state_directory_that_others_can_write_is_closed_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "gpu-tui"
    place.mkdir(mode=0o777)
    place.chmod(0o777)
    assert state_dir({"XDG_STATE_HOME": str(tmp_path)}).stat().st_mode & 0o777 == 0o700
    place.chmod(0o777)

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refuse)
    with pytest.raises(FleetError, match="the state directory cannot be used"):
        state_dir({"XDG_STATE_HOME": str(tmp_path)})


def test_of_a_file_that_a_full_disk_cuts_nothing_is_left(tmp_path: Path) -> None:
    """Half a hand-over looks like a whole one."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    was = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then the write fails, as on a full disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(OSError, match="handover") as caught:
            write_new(tmp_path / "handover.md", b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, was)
    assert caught.value.filename == str(tmp_path / "handover.md")
    assert not list(tmp_path.iterdir())
