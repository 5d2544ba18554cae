"""Flax's msgpack: dictionaries within dictionaries, their arrays as extensions of the format.

The layout is that of flax/serialization.py: extension 1 is an array, 2 a complex number, 3 a number of
numpy; each is msgpack again. An array of more than 1 GiB stands in chunks under a name of its own.
"""

from __future__ import annotations

import importlib
import math
import mmap
from dataclasses import dataclass
from typing import Any, BinaryIO

from gpu_tui.core.plain import plain
from gpu_tui.teardown.reader import archive
from gpu_tui.teardown.reader.outcome import INSTALL, Failed, Seen, Skipped
from gpu_tui.teardown.reader.torch_lib import torch_module
from gpu_tui.teardown.reader.weights import FLOATS, NODES, Tally

ARRAY, COMPLEX, SCALAR = 1, 2, 3
HEAD = 4096  # bytes of an array in which its shape and its kind stand
DIMENSIONS_MOST = 64
STATE = "opt_state"  # beside `params`: it is looked at, and is no weight
CHUNKED = "__msgpack_chunked_array__"
BYTES = {0xC4: 1, 0xC5: 2, 0xC6: 4}  # how many bytes of length follow the mark of raw bytes
# Bytes of one value. ml_dtypes gives every value a byte at least.
SIZES = {
    **dict.fromkeys(("bool", "int2", "int4", "int8", "uint2", "uint4", "uint8"), 1),
    **dict.fromkeys(("int16", "uint16", "float16", "bfloat16"), 2),
    **dict.fromkeys(("int32", "uint32", "float32"), 4),
    **dict.fromkeys(("int64", "uint64", "float64", "complex64"), 8),
    "complex128": 16,
    **dict.fromkeys(
        [
            "float4_e2m1fn",
            "float6_e2m3fn",
            "float6_e3m2fn",
            "float8_e3m4",
            "float8_e4m3",
            "float8_e4m3b11fnuz",
            "float8_e4m3fn",
            "float8_e4m3fnuz",
            "float8_e5m2",
            "float8_e5m2fnuz",
            "float8_e8m0fnu",
        ],
        1,
    ),
}


@dataclass(frozen=True, slots=True)
class Leaf:
    """An array that was looked at: its kind, its shape, how many of its values are not finite, whether all are zero."""

    kind: str
    shape: tuple[int, ...]
    odd: int = 0
    zero: bool = False

    @property
    def count(self) -> int:
        """Values in it."""
        return math.prod(self.shape)


def read(file: BinaryIO, size: int) -> Seen:
    """The judgement on one file."""
    if size == 0:
        raise Failed("an empty file")
    tally = Tally(torch_module())
    tally.weights = False  # which of them are weights is known once all of it is read
    try:
        msgpack = importlib.import_module("msgpack")
    except ImportError:
        raise Skipped(f"msgpack is not installed: {INSTALL}") from None
    try:
        loaded = msgpack.unpackb(
            mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ),  # not a copy of it
            raw=False,
            strict_map_key=False,  # Flax writes numbers as keys too
            object_pairs_hook=_dictionary,
            ext_hook=lambda code, data: _extension(msgpack, tally, code, data),
            max_array_len=NODES,
            max_map_len=NODES,
        )
    except (Failed, MemoryError):
        raise
    except Exception as error:
        raise Failed(f"it does not load ({type(error).__name__})") from None
    tally.weights = True
    trained = _check(loaded, tally)
    seen = tally.seen()
    seen.detail = archive.NO_CHECKSUM
    if isinstance(loaded, dict) and STATE in loaded and not trained:
        seen.no_weights()
    return seen


def _extension(msgpack: Any, tally: Tally, code: int, data: bytes) -> Leaf | complex:
    """One array, looked at and let go."""
    if code == COMPLEX:
        pair = msgpack.unpackb(data)
        if not (isinstance(pair, list) and [*map(type, pair)] == [float, float]):
            raise Failed("a complex number in it is none")
        return complex(*pair)
    if code not in (ARRAY, SCALAR):
        raise Failed("it holds what Flax does not write")
    leaf, start = _described(msgpack, data)
    if code == SCALAR and leaf.shape:
        raise Failed("an array in it is not as long as it says")
    odd = tally.odd
    zero = tally.raw(leaf.kind, memoryview(data)[start:])
    return Leaf(leaf.kind, leaf.shape, tally.odd - odd, zero)


def _described(msgpack: Any, data: bytes) -> tuple[Leaf, int]:
    """What an array says of itself, and where its bytes begin; Failed where they are not as many."""
    unpacker = msgpack.Unpacker(raw=True, max_buffer_size=HEAD)
    unpacker.feed(data[:HEAD])
    parts = unpacker.read_array_header()
    shape, name = unpacker.unpack(), unpacker.unpack()
    width = BYTES.get(data[unpacker.tell()], 0)
    start = unpacker.tell() + 1 + width
    length = int.from_bytes(data[start - width : start], "big")
    kind = name.decode("ascii", "replace") if isinstance(name, bytes) else ""
    if parts != 3 or not width or not isinstance(shape, list) or len(shape) > DIMENSIONS_MOST:
        raise Failed("it holds what Flax does not write")
    if not all(type(n) is int and n >= 0 for n in shape):
        raise Failed("its shape is none")
    if kind not in SIZES:
        raise Failed(f"values of a kind that is not known: {plain(kind, 40)}")
    leaf = Leaf(kind, tuple(shape))
    if not leaf.count * SIZES[kind] == length == len(data) - start:
        raise Failed("an array in it is not as long as it says")
    return leaf, start


def _dictionary(pairs: list[tuple[Any, Any]]) -> dict[Any, Any] | Leaf:
    """A dictionary that names nothing twice; the whole array where it holds one in chunks."""
    found = dict(pairs)
    if len(found) != len(pairs) or not all(type(key) in (str, int) for key in found):
        raise Failed("it names something twice, or by no name")
    return _whole(found) if CHUNKED in found else found


def _whole(found: dict[Any, Any]) -> Leaf:
    shape, chunks = _row(found.get("shape")), _row(found.get("chunks"))
    same = {chunk.kind for chunk in chunks if isinstance(chunk, Leaf)}
    counts = [chunk.count for chunk in chunks if isinstance(chunk, Leaf)]
    odd = sum(chunk.odd for chunk in chunks if isinstance(chunk, Leaf))
    zero = all(chunk.zero for chunk in chunks if isinstance(chunk, Leaf))
    known = found.keys() == {CHUNKED, "shape", "chunks"} and len(counts) == len(chunks)
    if not known or len(same) != 1 or not all(type(n) is int and n >= 0 for n in shape):
        raise Failed("the chunks of an array are none")
    leaf = Leaf(same.pop(), tuple(shape), odd, zero)
    if leaf.count != sum(counts):
        raise Failed("an array in it is not as long as it says")
    return leaf


def _row(found: Any) -> list[Any]:
    """A tuple as Flax writes one: {"0": ..., "1": ...}."""
    row = found if isinstance(found, dict) else {}
    if row.keys() != {str(number) for number in range(len(row))}:
        raise Failed("the chunks of an array are none")
    return [row[str(number)] for number in range(len(row))]


def _check(loaded: Any, tally: Tally) -> bool:
    """Nothing but arrays, plain values and what holds them; NODES of them at most. True where some are
    floats beside the optimizer's, which are the weights.
    """
    trained, nodes = False, 0
    parts = loaded if isinstance(loaded, dict) else {"": loaded}
    todo = [(value, key == STATE) for key, value in parts.items()]
    while todo:
        value, state = todo.pop()
        nodes += 1
        if nodes > NODES:
            raise Failed(f"it holds more than {NODES} things")
        if isinstance(value, dict):
            todo += [(item, state) for item in value.values()]
        elif isinstance(value, list):
            todo += [(item, state) for item in value]
        elif isinstance(value, Leaf):
            if not state and value.kind.startswith(FLOATS) and value.count > 0:
                trained = True
                tally.judge(value.count, value.odd, value.zero)
                if value.count > 1:
                    tally.count(value.zero, len(value.shape))
        elif not isinstance(value, str | bytes | int | float | complex | None):
            raise Failed("it holds what Flax does not write")
    return trained
