"""Lines that are shown before they are judged end as if they had been judged first."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import islice

import pytest
from bench import log_mix

from gpu_tui.core.events import LogArrived, LogCame, LogOpened
from gpu_tui.core.fleet import Fleet, Instance, SshAccess
from gpu_tui.core.log_block import LogBlock
from gpu_tui.core.logs import LogLine, LogSource
from gpu_tui.parse.lines import PIECE_CAP
from gpu_tui.parse.log_flood import FLOOD
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.state.store import Store

CELL = LogSource("~/logs/a.log", "a")
ODD = [
    "\x1b[31mError\x1b[0m: red\tand tabbed", "CUDA out of memory. Tried to allocate 2 GiB", "", "é loss=nan",
    "45%|####     | 450/1000 [01:23<01:41]\r 46%|####     | 460/1000 [01:23<01:41]", "x" * (PIECE_CAP + 5),
    "[2026-01-01 00:00:00] [1/4] STARTING a (reconstruction, 20ep)", "\x00 NUL", "bad \udcff byte",
]  # fmt: skip


def made() -> Store:
    store = Store(Fleet("sweep", (Instance("box", SshAccess("box")),)), {}, log_bytes=300_000)
    store.apply(LogOpened("box", 0.0, CELL, 7, 100, 100, resumed=False))
    return store


def buffer_of(store: Store) -> LogBuffer:
    buffer = store.log("box", CELL)
    assert buffer is not None
    return buffer


def chunks(seed: int) -> list[bytes]:
    """Batches of lines, most of them whole, some torn in the middle, some a flood."""
    chance = random.Random(seed)
    lines = [*islice(log_mix.lines(seed), 600), *ODD * 6]
    chance.shuffle(lines)
    raw = "\n".join([*lines, ""]).encode("utf-8", "surrogateescape")
    found, at = [], 0
    while at < len(raw):
        stop = at
        for _ in range(chance.choice((1, 1, 1, 2, 5, FLOOD, 2 * FLOOD))):
            stop = raw.find(b"\n", stop) + 1 or len(raw)
        stop -= chance.choice((0, 0, 0, 3)) if stop - at > 3 else 0
        found.append(raw[at:stop])
        at = stop
    return found


@pytest.mark.parametrize("seed", range(3))
def test_both_orders_end_alike(seed: int) -> None:
    first, then, (one, other) = LogReader(), LogReader(), (made(), made())
    shown = upto = 0
    for at, chunk in enumerate(chunks(seed)):
        upto += len(chunk)
        one.apply(LogArrived("box", at, CELL, first.feed(chunk), False, upto))
        if (whole := then.whole(chunk)) is None:
            other.apply(LogArrived("box", at, CELL, then.feed(chunk), False, upto))
        else:
            end = buffer_of(other).end
            other.apply(LogCame("box", at, CELL, whole, upto))
            assert buffer_of(other).end == end + len(whole)
            assert buffer_of(other)[end] == bare(whole[0])
            other.apply(LogArrived("box", at, CELL, then.judge(whole), False, upto))
            shown += 1
        assert state(one, at) == state(other, at)
    assert shown > 10
    assert lines_of(buffer_of(one)) == lines_of(buffer_of(other))


def bare(line: LogLine) -> LogLine:
    return replace(line, progress=None, queue=None)


def lines_of(buffer: LogBuffer) -> list[LogLine]:
    return [bare(buffer[number]) for number in range(buffer.first, buffer.end)]


def state(store: Store, at: float) -> object:
    box, buffer = store.view(at)["box"], buffer_of(store)
    alarms, number = [], buffer.first - 1
    while (found := buffer.next_alarm(number, 1)) is not None:
        alarms.append(number := found)
    return box, buffer.first, buffer.end, buffer.upto, alarms


def test_what_is_not_whole_has_to_be_fed() -> None:
    for chunk in (b"", b"half", b"a\nhalf", b"over\rwritten\n", b"x" * (PIECE_CAP + 1) + b"\n"):
        assert LogReader().whole(chunk) is None
    reader = LogReader()
    reader.feed(b"half")
    assert reader.whole(b" a line\n") is None
    reader.feed(b" a line\n")
    assert isinstance(reader.whole(b"one\ntwo\n"), LogBlock)
