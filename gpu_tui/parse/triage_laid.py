"""The index of triage laid out in long rows of numbers and of words: it takes little room, and can be kept as bytes."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeAlias

Numbers: TypeAlias = "array[int]"
Texts: TypeAlias = Sequence[bytes]
TEXTS = ("words", "short", "runs")  # the fields of texts; in no text stands the end of a line
_BETWEEN = b"\n"
_SIZE = "q"  # of a field


class Laid(NamedTuple):
    """All that an index is. Of what comes in stretches, the `..._ends` tell where each one does.

    A row has an order, words and parts (see `triage_rows`), and signs (see `triage_index`): of the two rarest it is
    found by their pair, then come the `thirds` and `others`. A sign's pairs are those from its number in `firsts` to
    the next one's, and `seconds` has the other sign of each pair.
    """

    orders: Numbers
    words: Texts
    words_how: Numbers
    row_words: Numbers
    row_words_ends: Numbers
    row_parts: Numbers
    row_parts_ends: Numbers
    anywhere: Numbers  # rows without a sign
    thirds: Numbers
    others: Numbers
    others_ends: Numbers
    firsts: Numbers
    seconds: Numbers
    pairs: Numbers  # the rows of each pair
    pairs_ends: Numbers
    always: Numbers  # signs that are always there
    short: (
        Texts  # needs that few letters show, the sign that they do, and the rule that has the need
    )
    short_signs: Numbers
    short_orders: Numbers
    runs: Texts
    runs_how: Numbers
    run_signs: Numbers  # what each run shows
    run_signs_ends: Numbers


def packed(laid: Laid) -> bytes:
    """As bytes, for a Python of the same kind on a machine of the same kind."""
    fields = [
        field.tobytes() if isinstance(field, array) else _BETWEEN.join(field) for field in laid
    ]
    return array(_SIZE, map(len, fields)).tobytes() + b"".join(fields)


def unpacked(data: bytes) -> Laid:
    """What was packed. Raises ValueError where that is surely something else."""
    head = array(_SIZE)
    body = len(Laid._fields) * head.itemsize
    head.frombytes(data[:body])
    ends = list(accumulate(head, initial=body))
    if len(head) != len(Laid._fields) or ends[-1] != len(data):
        raise ValueError("an index of something else")
    found: list[Numbers | Texts] = []
    for name, (begin, end) in zip(Laid._fields, pairwise(ends), strict=True):
        part = data[begin:end]
        found.append(part.split(_BETWEEN) if name in TEXTS else array("i", part))
    return Laid._make(found)
