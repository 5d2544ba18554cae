"""`gpu-tui clocks mark` and `unmark`: what a person may say of a clock, and what is refused with a lesson."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_tui.cli.clocks import clock_lines
from gpu_tui.cli.main import main
from gpu_tui.core.anchors import Anchors
from gpu_tui.core.clocks import clocks_of
from gpu_tui.core.marks import MarkError, anchor_of
from gpu_tui.resources import load_profiles
from gpu_tui.state.history import SqliteHistory
from gpu_tui.wiring.clock import SystemClock

FLEET = """
instances:
  - {name: old, host: nowhere, platform: autodl}
  - {name: rented, host: nowhere, platform: vastai}
  - {name: mine, host: nowhere}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "fleet.yaml").write_text(FLEET)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def anchors(place: Path, name: str) -> dict[str, tuple[float, str]]:
    with SqliteHistory(place / "gpu-tui" / "history.sqlite") as history:
        return history.anchors(name)


def test_a_time_is_kept_as_a_manual_mark_and_forgotten_again(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["clocks", "mark", "old", "stopped", "3h", "ago"]) == 0
    at, basis = anchors(place, "old")["stopped_at"]
    assert (basis, at) == ("manual", pytest.approx(SystemClock().now() - 10800, abs=30))
    assert (
        main(["clocks", "mark", "old", "deadline", "in 2d", "--clock", "autodl-host-delist"]) == 0
    )
    assert main(["clocks", "unmark", "old", "stopped"]) == 0
    assert set(anchors(place, "old")) == {"deadline:autodl-host-delist"}
    assert main(["clocks", "unmark", "old"]) == 0
    assert anchors(place, "old") == {}
    assert "1 mark forgotten" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says", "teaches"),
    [
        (["mark", "old", "stopped", "noon"], "'noon' is no time", "3h ago"),
        (["mark", "old", "stopped", "in", "2h"], "in the future", "deadline"),
        (["mark", "old", "deadline", "2h", "ago"], "is over", "in 2d"),
        (["mark", "old", "since", "2h ago"], "needs a clock", "autodl-release-15d"),
        (["mark", "old", "deadline", "in 2d", "--clock", "autodl-delist"], "no clock here", "autodl-host-delist"),
        (["mark", "old", "since", "2h ago", "--clock", "autodl-host-delist"], "no fixed length", "deadline TIME"),
        (["mark", "old", "stopped", "2h ago", "--clock", "autodl-host-delist"], "belongs to the instance", "--clock"),
        (["mark", "nobody", "stopped", "now"], "no instance is called", "old, rented, mine"),
        (["unmark", "old"], "nothing like that is marked", "no mark at all"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_a_next_step(
    words: list[str], says: str, teaches: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["clocks", *words]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert teaches in err
    assert "Traceback" not in err


def test_a_stop_before_the_last_contact_is_refused(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["clocks", "mark", "old", "stopped", "5h ago"]) == 0
    with SqliteHistory(place / "gpu-tui" / "history.sqlite") as history:
        history.set_anchor("old", "last_contact", SystemClock().now() - 3600, "last-contact")
    assert main(["clocks", "mark", "old", "stopped", "2h ago"]) == 2
    assert "it still answered at" in capsys.readouterr().err
    assert main(["clocks", "mark", "old", "stopped", "30m ago"]) == 0


def test_a_mark_that_is_not_kept_is_an_error(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(SqliteHistory, "set_anchor", lambda *_: None)  # as on a full disk
    assert main(["clocks", "mark", "old", "stopped", "1h ago"]) == 2
    assert "could not be kept" in capsys.readouterr().err


def test_a_mark_is_an_error_where_the_history_is_no_file_of_ours(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = place / "gpu-tui" / "history.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(range(256)) * 32)
    for words in (["mark", "old", "stopped", "1h ago"], ["unmark", "old"]):
        assert main(["clocks", *words]) == 2
        err = capsys.readouterr().err
        assert "the marks cannot be kept" in err
        assert str(path) in err


@pytest.mark.parametrize(
    ("platform", "anchor"),
    [
        ("vastai", "rental_end"),
        ("autodl", "rental_end"),
        ("generic-ssh", "deadline:gen-user-timer"),
        ("gpushare", "deadline:date"),
    ],
)
def test_a_deadline_without_a_clock_goes_where_it_belongs(platform: str, anchor: str) -> None:
    assert anchor_of(load_profiles()[platform], None, "deadline", None) == anchor


def test_a_variant_that_does_not_have_the_clock_cannot_be_marked() -> None:
    profile = load_profiles()["autodl"]
    assert anchor_of(profile, "container", "deadline", "autodl-host-delist")
    with pytest.raises(MarkError, match="no clock here"):
        anchor_of(profile, "tidal", "deadline", "autodl-host-delist")


def test_the_list_says_what_a_time_is_worth() -> None:
    profile = load_profiles()["autodl"]
    seen = Anchors("stopped", last_contact=1_795_000_000.0)
    clocks = clocks_of(profile, "old", seen, 1_795_000_000.0 + 86400, "pro")
    now = 1_795_086_400.0
    told = list(clock_lines(clocks, now))
    assert told[0].startswith(
        "2026-12-03T11:06:40Z (in 14 days at the earliest)  old: loses system disk"
    )
    assert told[1].startswith("    -> Pull and verify")
    assert told[2].startswith("    autodl-release-15d, high confidence, 20")
    armed = sum(not clock.ticks for clock in clocks)
    assert told[-1].startswith(f"{armed} more do not count now")
    everything = "\n".join(clock_lines(clocks, now, armed=True))
    assert "autodl-timed-shutdown" in everything
    assert "autodl-timed-shutdown" not in "\n".join(told)
    assert "--all" not in everything


def test_boxes_that_share_a_clock_share_its_lines() -> None:
    profile = load_profiles()["runpod"]
    seen = Anchors("running")
    clocks = [
        clock
        for name in ("one", "two")
        for clock in clocks_of(profile, name, seen, 1_795_000_000.0)
    ]
    told = [line for line in clock_lines(clocks, 1_795_000_000.0, armed=True) if line[0] != " "]
    assert told
    assert all("  one, two: " in line for line in told)


def test_a_fleet_in_which_nothing_ticks_says_so() -> None:
    assert list(clock_lines([], 1_795_000_000.0)) == ["no clock is ticking"]
