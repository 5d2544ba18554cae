"""Who has a terminal on the box: by `who` (POSIX), and by the processes of sshd where nothing keeps a record. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpu_tui.core.plain import plain
from gpu_tui.core.readings import Process

LOGINS_MOST = 100  # lines that are asked for
_WHO = re.compile(r"(\S{1,64})[ \t]+(\S{1,32})[ \t]+(?=.*\d:\d)\S.*?(?:\((\S{1,255})\))?[ \t]*")
_SSHD = re.compile(r"sshd(?:-session)?: (\S{1,64})@((?:pts/|tty)\S{1,16})")


def logins(told: str, processes: Sequence[Process]) -> tuple[str, ...] | None:
    """`root on pts/0 (192.0.2.7)`, sorted; None where nobody keeps a record and no login shows itself.

    `told`: what `who` printed, below a line `known` where there is a record at all. Our own look has no
    terminal and is in neither.
    """
    known, found = False, dict[str, str]()
    for line in told.split("\n"):
        if line == "known":
            known = True
        elif (row := _WHO.fullmatch(line)) and (row[1], row[2]) != (
            "USER",
            "TTY",
        ):  # busybox's head
            where = f" ({plain(row[3], 60)})" if row[3] else ""
            found[row[2]] = f"{plain(row[1], 40)} on {plain(row[2], 20)}{where}"
    for process in processes:
        if row := _SSHD.match(" ".join(process.argv)):
            found.setdefault(row[2], f"{plain(row[1], 40)} on {plain(row[2], 20)}")
    return tuple(sorted(found.values())) if found or known else None
