"""The calendar of all deadlines, as a calendar program reads it."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_tui.core.anchors import Anchors
from gpu_tui.core.clocks import DangerClock, clocks_of
from gpu_tui.core.fleet import LinkState
from gpu_tui.core.profile import ClockFact, Profile, Tier
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.calendar import LINE, calendar, fold, save
from gpu_tui.state.views import FleetView
from screenshots.builders import fleet, instance, tracks, view

DAY = 86400.0
NOW = datetime(
    2026, 10, 24, 12, 0, tzinfo=UTC
).timestamp()  # the clocks of Europe go back that night
RELEASE = ClockFact(
    "p-release", "stopped", "stopped_at", 15 * DAY, "destroys", ("data",), "critical",
    "Pull, verify; then start it once.", "docs", "2026-08", "high",
)  # fmt: skip
PLATFORM = Profile("p", "P", "ssh-rental", storage=(Tier("data", "/d", True, False, "数据盘, 50 GB; fast"),),
                   clocks=(RELEASE,))  # fmt: skip


def moment(*clocks: DangerClock, link: str = "timeout", now: float = NOW) -> FleetView:
    """A fleet of one box with these clocks."""
    box = view(
        instance("box", "none", None), Verdict.OFF, tracks=tracks(), link=LinkState(link, now)
    )
    return replace(fleet(box), clocks=clocks, taken_at=now)


def release(**seen: Any) -> DangerClock:
    return clocks_of(PLATFORM, "box", Anchors(**seen), NOW)[0]


def stopped(days: float) -> DangerClock:
    return release(power="stopped", stopped_at=NOW - days * DAY, stopped_basis="api")


def read(text: str) -> list[dict[str, Any]]:
    """The events as the `icalendar` package reads them."""
    icalendar = pytest.importorskip("icalendar", reason="needs the icalendar package")
    found = icalendar.Calendar.from_ical(text)
    assert not found.errors
    events = [part for part in found.walk("VEVENT") if not part.errors]
    return [
        {
            "uid": str(event["UID"]),
            "start": event["DTSTART"].dt,
            "sequence": int(event["SEQUENCE"]),
            "summary": str(event["SUMMARY"]),
            "text": str(event.get("DESCRIPTION", "")),
            "status": str(event["STATUS"]),
            "alarms": [alarm["TRIGGER"].dt for alarm in event.walk("VALARM")],
        }
        for event in events
    ]


def strict(text: str) -> list[tuple[str, str]]:
    """Content lines by RFC 5545 3.1, refusing what the standard refuses: names and values."""
    assert text.endswith("\r\n")
    physical = text.split("\r\n")[:-1]
    assert all("\n" not in row and "\r" not in row and row for row in physical)
    assert all(len(row.encode()) <= LINE for row in physical)
    lines: list[str] = []
    for row in physical:
        if row.startswith(" "):
            lines[-1] += row[1:]
        else:
            lines.append(row)
    pairs = [line.partition(":") for line in lines]
    assert all(name and colon for name, colon, _ in pairs)
    open_parts: list[str] = []
    for name, _, value in pairs:
        if name == "BEGIN":
            open_parts.append(value)
        elif name == "END":
            assert open_parts.pop() == value
    assert not open_parts
    return [(name, value) for name, _, value in pairs]


def test_a_deadline_is_an_event_in_utc_with_an_alarm_per_threshold() -> None:
    text = calendar(moment(stopped(1)))
    lines = strict(text)
    assert lines[:3] == [
        ("BEGIN", "VCALENDAR"), ("VERSION", "2.0"), ("PRODID", "-//gpu-tui//danger clocks//EN"),
    ]  # fmt: skip
    assert (
        "DTSTART",
        "20261107T120000Z",
    ) in lines  # 14 days of 24 h on, whatever Europe's clocks do
    assert ("DTSTAMP", "20261024T120000Z") in lines
    (event,) = read(text)
    assert event["start"] == datetime(2026, 11, 7, 12, tzinfo=UTC)
    assert event["summary"] == "box: loses 数据盘, 50 GB; fast"
    assert "What to do: Pull, verify; then start it once." in event["text"]
    assert event["status"] == "CONFIRMED"
    assert event["alarms"] == [
        -timedelta(days=3.75), -timedelta(days=1.5), -timedelta(hours=1), -timedelta(minutes=5),
    ]  # fmt: skip


def test_alarms_that_are_over_are_left_out() -> None:
    (event,) = read(calendar(moment(stopped(14.97))))
    assert event["alarms"] == [-timedelta(minutes=5)]


def test_a_bounded_deadline_says_what_it_is_worth() -> None:
    (event,) = read(calendar(moment(release(power="stopped", last_contact=NOW - DAY))))
    assert event["summary"].endswith("(at the earliest)")
    assert "at the earliest, counted from the last contact" in event["text"]
    assert event["status"] == "TENTATIVE"


def test_what_has_no_deadline_to_come_is_no_event() -> None:
    over, unknown, armed = stopped(16), release(power="stopped"), release(power="running")
    assert read(calendar(moment(over, unknown, armed))) == []


def test_the_next_file_moves_the_event_and_never_makes_a_second() -> None:
    first = read(calendar(moment(stopped(3))))
    later = replace(moment(stopped(1)), taken_at=NOW + 300)
    second = read(calendar(later))
    assert [event["uid"] for event in first] == [event["uid"] for event in second]
    assert second[0]["sequence"] == first[0]["sequence"] + 5
    assert second[0]["start"] > first[0]["start"]


def test_no_word_of_a_box_breaks_out_of_its_line() -> None:
    evil = "x\r\nEND:VCALENDAR\r\nBEGIN:VEVENT\x1b]0;\u2028,;\\n"
    text = calendar(moment(replace(stopped(1), loses=evil, subject=evil, avoid=evil)))
    strict(text)
    (event,) = read(text)
    assert "END:VCALENDAR" in event["summary"]
    assert "\x1b" not in text


@settings(deadline=None)
@given(st.text(max_size=300))
def test_folding_loses_nothing(line: str) -> None:
    line = line.replace("\r", "").replace("\n", "").encode("utf-8", "replace").decode()
    rows = list(fold(line))
    assert all(len(row.encode()) <= LINE for row in rows)
    assert rows[0] + "".join(row[1:] for row in rows[1:]) == line
    assert all(row.startswith(" ") for row in rows[1:])


def test_saving_is_one_step_and_for_the_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "gpu.ics"
    path.write_text("not a calendar at all")
    assert save(path, moment(stopped(1))) == 1
    assert read(path.read_bytes().decode())[0]["summary"].startswith("box")
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["gpu.ics"]


def test_saving_goes_through_a_link_and_into_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "gpu.ics").symlink_to(tmp_path / "shared.ics")
    assert save(tmp_path / "gpu.ics", moment(stopped(1))) == 1
    assert save(tmp_path / "gpu.ics", moment(stopped(1))) == 1
    assert (tmp_path / "gpu.ics").is_symlink()
    assert len(read((tmp_path / "shared.ics").read_bytes().decode())) == 1
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        save(tmp_path / "pipe", moment(stopped(1)))
        assert os.read(reader, 15) == b"BEGIN:VCALENDAR"
    finally:
        os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "gpu.ics"
    save(path, moment(stopped(1)))
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space") as told:
        save(path, moment(stopped(2)))
    assert told.value.filename == str(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["gpu.ics"]
