"""A trainer on a real card: what its cell is called decides what becomes of it.

`overflows` asks for more memory than the card has, `asserts` looks up an index that is not in its table,
`diverges` has a loss that goes NaN, `starves` waits for its data, and whatever is called `holds` or `starves`
goes on, once it has said so in the FIFO ~/ready, until somebody writes to ~/release.
"""

import argparse
import json
import os
import sys
import threading
import time
from pathlib import Path

import torch  # noqa: TID251
from torch import nn  # noqa: TID251

parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True)
parser.add_argument("--epochs", type=int, required=True)
args = parser.parse_args()
home = Path(os.environ["HOME"])
name = Path(args.config).stem
out = home / "ckpt" / name
out.mkdir(parents=True, exist_ok=True)
device = torch.device("cuda")
torch.manual_seed(0)
print(f"config: {args.config} on {torch.cuda.get_device_name(device)}, torch {torch.__version__}")

model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).to(device)
rate = 1e12 if name.startswith("diverges") else 1e-3
optimizer = torch.optim.SGD(model.parameters(), lr=rate)


def step() -> float:
    """One step on fresh data; its loss."""
    data = torch.randn(8192, 1024, device=device)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = (model(data) - data).float().pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss)


for epoch in range(1, args.epochs + 1):
    for number in range(1, 6):
        loss = step()
        sys.stderr.write(
            f"\rEpoch {epoch}/{args.epochs}: {number * 20}%|{'#' * number:5}| {number}/5"
        )
    sys.stderr.write("\n")
    print(f"Epoch {epoch}/{args.epochs} train_loss: {loss:.4f} psnr: {20 + epoch}.0")
if name.startswith("overflows"):
    kept = []
    while True:
        kept.append(torch.ones(1 << 32, dtype=torch.uint8, device=device))
if name.startswith("asserts"):
    table = nn.Embedding(100, 16).to(device)
    print(float(table(torch.full((64,), 100, device=device)).sum()))

best = {"epoch": args.epochs, "psnr": 20.0 + args.epochs}
torch.save(
    {"model_state_dict": model.state_dict(), "optimizer": optimizer.state_dict(), **best},
    out / "best.pth",
)
(out / "best_metrics.json").write_text(json.dumps(best))
if name.startswith(("holds", "starves")):
    released = threading.Event()

    def wait() -> None:
        """Until somebody lets go."""
        with (home / "release").open() as gate:
            gate.read()
        released.set()

    threading.Thread(target=wait).start()
    with (home / "ready").open("w") as gate:
        gate.write(name)
    steps = 0
    while not released.is_set():
        if name.startswith("starves"):
            released.wait(1.0)
            print(f"step {steps} loss: {loss:.4f}", flush=True)
        else:
            loss = step()
            if steps % 200 == 0:
                print(f"step {steps} loss: {loss:.4f} at {time.strftime('%H:%M:%S')}", flush=True)
        steps += 1
