"""The reader of one log: one line per newline, alarms kept, the last segment shown."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_tui.core.logs import LogLine, Span
from gpu_tui.core.queue_history import CellFinished
from gpu_tui.parse.lines import PIECE_CAP, TEXT_CAP
from gpu_tui.parse.log_reader import LogReader

BAR = b" 45%|####     | 450/1000 [01:23<01:41,  5.41it/s, loss=0.41]"
WORDS = [b"loss=nan", b"Killed", b"\n", b"\r", b"\r\n", BAR, b" ", b"step 3/9 ", b"\x1b[31m", b"Traceback (most recent call last):", b"ok"]  # fmt: skip


def read(*chunks: bytes) -> list[LogLine]:
    """Everything after the end, open lines replaced as a buffer would."""
    reader = LogReader()
    kept: list[LogLine] = []
    for lines in [*map(reader.feed, chunks), reader.close()]:
        for line in lines:
            if kept and kept[-1].open:
                kept[-1] = line
            else:
                kept.append(line)
    return kept


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(WORDS), max_size=30).map(b"".join),
    st.lists(st.integers(1, 40), max_size=20),
)
def test_the_chunks_change_no_finished_line(raw: bytes, sizes: list[int]) -> None:
    chunks, at = [], 0
    for size in sizes:
        chunks.append(raw[at : at + size])
        at += size
    lines = read(*chunks, raw[at:])
    assert repr(lines) == repr(read(raw))  # a loss that is NaN equals nothing
    assert not any(line.open for line in lines)
    assert len(lines) == raw.count(b"\n") + (not raw.endswith(b"\n") and bool(raw))


def test_a_bar_shows_its_last_state() -> None:
    (line,) = read(
        b" 1%| | 1/100 [00:01<01:39,  1.0it/s]\r 2%| | 2/100 [00:02<01:38,  1.0it/s]\r\n"
    )
    assert line.text.startswith(" 2%")
    assert line.progress is not None
    assert (line.progress.step, line.progress.steps) == (2, 100)
    assert line.mark.label == "progress"


def test_an_alarm_in_an_overwritten_segment_is_kept() -> None:
    (line,) = read(b"loss=nan\r" + b"step 2/9 loss=0.5\r" * 20_000 + b"done\n")
    assert (line.mark.label, line.mark.alarm, line.text) == ("nan", True, "done")
    assert line.progress is not None
    assert line.progress.step == 2


def test_killed_glued_to_a_bar() -> None:
    (line,) = read(BAR + b"Killed\n")
    assert (line.mark.label, line.mark.alarm) == ("killed", True)


def test_the_cause_comes_before_the_symptom() -> None:
    (line,) = read(b"Traceback (most recent call last):\rloss=nan\rCUDA error: out of memory\n")
    assert line.mark.label == "gpu_oom"


def test_an_open_line_is_replaced_and_its_mark_is_never_taken_back() -> None:
    reader = LogReader()
    (first,) = reader.feed(b"step 1/9 loss=nan\rstep 2/9 lo")
    assert (first.open, first.mark.label, first.text) == (True, "nan", "step 2/9 lo")
    (second,) = reader.feed(b"ss=0.5")
    assert (second.open, second.mark) == (True, first.mark)
    last, opened = reader.feed(b"\nnext")
    assert (last.open, last.mark, last.text) == (False, first.mark, "step 2/9 loss=0.5")
    assert opened.open
    assert reader.feed(b"") == ()
    assert [line.text for line in reader.close()] == ["next"]
    assert reader.close() == ()


def test_an_unfinished_word_raises_no_alarm_and_counts_nothing() -> None:
    reader = LogReader()
    (line,) = reader.feed(b"iter 12: loss 0.5 it=nan")  # on its way to nan_iters
    assert not line.mark.alarm
    (line,) = reader.feed(b"_iters: 0 step 3/50")
    assert line.progress is not None
    assert line.progress.steps is None


def test_a_complete_bar_is_read_while_it_is_open() -> None:
    (line,) = LogReader().feed(b"\r" + BAR)
    assert line.open
    assert line.progress is not None
    assert line.progress.step == 450
    assert line.progress.eta_seconds == pytest.approx(101)


def test_queue_events_survive_a_glued_bar() -> None:
    (line,) = read(BAR + b"\r[2026-01-01 10:00:00] [2/4] FINISHED no aug (exit=0)\n")
    assert line.queue == CellFinished(1767261600.0, 2, 4, "no aug", 0)


@pytest.mark.parametrize("at", [0, 100, PIECE_CAP - 5, PIECE_CAP, 2 * PIECE_CAP + 7, 5 * PIECE_CAP])
def test_an_alarm_anywhere_in_a_monster_line_is_found(at: int) -> None:
    raw = bytearray(b"x" * (6 * PIECE_CAP))
    raw[at : at + 28] = b" CUDA error: out of memory; "
    reader = LogReader()
    lines: list[LogLine] = []
    for start in range(0, len(raw), 9_000):
        lines = list(reader.feed(bytes(raw[start : start + 9_000])))
        assert len(lines) == 1
    (line,) = reader.close()
    assert line.mark.label == "gpu_oom"
    assert line.text.endswith(f"… (+{len(raw) - TEXT_CAP} bytes)")
    assert len(line.text) < TEXT_CAP + 40


def test_colours_are_those_of_the_shown_segment() -> None:
    (line,) = read(b"\x1b[31mold\rnew \x1b[32mgreen\x1b[0m\n")
    assert (line.text, line.spans) == ("new green", (Span(4, 9, "green"),))


def test_empty_lines_are_lines() -> None:
    assert [line.text for line in read(b"\n\na\n")] == ["", "", "a"]


def test_a_stream_of_returns_costs_each_segment_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import gpu_tui.parse.log_reader as module

    judged: list[str] = []
    real = module.kind_of
    monkeypatch.setattr(module, "kind_of", lambda text: judged.append(text) or real(text))
    reader = LogReader()
    for number in range(2_000):
        (line,) = reader.feed(b"step %d/2000 loss=0.5\r" % number)
        assert line.open
    assert 2_000 <= len(judged) < 2_020  # one more for each new shape


@pytest.mark.parametrize(
    "bar", [b" %d%%|###   | %d/200 [01:20<02:10,  3.41it/s, loss=0.44]", b"step %d/2000 loss=0.%d"]
)
def test_of_overwritten_reports_only_the_last_ones_are_read_for_progress(
    bar: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gpu_tui.parse.log_reader as module

    read = 0
    real = module.parse_progress

    def count(text: str) -> object:
        nonlocal read
        read += 1
        return real(text)

    monkeypatch.setattr(module, "parse_progress", count)
    bars = 10 * module.SEGMENTS
    (line,) = LogReader().feed(b"\r".join(bar % (n // 4, n // 2) for n in range(bars)) + b"\n")
    assert line.progress is not None
    assert line.mark.label == "progress"
    assert read <= bars // module.SEGMENTS + 1


UNITS = [
    b"loss=0.5 ", b"epoch 1/20 loss: 0.5 ", b".", b"x=1,", b"\x1b[31mx\x1b[0m ", "损失 0.5 ".encode(),
    b"CUDA error: out of memory ", b"loss=nan ", b"\t", b"{'loss': 0.5}, ", b"\x1b]0;",
]  # fmt: skip


@pytest.mark.parametrize("chunk", [3, 16, 100, 1_024, 5_000])
@pytest.mark.parametrize("unit", UNITS, ids=repr)
def test_of_a_line_without_newline_each_character_is_read_a_few_times(
    unit: bytes, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However small the chunks are. Read again is the end of it, never all that came before."""
    import gpu_tui.parse.log_reader as module

    read = 0

    def counted(name: str) -> None:
        real = getattr(module, name)

        def count(text: bytes | str, *more: object) -> object:
            nonlocal read
            read += len(text)
            return real(text, *more)

        monkeypatch.setattr(module, name, count)

    for name in ("unescape", "parse_progress", "cause", "kind_of", "parse_queue_line"):
        counted(name)
    raw, reader = (unit * 40_000)[:40_000], LogReader()
    for at in range(0, len(raw), chunk):
        (line,) = reader.feed(raw[at : at + chunk])
        assert line.open
    # A piece of 16 kB begins with 256 bytes of the one before and is read whole until it has 1,024.
    again = 2 * module.FAR * (module.FAR // chunk + 1) * (len(raw) // PIECE_CAP + 1)
    assert read <= 16 * len(raw) + again
    before, peeks = read, 100
    for _ in range(peeks):
        reader.peek()
    assert read - before <= peeks * (PIECE_CAP + 2 * module.FAR)


@pytest.mark.parametrize("size", [10, 1_000, 5_000, 15_000, 40_000])
def test_a_peek_shows_the_last_state_of_a_long_segment(size: int) -> None:
    reader = LogReader()
    raw = b"it is working " + b"." * size + b" step 7/90 loss=0.25 "
    for at in range(0, len(raw), 7):
        lines = reader.feed(raw[at : at + 7], unfinished=False)
        assert lines == ()
    (line,) = reader.peek()
    assert line.open
    assert line.progress is not None
    assert (line.progress.step, line.progress.loss) == (7, 0.25)
    assert line.text.startswith("it is working ...")
    assert line.text.endswith(f"… (+{len(raw) - TEXT_CAP} bytes)" if size > TEXT_CAP else "0.25 ")
    assert [line.text for line in reader.feed(b"\n")] == [line.text]
    assert reader.peek() == ()
    assert not reader.unfinished


def test_a_number_is_never_cut_in_two_by_where_reading_begins() -> None:
    """`step 1200/5000` must not become `00/5000`."""
    for shift in range(40):
        reader = LogReader()
        reader.feed(b"x" * 3_000)
        reader.peek()
        reader.feed(b" loss: 0.5 step 1200/5000 " + b"." * (1_000 + shift))
        (line,) = reader.peek()
        if line.progress is not None and line.progress.step is not None:
            assert (line.progress.step, line.progress.steps) == (1200, 5000)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(WORDS), max_size=30).map(b"".join),
    st.lists(st.integers(1, 40), max_size=20),
)
def test_lines_that_are_never_peeked_at_end_as_the_others_do(raw: bytes, sizes: list[int]) -> None:
    reader, kept, at = LogReader(), list[LogLine](), 0
    for size in sizes:
        kept += reader.feed(raw[at : at + size], unfinished=False)
        at += size
    kept += reader.feed(raw[at:], unfinished=False)
    assert not any(line.open for line in kept)
    assert repr([*kept, *reader.close()]) == repr(read(raw))
