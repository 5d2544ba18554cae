"""One module writes all durations, sizes and amounts: what they hold at their edges, and that nothing else writes any."""

from __future__ import annotations

import ast
import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import gpu_tui
from gpu_tui.core import units
from gpu_tui.language import speak_in

PACKAGE = Path(gpu_tui.__file__).parent
SECONDS = st.floats() | st.integers(-(10**400), 10**400) | st.floats(-1e4, 1e6)
NUMBERS = st.floats() | st.integers(-(10**400), 10**400)
WRITERS: list[Callable[[float | None], str]] = [
    units.age, units.span, units.words, units.spoken, units.size, units.short_size, units.rate,
    units.percent, units.count, units.hertz, lambda amount: units.money(amount, "USD"),
    lambda amount: units.money(amount, "SEK", at_least=True),
]  # fmt: skip


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, 10**400])
def test_what_is_unknown_is_a_question_mark_and_never_zero(
    write: Callable[[float | None], str], value: float | None
) -> None:
    assert write(value).removesuffix("/s") == units.UNKNOWN


@given(SECONDS)
@example(999 * 86400.0 + 86399)
@example(-99 * 86400.0 - 86399)
def test_durations_fit_their_columns(seconds: float) -> None:
    sign = 1 if seconds <= -1 else 0
    assert len(units.age(seconds)) <= 4 + sign
    for fine in (True, False):
        assert len(units.span(seconds, fine=fine)) <= 7 + sign


@given(st.integers(0, 98 * 365 * 86400))
def test_the_column_and_the_sentence_give_the_same_duration(seconds: int) -> None:
    """A screen and a mail that disagree by rounding look like two states."""
    names = {"years": "y", "days": "d", "day": "d", "min": "m"}
    for fine in (True, False):
        parts = re.findall(r"([0-9]+) ([a-z]+)", units.words(seconds, fine=fine))
        column = " ".join(f"{number}{names.get(unit, unit)}" for number, unit in parts)
        assert column == units.span(seconds, fine=fine)
        assert column.split(" ")[0] == units.age(seconds)


@given(st.integers(0, 999 * 86400), st.booleans())
def test_a_duration_is_never_more_than_it_was(seconds: int, fine: bool) -> None:
    scale = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    parts = units.span(seconds, fine=fine).split(" ")
    shown = sum(int(part[:-1]) * scale[part[-1]] for part in parts)
    assert shown <= seconds < shown + scale[parts[-1][-1]] * 60


@pytest.mark.parametrize(
    ("seconds", "english", "chinese"),
    [
        (45, "45 s", "45 秒"),
        (90, "1 min 30 s", "1 分 30 秒"),
        (125, "2 min", "2 分"),
        (7500, "2 h 05 min", "2 小时 05 分"),
        (86400, "1 day", "1 天"),
        (15 * 86400 + 3600, "15 days 1 h", "15 天 1 小时"),
        (1200 * 86400, "3 years", "3 年"),
        (1e12, "99+ years", "99+ 年"),
        (-300, "-5 min", "-5 分"),
    ],
)
def test_a_duration_in_a_sentence(seconds: float, english: str, chinese: str) -> None:
    assert units.words(seconds) == units.spoken(seconds) == english
    speak_in("zh")
    try:
        assert (units.words(seconds), units.spoken(seconds)) == (english, chinese)
    finally:
        speak_in("en")


@given(st.floats(min_value=5e-324, max_value=1e300), st.sampled_from(["CNY", "SEK", None]))
@example(0.004, "USD")
@example(0.0004, "USD")
def test_no_cost_is_hidden_by_rounding(amount: float, currency: str | None) -> None:
    digits = re.search(r"[0-9][0-9,.e+]*", units.money(amount, currency))
    assert digits
    assert float(digits[0].replace(",", "")) > 0
    assert units.money(-amount, currency) != units.money(amount, currency)


@given(st.floats(0.01, 1e8))
def test_a_lower_bound_is_not_above_what_is_known(amount: float) -> None:
    shown = units.money(amount, "USD", at_least=True)
    assert shown.startswith("≥$")
    assert float(shown[2:].replace(",", "")) <= amount + 1e-6


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (units.money(0.0345, "USD"), "$0.035"),
        (units.money(0.004, "CNY"), "¥0.004"),
        (units.money(0.0004, "CNY"), "<¥0.001"),
        (units.money(0.0, "CNY"), "¥0.00"),
        (units.money(-3.2, "SEK"), "-3.20 SEK"),
        (units.money(0.129, "CNY", at_least=True), "≥¥0.12"),
        (units.money(0.004, "CNY", at_least=True), "?"),
        (units.size(0), "0 B"),
        (units.size(1), "1 B"),
        (units.size(1536), "1.5 KiB"),
        (units.rate(83 << 20), "83.0 MiB/s"),
        (units.short_size(100_000), "97.7K"),
        (units.count(999_950), "1.0M"),
        (units.position(750), "12:30"),
        (units.position(3900), "1:05:00"),
    ],
)
def test_forms(got: str, expected: str) -> None:
    assert got == expected


@given(st.integers(0, 1 << 70))
@example((1 << 20) - 500)
def test_an_offset_fits_six_cells(count: int) -> None:
    assert len(units.short_size(count)) <= 6


def test_nothing_else_turns_seconds_bytes_or_money_into_text() -> None:
    """A fraction of a duration or a size in a replacement field is a formatter of its own."""
    allowed = {
        "core/units.py",
        "state/calendar.py",  # RFC 5545 has durations of its own
        "teardown/reader/text_file.py",  # in a jail no module can be imported late
    }
    own = re.compile(r"(?://?|%|>>) ?(?:3_?600|60|86_?400|1024|20|30|1e[369]|2 ?\*\* ?[123]0)\b")
    found = []
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        text = path.read_text("utf-8")
        if name.startswith("demo/") or name in allowed:
            continue  # the demo writes what its boxes' own programs write
        assert "import humanize" not in text, name
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FormattedValue):
                source = ast.unparse(node.value)
                if own.search(source):
                    found.append(f"{name}: {source}")
    assert not found


def test_humanize_is_imported_at_first_use() -> None:
    program = "import sys; from gpu_tui.core import units; units.words(5); print('humanize' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
