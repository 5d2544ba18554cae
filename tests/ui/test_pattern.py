"""A person's regular expression: read as meant, and never able to freeze the screen."""

from __future__ import annotations

import re
import subprocess
import warnings

import pytest
import regex
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpu_tui.core.logs import LogLine
from gpu_tui.state.log_document import LogDocument
from gpu_tui.state.logbuffer import LogBuffer
from gpu_tui.ui.text.filters import Filter, FilterError
from gpu_tui.ui.text.pattern import Look, PatternError, TooSlow, compiled, extended
from gpu_tui.ui.widgets import sieve
from gpu_tui.ui.widgets.sieve import FEW
from screenshots.builders import BENIGN

SLOW = [  # with a line that nearly fits
    ("(a+)+$", "a" * 5_000 + "!"),
    ("(a|aa)+$", "a" * 5_000 + "!"),
    ("(x+x+)+y", "x" * 16_000),
    ("(?>(a+)+b)", "a" * 16_000),
    ("(?R)", "a"),
]
FINE = [
    "loss",
    r"loss [\d.]+",
    r"epoch +\d+/\d+",
    r"(\w+)=(\d+)",
    "nan.*step.*lr",
    ".*nan.*",
    "^step 1[0-9]* ",
    r"\bnan\b",
    "error|warn(ing)?",
    "(foo|bar)+x",
    r"\[rank\d+\]:",
    "a{2,5}b",
    "中文.*显存",
    r"https?://\S+",
    r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}:\d{2,5}",
    r"\d{1,2}/\d{1,2}/\d{2,4} \d{1,2}:\d{1,2}(:\d{1,2})?",
    "(nan|inf|oom).*(loss|grad|norm|step)",
    "{x}?step {i}|loss",
]


def found(pattern: str, text: str) -> bool:
    return Look().finds(compiled(pattern), text)


@pytest.mark.parametrize(("pattern", "line"), SLOW)
def test_one_look_ends_in_time(pattern: str, line: str) -> None:
    with pytest.raises(TooSlow):
        found(pattern, line)


def test_all_texts_of_a_look_share_its_time() -> None:
    fits = Filter("/(a+)+$/")
    line = "a" * 14 + "!"
    assert not fits.keeps(line)
    judged = []
    assert fits.select(range(10_000), lambda n: judged.append(n) or line) == [*range(10_000)]
    assert fits.slow
    assert 1 < len(judged) < 10_000
    assert not fits.select([], str)
    fits.select(range(9), lambda n: judged.append(-1) or line)
    assert -1 not in judged, "a pattern that was too slow is not tried again"


def test_words_have_no_time_limit() -> None:
    fits = Filter("loss !nan")
    assert fits.select(["loss 1", "loss nan", "lr"], str) == ["loss 1"]
    assert not fits.slow


class Steps(Look):
    """Its time is counted in searches."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def finds(self, pattern: regex.Pattern[str], text: str) -> bool:
        self._most -= 1
        if self._most < 0:
            raise TooSlow
        return super().finds(pattern, text)


@pytest.mark.parametrize(("searches", "gives_up"), [(FEW, False), (FEW - 1, True)])
def test_a_log_is_judged_in_smaller_looks_before_it_is_given_up(
    monkeypatch: pytest.MonkeyPatch, searches: int, gives_up: bool
) -> None:
    monkeypatch.setattr(sieve, "Look", lambda: Steps(searches))
    buffer = LogBuffer(2_000)
    buffer.extend(LogLine(f"loss {n}", BENIGN) for n in range(500))
    work = sieve.Sieve(LogDocument(buffer, reach=False), Filter("/loss/"))
    while work.work():
        assert not work.gave_up
    assert work.gave_up is gives_up
    assert (work.count, work.share) == ((0, 0.0) if gives_up else (500, 1.0))
    buffer.extend(LogLine(f"loss {n}", BENIGN) for n in range(500))
    while work.work():
        pass
    assert work.count == (0 if gives_up else 1_000)


def test_what_was_found_before_it_was_given_up_stays() -> None:
    buffer = LogBuffer(2_000)
    hostile = ["a" * 5_000 + "!"]
    texts = ["aaa"] * 100 + hostile + ["aaa"] * 100
    buffer.extend(LogLine(text, BENIGN) for text in texts)
    work = sieve.Sieve(LogDocument(buffer, reach=False), Filter("/^(a+)+$/"))
    for _ in range(3):
        while work.work():
            pass
    assert work.gave_up
    assert 100 - FEW < work.count <= 100
    assert 0 < work.share < 1


@pytest.mark.parametrize("pattern", FINE)
def test_common_patterns_mean_the_same_as_in_python(pattern: str) -> None:
    for text in [
        "epoch  3/20 loss 0.25 lr=3",
        "loss NaN at step 4 lr 1",
        "[rank3]: RuntimeError: x",
        "step 12 foobarx aab",
        "warning https://example.org/a 中文 显存 不足",
        "",
    ]:
        assert found(pattern, text) is (re.search(pattern, text, re.IGNORECASE) is not None)


PIECES = st.sampled_from([*"ab.x1{}|,[]", r"\d", ".*", ".*?", "a+", "b?", "a{2}", "{,3}", "{e}", "{i<=2}", "[^{]", "(?:", ")"])  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(st.lists(PIECES, min_size=1, max_size=8), st.text("ab1x{e}", max_size=30))
def test_braces_that_are_no_repeat_are_text(pieces: list[str], text: str) -> None:
    pattern = "".join(pieces)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            expected = re.search(pattern, text, re.IGNORECASE) is not None
        except (re.error, FutureWarning):
            assume(False)
    assert found(pattern, text) is expected


@pytest.mark.parametrize("pattern", [p for p in FINE if r"\b" not in p])
def test_grep_finds_the_same(pattern: str) -> None:
    texts = [
        "epoch  3/20 loss 0.25",
        "loss NaN at step 4 lr 1",
        "[rank3]: x",
        "step 12 foobarx aab",
    ]
    done = subprocess.run(
        ["grep", "-i", "-E", "-e", extended(pattern)],
        input="\n".join(texts), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.splitlines() == [text for text in texts if found(pattern, text)]


@pytest.mark.parametrize(
    "pattern",
    [
        r"\bnan\b",
        "(?i)nan",
        r"[\b]",
        r"(a)\1",
        "(?=a)b",
        "(?>a)b",
        "a++b",
        "a{2}+b",
        "(*FAIL)",
        r"\p{L}",
    ],
)
def test_what_grep_cannot_say_is_said(pattern: str) -> None:
    with pytest.raises(PatternError, match="grep does not know"):
        extended(pattern)


def test_the_longest_word_is_known_beforehand() -> None:
    assert Filter("Loss !verylongword /anything/ nan").word == b"loss"
    assert Filter("中文 tag:x").word == b""


@pytest.mark.parametrize("pattern", ["(", "[", "a" * 401, "(?P<n>a)(?P<n", "*"])
def test_a_wrong_pattern_is_said(pattern: str) -> None:
    with pytest.raises(FilterError, match=r"not a regular expression|longer than 400 characters"):
        Filter(f"/{pattern}/")
