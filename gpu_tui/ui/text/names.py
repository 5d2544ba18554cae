"""Names in a column that is too narrow for them: two that differ never look alike where that can be helped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from rich.cells import cell_len, set_cell_size

CUT = "…"
LEAST = 6  # cells: in fewer there is no middle to cut out


def cut_name(name: str, width: int, others: Sequence[str] = ()) -> str:
    """`name` in at most `width` cells. It is cut at its end; where one of `others` would then look the
    same, what both have in common is cut out instead.
    """
    if cell_len(name) <= width:
        return name
    return _shortened(tuple(others), width).get(name, _head(name, width))


@lru_cache(maxsize=64)
def _shortened(names: tuple[str, ...], width: int) -> Mapping[str, str]:
    """The long names that would look alike, each in the way that tells it from the others."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        if cell_len(name) > width:
            groups.setdefault(_head(name, width), []).append(name)
    found: dict[str, str] = {}
    for alike in groups.values():
        if len(alike) > 1 and width >= LEAST:
            found.update(zip(alike, _apart(alike, width), strict=True))
    return found


def _apart(names: Sequence[str], width: int) -> list[str]:
    """Their ends where these differ, else what follows their common beginning."""
    for tail in range((width - 1) // 2, width - 2):
        ends = [_head(name, width - tail, full=True) + _tail(name, tail) for name in names]
        if len(set(ends)) == len(ends):
            return ends
    same = common(names)
    return [_head(_head(name, 3, full=True) + name[same:], width) for name in names]


def common(names: Sequence[str]) -> int:
    """With how many characters all begin."""
    columns = zip(*names, strict=False)
    differs = (at for at, column in enumerate(columns) if len(set(column)) > 1)
    return next(differs, min(map(len, names)))


def _head(text: str, width: int, *, full: bool = False) -> str:
    """The beginning with an ellipsis in at most `width` cells; `full` has one in any case."""
    if not full and cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - 1)).rstrip() + CUT


def _tail(text: str, width: int) -> str:
    """The end, in at most `width` cells."""
    start = len(text)
    while start and cell_len(text[start - 1 :]) <= width:
        start -= 1
    return text[start:]
