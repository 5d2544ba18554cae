"""Values of core <-> what JSON can hold. Only the frozen types of core are read back, never code.

A dataclass is `{"Name": {field: value}}` without the fields that have their default, an enum
`{"Name": value}`, a mapping `{"": {...}}`, a sequence a list (and a tuple again), bytes and the
floats that JSON lacks `{"bytes": ...}` and `{"float": ...}`.
"""

from __future__ import annotations

import base64
import binascii
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any

from gpu_tui.core import (
    account,
    commands,
    ending,
    events,
    findings,
    fleet,
    jobs,
    logs,
    queue_history,
    readings,
    sample,
    shells,
    sweep,
)
from gpu_tui.core.alarms import ORDER
from gpu_tui.recording.shape import fits_metric, misfit

Clean = Callable[[str], str]
ARGUMENTS = ("argv", "argvs")  # fields that hold the words of commands
SEPARATOR = "\x1f"  # between two of them: in a word none is left
LARGEST = (1 << 64) - 1  # of the whole numbers, an inode; beyond the floats, arithmetic raises
LONGEST = 1 << 40  # bytes of one line of a log


class CodecError(ValueError):
    """A value that no recording of ours holds."""


_MODULES = (
    account,
    commands,
    ending,
    events,
    findings,
    fleet,
    jobs,
    logs,
    queue_history,
    readings,
    sample,
    shells,
    sweep,
)
TYPES: dict[str, type[Any]] = {
    name: kind
    for module in _MODULES
    for name, kind in vars(module).items()
    if inspect.isclass(kind) and (is_dataclass(kind) or issubclass(kind, Enum))
}


def encode(value: object, clean: Clean = str) -> object:
    """What `json.dumps` takes; every string passes through `clean`."""
    if isinstance(value, Enum):
        return {type(value).__name__: value.value}
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, Mapping):
        return {"": {str(key): encode(one, clean) for key, one in value.items()}}
    if is_dataclass(value) and type(value).__name__ in TYPES:
        body = {
            field.name: _arguments(one, clean) if field.name in ARGUMENTS else encode(one, clean)
            for field in fields(value)
            if (one := getattr(value, field.name)) is not field.default
            and not (field.default is MISSING and _is_default(field.default_factory, one))
        }
        return {type(value).__name__: body}
    if isinstance(value, Sequence):
        return [encode(one, clean) for one in value]
    raise CodecError(f"a {type(value).__name__} cannot be recorded")


def _arguments(words: object, clean: Clean) -> object:
    """As `encode`; a password is known by the word before it, so the words of one command are cleaned as one text."""
    if not isinstance(words, tuple):
        return encode(words, clean)
    if not all(isinstance(word, str) for word in words):
        return [_arguments(one, clean) for one in words]
    return clean(SEPARATOR.join(map(clean, words))).split(SEPARATOR) if words else []


def _is_default(factory: object, value: object) -> bool:
    return factory is not MISSING and callable(factory) and value == factory()


def decode(plain: object) -> Any:
    """The value again. CodecError where the file says something that we never write."""
    if isinstance(plain, list):
        return tuple(decode(one) for one in plain)
    if not isinstance(plain, dict):
        if isinstance(plain, int) and abs(plain) > LARGEST:
            raise CodecError("a number in it is larger than any that is written")
        return plain
    if len(plain) != 1:
        raise CodecError(f"expected one name, found {len(plain)}")
    ((name, body),) = plain.items()
    try:
        match name:
            case "":
                return {key: decode(one) for key, one in body.items()}
            case "float":
                return float(body)
            case "bytes":
                return base64.b64decode(body, validate=True)
        kind = TYPES[name]
        if issubclass(kind, Enum):
            return kind(body)
        values = {key: decode(one) for key, one in body.items()}
        if (wrong := misfit(kind, values)) is not None:
            raise CodecError(f"{wrong} is of another kind")
        made = kind(**values)
        if not _is_known(made):
            raise CodecError("it says what this version does not know")
        return made
    except (
        KeyError,
        TypeError,
        AttributeError,
        ValueError,
        OverflowError,
        RecursionError,
        binascii.Error,
    ) as error:
        raise CodecError(f"{name!r} cannot be read: {error}") from None


def _is_known(made: object) -> bool:
    """What only the values tell: whether a reading is of its probe, and an alarm one that we have."""
    match made:
        case events.Sampled(metric=metric, sample=sample.Reading(value=value)):
            return fits_metric(metric, value)
        case logs.Mark(label=label, alarm=True):
            return label in ORDER
        case logs.LogLine(size=int(size)):
            return 0 <= size <= LONGEST
    return True
