"""Crafted files of HDF5, Keras and Flax, each with the verdict it must get; `zoo` writes them with its own."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ELSEWHERE = "another file"
# Path -> (load, words of the detail or of a warning).
ANIMALS: dict[str, tuple[str, str]] = {
    # --- HDF5: what leads out of the file, or to code ---
    "external-link.h5": ("refused", ELSEWHERE),
    "external-in-a-name.h5": ("failed", "by no name"),
    "external-deep.hdf5": ("refused", ELSEWHERE),
    "external-storage.h5": ("refused", ELSEWHERE),
    "virtual.h5": ("refused", ELSEWHERE),
    "plugin.h5": ("refused", "filter 32015"),
    "szip.h5": ("refused", "filter 4"),
    "object-references.h5": ("refused", "references"),
    "region-references.h5": ("refused", "references"),
    "member-references.h5": ("refused", "references"),
    "dangling.h5": ("failed", "leads nowhere"),
    "soft.h5": ("ok", ""),
    "circle.h5": ("ok", ""),
    "deep.h5": ("ok", ""),
    "many.h5": ("failed", "more than 100000 things"),
    # --- more than it seems, or less ---
    "bomb.h5": ("failed", "far too much"),
    "huge-claim.h5": ("failed", "far too much"),
    "one-chunk.h5": ("failed", "far too much"),
    "strings-bomb.h5": ("failed", ""),
    "overlap.h5": ("failed", "larger than the file"),
    "unwritten.h5": ("failed", "never written"),
    "in-part.h5": ("failed", "written only in part"),
    "never-closed.h5": ("failed", "the save was cut"),
    "never-closed-latest.h5": ("failed", "the save was cut"),
    "longer-than-it-says.h5": ("failed", "the save was cut"),
    "empty.h5": ("failed", "not one weight"),
    "texts.h5": ("ok", "there is no number in it"),
    "counts.h5": ("ok", ""),
    "state.weights.h5": ("ok", "an optimizer's numbers"),
    "state-legacy.h5": ("ok", "an optimizer's numbers"),
    "attribute.h5": ("failed", "not one weight"),
    "no-rows.h5": ("failed", "not one weight"),
    "zero-byte.h5": ("failed", "empty file"),
    "html.h5": ("failed", "no HDF5 file"),
    "signature.h5": ("failed", "does not load"),
    "before.h5": ("failed", "no HDF5 file"),
    "checksum.h5": ("failed", "does not load"),
    # --- numbers of every kind are looked at ---
    "nan.h5": ("ok", "1 of 600 values"),
    "nan-packed.h5": ("ok", "1 of 600 values"),
    "nan-big-endian.h5": ("ok", "1 of 600 values"),
    "nan-bfloat16.weights.h5": ("ok", "1 of 600 values"),
    "nan-record.h5": ("ok", "1 of 600 values"),
    "nan-rows.h5": ("ok", "1 of 600 values"),
    "nan-long.h5": ("ok", "1 of 600 values"),
    "nan-complex.h5": ("ok", "1 of 600 values"),
    "zeros.h5": ("ok", "every weight in it is zero"),
    # --- Keras ---
    "no-weights.keras": ("failed", "model.weights.h5"),
    "no-config.keras": ("failed", "config.json"),
    "npz-inside.keras": ("refused", "no HDF5"),
    "config.keras": ("failed", "no JSON"),
    "packed.keras": ("failed", "compressed"),
    "checksum.keras": ("failed", "checksum"),
    "external.keras": ("refused", ELSEWHERE),
    "html-inside.keras": ("failed", "no HDF5 file"),
    "cut-inside.keras": ("failed", "does not load"),
    "pickle-beside.keras": ("ok", ""),
    "state.keras": ("failed", "not one weight"),
    "texts.keras": ("failed", "not one weight"),
    "zero-byte.keras": ("failed", "empty file"),
    "h5.keras": ("failed", "archive"),
    "shards/m.weights.json": ("ok", "3 weights in 1 shards, all here"),
    "shards/m_00000.weights.h5": ("ok", ""),
    "shards-gone/m.weights.json": ("incomplete", "m_00001.weights.h5 is not here"),
    "shards-gone/m_00000.weights.h5": ("ok", ""),
    "shards-away/m.weights.json": ("failed", "no file beside it"),
    "shards-empty/m.weights.json": ("failed", "an index without weights"),
    "shards-none/class.weights.json": ("ok", ""),
    # --- Flax ---
    "extension-9.msgpack": ("failed", "Flax does not write"),
    "timestamp.msgpack": ("failed", "Flax does not write"),
    "trailing.msgpack": ("failed", "does not load"),
    "twice.msgpack": ("failed", "twice"),
    "key.msgpack": ("failed", "by no name"),
    "huge-list.msgpack": ("failed", "does not load"),
    "huge-extension.msgpack": ("failed", "does not load"),
    "deep.msgpack": ("failed", "does not load"),
    "short.msgpack": ("failed", "as long as it says"),
    "long.msgpack": ("failed", "as long as it says"),
    "huge-shape.msgpack": ("failed", "as long as it says"),
    "negative.msgpack": ("failed", "shape is none"),
    "object.msgpack": ("failed", "not known: object"),
    "record.msgpack": ("failed", "not known: void64"),
    "four-parts.msgpack": ("failed", "Flax does not write"),
    "scalar.msgpack": ("failed", "as long as it says"),
    "complex.msgpack": ("failed", "complex number"),
    "chunks-short.msgpack": ("failed", "as long as it says"),
    "chunks-mixed.msgpack": ("failed", "chunks"),
    "chunks-gap.msgpack": ("failed", "chunks"),
    "empty.msgpack": ("failed", "not one weight"),
    "plain.msgpack": ("failed", "not one weight"),
    "state.msgpack": ("ok", "an optimizer's numbers"),
    "zero-byte.msgpack": ("failed", "empty file"),
    "html.msgpack": ("failed", "does not load"),
    "nan.msgpack": ("ok", "1 of 600 values"),
    "nan-bfloat16.msgpack": ("ok", "1 of 600 values"),
    "nan-chunk.msgpack": ("ok", "1 of 600 values"),
    # --- Orbax ---
    "orbax/default/manifest.ocdbt": ("skipped", "Orbax"),
    "orbax/_CHECKPOINT_METADATA": ("skipped", "Orbax"),
}  # fmt: skip


def write(where: Path, put: Callable[[str, bytes], None]) -> None:
    """Make every file of ANIMALS below `where`."""
    _hdf5(where, put)
    _kinds(where)
    _keras(where, put)
    _flax(put)
    put("orbax/default/manifest.ocdbt", b"\x0c\xdb\x3d\x2a")
    put("orbax/_CHECKPOINT_METADATA", b"{}")


def _weights() -> Any:
    import numpy

    return numpy.arange(1, 601, dtype="f4")


def _hdf5(where: Path, put: Callable[[str, bytes], None]) -> None:
    import h5py  # noqa: TID251 - only in the program that writes the zoo
    import numpy

    def new(name: str, **options: Any) -> Any:
        opened = h5py.File(where / name, "w", **options)
        opened["w"] = _weights()
        return opened

    with h5py.File(where / "nan.h5", "w") as file:
        file["w"] = numpy.where(_weights() == 7, numpy.nan, _weights())
    with new("external-link.h5") as file:
        file["out"] = h5py.ExternalLink("nan.h5", "/w")
    with new("external-in-a-name.h5") as file:
        file["0_out_w"], file["out"] = _weights(), h5py.ExternalLink("nan.h5", "/")
    raw = (where / "external-in-a-name.h5").read_bytes()
    put("external-in-a-name.h5", raw.replace(b"0_out_w", b"./out/w"))
    with new("external-deep.hdf5") as file:
        file["a/b/c/out"] = h5py.ExternalLink("/etc/passwd", "/w")
    with new("external-storage.h5") as file:
        file.create_dataset("out", (4,), "u1", external=[("/etc/passwd", 0, 4)])
    with new("virtual.h5") as file:
        layout = h5py.VirtualLayout((600,), "f4")
        layout[:] = h5py.VirtualSource("nan.h5", "w", (600,))
        file.create_virtual_dataset("out", layout)
    for name, number in {"plugin.h5": 32015, "szip.h5": 4}.items():
        with new(name) as file:
            made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            made.set_chunk((10,))
            made.set_filter(number, h5py.h5z.FLAG_OPTIONAL, (4, 8) if number == 4 else ())
            space = h5py.h5s.create_simple((10,))
            h5py.h5d.create(file.id, b"out", h5py.h5t.NATIVE_UINT8, space, made)
    with new("object-references.h5") as file:
        file.create_dataset("out", data=[file["w"].ref], dtype=h5py.ref_dtype)
    with new("region-references.h5") as file:
        file.create_dataset("out", data=[file["w"].regionref[:3]], dtype=h5py.regionref_dtype)
    with new("member-references.h5") as file:
        file.create_dataset("out", (2,), numpy.dtype([("a", "f4"), ("b", h5py.ref_dtype)]))
    with new("dangling.h5") as file:
        file["out"] = h5py.SoftLink("/nowhere")
    with new("soft.h5") as file:
        file["out"] = h5py.SoftLink("/w")
    with new("circle.h5") as file:
        group = file.create_group("a/b")
        group["up"], group["top"] = file["a"], file["/"]
        group["again"] = file["w"]
    with new("deep.h5") as file:
        group = file
        for _ in range(2_000):
            group = group.create_group("g")
    with new("many.h5", libver="latest") as file:
        for number in range(100_001):
            file.id.links.create_hard(b"%d" % number, file.id, b"w")
    with new("bomb.h5") as file:
        data = file.create_dataset("out", (272 << 20,), "u1", chunks=(8 << 20,), compression=1)
        for start in range(0, 272 << 20, 8 << 20):
            data[start : start + (8 << 20)] = 0
    with new("huge-claim.h5") as file:
        file.create_dataset("out", (1 << 40,), "f4")
    with new("one-chunk.h5") as file:
        file.create_dataset("out", (1 << 20, 1 << 20), "f4", chunks=(10, 10))[0, 0] = 1
    with new("strings-bomb.h5") as file:
        # One text of 8 MB that 4,000 rows point to.
        rows = file.create_dataset("out", (4_000,), h5py.string_dtype())
        rows[0] = "x" * (8 << 20)
    raw = (where / "strings-bomb.h5").read_bytes()
    put("strings-bomb.h5", _all_rows_alike(raw, 8 << 20, 4_000))
    with new("overlap.h5") as file:
        file["many"] = numpy.full(1 << 14, 7, "f4")
        for number in range(9):
            file.create_dataset(f"unwritten-{number}", (1 << 14,), "f4")
    raw = (where / "overlap.h5").read_bytes()
    size = struct.pack("<Q", 1 << 16)
    nowhere, place = b"\xff" * 8, struct.pack("<Q", raw.index(struct.pack("<f", 7) * 4))
    assert raw.count(nowhere + size) == 9
    put("overlap.h5", raw.replace(nowhere + size, place + size))
    with new("unwritten.h5") as file:
        file.create_dataset("out", (600,), "f4")
    with new("in-part.h5") as file:
        file.create_dataset("out", (600,), "f4", chunks=(100,))[:100] = 1
    with h5py.File(where / "empty.h5", "w") as file:
        file.create_group("layers/dense")
    with h5py.File(where / "texts.h5", "w") as file:
        file["fixed"], file["free"] = numpy.array([b"abc"] * 600), ["abc"] * 600
    with h5py.File(where / "attribute.h5", "w") as file:
        file.attrs["w"] = _weights()
    with h5py.File(where / "no-rows.h5", "w") as file:
        file["w"], file["none"] = _weights()[:0], h5py.Empty("f4")
    with h5py.File(where / "counts.h5", "w") as file:
        file["labels"] = numpy.arange(600)
    for name, group in {
        "state.weights.h5": "optimizer",
        "state-legacy.h5": "optimizer_weights",
    }.items():
        with h5py.File(where / name, "w") as file:
            file[f"{group}/vars/1"], file["layers/dropout/vars/0"] = _weights(), [1, 2]
    # What stands on the disk while a save goes on: all of it is found there if the writer dies now.
    for name, version in {"never-closed.h5": None, "never-closed-latest.h5": "latest"}.items():
        with h5py.File(where / "going-on", "w", libver=version) as file:
            file["w"] = _weights()
            file.flush()
            put(name, (where / "going-on").read_bytes())
    (where / "going-on").unlink()
    # An older library leaves no mark.
    raw = (where / "never-closed.h5").read_bytes()
    put("longer-than-it-says.h5", raw[:20] + b"\0" + raw[21:] + bytes(600))
    put("zero-byte.h5", b"")
    put("html.h5", b"<html>" * 100)
    put("signature.h5", b"\x89HDF\r\n\x1a\n" + bytes(600))
    with new("before.h5", userblock_size=512):
        pass
    with h5py.File(where / "checksum.h5", "w") as file:
        file.create_dataset("w", data=_weights(), chunks=(600,), fletcher32=True)
    raw = (where / "checksum.h5").read_bytes()
    at = raw.index(_weights().tobytes())
    put("checksum.h5", raw[: at + 40] + b"\xff" + raw[at + 41 :])


def _all_rows_alike(data: bytes, length: int, rows: int) -> bytes:
    """Each row of texts points to the one text: (length, address of the heap, number in it)."""
    at = data.index(struct.pack("<I", length))
    row = data[at : at + 16]
    assert not any(data[at + 16 : at + 16 * rows])
    return data[:at] + row * rows + data[at + 16 * rows :]


def _kinds(where: Path) -> None:
    import h5py  # noqa: TID251
    import numpy

    odd = numpy.where(_weights() == 7, numpy.nan, _weights())
    record = numpy.zeros(600, [("n", "i4"), ("in", [("w", "f4")])])
    record["in"]["w"] = odd
    for name, data, options in (
        ("nan-packed.h5", odd.reshape(20, 30), {"compression": "gzip", "shuffle": True}),
        ("nan-big-endian.h5", odd.astype(">f8"), {}),
        ("nan-bfloat16.weights.h5", _bfloat16(odd), {}),
        ("nan-record.h5", record, {}),
        ("nan-long.h5", odd.astype("longdouble"), {}),
        ("nan-complex.h5", odd.astype("c16"), {"compression": "lzf"}),
        ("zeros.h5", numpy.zeros((600, 2)), {}),
    ):
        with h5py.File(where / name, "w") as file:
            file.create_dataset("w", data=data, **options)
    with h5py.File(where / "nan-rows.h5", "w") as file:
        rows = file.create_dataset("w", (3,), h5py.vlen_dtype("f4"))
        rows[0], rows[1], rows[2] = odd[:10], odd[10:400], odd[400:]


def _bfloat16(data: Any) -> Any:
    """As ml_dtypes lays it out: the upper half of a float32."""
    return (data.astype("<f4").view("<u4") >> 16).astype("<u2").view("V2")


def _keras(where: Path, put: Callable[[str, bytes], None]) -> None:
    good = {
        "metadata.json": b"{}",
        "config.json": b'{"module": "keras", "class_name": "Sequential"}',
        "model.weights.h5": (where / "soft.h5").read_bytes(),
    }

    def zipped(name: str, change: dict[str, bytes | None], how: int = zipfile.ZIP_STORED) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", how) as archive:
            for member, data in {**good, **change}.items():
                if data is not None:
                    archive.writestr(member, data)
        put(name, out.getvalue())

    zipped("no-weights.keras", {"model.weights.h5": None})
    zipped("no-config.keras", {"config.json": None})
    zipped("npz-inside.keras", {"model.weights.h5": None, "model.weights.npz": b"x"})
    zipped("config.keras", {"config.json": b"{"})
    zipped("packed.keras", {}, zipfile.ZIP_DEFLATED)
    zipped("external.keras", {"model.weights.h5": (where / "external-link.h5").read_bytes()})
    zipped("html-inside.keras", {"model.weights.h5": b"<html>"})
    zipped("cut-inside.keras", {"model.weights.h5": good["model.weights.h5"][:-100]})
    zipped("state.keras", {"model.weights.h5": (where / "state.weights.h5").read_bytes()})
    zipped("texts.keras", {"model.weights.h5": (where / "texts.h5").read_bytes()})
    zipped("pickle-beside.keras", {"assets/x.pkl": (where / "rce-bare.pkl").read_bytes()})
    whole = (where / "pickle-beside.keras").read_bytes()
    at = whole.index(_weights().tobytes())
    put("checksum.keras", whole[:at] + b"\xff" + whole[at + 1 :])
    put("zero-byte.keras", b"")
    first, second = "m_00000.weights.h5", "m_00001.weights.h5"
    for place, rows in {
        "shards": {"/a": first, "/b": [first], "/c": [first]},
        "shards-gone": {"/a": first, "/b": [first, second]},
        "shards-away": {"/a": "../shards/m_00000.weights.h5"},
    }.items():
        put(f"{place}/m.weights.json", json.dumps({"metadata": {}, "weight_map": rows}).encode())
    for place in ("shards", "shards-gone"):
        put(f"{place}/{first}", good["model.weights.h5"])
    put("shards-empty/m.weights.json", b'{"weight_map": {}}')
    put("shards-none/class.weights.json", b'{"cat": 1.5}')
    put("h5.keras", good["model.weights.h5"])


def _flax(put: Callable[[str, bytes], None]) -> None:
    import msgpack  # noqa: TID251
    import numpy

    def array(shape: Any, kind: str, data: bytes, *more: Any, code: int = 1) -> Any:
        return msgpack.ExtType(code, msgpack.packb((shape, kind, data, *more)))

    w = _weights()
    good = array((600,), "float32", w.tobytes())
    odd = numpy.where(w == 7, numpy.nan, w)
    chunk = {
        "__msgpack_chunked_array__": True,
        "shape": {"0": 20, "1": 30},
        "chunks": {str(n): array((300,), "float32", half) for n, half in enumerate(_halves(odd))},
    }
    for name, value in {
        "extension-9": msgpack.ExtType(9, b"x"),
        "timestamp": msgpack.Timestamp(1),
        "short": array((601,), "float32", w.tobytes()),
        "long": array((599,), "float32", w.tobytes()),
        "huge-shape": array((1 << 40, 1 << 40), "float32", w.tobytes()),
        "negative": array((-600, -1), "float32", w.tobytes()),
        "object": array((300,), "object", w.tobytes()),
        "record": array((300,), "void64", w.tobytes()),
        "four-parts": array((600,), "float32", w.tobytes(), 1),
        "scalar": array((600,), "float32", w.tobytes(), code=3),
        "complex": msgpack.ExtType(2, msgpack.packb((1.0, "x"))),
        "chunks-short": {**chunk, "shape": {"0": 20, "1": 31}},
        "chunks-mixed": {**chunk, "chunks": {"0": good, "1": array((1,), "int8", b"x")}},
        "chunks-gap": {**chunk, "chunks": {"0": good, "2": good}},
        "key": {1.5: 1},
    }.items():
        put(f"{name}.msgpack", msgpack.packb({"w": good, "x": value}, strict_types=True))
    for name, value in {
        "empty": {},
        "plain": {"step": 3, "name": "x", "rate": [0.1, None, True, b"x"]},
        "nan": {"params": {"w": array((20, 30), "float32", odd.tobytes())}},
        "nan-bfloat16": [array((600,), "bfloat16", _bfloat16(odd).tobytes())],
        "nan-chunk": {"w": chunk},
        "state": {"step": 3, "params": {}, "opt_state": {"0": {"mu": good}}},
    }.items():
        put(f"{name}.msgpack", msgpack.packb(value))
    put("trailing.msgpack", msgpack.packb({"w": good}) + b"\xc0")
    put("twice.msgpack", b"\x82\xa1w" + msgpack.packb(good) + b"\xa1w" + msgpack.packb(good))
    put("huge-list.msgpack", b"\xdd\xff\xff\xff\xff")
    put("huge-extension.msgpack", b"\xc9\xff\xff\xff\xff\x01" + bytes(100))
    put("deep.msgpack", b"\x91" * 100_000 + msgpack.packb(good))
    put("zero-byte.msgpack", b"")
    put("html.msgpack", b"<html>" * 100)


def _halves(data: Any) -> tuple[bytes, bytes]:
    return data[:300].tobytes(), data[300:].tobytes()
