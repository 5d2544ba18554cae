"""Bytes of one log -> `LogLine`s: split, made safe, judged, read for progress and queue events.

What later readers may rely on:
- One `LogLine` per physical line (what stands between two newlines), whatever the chunks were: cutting
  the stream elsewhere changes no finished line.
- Every segment that a carriage return overwrote is judged before it is forgotten. The line's label is
  the first in triage order of what any segment warns of, its severity the worst of all segments; its
  text and colours are those of the last segment that shows anything, and so is a label without
  severity; its progress is the last that any segment reports. Within a traceback its position decides
  (`tracebacks`): a source line raises no alarm, and the last line is the exception.
- While a line has no newline yet it is emitted with `open=True` and replaced by the next line emitted,
  unless the caller asks for whole lines only (`unfinished=False`) and for the unfinished one by `peek`.
  An unfinished segment longer than `FAR` bytes is never read as a whole again: `peek` reads its end and
  what the screen shows of it, `feed` does so once in `STEP` bytes.
  The mark of an open line speaks only of segments that are complete, so it is never taken back: the
  line that replaces it has the same mark or a worse one. Who counts alarms counts a line once: when
  it replaces an open line whose mark was an alarm with the same label, it is the same alarm.
- What is judged of a long segment is bounded (`triage.LONGEST`), and of the pieces of one that has no end
  ever less: of each sort of words in it one stretch, those first that may name the worst.

Under a flood, which is a feed of more than `FLOOD` whole lines, what comes back is a `LogBlock`: the
same lines, each read when it is looked at. These are read at once, and are what `telling` gives:
- every line that may be a warning, an alarm or an event of the queue;
- every line that sums up an epoch or a validation, and the newest `MOST_SORTS` that may say how long
  the run is to be;
- of reports that differ in their numbers only: the last one, one in `SAMPLED`, and all where there
  are no more than `FEW` of a sort (of lines of many sorts, the newest `MOST_SORTS` that may hold a number).
So no alarm and no event is lost, and the state of a run is as new as its last line; what is thinner
under a flood is the history of numbers that came many times in one feed. Feed less at a time, and
nothing is: `mouthful` says how much is wise, and an `Appetite` how much where a flood is behind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpu_tui.core.findings import Severity
from gpu_tui.core.log_block import Item, LogBlock
from gpu_tui.core.logs import LogLine, Mark, Progress, Span
from gpu_tui.core.queue_history import QueueEvent
from gpu_tui.parse.line_kinds import kind_of
from gpu_tui.parse.lines import (
    PIECE_CAP,
    TEXT_CAP,
    End,
    LineSplitter,
    Piece,
    cap,
    sanitize,
    unescape,
)
from gpu_tui.parse.log_flood import FLOOD, Survey, survey_of
from gpu_tui.parse.progress import parse_progress
from gpu_tui.parse.progress_plan import parse_plan
from gpu_tui.parse.queue_log import parse_queue_line
from gpu_tui.parse.tracebacks import Tracebacks
from gpu_tui.parse.triage.classify import BENIGN, PROGRESS, cause, first

NEAR_PIECES = 4  # of a segment without end
FAR = 1_024  # characters of each further piece that are judged; of a cut or open one those read for progress
STEP = 8_192  # new bytes of a long open segment after which `feed` reads it again
NOTHING = Piece(b"", End.OPEN)
SEGMENTS = 32  # overwritten segments that wait to be read for progress, the last one first


class LogReader:
    """Feed it chunks in order; it never waits and holds at most one unfinished line."""

    def __init__(self, *, goes_on: bool = False) -> None:
        """`goes_on`: the previous line was already returned without its newline, which may now arrive first."""
        self._goes_on = goes_on
        self._splitter = LineSplitter()
        self._pending = NOTHING
        self._line = _Line()
        self._tracebacks = Tracebacks()

    @property
    def unfinished(self) -> bool:
        """A line has begun and not ended."""
        return self._line.begun or self._splitter.holds

    def feed(self, chunk: bytes, samples: int = 0, *, unfinished: bool = True) -> Sequence[LogLine]:
        """The lines that `chunk` finishes and, last, the unfinished one, if any and if asked for. Of a flood
        so many `samples` more of its reports are read: for the course of a run, and not only its end.
        """
        if self._goes_on and chunk:
            self._goes_on = False
            chunk = _LINE_END.sub(b"", chunk, count=1)
        if not chunk:
            return ()
        start = 0
        if self.unfinished:
            start = chunk.find(b"\n") + 1 or len(chunk)
        end = max(start, chunk.rfind(b"\n") + 1)
        start, survey = survey_of(chunk, start, end)
        if survey is None and chunk.count(b"\n", start, end) <= FLOOD:
            start = end
        few: list[LogLine] = []
        self._feed_few(chunk[:start], few)
        items: list[Item] = [*few]
        told = list(enumerate(few))
        if start < end:
            self._feed_many(survey or Survey(_unixed(chunk[start:end])), items, told, samples)
        if end < len(chunk):
            self._feed_few(chunk[end:], few)
        if unfinished and self.unfinished:
            last = self._line.peek(self._pending, wholly=False)
            told.append((len(items), last))
            items.append(last)
        if len(told) == len(items):
            return tuple([line for _, line in told])
        return LogBlock(items, read_line, told)

    def peek(self) -> tuple[LogLine, ...]:
        """The unfinished line as an open one, if any, with all that came of it."""
        return (self._line.peek(self._pending, wholly=True),) if self.unfinished else ()

    def whole(self, chunk: bytes) -> LogBlock | None:
        """The lines of a chunk as they came, which `judge` says more of; None where it has to be fed.

        Nothing may be fed before they are judged. It has to be fed where a line is unfinished, or was
        before, and where one has several segments.
        """
        if self._goes_on or self.unfinished or b"\r" in chunk or chunk[-1:] != b"\n":
            return None
        lines = chunk[:-1].split(b"\n")
        if len(chunk) > PIECE_CAP and max(map(len, lines)) >= PIECE_CAP:
            return None
        items: list[Item] = lines  # type: ignore[assignment]
        return LogBlock(items, read_line)

    def judge(self, whole: LogBlock, samples: int = 0) -> Sequence[LogLine]:
        """What `feed` says of these lines."""
        lines: list[Item] = whole.items
        if len(lines) <= FLOOD:
            return tuple([self._tracebacks.read(line) for line in whole])
        items = list(lines)
        survey = Survey(b"\n".join([*lines, b""]))  # type: ignore[list-item]
        read = {place: whole[place] for place in survey.worth_reading(samples)}
        self._tracebacks.among(lines, read, read_line, show_line)  # type: ignore[arg-type]
        for place, line in read.items():
            items[place] = line
        return LogBlock(items, read_line)

    def close(self) -> tuple[LogLine, ...]:
        """At the end of the stream: the unfinished line as a finished one."""
        items: list[LogLine] = []
        self._pending = NOTHING
        for piece in self._splitter.flush():
            self._take(piece, items)
        if self._line.begun:
            items.append(self._line.finish())
            self._line = _Line()
        return tuple([self._tracebacks.read(line) for line in items])

    def _feed_few(self, part: bytes, items: list[LogLine]) -> None:
        """Read every line that ends; keep the unfinished rest."""
        first = len(items)
        self._split(part, items)
        items[first:] = map(self._tracebacks.read, items[first:])

    def _split(self, part: bytes, items: list[LogLine]) -> None:
        """Read the lines of a part one by one, without regard to tracebacks."""
        for piece in self._splitter.feed(part):
            if piece.end is End.OPEN:
                self._pending = piece
            else:
                self._pending = NOTHING
                self._take(piece, items)

    def _feed_many(
        self,
        survey: Survey,
        items: list[Item],
        told: list[tuple[int, LogLine]],
        samples: int,
    ) -> None:
        """Whole lines, of which few are read."""
        lines, first = survey.lines, len(items)
        items += lines
        read: dict[int, LogLine] = {}
        if b"\r" in survey.body or max(map(len, lines)) >= PIECE_CAP:
            for place, line in enumerate(lines):
                if b"\r" in line or len(line) >= PIECE_CAP:
                    whole: list[LogLine] = []
                    self._split(line + b"\n", whole)
                    read[place] = whole[0]
            others = [b"" if place in read else line for place, line in enumerate(lines)]
            survey = Survey(b"\n".join([*others, b""]))
        for place in survey.worth_reading(samples):
            if place not in read and lines[place]:
                read[place] = read_line(lines[place])
        self._tracebacks.among(lines, read, read_line, show_line)
        for place in sorted(read):
            items[first + place] = read[place]
            told.append((first + place, read[place]))

    def _take(self, piece: Piece, items: list[LogLine]) -> None:
        self._line.add(piece)
        if piece.end is End.NEWLINE:
            items.append(self._line.finish())
            self._line = _Line()


_LINE_END = re.compile(rb"\A\r?\n")


def _unixed(body: bytes) -> bytes:
    return body.replace(b"\r\n", b"\n") if b"\r" in body else body


def warm_up() -> None:
    """Build what the first line of a process would have to wait for: half a second of tables."""
    reader = LogReader()
    reader.feed(b"Error: step 1/2 loss 0.5\n")
    reader.feed(b"step 1/2 loss 0.5\n" * (FLOOD + 1))


def read_line(raw: bytes) -> LogLine:
    """One whole line without its newline, of one segment of less than `PIECE_CAP` bytes."""
    line = _Line()
    line.add(Piece(raw, End.NEWLINE))
    return line.finish()


def show_line(raw: bytes) -> str:
    """The text of such a line, as `read_line` has it."""
    text = sanitize(raw)[0]
    return "" if text.isspace() else text


class _Line:
    """What is known of the physical line that is being read."""

    def __init__(self) -> None:
        self.begun = False
        self._size = 0  # bytes of the file
        self._mark: Mark | None = None  # what any segment warned of
        self._progress: Progress | None = None
        self._reported = False  # a segment was progress and nothing else
        # Complete segments and what of them is to be read for progress.
        self._unread: list[tuple[str, str]] = []
        self._queue: QueueEvent | None = None
        self._text = ""
        self._spans: tuple[Span, ...] = ()
        self._more = 0  # bytes of the shown segment behind what `_text` was made of
        self._cuts = 0  # pieces of this segment so far
        self._goes_on = False  # the piece before was cut: the next one belongs to the same segment
        self._begun: tuple[str, Mark | None] | None = None  # the last segment's first piece
        self._judged_text: str | None = None
        self._named: Mark | None = None
        self._forget_open()

    def _forget_open(self) -> None:
        self._looked = 0  # bytes of the open segment when it was last read
        self._reports: Progress | None = None  # what it reported then
        self._head: tuple[str, tuple[Span, ...], int] = (
            "",
            (),
            0,
        )  # what is shown, of how many bytes

    def add(self, piece: Piece) -> None:
        """Judge one complete piece and remember what the screen would show."""
        self.begun = True
        self._forget_open()
        self._size += len(piece.raw) - piece.repeated + (piece.end is End.RETURN)
        text, spans = unescape(piece.raw)
        self._cuts = self._cuts + 1 if piece.end is End.CUT else 0
        far = self._cuts > NEAR_PIECES
        if text and not text.isspace():
            if kind_of(text).loud:
                mark = cause(text, FAR) if far else cause(text)
                if not self._goes_on:
                    self._begun = text, mark
                if mark is not None and mark.severity is not Severity.NONE:
                    self._mark = first((self._mark, mark)) if self._mark else mark
                self._queue = parse_queue_line(text) or self._queue
            if not far:
                cut = piece.end is End.CUT and len(text) > FAR
                self._unread.append((text, _from_word(text, len(text) - FAR) if cut else text))
            if len(self._unread) >= SEGMENTS:
                self._read()
        self._show(text, spans, piece)
        self._goes_on = piece.end is End.CUT

    def _read(self) -> None:
        """Read the segments for progress, from the last one back to one that settles it."""
        progress: Progress | None = None
        for text, read in reversed(self._unread):
            if found := parse_progress(read):
                progress = progress or found
                self._reported = self._reported or self._cause(text) in (None, PROGRESS)
                if self._reported:
                    break
        self._progress = progress or self._progress
        self._unread.clear()

    def _cause(self, text: str) -> Mark | None:
        """What triage names; the last segment is asked for twice."""
        if self._begun is not None and self._begun[0] == text:
            return self._begun[1]
        if self._judged_text != text:
            self._judged_text, self._named = text, cause(text)
        return self._named

    def peek(self, pending: Piece, *, wholly: bool) -> LogLine:
        """The line as it is now, its unfinished segment shown, read for progress, not judged.

        Unless `wholly`, a long segment is read again only after STEP new bytes.
        """
        self._read()
        seen = _Line()
        seen._text, seen._spans, seen._more = self._text, self._spans, self._more
        seen._goes_on = self._goes_on
        if wholly or len(pending.raw) <= FAR or len(pending.raw) - self._looked >= STEP:
            self._look(pending.raw)
        text, spans, size = self._head
        seen._show(text, spans, pending)
        if text and not text.isspace() and not self._goes_on:
            seen._more = len(pending.raw) - size
        return self._line(seen, self._judged(), self._reports or self._progress, open=True)

    def _look(self, raw: bytes) -> None:
        """Read what is new of an open segment: as far as the screen shows it, and its end for progress."""
        if len(self._head[0]) <= TEXT_CAP and not self._goes_on:
            self._head = (*unescape(raw), len(raw))
        if self._looked or self._goes_on:
            text = unescape(raw[-FAR:])[0]
            if len(raw) > FAR or len(text) > FAR:
                text = _from_word(text, max(0, len(text) - FAR))
        else:
            text = self._head[0]
        self._reports = parse_progress(_whole_words(text)) or self._reports
        self._looked = len(raw)

    def finish(self) -> LogLine:
        """The finished line."""
        self._read()
        mark = self._judged()
        if mark.severity is Severity.NONE and (shown := self._cause(self._text)):
            mark = first((mark, shown)) if self._reported else shown
        return self._line(self, mark, self._progress, open=False)

    def _judged(self) -> Mark:
        """The mark of what is complete, without the quiet label of what is shown."""
        return self._mark or (PROGRESS if self._reported else BENIGN)

    def _line(self, shown: _Line, mark: Mark, progress: Progress | None, *, open: bool) -> LogLine:
        text, spans = cap(shown._text, shown._spans, more=shown._more)
        plan = parse_plan(text) if progress is None and not open else None
        return LogLine(text, mark, progress, self._queue, spans, open, self._size, plan)

    def _show(self, text: str, spans: tuple[Span, ...], piece: Piece) -> None:
        if self._goes_on:
            self._more += len(piece.raw) - piece.repeated
        elif text and not text.isspace():
            self._text, self._spans, self._more = text, spans, 0


def _from_word(text: str, start: int) -> str:
    """What follows the first word that `start` may have cut in two."""
    begin = _BETWEEN.search(text, start)
    return text[begin.end() :] if begin else ""


_BETWEEN = re.compile(r"[\s,;|]")


def _whole_words(text: str) -> str:
    """Without a last word that more bytes could lengthen: `1200/50` may become `1200/5000`."""
    if text.endswith(("]", "}", " ", "\n")):
        return text
    return text[: text.rfind(" ") + 1]
