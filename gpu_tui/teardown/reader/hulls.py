"""Hulls: what stands in a checkpoint where a class of somebody's stood. They keep what they are given
and do nothing, so that naming a class in a file can never run a line of it, allowed or not.

`HARMLESS` are the names that ordinary trainers put beside weights. Each of them only holds values, and
even so it is not the real thing that is called but a hull under its name (torch.serialization takes
pairs of a stand-in and the name that it answers to).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Pair = tuple[Any, str]


class Hull:
    """Keeps its arguments and its state in `parts`; both are walked like any container."""

    __slots__ = ("parts",)
    parts: list[object]

    def __new__(cls, *parts: object, **_named: object) -> Hull:
        """Whatever it is called with."""
        made = object.__new__(cls)
        made.parts = [*parts]
        return made

    def __init__(self, *_parts: object, **_named: object) -> None:
        return

    def __setstate__(self, state: object) -> None:
        self.parts.append(state)

    # Pickles fill containers that they cannot see the class of.
    def append(self, item: object) -> None:
        """As a list's."""
        self.parts.append(item)

    def extend(self, items: Iterable[object]) -> None:
        """As a list's."""
        self.parts.extend(items)

    def __setitem__(self, key: object, value: object) -> None:
        self.parts.append(value)


class Dtype(Hull):
    """A dtype of numpy: `parts[0]` is its code without byte order, the state's second item the byte order."""

    __slots__ = ()

    @property
    def code(self) -> str:
        """As in `<f4`; empty where it is no plain number."""
        kind = self.parts[0] if self.parts else None
        state = self.parts[-1]
        order = state[1] if isinstance(state, tuple) and len(state) > 1 else "<"
        if not isinstance(kind, str) or not isinstance(order, str):
            return ""
        return ("<" if order in "|=" else order) + kind if len(order) == 1 else ""


class Array(Hull):
    """An array of numpy: (version, shape, dtype, column-major, raw bytes) as its state."""

    __slots__ = ()

    @property
    def raw(self) -> tuple[str, bytes] | None:
        """(dtype code, bytes), or None where it holds objects or nothing."""
        state = self.parts[-1] if self.parts else None
        if not isinstance(state, tuple) or len(state) < 2:
            return None
        data = [part for part in state if isinstance(part, bytes | bytearray)]
        kinds = [part for part in state if isinstance(part, Dtype)]
        return (kinds[0].code, bytes(data[0])) if data and kinds else None


def _reconstruct(*_args: object) -> Array:
    return Array()


def _from_buffer(*args: object) -> Array:
    """As numpy 2 writes with pickle protocol 5: (bytes, dtype, shape, order) as arguments."""
    return Array(args)


def _empty_dict(*_args: object) -> dict[object, object]:
    return {}


def _list(*args: object) -> list[object]:
    first = args[0] if args else ()
    return [*first] if isinstance(first, list | tuple | set) else []


# Where the values come from: the pickles of numpy 1.26 and 2.4 (`__reduce__` of array, scalar, dtype and
# of the random generators) and of Python 3.9 to 3.14 (Lib/pathlib, Lib/argparse.py, Modules/_datetimemodule.c,
# Modules/_collectionsmodule.c, Lib/copyreg.py).
_NUMPY = ("numpy.core", "numpy._core")
_SCALARS = [
    "bool",
    "bool_",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "longdouble",
    "complex64",
    "complex128",
    "str_",
    "bytes_",
    "datetime64",
    "timedelta64",
]
_PATHS = ["PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath", "Path", "PurePath"]
HARMLESS: tuple[Pair, ...] = (
    *((_reconstruct, f"{base}.multiarray._reconstruct") for base in _NUMPY),
    *((Hull, f"{base}.multiarray.scalar") for base in _NUMPY),
    *((_from_buffer, f"{base}.numeric._frombuffer") for base in _NUMPY),
    (Array, "numpy.ndarray"),
    (Dtype, "numpy.dtype"),
    *((Hull, f"numpy.{name}") for name in _SCALARS),
    *(
        (Hull, f"numpy.random._pickle.__{part}_ctor")
        for part in ("randomstate", "generator", "bit_generator")
    ),
    (Hull, "numpy.random._mt19937.MT19937"),
    (Hull, "numpy.random._pcg64.PCG64"),
    (Hull, "argparse.Namespace"),
    (Hull, "types.SimpleNamespace"),
    *((Hull, f"pathlib.{name}") for name in _PATHS),
    *((Hull, f"pathlib._local.{name}") for name in _PATHS),
    *((Hull, f"datetime.{name}") for name in ("datetime", "date", "time", "timedelta", "timezone")),
    (Hull, "zoneinfo.ZoneInfo._unpickle"),
    (Hull, "uuid.UUID"),
    (Hull, "decimal.Decimal"),
    (Hull, "fractions.Fraction"),
    (_empty_dict, "collections.defaultdict"),
    (_list, "collections.deque"),
    (_list, "builtins.frozenset"),
    *(
        (Hull, f"builtins.{name}")
        for name in [
            "bool",
            "bytes",
            "dict",
            "float",
            "int",
            "list",
            "object",
            "range",
            "slice",
            "str",
            "tuple",
        ]
    ),
    (Hull, "copyreg._reconstructor"),
)


def hulls(allow: Iterable[str]) -> list[Pair]:
    """The stand-ins for the harmless names and for those that a person allowed."""
    known = {name for _, name in HARMLESS}
    return [*HARMLESS, *((Hull, name) for name in sorted(set(allow) - known))]
