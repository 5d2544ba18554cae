"""Paths as words of a sh program."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_tui.collect.shell import quote_path, quote_pattern, terse


def echoed(word: str) -> bytes:
    program = f"printf '<%s>' {word}\n"
    done = subprocess.run(
        ["dash", "-s"],
        input=program.encode(),
        env={"HOME": "/ho me"},
        capture_output=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/a/b c", "/a/b c"),
        ("~", "/ho me"),
        ("~/", "/ho me/"),
        ("~/x'y", "/ho me/x'y"),
        ("~user/x", "~user/x"),
        ("/$HOME/`id`", "/$HOME/`id`"),
        ("-rf", "-rf"),
    ],
)
def test_a_path_is_one_literal_word(path: str, said: str):
    assert echoed(quote_path(path)) == f"<{said}>".encode()


@settings(max_examples=25, deadline=None)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_any_path_is_one_literal_word(path):
    assert echoed(quote_path("/" + path)) == f"</{path}>".encode()


def test_only_the_cell_is_a_pattern(tmp_path):
    for name in ("a b.log", "c.log", "c.txt"):
        (tmp_path / name).touch()
    assert echoed(quote_pattern(f"{tmp_path}/{{cell}}.log")) == (
        f"<{tmp_path}/a b.log><{tmp_path}/c.log>".encode()
    )
    assert echoed(quote_pattern(f"{tmp_path}/*.log")) == f"<{tmp_path}/*.log>".encode()


PROGRAM = r"""
# What is said.
say() {
    newline='
'
    # Twice.
    printf '%s#%s' "$1" \
        "$newline" # and its end
}
    say a

say ' b'
"""


def test_a_program_without_its_layout_does_the_same() -> None:
    short = terse(PROGRAM)
    said = [
        subprocess.run(["dash", "-s"], input=text.encode(), capture_output=True, check=True).stdout
        for text in (PROGRAM, short)
    ]
    assert said == [b"a#\n b#\n"] * 2
    assert "Twice" not in short
    assert "    " not in short
    assert "\n\n" not in short
