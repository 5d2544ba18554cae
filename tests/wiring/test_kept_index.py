"""An index that was kept says what one says that is made anew; whatever else lies in its place is not taken."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from bench import log_mix
from parse.marked_lines import MARKED

from gpu_tui.core.fleet import Fleet
from gpu_tui.parse import triage_scan
from gpu_tui.parse.triage_laid import packed, unpacked
from gpu_tui.parse.triage_scan import Kind, kind_of
from gpu_tui.wiring.fleet import open_fleet
from gpu_tui.wiring.kept_index import FILE, IndexFile, have_index, keep_index

SOURCE = [line for lines in MARKED.values() for line in lines] + list(islice(log_mix.lines(3), 200))


def fresh() -> None:
    triage_scan._index.cache_clear()
    triage_scan._memory.clear()


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[bytes, list[Kind]]]:
    """What a first start keeps, and how it judges."""
    before = list(triage_scan._keepers)
    cache = tmp_path_factory.mktemp("cache")
    keep_index({"XDG_CACHE_HOME": str(cache)})
    made = judged()
    path = cache / "gpu-tui" / FILE
    assert path.stat().st_mode & 0o777 == 0o600
    yield path.read_bytes(), made
    triage_scan._keepers[:] = before
    fresh()


@pytest.fixture
def place(tmp_path: Path, first: tuple[bytes, list[Kind]]) -> Path:
    """Where such an index lies."""
    keep_index({"XDG_CACHE_HOME": str(tmp_path)})
    path = tmp_path / "gpu-tui" / FILE
    path.parent.mkdir()
    path.write_bytes(first[0])
    path.chmod(0o600)
    return path


def judged() -> list[Kind]:
    fresh()
    return [kind_of(line) for line in SOURCE]


def reads(place: Path) -> bool:
    return IndexFile(place).read(triage_scan._written()) is not None


def test_a_kept_index_says_what_the_made_one_said(
    place: Path, first: tuple[bytes, list[Kind]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(triage_scan, "Laying")  # nothing is laid out again
    assert judged() == first[1]


def test_what_is_packed_comes_back_whole() -> None:
    laid = triage_scan._index().laid
    again = unpacked(packed(laid))
    assert all(list(one) == list(other) for one, other in zip(laid, again, strict=True))
    with pytest.raises(ValueError, match="something else"):
        unpacked(packed(laid)[:-1])
    with pytest.raises(ValueError, match="something else"):
        unpacked(b"")


@pytest.mark.parametrize("at", [0, 40, 5_000, -1])
def test_a_broken_one_is_not_taken(place: Path, at: int) -> None:
    data = bytearray(place.read_bytes())
    data[at] ^= 1
    place.write_bytes(data)
    assert not reads(place)
    place.write_bytes(data[:70])
    assert not reads(place)


def test_but_made_anew_and_kept(place: Path, first: tuple[bytes, list[Kind]]) -> None:
    place.write_bytes(b"something else")
    assert judged() == first[1]
    assert reads(place)


def test_one_of_other_rules_is_not_taken(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reads(place)
    monkeypatch.setattr(triage_scan, "RULES", triage_scan.RULES[:-1])
    assert not reads(place)


def test_nor_one_of_other_code(place: Path, tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("1")
    keeper = IndexFile(place, tmp_path)
    keeper.write("rules", b"index")
    assert keeper.read("rules") == b"index"
    (tmp_path / "code.py").write_text("2")
    assert keeper.read("rules") is None
    (tmp_path / "code.py").unlink()  # without its source it is not known what an index is of
    keeper.write("rules", b"index")
    assert keeper.read("rules") is None


def test_nor_one_that_others_may_write_nor_a_link_nor_a_pipe(place: Path) -> None:
    place.chmod(0o622)
    assert not reads(place)
    place.chmod(0o600)
    assert reads(place)
    place.rename(place.with_name("away"))
    place.symlink_to("away")
    assert not reads(place)
    place.unlink()
    os.mkfifo(place)
    assert not reads(place)


def test_what_lies_where_it_is_written_is_not_written_through(place: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("a letter")
    place.with_name(f".{FILE}.{os.getpid()}").symlink_to(mine)
    place.unlink()
    IndexFile(place).write(triage_scan._written(), b"index")
    assert reads(place)
    assert mine.read_text() == "a letter"


def test_where_none_can_be_kept_lines_are_judged_all_the_same(
    place: Path, first: tuple[bytes, list[Kind]]
) -> None:
    place.unlink()
    place.parent.rmdir()
    place.parent.write_text("no directory")
    assert judged() == first[1]


def test_a_second_command_finds_what_the_first_one_kept(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    words = [sys.executable, "-m", "gpu_tui", "triage", "--json"]
    line = b"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    told = []
    for _ in range(2):
        done = subprocess.run(words, input=line, env=env, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (1, b"")
        told.append((done.stdout, (tmp_path / ".cache/gpu-tui" / FILE).stat().st_mtime_ns))
    assert told[0] == told[1]


@pytest.fixture
def bare(place: Path) -> Path:
    """Where none lies yet, for a process that has none."""
    place.unlink()
    fresh()
    return place


def test_a_first_watch_has_another_process_make_it(
    bare: Path, first: tuple[bytes, list[Kind]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delattr(triage_scan, "Laying")  # nothing is laid out here

    async def watch() -> None:
        loop, warm = asyncio.get_running_loop(), asyncio.Event()

        def warm_up() -> None:
            kind_of("a line")
            loop.call_soon_threadsafe(warm.set)

        monkeypatch.setattr("gpu_tui.wiring.fleet.warm_up", warm_up)
        async with asyncio.timeout(60), open_fleet(Fleet(None, ()), state=tmp_path):
            await warm.wait()

    asyncio.run(watch())
    assert reads(bare)
    assert judged() == first[1]


def test_where_one_is_at_hand_no_process_is_started(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr(
        asyncio, "create_subprocess_exec", lambda *words, **_: started.append(words)
    )
    env = {"XDG_CACHE_HOME": str(place.parent.parent)}
    fresh()
    asyncio.run(have_index(env))  # it is kept
    triage_scan.make_index()
    place.unlink()
    asyncio.run(have_index(env))  # it is in this process
    assert not started


def test_who_leaves_meanwhile_ends_that_process(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, python = tmp_path / "told", tmp_path / "python"
    os.mkfifo(told)
    python.write_text(f"#!/bin/sh\necho $$ > {told}\nexec sleep 60\n")
    python.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(python))

    async def leave() -> int:
        having = asyncio.create_task(have_index({"XDG_CACHE_HOME": str(tmp_path)}))
        maker = int(await asyncio.to_thread(told.read_text))
        having.cancel()
        with pytest.raises(asyncio.CancelledError):
            await having
        return maker

    with pytest.raises(ProcessLookupError):
        os.kill(asyncio.run(leave()), 0)
