"""Whether a value read from a file is what its type says: a recording may come from anybody.

Only the words that the types of core use are known here; where a hint says nothing, anything fits.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeGuard, TypeVar, Union, get_args, get_origin, get_type_hints

from gpu_tui.core import metrics
from gpu_tui.core.clock import LATEST

Check = Callable[[object], bool]
_TIME = re.compile(r"(?:\w+_)?at|since")
_VALUES = {
    metric.name: get_args(hint)[0]
    for name, hint in get_type_hints(metrics).items()
    if isinstance(metric := getattr(metrics, name), metrics.Metric)
}


def is_time(value: object) -> TypeGuard[float]:
    """Whether it is epoch seconds that a calendar can name; never so of NaN."""
    return not isinstance(value, bool) and isinstance(value, int | float) and 0 <= value < LATEST


def misfit(kind: Any, values: Mapping[str, object]) -> str | None:
    """The first field of a dataclass whose value is not of its type."""
    for name, check in _checks(kind).items():
        if name in values and not check(values[name]):
            return name
    return None


def fits_metric(metric: str, value: object) -> bool:
    """Whether `value` is what this probe reads."""
    return fits(value, _VALUES.get(metric, object))


def fits(value: object, hint: Any) -> bool:
    """Whether `value` is of type `hint`."""
    return _check(hint)(value)


@cache
def _checks(kind: Any) -> Mapping[str, Check]:
    """A check for each field of a dataclass."""
    return {
        name: _timely(check) if _TIME.fullmatch(name) else check
        for name, hint in get_type_hints(kind).items()
        for check in (_check(hint),)
    }


def _timely(check: Check) -> Check:
    return lambda value: (value is None or is_time(value)) and check(value)


@cache
def _check(hint: Any) -> Check:
    """The check for a hint, made once: a recording has a million values."""
    if hint is object or isinstance(hint, TypeVar):
        return lambda value: True
    origin, words = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        ways = tuple(_check(word) for word in words)
        return lambda value: any(way(value) for way in ways)
    if origin is tuple and (len(words) != 2 or words[1] is not ...):
        parts = tuple(_check(word) for word in words)
        return lambda value: (
            isinstance(value, tuple)
            and len(value) == len(parts)
            and all(part(one) for part, one in zip(parts, value, strict=True))
        )
    if origin in (tuple, Sequence):
        each = _check(words[0])
        return lambda value: isinstance(value, tuple) and all(map(each, value))
    if origin in (dict, Mapping):
        of = _check(words[1])
        return lambda value: isinstance(value, dict) and all(map(of, value.values()))
    kind = origin or hint
    if kind in (int, float):
        kinds = (int, float)[: 1 + (kind is float)]
        return lambda value: isinstance(value, kinds) and not isinstance(value, bool)
    return lambda value: isinstance(value, kind)
