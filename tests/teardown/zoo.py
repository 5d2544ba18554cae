"""Crafted files: what hostile, broken and odd checkpoints look like, each with the verdict it must get.

Run as a program (`python zoo.py DIRECTORY`) it writes them all: torch is imported there and not in the
tests. Every file that could run something would touch `owned` in that directory.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import zoo_arrays

# Path -> (load, words of the detail or of a warning).
ZOO: dict[str, tuple[str, str]] = {
    # --- code in a pickle, by every way in ---
    "rce-zip.pt": ("refused", "posix.system"),
    "rce-legacy.pt": ("refused", "posix.system"),
    "rce-bare.pt": ("refused", "posix.system"),
    "rce-bare.pkl": ("refused", "posix.system"),
    "rce-stack-global.pkl": ("refused", "posix.system"),
    "rce-eval.pt": ("refused", "builtins.eval"),
    "rce-getattr.pt": ("refused", "builtins.getattr"),
    "rce-import.pkl": ("refused", "importlib.import_module"),
    "rce-torch-load.pkl": ("refused", "a checkpoint inside"),
    "rce-runpy.pt": ("refused", "runpy.run_path"),
    "rce-inst.pkl": ("refused", "os.system"),
    "rce-numpy-name.pt": ("refused", "numpy.load"),
    "rce-no-suffix": ("refused", "posix.system"),
    "rce-renamed.weights": ("refused", "posix.system"),
    "rce-memo.pkl": ("refused", "posix.system"),
    "rce-dcp/.metadata": ("refused", "posix.system"),
    "rce-dcp/__0_0.distcp": ("refused", "posix.system"),
    "rce-shard/.metadata": ("ok", "all here"),
    "rce-shard/__0_0.distcp": ("refused", "posix.system"),
    "rce.npy": ("skipped", "never opened"),
    "rce.npz": ("skipped", "never opened"),
    "program.pt": ("refused", "TorchScript"),
    "program.pt2": ("refused", "exported program"),
    "module.pt": ("refused", "Linear"),
    "dataclass.pt": ("refused", "__main__.Config"),
    "many-names.pt": ("refused", "30 names"),
    # --- zips that are not what they seem ---
    "bomb.pt": ("failed", "compressed"),
    "bomb-nested.pt": ("failed", "compressed"),
    "bomb.npz": ("failed", "far too much"),
    "claims-more.pt": ("failed", ""),
    "overlap.pt": ("failed", "overlap"),
    "encrypted.pt": ("failed", "encrypted"),
    "symlink-member.pt": ("failed", "no plain file"),
    "dotdot-member.pt": ("failed", "no plain file"),
    "two-names.pt": ("failed", "two members"),
    "before.pt": ("failed", ""),
    "behind.pt": ("failed", "behind the archive"),
    "no-members.pt": ("failed", ""),
    "members.pt": ("failed", "more than 100000"),
    "nocrc.pt": ("ok", "no checksum"),
    "skipdata.pt": ("failed", "checksum"),
    "no-pickle.pt": ("failed", ""),
    "storage-missing.pt": ("failed", ""),
    "storage-short.pt": ("failed", ""),
    # --- more than it seems ---
    "huge-claim.pt": ("failed", ""),
    "huge-storage.pt": ("failed", ""),
    "huge-bytearray.pkl": ("failed", ""),
    "stride0.pt": ("ok", ""),
    "cycle.pt": ("ok", ""),
    "laughs.pt": ("ok", ""),
    "deep.pt": ("ok", ""),
    "deep.pkl": ("ok", "no array"),
    "views.pt": ("ok", ""),
    # --- tensors of other kinds ---
    "sparse-oob.pt": ("failed", ""),
    "sparse-csr-oob.pt": ("failed", ""),
    "sparse.pt": ("ok", "layout"),
    "nested.pt": ("ok", "layout"),
    "meta.pt": ("failed", "without data"),
    "quantized.pt": ("ok", ""),
    "complex.pt": ("ok", "1 of 300"),
    "fp8.pt": ("ok", "1 of 1200"),
    "bf16.pt": ("ok", ""),
    "half-large.pt": ("ok", ""),
    "bool-int.pt": ("ok", ""),
    "typed-storage.pt": ("ok", ""),
    "parameter.pt": ("ok", ""),
    # --- loads, and is worth nothing ---
    "empty.pt": ("failed", "not one weight"),
    "none.pt": ("failed", "not one weight"),
    "seven.pt": ("failed", "not one weight"),
    "hi.pt": ("failed", "not one weight"),
    "no-elements.pt": ("failed", "not one weight"),
    "zero-byte.pt": ("failed", "empty file"),
    "zero-byte.safetensors": ("failed", "empty file"),
    "zero-byte.json": ("failed", "no JSON"),
    "nan-only.pt": ("ok", "600 of 600"),
    "inf.pt": ("ok", "1 of 600"),
    "zeros.pt": ("ok", "every weight in it is zero"),
    "little.pt": ("ok", "only 12 bytes"),
    "list/best.pth": ("failed", "no checkpoint"),
    "other/best.pth": ("failed", "no checkpoint"),
    "tensor/best.pth": ("failed", "no checkpoint"),
    "whole/best.pth": ("refused", "save its state_dict() there, under one of model_state_dict"),
    "settings/best.pth": ("failed", "no checkpoint"),
    "empty-model/best.pth": ("failed", "its model is empty"),
    "no-model/best.pth": ("failed", "its model is empty"),
    "hollow-model/best.pth": ("failed", "its model is empty"),
    "named-model/best.pth": ("failed", "its model is empty"),
    "model-and-name/best.pth": ("ok", ""),
    "only-optimizer.pt": ("ok", "an optimizer's numbers are in it, and not one weight"),
    "beside-optimizer.pt": ("ok", "an optimizer's numbers are in it, and not one weight"),
    "lightning.ckpt": ("ok", "an optimizer's numbers are in it, and not one weight"),
    "with-weights.ckpt": ("ok", ""),
    "optimizer.pt": ("ok", "an optimizer's settings are in it, and not one tensor"),
    "sgd/optimizer.pth": ("ok", "an optimizer's settings are in it, and not one tensor"),
    "tensors/optimizer.pt": ("ok", "only 24 bytes"),
    "model-settings.pt": ("failed", "not one weight"),
    "no-state/optimizer.pt": ("failed", "not one weight"),
    "no-groups/optimizer.pt": ("failed", "not one weight"),
    # --- other formats under these names ---
    "html.pt": ("failed", "does not load"),
    "noise.pt": ("failed", "does not load"),
    "old.tar.pt": ("refused", "2016"),
    "gzip.pt": ("failed", "does not load"),
    "safetensors.pt": ("failed", "does not load"),
    "zip.safetensors": ("failed", "header"),
    "lfs-pointer.safetensors": ("failed", "header"),
    "protocol4.pt": ("refused", "protocol 4"),
    "half-mixed.pt": ("failed", ""),
    # --- safetensors ---
    "header-2e40.safetensors": ("failed", "longer than the file"),
    "header-giant.safetensors": ("failed", "longer than any writer"),
    "overlap.safetensors": ("failed", "overlap"),
    "hole.safetensors": ("failed", "hole"),
    "trailing.safetensors": ("failed", "not as long as the file"),
    "negative.safetensors": ("failed", "in a way"),
    "shape-2e62.safetensors": ("failed", "as its shape says"),
    "true-offset.safetensors": ("failed", "in a way"),
    "twice.safetensors": ("failed", "twice"),
    "dtype.safetensors": ("failed", "in a way"),
    "deep.safetensors": ("failed", "no JSON"),
    "empty.safetensors": ("failed", "not one weight"),
    "nan.safetensors": ("ok", "1 of 300"),
    # --- sharded sets ---
    "dcp-short/.metadata": ("failed", "bytes of"),
    "dcp-short/__0_0.distcp": ("failed", ""),
    "dcp-gone/.metadata": ("incomplete", "not here"),
    "dcp-alone/__0_0.distcp": ("incomplete", ".metadata is not here"),
    "dcp-away/.metadata": ("failed", "nowhere"),
    "dcp-data/.metadata": ("failed", "otherwise than its writer"),
    "dcp-data/shard.dat": ("skipped", "hash alone"),
    "dcp/.metadata": ("ok", "all here"),
    "dcp/__0_0.distcp": ("ok", ""),
    "hf-gone/model.safetensors.index.json": ("incomplete", "not here"),
    "hf-gone/model-00001-of-00002.safetensors": ("incomplete", "model-00002-of-00002.safetensors"),
    "hf-key/model.safetensors.index.json": ("failed", "does not hold"),
    "hf-key/model-00001-of-00001.safetensors": ("ok", ""),
    "hf-away/model.safetensors.index.json": ("failed", "no file beside it"),
    "hf-twice/model.safetensors.index.json": ("failed", "twice"),
    "hf-none/model.safetensors.index.json": ("failed", "without weights"),
    # --- metrics ---
    "nan.json": ("ok", "2 values"),
    "huge-number.json": ("ok", "1 value is NaN"),
    "twice.json": ("ok", "stands twice"),
    "deep.json": ("failed", "no JSON"),
    "latin1.json": ("failed", "no JSON"),
    "cut.json": ("failed", "no JSON"),
    "list/best_metrics.json": ("failed", "an object"),
    "null/best_metrics.json": ("ok", ""),
    "torn.jsonl": ("ok", "1 of 3 lines"),
    "binary.jsonl": ("failed", "not one line"),
    "holes.csv": ("failed", "zero bytes"),
    "ragged.csv": ("ok", "1 of 3 rows"),
    # --- arrays ---
    "short.npy": ("failed", "as its shape says"),
    "huge.npy": ("failed", "as its shape says"),
    "code.npy": ("failed", ""),
    "nan.npy": ("ok", "1 of 4"),
    # --- nothing here reads them, and that is said ---
    "model.onnx": ("skipped", "by its hash alone"),
    "model.gguf": ("skipped", "by its hash alone"),
    "train.log": ("skipped", "by its hash alone"),
    "archive.zip": ("skipped", "by its hash alone"),
    **zoo_arrays.ANIMALS,
}  # fmt: skip


def write(where: Path) -> None:
    """Make every file of ZOO below `where`."""
    import torch  # noqa: TID251 - this is a program of its own

    torch.manual_seed(0)
    zoo = _Zoo(torch, where)
    for part in (_code, _zips, _huge, _kinds, _worthless, _formats, _safetensors, _sharded, _text):
        part(zoo)
    zoo_arrays.write(where, zoo.put)


class _Zoo:
    """Where the files go, and the few things that all of them are made of."""

    def __init__(self, torch: Any, where: Path) -> None:
        self.torch = torch
        self.where = where
        self.w = torch.arange(600, dtype=torch.float32)
        self.good = self.saved({"model": {"w": self.w}})

    def put(self, name: str, data: bytes) -> None:
        path = self.where / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def saved(self, value: Any, **options: Any) -> bytes:
        out = io.BytesIO()
        self.torch.save(value, out, **options)
        return out.getvalue()

    def save(self, name: str, value: Any, **options: Any) -> None:
        self.put(name, self.saved(value, **options))

    def call(self, function: Any, *args: Any) -> Any:
        return _Call(function, args)

    @property
    def evil(self) -> Any:
        return self.call(os.system, f"touch {self.where / 'owned'}")


class _Call:
    def __init__(self, function: Any, args: tuple[Any, ...]) -> None:
        self.what = (function, args)

    def __reduce__(self) -> Any:
        return self.what


class Config:
    """A class of somebody's training script."""

    def __init__(self) -> None:
        self.lr = 1e-3


def _named(module: str, name: str, *args: str) -> bytes:
    """A pickle that calls `module.name` of texts, written by hand: nothing of it is imported here."""
    body = b"".join(b"X" + struct.pack("<I", len(a)) + a.encode() for a in args)
    return b"\x80\x02}X\x01\x00\x00\x00ac" + f"{module}\n{name}\n(".encode() + body + b"tRs."


def _repacked(
    data: bytes,
    change: dict[str, bytes | None],
    extra: Iterable[tuple[Any, bytes]] = (),
    **how: Any,
) -> bytes:
    """A zip checkpoint with members replaced (None: left out) and others added."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", **how) as new:
        for info in old.infolist():
            name = info.filename.split("/", 1)[1]
            body = change[name] if name in change else old.read(info)
            if body is not None:
                new.writestr(info.filename, body)
        for info, body in extra:
            new.writestr(info, body)
    return out.getvalue()


def _code(zoo: _Zoo) -> None:
    torch, w = zoo.torch, zoo.w
    owned = str(zoo.where / "owned")
    zoo.save("rce-zip.pt", {"model": {"w": w}, "e": zoo.evil})
    zoo.save("rce-legacy.pt", {"e": zoo.evil}, _use_new_zipfile_serialization=False)
    zoo.put("rce-bare.pt", pickle.dumps({"e": zoo.evil}, 2))
    zoo.put("rce-bare.pkl", pickle.dumps({"e": zoo.evil}, 5))
    zoo.put("rce-stack-global.pkl", pickle.dumps([zoo.evil, zoo.evil], 4))
    for name, module, called in (
        ("rce-eval.pt", "builtins", "eval"),
        ("rce-getattr.pt", "builtins", "getattr"),
        ("rce-runpy.pt", "runpy", "run_path"),
        ("rce-numpy-name.pt", "numpy", "load"),
    ):
        zoo.put(name, _repacked(zoo.good, {"data.pkl": _named(module, called, owned)}))
    zoo.put("rce-import.pkl", _named("importlib", "import_module", "antigravity"))
    zoo.put("rce-torch-load.pkl", pickle.dumps({"w": w}, 2))
    zoo.put("rce-inst.pkl", b"(S'touch " + owned.encode() + b"'\nios\nsystem\n.")
    zoo.save("rce-no-suffix", {"e": zoo.evil})
    zoo.save("rce-renamed.weights", {"e": zoo.evil}, _use_new_zipfile_serialization=False)
    # The module and the name of the call come out of the memo.
    zoo.put(
        "rce-memo.pkl",
        b"\x80\x04\x8c\x05posix\x94\x8c\x06system\x940h\x00h\x01\x93\x8c"
        + bytes([len(f"touch {owned}")])
        + f"touch {owned}".encode()
        + b"\x85R.",
    )
    zoo.put("rce-dcp/.metadata", pickle.dumps({"e": zoo.evil}, 4))
    zoo.put("rce-dcp/__0_0.distcp", zoo.good)
    _dcp(zoo, "rce-shard")
    shard = zoo.where / "rce-shard/__0_0.distcp"
    size = len(shard.read_bytes())
    evil = zoo.saved({"e": zoo.evil})
    _metadata(zoo, "rce-shard/.metadata", "__0_0.distcp", len(evil))
    assert size
    zoo.put("rce-shard/__0_0.distcp", evil)
    import numpy

    objects = numpy.array([zoo.evil, None], dtype=object)
    numpy.save(zoo.where / "rce.npy", objects, allow_pickle=True)
    numpy.savez(zoo.where / "rce.npz", a=objects)
    torch.jit.save(torch.jit.script(torch.nn.Linear(3, 3)), zoo.where / "program.pt")
    zoo.put("program.pt2", zoo.good)
    zoo.save("module.pt", torch.nn.Linear(3, 3))
    zoo.save("dataclass.pt", {"model": {"w": w}, "config": Config()})
    calls = b"".join(f"cmod{n}\nThing\n(tRq".encode() + bytes([n]) for n in range(30))
    zoo.put("many-names.pt", _repacked(zoo.good, {"data.pkl": b"\x80\x02" + calls + b"."}))


def _zips(zoo: _Zoo) -> None:
    good = zoo.good
    zoo.put(
        "bomb.pt", _repacked(good, {"data/0": bytes(1 << 24)}, compression=zipfile.ZIP_DEFLATED)
    )
    zoo.put("bomb-nested.pt", _repacked(good, {}, compression=zipfile.ZIP_BZIP2))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bomb, bomb.open("a.npy", "w") as inner:
        for _ in range(272):
            inner.write(bytes(1 << 20))
    zoo.put("bomb.npz", out.getvalue())
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        info = next(i for i in archive.infolist() if i.filename.endswith("data/0"))
        directory = archive.start_dir
    entry = good.index(info.filename.encode(), directory) - 46
    patched = bytearray(good)
    patched[entry + 20 : entry + 28] = struct.pack("<II", 1 << 30, 1 << 30)
    zoo.put("claims-more.pt", bytes(patched))
    patched = bytearray(good)
    patched[entry + 42 : entry + 46] = struct.pack("<I", 4)
    zoo.put("overlap.pt", bytes(patched))
    patched = bytearray(good)
    patched[entry + 8] |= 1
    zoo.put("encrypted.pt", bytes(patched))
    link = zipfile.ZipInfo("archive/link")
    link.external_attr = 0o120777 << 16
    zoo.put("symlink-member.pt", _repacked(good, {}, [(link, b"/etc/passwd")]))
    zoo.put("dotdot-member.pt", _repacked(good, {}, [("archive/../../x", b"x")]))
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zoo.put("two-names.pt", _repacked(good, {}, [(info.filename, bytes(2400))]))
    zoo.put("before.pt", b"#!/bin/sh\nexit 1\n" + good)
    zoo.put("behind.pt", good + b"#!/bin/sh\nexit 1\n")
    zoo.put("no-members.pt", b"PK\x05\x06" + bytes(18))
    members = io.BytesIO()
    with zipfile.ZipFile(members, "w") as archive:
        for number in range(100_001):
            archive.writestr(zipfile.ZipInfo(f"a/{number}"), b"")
    zoo.put("members.pt", members.getvalue())
    zoo.put("nocrc.pt", _without_checksums(good))
    with zoo.torch.serialization.skip_data():
        zoo.torch.save({"model": {"w": zoo.torch.ones(600)}}, zoo.where / "skipdata.pt")
    zoo.put("no-pickle.pt", _repacked(good, {"data.pkl": None}))
    zoo.put("storage-missing.pt", _repacked(good, {"data/0": None}))
    zoo.put("storage-short.pt", _repacked(good, {"data/0": bytes(100)}))


def _without_checksums(data: bytes) -> bytes:
    """As written with compute_crc32=False."""
    changed = data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            changed = changed.replace(struct.pack("<I", info.CRC), bytes(4))
    assert zlib.crc32(changed) != zlib.crc32(data)
    return changed


def _huge(zoo: _Zoo) -> None:
    torch, w = zoo.torch, zoo.w
    with zipfile.ZipFile(io.BytesIO(zoo.good)) as archive:
        inner = archive.read(next(n for n in archive.namelist() if n.endswith("data.pkl")))
    count = b"M" + struct.pack("<H", 600)
    assert inner.count(count) == 2
    much = b"\x8a\x06" + (1 << 40).to_bytes(6, "little")
    at = inner.rindex(count)
    zoo.put("huge-claim.pt", _repacked(zoo.good, {"data.pkl": inner[:at] + much + inner[at + 3 :]}))
    at = inner.index(count)
    zoo.put(
        "huge-storage.pt", _repacked(zoo.good, {"data.pkl": inner[:at] + much + inner[at + 3 :]})
    )
    zoo.put("huge-bytearray.pkl", b"\x80\x05\x96" + struct.pack("<Q", 1 << 45) + b"x.")
    zoo.save("stride0.pt", {"x": torch.zeros(400).add(1).as_strided((2**40,), (0,))})
    loop: list[Any] = [w]
    loop.append(loop)
    zoo.save("cycle.pt", {"w": w, "loop": loop})
    lol: list[Any] = [w]
    for _ in range(60):
        lol = [lol, lol]
    zoo.save("laughs.pt", {"w": w, "lol": lol})
    depth = 100_000
    deep = b"\x80\x02" + b"]" * depth + b"a" * (depth - 1) + b"."
    with zipfile.ZipFile(io.BytesIO(zoo.good)) as archive:
        inner = archive.read(next(n for n in archive.namelist() if n.endswith("data.pkl")))
    # The weights beside a list that is 100,000 lists deep.
    zoo.put("deep.pt", _repacked(zoo.good, {"data.pkl": inner[:-1] + deep[2:-1] + b"\x86."}))
    zoo.put("deep.pkl", deep)
    zoo.save("views.pt", {"all": [w[n % 500 :] for n in range(5_000)]})


def _kinds(zoo: _Zoo) -> None:
    torch, w = zoo.torch, zoo.w
    bad = torch._utils._rebuild_sparse_tensor
    out = torch.tensor([[2**40]])
    coo = (torch.sparse_coo, (out, torch.ones(1), torch.Size([4])))
    zoo.save("sparse-oob.pt", {"w": w, "s": zoo.call(bad, *coo)})
    csr = (torch.tensor([0, 1]), torch.tensor([2**40]), torch.ones(1), torch.Size([1, 4]))
    zoo.save("sparse-csr-oob.pt", {"w": w, "s": zoo.call(bad, torch.sparse_csr, csr)})
    sparse = torch.sparse_coo_tensor(torch.tensor([[0, 2]]), torch.ones(2), (3,))
    zoo.save("sparse.pt", {"w": w, "s": sparse})
    zoo.save("nested.pt", {"w": w, "n": torch.nested.nested_tensor([w[:3], w[:5]])})
    zoo.save("meta.pt", {"w": torch.zeros(600, device="meta")})
    zoo.save("quantized.pt", {"q": torch.quantize_per_tensor(w, 0.1, 0, torch.qint8), "w": w})
    odd = torch.ones(300, dtype=torch.complex64)
    odd[7] = complex(1, float("nan"))
    zoo.save("complex.pt", {"w": odd})
    eight = torch.ones(600)
    eight[3] = float("nan")
    zoo.save(
        "fp8.pt", {"w": eight.to(torch.float8_e4m3fn), "v": torch.ones(600).to(torch.float8_e5m2)}
    )
    zoo.save("bf16.pt", {"w": w.to(torch.bfloat16)})
    zoo.save("half-large.pt", {"w": torch.full((1024,), 60000.0, dtype=torch.float16)})
    zoo.save("bool-int.pt", {"b": w > 3, "i": w.to(torch.int64), "u": w.to(torch.uint8)})
    zoo.save("typed-storage.pt", {"s": w.storage()})
    zoo.save("parameter.pt", {"p": torch.nn.Parameter(w)})


def _worthless(zoo: _Zoo) -> None:
    torch = zoo.torch
    for name, value in {"empty": {}, "none": None, "seven": 7, "hi": "hi"}.items():
        zoo.save(f"{name}.pt", value)
    zoo.save("no-elements.pt", {"w": torch.zeros(0)})
    for suffix in ("pt", "safetensors", "json"):
        zoo.put(f"zero-byte.{suffix}", b"")
    zoo.save("nan-only.pt", {"w": torch.full((600,), float("nan"))})
    infinite = torch.ones(600)
    infinite[0] = float("-inf")
    zoo.save("inf.pt", {"w": infinite})
    zoo.save("zeros.pt", {"w": torch.zeros(600)})
    zoo.save("little.pt", {"w": torch.ones(3)})
    zoo.save("list/best.pth", [zoo.w])
    zoo.save("other/best.pth", {"weights": zoo.w})
    zoo.save("tensor/best.pth", zoo.w)
    zoo.save("whole/best.pth", torch.nn.Linear(3, 3))
    settings = torch.optim.SGD([torch.nn.Parameter(zoo.w)], lr=0.1).state_dict()
    for name in ("optimizer.pt", "sgd/optimizer.pth", "model-settings.pt", "settings/best.pth"):
        zoo.save(name, settings)
    adam = {"state": {0: {"exp_avg": zoo.w}}, "param_groups": [{"params": [0]}]}
    for name, model in (
        ("empty-model", {"model_state_dict": {}}),
        ("no-model", {"model": None, "rng": torch.get_rng_state()}),
        ("hollow-model", {"state_dict": {"w": torch.zeros(0)}}),
        ("named-model", {"model": "resnet18", "weights": zoo.w}),
        ("model-and-name", {"model": "resnet18", "state_dict": {"w": zoo.w}}),
    ):
        zoo.save(f"{name}/best.pth", {**model, "optimizer": adam})
    zoo.save("only-optimizer.pt", adam)
    zoo.save("beside-optimizer.pt", {"epoch": 3, "opt": adam, "rng": torch.get_rng_state()})
    zoo.save("lightning.ckpt", {"state_dict": {}, "optimizer_states": [adam]})
    zoo.save("with-weights.ckpt", {"state_dict": {"w": zoo.w}, "optimizer_states": [adam]})
    numbers = {"state": {}, "param_groups": [{"params": torch.arange(3)}]}
    zoo.save("tensors/optimizer.pt", numbers)
    for name, value in {
        "state": {"state": {}},
        "groups": {"state": {}, "param_groups": [{}]},
    }.items():
        zoo.save(f"no-{name}/optimizer.pt", value)


def _formats(zoo: _Zoo) -> None:
    zoo.put("html.pt", b"<html><body>502 Bad Gateway</body></html>")
    zoo.put("noise.pt", bytes((n * 197 + n // 7) % 256 for n in range(5000)))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name in ("sys_info", "pickle", "tensors", "storages"):
            info = tarfile.TarInfo(name)
            info.size = 4
            tar.addfile(info, io.BytesIO(b"\x80\x02N."))
    zoo.put("old.tar.pt", out.getvalue())
    zoo.put("gzip.pt", b"\x1f\x8b" + zoo.good)
    zoo.put("safetensors.pt", _tensors({"w": ("F32", [300], 0, 1200)}, bytes(1200)))
    zoo.put("zip.safetensors", zoo.good)
    zoo.put(
        "lfs-pointer.safetensors",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 123\n",
    )
    zoo.save("protocol4.pt", {"model": {"w": zoo.w}}, pickle_protocol=4)
    other = zoo.saved({"model": {"w": zoo.w + 1}})
    half = len(other) // 2
    zoo.put("half-mixed.pt", zoo.good[:half] + other[half:])


def _tensors(
    entries: dict[str, tuple[Any, Any, Any, Any]], data: bytes, raw: str | None = None
) -> bytes:
    table = {
        name: {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
        for name, (dtype, shape, start, end) in entries.items()
    }
    head = (json.dumps(table) if raw is None else raw).encode()
    return struct.pack("<Q", len(head)) + head + data


def _safetensors(zoo: _Zoo) -> None:
    body = struct.pack("<300f", *([1.0] * 300))
    row = ("F32", [300], 0, 1200)
    zoo.put("header-2e40.safetensors", struct.pack("<Q", 1 << 40) + b"{}")
    with (zoo.where / "header-giant.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", 120 << 20) + b"{")
        file.truncate(130 << 20)
    zoo.put(
        "overlap.safetensors",
        _tensors({"a": ("F32", [200], 0, 800), "b": ("F32", [200], 400, 1200)}, body),
    )
    zoo.put(
        "hole.safetensors",
        _tensors({"a": ("F32", [100], 0, 400), "b": ("F32", [100], 800, 1200)}, body),
    )
    zoo.put("trailing.safetensors", _tensors({"a": row}, body + b"more"))
    zoo.put("negative.safetensors", _tensors({"a": ("F32", [300], -1200, 0)}, body))
    zoo.put("shape-2e62.safetensors", _tensors({"a": ("F32", [1 << 62], 0, 1200)}, body))
    zoo.put("true-offset.safetensors", _tensors({"a": ("U8", [1], False, True)}, b"x"))
    one = '"a": {"dtype": "F32", "shape": [300], "data_offsets": [0, 1200]}'
    zoo.put("twice.safetensors", _tensors({}, body, "{" + one + ", " + one + "}"))
    zoo.put("dtype.safetensors", _tensors({"a": ("P32", [300], 0, 1200)}, body))
    zoo.put("deep.safetensors", _tensors({}, body, '{"a":' + "[" * 100_000))
    zoo.put("empty.safetensors", _tensors({}, b""))
    odd = struct.pack("<300f", float("nan"), *([1.0] * 299))
    zoo.put("nan.safetensors", _tensors({"a": row}, odd))


def _dcp(zoo: _Zoo, name: str) -> None:
    import torch.distributed.checkpoint as dcp  # noqa: TID251

    model = {"w": zoo.w, "b": zoo.torch.ones(300, dtype=zoo.torch.bfloat16)}
    dcp.save({"model": model, "epoch": 3}, checkpoint_id=str(zoo.where / name))


def _metadata(zoo: _Zoo, name: str, shard: str, length: int) -> None:
    """`.metadata` that places one thing in `shard`, by the writer's own classes."""
    from torch.distributed.checkpoint.filesystem import _StorageInfo  # noqa: TID251
    from torch.distributed.checkpoint.metadata import (  # noqa: TID251
        BytesStorageMetadata,
        Metadata,
        MetadataIndex,
    )

    value = Metadata(
        {"w": BytesStorageMetadata()}, None, {MetadataIndex("w"): _StorageInfo(shard, 0, length)}
    )
    zoo.put(name, pickle.dumps(value, 4))


def _sharded(zoo: _Zoo) -> None:
    for name in ("dcp", "dcp-short", "dcp-gone", "dcp-alone"):
        _dcp(zoo, name)
    shard = zoo.where / "dcp-short/__0_0.distcp"
    shard.write_bytes(shard.read_bytes()[:-300])
    (zoo.where / "dcp-gone/__0_0.distcp").unlink()
    (zoo.where / "dcp-alone/.metadata").unlink()
    _metadata(zoo, "dcp-away/.metadata", "../../etc/passwd", 1)
    zoo.put("dcp-data/shard.dat", b"never loaded")
    _metadata(zoo, "dcp-data/.metadata", "shard.dat", 12)
    part = _tensors({"a": ("F32", [300], 0, 1200)}, struct.pack("<300f", *([1.0] * 300)))
    one, two = "model-00001-of-00001.safetensors", "model-00001-of-00002.safetensors"
    index = "model.safetensors.index.json"
    zoo.put(f"hf-gone/{two}", part)
    second = "model-00002-of-00002.safetensors"
    zoo.put(f"hf-gone/{index}", json.dumps({"weight_map": {"a": two, "b": second}}).encode())
    zoo.put(f"hf-key/{one}", part)
    zoo.put(f"hf-key/{index}", json.dumps({"weight_map": {"a": one, "b": one}}).encode())
    zoo.put(f"hf-away/{index}", json.dumps({"weight_map": {"a": "../x.safetensors"}}).encode())
    zoo.put(f"hf-twice/{index}", b'{"weight_map": {"a": "x", "a": "y"}}')
    zoo.put(f"hf-none/{index}", b'{"weight_map": {}}')


def _text(zoo: _Zoo) -> None:
    import numpy

    for name, data in {
        "nan.json": b'{"psnr": NaN, "loss": [-Infinity]}',
        "huge-number.json": b'{"psnr": 1e999}',
        "twice.json": b'{"epoch": 1, "epoch": 2}',
        "deep.json": b"[" * 200_000,
        "latin1.json": '{"name": "café"}'.encode("latin-1"),
        "cut.json": b'{"psnr": ',
        "list/best_metrics.json": b"[1, 2]",
        "null/best_metrics.json": b'{"epoch": null, "best": 0}',
        "torn.jsonl": b'{"a": 1}\n{"a": 2}\n{"a": ',
        "binary.jsonl": b"\x00\x01\x02\n\xff\xfe\n",
        "holes.csv": b"a,b\n1,2\n" + bytes(100),
        "ragged.csv": b"a,b\n1,2\n1,2,3\n",
        "model.onnx": b"\x08\x07\x12\x07pytorch",
        "model.gguf": b"GGUF\x03\x00\x00\x00",
        "train.log": b"epoch 1\n",
        "archive.zip": b"PK\x05\x06" + bytes(18),
    }.items():
        zoo.put(name, data)
    numpy.save(zoo.where / "nan.npy", numpy.array([1.0, float("nan"), 2.0, 3.0]))
    whole = (zoo.where / "nan.npy").read_bytes()
    zoo.put("short.npy", whole[:-8])
    zoo.put("huge.npy", whole.replace(b"(4,)", b"(4" + b"0" * 12 + b",)"))
    zoo.put("code.npy", whole.replace(b"'<f8'", b"f(8)*2"[:5]))


if __name__ == "__main__":
    import warnings as _warnings

    _warnings.simplefilter("ignore")
    write(Path(sys.argv[1]))
