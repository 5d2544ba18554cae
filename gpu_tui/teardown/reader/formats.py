"""Which reader a file gets: by its name, and by its first bytes where the name does not say."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

HEAD = 512  # bytes that are enough to tell
ZIP, PICKLE = b"PK\x03\x04", b"\x80"
HDF5 = b"\x89HDF\r\n\x1a\n"
# torch/serialization.py: MAGIC_NUMBER, pickled with any protocol, opens every legacy file.
LEGACY = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
LEGACY_OPENERS = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
SUFFIXES = {
    **dict.fromkeys((".pth", ".pt", ".ckpt", ".bin", ".th"), "torch"),
    ".safetensors": "safetensors",
    ".json": "json",
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    ".npy": "npy",
    ".npz": "npz",
    ".distcp": "dcp-shard",
    **dict.fromkeys((".pkl", ".pickle"), "pickle"),
    # An exported program is code: its loader has run it (CVE-2026-4538).
    ".pt2": "program",
    **dict.fromkeys((".h5", ".hdf5"), "hdf5"),
    ".keras": "keras",
    ".msgpack": "flax",
}
# By these files a directory is known for one of Orbax's.
ORBAX = frozenset({"manifest.ocdbt", "_metadata", "_checkpoint_metadata"})
# By these a loader finds the newest step of a directory.
POINTERS = frozenset({"latest", "latest_universal", "latest_checkpointed_iteration.txt"})
NEEDS_HDF5 = frozenset({"hdf5", "keras"})
NEEDS_TORCH = NEEDS_HDF5 | {
    *("torch", "safetensors", "dcp-shard", "hf-index", "pickle", "npy", "npz", "flax"),
}
WEIGHTS = NEEDS_HDF5 | {
    *("torch", "safetensors", "dcp-shard", "dcp-metadata", "hf-index", "program", "flax"),
}


def kind_of(name: str, head: bytes) -> str:
    """The reader's name, or data: nothing here reads it."""
    low = name.lower()
    if low in POINTERS:
        return "pointer"
    if low == ".metadata":
        return "dcp-metadata"
    if low.endswith(".index.json"):
        return "hf-index"
    if low in ORBAX:
        return "orbax"
    suffix = PurePosixPath(low).suffix
    kind = SUFFIXES.get(suffix, "data")
    if kind in (
        "torch",
        "pickle",
    ):  # either is named as the other: accelerate's random_states_0.pkl
        return _pickled(head, kind)
    if kind == "data":
        return _by_content(head, named=bool(suffix) and not re.fullmatch(r"\.\d+", suffix))
    return kind


def _by_content(head: bytes, *, named: bool) -> str:
    """A checkpoint by any other name is still one: `epoch_12`, `step.5000`, `model.weights`."""
    if _legacy(head) or _zip_of_torch(head):
        return "torch"
    # Eight bytes of length, then an object: only believed where no suffix says something else.
    if not named and head[8:9] == b"{" and 2 <= int.from_bytes(head[:8], "little") < 1 << 27:
        return "safetensors"
    return "data"


def _pickled(head: bytes, named: str) -> str:
    """torch.save's, or a bare pickle; as it is `named` where the first bytes are of neither."""
    if _legacy(head) or _zip_of_torch(head):
        return "torch"
    return "pickle" if head[:1] == PICKLE else named


def _legacy(head: bytes) -> bool:
    return head.startswith(LEGACY_OPENERS) and LEGACY in head[:32]


def _zip_of_torch(head: bytes) -> bool:
    """torch.save writes `<name>/data.pkl` first."""
    return (
        head.startswith(ZIP)
        and len(head) > 30
        and head[30 : 30 + head[26] + 256 * head[27]].endswith(b"/data.pkl")
    )
