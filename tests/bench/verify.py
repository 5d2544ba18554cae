"""What it costs to verify one large file, beside `sha256sum` of the same file, in turns.

Verified means: hashed here again, and then, in the jailed child, every checksum of its zip checked, loaded,
and every byte of every storage touched. The file is in the page cache; the best of the rounds counts. The
child has imported torch already, what it takes to start is told apart.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from gpu_tui.core.manifest import FileEntry, Manifest
from gpu_tui.teardown.local import hash_file
from gpu_tui.teardown.verify import Limits, Reader, load_with, reader

MIB = 512
ROUNDS = 5
MAKE = """
import sys, torch
from safetensors.torch import save_file
where, count = sys.argv[1], int(sys.argv[2])
w = {f"layer{n}": torch.rand(1 << 20) for n in range(count)}
torch.save({"model_state_dict": w}, f"{where}/zip.pt")
torch.save({"model_state_dict": w}, f"{where}/legacy.pt", _use_new_zipfile_serialization=False)
try:
    save_file(w, f"{where}/model.safetensors")
except ImportError:
    pass
"""


def measure() -> dict[str, str]:
    """Ratios to sha256sum for each format."""
    with tempfile.TemporaryDirectory() as name:
        where = Path(name)
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", MAKE, name, str(MIB // 4)], check=True
        )
        return asyncio.run(_measured(where, sorted(where.iterdir())))


async def _measured(where: Path, files: Sequence[Path]) -> dict[str, str]:
    small = where / "little.pt"
    rows = {"size of a file": f"{MIB} MiB"}
    async with reader(sys.executable, Limits()) as child:
        small.touch()
        rows["the reader, until it has read an empty file"] = (
            f"{await _load(child, small, 0):.2f} s"
        )
        rows["each further file at least"] = f"{1000 * await _load(child, small, 0):.0f} ms"
        for path in files:
            sums, hashes, loads = [], [], []
            for _ in range(ROUNDS):
                sums.append(
                    _timed(partial(subprocess.run, ["sha256sum", path], capture_output=True))
                )
                hashes.append(_timed(partial(hash_file, path)))
                loads.append(await _load(child, path))
            best, hashed, loaded = min(sums), min(hashes), min(loads)
            rows[path.name] = (
                f"{(hashed + loaded) / best:.2f} x sha256sum ({best / MIB * 1024:.2f} s/GiB):"
                f" hash {hashed / best:.2f}, load {loaded / best:.2f}"
            )
    return rows


async def _load(child: Reader, path: Path, size: int = MIB << 20) -> float:
    manifest = Manifest((FileEntry(path.name, size, "0" * 64),))
    began = time.perf_counter()
    (verdict,) = await load_with(child, path.parent, manifest)
    took = time.perf_counter() - began
    if size and verdict.load != "ok":
        raise RuntimeError(verdict.detail)
    return took


def _timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began
