"""Patterns of rules: which of them ask for certain digits, and searches that take too much room or too many steps."""

from __future__ import annotations

import pcre2
import pytest

from gpu_tui.parse.triage.classify import Classifier
from gpu_tui.parse.triage.rule import LazyPattern, any_of
from gpu_tui.parse.triage.rule_file import parse_rules
from gpu_tui.parse.triage.rule_set import RuleSet

RULE = """\
[[rule]]
id = "a"
label = "network"
severity = "fatal"
literals = ["lost"]
pattern = '''{}'''
"""
CALM = """\
[[rule]]
id = "calm"
label = "benign"
severity = "none"
pattern = '''port 7\\b'''
"""
# Pattern, a line that overflows the stack of its machine code or takes it too many steps.
DEEP = r"lost (?:(\w)|(\d))*[!?]", "lost " + "ab1" * 1_300
LONG = r"lost (?:a|aa)+[!?]", "lost " + "a" * 60


def judge(text: str) -> Classifier:
    return Classifier(RuleSet(parse_rules(text, "rules.toml").rules, weak_file=""))


@pytest.mark.parametrize(
    "pattern",
    [
        r"lost 7\b", r"lost [1-9]", r"(?P<n>\d) lost (?P=n)", r"(?P<n>\d) lost \k<n>", r"(\d) lost \1",
        r"lost (?=code1)", r"lost \x37", r"lost 0-9", r"lost \{7\}",
    ],
)  # fmt: skip
def test_a_pattern_that_asks_for_certain_digits_says_so(pattern: str) -> None:
    assert LazyPattern(pattern, pattern).names_digits


@pytest.mark.parametrize(
    "pattern",
    [r"lost \d{1,3}", r"lost [a-z0-9_]", r"lost [^0-9.]", r"(?P<n1>a)lost", r"\blost\b", "lost \\x41", r"lost 0x[\da-f]+"],
)  # fmt: skip
def test_one_that_means_any_digit_says_so(pattern: str) -> None:
    assert not LazyPattern(pattern, pattern).names_digits


def test_a_mark_is_not_remembered_where_a_calm_rule_asks_for_certain_digits() -> None:
    one = judge(CALM + RULE.format("lost"))
    marks = [one.cause(f"lost port {n}") for n in (7, 8, 7)]
    assert [mark and mark.alarm for mark in marks] == [False, True, False]


@pytest.mark.parametrize(("pattern", "line"), [DEEP, LONG])
def test_a_search_that_takes_too_much_ends_without_an_error(pattern: str, line: str) -> None:
    with pytest.raises(pcre2.LibraryError):
        LazyPattern(pattern, pattern).search(line)
    one = judge(RULE.format(pattern))
    assert one.cause(line) is None
    mark = one.cause("lost a!")
    assert mark is not None
    assert mark.alarm
    assert any_of([LazyPattern(pattern, pattern)])(line)


def test_a_search_that_needs_a_larger_stack_still_finds() -> None:
    pattern, line = r"lost (?:(\w)|-)*!", "lost " + "ab1" * 1_300 + "!"
    with pytest.raises(pcre2.LibraryError):
        LazyPattern(pattern, pattern).search(line)
    mark = judge(RULE.format(pattern)).cause(line)
    assert mark is not None
    assert mark.alarm
