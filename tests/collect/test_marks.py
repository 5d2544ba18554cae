"""Marks in a stream of bytes: found whole wherever the chunks are cut, and nothing else touched."""

from __future__ import annotations

from time import thread_time

from hypothesis import given
from hypothesis import strategies as st

from gpu_tui.collect.marks import LONGEST, Mark, MarkReader

SIGN = b"\x1f0123456789abcdef"
# What looks like a sign in part is the hard case.
TEXT = st.lists(
    st.sampled_from(
        [b"loss 0.5\n", b"\x1f", b"\x1f01234", SIGN[:-1], b"\n", b"\r 10%|", b"\x00\xff"]
    )
).map(b"".join)
PART = st.one_of(
    TEXT,
    st.sampled_from([b" beat", b": '/x/my log': file truncated", b" open new 7 0 0 0 9"]).map(Mark),
)


def fed(data: bytes, cuts: list[int]) -> list[bytes | Mark]:
    reader, at, found = MarkReader(SIGN), 0, []
    for cut in [*sorted(c % (len(data) + 1) for c in cuts), len(data)]:
        found += reader.feed(data[at:cut])
        at = cut
    return found


def joined(parts: list[bytes | Mark]) -> list[bytes | Mark]:
    """Neighbouring texts as one."""
    out: list[bytes | Mark] = []
    for part in parts:
        if not isinstance(part, Mark) and out and not isinstance(out[-1], Mark):
            out[-1] += part
        elif part or isinstance(part, Mark):
            out.append(part)
    return out


@given(st.lists(PART), st.lists(st.integers(0, 10_000)))
def test_any_chunks_give_the_same_text_and_marks(parts: list[bytes], cuts: list[int]) -> None:
    parts = [*joined(parts), Mark(b" end")]  # behind the last mark nothing is held back
    data = b"".join(SIGN + p + b"\n" if isinstance(p, Mark) else p for p in parts)
    found = joined(fed(data, cuts))
    assert found == parts
    assert [isinstance(p, Mark) for p in found] == [isinstance(p, Mark) for p in parts]


@given(st.integers(0, 40), st.lists(st.integers(0, 10_000)))
def test_a_mark_written_into_another_is_taken_out_of_it(at: int, cuts: list[int]) -> None:
    outer, inner = SIGN + b": /var/log/train.log: file truncated\n", SIGN + b" beat\n"
    at = len(SIGN) + at % (len(outer) - len(SIGN))  # each write is whole, so is the sign
    found = joined(fed(b"old" + outer[:at] + inner + outer[at:] + b"new", cuts))
    marks = [part for part in found if isinstance(part, Mark)]
    assert marks == [b" beat", b": /var/log/train.log: file truncated"]
    assert b"".join(part for part in found if not isinstance(part, Mark)) == b"oldnew"


def test_what_only_begins_like_a_mark_is_text_and_does_not_pile_up() -> None:
    reader = MarkReader(SIGN)
    assert reader.feed(b"loss 0.5" + SIGN[:5]) == [b"loss 0.5"]
    assert reader.feed(b"x") == [SIGN[:5] + b"x"]
    assert reader.feed(SIGN) == []
    taken = sum(len(part) for _ in range(100) for part in reader.feed(b"x" * 8192))
    assert taken >= 100 * 8192 - LONGEST


def test_each_byte_of_a_flood_of_marks_is_looked_at_once() -> None:
    """A box knows the sign: a chunk of nothing else would cost the square of its length."""

    def cost(text: bytes) -> float:
        taken = []
        for _ in range(3):
            reader, began = MarkReader(SIGN), thread_time()
            reader.feed(text)
            taken.append(thread_time() - began)
        return min(taken)

    for text in (SIGN, SIGN + b" beat\n"):
        assert cost(text * 80_000) < 40 * cost(text * 8_000)
