"""The end of a log that nothing writes any more: read once, over a channel that closes again."""

from __future__ import annotations

import secrets

from gpu_tui.collect.shell import quote_path
from gpu_tui.collect.tail import GONE
from gpu_tui.collect.tail_memory import TailMemory
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import LogArrived, LogFailed, LogOpened, Noted
from gpu_tui.core.fleet import Instance
from gpu_tui.core.logs import LogSource
from gpu_tui.core.number import INODE_DIGITS, whole
from gpu_tui.core.ports import Sink
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.transport.base import Connection

ONCE_HISTORY = 65_536
NOISE_CAP = 65_536  # of what a login shell says before


async def read_once(
    connection: Connection, instance: Instance, source: LogSource, sink: Sink, clock: Clock
) -> None:
    """The end of a log that nothing writes any more, read once as history."""
    read = await _end_of(connection, source, f"-c {ONCE_HISTORY}")
    if read is None:
        sink(LogFailed(instance.name, clock.now(), source, f"{source.path} cannot be read"))
        return
    inode, size, body = read
    skipped, body = _whole_lines(size, body)
    reader = LogReader()
    lines = (*reader.feed(body), *reader.close())
    now = clock.now()
    sink(LogOpened(instance.name, now, source, inode, skipped, skipped, resumed=False))
    sink(LogArrived(instance.name, now, source, lines, backfill=True, upto=skipped + len(body)))


async def read_rest(
    connection: Connection,
    instance: Instance,
    source: LogSource,
    memory: TailMemory,
    sink: Sink,
    clock: Clock,
) -> None:
    """What a log that nothing writes any more got after its tail was taken away: its last words."""
    known = memory.recent  # an inode is used again: only these bytes tell that it is the same file
    start = memory.offset - len(known)
    read = await _end_of(connection, source, f"-c +{start + 1}")
    if read is None or read[0] != memory.inode or not read[2].startswith(known):
        await _read_another(connection, instance, source, memory, sink, clock)
        return
    rest, upto = read[2].removeprefix(known), None
    if start + len(read[2]) < read[1]:  # more than is taken at once: of that the end tells most
        read = await _end_of(connection, source, f"-c {ONCE_HISTORY}")
        if read is None or read[0] != memory.inode:
            await _read_another(connection, instance, source, memory, sink, clock)
            return
        begin, rest = _whole_lines(read[1], read[2])
        _pass_over(begin, instance, source, memory, sink, clock)
        upto = begin + len(rest)
    if not rest:
        return
    lines = (*memory.take(rest), *memory.reader.close())
    memory.reader = LogReader()
    sink(LogArrived(instance.name, clock.now(), source, lines, upto=upto))


async def _read_another(
    connection: Connection,
    instance: Instance,
    source: LogSource,
    memory: TailMemory,
    sink: Sink,
    clock: Clock,
) -> None:
    """Another text stands where the tail was, or none: what ours said last nobody will know."""
    memory.gaps += 1
    sink(Noted(instance.name, clock.now(), f"{source.path} {GONE}"))
    await read_once(connection, instance, source, sink, clock)


def _pass_over(
    begin: int, instance: Instance, source: LogSource, memory: TailMemory, sink: Sink, clock: Clock
) -> None:
    """Go on at byte `begin` of the same file; what lies between is counted, and told."""
    now, passed = clock.now(), begin - memory.offset
    memory.gaps += 1
    memory.lost += passed
    if unfinished := memory.restart(memory.inode, memory.born, begin):
        sink(LogArrived(instance.name, now, source, unfinished))
    text = f"{source.path} came faster than it could be read: {passed:,} bytes were passed over"
    sink(Noted(instance.name, now, text))
    sink(LogOpened(instance.name, now, source, memory.inode, begin, begin, resumed=False))


def _whole_lines(size: int, end: bytes) -> tuple[int, bytes]:
    """Where the first whole line begins in the end of a file of `size` bytes, and all from there on."""
    skipped = max(0, size - len(end))
    if not skipped:
        return 0, end
    cut = end.find(b"\n") + 1
    return skipped + cut, end[cut:]


async def _end_of(
    connection: Connection, source: LogSource, part: str
) -> tuple[int, int, bytes] | None:
    """Inode, size and the asked part of a file, of which no more than ONCE_HISTORY bytes are taken."""
    path = quote_path(source.path)
    mark = secrets.token_hex(8)
    program = (
        f"[ -f {path} ] && [ -r {path} ] || exit 4\n"
        f"printf '\\n{mark} %s\\n' \"$(stat -L -c '%i %s' -- {path})\"\n"
        f"tail {part} -- {path} | head -c {ONCE_HISTORY}\n"
    )
    done = await connection.run(program, limit=20.0, stdout_cap=ONCE_HISTORY + NOISE_CAP)
    _, _, answer = done.stdout.partition(f"\n{mark} ".encode())
    header, _, body = answer.partition(b"\n")
    first, _, second = header.partition(b" ")
    inode, size = whole(first, INODE_DIGITS), whole(second)
    if done.exit != 0 or inode is None or size is None:
        return None
    return inode, size, body
