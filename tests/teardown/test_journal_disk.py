"""The journal on a real disk that fills up, in a directory that is not ours alone, and after power cuts."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from quick import Points, Quick

from gpu_tui.core.clock import ManualClock
from gpu_tui.teardown.journal import Held, Hold, Journal, open_ends, parse


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 128 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=128k,mode=0700", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(words, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("a file system of its own can be mounted by root only")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def _fill(place: Path) -> Path:
    """Until not one byte more fits."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return ballast


async def test_a_full_disk_lets_no_teardown_begin_and_says_so(small_disk: Path) -> None:
    quick = Quick(small_disk / "state")
    ballast = _fill(small_disk)
    last = (await quick.to_the_end(quick.climb()))[-1]
    assert last.state == "closed"
    assert "No space left on device" in (last.closed_because or "")
    assert quick.provider.done == 0
    assert quick.points.seen.count("plan") == 0
    ballast.unlink()
    assert (await quick.to_the_end(quick.climb()))[-1].outcome == "gone"


async def test_a_disk_that_fills_at_any_record_calls_nothing_without_its_intent(
    small_disk: Path,
) -> None:
    whole = Quick(small_disk / "whole")
    await whole.to_the_end(whole.climb())
    events = [record.event for record in whole.journal.read().records]
    (small_disk / "whole/effects").unlink()
    for event in dict.fromkeys(events):
        state = small_disk / event
        ballast: list[Path] = []

        def act(number: int, name: str, event: str = event, ballast: list[Path] = ballast) -> None:
            if name == f"journal {event}":
                ballast.append(_fill(small_disk))

        quick = Quick(state, Points(act))
        last = (await quick.to_the_end(quick.climb()))[-1]
        found = quick.journal.read()
        assert found.damage is None, event
        called = "provider stop" in quick.points.seen
        kept = [record.event for record in found.records]
        # A disk that is full before the intent is whole keeps the call back; later nothing is called off.
        # (Records fit into what is left of a page: the one that does not is never half there.)
        assert not called or "intent" in kept, event
        if not called:
            assert "No space left on device" in (last.closed_because or ""), event
        for file in ballast:
            file.unlink()
        shutil.rmtree(state)


def test_a_record_that_does_not_fit_leaves_nothing_behind(small_disk: Path) -> None:
    journal = Journal(small_disk / "state", ManualClock(), "me@here")
    journal.write("a", "open", note="x" * 3_600)
    before = journal.path.read_bytes()
    assert 3_700 < len(before) < 4_000  # the next record crosses into a page that there is none for
    ballast = _fill(small_disk)
    for _ in range(3):
        with pytest.raises(OSError, match="No space"):
            journal.write("a", "open", note="y" * 600)
        assert journal.path.read_bytes() == before
    ballast.unlink()
    journal.write("a", "intent")
    found = journal.read()
    assert (len(found.records), found.torn, found.damage) == (2, False, None)


@pytest.mark.parametrize("which", ["journal", "state", "file"])
def test_what_others_can_write_is_no_journal(tmp_path: Path, which: str) -> None:
    journal = Journal(tmp_path / "state/journal", ManualClock(), "me@here")
    journal.write("a", "open")
    place = {
        "journal": tmp_path / "state/journal",
        "state": tmp_path / "state",
        "file": journal.path,
    }[which]
    place.chmod(place.stat().st_mode | 0o022)
    with pytest.raises(PermissionError, match="written by others"):
        journal.write("a", "open")
    assert len(journal.read().records) == 1
    place.chmod(0o700)
    journal.write("a", "open")


def test_a_link_to_a_directory_that_others_could_exchange_is_no_place(tmp_path: Path) -> None:
    there = tmp_path / "shared/journal"
    there.mkdir(mode=0o700, parents=True)
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "state/journal").symlink_to(there)
    linked = Journal(tmp_path / "state/journal", ManualClock(), "me@here")
    there.parent.chmod(0o777)
    with pytest.raises(PermissionError, match="written by others"):
        linked.write("a", "open")
    there.parent.chmod(0o700)
    linked.write("a", "open")
    with (
        linked_hold(linked),
        pytest.raises(Held),
    ):  # by either name it is one instance of one journal
        Journal(there, ManualClock(), "me@here").hold("a")


def linked_hold(journal: Journal) -> closing[Hold]:
    return closing(journal.hold("a"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("which", ["journal", "file"])
def test_what_belongs_to_another_is_no_journal(tmp_path: Path, which: str) -> None:
    journal = Journal(tmp_path / "state/journal", ManualClock(), "me@here")
    journal.write("a", "open")
    os.chown(journal.path if which == "file" else journal.path.parent, 65_534, -1)
    # Root may read and write it all the same: whose it is counts, not what we could do.
    with pytest.raises(PermissionError, match="another user"):
        journal.write("a", "open")


async def test_a_state_directory_of_others_lets_no_teardown_begin(tmp_path: Path) -> None:
    quick = Quick(tmp_path / "state")
    (tmp_path / "state").chmod(0o777)
    last = (await quick.to_the_end(quick.climb()))[-1]
    assert "written by others" in (last.closed_because or "")
    assert quick.provider.done == 0


def test_a_fifo_in_its_place_hangs_nobody(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "state", ManualClock(), "me@here")
    journal.path.parent.mkdir(mode=0o700)
    os.mkfifo(journal.path)
    with pytest.raises(OSError, match="regular file"):
        journal.write("a", "open")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a journal with a call that was never seen to end."""
    journal = Journal(tmp_path_factory.mktemp("whole") / "j", ManualClock(), "me@here")
    about = {"verb": "terminate", "effect": "destroy", "provider_id": "p-1", "console": False}
    for event in ("open", "plan", "confirmed", "permit"):
        journal.write("a", event, "d")
    journal.write("a", "intent", "d", **about)
    journal.write("a", "call", "d")
    journal.write("a", "read-back", "d", state="unknown")
    journal.write("a", "unknown", "d")
    return journal.path.read_bytes()


def test_cut_at_every_byte_nothing_is_unlocked_by_the_cut(whole: bytes) -> None:
    """Behind the intent, no cut makes the call look as if it had ended; before it there was none."""
    intent = whole.index(b'"event":"intent"')
    line_end = whole.index(b"\n", intent)
    for cut in range(len(whole) + 1):
        found = parse(whole[:cut])
        assert found.damage is None, cut
        assert ("a" in open_ends(found.records)) is (cut >= line_end), cut


def test_torn_several_times_in_a_row_it_is_still_a_journal(whole: bytes) -> None:
    """Power cuts leave fragments; the record that follows them hangs on the last whole one."""
    lines = whole.splitlines(keepends=True)
    torn = b"".join(lines[:5]) + lines[5][:40] + b"\n" + lines[5][:70] + b"\n" + b"".join(lines[5:])
    found = parse(torn)
    assert (found.damage, len(found.records)) == (None, 8)
    # But garbage in the place of records that were promised is damage, also at the end.
    lost = b"".join(lines[:5]) + b"x" * 80 + b"\n" + b"y" * 80 + b"\n"
    assert parse(lost).damage == "line 6 is not a record"


@pytest.mark.parametrize("number", range(1, 8))
async def test_any_bad_line_in_the_middle_refuses_every_teardown(
    whole: bytes, number: int, tmp_path: Path
) -> None:
    quick = Quick(tmp_path / "state")
    quick.journal.path.parent.mkdir(mode=0o700)
    lines = whole.splitlines(keepends=True)
    lines[number - 1] = b'{"seq":1}\n'
    quick.journal.path.write_bytes(b"".join(lines))
    last = (await quick.to_the_end(quick.climb()))[-1]
    assert "does not follow" in (last.closed_because or "")
    assert quick.provider.done == 0


def test_the_promised_record_is_synced_and_so_is_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    journal = Journal(tmp_path / "state", ManualClock(), "me@here")
    journal.write("a", "open")
    assert synced == [str(tmp_path), str(tmp_path / "state"), str(journal.path)]
    journal.write("a", "open")
    assert synced[3:] == [str(journal.path)]
