"""Older lines of a log and a search of all of it, on a real sshd and under every shell there is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest
from boxes import Sshd
from shell_box import ShellBox, ShellConnection, start
from test_follow import Heard

from gpu_tui.collect.log_range import MOVED, read_part, search
from gpu_tui.collect.supervisor import Supervisor
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.command import Completed
from gpu_tui.core.events import LinkChanged, LogArrived, LogOpened
from gpu_tui.core.fleet import Fleet
from gpu_tui.core.log_range import ANCHOR, Anchor, LogAsk, LogUnread, Term
from gpu_tui.core.logs import LogSource
from gpu_tui.transport.base import Connection
from gpu_tui.transport.ssh import SshTransport

LINES = [f"step {n}/4000 loss {4000 / (n + 1):.4f} wait".encode() for n in range(4000)]
LINES[1234] = b"RuntimeError: CUDA error: out of memory"
LINES[2345] = "中文 [red]$(touch evil) `id` 'q' \x07".encode()
LINES[3456] = b"10%|#\r 20%|##\r\x1b[31m 30%|###\x1b[0m"
RAW = b"\n".join(LINES) + b"\n"
STARTS = [0]
for _line in LINES:
    STARTS.append(STARTS[-1] + len(_line) + 1)


class Shelled(ShellConnection):
    """The same with an answer at the end, as a channel of sshd gives it."""

    async def run(self, program: str, *, limit: float, stdout_cap: int = 0) -> Completed:
        process = await start(self.box, self.shell, program)
        out, err = await asyncio.wait_for(process.communicate(), limit)
        return Completed(out, err or b"", process.returncode)


There = tuple[Connection, Path]


@pytest.fixture(params=["ssh", "dash", "busybox"])
async def there(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[There]:
    """A connection, and a log of its box."""
    if request.param == "ssh":
        box: Sshd = request.getfixturevalue("box")
        connection = await SshTransport().connect(box.instance())
        yield connection, box.home / "it's a log.txt"
        await connection.close()
    else:
        (tmp_path / "box").mkdir()
        shell_box = ShellBox(tmp_path / "box")
        shelled = cast("Connection", Shelled(shell_box, request.param))
        yield shelled, shell_box.home / "it's a log.txt"


def source(path: Path) -> LogSource:
    return LogSource(str(path), "cell")


async def test_every_stretch_has_the_whole_lines_that_are_in_it(there: There) -> None:
    connection, log = there
    log.write_bytes(RAW)
    for begin, stop in [
        (0, 5_000),
        (STARTS[100], STARTS[300]),
        (STARTS[100] - 1, STARTS[300] + 1),
        (65_535, 66_000),
        (65_536, 131_072),
        (70_001, 71_000),
        (len(RAW) - 500, len(RAW)),
        (len(RAW) - 500, len(RAW) + 9_000),
    ]:
        part = await read_part(connection, source(log), LogAsk(begin, stop))
        kept = [n for n, at in enumerate(STARTS[:-1]) if at >= begin and STARTS[n + 1] <= stop]
        assert (part.start, part.end) == (STARTS[kept[0]], STARTS[kept[-1] + 1])
        assert [line.text for line in part.lines[:2]] == [LINES[n].decode() for n in kept[:2]]
        assert len(part.lines) == len(kept)
        assert part.size == len(RAW)
        assert part.line == (0 if part.start == 0 else None)
        assert part.file == log.stat().st_ino
        assert part.head == RAW[part.start : part.start + ANCHOR]


async def test_a_line_is_found_by_its_number(there: There) -> None:
    connection, log = there
    log.write_bytes(RAW)
    part = await read_part(connection, source(log), LogAsk(-2_000, 2_000, line=1234))
    assert part.line is not None
    assert part.at == STARTS[1234]
    assert STARTS[part.line] == part.start
    assert part.lines[1234 - part.line].text == LINES[1234].decode()
    assert part.lines[1234 - part.line].mark.label == "gpu_oom"
    part = await read_part(connection, source(log), LogAsk(-2_000, 2_000, line=0))
    assert (part.start, part.line, part.at) == (0, 0, 0)
    part = await read_part(connection, source(log), LogAsk(-2_000, 2_000, line=9_999_999))
    assert part.at == part.end == len(RAW)


async def test_an_unfinished_line_stands_at_the_very_end_only(there: There) -> None:
    connection, log = there
    log.write_bytes(b"one\ntwo\n 10%|#\r 20%|##")
    part = await read_part(connection, source(log), LogAsk(0, 1_000))
    assert [line.text for line in part.lines] == ["one", "two", " 20%|##"]
    part = await read_part(connection, source(log), LogAsk(0, 12))
    assert [line.text for line in part.lines] == ["one", "two"]
    log.write_bytes(b"")
    part = await read_part(connection, source(log), LogAsk(0, 1_000))
    assert (part.lines, part.end, part.size) == ((), 0, 0)
    log.write_bytes(b"x" * 9_000)
    part = await read_part(connection, source(log), LogAsk(0, 8_000))
    assert (len(part.lines), part.end) == (1, 8_000)  # a line without end is cut


async def test_another_file_is_never_taken_for_this_one(there: There) -> None:
    connection, log = there
    log.write_bytes(RAW)
    part = await read_part(connection, source(log), LogAsk(STARTS[9], STARTS[20]))
    known = LogAsk(0, STARTS[9], file=part.file, anchor=part.anchor)
    assert (await read_part(connection, source(log), known)).end == STARTS[9]
    log.write_bytes(RAW.replace(b"step", b"STEP"))  # cut and written anew under the same number
    with pytest.raises(LogUnread, match=MOVED):
        await read_part(connection, source(log), known)
    log.write_bytes(RAW[: STARTS[3]])
    with pytest.raises(LogUnread, match=MOVED):
        await read_part(connection, source(log), known)
    log.rename(log.with_suffix(".1"))
    log.write_bytes(RAW)
    with pytest.raises(LogUnread, match=MOVED):
        await read_part(connection, source(log), LogAsk(0, 100, file=part.file))
    log.unlink()
    with pytest.raises(LogUnread, match="not there or may not be read"):
        await read_part(connection, source(log), known)


async def test_a_search_finds_what_fits_every_term(there: There) -> None:
    connection, log = there
    log.write_bytes(RAW)

    async def found(*terms: Term) -> list[int]:
        hits = await search(connection, source(log), terms)
        assert not hits.cut
        for hit in hits.hits:
            assert hit.byte in (None, STARTS[hit.line])
        return [hit.line for hit in hits.hits]

    assert await found(Term("cuda ERROR")) == [1234]
    assert await found(Term("$(touch evil) `id` 'q'")) == [2345]
    assert await found(Term("中文")) == [2345]
    assert await found(Term("^step 12[0-9]/", regex=True), Term("125", wanted=False)) == [
        120, 121, 122, 123, 124, 126, 127, 128, 129,
    ]  # fmt: skip
    assert await found(Term("wait", wanted=False)) == [1234, 2345, 3456]
    assert await found(Term("wait", wanted=False), Term("'")) == [2345]
    assert await found(Term("memory"), Term("^Runtime", regex=True)) == [1234]
    assert await found(Term("memory"), Term("1234")) == []  # not the number before the line
    assert await found(Term("no such word")) == []
    assert not (log.parent / "evil").exists()


async def test_a_search_is_bounded_and_what_it_tells_is_safe(there: There) -> None:
    connection, log = there
    log.write_bytes(RAW + b"x" * 100_000 + b" needle\n" + b"needle" + b"y" * 100_000 + b"\n")
    hits = await search(connection, source(log), [Term("loss")], most=7)
    assert (len(hits.hits), hits.more) == (7, True)
    hits = await search(connection, source(log), [Term("needle")])
    assert len(hits.hits) == 2
    assert all(380 < len(hit.text) <= 400 for hit in hits.hits)
    hits = await search(connection, source(log), [Term("%|")])
    assert [hit.text for hit in hits.hits] == [" 30%|###"]
    hits = await search(connection, source(log), [Term("[red]")])
    assert hits.hits[0].text == "中文 [red]$(touch evil) `id` 'q' "
    with pytest.raises(LogUnread, match="cannot read this pattern"):
        await search(connection, source(log), [Term("a(", regex=True)])


async def test_a_pattern_may_not_take_the_memory_of_the_box(there: There) -> None:
    """Without a limit these nested repeats cost grep 4 GB."""
    connection, log = there
    log.write_bytes(RAW)
    greedy = Term("((a{255}){255}){100}", regex=True)
    with pytest.raises(LogUnread, match="cannot read this pattern"):
        await search(connection, source(log), [greedy])
    hits = await search(connection, source(log), [Term("loss"), greedy])
    assert hits.cut, "the second grep ended early: there may be more"


async def test_a_progress_bar_is_found_as_it_stands_now(there: There) -> None:
    connection, log = there
    bar = "\r".join(f"12:30:45 Epoch {n}%|{'█' * (n // 10)}| loss=0.{n}" for n in range(1, 101))
    wide = "宽" * 300
    log.write_text(f"first\n{bar}\nEpoch wide {wide}\nEpoch crlf\r\n")
    hits = await search(connection, source(log), [Term("epoch")])
    texts = [hit.text for hit in hits.hits]
    assert texts[0] == f"12:30:45 Epoch 100%|{'█' * 10}| loss=0.100"
    assert wide.startswith(texts[1].removeprefix("Epoch wide "))
    assert len(texts[1]) > 100
    assert texts[2] == "Epoch crlf"


async def test_the_anchor_of_a_stretch_that_is_read_before_it_holds(there: There) -> None:
    connection, log = there
    log.write_bytes(RAW)
    anchor = Anchor(STARTS[2000], RAW[STARTS[2000] :][:ANCHOR])
    part = await read_part(connection, source(log), LogAsk(0, 100, anchor=anchor))
    assert part.lines[0].text == LINES[0].decode()


async def test_a_supervisor_reads_on_where_its_tail_began(box: Sshd) -> None:
    log = box.home / "train.log"
    log.write_bytes(RAW * 4)
    heard = Heard()
    instance = box.instance(logs=str(box.home / "{cell}.log"))
    supervisor = Supervisor(Fleet("sweep", (instance,)), SshTransport(), heard, ManualClock())
    running = asyncio.create_task(supervisor.run())
    try:
        followed = LogSource(str(log), "train")
        await heard.until(
            lambda: any(isinstance(e, LinkChanged) and e.link.live for e in heard.events)
        )
        supervisor.follow_cell("box", "train")
        await heard.until(lambda: heard.of(LogArrived))
        opened = heard.of(LogOpened)[0]
        assert isinstance(opened, LogOpened)
        assert opened.offset > 100_000
        part = await supervisor.read_log(
            "box", followed, LogAsk(opened.offset - 50_000, opened.offset)
        )
        assert (part.end, part.size, part.file) == (opened.offset, 4 * len(RAW), opened.inode)
        await heard.until(lambda: heard.of(LogArrived)[-1].upto == 4 * len(RAW))
        uptos = [event.upto for event in heard.of(LogArrived)]
        assert uptos == sorted(uptos)
        hits = await supervisor.search_log("box", followed, [Term("out of memory")])
        assert [hit.line for hit in hits.hits] == [1234 + 4000 * n for n in range(4)]
        log.write_bytes(b"short\n" + RAW)
        with pytest.raises(LogUnread):
            await supervisor.read_log("box", followed, LogAsk(0, 1_000))
        with pytest.raises(LogUnread, match="no longer watched"):
            await supervisor.read_log("gone", followed, LogAsk(0, 1_000))
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
