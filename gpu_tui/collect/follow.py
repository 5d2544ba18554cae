"""Follow one log file on a box: resume by inode and byte offset, so that a reconnect repeats nothing.

One channel carries one identity of the file: a header line with what was opened, then its raw bytes.
When the file is rotated, truncated or replaced the program on the box drains the old one and ends;
it is started again and decides from (inode, offset) whether it resumes.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from gpu_tui.collect.shell import quote_path
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import LogArrived, LogFailed, LogOpened
from gpu_tui.core.fleet import Instance
from gpu_tui.core.logs import LogLine, LogSource
from gpu_tui.core.ports import Sink
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.transport.base import Connection

CELL_HISTORY = 262_144  # bytes before the end that are read of a cell's log at first sight
QUEUE_HISTORY = 4_194_304
ONCE_HISTORY = 65_536
RESTART_SECONDS = 1.0
HEADER_CAP = 65_536  # noise of rc files before the header; more than this is no header

# $1 path, $2 nonce, $3 inode and $4 offset to resume at, $5 bytes of history at first sight.
# The guard reads stdin: when the client goes, it reads EOF and ends the whole program.
PROGRAM = r"""
gt_follow() {
    gt_path=$1 gt_said=
    exec 3<&0
    gt_tail=
    { cat <&3 >/dev/null; kill -TERM $$ 2>/dev/null; } &
    gt_guard=$!
    trap 'kill $gt_guard $gt_tail 2>/dev/null; exit 0' TERM HUP PIPE
    while :; do
        if [ -f "$gt_path" ] && [ -r "$gt_path" ]; then
            set -- "$1" "$2" "$3" "$4" "$5" $(stat -L -c '%i %s' "$gt_path" 2>/dev/null)
            [ -n "$7" ] && break
        fi
        gt_now=missing
        if [ -f "$gt_path" ]; then gt_now=denied; elif [ -e "$gt_path" ]; then gt_now=nofile; fi
        if [ "$gt_now" != "$gt_said" ]; then
            printf '%s %s\n' "$2" "$gt_now" || exit 0
            gt_said=$gt_now
        fi
        sleep 1
    done
    if [ "$6" = "$3" ] && [ "$7" -ge "$4" ]; then
        gt_at=$4 gt_how=resumed
    else
        gt_at=0 gt_how=fresh
        if [ "$3" = 0 ] && [ "$7" -gt "$5" ]; then gt_at=$(($7 - $5)); fi
    fi
    printf '%s %s %s %s %s\n' "$2" "$gt_how" "$6" "$gt_at" "$7" || exit 0
    tail -c +$((gt_at + 1)) -f "$gt_path" 2>/dev/null &
    gt_tail=$!
    gt_ino=$6 gt_last=$7
    while sleep 1; do
        kill -0 $gt_tail 2>/dev/null || break
        set -- $(stat -L -c '%i %s' "$gt_path" 2>/dev/null)
        [ "$1" = "$gt_ino" ] && [ "$2" -ge "$gt_last" ] || break
        gt_last=$2
    done
    sleep 1
    kill $gt_tail $gt_guard 2>/dev/null
    exit 0
}
"""

WHY = {
    "missing": "is not there yet",
    "denied": "may not be read by this login",
    "nofile": "is not a regular file",
}


@dataclass(slots=True)
class TailMemory:
    """Where we are in one log. Lives as long as the instance, across connections.

    `offset` counts every byte taken, the unfinished line in `reader` included.
    """

    inode: int = 0
    offset: int = 0
    reader: LogReader = field(default_factory=LogReader)


def follow_program(path: str, nonce: str, memory: TailMemory, history: int) -> str:
    """The sh program for one start."""
    words = (quote_path(path), nonce, memory.inode, memory.offset, history)
    return PROGRAM + "gt_follow " + " ".join(str(word) for word in words) + "\n"


async def follow(
    connection: Connection,
    instance: Instance,
    source: LogSource,
    sink: Sink,
    clock: Clock,
    memory: TailMemory,
    *,
    history: int = CELL_HISTORY,
) -> None:
    """Follow until cancelled. Raises LinkError when the connection goes."""
    while True:
        nonce = secrets.token_hex(8)
        program = follow_program(source.path, nonce, memory, history)
        async with connection.stream(program) as chunks:
            tail = _Tail(instance.name, source, sink, clock, memory, nonce.encode())
            await tail.take(chunks)
        await asyncio.sleep(RESTART_SECONDS)


async def read_once(
    connection: Connection, instance: Instance, source: LogSource, sink: Sink, clock: Clock
) -> None:
    """The end of a log that nothing writes any more, read once as history."""
    path = quote_path(source.path)
    program = (
        f"[ -f {path} ] || exit 4\n"
        f"stat -L -c '%i %s' {path} || exit 5\n"
        f"tail -c {ONCE_HISTORY} {path}\n"
    )
    done = await connection.run(program, limit=20.0, stdout_cap=ONCE_HISTORY + 256)
    header, _, body = done.stdout.partition(b"\n")
    numbers = header.split()
    if done.exit != 0 or len(numbers) != 2 or not all(n.isdigit() for n in numbers):
        sink(LogFailed(instance.name, clock.now(), source, f"{source.path} cannot be read"))
        return
    inode, size = int(numbers[0]), int(numbers[1])
    skipped = max(0, size - ONCE_HISTORY)
    if skipped:
        body = body.partition(b"\n")[2]
    reader = LogReader()
    lines = (*reader.feed(body), *reader.close())
    now = clock.now()
    sink(LogOpened(instance.name, now, source, inode, skipped, skipped, resumed=False))
    sink(LogArrived(instance.name, now, source, lines, backfill=True))


class _Tail:
    """Takes the bytes of one start of the program."""

    def __init__(
        self,
        instance: str,
        source: LogSource,
        sink: Sink,
        clock: Clock,
        memory: TailMemory,
        nonce: bytes,
    ) -> None:
        self._instance = instance
        self._source = source
        self._sink = sink
        self._clock = clock
        self._memory = memory
        self._nonce = nonce
        self._head: bytes | None = b""
        self._history_end = 0
        self._align = False

    async def take(self, chunks: AsyncIterator[bytes]) -> None:
        async for chunk in chunks:
            body = chunk if self._head is None else self._header(self._head + chunk)
            if body:
                self._body(body)
            # A flood must not keep the loop from anybody else.
            await asyncio.sleep(0)

    def _header(self, data: bytes) -> bytes:
        """Read lines until the one that says what was opened; what follows it is the file."""
        while b"\n" in data:
            line, _, data = data.partition(b"\n")
            words = line.split()
            if len(words) == 2 and words[0] == self._nonce:
                why = WHY.get(words[1].decode("ascii", "replace"), "cannot be read")
                text = f"{self._source.path} {why}"
                self._sink(LogFailed(self._instance, self._clock.now(), self._source, text))
            elif len(words) == 5 and words[0] == self._nonce:
                self._head = None
                self._opened(words[1] == b"resumed", *(int(word) for word in words[2:]))
                return data
        self._head = data[-HEADER_CAP:]
        return b""

    def _opened(self, resumed: bool, inode: int, at: int, size: int) -> None:
        memory = self._memory
        if not resumed:
            if rest := memory.reader.close():
                self._arrived(rest, backfill=False)
            # What was there before we first came is history; a file that replaced one is news.
            self._history_end = size if memory.inode == 0 else 0
            memory.reader = LogReader()
            memory.inode, memory.offset = inode, at
            self._align = at > 0
        now = self._clock.now()
        self._sink(LogOpened(self._instance, now, self._source, inode, at, at, resumed=resumed))

    def _body(self, data: bytes) -> None:
        memory = self._memory
        if self._align:
            cut = data.find(b"\n") + 1
            memory.offset += cut or len(data)
            self._align = not cut
            data = data[cut:] if cut else b""
        before = max(0, self._history_end - memory.offset)
        for part, backfill in ((data[:before], True), (data[before:], False)):
            if part:
                memory.offset += len(part)
                if lines := memory.reader.feed(part):
                    self._arrived(lines, backfill=backfill)

    def _arrived(self, lines: tuple[LogLine, ...], *, backfill: bool) -> None:
        now = self._clock.now()
        self._sink(LogArrived(self._instance, now, self._source, lines, backfill))
