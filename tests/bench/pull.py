"""Bringing results home: 20 files of 256 MB over the same local sshd, by us, by rsync and by sftp.

`cd tests && python -m bench.pull [FILES] [MEGABYTES] [ROUNDS]`. Interleaved rounds, the same cipher on all sides, from the
page cache to the disk under the temporary directory; what ssh needs to log in is measured in the same
rounds and taken off. Ours also makes a SHA-256 of every byte and an fsync of every file, which the
others do not: what sftp takes with both stands in a row of its own, as does the box's own manifest, which
is made before.
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


def by_rsync(box: Sshd, root: Path, into: Path) -> float:
    """Seconds of `rsync -a`."""
    *ssh, host = ssh_words(box)
    return _timed(["rsync", "-a", "-e", " ".join(ssh), f"{host}:{root}/", f"{into}/"])


def by_sftp(box: Sshd, root: Path, into: Path) -> float:
    """Seconds of `sftp -r`."""
    *ssh, host = ssh_words(box)
    words = ["sftp", "-q", "-r", *("-P" if word == "-p" else word for word in ssh[1:])]
    return _timed([*words, f"{host}:{root}", str(into)])


def proven(into: Path) -> float:
    """Seconds of what ours does besides: a SHA-256 of every file that came, all of it on the disk."""
    files = map(str, sorted(path for path in into.rglob("*") if path.is_file()))
    return _timed(["sha256sum", *files]) + _timed(["sync", "-f", str(into)])


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


async def _rounds(box: Sshd, room: Path, files: int, megabytes: int, rounds: int) -> dict[str, str]:
    root = box.home / "results"
    total = await asyncio.to_thread(make, root, files, megabytes)
    transport = SshTransport()
    connection = await transport.connect(box.instance())
    seconds: dict[str, list[float]] = {"rsync": [], "sftp": [], "proven": []}
    ours: dict[str, list[float]] = {}
    for _ in range(rounds):
        login = await asyncio.to_thread(discard, box, "true")
        for name, way in (("rsync", by_rsync), ("sftp", by_sftp)):
            into = room / name
            seconds[name].append(await asyncio.to_thread(way, box, root, into) - login)
            if name == "sftp":
                more = await asyncio.to_thread(proven, into)
                seconds["proven"].append(seconds[name][-1] + more)
            await asyncio.to_thread(_forget, into)
        into = room / "ours"
        for name, value in (await by_us(connection, root, into)).items():
            ours.setdefault(name, []).append(value)
        await asyncio.to_thread(_forget, into)
    await connection.close()
    await transport.close()
    took = {name: median(values) for name, values in {**seconds, **ours}.items()}
    return {
        "files": f"{files} x {megabytes} MB",
        "rsync -a MB/s": f"{total / 1e6 / took['rsync']:.0f}",
        "sftp -r MB/s": f"{total / 1e6 / took['sftp']:.0f}",
        "sftp -r, then sha256sum and sync MB/s": f"{total / 1e6 / took['proven']:.0f}",
        "ours MB/s, SHA-256 and fsync in it": f"{total / 1e6 / took['pull']:.0f}",
        "ours / rsync": f"{took['rsync'] / took['pull']:.2f}",
        "ours / sftp": f"{took['sftp'] / took['pull']:.2f}",
        "ours, the manifest on the box before MB/s": f"{total / 1e6 / took['manifest']:.0f}",
        "loop lag while pulling p99 ms": f"{took['lag'] * 1000:.1f}",
        "loop lag while pulling worst ms": f"{took['worst'] * 1000:.1f}",
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
            box.stop()


if __name__ == "__main__":
    os.environ.pop("SSH_AUTH_SOCK", None)
    print(json.dumps(measure(*map(int, sys.argv[1:])), indent=2))
