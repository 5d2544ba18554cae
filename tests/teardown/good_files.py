"""Files that ordinary training leaves behind: every one of them must be verified.

Run as a program (`python good_files.py DIRECTORY ROUNDS few|all`) it writes CONTENTS in every format that this
torch can write, the sharded formats, and the small files that trainers keep beside them.
"""

from __future__ import annotations

import json
import pickle
import struct
import sys
from pathlib import Path
from typing import Any

# What else stands in the dictionaries that trainers save; facts of a survey of common trainers.
CONTENTS = [
    "tensors",
    "nested",
    "optimizer",
    "numpy_scalar",
    "numpy_array",
    "numpy_rng",
    "python_rng",
    "namespace",
    "simple_namespace",
    "path",
    "datetime",
    "timezone",
    "defaultdict",
    "deque",
    "ordered_dict",
    "counter",
    "set",
    "frozenset",
    "complex",
    "bytes",
    "bytearray",
    "size",
    "dtype_device",
    "parameter",
    "lists",
    "none",
    "uuid",
    "decimal",
    "slice_range",
]
FORMATS = {
    "zip": {},
    "legacy": {"_use_new_zipfile_serialization": False},
    "protocol3": {"pickle_protocol": 3},
}
# Protocol 3 writes bytes in a way of its own, which no safe load reads; and few ask for it.
NOT_IN_PROTOCOL3 = frozenset(
    {"bytes", "bytearray", "numpy_scalar", "numpy_array", "numpy_rng", "datetime", "timezone"}
)


def content(name: str, seed: int, form: str = "zip") -> Any:
    """One of CONTENTS. The legacy format has no storage for 8-bit floats."""
    import argparse
    import collections
    import datetime
    import decimal
    import random
    import types
    import uuid

    import numpy
    import torch  # noqa: TID251 - this is a program of its own

    rng = numpy.random.default_rng(seed)
    model = torch.nn.Linear(20 + seed, 30)
    kinds = [kind for kind in KINDS if "float8" not in kind or form != "legacy"]
    extra: Any = {
        "tensors": {kind: torch.ones(64).to(getattr(torch, kind)) for kind in kinds},
        "nested": {"a": [{"b": (torch.ones(3), {"c": torch.zeros(2)})}]},
        "numpy_scalar": {"loss": numpy.float64(0.3), "n": numpy.int32(3), "ok": numpy.bool_(True)},
        "numpy_array": [rng.random(5), rng.integers(0, 9, (2, 3)), numpy.zeros((2, 2), order="F")],
        "numpy_rng": numpy.random.RandomState(seed).get_state(),
        "python_rng": random.Random(seed).getstate(),
        "namespace": argparse.Namespace(lr=1e-3, out=Path("/x"), betas=(0.9, 0.999)),
        "simple_namespace": types.SimpleNamespace(a=1),
        "path": {"out": Path("/runs/x"), "pure": __import__("pathlib").PurePosixPath("a")},
        "datetime": [
            datetime.datetime(2026, 1, 2),  # noqa: DTZ001 - as scripts write it
            datetime.timedelta(3),
            datetime.date(2026, 1, 2),
        ],
        "timezone": datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
        "defaultdict": collections.defaultdict(list, a=[1], b=[torch.ones(2)]),
        "deque": collections.deque([1.0, 2.0], maxlen=20),
        "ordered_dict": collections.OrderedDict(a=1),
        "counter": collections.Counter("abca"),
        "set": {1, 2, 3},
        "frozenset": frozenset({1, 2}),
        "complex": 1 + 2j,
        "bytes": b"\x00\xff",
        "bytearray": bytearray(b"abc"),
        "size": torch.Size([2, 3]),
        "dtype_device": [torch.float16, torch.device("cpu"), torch.strided],
        "parameter": torch.nn.Parameter(torch.ones(4)),
        "lists": [list(range(1000)), [[], [()]]],
        "none": None,
        "uuid": uuid.UUID(int=seed),
        "decimal": decimal.Decimal("1.5"),
        "slice_range": [slice(0, 3), range(9)],
        "optimizer": None,
    }[name]
    if name == "optimizer":
        adam = torch.optim.AdamW(model.parameters())
        model(torch.ones(20 + seed)).sum().backward()
        adam.step()
        extra = adam.state_dict()
    return {"model_state_dict": model.state_dict(), "epoch": seed, "extra": extra}


KINDS = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "int8",
    "uint8",
    "int64",
    "bool",
    "complex64",
]


def write(where: Path, rounds: int, *, few: bool) -> None:
    """Each round has weights of other sizes; `few` leaves most of the other formats out."""
    import numpy
    import torch  # noqa: TID251

    for seed in range(rounds):
        for name in CONTENTS:
            for form, options in FORMATS.items():
                if form == "protocol3" and name in NOT_IN_PROTOCOL3:
                    continue
                if few and form != "zip" and CONTENTS.index(name) % 7:
                    continue
                path = where / f"{seed}-{form}" / f"{name}.pt"
                path.parent.mkdir(parents=True, exist_ok=True)
                torch.save(content(name, seed, form), path, **options)
        cell = where / f"cell-{seed}"
        cell.mkdir()
        torch.save(content("optimizer", seed), cell / "best.pth")
        scheduler = torch.optim.lr_scheduler.StepLR(
            torch.optim.SGD(torch.nn.Linear(2, 2).parameters(), lr=0.1), 3
        )
        torch.save(scheduler.state_dict(), cell / "scheduler.pt")
        torch.save(
            {"cpu": torch.get_rng_state(), "numpy": numpy.random.get_state()},
            cell / "rng_state.pth",
        )
        states = {
            "step": seed,
            "random_state": (3, (1, 2, 624), None),
            "torch": torch.get_rng_state(),
        }
        torch.save(
            states, cell / "random_states_0.pkl"
        )  # so accelerate calls what torch.save wrote
        torch.save(
            content("optimizer", seed), cell / "model.pkl", _use_new_zipfile_serialization=False
        )
        rows = {
            "mean": numpy.ones(3),
            "table": numpy.arange(9).reshape(3, 3),
            "name": numpy.array("x"),
        }
        numpy.savez(cell / "stats.npz", **rows)
        numpy.savez_compressed(cell / "stats-packed.npz", **rows)
        numpy.save(cell / "preds.npy", numpy.ones((3, 4), dtype=numpy.float16))
        (cell / "predictions.pkl").write_bytes(
            pickle.dumps({"y": numpy.ones(500) + seed, "n": [1]})
        )
        (cell / "best_metrics.json").write_text(json.dumps({"epoch": None, "psnr": 31.4}))
        (cell / "history.jsonl").write_text('{"step": 1}\n{"step": 2}\n')
        (cell / "loss.csv").write_text("step,loss\n1,0.3\n2,0.2\n")
        safetensors(cell / "model.safetensors", seed)
        _sharded(where, seed)


def safetensors(path: Path, seed: int, names: tuple[str, ...] = ("a", "b")) -> None:
    """A file of weights by these names, written byte by byte."""
    table: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    for number, name in enumerate(names):
        data = struct.pack("<300f", *([1.0 + seed + number] * 300))
        place = [len(body), len(body) + len(data)]
        table[name] = {"dtype": "F32", "shape": [30, 10], "data_offsets": place}
        body += data
    head = json.dumps(table).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(struct.pack("<Q", len(head)) + head + body)


def _sharded(where: Path, seed: int) -> None:
    import torch  # noqa: TID251
    import torch.distributed.checkpoint as dcp  # noqa: TID251

    model = {"w": torch.ones(30 + seed, 30), "b": torch.ones(300, dtype=torch.bfloat16)}
    state = {"model": model, "epoch": seed, "note": "x"}
    dcp.save(state, checkpoint_id=str(where / f"dcp-{seed}"))
    for suffix, stem in (("safetensors", "model"), ("bin", "pytorch_model")):
        place = where / f"hf-{suffix}-{seed}"
        place.mkdir()
        mapped = {}
        for number in (1, 2):
            name = f"{stem}-0000{number}-of-00002.{suffix}"
            keys = (f"layer{number}.a", f"layer{number}.b")
            mapped |= dict.fromkeys(keys, name)
            if suffix == "bin":
                torch.save(
                    {key: torch.ones(300) * (number + 10 * seed) for key in keys}, place / name
                )
            else:
                safetensors(place / name, seed, keys)
        index = {"metadata": {"total_size": 4800}, "weight_map": mapped}
        (place / f"{stem}.{suffix}.index.json").write_text(json.dumps(index))


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    write(Path(sys.argv[1]), int(sys.argv[2]), few=sys.argv[3] == "few")
