"""Bytes of one log -> `LogLine`s: split, made safe, judged, read for progress and queue events.

What later readers may rely on:
- One `LogLine` per physical line (what stands between two newlines), whatever the chunks were: cutting
  the stream elsewhere changes no finished line.
- Every segment that a carriage return overwrote is judged before it is forgotten. The line's label is
  the first in triage order, its severity the worst of all segments; its text and colours are those of
  the last segment that shows anything; its progress is the last that any segment reports.
- While a line has no newline yet it is emitted with `open=True` and replaced by the next line emitted.
  The mark of an open line speaks only of segments that are complete, so it is never taken back: the
  line that replaces it has the same mark or a worse one. Who counts alarms counts a line once: when
  it replaces an open line whose mark was an alarm with the same label, it is the same alarm.
"""

from __future__ import annotations

from gpu_tui.core.logs import LogLine, Mark, Progress, Span
from gpu_tui.core.sweep import QueueEvent
from gpu_tui.parse.lines import End, LineSplitter, Piece, cap, unescape
from gpu_tui.parse.progress import parse_progress
from gpu_tui.parse.queue_log import parse_queue_line
from gpu_tui.parse.triage import BENIGN, PROGRESS, cause, first


class LogReader:
    """Feed it chunks in order; it never waits and holds at most one unfinished line."""

    def __init__(self) -> None:
        self._splitter = LineSplitter()
        self._line = _Line()

    def feed(self, chunk: bytes) -> tuple[LogLine, ...]:
        """The lines that `chunk` finishes and, last, the unfinished one, if any."""
        lines: list[LogLine] = []
        if not chunk:
            return ()
        pending = Piece(b"", End.OPEN)
        for piece in self._splitter.feed(chunk):
            if piece.end is End.OPEN:
                pending = piece
            else:
                self._take(piece, lines)
        if pending.raw or self._line.begun:
            lines.append(self._line.peek(pending))
        return tuple(lines)

    def close(self) -> tuple[LogLine, ...]:
        """At the end of the stream: the unfinished line as a finished one."""
        lines: list[LogLine] = []
        for piece in self._splitter.flush():
            self._take(piece, lines)
        if self._line.begun:
            lines.append(self._line.finish())
            self._line = _Line()
        return tuple(lines)

    def _take(self, piece: Piece, lines: list[LogLine]) -> None:
        self._line.add(piece)
        if piece.end is End.NEWLINE:
            lines.append(self._line.finish())
            self._line = _Line()


class _Line:
    """What is known of the physical line that is being read."""

    def __init__(self) -> None:
        self.begun = False
        self._marks: tuple[Mark, ...] = ()
        self._progress: Progress | None = None
        self._queue: QueueEvent | None = None
        self._text = ""
        self._spans: tuple[Span, ...] = ()
        self._more = 0  # bytes of the shown segment behind what `_text` was made of
        self._goes_on = False  # the piece before was cut: the next one belongs to the same segment

    def add(self, piece: Piece) -> None:
        """Judge one complete piece and remember what the screen would show."""
        self.begun = True
        text, spans = unescape(piece.raw)
        if text and not text.isspace():
            progress = parse_progress(text)
            mark = cause(text) or (PROGRESS if progress is not None else BENIGN)
            self._marks = (first((*self._marks, mark)),)
            self._progress = progress or self._progress
            self._queue = parse_queue_line(text) or self._queue
        self._show(text, spans, piece)
        self._goes_on = piece.end is End.CUT

    def peek(self, pending: Piece) -> LogLine:
        """The line as it stands now, its unfinished segment shown, read for progress, not judged."""
        seen = _Line()
        seen._text, seen._spans, seen._more = self._text, self._spans, self._more
        seen._goes_on = self._goes_on
        text, spans = unescape(pending.raw)
        seen._show(text, spans, pending)
        progress = parse_progress(_whole_words(text))
        return self._line(seen, progress or self._progress, open=True)

    def finish(self) -> LogLine:
        """The finished line."""
        return self._line(self, self._progress, open=False)

    def _line(self, shown: _Line, progress: Progress | None, *, open: bool) -> LogLine:
        text, spans = cap(shown._text, shown._spans, more=shown._more)
        return LogLine(text, first(self._marks), progress, self._queue, spans, open)

    def _show(self, text: str, spans: tuple[Span, ...], piece: Piece) -> None:
        if self._goes_on:
            self._more += len(piece.raw) - piece.repeated
        elif text and not text.isspace():
            self._text, self._spans, self._more = text, spans, 0


def _whole_words(text: str) -> str:
    """Without a last word that more bytes could lengthen: `1200/50` may become `1200/5000`."""
    if text.endswith(("]", "}", " ", "\n")):
        return text
    return text[: text.rfind(" ") + 1]
