"""The last look at a box before the call: what runs there and the stamps of its results, read by one program.

The program lists every file and directory twice, first and last. What changed in between shows as another
change time (ctime), which no program can set: `mv`, `cp -p` and `touch -d` keep only the mtime.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpu_tui.core import units
from gpu_tui.core.fleet import Instance
from gpu_tui.teardown.box import SURVEY_PARTS, BoxError, Survey, survey_of, survey_program
from gpu_tui.teardown.hashing import (
    STAMPS_BEGIN,
    STAMPS_CAP,
    STAMPS_OF_FILES,
    Stamps,
    stamps_from,
)
from gpu_tui.teardown.mounts import Unknown, from_mount_table, without_ctime
from gpu_tui.transport.base import Connection, nonce_of
from gpu_tui.transport.channels import guarded

LAST_LOOK_SECONDS = 120.0
MAX_ANSWER_BYTES = 2 * STAMPS_CAP
MAX_MOUNTS_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class LastLook:
    """`read_at`: boot second of the last byte. `stamps` and `changing` are of the results: None and empty
    where they were not asked for. `changing`: paths that differ between the program's two passes.
    `without_ctime`: (directory, file system) whose change times may not move.
    """

    survey: Survey
    read_at: float
    stamps: Stamps | None = None
    changing: tuple[str, ...] = ()
    without_ctime: tuple[tuple[str, str], ...] = ()


async def last_look(
    connection: Connection, instance: Instance, root: str | None, boot: Callable[[], float]
) -> LastLook:
    """Run the program. `root` is the directory of the results as the box resolves it, None for a park.

    `boot` reads the boot clock. BoxError where the answer is not whole, too long or too late; LinkError passes.
    """
    mark = secrets.token_hex(8)
    data, read_at = await _answer(connection, _program(instance, root, mark), mark, boot)
    nonce = nonce_of(connection)
    return await asyncio.to_thread(_look, data, read_at, instance, root, mark, nonce)


def _program(instance: Instance, root: str | None, mark: str) -> str:
    look = survey_program(instance, mark)
    if root is not None:
        begin = STAMPS_BEGIN.format(root=shlex.quote(root), mark=mark)
        every = STAMPS_OF_FILES.format(mark=mark) + _DIRECTORIES.format(mark=mark)
        mounts = _MOUNTS.format(mark=mark, most=MAX_MOUNTS_BYTES)
        look = f"{begin}{every}{mounts}(\n{look}\n)\n{every}printf '@{mark}\\n'\n"
    return look + _END.format(mark=mark)


async def _answer(
    connection: Connection, program: str, mark: str, boot: Callable[[], float]
) -> tuple[bytes, float]:
    """All that the program printed, and when its last byte was here."""
    end = re.compile(rf"{mark} \d* end\n\Z".encode())
    chunks: list[bytes] = []
    size, read_at = 0, boot()
    try:
        async with (
            asyncio.timeout(LAST_LOOK_SECONDS),
            connection.stream(guarded(program)) as stream,
        ):
            async for chunk in stream:
                read_at = boot()
                chunks.append(chunk)
                size += len(chunk)
                if size > MAX_ANSWER_BYTES:
                    raise BoxError(
                        f"the names of the results are more than {units.size(MAX_ANSWER_BYTES)}: "
                        "they cannot be looked at at once"
                    )
                if end.search(b"".join(chunks[-2:])[-100:]):
                    return b"".join(chunks), read_at
    except TimeoutError:
        raise BoxError(
            f"the last look at the box took longer than {LAST_LOOK_SECONDS:.0f} s: pack small files of the "
            "results together, or remove what need not come home"
        ) from None
    raise BoxError("the last look at the box did not come to its end")


def _look(
    data: bytes, read_at: float, instance: Instance, root: str | None, mark: str, nonce: str
) -> LastLook:
    parts = data.split(f"@{mark}\n".encode())
    first = second = mounts = b""
    if root is not None and len(parts) == SURVEY_PARTS + 4:
        first, mounts, *parts, second, _ = parts
    elif root is None and len(parts) == SURVEY_PARTS + 1:
        parts = parts[:-1]
    else:
        raise BoxError("the last look at the box is not whole")
    texts = [part.decode("utf-8", "surrogateescape") for part in parts]
    seen = survey_of(texts, instance, nonce)
    if root is None:
        return LastLook(seen, read_at)
    if seen.root != root:
        raise BoxError(f"{instance.results.remote} leads to another directory now")
    files, _, directories = first.partition(f"{mark} end\n".encode())
    listed = first.partition(b"\n")[2]  # the first line is the time at which it began
    if not directories.endswith(f"{mark} directories\n".encode()):
        raise BoxError("files came or went during the last look, or cannot all be read")
    changing = () if listed.strip() == second.strip() else _differing(listed, second)
    try:
        table = from_mount_table(mounts.decode("utf-8", "surrogateescape"))
        still = without_ctime(Path(root), table)
    except Unknown:
        still = ()
    stamps = stamps_from(files + f"{mark} end\n".encode(), mark)
    return LastLook(seen, read_at, stamps, changing, still)


def _differing(one: bytes, other: bytes) -> tuple[str, ...]:
    """The paths of the lines that only one pass has."""
    lines = set(one.split(b"\n")) ^ set(other.split(b"\n"))
    paths = {line.rpartition(b"\t")[2].removeprefix(b"./") for line in lines if b"\t" in line}
    if not paths and lines:
        raise BoxError("files came or went during the last look, or cannot all be read")
    return tuple(sorted(path.decode("utf-8", "surrogateescape") for path in paths))


_DIRECTORIES = """
find . -type d -exec stat "$@" -- {{}} + && echo '{mark} directories'
"""
_MOUNTS = """
printf '@{mark}\\n'
head -c {most} /proc/self/mounts 2>/dev/null
printf '\\n@{mark}\\n'
"""
_END = """
printf '{mark} %s end\\n' "$(date +%s)"
"""
