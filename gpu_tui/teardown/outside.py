"""What else lies on the disks of the results and does not come home. Nothing follows from it but words:
whoever confirms must have read what the results directory leaves out.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from posixpath import dirname

from gpu_tui.core.evidence import Coverage
from gpu_tui.teardown.box import shell_path
from gpu_tui.teardown.hashing import Stamps
from gpu_tui.transport.base import Connection

LIMIT = 30.0  # seconds for all of it; a disk full of small files is not counted to its end
DU_LIMIT = 20  # seconds for one directory
LARGE = 10 << 20  # bytes; what is smaller is not worth a line
MOST = 100
TEXT_CAP = 1 << 20


async def coverage(
    connection: Connection, root: str, mounts: Sequence[str], looked: Stamps
) -> Coverage:
    """What lies beside `root` (absolute) on `mounts`, and how young the newest result is.

    `outside` is None where it could not be counted. LinkError passes.
    """
    mark = secrets.token_hex(8)
    places = " ".join(shell_path(path) for path in (*mounts, dirname(root)))
    program = _PROGRAM.format(mark=mark, root=shell_path(root), places=places, seconds=DU_LIMIT)
    try:
        done = await connection.run(program, limit=LIMIT, stdout_cap=TEXT_CAP)
    except TimeoutError:
        return Coverage(None, looked.newest, looked.newest_age)
    found: dict[str, int] = {}
    whole = False
    for line in done.stdout.decode("utf-8", "surrogateescape").split("\n"):
        if match := re.fullmatch(rf"{mark} (\d{{1,15}}) (/.*)", line):
            found[match[2]] = int(match[1]) * 1024
        whole = whole or line == f"{mark} end"
    large = sorted((path, size) for path, size in found.items() if size >= LARGE)
    large.sort(key=lambda row: -row[1])
    return Coverage(tuple(large[:MOST]) if whole else None, looked.newest, looked.newest_age)


# From each place down to the results: whatever stands beside the way. A place inside of another one is
# met twice and told once; another file system below is counted by its own place.
_PROGRAM = """
root={root}
ok=1
g() {{
  for d in "$1"/* "$1"/.[!.]*; do
    [ -L "$d" ] && continue
    [ -e "$d" ] || continue
    case "$root/" in
      "$d/") continue ;;
      "$d"/*) ( g "$d" ) || exit 1; continue ;;
    esac
    k=$(timeout -k 2 {seconds} du -xsk -- "$d" 2>/dev/null) || [ -n "$k" ] || exit 1
    k=${{k%%[!0-9]*}}
    [ -n "$k" ] || exit 1
    printf '{mark} %s %s\\n' "$k" "$d"
  done
}}
for p in {places}; do
  p=$(cd -- "$p" 2>/dev/null && pwd -P) || continue
  case "$p/" in "$root"/*) continue ;; esac
  [ "$p" = / ] && continue
  ( g "$p" ) || ok=
done
[ -n "$ok" ] && echo '{mark} end'
"""
