"""safetensors: our own strict reading of the header, then the library's, then every value.

The format has no checksum: what it promises is that the tensors lie side by side and fill the file.
https://huggingface.co/docs/safetensors says at most 100 MB of header, no holes, no overlaps.
"""

from __future__ import annotations

import importlib
import json
import math
from typing import Any, BinaryIO, TypeGuard

from gpu_tui.core.plain import plain
from gpu_tui.teardown.reader.outcome import INSTALL, Failed, Seen, Skipped
from gpu_tui.teardown.reader.torch_lib import torch_module
from gpu_tui.teardown.reader.weights import Tally

HEADER_MOST = 100_000_000
# Bits of one value.
BITS = {
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8,
    "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64,
}  # fmt: skip


def read(file: BinaryIO, size: int, path: str) -> Seen:
    """The judgement on one file; `path` is where the library can open it again."""
    header(file, size)  # what is broken is broken, also where no torch is
    torch = torch_module()
    try:
        library = importlib.import_module("safetensors")
    except ImportError:
        raise Skipped(f"safetensors is not installed: {INSTALL}") from None
    tally = Tally(torch)
    try:
        with library.safe_open(path, "pt") as opened:
            for key in list(opened.keys()):
                tally.add(opened.get_tensor(key))
    except library.SafetensorError as error:
        raise Failed(f"the library refuses it ({plain(str(error), 80)})") from None
    seen = tally.seen()
    seen.detail = "no checksum inside: its hash carries it"
    return seen


def header(file: BinaryIO, size: int) -> dict[str, int]:
    """Bytes of each tensor; Failed unless header and tensors are exactly the file."""
    head = file.read(8)
    length = int.from_bytes(head, "little")
    if len(head) < 8 or length > size - 8:
        raise Failed("an empty file" if not head else "its header is longer than the file")
    if length > HEADER_MOST:
        raise Failed("its header is longer than any writer makes it")
    try:
        entries = json.loads(file.read(length), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise Failed("its header is no JSON") from None
    if not isinstance(entries, dict):
        raise Failed("its header is no object")
    notes = entries.pop("__metadata__", {})
    if not isinstance(notes, dict) or not all(isinstance(text, str) for text in notes.values()):
        raise Failed("its notes are not text")
    spans = sorted((_span(name, entry), name) for name, entry in entries.items())
    end = 0
    for (start, stop), name in spans:
        if start != end:
            raise Failed(f"tensors overlap or leave a hole before {plain(name, 60)}")
        end = stop
    if end != size - 8 - length:
        raise Failed("its tensors are not as long as the file")
    return {name: stop - start for (start, stop), name in spans}


def _span(name: str, entry: Any) -> tuple[int, int]:
    described = entry if isinstance(entry, dict) else {}
    shape, place = described.get("shape"), described.get("data_offsets")
    bits = BITS.get(str(described.get("dtype")))
    if bits is None or not (_counts(shape) and _counts(place) and len(place) == 2):
        raise Failed(f"{plain(name, 60)} is described in a way that the format does not know")
    start, stop = place
    if (stop - start) * 8 != math.prod(shape) * bits:
        raise Failed(f"{plain(name, 60)} is not as long as its shape says")
    return start, stop


def _counts(value: Any) -> TypeGuard[list[int]]:
    """A short list of counts, and no true or false among them."""
    return (
        isinstance(value, list)
        and len(value) <= 64
        and all(type(item) is int and 0 <= item < 1 << 63 for item in value)
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Failed("its header names something twice")
    return found
