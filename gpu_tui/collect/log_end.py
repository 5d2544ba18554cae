"""Reads the ends of many logs over one channel: logs that no program writes any more, and logs of runs beyond the few
that are followed on a channel of their own.

Of a log that was read before only the new bytes are sent. One program reads one log after another and prints these
marks:

    log N                                   log N of the list is next
    missing | denied | odd | broken         there is nothing to read
    open INODE BORN CHANGED FROM SIZE       its bytes follow, from byte FROM on

It needs a POSIX sh, dd, and stat or ls. A log on a mount that hangs blocks the program; a new one then reads the
others.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field

from gpu_tui.collect.marks import Mark, MarkReader
from gpu_tui.collect.shell import quote_path, terse
from gpu_tui.collect.tail import GONE, SAMPLES, WHY
from gpu_tui.collect.tail_memory import TailMemory
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import LogArrived, LogFailed, LogOpened, Noted
from gpu_tui.core.fleet import Instance
from gpu_tui.core.logs import LogLine, LogSource
from gpu_tui.core.ports import Sink
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.transport.base import Connection, arrived

MOST = 65_536  # bytes of one log at one look
ALL = 1_000_000  # bytes of all logs of a box at one look: each log has its share, and what others leave of theirs
BLOCK = 4_096  # bytes; reading begins at a multiple of it
HANGS = 5.0  # seconds without a byte after which a log is skipped for now: its mount may be dead
HUNG = "does not answer: its mount may be dead"
BROKEN = "cannot be read"
NOTHING = {**WHY, "missing": "is not there"}
OPEN = re.compile(rb"open (\d{1,20}) ([\w?-]{1,20}) (-?\d{1,20}) (\d{1,18}) (\d{1,18})")

# stdin is the lifeline: at its end (the client is gone) the whole process group is killed, with any process that waits
# for a mount and can be killed there.
PROGRAM = r"""
exec 3<&0 </dev/null 2>/dev/null
export LC_ALL=C
sign=$(printf '\037%s' @NONCE@)
{ cat <&3 >/dev/null; kill -s KILL -- "-$$" || kill -s KILL "$$"; } &
guard=$!
say() { printf '%s %s\n' "$sign" "$*" || exit; }
see() { # the file on stdin
    set -- $(stat -L -c '%i %W %Y %s' /proc/self/fd/0)
    if [ $# != 4 ]; then
        set -- $(ls -Lin /proc/self/fd/0)
        set -- "$1" 0 0 "$6"
    fi
    file="$1 $2 $3" known=$1:$2 size=$4
    case $size in '' | *[!0-9]*) return 1 ;; esac
}
send() { # N PATH INODE:BORN AT HAVE WRITTEN
    see || { say odd; return; }
    most=$((left / togo - @BLOCK@))
    [ "$most" -le @MOST@ ] || most=@MOST@
    [ "$most" -ge @BLOCK@ ] || most=@BLOCK@
    if [ -n "$6" ] && [ "$known $size" = "$3 $4" ]; then # still written to, but unchanged
        say open "$file" "$size" "$size"
        return
    fi
    from=0
    [ "$size" -le "$most" ] || from=$((size - most))
    if [ "$known" = "$3" ] && [ "$size" -ge "$4" ] && [ $((size - $4)) -le "$most" ]; then from=$(($4 - $5)); fi
    from=$((from / @BLOCK@)) left=$((left - size + from * @BLOCK@))
    say open "$file" $((from * @BLOCK@)) "$size"
    dd bs=@BLOCK@ skip="$from" count=$((size / @BLOCK@ + 1 - from)) || say broken
}
end_of() {
    say log "$1"
    if ! [ -e "$2" ]; then say missing
    elif ! [ -f "$2" ]; then say odd
    elif ! [ -r "$2" ]; then say denied
    else send "$@" <"$2" || say broken; fi
    togo=$((togo - 1))
}
"""


@dataclass(slots=True)
class Look:
    """The result of one look at some logs. `done` were read, or have nothing to read; of these `twins` are other names
    of files that are already read. `hung`: at this log the box stopped answering.
    """

    done: list[LogSource] = field(default_factory=list)
    twins: set[LogSource] = field(default_factory=set)
    hung: LogSource | None = None


@dataclass(frozen=True, slots=True)
class _File:
    """The `open` mark of the file whose bytes follow."""

    inode: int
    born: str
    changed: int
    start: int
    size: int

    @property
    def name(self) -> str:
        """As `TailMemory.file`."""
        return f"{self.inode}:{self.born}"


class EndReader:
    """Reads the ends of logs of one box; `memories` holds what was read of each before."""

    def __init__(
        self,
        instance: Instance,
        sink: Sink,
        clock: Clock,
        memories: MutableMapping[LogSource, TailMemory],
    ) -> None:
        self._instance = instance.name
        self._sink = sink
        self._clock = clock
        self._memories = memories

    async def read(
        self,
        connection: Connection,
        logs: Mapping[LogSource, bool],
        known: Collection[LogSource] = (),
        failed: Collection[LogSource] = (),
        stop: Callable[[], bool] = lambda: False,
    ) -> Look:
        """Read these logs, in order. True: no program writes the log any more, so a last line without a newline is
        whole. `known`: all other logs of this box; a log that is a link to one of them is a twin. `failed`: logs that
        could not be read before. `stop` is called after each log.

        Raises LinkError if the connection is lost, ChannelRefused if the box allows no further session.
        """
        nonce = secrets.token_hex(8)
        answer = _Answer(self, logs, {*known, *logs}, failed)
        marks, loop = MarkReader(b"\x1f" + nonce.encode()), asyncio.get_running_loop()
        async with connection.stream(self._program(nonce, logs)) as chunks:
            await arrived(chunks)
            try:
                async with asyncio.timeout(HANGS) as limit:
                    async for chunk in chunks:
                        limit.reschedule(None)  # our own work does not count as the box's time
                        for part in marks.feed(chunk):
                            if answer.take(part):
                                await asyncio.sleep(0)
                                if answer.ended or stop():
                                    return answer.look
                        limit.reschedule(loop.time() + HANGS)
            except TimeoutError:
                answer.hang()
        return answer.look

    def _program(self, nonce: str, logs: Mapping[LogSource, bool]) -> str:
        def ask(number: int, source: LogSource) -> str:
            memory = self._memories.get(source) or TailMemory()
            known = f"{memory.file} {memory.offset} {len(memory.recent)}"
            written = "" if logs[source] else " written"
            return f"end_of {number} {quote_path(source.path)} {known}{written}\n"

        asks = "".join(ask(number, source) for number, source in enumerate(logs))
        text = terse(PROGRAM).replace("@BLOCK@", str(BLOCK)).replace("@MOST@", str(MOST))
        text = text.replace("@NONCE@", nonce) + f"left={ALL} togo={len(logs)}\n"
        # One compound command: the shell reads it whole, so that none of it is left in stdin for the guard.
        return f'{{\n{text}{asks}say end\nkill "$guard"\nexit\n}}\n'

    def take(
        self, source: LogSource, file: _File, data: bytes, *, over: bool, failed: bool
    ) -> None:
        """Take the bytes that came from one log."""
        memory = self._memories.setdefault(source, TailMemory())
        memory.end = file.size
        rest = _new_bytes(memory, file, data)
        if rest is None:
            self._open(source, memory, file, data, over=over)
            return
        if failed:
            opened = memory.inode, memory.offset, memory.skipped
            self._sink(LogOpened(self._instance, self._clock.now(), source, *opened, resumed=True))
        lines = memory.take(rest, unfinished=not over)
        self._arrived(source, memory, lines, backfill=False)
        if over:
            self._arrived(source, memory, _last_line(memory), backfill=not rest)

    def _open(
        self, source: LogSource, memory: TailMemory, file: _File, data: bytes, *, over: bool
    ) -> None:
        """Begin with the end of a file that was not read before, or that has grown by more than one look reads."""
        first, same = memory.inode == 0, (memory.inode, memory.born) == (file.inode, file.born)
        cut = data.find(b"\n") + 1 if file.start else 0
        start = file.start + cut
        now = self._clock.now()
        passed = start - memory.offset
        if not first:
            memory.gaps += 1
            if same and passed > 0:
                memory.lost += passed
                why = f"came faster than it could be read: {passed:,} bytes were passed over"
            else:
                why = GONE
            self._sink(Noted(self._instance, now, f"{source.path} {why}"))
        if unfinished := memory.restart(file.inode, file.born, start):
            self._arrived(source, memory, unfinished, backfill=False)
        memory.since, memory.end = file.changed, file.size
        place = file.inode, start, start
        opened = LogOpened(self._instance, now, source, *place, resumed=False, size=file.size)
        self._sink(opened)
        lines = memory.take(data[cut:], SAMPLES if first else 0, unfinished=not over)
        written = float(file.changed) or None if first else None
        self._arrived(source, memory, lines, backfill=first, written=written)
        if over:
            self._arrived(source, memory, _last_line(memory), backfill=first, written=written)

    def is_read(
        self, source: LogSource, file: _File, data: bytes, as_: Iterable[LogSource]
    ) -> bool:
        """Whether this file is already read under one of these other names, for example through a link."""
        known = ((other, self._memories.get(other)) for other in as_ if other.path != source.path)
        return any(
            memory is not None
            and memory.file == file.name
            and _overlap_is_equal(memory, file, data)
            for _, memory in known
        )

    def _arrived(
        self,
        source: LogSource,
        memory: TailMemory,
        lines: Sequence[LogLine],
        *,
        backfill: bool,
        written: float | None = None,
    ) -> None:
        if lines:
            now, upto = self._clock.now(), memory.line_at
            self._sink(LogArrived(self._instance, now, source, lines, backfill, upto, written))

    def fail(self, source: LogSource, why: str) -> None:
        """Record why the log cannot be read now."""
        why = f"{source.path} {why}"
        self._sink(LogFailed(self._instance, self._clock.now(), source, why))


class _Answer:
    """Parses the output of one start of the program."""

    def __init__(
        self,
        reader: EndReader,
        logs: Mapping[LogSource, bool],
        all_logs: Collection[LogSource],
        failed: Collection[LogSource],
    ) -> None:
        self.look = Look()
        self.ended = False
        self._reader = reader
        self._logs = list(logs.items())
        self._all = all_logs
        self._failed = failed
        self._room = MOST + 3 * BLOCK
        self._at = -1  # in the list
        self._file: _File | None = None
        self._came = bytearray()

    def take(self, part: bytes | Mark) -> bool:
        """Take a part of the output; True if it ends the bytes of one log."""
        if not isinstance(part, Mark):
            self._came += part[: max(0, self._room - len(self._came))]
            return False
        match part.split():
            case [b"log", _]:
                self._close()
                self._at += 1
                return self._at > 0
            case [b"end"]:
                self._close()
                self.ended = True
                return True
            case [b"open", *_] if match := OPEN.fullmatch(part.strip()):
                self._file = _file(match)
            case [word] if 0 <= self._at < len(self._logs):
                why = NOTHING.get(word.decode("ascii", "replace"), BROKEN)
                self._file = None
                self._reader.fail(self._logs[self._at][0], why)
            case _:
                pass
        return False

    def hang(self) -> None:
        """Note that the program stopped answering."""
        if 0 <= self._at < len(self._logs):
            self.look.hung = self._logs[self._at][0]
            self._reader.fail(self.look.hung, HUNG)

    def _close(self) -> None:
        if 0 <= self._at < len(self._logs):
            source, over = self._logs[self._at]
            self.look.done.append(source)
            file, data = self._file, bytes(self._came)
            if file is None:
                pass
            elif self._reader.is_read(source, file, data, self._all):
                self.look.twins.add(source)
            else:
                self._reader.take(source, file, data, over=over, failed=source in self._failed)
        self._file = None
        self._came.clear()


def _file(match: re.Match[bytes]) -> _File:
    inode, born, *numbers = match.groups()
    changed, start, size = map(int, numbers)
    return _File(int(inode), born.decode(), changed, start, size)


def _new_bytes(memory: TailMemory, file: _File, data: bytes) -> bytes | None:
    """The bytes after those that were read before; None if the text is another one, or begins after them."""
    if memory.inode == 0 or (memory.inode, memory.born) != (file.inode, file.born):
        return None
    known = memory.recent
    at = memory.offset - file.start
    if not data and at == 0:
        return b""
    if at < len(known) or data[at - len(known) : at] != known:
        return None
    return data[at:]


def _overlap_is_equal(memory: TailMemory, file: _File, data: bytes) -> bool:
    """Whether the old and the new bytes overlap in the file and are equal there."""
    for begin, text in (
        (memory.offset - len(memory.trail), memory.trail),
        (memory.skipped, memory.head),
    ):
        low, high = max(begin, file.start), min(begin + len(text), file.start + len(data))
        if low < high:
            here = data[low - file.start : high - file.start]
            return here == text[low - begin : high - begin]
    return False


def _last_line(memory: TailMemory) -> Sequence[LogLine]:
    """The unfinished last line, which no program will finish, as a whole line."""
    lines = memory.reader.close()
    if lines:
        memory.reader = LogReader(goes_on=True)
        memory.line_at = memory.offset
    return lines
