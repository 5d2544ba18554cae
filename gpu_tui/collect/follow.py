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
MOST = 67_108_864  # bytes that are read at most of what came while we were away
OVERLAP = 64  # bytes read again at a resume, to see that it is still the same text
AGAIN_SECONDS = 0.2  # before a rotated file is opened
LONGEST_WAIT = 30.0  # between starts of a program that does not get as far as its header
MOUTHFUL = 16_384  # bytes that are judged before others get their turn
NOISE_CAP = 65_536  # what rc files may print before the header
NEW_FILE = -1  # as inode: whatever is there is another file than the one we knew

# The guard reads stdin: at its end (the client left, however) the whole process group goes.
#
# `tail -f` must be given a path, or it polls; between our look at the file and its own it may have
# been rotated. So its output waits at the gate until the inode that it holds open (its fd 3) is
# known, and a wrong one is dropped.
#
# The watcher ends when the path stands for another file and nobody writes to the old one any more,
# or when the file was cut short. `tail --pid` then writes out what it has and ends; a tail without
# --pid is ended from outside, by when it has been idle for a second.
PROGRAM = r"""
watch() {
    seen=$size quiet=
    while sleep 1; do
        set -- $(stat -L -c '%i %s' -- "$path")
        if [ "$1" = "$inode" ]; then
            [ "$2" -ge "$seen" ] || return
            seen=$2 quiet=
        else
            set -- $(stat -L -c %s /proc/self/fd/4)
            [ "$1" != "$quiet" ] || return
            quiet=$1
        fi
    done
}

gate() {
    read -r pid
    tries=0 opened=
    while [ -z "$opened" ] && [ "$tries" -lt 300 ] && kill -0 "$pid"; do
        opened=$(stat -L -c %i "/proc/$pid/fd/3")
        tries=$((tries + 1))
    done
    kill -0 "$pid" || return
    if [ "${opened:-$inode}" != "$inode" ]; then
        kill "$pid"
        return
    fi
    if [ -z "$gnu" ]; then
        ( while kill -0 "$watcher"; do sleep 1; done; kill "$pid" ) >/dev/null &
    fi
    printf '\n@NONCE@ %s %s %s %s\n' "$how" "$inode" "$from" "$size" && exec cat
}

finish() { # what was written to the file that we knew before it was renamed, while we were away
    old=$(find "${real%/*}/" -maxdepth 1 -type f -inum "$known" | head -n 1)
    [ -n "$old" ] && [ -r "$old" ] || return
    exec 5<"$old"
    set -- $(stat -L -c '%i %s' /proc/self/fd/5)
    [ "$1" = "$known" ] && [ "$2" -gt "$at" ] && [ $(($2 - at)) -le @MOST@ ] || return
    printf '\n@NONCE@ resumed %s %s %s\n' "$known" "$((at - @OVERLAP@))" "$2" || exit 1
    tail -c "+$((at - @OVERLAP@ + 1))" <&5
    exit
}

main() {
    exec 3<&0 </dev/null 2>/dev/null
    ( exec >/dev/null; cat <&3; kill -s KILL -- "-$$" || kill -s KILL "$$" ) &
    exec 3<&-
    path=@PATH@ known=@INODE@ at=@OFFSET@ said=
    while :; do
        if [ -f "$path" ] && [ -r "$path" ]; then break
        elif [ -f "$path" ]; then now=denied
        elif [ -e "$path" ]; then now=odd
        else now=missing; fi
        if [ "$now" != "$said" ]; then
            printf '\n@NONCE@ %s\n' "$now" || exit 1
            said=$now
        fi
        sleep 1
    done
    exec 4<"$path"
    set -- $(stat -L -c '%i %s' /proc/self/fd/4)
    [ -n "$2" ] || exit 1
    inode=$1 size=$2
    real=$(readlink -f -- "$path") && [ -n "$real" ] || real=$path
    [ "$known" -le 0 ] || [ "$known" = "$inode" ] || finish
    if [ "$inode" = "$known" ] && [ "$size" -ge "$at" ] && [ $((size - at)) -le @MOST@ ]; then
        how=resumed from=$((at - @OVERLAP@))
    else
        how=new from=0 limit=@MOST@
        [ "$known" != 0 ] || limit=@HISTORY@
        [ "$size" -le "$limit" ] || from=$((size - limit))
    fi
    gnu=
    tail --pid=$$ /dev/null && gnu=yes
    watch >/dev/null &
    watcher=$!
    (
        echo "$(exec /bin/sh -c 'echo "$PPID"')"
        exec tail ${gnu:+--pid="$watcher"} -c "+$((from + 1))" -f -- "$real" 4<&-
    ) | gate
    kill "$watcher"
}
main; exit
"""

WHY = {
    "missing": "is not there yet",
    "denied": "may not be read by this login",
    "odd": "is not a regular file",
}


@dataclass(slots=True)
class TailMemory:
    """Where we are in one log. Lives as long as the instance, across connections.

    `offset` counts every byte taken, the unfinished line in `reader` included; `recent` are the last
    of them. `skipped` are the bytes before the first one taken, `end` the size when last opened.
    """

    inode: int = 0
    offset: int = 0
    recent: bytes = b""
    skipped: int = 0
    end: int = 0
    reader: LogReader = field(default_factory=LogReader)

    @property
    def caught_up(self) -> bool:
        """Everything has been read that was in the file when it was last opened."""
        return self.inode > 0 and self.offset >= self.end

    def take(self, data: bytes) -> tuple[LogLine, ...]:
        """Count and read more bytes."""
        self.offset += len(data)
        self.recent = (self.recent + data[-OVERLAP:])[-OVERLAP:]
        return self.reader.feed(data)

    def restart(self, inode: int, offset: int) -> tuple[LogLine, ...]:
        """Begin at `offset` of another file; the last line of the one before, if it was unfinished."""
        rest = self.reader.close()
        self.reader = LogReader()
        self.inode, self.offset, self.skipped, self.recent = inode, offset, offset, b""
        return rest


def follow_program(path: str, nonce: str, memory: TailMemory, history: int) -> str:
    """The sh program for one start."""
    words = {
        "@NONCE@": nonce,
        "@INODE@": str(memory.inode),
        "@OFFSET@": str(memory.offset),
        "@OVERLAP@": str(len(memory.recent)),
        "@HISTORY@": str(history),
        "@MOST@": str(MOST),
        "@PATH@": quote_path(path),  # last: nothing in it may be taken for one of these words
    }
    program = PROGRAM
    for word, value in words.items():
        program = program.replace(word, value)
    return program


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
    wait = AGAIN_SECONDS
    while True:
        nonce = secrets.token_hex(8)
        program = follow_program(source.path, nonce, memory, history)
        tail = _Tail(instance.name, source, sink, clock, memory, nonce.encode())
        async with connection.stream(program) as chunks:
            await tail.take(chunks)
        if tail.opened:
            wait = AGAIN_SECONDS
        else:
            wait = min(LONGEST_WAIT, wait * 2)
            if wait > 1.0:
                why = f"{source.path} cannot be followed: the box needs sh, stat, tail and cat"
                sink(LogFailed(instance.name, clock.now(), source, why))
        await asyncio.sleep(wait)


async def read_once(
    connection: Connection, instance: Instance, source: LogSource, sink: Sink, clock: Clock
) -> None:
    """The end of a log that nothing writes any more, read once as history."""
    path = quote_path(source.path)
    mark = secrets.token_hex(8)
    program = (
        f"[ -f {path} ] || exit 4\n"
        f"printf '\\n{mark} %s\\n' \"$(stat -L -c '%i %s' -- {path})\"\n"
        f"tail -c {ONCE_HISTORY} -- {path}\n"
    )
    done = await connection.run(program, limit=20.0, stdout_cap=ONCE_HISTORY + NOISE_CAP)
    _, _, answer = done.stdout.partition(f"\n{mark} ".encode())
    header, _, body = answer.partition(b"\n")
    numbers = header.split()
    if done.exit != 0 or len(numbers) != 2 or not all(n.isdigit() for n in numbers):
        sink(LogFailed(instance.name, clock.now(), source, f"{source.path} cannot be read"))
        return
    inode, size = int(numbers[0]), int(numbers[1])
    skipped = max(0, size - len(body))
    if skipped:
        skipped += body.find(b"\n") + 1
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
        self.opened = False
        self._instance = instance
        self._source = source
        self._sink = sink
        self._clock = clock
        self._memory = memory
        self._mark = b"\n" + nonce + b" "
        self._held = b""  # before the header: noise; behind it: what is not yet aligned or compared
        self._overlap = b""
        self._align: int | None = None  # the offset of the bytes held, until a line begins in them
        self._history_end = 0

    async def take(self, chunks: AsyncIterator[bytes]) -> None:
        """Until the stream ends, or what comes is not the file that we knew."""
        async for chunk in chunks:
            data = chunk if self.opened else self._before_header(chunk)
            if data and self._overlap:
                same = self._compared(data)
                if same is None:
                    # Another text under the same number: take it as another file.
                    self._memory.inode = NEW_FILE
                    return
                data = same
            if data and self._align is not None:
                data = self._aligned(data)
            # A flood, or a line made to be slow to judge, must not keep the loop from anybody else.
            # Who is cancelled in between has counted only what was taken.
            for at in range(0, len(data), MOUTHFUL):
                self._body(data[at : at + MOUTHFUL])
                await asyncio.sleep(0)

    def _before_header(self, chunk: bytes) -> bytes:
        """Look for our lines in the noise; what follows the one that opens is the file."""
        data = self._held + chunk
        while (at := data.find(self._mark)) >= 0:
            end = data.find(b"\n", at + 1)
            if end < 0:
                self._held = data[at:]
                return b""
            words = data[at + len(self._mark) : end].split()
            # The newline that ends one of our lines may begin the next one.
            rest = data[end + 1 :]
            if len(words) == 1:
                why = WHY.get(words[0].decode("ascii", "replace"), "cannot be read")
                self._fail(f"{self._source.path} {why}")
                data = rest
            elif len(words) == 4 and all(word.isdigit() for word in words[1:]):
                self.opened, self._held = True, b""
                self._open(words[0] == b"resumed", *(int(word) for word in words[1:]))
                return rest
            else:
                data = rest
        self._held = data[-NOISE_CAP:]
        return b""

    def _open(self, resumed: bool, inode: int, start: int, size: int) -> None:
        memory = self._memory
        memory.end = size
        if resumed:
            self._overlap = memory.recent
            if not self._overlap:
                self._tell_opened(resumed=True)
            return
        # What was there before we first came is history; a file that replaced one is news.
        self._history_end = size if memory.inode == 0 else 0
        if rest := memory.restart(inode, start):
            self._arrived(rest, backfill=False)
        if start > 0:
            self._align = start
        else:
            self._tell_opened(resumed=False)

    def _compared(self, data: bytes) -> bytes | None:
        """What follows the overlap; None where it is not the text that we read before."""
        data = self._held + data
        if len(data) < len(self._overlap):
            self._held = data
            return b"" if self._overlap.startswith(data) else None
        if not data.startswith(self._overlap):
            return None
        rest = data[len(self._overlap) :]
        self._held, self._overlap = b"", b""
        self._tell_opened(resumed=True)
        return rest

    def _aligned(self, data: bytes) -> bytes:
        """Drop the rest of the line that we came into; a line without end is taken as it is."""
        assert self._align is not None
        data = self._held + data
        cut = data.find(b"\n") + 1
        if not cut and len(data) < NOISE_CAP:
            self._held = data
            return b""
        self._memory.offset = self._memory.skipped = self._align + cut
        self._held, self._align = b"", None
        self._tell_opened(resumed=False)
        return data[cut:]

    def _body(self, data: bytes) -> None:
        before = max(0, self._history_end - self._memory.offset)
        for part, backfill in ((data[:before], True), (data[before:], False)):
            if part and (lines := self._memory.take(part)):
                self._arrived(lines, backfill=backfill)

    def _tell_opened(self, *, resumed: bool) -> None:
        memory, now = self._memory, self._clock.now()
        self._sink(
            LogOpened(
                self._instance,
                now,
                self._source,
                memory.inode,
                memory.offset,
                memory.skipped,
                resumed,
            )
        )

    def _fail(self, why: str) -> None:
        self._sink(LogFailed(self._instance, self._clock.now(), self._source, why))

    def _arrived(self, lines: tuple[LogLine, ...], *, backfill: bool) -> None:
        now = self._clock.now()
        self._sink(LogArrived(self._instance, now, self._source, lines, backfill))
