"""YAML has one meaning here: the traps, one row each, and the places that errors point to."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.parse.yaml_strict import LARGEST_BYTES, SourceError, did_you_mean, load

TRAPS = [
    # what a person wrote, what a common reader makes of it
    ("1:30", 90),
    ("24:00:00", 86_400),
    ("190:20:30", 685_230),
    ("-1:30", -90),
    ("22:22", 1342),
    ("022", 18),
    ("0o17", "0o17"),
    ("0x1F", 31),
    ("0b101", 5),
    ("1_000", 1000),
    ("+12", 12),
    ("1.", 1.0),
    (".5", 0.5),
    ("1e5", "1e5"),
    ("1.5e+3", 1500.0),
    (".inf", float("inf")),
    ("-.INF", float("-inf")),
    ("yes", True),
    ("No", False),
    ("on", True),
    ("OFF", False),
    ("True", True),
    ("y", "y"),
    ("NULL", None),
    ("2026-06-01", None),
    ("2026-6-1 10:00:00", None),
    ("=", "="),
    ("190_000.25", 190_000.25),
    ("1:30.5", 90.5),
    ("n", "n"),
]


@pytest.mark.parametrize(("written", "taken_for"), TRAPS, ids=[row[0] for row in TRAPS])
def test_a_plain_value_that_readers_disagree_on_is_refused(written: str, taken_for: object) -> None:
    if taken_for is not None and written != "=":
        other = yaml.safe_load(f"key: {written}")["key"]
        assert other == taken_for  # the trap is real
    with pytest.raises(SourceError) as caught:
        load(f"a: 1\nkey: {written}\n", "fleet.yaml")
    assert (caught.value.line, caught.value.column) == (2, 6)
    assert "quotes" in str(caught.value.next)


@pytest.mark.parametrize("written", [row[0] for row in TRAPS])
def test_the_same_value_in_quotes_is_a_text(written: str) -> None:
    assert load(f'key: "{written}"', "f").plain() == {"key": written}


@pytest.mark.parametrize(
    ("text", "word", "line", "column"),
    [
        ("a: 1\nb: 2\na: 3\n", "second time", 3, 1),
        ("a: &x 1\nb: *x\n", "anchors", 1, 4),
        ("b: *x\n", "aliases", 1, 4),
        ("b: [*.pt]\n", "not valid YAML", 1, 6),
        ("a: {b: 1}\nc:\n  <<: {d: 1}\n", "merge", 3, 3),
        ("a: !!python/object/apply:os.system [ls]\n", "tags", 1, 4),
        ("a: !!str 1\n", "tags", 1, 4),
        ("a: 1\n---\nb: 2\n", "second document", 2, 1),
        ("a: [1, 2\n", "not valid YAML", 2, 1),
        ("a: 1\n\tb: 2\n", "not valid YAML", 2, 1),
        ("a: b: c\n", "not valid YAML", 1, 5),
        ("1: a\n", "a key must be a word", 1, 1),
        ("? [a]\n: b\n", "a key must be a word", 1, 3),
        ("a: \x07\n", "U+0007", 1, 4),
    ],
)
def test_what_is_refused_is_pointed_at(text: str, word: str, line: int, column: int) -> None:
    with pytest.raises(SourceError, match=word.replace("+", r"\+")) as caught:
        load(text, "fleet.yaml")
    assert (caught.value.file, caught.value.line, caught.value.column) == (
        "fleet.yaml",
        line,
        column,
    )
    assert str(caught.value).startswith(f"fleet.yaml:{line}:{column}: ")


def test_plain_words_mean_what_they_say() -> None:
    text = "a: true\nb: null\nc: -12\nd: 2.08\ne: 2.08 CNY\nf: 15m\ng: ~\nh:\ni: [x, 关机]\n"
    assert load(text, "f").plain() == {
        "a": True, "b": None, "c": -12, "d": 2.08, "e": "2.08 CNY", "f": "15m",
        "g": None, "h": None, "i": ["x", "关机"],
    }  # fmt: skip


def test_an_empty_file_is_null() -> None:
    assert load("", "f").value is None
    assert load("# only a comment\n", "f").value is None


def test_nesting_and_size_are_bounded() -> None:
    with pytest.raises(SourceError, match="nested deeper"):
        load("[" * 40 + "]" * 40, "f")
    with pytest.raises(SourceError, match="nested deeper"):
        load("[" * 30_000, "f")
    with pytest.raises(SourceError, match=r"512\.0 KiB"):
        load("a: " + "x" * LARGEST_BYTES, "f")


def test_first_line_moves_every_place() -> None:
    node = load("a:\n  b: 1\n", "p.md", first_line=10)
    inner = node.value["a"]
    assert (inner.line, inner.keys["b"].line) == (11, 11)
    with pytest.raises(SourceError) as caught:
        load("a: 1\na: 2\n", "p.md", first_line=10)
    assert caught.value.line == 11


def test_did_you_mean_needs_a_near_word() -> None:
    assert did_you_mean("platfrom", ["platform", "poll"]) == 'Did you mean "platform"?'
    assert did_you_mean("zzz", ["platform", "poll"]) is None


def read(text: str) -> object:
    """The plain value, or the error that refused it."""
    try:
        return load(text, "f").plain()
    except SourceError as error:
        return error


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_with_a_source_error(text: str) -> None:
    value = read(text)
    assert not isinstance(value, SourceError) or value.text


WORDS = st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=20)
SCALARS = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | WORDS


@given(st.dictionaries(st.text("abcx", min_size=1), SCALARS | st.lists(SCALARS, max_size=4)))
def test_what_a_common_writer_writes_is_read_back(value: dict[str, object]) -> None:
    back = read(yaml.safe_dump(value, allow_unicode=True, default_flow_style=False))
    # PyYAML leaves words such as 1e5 bare: the one thing that may be refused here.
    assert back == value or "without quotes" in str(back)


def test_a_tab_is_answered_with_spaces() -> None:
    with pytest.raises(SourceError) as caught:
        load("a: 1\n\tb: 2\n", "f.yaml")
    assert "spaces" in (caught.value.next or "")
