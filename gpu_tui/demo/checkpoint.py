"""Real checkpoints without torch: the zip archive and the pickle that `torch.load` expects.

The pickle is written opcode by opcode; it names only what `weights_only=True` allows: the tensor
builder, the float storage and an ordered dict.
"""

from __future__ import annotations

import io
import json
import pickle
import struct
import sys
import zipfile
from array import array
from collections.abc import Mapping, Sequence
from random import Random

Shape = tuple[int, ...]


def checkpoint_bytes(weights: Mapping[str, tuple[Shape, Sequence[float]]], epoch: int) -> bytes:
    """`{"model_state_dict": {name: float32 tensor}, "epoch": epoch}` as a torch zip file.

    Each weight is a shape and as many values as the shape holds, row-major.
    """
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:

        def member(name: str, data: bytes) -> None:
            # A fixed date: the same seed writes the same bytes.
            archive.writestr(zipfile.ZipInfo(f"archive/{name}"), data)

        member("data.pkl", _pickle(weights, epoch))
        member("byteorder", sys.byteorder.encode())
        for key, (_, values) in enumerate(weights.values()):
            member(f"data/{key}", array("f", values).tobytes())
        member("version", b"3\n")
    return out.getvalue()


def metrics_bytes(epoch: int, metrics: Mapping[str, float]) -> bytes:
    """The `best_metrics.json` beside a checkpoint."""
    return (json.dumps({"epoch": epoch, **metrics}, indent=2) + "\n").encode()


def seeded_weights(random: Random, width: int = 96) -> dict[str, tuple[Shape, list[float]]]:
    """Weights of a small convolutional network; about `width`² × 10 values."""
    shapes: dict[str, Shape] = {
        "encoder.0.weight": (width, 3, 3, 3),
        "encoder.0.bias": (width,),
        "encoder.2.weight": (width, width, 3, 3),
        "encoder.2.bias": (width,),
        "head.weight": (3, width),
        "head.bias": (3,),
    }
    return {name: (shape, _values(random, shape)) for name, shape in shapes.items()}


def _values(random: Random, shape: Shape) -> list[float]:
    count = 1
    for size in shape:
        count *= size
    scale = shape[-1] ** -0.5 / 32_768
    return [scale * whole for whole in array("h", random.randbytes(2 * count))]


def _pickle(weights: Mapping[str, tuple[Shape, Sequence[float]]], epoch: int) -> bytes:
    parts = [pickle.PROTO, b"\x02", pickle.EMPTY_DICT, pickle.MARK]
    parts += [_text("model_state_dict"), pickle.EMPTY_DICT, pickle.MARK]
    for key, (name, (shape, values)) in enumerate(weights.items()):
        parts += [_text(name), _tensor(str(key), shape, len(values))]
    parts += [pickle.SETITEMS, _text("epoch"), _int(epoch), pickle.SETITEMS, pickle.STOP]
    return b"".join(parts)


def _tensor(key: str, shape: Shape, count: int) -> bytes:
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return b"".join(
        (
            _global("torch._utils", "_rebuild_tensor_v2"),
            pickle.MARK,
            pickle.MARK,
            _text("storage"),
            _global("torch", "FloatStorage"),
            _text(key),
            _text("cpu"),
            _int(count),
            pickle.TUPLE,
            pickle.BINPERSID,
            _int(0),
            _ints(shape),
            _ints(strides),
            pickle.NEWFALSE,
            _global("collections", "OrderedDict"),
            pickle.EMPTY_TUPLE,
            pickle.REDUCE,
            pickle.TUPLE,
            pickle.REDUCE,
        )
    )


def _global(module: str, name: str) -> bytes:
    return pickle.GLOBAL + f"{module}\n{name}\n".encode()


def _text(value: str) -> bytes:
    data = value.encode()
    return pickle.BINUNICODE + struct.pack("<I", len(data)) + data


def _int(value: int) -> bytes:
    return pickle.BININT + struct.pack("<i", value)


def _ints(values: Sequence[int]) -> bytes:
    return pickle.MARK + b"".join(map(_int, values)) + pickle.TUPLE
