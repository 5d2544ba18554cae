"""Bytes of a log -> pieces of lines -> text that is safe on a terminal. Pure, linear, bounded.

Everything that comes from a box passes here once, on ingest. What leaves has no control character, no
escape sequence and no invisible or direction-changing character; colours leave as `Span`s whose style
words are chosen here from a closed list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from gpu_tui.core.logs import Span

TEXT_CAP = 4096  # characters of one line that are kept for the screen
NAME_CAP = 256  # characters of one name (host, card, process, file)
# Bytes of one piece, which is judged at once; a longer segment leaves in several.
PIECE_CAP = 16_384
PIECE_OVERLAP = 256  # bytes repeated after a cut, so that no word is lost on the seam
TAB = 8
SHOWN = "\ufffd"  # what an unprintable run looks like
SHOWN_ESCAPE = "␛"  # what an unfinished or unknown escape looks like

# One escape sequence, complete or not. Every class excludes what starts the next sequence, so a scan
# never looks at a character twice. Strings (OSC, DCS, ...) count only when they end: an unterminated
# one must not hide the rest of the line.
_ESCAPE = re.compile(
    r"(?P<sgr>(?:\x1b\[|\x9b)(?P<codes>[0-9;:]*)m)"
    r"|(?P<csi>(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?)"
    r"|(?P<string>(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x80-\x9f]*(?:\x07|\x1b\\|\x9c))"
    r"|(?P<other>\x1b[ -/]{0,2}[0-~]?)"
)
_C0_C1 = r"\x00-\x08\x0a-\x1f\x7f-\x9f"
_INVISIBLE = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    r"\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
    r"\U00013430-\U0001343f\U0001bca0-\U0001bca3"
)
_SILENT = re.compile(
    "[\x07\x08\ufe00-\ufe0f]+|^\ufeff"
)  # bell, backspace, emoji selectors: no sign
_UNSAFE = re.compile(f"[{_C0_C1}{_INVISIBLE}]+")
_DIRTY = re.compile(f"[\t{_C0_C1}{_INVISIBLE}]")

_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_SET = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
_RESET = {
    22: ("bold", "dim"),
    23: ("italic",),
    24: ("underline",),
    27: ("reverse",),
    29: ("strike",),
}


def sanitize(raw: bytes, *, more: int = 0) -> tuple[str, tuple[Span, ...]]:
    """Safe text of one line or segment, at most `TEXT_CAP` characters and a marker, and its colours.

    `more` is how many further bytes of the same line were left out before; the marker counts them.
    """
    return cap(*unescape(raw), more=more)


def unescape(raw: bytes) -> tuple[str, tuple[Span, ...]]:
    """As `sanitize`, but of any length: what the rules read, not what the screen shows."""
    text = raw.decode("utf-8", "replace")
    if not _DIRTY.search(text):
        return text, ()
    out: list[str] = []
    spans: list[Span] = []
    pen = _Pen()
    column = start = 0

    def put(piece: str) -> int:
        safe = _expand_tabs(_UNSAFE.sub(SHOWN, _SILENT.sub("", piece)), column)
        out.append(safe)
        return len(safe)

    for match in _ESCAPE.finditer(text):
        at = column
        column += put(text[start : match.start()])
        pen.mark(spans, at, column)
        start = match.end()
        if match["sgr"] is not None:
            pen.apply(match["codes"])
        elif match["other"] is not None and len(match["other"]) < 3:
            out.append(SHOWN_ESCAPE)
            column += 1
    at = column
    column += put(text[start:])
    pen.mark(spans, at, column)
    return "".join(out), tuple(spans)


def cap(text: str, spans: tuple[Span, ...] = (), *, more: int = 0) -> tuple[str, tuple[Span, ...]]:
    """Cut to `TEXT_CAP` characters and say how many bytes are not shown."""
    if len(text) <= TEXT_CAP and not more:
        return text, spans
    hidden = len(text[TEXT_CAP:].encode()) + more
    if not spans or spans[-1].end <= TEXT_CAP:
        return f"{text[:TEXT_CAP]}… (+{hidden} bytes)", spans
    kept = tuple(
        Span(span.start, min(span.end, TEXT_CAP), span.style)
        for span in spans
        if span.start < TEXT_CAP
    )
    return f"{text[:TEXT_CAP]}… (+{hidden} bytes)", kept


def clean(text: str) -> str:
    """A foreign name or message (host, card, process, file, API string) as one safe line."""
    plain = _ESCAPE.sub("", text.replace("\r\n", " ").replace("\n", " ").replace("\t", " "))
    safe = _UNSAFE.sub(SHOWN, _SILENT.sub("", plain))
    return safe if len(safe) <= NAME_CAP else safe[: NAME_CAP - 1] + "…"


def _expand_tabs(text: str, column: int) -> str:
    """Replace tabs by spaces up to the next stop, where `text` starts at `column`."""
    if "\t" not in text:
        return text
    lead = column % TAB
    return (" " * lead + text).expandtabs(TAB)[lead:]


class _Pen:
    """What SGR has set so far in this line."""

    def __init__(self) -> None:
        self._words: set[str] = set()
        self._front = self._back = ""

    def mark(self, spans: list[Span], start: int, end: int) -> None:
        """Add a span for [start, end) where anything is set."""
        style = " ".join(
            [*sorted(self._words), *filter(None, [self._front, self._back and "on " + self._back])]
        )
        if not style or start == end:
            return
        if spans and spans[-1].end == start and spans[-1].style == style:
            start = spans.pop().start
        spans.append(Span(start, end, style))

    def apply(self, codes: str) -> None:
        """Read the numbers of one SGR; unknown ones change nothing."""
        numbers = [int(code[:6] or 0) for code in re.split("[;:]", codes)]
        at = 0
        while at < len(numbers):
            code = numbers[at]
            at += 1
            if code in (38, 48):
                colour, used = _extended(numbers[at:])
                at += used
                self._paint(colour, back=code == 48)
            elif code == 0:
                self._words.clear()
                self._front = self._back = ""
            elif code in _SET:
                self._words.add(_SET[code])
            elif code in _RESET:
                self._words.difference_update(_RESET[code])
            elif code in (39, 49):
                self._paint("", back=code == 49)
            elif 30 <= code <= 37 or 40 <= code <= 47:
                self._paint(_COLOURS[code % 10], back=code >= 40)
            elif 90 <= code <= 97 or 100 <= code <= 107:
                self._paint("bright_" + _COLOURS[code % 10], back=code >= 100)

    def _paint(self, colour: str | None, *, back: bool) -> None:
        if colour is None:
            return
        if back:
            self._back = colour
        else:
            self._front = colour


def _extended(rest: list[int]) -> tuple[str | None, int]:
    """The colour after 38 or 48, and how many numbers it took; None where it is not one."""
    if len(rest) >= 2 and rest[0] == 5:
        return (f"color({rest[1]})" if rest[1] <= 255 else None), 2
    if len(rest) >= 4 and rest[0] == 2:
        red, green, blue = rest[1:4]
        return (f"rgb({red},{green},{blue})" if max(red, green, blue) <= 255 else None), 4
    return None, len(rest)


class End(Enum):
    """How a piece of a line ended."""

    NEWLINE = "newline"
    RETURN = "return"  # a carriage return: the next piece overwrites this one
    CUT = "cut"  # too long: the next piece goes on and repeats `PIECE_OVERLAP` bytes
    OPEN = "open"  # nothing yet: the next feed says this piece again, longer


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of one physical line. `repeated` of its first bytes stood in the piece before."""

    raw: bytes
    end: End
    repeated: int = 0


class LineSplitter:
    """Cuts a stream into pieces. Holds at most one unfinished piece, so memory is bounded and a
    progress bar that never sends a newline costs linear time: every overwritten segment leaves at
    once, whole, and can be judged before it is forgotten.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._repeated = 0

    @property
    def holds(self) -> bool:
        """A segment is unfinished."""
        return len(self._rest) > self._repeated

    def feed(self, chunk: bytes) -> list[Piece]:
        """The pieces that `chunk` finishes, then the open rest, if any, as `End.OPEN`."""
        pieces: list[Piece] = []
        if not chunk:
            return pieces
        start = 0
        for match in _BREAK.finditer(chunk):
            self._take(chunk[start : match.start()], pieces)
            self._leave(End.NEWLINE if match[0] == b"\n" else End.RETURN, pieces)
            start = match.end()
        self._take(chunk[start:], pieces)
        if len(self._rest) > self._repeated:
            pieces.append(Piece(bytes(self._rest), End.OPEN, self._repeated))
        return pieces

    def flush(self) -> list[Piece]:
        """At the end of the stream: the rest, as if a newline had come."""
        pieces: list[Piece] = []
        if len(self._rest) > self._repeated:
            self._leave(End.NEWLINE, pieces)
        return pieces

    def _take(self, part: bytes, pieces: list[Piece]) -> None:
        at = 0
        while at < len(part):
            room = PIECE_CAP - len(self._rest)
            self._rest += part[at : at + room]
            at += room
            if len(self._rest) >= PIECE_CAP:
                pieces.append(Piece(bytes(self._rest), End.CUT, self._repeated))
                del self._rest[:-PIECE_OVERLAP]
                self._repeated = PIECE_OVERLAP

    def _leave(self, end: End, pieces: list[Piece]) -> None:
        pieces.append(Piece(bytes(self._rest), end, self._repeated))
        self._rest.clear()
        self._repeated = 0


_BREAK = re.compile(rb"[\r\n]")
