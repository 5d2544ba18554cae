"""How fast a flood passes: bytes per second through one channel and line splitting alone.

`cd tests && python -m bench.flood`. Interleaved rounds on one real sshd, the same cipher on all sides;
what ssh needs to log in is measured in the same rounds and taken off. A line is 200 bytes.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

from boxes import Sshd

from gpu_tui.transport.ssh import SshTransport

CIPHER = "aes128-gcm@openssh.com"
LINE = b"x" * 199 + b"\n"


def ssh_words(box: Sshd) -> list[str]:
    """The ordinary client with the same cipher, and none of the user's own settings."""
    access = box.ssh_access
    options = (f"UserKnownHostsFile={access.known_hosts}", "BatchMode=yes", f"Ciphers={CIPHER}")
    words = ["ssh", "-F", str(access.config), "-i", str(access.identity), "-p", str(access.port)]
    for option in options:
        words += ["-o", option]
    return [*words, f"{access.user}@{access.host}"]


def discard(box: Sshd, command: str) -> float:
    """Seconds of `ssh box COMMAND >/dev/null`."""
    began = time.perf_counter()
    subprocess.run([*ssh_words(box), command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


async def by_line(box: Sshd, command: str, lines: int) -> float:
    """Seconds of `ssh box COMMAND`, read line by line from its pipe by asyncio."""
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(*ssh_words(box), command, stdout=subprocess.PIPE)
    assert process.stdout
    count = 0
    while await process.stdout.readline():
        count += 1
    await process.wait()
    assert count == lines
    return time.perf_counter() - began


async def by_stream(transport: SshTransport, box: Sshd, command: str, lines: int) -> float:
    """Seconds of the same over one of our channels, split into lines."""
    connection = await transport.connect(box.instance())
    began = time.perf_counter()
    count, rest = 0, b""
    async with connection.stream(f"exec {command}\n") as chunks:
        async for chunk in chunks:
            whole = chunk.split(b"\n")
            whole[0] = rest + whole[0]
            rest = whole.pop()
            count += len(whole)
    seconds = time.perf_counter() - began
    await connection.close()
    assert count == lines
    return seconds


async def _rounds(box: Sshd, megabytes: int, rounds: int) -> dict[str, float]:
    flood = box.home / "flood.log"
    lines = megabytes * 1_000_000 // len(LINE)
    flood.write_bytes(LINE * lines)
    command = f"cat {flood}"
    transport = SshTransport()
    taken: dict[str, list[float]] = {"discard": [], "by line": [], "ours": []}
    for _ in range(rounds):
        login = await asyncio.to_thread(discard, box, "true")
        taken["discard"].append(await asyncio.to_thread(discard, box, command) - login)
        taken["ours"].append(await by_stream(transport, box, command, lines))
        taken["by line"].append(await by_line(box, command, lines) - login)
    await transport.close()
    speed = {way: lines * len(LINE) / 1e6 / median(seconds) for way, seconds in taken.items()}
    return {
        "ssh >/dev/null MB/s": round(speed["discard"], 1),
        "ssh read by line MB/s": round(speed["by line"], 1),
        "ours MB/s": round(speed["ours"], 1),
        "ours / ssh >/dev/null": round(speed["ours"] / speed["discard"], 2),
        "ours / ssh read by line": round(speed["ours"] / speed["by line"], 2),
    }


def measure(megabytes: int = 200, rounds: int = 5) -> dict[str, float]:
    """Medians of `rounds` interleaved rounds."""
    with tempfile.TemporaryDirectory() as directory:
        box = Sshd(Path(directory) / "box").start()
        try:
            return asyncio.run(_rounds(box, megabytes, rounds))
        finally:
            box.close()


if __name__ == "__main__":
    os.environ.pop("SSH_AUTH_SOCK", None)
    print(json.dumps(measure(), indent=2))
