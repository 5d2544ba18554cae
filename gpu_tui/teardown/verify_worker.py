"""Loads one file after another, each in a process of its own that may die.

`python -m gpu_tui.teardown.verify_worker` closes itself in, then reads one JSON request per line on
stdin and answers each with one JSON line on stdout. Torch is imported once; every file is read by a fork
that never reads another, so no file can touch the verdict on the next. Nothing that a file contains may
leave here but numbers and names.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, BinaryIO

from gpu_tui.teardown.reader import (
    dcp,
    flax_file,
    formats,
    hdf5_file,
    hf_index,
    jail,
    keras_file,
    numpy_file,
    pickled,
    pointer_file,
    safetensors_file,
    text_file,
    torch_file,
)
from gpu_tui.teardown.reader.hdf5_lib import h5py_module
from gpu_tui.teardown.reader.outcome import (
    WARNINGS_MOST,
    Failed,
    Incomplete,
    Refused,
    Seen,
    Skipped,
)
from gpu_tui.teardown.reader.torch_lib import torch_module

ANSWER_CAP = 16_384
NO_READER = "by its hash alone: no reader here knows this format"


@dataclass(frozen=True, slots=True)
class Request:
    """One file: `memory` in bytes beyond what is mapped, `seconds` of wall time, names that a person allowed."""

    path: str
    memory: int
    seconds: float
    allow: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Without directories."""
        return os.path.basename(self.path)


def main() -> int:
    """Answer requests until stdin ends."""
    cut = jail.enter()
    out = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # a library that prints must not write into the protocol
    for line in sys.stdin.buffer:
        request = Request(**json.loads(line))
        kind = _kind(request)
        if kind in formats.NEEDS_TORCH:
            with suppress(Skipped):
                torch_module()
        if kind in formats.NEEDS_HDF5:
            with suppress(Skipped):
                h5py_module()
        # Nothing is read of a file that no reader knows, and a process of its own takes ten milliseconds.
        found = answer(request, kind) if kind == "data" else _in_a_fork(request, kind)
        out.write(json.dumps({**found, "how": _how(cut), "network": not cut}) + "\n")
        out.flush()
    return 0


def answer(request: Request, kind: str) -> dict[str, Any]:
    """The verdict on one file, as it is sent."""
    load, seen = "ok", Seen()
    needs: tuple[str, ...] = ()
    try:
        seen = _read(request, kind)
    except Refused as error:
        load, seen.detail, needs = "refused", str(error), error.needs
    except Skipped as error:
        load, seen.detail = "skipped", str(error)
    except Incomplete as error:
        load, seen.detail = "incomplete", str(error)
    except Failed as error:
        load, seen.detail = "failed", str(error)
    except MemoryError:
        load, seen.detail = "failed", "it asks for more memory than its size explains"
    except OSError as error:
        load, seen.detail = "failed", f"cannot be read here: {error.strerror}"
    except Exception as error:  # any reader may raise anything on a hostile file
        load, seen.detail = "failed", f"it does not load ({type(error).__name__})"
    return {
        "load": load,
        "detail": seen.detail,
        "warnings": list(dict.fromkeys(seen.warnings))[:WARNINGS_MOST],
        "needs": list(needs),
        "nonfinite": seen.nonfinite,
        "tensors": seen.tensors,
        "bytes": seen.bytes,
        "blank": seen.blank,
        "ranks": seen.ranks,
        "points_to": seen.points_to,
        "checkpoint": kind in formats.WEIGHTS,
    }


def _read(request: Request, kind: str) -> Seen:
    with _open(request.path) as file:
        if kind == "data":
            raise Skipped(NO_READER)
        size = os.fstat(file.fileno()).st_size
        jail.limit_memory(request.memory)
        name, directory = request.name, os.path.dirname(request.path)
        allow = frozenset(request.allow)
        match kind:
            case "torch":
                return torch_file.read(file, size, name, allow)
            case "safetensors":
                return safetensors_file.read(file, size, _again(file, request.path))
            case "dcp-metadata":
                return dcp.read_metadata(file, size, directory)
            case "dcp-shard":
                return dcp.read_shard(file, size, directory, name, allow)
            case "hf-index":
                return hf_index.read(file, directory, allow)
            case "pointer":
                return pointer_file.read(file)
            case "pickle":
                return pickled.read(file, name, allow)
            case "npy":
                return numpy_file.read_npy(file, size)
            case "npz":
                return numpy_file.read_npz(file, size)
            case "hdf5":
                return hdf5_file.read(file, size)
            case "keras":
                return keras_file.read(file, size)
            case "flax":
                return flax_file.read(file, size)
            case "json" if name.lower().endswith(keras_file.INDEX):
                return keras_file.read_index(file, name, directory)
            case "json":
                return text_file.read_json(file, name)
            case "jsonl":
                return text_file.read_lines(file)
            case "csv":
                return text_file.read_table(file, name.lower())
            case "program":
                raise Refused("an exported program is code, not weights: it is never loaded")
            case "orbax":
                raise Skipped(
                    "by its hash alone: no reader here knows Orbax. Save a .msgpack, .npz or"
                    " .safetensors beside it"
                )
    raise Skipped(NO_READER)


def _open(path: str) -> BinaryIO:
    """A regular file that is no link; what was opened is what is read."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    return os.fdopen(fd, "rb")


def _again(file: BinaryIO, path: str) -> str:
    """The held file by its number, for a reader that takes names."""
    return f"/proc/self/fd/{file.fileno()}" if os.path.isdir("/proc/self/fd") else path


def _kind(request: Request) -> str:
    try:
        with _open(request.path) as file:
            return formats.kind_of(request.name, file.read(formats.HEAD))
    except OSError:
        return "data"


def _in_a_fork(request: Request, kind: str) -> dict[str, Any]:
    """The answer of a process that is gone afterwards, or what became of it."""
    inner, outer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(inner)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            jail.confine()
            os.write(outer, json.dumps(answer(request, kind)).encode())
        finally:
            os._exit(0)
    os.close(outer)
    data, late = _until_closed(inner, request.seconds)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    if late:
        return _failed(f"loading took longer than {request.seconds:.0f} s", kind)
    if data:
        with suppress(ValueError, TypeError):
            return dict(json.loads(data))
    return _failed(_death(os.waitstatus_to_exitcode(status)), kind)


def _until_closed(pipe: int, seconds: float) -> tuple[bytes, bool]:
    """(what came, whether the time ran out)."""
    ends, data = time.monotonic() + seconds, b""
    with os.fdopen(pipe, "rb", buffering=0) as stream:
        while len(data) < ANSWER_CAP:
            left = ends - time.monotonic()
            if left <= 0 or not select.select([stream], [], [], left)[0]:
                return b"", True
            block = stream.read(ANSWER_CAP)
            if not block:
                break
            data += block
    return data, False


def _death(code: int) -> str:
    if code == -signal.SIGXCPU:
        return "loading it took more processor time than its size explains"
    return f"loading it killed the reader ({f'signal {-code}' if code < 0 else f'exit {code}'})"


def _failed(text: str, kind: str) -> dict[str, Any]:
    return {"load": "failed", "detail": text, "checkpoint": kind in formats.WEIGHTS}


def _how(cut: bool) -> str:
    """What read it, and what it could reach."""
    torch = sys.modules.get("torch")
    parts = [f"torch {torch.__version__}"] if torch else []
    with suppress(PackageNotFoundError):
        parts += [f"safetensors {version('safetensors')}"] if torch else []
    with suppress(PackageNotFoundError):
        parts += [f"h5py {version('h5py')}"] if "h5py" in sys.modules else []
    return ", ".join([*parts, "no network" if cut else "the network could not be cut here"])


if __name__ == "__main__":
    raise SystemExit(main())
