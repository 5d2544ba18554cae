"""The journal: appended, chained, readable after every cut, and a witness against edits."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_tui.core.clock import ManualClock
from gpu_tui.teardown.journal import FIRST, Held, Journal, JournalDamaged, parse, read_journal


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "state", ManualClock(), "me@here")


def _fill(journal: Journal) -> bytes:
    journal.write("a", "open", "d1", verb="terminate")
    journal.write("a", "plan", "d1", running=["python \x1b[2J \udcff train.py"])
    journal.write("b", "open", "d2")
    journal.write("a", "cancelled", "d1")
    return journal.path.read_bytes()


def test_a_record_is_as_agreed(journal: Journal) -> None:
    _fill(journal)
    first = json.loads(journal.path.read_bytes().splitlines()[0])
    assert first == {
        "seq": 1,
        "at": "2025-11-21T04:40:00Z",
        "actor": "me@here",
        "instance": "a",
        "event": "open",
        "evidence": "d1",
        "detail": {"verb": "terminate"},
        "prev": FIRST,
    }


def test_it_is_for_its_owner_only(journal: Journal) -> None:
    before = os.umask(0)
    try:
        _fill(journal)
    finally:
        os.umask(before)
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(journal.path.parent.stat().st_mode) == 0o700


def test_a_link_in_its_place_is_refused(journal: Journal, tmp_path: Path) -> None:
    journal.path.parent.mkdir()
    journal.path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        journal.write("a", "open")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    "harm",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(bytes(path.stat().st_size)),
        lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
        lambda path: path.write_bytes(b"".join(path.read_bytes().splitlines(True)[:-1])),
        lambda path: path.write_bytes(path.read_bytes().replace(b"cancelled", b"relock")),
    ],
    ids=["deleted", "emptied", "zeroed", "halved", "shortened", "edited"],
)
def test_what_we_wrote_and_is_gone_is_missed(
    journal: Journal, harm: Callable[[Path], object]
) -> None:
    """The writer itself remembers: a file that was cut is as whole as one that was never longer."""
    _fill(journal)
    other = Journal(journal.path.parent, ManualClock(), "me@here")
    harm(journal.path)
    with pytest.raises(JournalDamaged, match="gone"):
        journal.write("a", "intent")
    assert "intent" not in [record.event for record in other.read().records]
    other.write("a", "open")  # another start knows only what it finds
    with pytest.raises(JournalDamaged, match="gone"):
        journal.write("a", "intent")


def test_what_another_program_appends_is_no_harm(journal: Journal) -> None:
    other = Journal(journal.path.parent, ManualClock(), "me@here")
    for _ in range(3):
        journal.write("a", "open")
        other.write("b", "open")
        other.write("b", "cancelled")
    assert len(journal.read().records) == 9


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["fifo", "directory"])
def test_what_is_no_file_is_refused_and_never_waited_for(
    journal: Journal, make: Callable[[Path], None]
) -> None:
    journal.path.parent.mkdir(mode=0o700)
    make(journal.path)
    program = f"from pathlib import Path; from {read_journal.__module__} import read_journal as r; r(Path({str(journal.path)!r}))"
    done = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, timeout=60)
    assert b"no regular file" in done.stderr
    with pytest.raises(OSError, match=r"regular|directory"):
        journal.write("a", "open")


def test_an_event_outside_the_agreed_words_is_a_bug(journal: Journal) -> None:
    with pytest.raises(ValueError, match="no journal event"):
        journal.write("a", "exploded")


def test_cut_at_every_byte_nothing_before_the_cut_is_lost(journal: Journal) -> None:
    data = _fill(journal)
    ends = [i + 1 for i, byte in enumerate(data) if byte == 10]
    for cut in range(len(data) + 1):
        found = parse(data[:cut])
        whole = sum(end <= cut for end in ends)
        assert found.damage is None
        # A record whose newline alone is missing is whole as well.
        assert len(found.records) in (whole, whole + (cut + 1 in ends))


def test_after_every_cut_the_next_record_follows(journal: Journal) -> None:
    data = _fill(journal)
    for cut in range(len(data) + 1):
        journal.path.write_bytes(data[:cut])
        before = len(parse(data[:cut]).records)
        # Power went, and the next start knows only what it finds.
        Journal(journal.path.parent, ManualClock(), "me@here").write("a", "open", "again")
        found = journal.read()
        assert found.damage is None
        assert [record.seq for record in found.records] == list(range(1, before + 2))
        assert found.records[-1].evidence == "again"


def test_every_flipped_byte_before_the_last_line_is_damage(journal: Journal) -> None:
    data = _fill(journal)
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    for at in range(last - 1):
        flipped = bytearray(data)
        flipped[at] ^= 1
        assert parse(bytes(flipped)).damage is not None, at


def test_a_last_line_that_was_whole_once_is_damage(journal: Journal) -> None:
    """It may have been the intent of a call that left: a cut never leaves both ends of a line."""
    journal.write("a", "open", "d1")
    before = len(journal.path.read_bytes())
    journal.write("a", "intent", "d1", verb="terminate", provider_id="p1")
    data = bytearray(journal.path.read_bytes())
    data[before + 1] ^= 1
    journal.path.write_bytes(data)
    assert journal.read().damage == "line 2 is not a record"
    with pytest.raises(JournalDamaged):
        journal.write("a", "intent", "d2")


def test_a_removed_line_is_damage(journal: Journal) -> None:
    lines = _fill(journal).splitlines(keepends=True)
    for gone in range(len(lines) - 1):
        assert parse(b"".join(lines[:gone] + lines[gone + 1 :])).damage


def test_a_damaged_journal_takes_no_record(journal: Journal) -> None:
    lines = _fill(journal).splitlines(keepends=True)
    journal.path.write_bytes(b"".join([lines[0], *lines[2:]]))
    with pytest.raises(JournalDamaged, match="line 2"):
        journal.write("a", "open")


def test_two_writers_take_turns(journal: Journal) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from gpu_tui.core.clock import ManualClock\n"
        "from gpu_tui.teardown.journal import Journal\n"
        "journal = Journal(Path(sys.argv[1]), ManualClock(), sys.argv[2])\n"
        "for _ in range(40): journal.write(sys.argv[2], 'open')\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(journal.path.parent), name])
        for name in ("a", "b", "c")
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    found = journal.read()
    assert found.damage is None
    assert len(found.records) == 120


@pytest.mark.parametrize(
    ("events", "open_call"),
    [
        (["open", "permit"], False),
        (["intent"], True),
        (["intent", "call"], True),
        (["intent", "call", "answer", "unknown"], True),
        (["intent", "call", "answer", "read-back", "confirmed-gone"], False),
        (["intent", "still-there"], False),
        (["intent", "still-there", "intent"], True),
    ],
)
def test_a_call_whose_end_nobody_saw(journal: Journal, events: list[str], open_call: bool) -> None:
    for event in events:
        journal.write("a", event)
    journal.write("b", "confirmed-gone")
    assert (journal.unresolved("a") is not None) is open_call


def test_console_steps_leave_no_open_call(journal: Journal) -> None:
    journal.write("a", "intent", console=True)
    assert journal.unresolved("a") is None


def test_of_two_intents_for_one_instance_one_is_refused(journal: Journal) -> None:
    """Whatever two ladders believed: the file that both write decides, by name and by id."""
    about = {"provider_id": "p-1", "place": "runpod KEY -"}
    journal.write("a", "intent", **about)
    with pytest.raises(Held, match="under way already, as a"):
        journal.write("a", "intent", provider_id="p-2", place="runpod KEY -")
    with pytest.raises(Held, match="under way already, as a"):
        journal.write("another-name", "intent", **about)
    journal.write("b", "intent", provider_id="p-1", place="vastai KEY -")  # another's p-1
    journal.write("a", "still-there", reason="the gate was shut")
    journal.write("another-name", "intent", **about)
    assert [r.event for r in journal.read().records].count("intent") == 3


def test_an_actor_without_a_name_is_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody() -> str:  # as in a container that any user may run
        raise KeyError("getpwuid(): uid not found: 1234")

    monkeypatch.setattr("getpass.getuser", nobody)
    record = Journal(tmp_path, ManualClock()).write("box", "plan")
    assert record.actor.startswith(f"{os.getuid()}@")
