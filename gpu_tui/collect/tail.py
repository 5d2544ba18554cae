"""What one start of the program says that follows a file: lines, and what became of the file.

What nobody could read is never passed over in silence: each gap is counted in the memory and told in
a Noted, with its bytes where they are known.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from time import thread_time

from gpu_tui.collect import follow_program as box
from gpu_tui.collect.marks import Mark, MarkReader
from gpu_tui.collect.share import Share, pieces
from gpu_tui.collect.tail_memory import ALONE, CUT, OTHER, TailMemory
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import LogArrived, LogCame, LogFailed, LogOpened, Noted
from gpu_tui.core.logs import LogLine, LogSource
from gpu_tui.core.number import whole
from gpu_tui.core.ports import Sink
from gpu_tui.parse.log_flood import Appetite

SAMPLES = 48  # reports of each feed of a history that are read: its losses are a curve, too
EARLY_CAP = box.MOST  # bytes that are held until it is known of which file they are
NOISE_CAP = 65_536  # of a line that we came into the middle of
SHORT = 2_048  # bytes, of a few lines: they are read before the loop turns
SAME = 64  # bytes that are the same by no chance
OPEN_SECONDS = 0.25  # between two readings of an unfinished line: the screen draws no faster
QUIET_SECONDS = 0.005  # with nothing taken so before: many of them must not come in one turn
OPEN = re.compile(
    rb"open (new|resumed|rest|whole|trimmed|copy) (\d{1,20}) ([\w?-]+) (-?\d{1,20}) (\d{1,18}) (\d{1,18})"
)
PAST = re.compile(r"\d+:[\w?-]+")

WHY = {
    "missing": "is not there yet",
    "denied": "may not be read by this login",
    "odd": "is not a regular file",
}
CUT_SHORT = "was cut short: what was written just before, if anything, was not read"
TRIMMED = "is written anew at its end: what stood there in between, if anything, was not read"
ANEW = "was cut and written anew: up to {} of its beginning were not read"
GONE = "was replaced and is gone: what it said last, if anything, was not read"


class Tail:
    """Takes the bytes of one start of the program."""

    def __init__(
        self,
        instance: str,
        source: LogSource,
        sink: Sink,
        clock: Clock,
        memory: TailMemory,
        nonce: str,
    ) -> None:
        self.opened = False
        self._heard = False  # anything of the file
        self._instance = instance
        self._source = source
        self._sink = sink
        self._clock = clock
        self._memory = memory
        self._marks = MarkReader(box.sign(nonce))
        self._how = b""
        self._file = (0, "0", 0)  # inode, born and time of change of what is read
        self._held = b""  # what is not yet aligned or compared
        self._overlap = b""
        self._on_trial = False
        self._early: list[bytes] = []  # what came while it was not known of which file it is
        self._early_size = 0
        self._align: int | None = None  # the offset of the bytes held, until a line begins in them
        self._history_end = 0
        self._appetite = Appetite()
        self._at_once = 0.0  # when something was taken so
        self._peeked: float | None = (
            None  # when an unfinished line was last read, by the boot clock
        )
        self._owed: asyncio.TimerHandle | None = None  # reads what came of one since
        self._ended = False

    def at_once(self, chunk: bytes) -> bool:
        """A few lines that came alone, as most do, are read without waiting for a turn of the loop."""
        if len(chunk) > SHORT or not self.opened or self._ended or not self._marks.passes(chunk):
            return False
        if self._early or self._overlap or self._align is not None or self._memory.redrawn:
            return False
        now = self._clock.now()
        if abs(now - self._at_once) < QUIET_SECONDS:
            return False
        self._at_once = now
        self._body(chunk)
        return True

    def dumb(self) -> None:
        """It is time that the box had said something of the file."""
        if not self._heard:
            self._fail(f"{self._source.path} does not answer: its mount may be dead")

    async def take(self, chunks: AsyncIterator[bytes]) -> None:
        """Until the stream ends, or what comes is not the file that we knew, or no longer its text."""
        try:
            await self._taken(chunks)
        finally:
            self._ended = True
            if self._owed is not None:
                self._peek()

    async def _taken(self, chunks: AsyncIterator[bytes]) -> None:
        share = Share()
        async for chunk in chunks:
            if self._marks.passes(chunk):
                if not await self._text(chunk):
                    return
                continue
            for piece in pieces(chunk):
                with share:
                    parts = self._marks.feed(piece)
                for part in parts:
                    if not await self._part(part, share):
                        return
                await share.turn()

    async def _part(self, part: bytes | Mark, share: Share) -> bool:
        """Bytes of the file, or what is said of it. False where nothing that follows may be taken."""
        if not isinstance(part, Mark):
            return await self._text(part)
        with share:
            may = self._told(part)
        if may and self.opened and self._early:
            early, self._early = b"".join(self._early), []
            return await self._text(early)
        return may

    async def _text(self, data: bytes) -> bool:
        """Bytes of the file. False where they are not of the file that we knew."""
        if not self.opened:
            if self._on_trial:  # else it is the noise of rc files
                self._early.append(data)
                self._early_size += len(data)
            return self._early_size < EARLY_CAP
        if self._overlap:
            same = self._compared(data)
            if same is None:
                self._another()
                return False
            data = same
        if data and self._align is not None:
            data = self._aligned(data)
        if data and self._memory.redrawn:
            data = self._news(data)
        # A flood, or a line made to be slow to judge, must not keep the loop from anybody else.
        # Who is cancelled in between has counted only what was taken.
        while data:
            began = thread_time()  # what others take of the processor says nothing of us
            size = self._appetite.mouthful(data)
            self._body(data[:size])
            self._appetite.took(thread_time() - began, size)
            data = data[size:]
            await asyncio.sleep(0)
        return True

    def _told(self, mark: Mark) -> bool:
        """What the program says. False where nothing that follows may be taken."""
        memory, words = self._memory, mark.split()
        self._heard = True
        if match := OPEN.fullmatch(mark.strip()):
            self.opened = True
            how, inode, born, *numbers = match.groups()
            changed, start, size = map(int, numbers)
            self._how, self._file = how, (int(inode), born.decode(), changed)
            self._open(start, size)
            return True
        match words:
            case [b":", *_]:  # tail's own
                if mark.endswith(b"file truncated"):
                    memory.cut = CUT if self.opened else memory.cut
                    return False
            case [b"cut", sent] if self.opened and (count := whole(sent)) is not None:
                self._cut(count)
                return False
            case [b"doubt", most] if self.opened and (count := whole(most)) is not None:
                memory.doubt = count
                return False
            case [b"trial"]:
                self._on_trial = True
            case [b"done"] if self.opened:
                memory.done = True
            case [b"left", sent] if self.opened and (count := whole(sent)) is not None:
                memory.left = count
            case [b"gone"]:
                memory.done, memory.cut = True, ""
                if memory.left != memory.offset:
                    self._gap(GONE)
            case [b"divided"]:
                self._gap("is still written under its old name, too: only the new file is read on")
            case [b"past", *files]:
                names = [file.decode("ascii", "replace") for file in files]
                memory.remember(*(name for name in names if PAST.fullmatch(name)))
            case [word] if (why := WHY.get(word.decode("ascii", "replace"))) is not None:
                self._fail(f"{self._source.path} {why}")
            case _:
                pass
        return True

    def _open(self, start: int, size: int) -> None:
        memory = self._memory
        memory.end = size
        inode, born, changed = self._file
        if self._how == b"trimmed":
            self._overlap = memory.trail
            return
        if self._how in (b"resumed", b"rest", b"copy"):
            self._overlap = memory.known
            if not self._overlap:
                self._again()
            return
        first, same = memory.inode == 0, (memory.inode, memory.born) == (inode, born)
        cut, passed = memory.cut, start - memory.offset if same else start
        # What was there before we first came is history; a file that replaced one is news.
        self._history_end = size if first else 0
        if memory.inode > 0 and not same:
            memory.remember(memory.file)
        memory.since = changed
        if rest := memory.restart(inode, born, start):
            self._arrived(rest, backfill=False)
        if passed > 0 and not first:
            self._gap("came faster than it could be read: {} were passed over", passed)
        elif cut or same:
            self._gap(CUT_SHORT)
        if start > 0:
            self._align = start
        else:
            self._tell_opened(resumed=False)

    def _another(self) -> None:
        """Not the text that we read before."""
        memory = self._memory
        known = self._how == b"rest" and memory.born.strip("0").isdigit()  # born when ours was
        if (
            self._how == b"resumed" or known
        ):  # under the same number: it was cut, and has grown since
            memory.cut = CUT
        elif self._how == b"trimmed":
            memory.cut = OTHER
        elif self._how == b"copy":
            memory.cut = ALONE
        else:
            memory.done = True
            self._gap(GONE)

    def _again(self) -> None:
        """We are where we were, in this file or in a copy of it."""
        memory = self._memory
        memory.inode, memory.born, _ = self._file
        memory.cut, memory.doubt, memory.done = "", -1, False
        self._tell_opened(resumed=True)

    def _cut(self, sent: int) -> None:
        """The last `sent` bytes taken were already of the new text."""
        memory = self._memory
        if not 0 < sent <= memory.offset:
            memory.cut = CUT
            return
        self._gap(CUT_SHORT)
        memory.offset, memory.recent, memory.trail = (
            sent,
            memory.recent[-sent:],
            memory.trail[-sent:],
        )
        memory.line_at, memory.head = None, b""  # of the new text, whose beginning we cannot tell

    def _compared(self, data: bytes) -> bytes | None:
        """What follows the overlap; None where it is not the text that we read before."""
        data = self._held + data
        if self._how == b"trimmed":
            return self._trimmed(data)
        size, doubt = len(self._overlap), self._memory.doubt
        if len(data) < size:
            self._held = data
            return b"" if doubt > 0 or self._overlap.startswith(data) else None
        same = _same_end(data[:size], self._overlap)
        if doubt > 0 and same >= min(size, SAME):  # what follows the old text's length was read
            self._gap(ANEW, doubt if same == size else self._memory.offset - same)
            self._memory.line_at, self._memory.head = None, b""  # of the new text, as in _cut
        elif same < size:
            return None
        self._held, self._overlap = b"", b""
        self._again()
        return data[size:]

    def _trimmed(self, data: bytes) -> bytes | None:
        """All but the last line that we read must still stand there; that one is read again."""
        memory, known = self._memory, self._overlap
        last = memory.last_line()
        if last is None or not known[:last].startswith(data[:last]):
            return None
        if len(data) < last:
            self._held = data
            return b"" if memory.end - memory.offset + len(known) >= last else None
        self._held, self._overlap = b"", b""
        if not memory.trimmed:
            self._gap(TRIMMED)
        if rest := memory.step_back(last):
            self._arrived(rest, backfill=False)
        self._again()
        return data[last:]

    def _news(self, data: bytes) -> bytes:
        """What follows the last line that we read, where it is as it was; else all of it."""
        memory = self._memory
        data, known = self._held + data, memory.redrawn
        if len(data) < len(known) and known.startswith(data):
            self._held = data
            return b""
        self._held, memory.redrawn = b"", b""
        if not data.startswith(known):
            return data
        memory.count(known)
        return data[len(known) :]

    def _aligned(self, data: bytes) -> bytes:
        """Drop the rest of the line that we came into; a line without end is taken as it is."""
        assert self._align is not None
        data = self._held + data
        cut = data.find(b"\n") + 1
        if not cut and len(data) < NOISE_CAP:
            self._held = data
            return b""
        self._memory.offset = self._memory.skipped = self._align + cut
        self._memory.line_at = self._memory.offset
        self._held, self._align = b"", None
        self._tell_opened(resumed=False)
        return data[cut:]

    def _body(self, data: bytes) -> None:
        before = self._history_end - self._memory.offset
        if before <= 0:
            self._take(data, backfill=False)
            return
        for part, backfill in ((data[:before], True), (data[before:], False)):
            if part:
                self._take(part, backfill=backfill)

    def _take(self, data: bytes, *, backfill: bool) -> None:
        """Whole lines are handed on before anybody has read them: that takes longer than their way here."""
        memory = self._memory
        samples = SAMPLES if backfill else 0
        whole = memory.reader.whole(data)
        if whole is None:
            if lines := memory.take(data, samples, unfinished=False):
                self._arrived(lines, backfill=backfill)
            if memory.reader.unfinished and self._owed is None:
                self._peek_in_time()
            return
        upto = memory.offset + len(data)
        self._sink(LogCame(self._instance, self._clock.now(), self._source, whole, upto))
        memory.count(data)
        self._arrived(memory.reader.judge(whole, samples), backfill=backfill)

    def _peek_in_time(self) -> None:
        """Read the unfinished line, at most once in OPEN_SECONDS; what came since then when they are over."""
        left = 0.0
        if self._peeked is not None:
            left = self._peeked + OPEN_SECONDS - self._clock.boot()
        if left <= 0:
            self._peek()
        else:
            self._owed = asyncio.get_running_loop().call_later(left, self._peek)

    def _peek(self) -> None:
        if self._owed is not None:
            self._owed.cancel()
            self._owed = None
        self._peeked = self._clock.boot()
        if lines := self._memory.reader.peek():
            self._arrived(lines, backfill=self._memory.offset <= self._history_end)

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
                size=memory.end,
            )
        )

    def _gap(self, text: str, size: int = 0) -> None:
        """Something was not read; `text` may name its `size` in bytes."""
        self._memory.gaps += 1
        self._memory.lost += size
        text = f"{self._source.path} {text.format(f'{size:,} bytes')}"
        self._sink(Noted(self._instance, self._clock.now(), text))

    def _fail(self, why: str) -> None:
        self._sink(LogFailed(self._instance, self._clock.now(), self._source, why))

    def _arrived(self, lines: Sequence[LogLine], *, backfill: bool) -> None:
        now = self._clock.now()
        upto, written = self._memory.line_at, self._written if backfill else None
        self._sink(LogArrived(self._instance, now, self._source, lines, backfill, upto, written))

    @property
    def _written(self) -> float | None:
        """When the file was written last before it was opened, by the box's clock; None if it has no `stat`."""
        return float(self._file[2]) or None


def _same_end(one: bytes, other: bytes) -> int:
    """How many bytes at the end of both are the same."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return next((count for count, (a, b) in enumerate(pairs) if a != b), len(other))
