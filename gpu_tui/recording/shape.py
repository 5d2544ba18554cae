"""Whether a value read from a file is what its type says: a recording may come from anybody.

Only the words that the types of core use are known here; where a hint says nothing, anything fits.
"""

from __future__ import annotations

import re
import types
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeGuard, TypeVar, Union, get_args, get_origin, get_type_hints

from gpu_tui.core import metrics

LATEST = 253_402_300_800.0  # epoch seconds: the year 10000, which no calendar here can name
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
    for name, hint in _hints(kind).items():
        if name in values:
            value = values[name]
            timely = not _TIME.fullmatch(name) or value is None or is_time(value)
            if not (timely and fits(value, hint)):
                return name
    return None


def fits_metric(metric: str, value: object) -> bool:
    """Whether `value` is what this probe reads."""
    return fits(value, _VALUES.get(metric, object))


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def fits(value: object, hint: Any) -> bool:
    """Whether `value` is of type `hint`."""
    if hint is object or isinstance(hint, TypeVar):
        return True
    origin, words = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, word) for word in words)
    if origin is tuple and (len(words) != 2 or words[1] is not ...):
        return (
            isinstance(value, tuple) and len(value) == len(words) and all(map(fits, value, words))
        )
    if origin in (tuple, Sequence):
        return isinstance(value, tuple) and all(fits(one, words[0]) for one in value)
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(fits(one, words[1]) for one in value.values())
    kind = origin or hint
    if kind in (int, float):
        return isinstance(value, (int, float)[: 1 + (kind is float)]) and not isinstance(
            value, bool
        )
    return isinstance(value, kind)
