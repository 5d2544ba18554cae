"""A line without newline is read four times a second at most, and its last state is never lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from gpu_tui.collect.follow_program import sign
from gpu_tui.collect.tail import OPEN_SECONDS, Tail
from gpu_tui.collect.tail_memory import TailMemory
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import Event, LogArrived
from gpu_tui.core.logs import LogLine, LogSource
from gpu_tui.parse import log_reader

OPENED = sign("00") + b" open new 7 1-a 5 0 0\n"
BAR = b"\r 45%%|####     | %d/1000 [01:23<01:41,  5.41it/s, loss=0.41]"


class Watch:
    """A tail whose chunks a test sends, and what it emitted."""

    def __init__(self, memory: TailMemory | None = None) -> None:
        self.clock, self.memory = ManualClock(), memory or TailMemory()
        self.events: list[LogArrived] = []
        self._came = asyncio.Event()
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.tail = Tail("a", LogSource("/x"), self._hear, self.clock, self.memory, "00")

    def _hear(self, event: Event) -> None:
        if isinstance(event, LogArrived):
            self.events.append(event)
            self._came.set()

    @property
    def open_lines(self) -> list[LogLine]:
        return [line for event in self.events for line in event.lines if line.open]

    async def until(self, text: str) -> LogLine:
        """The last line as soon as it ends with `text`."""
        async with asyncio.timeout(60):
            while not (self.events and self.events[-1].lines[-1].text.endswith(text)):
                self._came.clear()
                await self._came.wait()
        return self.events[-1].lines[-1]

    async def _sent(self) -> AsyncIterator[bytes]:
        while (chunk := await self._chunks.get()) is not None:
            yield chunk
            self._chunks.task_done()

    async def taken(self) -> None:
        """Once all that was sent is taken."""
        async with asyncio.timeout(60):
            await self._chunks.join()

    def begin(self, opened: bytes = OPENED) -> asyncio.Task[None]:
        self.send(opened)
        return asyncio.create_task(self.tail.take(self._sent()))

    def send(self, *chunks: bytes | None) -> None:
        for chunk in chunks:
            self._chunks.put_nowait(chunk)


async def opened() -> Watch:
    """A tail that takes chunks at once, without a turn of the loop: no timer runs in between."""
    watch = Watch()

    async def said() -> AsyncIterator[bytes]:
        yield OPENED

    task = asyncio.create_task(watch.tail.take(said()))
    await task
    watch.tail._ended = False
    return watch


def take(watch: Watch, chunks: Sequence[bytes], seconds: float) -> None:
    for chunk in chunks:
        watch.clock.advance(seconds)
        watch.tail._body(chunk)


@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.01, 0.1, 0.3])
@pytest.mark.parametrize(
    "chunk", [b".", b"loss=0.5 ", BAR % 7, b"x" * 900], ids=["dots", "values", "bar", "wide"]
)
async def test_it_is_read_four_times_a_second_by_the_clock(chunk: bytes, seconds: float) -> None:
    watch, number = await opened(), 600
    take(watch, [chunk] * number, seconds)
    looks = len(watch.open_lines)
    assert 1 <= looks <= min(number, number * seconds / OPEN_SECONDS + 2)
    if seconds > OPEN_SECONDS:
        assert looks == number
    assert watch.memory.offset == number * len(chunk)  # all of it is taken


@pytest.mark.parametrize("unit", [b"loss=0.5 ", b"epoch 1/20 loss: 0.5 ", b".", BAR % 9], ids=repr)
@pytest.mark.parametrize("size", [1, 10, 100, 1_000])
async def test_the_characters_read_are_bounded_by_those_that_came(
    unit: bytes, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """100 kB at 100 kB/s: each is read a few times, and four times a second what is shown of the line."""
    read = 0

    def counted(name: str) -> None:
        real = getattr(log_reader, name)

        def count(text: bytes | str, *more: object) -> object:
            nonlocal read
            read += len(text)
            return real(text, *more)

        monkeypatch.setattr(log_reader, name, count)

    for name in ("unescape", "parse_progress", "cause", "kind_of"):
        counted(name)
    watch, raw = await opened(), (unit * 100_000)[:100_000]
    chunks = [raw[at : at + size] for at in range(0, len(raw), size)]
    take(watch, chunks, size / 100_000)
    looks = len(watch.open_lines)
    assert looks <= 6
    assert read <= 6 * len(raw) + looks * (16_384 + 2 * log_reader.FAR)


async def test_when_the_input_stops_the_rest_is_read() -> None:
    """By a timer: the clock of the test stands still."""
    watch = Watch()
    task = watch.begin()
    watch.send(b"step 1/9 ", b"loss=0.5 ", b"now what", b"? [y/N] ")
    line = await watch.until("[y/N] ")
    assert line.open
    assert line.text == "step 1/9 loss=0.5 now what? [y/N] "
    assert line.progress is not None
    assert line.progress.loss == 0.5
    watch.send(b"no")
    assert (await watch.until("no")).open
    watch.send(b"\nnext\n", None)
    await task
    assert [line.text for line in watch.events[-1].lines][-1] == "next"


async def test_an_alarm_in_a_bar_without_newline_is_told() -> None:
    watch = Watch()
    task = watch.begin()
    watch.send(*(BAR % n for n in range(30)), b"\rloss=nan", b"\r" + BAR % 31)
    watch.send(None)
    await task
    line = watch.open_lines[-1]
    assert line.text.endswith("loss=0.41]")
    assert (line.mark.alarm, line.mark.label) == (True, "nan")


@pytest.mark.parametrize("way", ["stream ends", "cancelled"])
async def test_what_was_not_read_yet_is_read_when_the_tail_ends(way: str) -> None:
    watch = Watch()
    task = watch.begin()
    watch.send(b"step 1/9 ")
    await watch.until("step 1/9 ")
    watch.send(b"loss=nan ", b"and then nothing")
    if way == "stream ends":
        watch.send(None)
        await task
    else:
        await watch.taken()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert watch.open_lines[-1].text == "step 1/9 loss=nan and then nothing"
    emitted = len(watch.events)
    assert not watch.tail.at_once(b"more")  # nothing is taken after the end
    assert len(watch.events) == emitted


async def test_the_end_of_a_history_without_newline_is_history() -> None:
    watch = Watch()
    task = watch.begin(sign("00") + b" open new 7 1-a 5 0 22\n")
    watch.send(b"step 1/9 ", b"step 2/9 ", b"last")
    await watch.until("last")
    assert all(event.backfill for event in watch.events)
    watch.send(b" and more", None)
    await task
    assert not watch.events[-1].backfill


async def test_a_newline_leaves_nothing_to_be_read() -> None:
    watch = await opened()
    take(watch, [b"a", b"b", b"c\n", b"d\n", b"e", b"f\n"], 0.01)
    watch.tail._peek()  # what the timer does
    shown = [(line.text, line.open) for event in watch.events for line in event.lines]
    assert shown == [("a", True), ("abc", False), ("d", False), ("ef", False)]
