"""What a program writes to a real pty."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time


def on_a_terminal(argv: list[str], env: dict[str, str], until: bytes | None = None) -> bytes:
    """What a program wrote to a real pty; it is read until it ends, or says `until`."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        argv, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True
    )
    os.close(slave)
    data, ends = b"", time.monotonic() + 60
    try:
        while time.monotonic() < ends and (until is None or until not in data):
            if not select.select([master], [], [], 1.0)[0]:
                continue
            try:
                part = os.read(master, 65_536)
            except OSError:
                break
            if not part:
                break
            data += part
    finally:
        if until is not None:
            process.terminate()
        process.wait(30)
        os.close(master)
    return data
