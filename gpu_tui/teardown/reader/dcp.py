"""torch.distributed.checkpoint: a directory of shards, and `.metadata`, a pickle that says what lies where.

`dcp.load` unpickles `.metadata` without any restriction (pytorch#189308): it is never called. The names
below are all that its writer puts there (torch/distributed/checkpoint/metadata.py, filesystem.py).
"""

from __future__ import annotations

import io
import os
import re
from dataclasses import dataclass
from typing import Any, BinaryIO

from gpu_tui.core.plain import plain
from gpu_tui.teardown.reader import pickled, torch_file
from gpu_tui.teardown.reader.hulls import Hull
from gpu_tui.teardown.reader.outcome import Failed, Incomplete, Refused, Seen
from gpu_tui.teardown.reader.torch_lib import torch_module
from gpu_tui.teardown.reader.weights import Tally

METADATA_MOST = 256 << 20
PARTS_MOST = 1_000_000
SUFFIX = ".distcp"  # by it each shard is loaded as a file of its own
_BASE = "torch.distributed.checkpoint"
_PATH = re.compile(r"[^/\x00]{1,255}(/[^/\x00]{1,255}){0,8}")


class _Info(Hull):
    """_StorageInfo: a file, an offset and a length."""

    __slots__ = ()


class _Key(Hull):
    """MetadataIndex: the name of what is stored."""

    __slots__ = ()


class _Metadata(Hull):
    """The whole."""

    __slots__ = ()


TABLE: dict[str, Any] = {
    f"{_BASE}.metadata.Metadata": _Metadata,
    f"{_BASE}.metadata.MetadataIndex": _Key,
    f"{_BASE}.filesystem._StorageInfo": _Info,
    **{
        f"{_BASE}.metadata.{name}": Hull
        for name in [
            "TensorStorageMetadata",
            "BytesStorageMetadata",
            "ChunkStorageMetadata",
            "TensorProperties",
            "StorageMeta",
            "_MEM_FORMAT_ENCODING",
        ]
    },
    f"{_BASE}.planner._MetadataIndex": _Key,
    "torch.Size": Hull,
    "torch.serialization._get_layout": Hull,
    "collections.OrderedDict": pickled.BARE["collections.OrderedDict"],
    "builtins.set": pickled.BARE["builtins.set"],
    "builtins.getattr": Hull,  # how some Python 3.11 pickle an enumeration; never the real one
    **{f"pathlib.{name}": Hull for name in ("PosixPath", "PurePosixPath", "WindowsPath")},
    **{f"pathlib._local.{name}": Hull for name in ("PosixPath", "PurePosixPath", "WindowsPath")},
    **{
        f"torch.{name}": Hull
        for name in [
            "float16",
            "float32",
            "float64",
            "bfloat16",
            "float8_e4m3fn",
            "float8_e5m2",
            "float8_e4m3fnuz",
            "float8_e5m2fnuz",
            "float8_e8m0fnu",
            "complex32",
            "complex64",
            "complex128",
            "bool",
            "uint8",
            "uint16",
            "uint32",
            "uint64",
            "int8",
            "int16",
            "int32",
            "int64",
            "half",
            "float",
            "double",
            "strided",
        ]
    },
}


@dataclass(frozen=True, slots=True)
class Part:
    """One stored thing: bytes `start` to `end` of a file next to `.metadata`. `state`: an optimizer's, by its name."""

    file: str
    start: int
    end: int
    state: bool = False


def read_metadata(file: BinaryIO, size: int, directory: str) -> Seen:
    """Every shard that it names is there and long enough."""
    parts = parts_of(file, size)
    for name in sorted({part.file for part in parts}):
        if not name.endswith(SUFFIX):
            raise Failed(
                f"its shard {plain(name, 60)} is called otherwise than its writer calls one"
            )
        end = max(part.end for part in parts if part.file == name)
        try:
            there = os.stat(os.path.join(directory, name), follow_symlinks=False).st_size
        except OSError:
            raise Incomplete(f"{plain(name, 60)} is not here") from None
        if there < end:
            raise Failed(f"its shard {plain(name, 60)} has {there} bytes of {end}")
    shards = len({part.file for part in parts})
    return Seen(f"{len(parts)} parts in {shards} shard{'' if shards == 1 else 's'}, all here")


def read_shard(file: BinaryIO, size: int, directory: str, name: str, allow: frozenset[str]) -> Seen:
    """Each part of one shard, loaded on its own."""
    torch = torch_module()
    try:
        with open(os.path.join(directory, ".metadata"), "rb") as beside:
            every = parts_of(beside, os.fstat(beside.fileno()).st_size)
    except OSError:
        raise Incomplete(".metadata is not here") from None
    parts = sorted((part.start, part.end, part.state) for part in every if part.file == name)
    if not parts:
        raise Failed("its .metadata does not name this shard")
    tally, end = Tally(torch), 0
    for start, stop, state in parts:
        if start < end or stop > size:
            raise Failed("its parts overlap" if start < end else f"it has {size} bytes of {stop}")
        end = stop
        file.seek(start)
        data = file.read(stop - start)
        part = io.BytesIO(data)
        torch_file.structure(part, len(data))
        tally.weights = not state
        tally.add(torch_file.load(torch, part, allow))
    seen = tally.seen(may_be_empty=True)  # a shard may hold nothing but steps and names
    if end != size:
        seen.warnings.append(f"{size - end} bytes behind its last part belong to nothing")
    return seen


def parts_of(file: BinaryIO, size: int) -> list[Part]:
    """Where everything lies; Refused for a pickle that asks for more than this format has."""
    if size > METADATA_MOST:
        raise Failed("its .metadata is far too long")
    root = pickled.unpickle(file, TABLE)
    if not isinstance(root, _Metadata):
        raise Failed("its .metadata is of another kind")
    fields = next((part for part in root.parts if isinstance(part, dict)), {})
    stored = fields.get("storage_data")
    if not isinstance(stored, dict) or not stored or len(stored) > PARTS_MOST:
        raise Failed("its .metadata says nothing of what is stored")
    wanted, held = fields.get("state_dict_metadata"), {_name(key) for key in stored}
    if not isinstance(wanted, dict) or not wanted.keys() <= held:
        raise Failed("its .metadata names things that no shard holds")
    return [_part(info, _name(key)) for key, info in stored.items()]


def _name(key: object) -> object:
    """`fqn` of a MetadataIndex."""
    for part in key.parts if isinstance(key, _Key) else ():
        if isinstance(part, dict) and isinstance(part.get("fqn"), str):
            return part["fqn"]
        if isinstance(part, str):
            return part
    return None


_STATE = re.compile(r"(?:\A|\.)(?:optim\w*|opt_state|exp_avg\w*|\w*scheduler|ema\w*)(?:\.|\Z)")


def _part(info: object, key: object) -> Part:
    fields = (
        next((p for p in info.parts if isinstance(p, dict)), {}) if isinstance(info, _Info) else {}
    )
    name, start, length = (fields.get(key) for key in ("relative_path", "offset", "length"))
    if fields.get("transform_descriptors"):
        raise Refused("its shards are packed by an extension: nothing here unpacks them")
    counts = type(start) is int and type(length) is int and start >= 0 and length >= 0
    if (
        not isinstance(name, str)
        or not counts
        or not _PATH.fullmatch(name)
        or ".." in name.split("/")
    ):
        raise Failed("its .metadata places something nowhere")
    state = isinstance(key, str) and _STATE.search(key) is not None
    return Part(name, int(str(start)), int(str(start)) + int(str(length)), state)
