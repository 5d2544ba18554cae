"""Foreign bytes: what leaves is safe, whatever came, however it was cut."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from gpu_tui.core.logs import Span
from gpu_tui.parse.lines import (
    PIECE_CAP,
    PIECE_OVERLAP,
    TEXT_CAP,
    End,
    LineSplitter,
    Piece,
    clean,
    sanitize,
)

ESCAPES = [
    b"\x1b[31m", b"\x1b[0m", b"\x1b[1;4;38;5;200m", b"\x1b[48;2;1;2;3m", b"\x1b[38;5m", b"\x1b[", b"\x1b", b"\x1bc",
    b"\x1b]0;title\x07", b"\x1b]52;c;Y3VybA==\x1b\\", b"\x1b]8;;http://x\x1b\\", b"\x1bP+q\x1b\\", b"\x1b_x", b"\xc2\x9b31m",
    b"\x9b5n", b"\x1b[c", b"\x1b[6n", b"\x1b[>q", b"\x1b[18t", b"\x1b(0", b"\x0e", b"\x0f", b"\x00", b"\x7f", b"\x07", b"\x08",
    b"\xe2\x80\xae", b"\xe2\x80\x8b", b"\xe2\x80\xa8", b"\xc2\x85", b"\xef\xb8\x8f", b"\xf3\xa0\x81\x81", b"\xff", b"\xed\xa0\x80",
    b"\t", b"\x0b", b"\x0c", b"text", b"[/nope]", "文".encode(), "⚠️".encode(),
]  # fmt: skip
soup = st.lists(st.one_of(st.sampled_from(ESCAPES), st.binary(max_size=8)), max_size=40).map(
    b"".join
)


def is_safe(text: str) -> bool:
    return not any(
        unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") or "\ufe00" <= char <= "\ufe0f"
        for char in text
    )


@given(soup)
def test_nothing_dangerous_leaves(raw: bytes) -> None:
    text, spans = sanitize(raw)
    assert is_safe(text)
    for span in spans:
        assert 0 <= span.start < span.end <= len(text)
        Style.parse(span.style)


@given(soup)
def test_every_prefix_is_safe(raw: bytes) -> None:
    for end in range(0, len(raw), 3):
        assert is_safe(sanitize(raw[:end])[0])
        assert is_safe(sanitize(raw[end:])[0])


@given(st.text(max_size=400))
def test_clean_is_one_safe_line(text: str) -> None:
    assert is_safe(clean(text))
    assert len(clean(text)) <= 256
    assert clean(clean(text)) == clean(text)


FILLERS = "\u115f\u1160\u3164\uffa0"  # letters without a shape


@given(st.text(st.characters(categories=["L", "N", "P", "S"], exclude_characters=FILLERS)))
def test_plain_text_stays(text: str) -> None:
    assert sanitize(text.encode()) == (text, ())


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x1b]0;evil\x07ok", "ok"),
        (b"a\x1b[2Kb\x1b[Ac", "abc"),
        (b"\x1b]52;c;eGFi no end", "␛52;c;eGFi no end"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"torn \x1b[31", "torn "),
        (b"torn \x1b", "torn ␛"),
        (b"a\tb", "a       b"),
        (b"\x1b[1mab\tc", "ab      c"),
        (b"\x00\x00\x00x", "\ufffdx"),
        ("⚠️ hot".encode(), "⚠ hot"),
        ("\ufeffstart".encode(), "start"),
        (b"caf\xe9", "caf\ufffd"),
        ("ab\u202edc".encode(), "ab\ufffddc"),
        (b"[@click=app.quit]x[/]", "[@click=app.quit]x[/]"),
    ],
)
def test_what_is_shown(raw: bytes, text: str) -> None:
    assert sanitize(raw)[0] == text


@pytest.mark.parametrize(
    ("raw", "spans"),
    [
        (b"\x1b[31mred\x1b[0m", (Span(0, 3, "red"),)),
        (b"\x1b[1;97;44mx", (Span(0, 1, "bold bright_white on blue"),)),
        (b"\x1b[38;5;123mx\x1b[39my", (Span(0, 1, "color(123)"),)),
        (b"\x1b[38;2;1;2;3mx", (Span(0, 1, "rgb(1,2,3)"),)),
        (b"\x1b[38;5;999mx", ()),
        (b"\x1b[38;2;1;2;300mx", ()),
        (b"\x1b[8;5;73mhidden and blinking", ()),
        (b"\x1b[31ma\x1b[31mb", (Span(0, 2, "red"),)),
        (b"\x1b[99999999999999999999mx", ()),
    ],
)
def test_colours_become_our_words(raw: bytes, spans: tuple[Span, ...]) -> None:
    assert sanitize(raw)[1] == spans


def test_a_long_line_is_cut_and_counted() -> None:
    text, spans = sanitize(b"\x1b[31m" + b"x" * (TEXT_CAP + 10), more=5)
    assert text == "x" * TEXT_CAP + "… (+15 bytes)"
    assert spans == (Span(0, TEXT_CAP, "red"),)


def _cut(raw: bytes, sizes: list[int]) -> list[bytes]:
    chunks, at = [], 0
    for size in sizes:
        chunks.append(raw[at : at + size])
        at += size
    return [*chunks, raw[at:]]


def _closed(chunks: list[bytes]) -> list[Piece]:
    splitter = LineSplitter()
    pieces = [piece for chunk in chunks for piece in splitter.feed(chunk)]
    return [piece for piece in [*pieces, *splitter.flush()] if piece.end is not End.OPEN]


@given(
    st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n", b"xyz"]), max_size=60).map(b"".join),
    st.lists(st.integers(1, 9), max_size=20),
)
def test_chunks_do_not_matter(raw: bytes, sizes: list[int]) -> None:
    assert _closed(_cut(raw, sizes)) == _closed([raw])


@given(st.integers(PIECE_CAP - 3, 3 * PIECE_CAP), st.integers(97, PIECE_CAP))
def test_an_endless_line_leaves_in_pieces_and_nothing_is_lost(length: int, size: int) -> None:
    raw = bytes(at % 241 + 14 for at in range(length))
    splitter = LineSplitter()
    pieces: list[Piece] = []
    for at in range(0, length, size):
        pieces += [
            piece for piece in splitter.feed(raw[at : at + size]) if piece.end is not End.OPEN
        ]
        assert len(splitter._rest) <= PIECE_CAP
    pieces += splitter.flush()
    assert b"".join(piece.raw[piece.repeated :] for piece in pieces) == raw
    assert all(len(piece.raw) <= PIECE_CAP for piece in pieces)
    assert all(piece.repeated == PIECE_OVERLAP for piece in pieces[1:])


def test_an_open_piece_is_said_again() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"ab") == [Piece(b"ab", End.OPEN)]
    assert splitter.feed(b"") == []
    assert splitter.feed(b"c\rd") == [Piece(b"abc", End.RETURN), Piece(b"d", End.OPEN)]
    assert splitter.flush() == [Piece(b"d", End.NEWLINE)]
    assert splitter.flush() == []
