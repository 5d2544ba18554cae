"""numpy's .npy and .npz, read by their published layout and without numpy: objects stay closed.

https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
"""

from __future__ import annotations

import ast
import math
import re
from typing import IO, BinaryIO

from gpu_tui.core.plain import plain
from gpu_tui.teardown.reader import archive
from gpu_tui.teardown.reader.hulls import Array, Dtype
from gpu_tui.teardown.reader.outcome import Failed, Seen, Skipped
from gpu_tui.teardown.reader.torch_lib import torch_module
from gpu_tui.teardown.reader.weights import Tally

MAGIC = b"\x93NUMPY"
HEADER_MOST = 1 << 16
BLOCK = 1 << 24  # a multiple of every number's size
PACKED_FLOOR, PACKED_TIMES = 256 << 20, 100  # what an .npz may unpack to
_PLAIN = re.compile(r"[<>|=]?([?bBiufcmMSUaV])(\d{0,9})(\[[^\]]{1,12}\])?")


def read_npy(file: BinaryIO, size: int) -> Seen:
    """One array, exactly as long as it says."""
    tally = Tally(torch_module())
    _array(file, size, tally)
    return _seen(tally)


def read_npz(file: BinaryIO, size: int) -> Seen:
    """A zip of arrays: checksums, then each array from its member."""
    packed = max(PACKED_FLOOR, PACKED_TIMES * size)
    _, opened = archive.check(file, size, packed=packed)
    tally = Tally(torch_module())
    for member in opened.infolist():
        with opened.open(member) as inner:
            _array(inner, member.file_size, tally)
    return _seen(tally)


def _seen(tally: Tally) -> Seen:
    seen = tally.seen(may_be_empty=True)  # an array of no rows is an answer too
    # An array of labels or of a mask is often zero.
    seen.warnings = [
        note for note in seen.warnings if not note.startswith("only ") and "hold only" not in note
    ]
    return seen


def _array(file: IO[bytes], size: int, tally: Tally) -> None:
    head = file.read(8)
    if head[:6] != MAGIC or len(head) < 8:
        raise Failed("no numpy array" if head else "an empty file")
    width = 2 if head[6] == 1 else 4
    length = int.from_bytes(file.read(width), "little")
    if head[6] not in (1, 2, 3) or length > HEADER_MOST:
        raise Failed("a header that numpy does not write")
    code, count = _described(file.read(length))
    match = _PLAIN.fullmatch(code)
    if not match:
        raise Failed(f"values of a kind that is not known: {plain(code, 40)}")
    each = int(match[2] or 1) * (4 if match[1] == "U" else 1)
    if count * each != size - 8 - width - length:
        raise Failed("it is not as long as its shape says")
    left = count * each
    dtype = Dtype(code.lstrip("<>|="))
    dtype.parts.append((3, code[0] if code[0] in "<>|=" else "<"))
    while left:
        block = file.read(min(BLOCK, left))
        if not block:
            raise Failed("it ends too soon")
        left -= len(block)
        array = Array()
        array.parts.append((dtype, block))
        tally.add(array)


def _described(text: bytes) -> tuple[str, int]:
    """(dtype code, number of values); Skipped for objects, which are a pickle."""
    try:
        found = ast.literal_eval(text.decode("latin-1").strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise Failed("its header does not parse") from None
    if not isinstance(found, dict) or found.keys() != {"descr", "fortran_order", "shape"}:
        raise Failed("its header is not numpy's")
    descr, shape = found["descr"], found["shape"]
    if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape):
        raise Failed("its shape is none")
    if isinstance(descr, list):
        raise Skipped("by its hash alone: an array of records")
    if not isinstance(descr, str) or "O" in descr:
        raise Skipped("by its hash alone: Python objects in an array are a pickle, never opened")
    return descr, math.prod(shape)
