"""Bringing results home: 20 files of 256 MB over the same local sshd, by us, by rsync and by sftp.

`cd tests && python -m bench.pull [FILES] [MEGABYTES] [ROUNDS]`. Interleaved rounds, the same cipher on all sides, from the
page cache; what ssh needs to log in is measured in the same rounds and taken off. Ours makes a SHA-256 of every byte and
an fsync of every file, which the others do not unless they are asked. So it is measured twice: into memory, where
nobody waits for a disk and the link is all there is, and onto the disk under the temporary directory, where the others
are asked for the same promise (`rsync --fsync`, `sftp -f`) and are shown without it as well. The box's own manifest is
made before and stands in a row of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

from bench.flood import discard, ssh_words
from boxes import Sshd

from gpu_tui.teardown.inventory import remote_manifest
from gpu_tui.teardown.listing import list_remote
from gpu_tui.teardown.pull import pull_files
from gpu_tui.transport.base import Connection
from gpu_tui.transport.ssh import SshTransport

FILES, MEGABYTES, ROUNDS = 20, 256, 3
SHM = Path("/dev/shm")  # a file system in memory, where there is one
MEMORY = SHM if SHM.is_dir() else None
BEAT = 0.005  # seconds between two looks at the loop


def make(root: Path, files: int, megabytes: int) -> int:
    """Files of bytes that do not compress; how many bytes there are in all."""
    root.mkdir()
    blob = os.urandom(1_000_000)
    for number in range(files):
        with (root / f"shard-{number:05}.bin").open("wb") as file:
            file.write(number.to_bytes(8, "big"))
            for _ in range(megabytes - 1):
                file.write(blob)
            file.write(blob[8:])
    return files * megabytes * 1_000_000


def by_rsync(box: Sshd, root: Path, into: Path, *more: str) -> float:
    """Seconds of `rsync -a`."""
    *ssh, host = ssh_words(box)
    return _timed(["rsync", "-a", *more, "-e", " ".join(ssh), f"{host}:{root}/", f"{into}/"])


def by_sftp(box: Sshd, root: Path, into: Path, *more: str) -> float:
    """Seconds of `sftp -r`."""
    *ssh, host = ssh_words(box)
    words = ["sftp", "-q", "-r", *more, *("-P" if word == "-p" else word for word in ssh[1:])]
    return _timed([*words, f"{host}:{root}", str(into)])


def _timed(words: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


async def by_us(connection: Connection, root: Path, into: Path) -> dict[str, float]:
    """Seconds of the pull and of the manifest before it, the loop's lag, and the growth of our memory."""
    began = time.perf_counter()
    listing = await list_remote(connection, str(root))
    manifest, failed = await remote_manifest(connection, listing)
    assert not failed
    hashed = time.perf_counter()
    lags: list[float] = []
    watching = asyncio.create_task(_lag(lags))
    before = _resident()
    pulled = await pull_files(connection, str(root), manifest, into)
    seconds = time.perf_counter() - hashed
    watching.cancel()
    assert not pulled.failed
    assert pulled.files == len(manifest.files)
    lags.sort()
    return {
        "pull": seconds,
        "manifest": hashed - began,
        "lag": lags[int(len(lags) * 0.99)],
        "worst": lags[-1],
        "memory": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before) / 1e6,
    }


async def _lag(lags: list[float]) -> None:
    clock = asyncio.get_running_loop().time
    while True:
        due = clock() + BEAT
        await asyncio.sleep(BEAT)
        lags.append(clock() - due)


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


WAYS: Mapping[str, tuple[str, Callable[..., float], tuple[str, ...]]] = {
    "rsync": ("rsync -a", by_rsync, ()),
    "rsync durable": ("rsync -a --fsync", by_rsync, ("--fsync",)),
    "sftp": ("sftp -r", by_sftp, ()),
    "sftp durable": ("sftp -rf", by_sftp, ("-f",)),
}


async def _rounds(box: Sshd, room: Path, files: int, megabytes: int, rounds: int) -> dict[str, str]:
    root = box.home / "results"
    total = await asyncio.to_thread(make, root, files, megabytes)
    transport = SshTransport()
    connection = await transport.connect(box.instance())
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    ours: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory(dir=MEMORY) as memory:
        for _ in range(rounds):
            login = await asyncio.to_thread(discard, box, "true")
            for place, into in (("memory", Path(memory) / "home"), ("disk", room / "home")):
                for name, (_, way, more) in WAYS.items():
                    if more and place == "memory":
                        continue  # there is nothing to wait for
                    took = await asyncio.to_thread(way, box, root, into, *more)
                    seconds[place, name].append(took - login)
                    await asyncio.to_thread(_forget, into)
                for name, value in (await by_us(connection, root, into)).items():
                    ours[name].append(value)
                    seconds[place, name].append(value)
                await asyncio.to_thread(_forget, into)
    await connection.close()
    await transport.close()
    took = {key: median(values) for key, values in seconds.items()}
    rows = {"files": f"{files} x {megabytes} MB"}
    for place in ("memory", "disk"):
        mine = took[place, "pull"]
        rows[f"into {place}: ours MB/s, SHA-256 and fsync in it"] = f"{total / 1e6 / mine:.0f}"
        for name, (words, _, _) in WAYS.items():
            if (place, name) in took:
                other = took[place, name]
                rows[f"into {place}: {words} MB/s"] = f"{total / 1e6 / other:.0f}"
                rows[f"into {place}: ours / {words}"] = f"{other / mine:.2f}"
    return {
        **rows,
        "the manifest on the box before MB/s": f"{total / 1e6 / median(ours['manifest']):.0f}",
        "loop lag while pulling p99 ms": f"{median(ours['lag']) * 1000:.1f}",
        "loop lag while pulling worst ms": f"{max(ours['worst']) * 1000:.1f}",
        "memory grown by MB, at most": f"{max(ours['memory']):.0f}",
    }


def _forget(into: Path) -> None:
    """Give the disk back, and let nobody pay for what another one left unwritten."""
    shutil.rmtree(into)
    os.sync()


def measure(files: int = FILES, megabytes: int = MEGABYTES, rounds: int = ROUNDS) -> dict[str, str]:
    """Medians of `rounds` interleaved rounds."""
    with tempfile.TemporaryDirectory() as directory:
        room = Path(directory)
        box = Sshd(room / "box").start()
        try:
            return asyncio.run(_rounds(box, room, files, megabytes, rounds))
        finally:
            box.close()


if __name__ == "__main__":
    os.environ.pop("SSH_AUTH_SOCK", None)
    print(json.dumps(measure(*map(int, sys.argv[1:])), indent=2))
