"""The buffer of one log: what came as it came and what was read are kept alike, and cost their bytes."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_tui.core.findings import Severity
from gpu_tui.core.log_block import LogBlock
from gpu_tui.core.logs import LogLine, Mark, Span
from gpu_tui.parse.log_flood import FLOOD, LARGE, mouthful
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.state.logbuffer import LogBuffer, LogPool

BENIGN = Mark("benign", Severity.NONE, False)
LINES = [
    b"step 1/9 loss 0.5",
    b"",
    b"CUDA error: out of memory",
    b"a\rb",
    b"\x1b[31mred\x1b[0m",
    b"x" * 300,
    "中文\u202e".encode(),
]


def eager(raw: bytes, sizes: list[int]) -> list[LogLine]:
    """Every line, an open one replaced by what follows."""
    reader, kept, at = LogReader(), [], 0
    for size in [*sizes, len(raw)]:
        for line in reader.feed(raw[at : at + size]):
            if kept and kept[-1].open:
                kept.pop()
            kept.append(line)
        at += size
    return kept


def drawn(line: LogLine) -> LogLine:
    """What the buffer keeps of a line: its numbers were taken when it came."""
    return replace(line, progress=None, queue=None)


def fed(buffer: LogBuffer, raw: bytes, sizes: list[int] | None = None) -> LogBuffer:
    """As a follower does it."""
    reader, at = LogReader(), 0
    for size in sizes or [mouthful(raw[at : at + LARGE])] * (1 + len(raw)):
        part = raw[at : at + size] if sizes else raw[at : at + mouthful(raw[at : at + LARGE])]
        if not part:
            break
        at += len(part)
        buffer.extend(reader.feed(part), raw.rfind(b"\n", 0, at) + 1)
    return buffer


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from(LINES), max_size=5 * FLOOD),
    st.lists(st.integers(1, 6_000), max_size=5),
    st.sampled_from([None, 3, 50]),
    st.sampled_from([2_000, 10_000_000]),
    st.booleans(),
)
def test_it_holds_the_last_lines_whatever_came_unread(
    lines: list[bytes], sizes: list[int], size: int | None, budget: int, ended: bool
) -> None:
    raw = b"\n".join(lines) + b"\n" * ended
    sizes = [*sizes, len(raw) + 1]
    buffer = fed(LogBuffer(size, budget), raw, sizes)
    wanted = [drawn(line) for line in eager(raw, sizes)]
    assert buffer.end == len(wanted)
    assert size is None or len(buffer) <= size
    assert [drawn(line) for line in buffer.slice(0, buffer.end)] == wanted[buffer.first :]
    alarms = []
    for number in range(buffer.first, buffer.end):
        assert buffer.text(number) == wanted[number].text
        if wanted[number].mark.alarm:
            alarms.append(number)
    assert buffer.open == bool(wanted and wanted[-1].open)
    here, found = -1, []
    while (number := buffer.next_alarm(here, 1)) is not None:
        found.append(here := number)
    assert found == alarms
    here, found = buffer.end, []
    while (number := buffer.next_alarm(here, -1)) is not None:
        found.append(here := number)
    assert found == alarms[::-1]
    kept = [n for n in range(buffer.first, buffer.end) if "red" in wanted[n].text]
    assert buffer.pick(0, buffer.end, lambda text: "red" in text, b"red") == kept
    plain = raw.splitlines(keepends=True)
    if buffer.start is not None and budget > 2_000:
        assert buffer.start == sum(map(len, plain[: buffer.first]))


def test_a_flood_is_counted_and_its_end_is_kept() -> None:
    buffer, reader = LogBuffer(100), LogReader()
    for start in range(0, 1_000, 500):
        block = reader.feed(b"".join(b"line %d\n" % n for n in range(start, start + 500)))
        assert isinstance(block, LogBlock)
        buffer.extend(block)
    assert (buffer.first, buffer.end) == (900, 1_000)
    assert [buffer.text(900), buffer[999].text] == ["line 900", "line 999"]


def test_a_line_costs_little_more_than_its_bytes() -> None:
    raw = b"".join(
        b"epoch 3 step %d/60000 loss 0.%04d lr 3.0e-04 grad_norm 1.25 tokens/s 12345\n"
        % (n, n % 9999)
        for n in range(60_000)
    )
    fed(LogBuffer(), raw[:65_536])
    tracemalloc.start()
    buffer = fed(LogBuffer(), raw)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(buffer) == 60_000
    assert taken < 1.2 * len(raw)
    assert 0.9 * taken < buffer.held < 1.1 * taken


def test_one_log_and_all_together_are_bounded() -> None:
    raw = b"".join(b"line %d of many that say nothing at all\n" % n for n in range(40_000))
    one = fed(LogBuffer(budget=500_000), raw)
    assert 400_000 < one.held <= 500_000
    assert one.text(one.end - 1) == "line 39999 of many that say nothing at all"
    assert one.start == raw.find(one.text(one.first).encode())
    pool = LogPool(1_000_000)
    small, large, third = (LogBuffer(pool=pool) for _ in range(3))
    fed(small, raw[:200_000])
    fed(large, raw)
    fed(third, raw[:100_000])
    assert (small.first, third.first) == (0, 0)  # the longest one gives way
    assert large.first > 0
    assert pool.held == small.held + large.held + third.held <= 1_000_000
    large.leave()
    assert pool.held == small.held + third.held


def test_colours_of_their_own_count_for_what_they_take() -> None:
    buffer = LogBuffer(budget=100_000)
    heavy = LogLine("x" * 100, BENIGN, spans=tuple(Span(n, n + 1, "red") for n in range(100)))
    for _ in range(50):
        buffer.extend([heavy])
    assert 3 <= len(buffer) <= 6
    assert buffer[buffer.first] == heavy
    assert buffer.held <= 100_000


def test_a_byte_leads_to_its_line_and_back() -> None:
    raw = b"".join(b"line %d of many that say nothing at all\n" % n for n in range(9_000))
    buffer = LogBuffer()
    buffer.opened(7, 1_000, resumed=False)
    reader, at = LogReader(), 0
    while part := raw[at : at + 5_000]:
        at += len(part)
        buffer.extend(reader.feed(part), 1_000 + raw.rfind(b"\n", 0, at) + 1)
    assert buffer.start == 1_000
    for number in (0, 1, 777, 4_321, 8_999):
        byte = 1_000 + raw.find(b"line %d " % number)
        assert buffer.byte_of(number) == byte
        assert buffer.near(byte) == number
        assert buffer.near(byte + 5) == number
    assert buffer.near(999) is None
    assert buffer.near(1_000 + len(raw)) is None


def test_another_file_begins_a_new_count_of_bytes() -> None:
    buffer, reader = LogBuffer(), LogReader()
    buffer.opened(7, 0, resumed=False)
    buffer.extend(reader.feed(b"old\nhalf"), 4)
    buffer.opened(8, 0, resumed=False)
    buffer.extend(LogReader().feed(b"new\n"), 4)
    assert [line.text for line in buffer.slice(0, 9)] == ["old", "half", "new"]
    assert (buffer.start_file, buffer.file) == (7, 8)
    assert buffer.near(1) == 2
    buffer.opened(8, 4, resumed=True)
    buffer.extend(reader.feed(b"more\n"), 9)
    assert buffer.near(5) == 3


def test_what_a_progress_bar_overwrote_counts_as_bytes_of_the_file() -> None:
    bar = b"\r".join(b"%3d%%|#####     | %d/999" % (n // 10, n) for n in range(999))
    lines = [b"epoch 1", bar, b"\x1b[32mepoch 2\x1b[0m", bar, *[b"line %d" % n for n in range(99)]]
    raw = b"\n".join(lines) + b"\n"
    starts = [raw.find(b"epoch 1"), raw.find(bar), raw.find(b"\x1b[32m"), raw.rfind(bar)]
    starts += [raw.find(b"line %d\n" % n) for n in range(99)]
    for sizes in ([len(raw)], [1_000] * 60, [11, 7, 30_000]):
        buffer = LogBuffer()
        buffer.opened(7, 0, resumed=False)
        fed(buffer, raw, [*sizes, len(raw)])
        assert [buffer.byte_of(number) for number in range(buffer.end)] == starts
        assert [buffer.near(start) for start in starts] == list(range(buffer.end))
        assert buffer.near(len(raw) // 2) == 3
