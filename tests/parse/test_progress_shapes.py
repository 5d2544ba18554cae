"""A line is read alike whether or not one that differs in its digits only was read before it."""

from __future__ import annotations

import random
import re
from itertools import islice

import pytest
from bench import log_mix
from hypothesis import given, settings
from hypothesis import strategies as st
from marked_lines import MARKED
from test_progress_lines import REPORTS

from gpu_tui.parse import (
    progress_bars,
    progress_forms,
    progress_names,
    progress_rich,
    progress_transfers,
    progress_words,
)
from gpu_tui.parse.progress import parse_progress, read_line
from gpu_tui.parse.progress_shapes import shape_key
from gpu_tui.parse.triage_digits import blind_to_digits

LINES = [
    *(line for line, _ in REPORTS),
    *(line for lines in MARKED.values() for line in lines),
    *islice(log_mix.lines(11), 300),
    "9: 1.234, 1.345 avg loss, 0.001 rate, 3.2 seconds, 576 images",
    "01/02 INFO loss: 0.5, 3/20", "01/02 INFO loss: 0.5, 30/20", "step 1000.0 loss 0.1", "lr_0: 0.1 lr_1: 0.2 loss: 3",
    "ten\nlines step 3", "| total_timesteps | 3584 |", "12/12 ━━━━━━━━━━━━━ 3s 25ms/step - loss: 0.4", "steps per second: 1.2 step 4",
    "loss: 1e5 step 4", "prec@1 45.0 prec@5 77.0 epoch 4", "tps: 1,234 loss 0,123 step 1,200/3,000",
]  # fmt: skip
# What these tell apart is no digit, but a word that stands twice; or it is asked only where nothing is sure.
SEEING = {"progress_forms.DARKNET", "progress_words._DECIMAL_COMMA"}


def full(line: str) -> str:
    """Read by itself. As text, for a NaN equals nothing."""
    draft = read_line(line)
    return repr(draft.done() if draft is not None else None)


def with_digits(line: str, chance: random.Random, digits: str) -> str:
    return re.sub("[0-9]", lambda _: chance.choice(digits), line)


@pytest.mark.parametrize("digits", ["0123456789", "000012", "0", "9"])
def test_other_digits_are_read_as_if_by_themselves(digits: str) -> None:
    chance = random.Random(digits)
    for line in LINES:
        for other in (line, *(with_digits(line, chance, digits) for _ in range(2)), line):
            assert repr(parse_progress(other)) == full(other)


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(LINES), st.sampled_from(LINES), st.randoms(use_true_random=False))
def test_so_are_torn_and_glued_lines(one: str, other: str, chance: random.Random) -> None:
    line = one[chance.randrange(len(one) + 1) :] + other[: chance.randrange(len(other) + 1)]
    for _ in range(4):
        assert repr(parse_progress(line)) == full(line)
        line = with_digits(line, chance, chance.choice(["0123456789", "0001", "19"]))


def test_the_patterns_tell_no_digits_apart() -> None:
    modules = (
        progress_bars,
        progress_forms,
        progress_names,
        progress_rich,
        progress_transfers,
        progress_words,
    )
    seeing = {
        f"{module.__name__.rpartition('.')[2]}.{name}"
        for module in modules
        for name, pattern in vars(module).items()
        if isinstance(pattern, re.Pattern) and not blind_to_digits(pattern)
    }
    assert seeing == SEEING
    twice = [p.pattern for _, p in progress_transfers.FORMS if not blind_to_digits(p)]
    assert all("(?P=unit)" in pattern for pattern in twice)


def test_shapes_are_few() -> None:
    assert shape_key("step 12/500 loss 0.25") == shape_key("step 99/731 loss 0.01")
    assert shape_key("step 12/500 loss 0.25") != shape_key("step 12/500 loss 0.00")
    assert shape_key("x" * 2_000) is None
