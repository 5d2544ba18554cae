"""The buffer of one log: what came as it came and what was read are kept alike."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_tui.core.log_block import LogBlock
from gpu_tui.core.logs import LogLine
from gpu_tui.parse.log_reader import FLOOD, LogReader
from gpu_tui.state.logbuffer import LogBuffer

LINES = [
    b"step 1/9 loss 0.5",
    b"",
    b"CUDA error: out of memory",
    b"a\rb",
    b"\x1b[31mred\x1b[0m",
    b"x" * 300,
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


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from(LINES), max_size=5 * FLOOD),
    st.lists(st.integers(1, 6_000), max_size=5),
    st.sampled_from([3, 50, 20_000]),
    st.sampled_from([2_000, 10_000_000]),
    st.booleans(),
)
def test_it_holds_the_last_lines_whatever_came_unread(
    lines: list[bytes], sizes: list[int], size: int, budget: int, ended: bool
) -> None:
    raw = b"\n".join(lines) + b"\n" * ended
    buffer, reader, at = LogBuffer(size, budget), LogReader(), 0
    for part in [*sizes, len(raw)]:
        buffer.extend(reader.feed(raw[at : at + part]))
        at += part
    wanted = eager(raw, sizes)
    assert buffer.end == len(wanted)
    assert len(buffer) <= size
    assert buffer.slice(0, buffer.end) == wanted[buffer.first :]
    for number in range(buffer.first, buffer.end):
        assert buffer.text(number) == wanted[number].text
        assert buffer.alarms(number) == wanted[number].mark.alarm
    assert buffer.open == bool(wanted and wanted[-1].open)


def test_a_flood_is_counted_and_its_end_is_kept() -> None:
    buffer, reader = LogBuffer(100), LogReader()
    for start in range(0, 1_000, 500):
        block = reader.feed(b"".join(b"line %d\n" % n for n in range(start, start + 500)))
        assert isinstance(block, LogBlock)
        buffer.extend(block)
    assert (buffer.first, buffer.end) == (900, 1_000)
    assert [buffer.text(900), buffer[999].text] == ["line 900", "line 999"]
