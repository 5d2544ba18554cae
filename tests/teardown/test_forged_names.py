"""A directory whose name holds a newline cannot speak for another file."""

from __future__ import annotations

import os

from boxes import Sshd

from gpu_tui.teardown.hashing import stamps
from gpu_tui.transport.ssh import SshTransport


async def test_a_touched_file_shows_although_a_directory_says_that_nobody_touched_it(
    box: Sshd,
) -> None:
    root = box.home / "results"
    (root / "base").mkdir(parents=True)
    file = root / "base/best.pth"
    file.write_bytes(b"first")
    os.utime(file, (1.7e9, 1.7e9))
    connection = await SshTransport().connect(box.instance())
    try:
        before = await stamps(connection, str(root))
        # What was said of the file before it changed, as names of directories: one is listed behind it.
        for number in range(20):
            forged = root / f"{number}\n1700000000\t{before['base/best.pth']}\t." / "base"
            forged.mkdir(parents=True)
            (forged / "best.pth").write_bytes(b"")
        file.write_bytes(b"other")
        after = await stamps(connection, str(root))
    finally:
        await connection.close()
    assert after["base/best.pth"] != before["base/best.pth"]
