"""`python -m gpu_tui.demo.server`: the simulated fleet in a process of its own.

Prints one line of JSON when everything answers, and ends when its stdin closes or it is told to. It
takes its directory with it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from gpu_tui.demo.cast import SEATS, cast
from gpu_tui.demo.theatre import theatre
from gpu_tui.places import make_private


def main() -> int:
    """Parse the flags and play until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m gpu_tui.demo.server", description=__doc__)
    parser.add_argument("--dir", type=Path, help="a new directory for all files of the demo")
    parser.add_argument("--speed", type=float, default=1.0, help="story seconds per second")
    parser.add_argument("--seed", type=int, default=7, help="another seed, another run")
    parser.add_argument("--boxes", type=int, default=8, help=f"how many boxes, 1 to {SEATS}")
    args = parser.parse_args()
    try:
        cast(args.boxes)
    except ValueError as error:
        parser.error(str(error))
    if args.speed <= 0:
        parser.error("--speed must be above 0")
    if args.dir and args.dir.exists() and any(args.dir.iterdir()):
        parser.error(f"{args.dir} is not empty; name a new directory")
    return asyncio.run(_play_until_told(args))


async def _play_until_told(args: argparse.Namespace) -> int:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, told.set)
    watch = asyncio.create_task(_stdin_ends(told))
    playing = asyncio.create_task(_play(args))
    ended = asyncio.create_task(told.wait())
    await asyncio.wait({playing, ended}, return_when=asyncio.FIRST_COMPLETED)
    watch.cancel()
    ended.cancel()
    playing.cancel()  # also while the boxes start
    with suppress(asyncio.CancelledError):
        await playing
    return 0


async def _play(args: argparse.Namespace) -> None:
    directory = args.dir or Path(tempfile.mkdtemp(prefix="gpu-tui-demo-"))
    make_private(directory)
    async with theatre(directory.resolve(), args.boxes, args.speed, args.seed) as opened:
        sys.stdout.write(json.dumps(opened.announcement()) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


async def _stdin_ends(told: asyncio.Event) -> None:
    """Whoever started us has gone, in whatever way, when our stdin reaches its end."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(4096):
        pass
    told.set()


if __name__ == "__main__":
    sys.exit(main())
