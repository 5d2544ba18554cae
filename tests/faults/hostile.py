"""A box whose owner wants to harm who watches it: a real sshd in which every program is this one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from time import thread_time

from boxes import Sshd

# It answers the question for a shell as a shell does; of every other program it learns the nonce, and `harm`s.
LIAR = """\
import os, re, select, subprocess, sys
text = b""
while select.select([0], [], [], 0.3 if text else 10)[0] and (part := os.read(0, 1 << 20)):
    text += part
if b"echo shell-" in text:
    shell = subprocess.Popen(["/bin/sh", "-s"], stdin=subprocess.PIPE)
    shell.stdin.write(text)
    shell.stdin.flush()
    sys.exit(shell.wait())
found = re.search(rb"037%s\\\\?'[^0-9a-f]{0,20}([0-9a-f]{16})|@([0-9a-f]{16}) ", text)
nonce = (found[1] or found[2]) if found else b""
def out(data):
    while data:
        data = data[os.write(1, data):]
"""


def hostile(make_box: Callable[..., Sshd], harm: str, directory: Path) -> Sshd:
    """A box on which each program does `harm`: python, in which `nonce` is known and `out(bytes)` says."""
    program = directory / "liar.py"
    program.write_text(LIAR + harm)
    return make_box("hostile", extra=f"ForceCommand exec {sys.executable} -IS {program}\n")


@asynccontextmanager
async def held() -> AsyncIterator[list[float]]:
    """The seconds of the processor that the loop took each time between two turns of ours."""
    took: list[float] = []

    async def look() -> None:
        while True:
            began = thread_time()
            await asyncio.sleep(0.005)
            took.append(thread_time() - began)

    looking = asyncio.create_task(look())
    try:
        yield took
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
