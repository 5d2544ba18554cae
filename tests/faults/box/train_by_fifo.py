"""A trainer that trains one epoch and then does what it reads from ~/command, until it is told to finish."""

import argparse
import os
import signal
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True)
parser.add_argument("--epochs", type=int, required=True)
args = parser.parse_args()
home = Path(os.environ["HOME"])
name = Path(args.config).stem
out = home / "out" / name
out.mkdir(parents=True, exist_ok=True)


def say() -> None:
    """Tell the test that the last command is done."""
    with (home / "answer").open("w") as fifo:
        fifo.write(f"{os.getpid()}\n")


def epoch(number: int, loss: float) -> None:
    print(f"Epoch {number}/{args.epochs} train_loss: {loss:.4f}")


epoch(1, 0.9)
say()
while True:
    with (home / "command").open() as fifo:
        command = fifo.readline().strip()
    if command == "nan":
        for number in range(2, args.epochs + 1):
            epoch(number, float("nan"))
        say()
    elif command == "raise":
        raise KeyError("lr_schedule")
    elif command == "eat":
        say()
        hoard = []
        while True:
            hoard.append(bytearray(8 << 20))
    elif command == "fill":
        say()
        with (out / "latest.pth").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
    elif command == "hang":
        epoch(args.epochs, 0.1)
        (out / "best.pth").write_bytes(b"weights")
        # As a deadlock at exit does: the queue goes on, a child of the trainer stays.
        if os.fork() == 0:
            os.setsid()
            signal.pause()
        break
    elif command == "finish":
        epoch(args.epochs, 0.1)
        (out / "best.pth").write_bytes(b"weights")
        break
