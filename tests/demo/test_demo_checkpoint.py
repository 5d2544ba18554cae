from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from random import Random

from gpu_tui.demo.checkpoint import checkpoint_bytes, metrics_bytes, seeded_weights

LOAD = """
import json, sys, torch
loaded = torch.load(sys.argv[1], map_location="cpu", weights_only=True)
state = loaded["model_state_dict"]
shapes = {name: list(value.shape) for name, value in state.items()}
first = float(state["encoder.0.bias"][1])
kinds = sorted({str(value.dtype) for value in state.values()})
print(json.dumps([loaded["epoch"], shapes, first, kinds]))
"""


def test_torch_loads_what_was_written_and_finds_the_same_numbers(tmp_path: Path) -> None:
    weights = seeded_weights(Random(3), width=8)
    path = tmp_path / "best.pth"
    path.write_bytes(checkpoint_bytes(weights, epoch=12))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOAD, str(path)], capture_output=True, check=True
    )
    epoch, shapes, second, kinds = json.loads(done.stdout)
    assert epoch == 12
    assert shapes == {name: list(shape) for name, (shape, _) in weights.items()}
    assert abs(second - weights["encoder.0.bias"][1][1]) < 1e-6
    assert kinds == ["torch.float32"]


def test_one_seed_writes_the_same_bytes_and_every_member_is_whole() -> None:
    first, again, other = (
        checkpoint_bytes(seeded_weights(Random(seed), width=4), 1) for seed in (1, 1, 2)
    )
    assert first == again != other
    assert zipfile.ZipFile(io.BytesIO(first)).testzip() is None


def test_metrics_are_json_with_the_epoch() -> None:
    assert json.loads(metrics_bytes(4, {"psnr": 31.25})) == {"epoch": 4, "psnr": 31.25}
