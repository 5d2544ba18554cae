"""Bare pickles, opened with nothing to call: every name in them becomes a hull, or is refused."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any, BinaryIO

from gpu_tui.core.manifest import COMPANION
from gpu_tui.teardown.reader.ask import names_in
from gpu_tui.teardown.reader.hulls import Hull, hulls
from gpu_tui.teardown.reader.outcome import Failed, Seen
from gpu_tui.teardown.reader.torch_file import refusal
from gpu_tui.teardown.reader.torch_lib import torch_module
from gpu_tui.teardown.reader.weights import Tally


class _NotAllowed(Exception):
    """A name that there is no hull for."""


def _encoded(text: object, _codec: object = None) -> bytes:
    """What protocol 2 writes for bytes."""
    return text.encode("latin-1") if isinstance(text, str) else b""


def _dict(*_args: object) -> dict[object, object]:
    return {}


def _items(*args: object) -> list[object]:
    return [*args[0]] if args and isinstance(args[0], list | tuple | set) else []


BARE = {
    "collections.OrderedDict": _dict,
    "collections.Counter": _dict,
    "builtins.set": _items,
    "builtins.complex": Hull,
    "builtins.bytearray": Hull,
    "_codecs.encode": _encoded,
}


class HullUnpickler(pickle.Unpickler):
    """The standard one, which calls only what `find_class` gives it: hulls."""

    def __init__(self, file: BinaryIO, table: Mapping[str, Any]) -> None:
        super().__init__(file)
        self._table = table

    def find_class(self, module: str, name: str) -> Any:
        """The hull of a name; _NotAllowed where there is none."""
        found = self._table.get(f"{module}.{name}")
        if found is None:
            raise _NotAllowed
        return found

    def persistent_load(self, pid: Any) -> Any:
        """Nothing lies outside of a bare pickle."""
        raise Failed("it refers to something outside of it")


def unpickle(file: BinaryIO, table: Mapping[str, Any]) -> Any:
    """What is in it; Refused with the names that are not in the table, Failed where it is broken."""
    try:
        return HullUnpickler(file, table).load()
    except _NotAllowed:
        file.seek(0)
        raise refusal(names_in(file) - table.keys() or {"?"}) from None
    except (Failed, MemoryError):
        raise
    except Exception as error:
        raise Failed(f"it does not load ({type(error).__name__})") from None


def read(file: BinaryIO, name: str, allow: frozenset[str]) -> Seen:
    """The judgement on a bare pickle: its arrays are its weights."""
    torch = torch_module()
    table = {**BARE, **{path: hull for hull, path in hulls(allow)}}
    loaded = unpickle(file, table)
    tally = Tally(torch)
    tally.add(loaded)
    seen = tally.seen(may_be_empty=isinstance(loaded, dict | list | tuple | Hull) and bool(loaded))
    if not seen.tensors and not COMPANION.fullmatch(name):
        seen.warnings.append("there is no array in it")
    seen.detail = "a bare pickle: no checksum inside, its hash carries it"
    return seen
