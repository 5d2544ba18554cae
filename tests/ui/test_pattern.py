"""What a person types as a regular expression: read as meant, and never able to freeze the screen."""

from __future__ import annotations

import re
import subprocess

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpu_tui.ui.text.filters import Filter, FilterError
from gpu_tui.ui.text.pattern import PatternError, extended, search_of

SLOW = [
    "(a+)+b",
    "(a*)*b",
    "(a|aa)+b",
    "(a|b?)+c",
    "a*a*b",
    r"\w+\d+x",
    "(.*)(.*)=x",
    "(x+x+)+y",
    "^(.+)+$",
    "(?:a?){40}a{40}",
    r"(a)\1",
    "(?=.*a)b",
    "(?<!a)b",
    "x" * 500,
    "a*b*a*c",
    "(ab|ab)*c",
    "a*b?a*c",
    "a*(b)?a*c",
    "(a.|ab)+c",
    "(a|aa){30}b",
    "(?>(a+)+b)",
    "(?>a*a*a*a*b)",
    "a{0,8}" * 6 + "b",
    "a?" * 30 + "a" * 30,
    "(?:a|a|aa)" * 12 + "b",
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
]


@pytest.mark.parametrize("pattern", SLOW)
def test_what_could_take_for_ever_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        search_of(pattern)
    with pytest.raises(FilterError):
        Filter(f"/{pattern}/")


@pytest.mark.parametrize("pattern", FINE)
def test_what_people_type_is_taken_and_finds_what_it_should(pattern: str) -> None:
    search = search_of(pattern)
    for text in [
        "epoch  3/20 loss 0.25 lr=3",
        "loss NaN at step 4 lr 1",
        "[rank3]: RuntimeError: x",
        "step 12 foobarx aab",
        "warning https://example.org/a 中文 显存 不足",
        "",
    ]:
        assert search(text) is (re.search(pattern, text, re.IGNORECASE) is not None)


PIECES = st.sampled_from(["a", "b", ".", "x", "[ab]", r"\d", ".*", ".*?", "a+", "b?", "a{2}", "|", "1"])  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(st.lists(PIECES, min_size=1, max_size=8), st.text("ab1x", max_size=30))
def test_taking_a_pattern_apart_changes_nothing_of_what_it_finds(pieces: list[str], text: str) -> None:  # fmt: skip
    pattern = "".join(pieces)
    try:
        search = search_of(pattern)
    except PatternError:
        assume(False)
        return
    assert search(text) is (re.search(pattern, text, re.IGNORECASE) is not None)


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
    search = search_of(pattern)
    assert done.stdout.splitlines() == [text for text in texts if search(text)]


@pytest.mark.parametrize("pattern", [r"\bnan\b", r"(?i)nan", r"[\b]"])
def test_what_grep_cannot_say_is_said(pattern: str) -> None:
    with pytest.raises(PatternError, match="grep does not know"):
        extended(pattern)


def test_the_longest_word_is_known_beforehand() -> None:
    assert Filter("Loss !verylongword /anything/ nan").word == b"loss"
    assert Filter("中文 tag:x").word == b""
