"""What can happen to a log file while we look, and while we are away."""

from __future__ import annotations

import asyncio
import gzip
import os
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from boxes import Sshd
from shell_box import ShellBox, finish, start
from test_follow import SOURCE, Follower, append, following

from gpu_tui.collect import follow
from gpu_tui.collect import follow_program as program
from gpu_tui.collect.follow import follow_program
from gpu_tui.collect.tail_memory import TailMemory
from gpu_tui.core.events import LogFailed, LogOpened, Noted
from gpu_tui.core.log_range import ANCHOR, Anchor
from gpu_tui.core.logs import LogSource
from gpu_tui.transport.base import Connection
from gpu_tui.transport.ssh import SshTransport


@pytest.fixture
async def connection(box: Sshd) -> AsyncIterator[Connection]:
    made = await SshTransport().connect(box.instance())
    yield made
    await made.close()


def notes(made: Follower) -> list[str]:
    return [event.text for event in made.heard.of(Noted)]  # type: ignore[attr-defined]


async def look(made: Follower, connection: Connection, lines: list[str]) -> None:
    """Follow until exactly these lines are there, then leave."""
    async with following(made, connection):
        await made.heard.until(lambda: len(made.heard.lines()) >= len(lines))
        assert made.heard.lines() == lines


def rotate(log: Path, to: str, first: str) -> None:
    os.rename(log, log.with_name(to))
    log.write_text(first)


async def test_every_file_of_an_absence_is_read_oldest_first(
    box: Sshd, connection: Connection
) -> None:
    log = box.home / "train.log"
    log.write_text("a 1\n")
    (box.home / "train.log.9").write_text("long before\n")
    made = Follower(box)
    await look(made, connection, ["a 1"])
    append(log, "a 2\n")
    shutil.copy2(log, box.home / "train.log.0")  # a backup by hand is no rotated file of its own
    append(log, "a 3\n")
    rotate(log, "train.log.3", "b 1\n")
    rotate(log, "train.2.log", "c 1\n")
    rotate(log, "train.log-20260101", "d 1\n")
    (box.home / "train.log.lock").write_text("none of it\n")
    await look(made, connection, ["a 1", "a 2", "a 3", "b 1", "c 1", "d 1"])
    assert made.memory.gaps == 0
    rotate(log, "train.log-20260102", "e 1\n")
    await look(made, connection, ["a 1", "a 2", "a 3", "b 1", "c 1", "d 1", "e 1"])
    assert notes(made) == []
    assert made.heard.lines(backfill=True) == ["a 1"]


async def test_a_rotated_file_that_was_packed_meanwhile_is_a_gap(
    box: Sshd, connection: Connection
) -> None:
    log = box.home / "train.log"
    log.write_text("a 1\n")
    made = Follower(box)
    await look(made, connection, ["a 1"])
    append(log, "a 2\n")
    (box.home / "train.log.2.gz").write_bytes(gzip.compress(log.read_bytes()))
    # Its inode stays taken: two files of one second with one inode cannot be told apart.
    with log.open():
        log.unlink()
        log.write_text("b 1\n")
        rotate(log, "train.log.1", "c 1\n")
    await look(made, connection, ["a 1", "b 1", "c 1"])
    assert made.memory.gaps == 1
    (told,) = notes(made)
    assert "gone" in told


async def test_a_copy_made_before_a_cut_has_what_we_missed(
    box: Sshd, connection: Connection
) -> None:
    log = box.home / "train.log"
    log.write_text("a 1\n")
    made = Follower(box)
    await look(made, connection, ["a 1"])
    append(log, "a 2\n")
    shutil.copy(log, box.home / "train.log.2")
    os.truncate(log, 0)
    append(log, "b 1\n")
    shutil.copy(log, box.home / "train.log.1")
    os.truncate(log, 0)
    append(log, "c 1\n")
    await look(made, connection, ["a 1", "a 2", "b 1", "c 1"])
    assert made.memory.gaps == 0


@pytest.mark.parametrize("cut", [False, True], ids=["renamed", "cut and renamed"])
async def test_a_rotation_at_any_moment_of_our_look_loses_nothing(
    box: Sshd, connection: Connection, cut: bool
) -> None:
    """Each `stat` that the program runs is, in a turn of its own, the moment at which all names change."""
    log, at, count = (box.home / name for name in ("train.log", "at", "count"))
    box.program(
        "stat",
        f"""#!/bin/sh
        read n <{count}; n=$((n + 1)); echo $n >{count}
        read at <{at}
        if [ $n = $at ]; then
            for k in 3 2 1; do [ ! -e {log}.$k ] || mv {log}.$k {log}.$((k + 1)); done
            mv {log} {log}.1
            echo "d 1" >{log}
        fi
        exec {shutil.which("stat")} "$@"
        """,
    )
    for moment in range(1, 100):
        for file in box.home.glob("train.log*"):
            file.unlink()
        at.write_text("0\n")
        count.write_text("0\n")
        log.write_text("a 1\n")
        made = Follower(box)
        lines = made.heard.lines
        await look(made, connection, ["a 1"])
        with log.open("r+") as text:
            if cut:
                text.truncate(0)  # what stood there was read; what follows is longer than that was
            else:
                text.seek(0, os.SEEK_END)
            text.write("b 1, which is longer\n")
        rotate(log, "train.log.1", "c 1\n")
        count.write_text("0\n")
        at.write_text(f"{moment}\n")
        async with following(made, connection):
            await made.heard.until(lambda lines=lines: lines()[-1:] in (["c 1"], ["d 1"]))
            if int(count.read_text()) < moment:
                break
            await made.heard.until(lambda lines=lines: "d 1" in lines())
        assert lines() == ["a 1", "b 1, which is longer", "c 1", "d 1"], moment
    assert moment > 5


async def test_a_last_line_that_is_written_anew_repeats_no_other(
    box: Sshd, connection: Connection
) -> None:
    """As who redraws a line of status, or takes back a line end: the file is shorter for a moment."""
    log = box.home / "train.log"
    lines = [f"line {number} of the log" for number in range(20)]
    log.write_text("\n".join([*lines, "status 1"]) + "\n")
    made = Follower(box)
    async with following(made, connection):
        await made.heard.until(lambda: made.heard.lines()[-1:] == ["status 1"])
        os.truncate(log, log.stat().st_size - 1)
        await made.heard.until(lambda: any("at its end" in note for note in notes(made)))
        append(log, "\nmore 1\n")
        await made.heard.until(lambda: made.heard.lines()[-1:] == ["more 1"])
        opened = len(made.heard.of(LogOpened))
        os.truncate(log, log.stat().st_size - 7)
        await made.heard.until(lambda: len(made.heard.of(LogOpened)) > opened)  # it was seen
        append(log, "less 2\n")
        append(log, "last 1\n")
        await made.heard.until(lambda: made.heard.lines()[-1:] == ["last 1"])
    assert made.heard.lines() == [*lines, "status 1", "more 1", "less 2", "last 1"]
    os.truncate(log, log.stat().st_size - 7)  # nobody looks
    append(log, "LAST 1\n")
    async with following(made, connection):
        await made.heard.until(lambda: made.heard.lines()[-1:] == ["LAST 1"])
    assert made.heard.lines()[20:] == ["status 1", "more 1", "less 2", "last 1", "LAST 1"]
    assert len(notes(made)) == 1


async def test_a_log_that_is_found_without_its_end_repeats_nothing_else(
    box: Sshd, connection: Connection
) -> None:
    """Nobody looked while its last line was taken back: it is shorter, and else the same."""
    log = box.home / "train.log"
    lines = [f"line {number} of the log" for number in range(20)]
    log.write_text("\n".join([*lines, "status 1"]) + "\n")
    made = Follower(box)
    await look(made, connection, [*lines, "status 1"])
    os.truncate(log, log.stat().st_size - 9)
    append(log, "new 2\n")
    await look(made, connection, [*lines, "status 1", "new 2"])
    log.write_text("another run\n")
    await look(made, connection, [*lines, "status 1", "new 2", "another run"])


async def test_a_first_line_that_is_written_anew_tells_the_file_by_what_it_is_now(
    box: Sshd, connection: Connection
) -> None:
    """Who asks for older lines shows these bytes: of the old ones no file would be the right one."""
    log = box.home / "train.log"
    log.write_text("run 7\nstatus 1\n")
    made = Follower(box)
    await look(made, connection, ["run 7", "status 1"])
    log.write_text("run 7\nstatus 2, of more\n")
    await look(made, connection, ["run 7", "status 1", "status 2, of more"])
    assert made.memory.anchor == Anchor(0, log.read_bytes()[:ANCHOR])


async def test_a_new_text_that_begins_as_the_old_one_is_news(
    box: Sshd, connection: Connection
) -> None:
    """A run that is started again says the same at first."""
    log = box.home / "train.log"
    head = [f"setting {number}" for number in range(20)]
    log.write_text("\n".join([*head, "it broke", "for good"]) + "\n")
    made = Follower(box)
    async with following(made, connection):
        await made.heard.until(lambda: made.heard.lines()[-1:] == ["for good"])
    log.write_text("\n".join([*head, "it runs!", "epoch 1 of 9", "epoch 2 of 9"]) + "\n")
    async with following(made, connection):
        await made.heard.until(lambda: made.heard.lines()[-1:] == ["epoch 2 of 9"])
    again = [*head, "it runs!", "epoch 1 of 9", "epoch 2 of 9"]
    assert made.heard.lines() == [*head, "it broke", "for good", *again]


async def test_thousands_of_files_called_alike_cost_no_process_each(
    box: Sshd, connection: Connection
) -> None:
    """The logs of a sweep's cells: `train-1.log` may be a rotated `train.log`."""
    count, log = box.home / "count", box.home / "train.log"
    box.program("stat", f'#!/bin/sh\necho >>{count}\nexec {shutil.which("stat")} "$@"\n')
    for number in range(300):
        (box.home / f"train-{number}.log").write_text("b\n")
    log.write_text("a 1\n")
    made = Follower(box)
    await look(made, connection, ["a 1"])
    assert len(count.read_text()) < 20


async def test_as_many_rotated_files_as_there_are_are_named(
    box: Sshd, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One mark cannot hold them all: what is too long for one is nobody's word."""
    monkeypatch.setattr(program, "MARK", 100, raising=False)
    named: list[tuple[str, ...]] = []
    remember = TailMemory.remember

    def hear(memory: TailMemory, *files: str) -> None:
        named.append(files)
        remember(memory, *files)

    monkeypatch.setattr(TailMemory, "remember", hear)
    log = box.home / "train.log"
    for number in range(300):
        (box.home / f"train.log.{number + 10}").touch()
    log.write_text("a 1\n")
    made = Follower(box)
    await look(made, connection, ["a 1"])
    assert len({file for files in named for file in files}) == 300
    assert max(map(len, named)) <= 100


async def test_rotated_files_that_one_stat_cannot_take_are_read_all_the_same(
    box: Sshd, connection: Connection
) -> None:
    """Their names may be more than a kernel lets a program have for arguments."""
    box.program("stat", f'#!/bin/sh\n[ $# -lt 12 ] || exit 126\nexec {shutil.which("stat")} "$@"\n')
    log = box.home / "train.log"
    for number in range(10, 20):
        (box.home / f"train.log.{number}").write_text("long before\n")
    log.write_text("a 1\n")
    made = Follower(box)
    await look(made, connection, ["a 1"])
    append(log, "a 2\n")
    rotate(log, "train.log.2", "b 1\n")
    rotate(log, "train.log.1", "c 1\n")
    await look(made, connection, ["a 1", "a 2", "b 1", "c 1"])
    assert made.memory.gaps == 0


async def test_a_log_on_a_dead_mount_is_said_to_be_silent(
    box: Sshd, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever looks at it hangs: that must not look like a log that has nothing to say."""
    monkeypatch.setattr(follow, "DUMB_SECONDS", 2.0)
    (box.home / "train.log").write_text("a 1\n")
    box.program(
        "stat", '#!/bin/sh\nwhile [ ! -e ~/back ]; do sleep 0.1; done; exec /usr/bin/stat "$@"\n'
    )
    made = Follower(box)
    async with following(made, connection):
        await made.heard.until(lambda: made.heard.of(LogFailed))
        (box.home / "back").touch()
        await made.heard.until(lambda: made.heard.lines() == ["a 1"])
    assert ["mount may be dead" in failed.why for failed in made.heard.of(LogFailed)] == [True]


async def test_a_directory_that_appears_later(box: Sshd, connection: Connection) -> None:
    made = Follower(box, LogSource("~/runs/today/train.log", "cell"))
    async with following(made, connection):
        await made.heard.until(lambda: made.heard.of(LogFailed))
        log = box.home / "runs" / "today" / "train.log"
        log.parent.mkdir(parents=True)
        log.write_text("first\n")
        await made.heard.until(lambda: made.heard.lines() == ["first"])


async def test_a_deleted_file_is_read_on_until_there_is_another(
    box: Sshd, connection: Connection
) -> None:
    log = box.home / "train.log"
    log.write_text("a 1\n")
    made = Follower(box)
    async with following(made, connection):
        await made.heard.until(lambda: made.heard.lines() == ["a 1"])
        with log.open("a") as writer:
            log.unlink()
            await made.heard.until(lambda: made.heard.of(LogFailed))
            writer.write("a 2\n")
        await made.heard.until(lambda: made.heard.lines() == ["a 1", "a 2"])
        log.write_text("b 1\n")
        await made.heard.until(lambda: "b 1" in made.heard.lines())
    assert made.heard.lines() == ["a 1", "a 2", "b 1"]
    assert notes(made) == []  # all that it said was read


async def test_a_file_moved_over_it_is_another_file(box: Sshd, connection: Connection) -> None:
    log = box.home / "train.log"
    log.write_text("a 1\n")
    made = Follower(box)
    async with following(made, connection):
        await made.heard.until(lambda: made.heard.lines() == ["a 1"])
        (box.home / "new").write_text("a 1\nb 1\n")
        os.replace(box.home / "new", log)
        await made.heard.until(lambda: len(made.heard.lines()) == 3)
    assert made.heard.lines() == ["a 1", "a 1", "b 1"]


async def test_after_a_long_absence_the_end_is_read_and_the_rest_told(
    box: Sshd, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "MOST", 10_000)
    log = box.home / "train.log"
    log.write_text("begin\n")
    made = Follower(box)
    await look(made, connection, ["begin"])
    append(log, "".join(f"line {n:06}\n" for n in range(5000)))
    async with following(made, connection):
        await made.heard.until(lambda: made.heard.lines()[-1:] == ["line 004999"])
    lines = made.heard.lines()[1:]
    assert lines == [f"line {n:06}" for n in range(5000 - len(lines), 5000)]
    assert 800 < len(lines) <= 10_000 // 12
    assert made.memory.lost == 12 * 5000 - 10_000
    assert "50,000 bytes" in notes(made)[0]


async def test_five_gigabytes_open_at_their_end(box: Sshd, connection: Connection) -> None:
    log = box.home / "train.log"
    with log.open("wb") as file:
        file.truncate(5 * 1024**3)
    append(log, "\n" + "last\n" * 100)
    began = time.process_time()
    made = Follower(box, history=1000)
    await look(made, connection, ["last"] * 100)
    assert time.process_time() - began < 5.0  # it is not read through
    (opened,) = made.heard.of(LogOpened)
    assert opened.skipped > 5 * 1024**3  # type: ignore[attr-defined]


async def test_text_that_looks_like_ours_is_only_text(box: Sshd, connection: Connection) -> None:
    """What tail would say, and marks of another start."""
    log = box.home / "train.log"
    forged = [
        f"tail: {log}: file truncated",
        f"\x1f0123456789abcdef: {log}: file truncated",
        "\x1f0123456789abcdef open new 1 2 3 4 5",
    ]
    log.write_text("")
    made = Follower(box)
    async with following(made, connection):
        await made.heard.until(lambda: made.heard.of(LogOpened))
        append(log, "\n".join(forged) + "\nend\n")
        await made.heard.until(lambda: made.heard.lines()[-1:] == ["end"])
    assert len(made.heard.lines()) == 4
    assert len(made.heard.of(LogOpened)) == 1


@pytest.mark.parametrize("signs", [0, 1])
async def test_a_client_that_fell_silent_is_not_waited_for(
    tmp_path: Path, signs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a dead link stdin stays open for hours. Who never gave a sign of life owes none."""
    monkeypatch.setattr(program, "SILENT", 1)
    box = ShellBox(tmp_path)
    box.file("home/train.log", "x\n")
    text = follow_program(SOURCE.path, "n", TailMemory(), 100)
    process = await start(box, "bash", text)
    assert process.stdin
    assert process.stdout
    assert b" trial\n" in await process.stdout.readuntil(b"x\n")
    process.stdin.write(b"\n" * signs)
    if signs:
        await asyncio.wait_for(process.wait(), 60)
    else:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(process.wait()), 2)
    await finish(process)
