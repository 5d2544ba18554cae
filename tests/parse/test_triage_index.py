"""What the index leaves out cannot fit: it is held against every row of every table."""

from __future__ import annotations

import json
import os
import random
import string
from functools import cache
from itertools import islice
from pathlib import Path

import pytest
from bench import log_mix
from hypothesis import given, settings
from hypothesis import strategies as st
from test_flood import BITS, QUEUE, REAL, lines, old_cause

from gpu_tui.core.findings import Severity
from gpu_tui.parse.lines import unescape
from gpu_tui.parse.queue_log import FORMS, parse_queue_line
from gpu_tui.parse.triage import causes
from gpu_tui.parse.triage_dead_words import TROUBLE
from gpu_tui.parse.triage_digits import ways_that_see, widened
from gpu_tui.parse.triage_rows import Row, row_of
from gpu_tui.parse.triage_scan import QUEUE as QUEUE_ROW
from gpu_tui.parse.triage_scan import RULES, SHAPE, _index, _needed, kinds_of, skeleton
from gpu_tui.parse.triage_shapes import WARNED
from gpu_tui.parse.triage_words import needed_by

NIGHTLY = bool(os.environ.get("GPU_TUI_NIGHTLY"))
JUDGED = sorted(Path(__file__).parent.parent.glob("judgement/*.jsonl"))
_index()  # the tables are read at the first line


@cache
def rows() -> list[Row]:
    tables = [
        *((order, rule.pattern) for order, rule in enumerate(RULES)),
        (SHAPE, WARNED),
        *((QUEUE_ROW, form) for form in FORMS),
    ]
    return [
        row_of(order, needed)
        for order, pattern in tables
        for needed in needed_by(pattern, wild=True)
    ]


def may_fit(bones: bytes) -> set[int]:
    """The orders whose rows may fit, each row asked by itself."""
    low = bones.lower()
    quiet = low.replace(b"info", b" ")
    torn = b"://" in low or any(word.encode() in quiet for word in TROUBLE)
    found = {row.order for row in rows() if row.may_fit(bones, low, torn)}
    return {order for order in found if order < 0 or _needed(order, quiet, torn)}


def indexed(bones: bytes) -> set[int]:
    """The same by way of the index."""
    low = bones.lower()
    quiet = low.replace(b"info", b" ")
    index = _index()
    some, torn = index.look(low, quiet)
    rows = index.rows
    found = {rows.orders[row] for row in some if rows.may_fit(row, bones, low, torn)}
    return {order for order in found if order < 0 or _needed(order, quiet, torn)}


def judged_lines(path: Path) -> list[str]:
    """The segments of all lines of a file. Of one that is for measuring only, no failure may show them."""
    rows = [json.loads(row)["line"] for row in path.read_text(encoding="utf-8").splitlines()]
    return [segment for line in rows for segment in line.replace("\n", "\r").split("\r")]


def random_line(dice: random.Random) -> str:
    """Words of the rules, of the mix and of nobody, glued or apart."""
    words = [word for rule in dice.sample(RULES, 3) for word in rule.needs]
    words += [*log_mix.WORDS[:20], *BITS, "info", "://", "http://x"]
    words += ["".join(dice.choices(string.ascii_letters, k=dice.randrange(1, 9))) for _ in range(9)]
    parts = [dice.choice(words) + dice.choice(["", " ", " ", ": ", "_", "7"]) for _ in range(12)]
    return "".join(parts).replace("\n", " ")


DICE = random.Random(17)
FRESH = [random_line(DICE) for _ in range(600)]
BETWEEN = [
    "'",
    " ",
    "\u2019",
    "7",
    "",
    "\t",
    "\x07",
    "\x01\x02\x03",
    "\u200b\u200b",
    "\x9d",
    "\x1b[1m",
    "\u202e\x7f",
]
SEAMS = [
    f"{word}{between}t open the file"
    for word in ("can", "couldn", "Error: can")
    for between in BETWEEN
]
HOSTILE = [
    "error" * 3_000, "e" * 16_000, "".join(DICE.choices(string.ascii_lowercase, k=16_000)), "can" * 2_000 + "t",
    "infoinf" * 900, "nan info " * 900, "\u6740 killed " * 400, "http://a\u00e9 url error " * 300, "_error_ " * 500,
]  # fmt: skip


def some_of(source: list[str], most: int) -> list[str]:
    """All of them at night."""
    if NIGHTLY or len(source) <= most:
        return source
    return random.Random(len(source)).sample(source, most)


def check_index(source: list[str], most: int = 6) -> None:
    some = random.Random(len(source)).sample(source, min(len(source), 40 if NIGHTLY else most))
    bones = [skeleton(unescape(line.encode("utf-8", "replace"))[0]) for line in some]
    assert sum(one is not None and indexed(one) != may_fit(one) for one in bones) == 0


@pytest.mark.nightly
@pytest.mark.parametrize(
    "source",
    [REAL + QUEUE, BITS, list(islice(log_mix.lines(23), 400)), FRESH, SEAMS, HOSTILE],
    ids=["real", "bits", "mix", "fresh", "seams", "hostile"],
)
def test_the_index_leaves_out_no_row_that_may_fit(source: list[str]) -> None:
    check_index(source)


@pytest.mark.nightly
@pytest.mark.parametrize("path", JUDGED, ids=[path.stem for path in JUDGED])
def test_nor_of_a_labelled_line(path: Path) -> None:
    check_index(judged_lines(path), most=5)


@pytest.mark.nightly
@settings(deadline=None, max_examples=60 if NIGHTLY else 6)
@given(st.one_of(lines(), st.text(max_size=60)))
def test_nor_of_a_line_that_nobody_wrote(line: str) -> None:
    bones = skeleton(unescape(line.encode("utf-8", "replace"))[0])
    assert bones is None or indexed(bones) == may_fit(bones)


def check_marks(source: list[str]) -> None:
    raw = [line.encode("utf-8", "replace") for line in source]
    kinds = kinds_of(raw)
    texts = [unescape(line)[0] for line in raw]
    marks = [old_cause(text) for text in texts]
    found = causes(raw, kinds)
    assert [n for n, mark in enumerate(marks) if found[n] != mark] == []
    for text, mark, kind in zip(texts, marks, kinds, strict=True):
        assert kind.loud or mark is None or mark.severity is Severity.NONE
        assert kind.queue or parse_queue_line(text) is None


@pytest.mark.nightly
@pytest.mark.parametrize("path", JUDGED, ids=[path.stem for path in JUDGED])
def test_every_labelled_line_is_judged_among_others_as_alone(path: Path) -> None:
    check_marks(some_of(judged_lines(path), 250))


@pytest.mark.nightly
@pytest.mark.parametrize(
    "source",
    [some_of(list(islice(log_mix.lines(29), 1_500)), 500), some_of(FRESH, 300), SEAMS, HOSTILE],
    ids=["mix", "fresh", "seams", "hostile"],
)
def test_other_lines_are_judged_among_others_as_alone(source: list[str]) -> None:
    check_marks(source)


def test_trouble_is_told_by_letters() -> None:
    """The index looks for these inside of words."""
    assert all(word.isascii() and word.isalpha() for word in TROUBLE)


@pytest.mark.nightly
def test_a_wide_pattern_fits_where_the_narrow_one_does() -> None:
    dice = random.Random(31)
    narrow = [rule.pattern for rule in RULES if ways_that_see(rule.pattern)]
    wide = [widened(pattern) for pattern in narrow]
    assert sum(one is not None for one in wide) > len(narrow) - 3
    assert not any(
        one is not None and one.search("step 5/9 loss 0.5 nan iterations: 0") for one in wide
    )
    texts = [line for path in JUDGED for line in judged_lines(path)] + REAL
    fitted = 0
    for pattern, one in zip(narrow, wide, strict=True):
        for text in filter(pattern.search, dice.sample(texts, 1_000 if NIGHTLY else 300)):
            other = "".join(dice.choice("0123456789") if c in "123456789" else c for c in text)
            assert one is None or one.search(text)
            assert one is None or not pattern.search(other) or one.search(text)
            fitted += 1
    assert fitted > 20
