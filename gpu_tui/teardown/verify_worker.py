"""Loads one file after another, in a process of its own that may die. The only importer of torch.

`python -m gpu_tui.teardown.verify_worker` reads one JSON request per line on stdin and answers each
with one JSON line on stdout. Nothing that a file contains may leave here but numbers and names.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import re
import resource
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

WEIGHT_KEYS = ("model_state_dict", "model", "state_dict")
NODES = 1_000_000  # containers and tensors that a checkpoint may hold
CHUNK = 1 << 24  # elements judged at once
JSON_CAP = 64 << 20
TORCH_AT_LEAST = (2, 11)  # before it, weights_only could be made to corrupt memory
INSTALL = "pip install 'gpu-tui[verify]'"


class Refused(Exception):
    """Readable perhaps, but not by anything that is allowed here."""


class Skipped(Exception):
    """The reader is not installed."""


class Failed(Exception):
    """Not what it should be."""


def main() -> int:
    """Answer requests until stdin ends."""
    _jail()
    out = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # a library that prints must not write into the protocol
    for line in sys.stdin.buffer:
        request = json.loads(line)
        out.write(json.dumps(answer(request)) + "\n")
        out.flush()
    return 0


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The verdict on one file: load, detail, nonfinite, tensors, bytes."""
    try:
        return _load(request["path"], request["kind"], request["strict"], request["memory"])
    except Refused as error:
        return {"load": "refused", "detail": str(error)}
    except Skipped as error:
        return {"load": "skipped", "detail": str(error)}
    except Failed as error:
        return {"load": "failed", "detail": str(error)}
    except MemoryError:
        return {"load": "failed", "detail": "it asks for more memory than its size explains"}
    except Exception as error:  # any reader may raise anything on a hostile file
        return {"load": "failed", "detail": f"it does not load ({type(error).__name__})"}


def _load(path: str, kind: str, strict: bool, memory: int) -> dict[str, Any]:
    readers = {"json": _json, "torch": _torch, "safetensors": _safetensors}
    if kind not in readers:
        raise Refused("nothing here can open it safely")
    if kind != "json":
        _torch_module()
    _limit_memory(memory)
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        # The held file by its number: what was opened is what is read, also by a reader of names.
        name = f"/proc/self/fd/{fd}" if os.path.isdir("/proc/self/fd") else path
        return readers[kind](file, name, strict)


def _json(file: BinaryIO, name: str, strict: bool) -> dict[str, Any]:
    data = file.read(JSON_CAP + 1)
    if len(data) > JSON_CAP:
        raise Failed("far too long for metrics")
    value = json.loads(data)
    if strict and not isinstance(value, dict):
        raise Failed("metrics must be an object")
    odd = [key for key, number in _numbers(value) if not math.isfinite(number)]
    return {"load": "ok", "detail": f"{len(odd)} values are NaN or infinite" if odd else ""}


def _numbers(value: object) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        yield from ((key, item) for key, item in value.items() if isinstance(item, float))


def _torch(file: BinaryIO, name: str, strict: bool) -> dict[str, Any]:
    torch = _torch_module()
    torch.sparse.check_sparse_tensor_invariants.enable()
    try:
        with torch.serialization.safe_globals(_inert_classes()):
            # weights_only is written out: an environment variable can flip the default.
            loaded = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        raise _translated(error) from None
    if strict and not (isinstance(loaded, dict) and any(key in loaded for key in WEIGHT_KEYS)):
        raise Failed(f"it is no checkpoint: none of {', '.join(WEIGHT_KEYS)} is in it")
    return _judge(torch, loaded)


def _safetensors(file: BinaryIO, name: str, strict: bool) -> dict[str, Any]:
    torch = _torch_module()
    try:
        reader = importlib.import_module("safetensors")
    except ImportError:
        raise Skipped(f"safetensors is not installed: {INSTALL}") from None
    with reader.safe_open(name, "pt") as opened:
        return _judge(torch, {key: opened.get_tensor(key) for key in list(opened.keys())})


def _translated(error: Exception) -> Exception:
    """Our own words: torch's advice on failure is to switch the protection off."""
    if isinstance(error, MemoryError):
        return error
    text = str(error)
    if match := re.search(r"GLOBAL ([A-Za-z0-9_.]{1,120}) ", text):
        return Refused(f"it needs {match[1]}, which is not allowed in a checkpoint")
    if "weights_only" in text and re.search(r"[Uu]nsupported (?:class|global)", text):
        return Refused("it needs code to be read, which is not allowed in a checkpoint")
    if "memory" in text and isinstance(error, RuntimeError):
        return MemoryError()
    return Failed(f"it does not load ({type(error).__name__})")


def _judge(torch: Any, loaded: object) -> dict[str, Any]:
    """Touch every byte of every tensor's storage once, and count what is not finite."""
    seen: set[int] = set()
    tensors = size = values = odd = 0
    notes: list[str] = []
    for tensor in _tensors(torch, loaded):
        tensors += 1
        if tensor.layout is not torch.strided or tensor.is_quantized:
            notes.append("some tensors are sparse or quantized and were not read")
            continue
        if tensor.device.type != "cpu":
            raise Failed("it holds tensors without data")
        storage = tensor.untyped_storage()
        if storage.data_ptr() in seen:
            continue
        seen.add(storage.data_ptr())
        size += storage.nbytes()
        count, bad = _read(torch, tensor.dtype, storage)
        values, odd = values + count, odd + bad
    if not tensors or not size:
        raise Failed("there is not one weight in it")
    if odd:
        notes.append(f"{odd} of {values} values are NaN or infinite")
    if size < 1024:
        notes.append(f"only {size} bytes of weights")
    return {
        "load": "ok",
        "detail": "; ".join(dict.fromkeys(notes)),
        "nonfinite": odd / values if values else None,
        "tensors": tensors,
        "bytes": size,
    }


def _read(torch: Any, dtype: Any, storage: Any) -> tuple[int, int]:
    """(values, values that are not finite) of one storage; every byte of it is read."""
    flat = torch.empty(0, dtype=dtype).set_(storage)
    floating = dtype.is_floating_point or dtype.is_complex
    if not floating:
        flat = torch.empty(0, dtype=torch.uint8).set_(storage)
    odd = 0
    for start in range(0, flat.numel(), CHUNK):
        part = flat[start : start + CHUNK]
        if dtype.is_complex:
            part = torch.view_as_real(part)
        elif floating and dtype.itemsize == 1:
            part = part.to(torch.float32)
        low, high = torch.aminmax(part)
        if floating and not (torch.isfinite(low) and torch.isfinite(high)):
            odd += int((~torch.isfinite(part)).sum())
    return (flat.numel() if floating else 0), odd


def _tensors(torch: Any, loaded: object) -> Iterator[Any]:
    """Every tensor in a loaded object, without recursion and each container once."""
    todo, seen, nodes = [loaded], set[int](), 0
    while todo:
        value = todo.pop()
        nodes += 1
        if nodes > NODES:
            raise Failed(f"it holds more than {NODES} things")
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, dict | list | tuple | set) and id(value) not in seen:
            seen.add(id(value))
            todo += value.values() if isinstance(value, dict) else value


def _torch_module() -> Any:
    """Torch, imported when the first checkpoint comes: metrics alone do not need it."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        raise Skipped(f"torch is not installed: {INSTALL}") from None
    version = tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])
    if version < TORCH_AT_LEAST:
        raise Skipped(f"torch {torch.__version__} is too old to load safely: {INSTALL}")
    torch.set_num_threads(1)
    return torch


def _inert_classes() -> list[Any]:
    """What ordinary training scripts put beside the weights and what runs no code when rebuilt."""
    import argparse
    import datetime
    import pathlib

    classes: list[Any] = [
        argparse.Namespace,
        *(datetime.datetime, datetime.date, datetime.timedelta),
        *(pathlib.PosixPath, pathlib.PurePosixPath),
    ]
    try:
        numpy = importlib.import_module("numpy")
    except ImportError:
        return classes
    scalar = numpy.float64(0).__reduce__()[0]
    rebuild = numpy.zeros(1).__reduce__()[0]
    kinds = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
    dtypes = {type(numpy.dtype(kind)) for kind in kinds.split()}
    return [*classes, scalar, rebuild, numpy.ndarray, numpy.dtype, *dtypes]


def _jail() -> None:
    """Give up what a loader does not need. Limits that this system lacks are left as they are."""
    for name, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        _limit(name, value)
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")  # if memory runs out, this process goes first
    except OSError:
        pass


def _limit_memory(room: int) -> None:
    """Allow `room` bytes of address space beyond what is mapped now, and CPU time to match."""
    mapped = 0
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return
    _limit(resource.RLIMIT_AS, mapped + room, soft_only=True)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    seconds = 60 + 6 * room / (1 << 30)
    _limit(
        resource.RLIMIT_CPU, math.ceil(usage.ru_utime + usage.ru_stime + seconds), soft_only=True
    )


def _limit(name: int, value: int, *, soft_only: bool = False) -> None:
    hard = resource.getrlimit(name)[1]
    bounded = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(name, (bounded, hard if soft_only else bounded))
    except (ValueError, OSError):
        return


if __name__ == "__main__":
    raise SystemExit(main())
