"""Sent over ssh to a python on the box, as text: loads checkpoints there and says what it loaded.

It writes nothing and needs nothing of this package. One JSON line per file, each with the SHA-256 of the
bytes that were loaded; Python 3.7 and torch 1.13 (the first with weights_only) are enough.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import stat
import sys
import warnings
from typing import Any

KEYS = ("model_state_dict", "model", "state_dict")
BLOCK = 1 << 20
CHUNK = 1 << 24
NODES = 1000000


class NotOne(Exception):
    """Not what it should be; the text says why."""


def main(mark: str, root: str, rows: str) -> None:
    """Answer each of `rows`: (number, path below root, memory that its load may take, what it may be
    besides weights: a companion of them, the settings of an optimizer, or nothing).
    """
    warnings.simplefilter("ignore")
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    for number, path, memory, besides in json.loads(rows):
        answer = {"n": number, "torch": str(torch.__version__)}
        try:
            _limit(memory)
            answer.update(_load(torch, os.path.join(root, path), besides))
        except NotOne as error:
            answer.update(load="failed", detail=str(error))
        except MemoryError:
            answer.update(load="failed", detail="it asks for more memory than its size explains")
        except Exception as error:
            refused = "weights_only" in str(error) or "GLOBAL" in str(error)
            kind = type(error).__name__
            answer.update(
                load="refused" if refused else "failed", detail=f"it does not load ({kind})"
            )
        sys.stdout.write(mark + json.dumps(answer) + "\n")
        sys.stdout.flush()


def _load(torch: Any, path: str, besides: str) -> dict[str, Any]:
    """Hash and load the same open file; what changes meanwhile is not what was hashed."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    with os.fdopen(os.open(path, flags), "rb") as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise NotOne("it is no regular file")
        digest = hashlib.sha256()
        for block in iter(lambda: file.read(BLOCK), b""):
            digest.update(block)
        file.seek(0)
        name = os.path.basename(path)
        loaded = _read(torch, file, path)
        share = _judge(torch, loaded, _may_be_empty(loaded, besides))
        if name == "best.pth" and not (isinstance(loaded, dict) and set(KEYS) & set(loaded)):
            raise NotOne(
                f"it is no checkpoint: none of {', '.join(KEYS)} is in it; "
                "a bare state_dict passes under any other name (results.artifacts)"
            )
        if name == "best.pth":
            _judge(torch, [loaded[key] for key in KEYS if key in loaded], False)
        after = os.fstat(file.fileno())
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise NotOne("it changed while it was read")
    return {"load": "ok", "detail": "", "sha256": digest.hexdigest(), "nonfinite": share}


def _read(torch: Any, file: Any, path: str) -> Any:
    if not path.endswith(".safetensors"):
        # Written out, as everywhere: an environment variable can flip the default.
        return torch.load(file, map_location="cpu", weights_only=True)
    library = importlib.import_module("safetensors")
    with library.safe_open(f"/proc/self/fd/{file.fileno()}", "pt") as opened:
        return {key: opened.get_tensor(key) for key in opened.keys()}  # noqa: SIM118


def _may_be_empty(loaded: Any, besides: str) -> bool:
    if not isinstance(loaded, dict):
        return False
    groups = loaded.get("param_groups")
    if besides == "settings" and isinstance(loaded.get("state"), dict) and isinstance(groups, list):
        params = [isinstance(group, dict) and group.get("params") for group in groups]
        # A tensor there is one by itself, and has no truth to be asked for.
        return bool(params) and all(isinstance(listed, list) and listed for listed in params)
    return besides == "companion" and bool(loaded)


def _judge(torch: Any, loaded: Any, may_be_empty: bool) -> float | None:
    """The share of values that are NaN or infinite; every storage is touched once."""
    todo = [loaded]
    met: set[Any] = set()
    nodes = tensors = values = odd = 0
    while todo:
        value = todo.pop()
        nodes += 1
        if nodes > NODES:
            raise NotOne(f"it holds more than {NODES} things")
        if isinstance(value, torch.Tensor):
            tensors += bool(value.numel())
            count, bad = _touch(torch, value, met)
            values, odd = values + count, odd + bad
        elif isinstance(value, (dict, list, tuple)) and id(value) not in met:
            met.add(id(value))
            todo.extend(value.values() if isinstance(value, dict) else value)
    if not tensors and not may_be_empty:
        raise NotOne("there is not one weight in it")
    return float(odd) / values if values else None


def _touch(torch: Any, tensor: Any, met: set[Any]) -> tuple[int, int]:
    if tensor.layout is not torch.strided or tensor.is_quantized or not tensor.numel():
        return 0, 0
    place = (tensor.data_ptr(), tensor.numel(), tensor.stride())
    if place in met or 0 in tensor.stride():
        return 0, 0
    met.add(place)
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return 0, 0
    flat = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    flat = flat.reshape(-1)
    odd = 0
    for start in range(0, flat.numel(), CHUNK):
        part = flat[start : start + CHUNK].to(torch.float32)
        odd += int((~torch.isfinite(part)).sum())
    return flat.numel(), odd


def _limit(memory: int) -> None:
    """Address space beyond what is mapped now: a CUDA build maps tens of GiB before it loads a byte."""
    import resource

    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    room = mapped + memory
    resource.setrlimit(resource.RLIMIT_AS, (room if hard < 0 else min(room, hard), hard))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])
