"""The fast way and the slow way say the same of every line: many at once, one by one, and rule by rule."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, pairwise

import pytest
from bench import log_mix
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_tui.core.findings import Severity
from gpu_tui.core.log_block import LogBlock, telling
from gpu_tui.core.logs import LogLine, Mark
from gpu_tui.parse.line_kinds import kind_of, kind_of_skeleton, skeletons
from gpu_tui.parse.lines import unescape
from gpu_tui.parse.log_flood import FLOOD, LARGE, LARGEST, MOST_LINES, Appetite, mouthful
from gpu_tui.parse.log_reader import LogReader, read_line
from gpu_tui.parse.progress import parse_progress
from gpu_tui.parse.queue_log import parse_queue_line
from gpu_tui.parse.triage import envelope, ignored
from gpu_tui.parse.triage.classify import Classifier, cause, classifier, triage
from gpu_tui.parse.triage.digits import number_key
from gpu_tui.parse.triage.rule import LazyPattern
from gpu_tui.parse.triage.rule_set import bundled

REAL = [
    sample.line
    for rule in bundled().rules
    for sample in (*rule.matches, *rule.rejects)
    if "\r" not in sample.line
]
MIX = list(islice(log_mix.lines(7), 2_000))
NIGHTLY = bool(os.environ.get("GPU_TUI_NIGHTLY"))
QUEUE = [
    "=== Queue q.txt: 4 ablations, starting from 1 on box ===",
    "[2026-01-01 00:00:00] [1/4] STARTING a (reconstruction, 20ep)",
    "45%|####     | 450/1000 [01:23<01:41]\r[2026-01-01 10:00:00] [2/4] FINISHED no aug (exit=0)",
    "overlay  450G  449G  1.0G  100% /",
]
BITS = ["Er\x1b[31mror", "\x1b]0;t\x07", "\x9d", "é", "█▉", "ſ", "K", "\u200b", "\ufe0f", "\x07", "\t", "0x10 ",
    "10 errors", "0 errors", "nan=0", "inf3o", "INFO", " 05", "error=0.0.1 ", "http://a b", "e: ", "E", "loss=in",
    "f1 nan", "f2 nan", "| 1.0 errors", "exit 1", "code 137", "loss scale: 1e-0"]  # fmt: skip


def cause_without_shortcuts(text: str) -> Mark | None:
    """The mark by the rules alone: literals are searched one by one, and no mark is remembered."""
    low = text.lower() + "\n"
    rules = classifier().rules
    asked = (o for o, rule in enumerate(rules.rules) if any(word in low for word in rule.literals))
    return classifier().decide(text, tuple(asked)).mark


@st.composite
def lines(draw: st.DrawFn) -> str:
    """A real line, torn, glued, with other digits and odd characters in it."""
    line = draw(st.sampled_from(REAL + MIX[:300] + QUEUE))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(line)))
        other = draw(st.sampled_from(BITS + REAL))
        line = line[:at] + other + line[at + draw(st.integers(0, 6)) :]
    if draw(st.booleans()):
        digits = random.Random(draw(st.integers(0, 99)))
        line = "".join(
            digits.choice("0123456789") if c.isdecimal() and c.isascii() else c for c in line
        )
    return line.replace("\n", " ")


@settings(deadline=None, max_examples=150)
@given(lines())
def test_cause_equals_the_rules_without_shortcuts(line: str) -> None:
    text = unescape(line.replace("\r", " ").encode("utf-8", "replace"))[0]
    assert cause(text) == cause_without_shortcuts(text)


@pytest.mark.nightly
@pytest.mark.parametrize("source", [REAL, MIX if NIGHTLY else MIX[::4]], ids=["real", "mix"])
def test_other_digits_are_judged_by_themselves(source: list[str]) -> None:
    digits = random.Random(3)
    for line in source:
        other = "".join(digits.choice("0012345") if c in "0123456789" else c for c in line)
        text = unescape(other.encode())[0]
        assert cause(text) == cause_without_shortcuts(text)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "source", [REAL, MIX[: 600 if NIGHTLY else 200], BITS], ids=["real", "mix", "bits"]
)
def test_what_was_judged_before_changes_nothing(source: list[str]) -> None:
    digits = random.Random(5)
    for line in source:
        for choice in ("0123456789", "001", line):
            other = "".join(digits.choice(choice) if c in "0123456789" else c for c in line)
            raw = other.encode().replace(b"\r", b" ")
            text = unescape(raw)[0]
            mark = cause_without_shortcuts(text) if text and not text.isspace() else None
            if mark is None or (mark.severity is Severity.NONE and mark.label == "benign"):
                continue  # the reader says progress or benign
            assert read_line(raw).mark == mark


@settings(deadline=None, max_examples=50)
@given(st.lists(lines(), min_size=1, max_size=12))
def test_many_lines_are_judged_as_one_by_one(found: list[str]) -> None:
    raw = [line.replace("\r", " ").encode("utf-8", "replace") for line in found]
    texts = [unescape(line)[0] for line in raw]
    assert classifier().causes(raw) == [cause_without_shortcuts(text) for text in texts]
    kinds = map(kind_of_skeleton, skeletons(b"\n".join(raw)))
    for text, kind in zip(texts, kinds, strict=True):
        mark = cause_without_shortcuts(text)
        assert kind.loud or mark is None or mark.severity is Severity.NONE
        assert kind.queue or parse_queue_line(text) is None


def slow(raw: bytes) -> list[LogLine]:
    """So few at a time that every line is read."""
    reader, found = LogReader(), []
    for line in raw.splitlines(keepends=True):
        found += [line for line in reader.feed(line) if not line.open]
    return [*found, *reader.close()]


def fast(raw: bytes, cuts: Iterator[int]) -> tuple[list[LogLine], dict[int, LogLine]]:
    """By chunks: all lines, and those that were told at once."""
    reader, found, told, at = LogReader(), [], {}, 0
    while at < len(raw):
        size = next(cuts)
        part = reader.feed(raw[at : at + size])
        at += size
        told |= {len(found) + place: line for place, line in telling(part) if not line.open}
        found += [line for line in part if not line.open]
    last = reader.close()
    told |= {len(found) + place: line for place, line in enumerate(last)}
    return [*found, *last], told


def text_of(line: LogLine) -> str:
    """All that is compared of a line. A loss that is NaN equals nothing, from Python 3.13 on not even itself."""
    return repr(replace(line, size=0))


def check(raw: bytes, cuts: Iterator[int]) -> None:
    wanted = slow(raw)
    found, told = fast(raw, cuts)
    same = [*map(text_of, wanted)]
    assert [*map(text_of, found)] == same
    for number, line in enumerate(wanted):
        if line.queue is not None or line.mark.severity is not Severity.NONE:
            assert text_of(told[number]) == same[number]
    assert all(text_of(line) == same[number] for number, line in told.items())


@settings(deadline=None, max_examples=15)
@given(
    st.lists(lines(), min_size=1, max_size=30),
    st.lists(st.binary(max_size=40), max_size=3),
    st.sampled_from([b"\n", b"\r\n", b"\r\r\n"]),
    st.integers(0, 2**32),
)
def test_a_flood_says_what_a_trickle_says(
    found: list[str], noise: list[bytes], newline: bytes, seed: int
) -> None:
    r = random.Random(seed)
    pool = [line.encode("utf-8", "replace") for line in found] + noise
    raw = newline.join(r.choices(pool, k=3 * FLOOD)) + r.choice([b"", newline])
    check(raw, iter(lambda: r.choice([1, 700, 9_000, 40_000]), None))


def test_a_real_log_with_monsters_in_it() -> None:
    r = random.Random(11)
    some = [line.encode() for line in [*MIX[:600], *r.sample(REAL, 60), *QUEUE]]
    r.shuffle(some)
    some.insert(90, b"x" * 70_000 + b" CUDA error: out of memory " + b"y" * 50_000)
    some.insert(
        200, b"\r".join(b"%d%%|##  | %d/99 [00:01<00:02, 1.0it/s]" % (n, n) for n in range(300))
    )
    some.insert(300, b"loss=nan\r" + some[7])
    some.insert(400, bytes(range(256)).replace(b"\n", b"") * 30)
    raw = b"\n".join(some)
    check(raw, iter(lambda: r.choice([5_000, 30_000, LARGE]), None))
    assert isinstance(LogReader().feed(b"\n".join(x.encode() for x in MIX) + b"\n"), LogBlock)


def test_the_last_report_of_each_sort_is_told() -> None:
    block = LogReader().feed("\n".join([*MIX, ""]).encode())
    told = {place for place, _ in telling(block)}
    latest = {kind_of(line).group: place for place, line in enumerate(MIX) if parse_progress(line)}
    common = [
        place for group, place in latest.items() if sum(kind_of(x).group == group for x in MIX) > 20
    ]
    assert len(common) > 5
    assert told >= set(common)
    assert told >= {place for place, line in enumerate(MIX) if line.startswith("Epoch")}
    assert len(told) < len(MIX) / 4


def test_of_a_history_as_many_reports_are_read_as_are_asked_for_of_each_sort_as_many() -> None:
    rows = [f"step {n}/4000 loss {4 - n / 1000:.3f}" for n in range(4_000)]
    rows += [f"student step {n}/400 lr 0.{n + 1:04d}" for n in range(400)]
    rows = [line for n, row in enumerate(rows) for line in (row, f"saved /tmp/{n}.png")]
    text = "".join(f"{row}\n" for row in rows).encode()

    def told(samples: int) -> list[tuple[int, LogLine]]:
        return list(telling(LogReader().feed(text, samples)))

    few, more = told(0), told(64)
    assert {place for place, _ in few} <= {place for place, _ in more}
    read = [(place, line.progress) for place, line in more if line.progress is not None]
    steps = [(place, found.step) for place, found in read if found.loss is not None]
    assert 28 <= len(steps) <= 48
    assert all(step == place // 2 for place, step in steps)
    gaps = [later - before for (before, _), (later, _) in pairwise(steps)]
    assert max(gaps) <= 8_000 / 28
    assert 28 <= sum(found.lr is not None for _, found in read) <= 48


def test_mouthfuls_are_large_only_where_little_is_read() -> None:
    dull = ("iter 12: loss 0.5, time 12.00ms, mfu 41.00%\n" * 9_000).encode()
    alarms = b"".join(
        b"RuntimeError: CUDA error: device-side assert %d\n" % n for n in range(9_000)
    )
    assert LARGE - 60 < mouthful(dull) <= LARGE
    assert dull[mouthful(dull) - 1] == ord("\n")
    assert 0 < mouthful(alarms) < 4_096
    assert alarms[mouthful(alarms) - 1 : mouthful(alarms)] == b"\n"
    assert mouthful(b"x" * 1_000_000) <= 16_384
    assert mouthful(b"short") == 5
    assert 0 < mouthful(b"\n" * 1_000_000, LARGEST) <= MOST_LINES  # each has its price


def test_a_flood_that_is_behind_is_fed_in_ever_larger_parts_and_no_alarm_is_lost() -> None:
    """Spikes to nan, alarms and lines of the queue are told of every part, however large it is."""
    dice = random.Random(3)
    text = list(islice(log_mix.lines(11), 6_000))
    spikes = {dice.randrange(len(text)) for _ in range(40)}
    for place in spikes:
        text[place] = f"step {place}: loss nan grad_norm inf lr 1.0e-4"
    waits = "".join(f"{line}\n" for line in text).encode()
    alarms = [place for place, line in enumerate(text) if triage(line).alarm]
    assert spikes <= set(alarms)
    appetite, reader = Appetite(), LogReader()
    told: list[int] = []
    sizes = []
    at = number = 0
    while at < len(waits):
        size = appetite.mouthful(waits[at:])
        block = reader.feed(waits[at : at + size])
        told += [number + place for place, line in telling(block) if line.mark.alarm]
        appetite.took(0.001, size)
        at, number = at + size, number + len(block)
        sizes.append(size)
    assert told == alarms
    assert max(sizes) > 2 * LARGE
    while appetite.mouthful(waits) > LARGE:
        appetite.took(0.1, LARGE)


def test_an_appetite_grows_only_with_what_waits() -> None:
    dull = b"iter 12: loss 0.5, time 12.00ms, mfu 41.00%\n" * 30_000
    appetite = Appetite()
    for _ in range(9):
        appetite.took(0.0001, 4_000)
    assert appetite.mouthful(dull) <= LARGE
    for _ in range(9):
        appetite.took(0.0001, appetite.mouthful(dull))
    assert LARGEST - 60 < appetite.mouthful(dull) <= LARGEST


def test_names_digits_is_true_for_patterns_that_tell_digits_apart() -> None:
    def names(pattern: str) -> bool:
        return LazyPattern(pattern, pattern).names_digits

    for blind in (
        r"\bstep \d+/\d{1,3}: no errors\b",
        r"(?P<a>x)[\d.]+",
        r"\x1b\u4e00",
        r"[a-z0-9_]+",
    ):
        assert not names(blind), blind
    for sees in (r"code 137", r"exit [1-9]", r"x=0", r"[0-4]%", r"(\d+) again \1"):
        assert names(sees), sees


def test_removed_parts_name_no_digit_except_zero() -> None:
    """Otherwise lines with equal keys can have different marks."""
    for module in (envelope, ignored):
        for pattern in vars(module).values():
            if isinstance(pattern, re.Pattern):
                written = pattern.pattern.replace("0", "")
                assert not LazyPattern(written, written).names_digits, written


def test_number_key_keeps_zeros_and_the_length_of_a_number() -> None:
    assert number_key(b"a 12 0 0.50 f1") == number_key(b"a 99 0 0.71 f2")
    assert number_key(b"a 12") != number_key(b"a 123")
    assert number_key(b"a 10") != number_key(b"a 00")
    assert number_key(b"1" + b"0" * 4_000) is None


def test_triage_is_cause_then_progress() -> None:
    for line in MIX[:300]:
        mark = cause_without_shortcuts(line)
        if mark is None:
            assert triage(line).label == ("progress" if parse_progress(line) else "benign")
        else:
            assert triage(line) == mark


HOSTILE = ["a.b.cError: 1 samples/s ", "failed to connect: "]  # fmt: skip


def _hostile(unit: str, size: int, end: str) -> bytes:
    """Lines that are full of words that rules look for, none like another."""
    chance = random.Random(6)
    words = ("".join(chance.choices("qwzvk", k=7)) for _ in range(max(1, 40_000 // size)))
    return "".join(f"{word} {unit * (size // len(unit))}{word}{end}" for word in words).encode()


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize(
    ("size", "end"), [(100, "\n"), (500, "\n"), (4_000, "\n"), (20_000, "\n"), (1_000, "\r"), (400_000, "")]
)  # fmt: skip
def test_no_feed_gives_the_rules_more_than_they_can_look_at_in_a_moment(
    unit: str, size: int, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = 0
    real = Classifier.decide

    def counted(self: Classifier, text: str, candidates: tuple[int, ...]) -> object:
        nonlocal looked
        looked += len(text)
        assert len(text) <= 5_120
        return real(self, text, candidates)

    monkeypatch.setattr(Classifier, "decide", counted)
    data, reader, appetite = _hostile(unit, size, end), LogReader(), Appetite()
    total = 0
    while data:
        upto = appetite.mouthful(data[:LARGEST])
        reader.feed(data[:upto])
        data = data[upto:]
        assert looked <= 20_480, upto
        total += looked
        looked = 0
    assert end or total < 60_000  # of a line without end ever less


@pytest.mark.parametrize("at", [3_000, 9_000, 40_000, 200_000, 390_000])
def test_an_alarm_among_many_lesser_words_is_found(at: int) -> None:
    reader = LogReader()
    noise = "Error: 1 samples/s failed to load: "
    text = (noise * 12_000)[:400_000]
    text = f"{text[:at]} torch.OutOfMemoryError: CUDA out of memory. {text[at:]}\n"
    for start in range(0, len(text), 16_000):
        lines = reader.feed(text[start : start + 16_000].encode())
    assert lines[0].mark.label == "gpu_oom"
    assert lines[0].mark.alarm
