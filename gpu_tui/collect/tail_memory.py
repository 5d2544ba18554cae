"""Where we are in one log, so that whoever follows it anew repeats nothing and passes over nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpu_tui.collect.follow_program import OVERLAP
from gpu_tui.core.log_range import ANCHOR, Anchor
from gpu_tui.core.logs import LogLine
from gpu_tui.parse.log_reader import LogReader

TRAIL = 4_096  # bytes that were read last: its end may be written anew, as by who redraws a line of status
PAST_KEPT = 256  # files that are remembered as read
CUT, OTHER, ALONE = "cut", "other", "alone"


@dataclass(slots=True)
class TailMemory:
    """Where we are in one log. Lives as long as the instance, across connections.

    `offset` counts every byte taken, the unfinished line in `reader` included; `recent` are the last
    of them. `skipped` are the bytes before the first one taken, `end` the size when last opened.
    `inode` and `born` (as the box says it) are the file, `since` its time of change when it was first
    opened. `done`: all of it was read and nobody writes it any more; `left`: the size that it had when it
    was seen to stand still and the path to be another file, else -1; `cut`: it was seen cut short
    (CUT), not at its end only (OTHER), and there is no copy made before (ALONE). `trail` is as `recent`,
    and more; `doubt`: the file may be another text, of
    which so many bytes were not read, else -1; `trimmed`: its end was cut off once, and `redrawn` is the line that was taken and is read again. `line_at` is the byte where the unfinished line, or
    the next one, begins; `head` are the first bytes taken, at `skipped`.
    `past` are files known to be older. `gaps` counts what could not be read, `lost` its known bytes.
    """

    inode: int = 0
    born: str = "0"
    offset: int = 0
    line_at: int | None = 0
    head: bytes = b""
    recent: bytes = b""
    trail: bytes = b""
    redrawn: bytes = b""
    skipped: int = 0
    end: int = 0
    since: int = 0
    done: bool = False
    left: int = -1
    cut: str = ""
    doubt: int = -1
    trimmed: bool = False
    past: tuple[str, ...] = ()
    gaps: int = 0
    lost: int = 0
    reader: LogReader = field(default_factory=LogReader)

    @property
    def file(self) -> str:
        """What the box tells this file from others by."""
        return f"{self.inode}:{self.born}"

    @property
    def known(self) -> bytes:
        """What must stand just before `offset` in the file that this one is taken for."""
        return self.recent if self.doubt < 0 else self.trail

    @property
    def caught_up(self) -> bool:
        """Everything has been read that was in the file when it was last opened."""
        return self.inode > 0 and self.offset >= self.end

    def take(self, data: bytes, samples: int = 0, *, unfinished: bool = True) -> Sequence[LogLine]:
        """Count and read more bytes. `samples` and `unfinished` as `LogReader.feed` has them."""
        self.count(data)
        return self.reader.feed(data, samples, unfinished=unfinished)

    def count(self, data: bytes) -> None:
        """More bytes were taken."""
        if len(self.head) < ANCHOR and self.offset - self.skipped == len(self.head):
            self.head += data[: ANCHOR - len(self.head)]
        cut = data.rfind(b"\n") + 1
        if cut:
            self.line_at = self.offset + cut
        self.offset += len(data)
        self.recent = (self.recent + data[-OVERLAP:])[-OVERLAP:]
        self.trail = (self.trail + data[-TRAIL:])[-TRAIL:]

    def restart(self, inode: int, born: str, offset: int) -> tuple[LogLine, ...]:
        """Begin at `offset` of another file; the last line of the one before, if it was unfinished."""
        rest = self.reader.close()
        self.reader = LogReader()
        self.inode, self.born, self.offset, self.skipped = inode, born, offset, offset
        self.line_at, self.head = offset, b""
        self.recent = self.trail = self.redrawn = b""
        self.done, self.left, self.cut, self.doubt, self.trimmed = False, -1, "", -1, False
        return rest

    def last_line(self) -> int | None:
        """Where in `trail` the last line begins, as far as it was read; None where nothing tells it from others."""
        at = self.trail.rfind(b"\n", 0, len(self.trail) - 1) + 1
        begins = len(self.trail) == self.offset
        return at if at >= (1 if begins else OVERLAP) else None

    def step_back(self, at: int) -> tuple[LogLine, ...]:
        """Read on at byte `at` of the trail: what stood there may be another text; what was unfinished in it."""
        rest = self.reader.close()
        self.reader = LogReader()
        self.redrawn = b"" if rest else self.trail[at:]
        self.offset -= len(self.trail) - at
        self.line_at, self.trail = self.offset, self.trail[:at]
        self.head = self.head[: self.offset - self.skipped]
        self.recent, self.cut, self.trimmed = self.trail[-OVERLAP:], "", True
        return rest

    @property
    def anchor(self) -> Anchor | None:
        """What tells this file from another one; None where its first bytes were not taken."""
        return Anchor(self.skipped, self.head) if self.head else None

    def remember(self, *files: str) -> None:
        """These files (inode:born) are older than what is read from now on."""
        self.past = tuple(dict.fromkeys((*self.past, *files)))[-PAST_KEPT:]
