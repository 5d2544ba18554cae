"""Frames out of what a box sends: the answers of several probes, line by line in any order.

Every line carries the mark of its probe, so that programs which write at the same time into one
channel need not wait for each other:

    @NONCE MARK begin BEAT
    @NONCE MARK open SECTION     what follows are the lines of one command
    >MARK ...                    a line of it, or
    +MARK ...                    a part of a long line, which the next > of this mark ends
    @NONCE MARK cut              the box left something out
    @NONCE MARK close EXIT
    @NONCE MARK same SECTION     a section is as in the last frame of this mark
    @NONCE MARK step             the next command of several begins, each of which may hang
    @NONCE MARK end BEAT
    @NONCE MARK beat             the program has no clock: a line from us for each beat would be welcome

Box text stands only behind ">" and "+", so it cannot forge a frame. Lines that fit nowhere (a message
of the day, a chatty shell) are noise and skipped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpu_tui.collect.probe import Section, Sections

MAX_LINE = 65_536
MAX_SECTION = 1_048_576
MAX_SECTIONS = 256
MAX_FRAME = 4 * MAX_SECTION  # bytes of all its sections
MAX_WORDS = 256
_AGAIN = (b"open", b"close", b"same")  # without a beat


@dataclass(frozen=True, slots=True)
class Frame:
    """One probe's answer, whole. `beat` counts from 0 since the program started."""

    beat: int
    metric: str
    sections: Sections


@dataclass(slots=True)
class _Draft:
    """A frame while its lines come in."""

    beat: int
    sections: dict[str, Section] = field(default_factory=dict)
    open: str | None = None
    body: bytearray = field(default_factory=bytearray)
    part: bytearray = field(default_factory=bytearray)
    truncated: bool = False
    closed: int = 0  # bytes in the sections that are closed


class FrameReader:
    """Bytes in any chunks -> whole frames. Holds at most a line, and two bounded frames per metric."""

    _BEAT = re.compile(rb"[0-9]{1,12}")
    _SECTION = re.compile(rb"[a-z0-9.]{1,32}")
    _EXIT = re.compile(rb"[0-9]{1,3}")

    def __init__(self, nonce: str, metrics: Sequence[str]) -> None:
        """The mark of a metric is its place in `metrics`."""
        self._control = b"@" + nonce.encode() + b" "
        self._metrics = {b"%d" % mark: metric for mark, metric in enumerate(metrics)}
        self.wants_beats = False
        # Metrics that began a command since their last frame; to be emptied.
        self.steps: set[str] = set()
        self._line = bytearray()
        self._cut = False  # the rest of an overlong line is being skipped
        self._drafts: dict[bytes, _Draft] = {}
        self._last: dict[bytes, Sections] = {}
        self._words: dict[bytes, tuple[bytes, bytes, bytes]] = {}  # of lines without a beat

    def unfinished(self, metric: str) -> tuple[Sections, Sections]:
        """The closed sections of the unfinished frame of `metric`, and the sections of its last whole frame."""
        mark = next((mark for mark, name in self._metrics.items() if name == metric), b"")
        draft = self._drafts.get(mark)
        return (dict(draft.sections) if draft else {}), self._last.get(mark, {})

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that this chunk completes, in order."""
        *lines, rest = chunk.split(b"\n")
        frames = []
        for line in lines:
            if self._line or len(line) > MAX_LINE:
                self._collect(line)
                line = bytes(self._line)
                self._line.clear()
            frame = self._take(line)
            if frame is not None:
                frames.append(frame)
            self._cut = False
        self._collect(rest)
        return frames

    def _collect(self, part: bytes) -> None:
        room = MAX_LINE - len(self._line)
        self._line += part[:room]
        self._cut = self._cut or len(part) > room

    def _take(self, line: bytes) -> Frame | None:
        sign = line[:1]
        if sign == b">" or sign == b"+":
            mark, space, text = line[1:].partition(b" ")
            draft = self._drafts.get(mark)
            if space and draft is not None and draft.open is not None:
                self._append(draft, text, whole=sign == b">")
        elif line.startswith(self._control):
            words = self._words.get(line)
            if words is None:
                mark, _, word = line[len(self._control) :].partition(b" ")
                verb, _, about = word.partition(b" ")
                words = mark, verb, about
                if verb in _AGAIN and len(self._words) < MAX_WORDS:
                    self._words[line] = words
            return self._steer(*words)
        return None

    def _steer(self, mark: bytes, verb: bytes, about: bytes) -> Frame | None:
        if verb == b"begin":
            if mark in self._metrics and self._BEAT.fullmatch(about):
                self._drafts[mark] = _Draft(int(about))
            return None
        draft = self._drafts.get(mark)
        if draft is None:
            self.wants_beats = self.wants_beats or verb == b"beat"
            return None
        if verb == b"open" and self._SECTION.fullmatch(about):
            draft.open, draft.truncated = about.decode(), False
            draft.body, draft.part = bytearray(), bytearray()
        elif verb == b"step":
            self.steps.add(self._metrics[mark])
        elif verb == b"cut":
            draft.truncated = True
        elif verb == b"close" and self._EXIT.fullmatch(about):
            if draft.open is not None and len(draft.sections) < MAX_SECTIONS:
                draft.sections[draft.open] = Section(bytes(draft.body), int(about), draft.truncated)
                draft.closed += len(draft.body)
            draft.open = None
        elif verb == b"same" and self._SECTION.fullmatch(about):
            name = about.decode()
            if len(draft.sections) < MAX_SECTIONS:
                last = self._last.get(mark, {})
                draft.sections[name] = last.get(name, Section(truncated=True))
        elif verb == b"end" and about == b"%d" % draft.beat:
            del self._drafts[mark]
            self._last[mark] = draft.sections
            self.steps.discard(self._metrics[mark])
            return Frame(draft.beat, self._metrics[mark], draft.sections)
        return None

    def _append(self, draft: _Draft, text: bytes, *, whole: bool) -> None:
        held = len(draft.body) + len(draft.part)
        room = min(MAX_SECTION, MAX_FRAME - draft.closed)
        if self._cut or held + len(text) + 1 > room:
            draft.truncated = True
            draft.part.clear()
        elif whole:
            if draft.part:
                draft.body += draft.part
                draft.part.clear()
            draft.body += text
            draft.body += b"\n"
        else:
            draft.part += text
