"""Recognises the parts of tracebacks: a source line raises no alarm, and the last line is the exception, whatever its
words.

A single line does not show its part: a logger that writes a traceback line by line puts its prefix before a source line
that quotes an error, and an exception may have a name that no rule knows. So the lines are read in order: a head, frames
(`File "…", line 3, in f`), the lines indented deeper below each frame, and then the first line that is indented less.
Boxes are those of rich.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from gpu_tui.core.findings import Severity
from gpu_tui.core.logs import LogLine, Mark
from gpu_tui.core.raised import stamped

BLOCKS = 16  # tracebacks of ranks that may be mixed line by line
STRAYS = 8  # foreign lines within one traceback
NEAR = 3  # lines from an exception to the head of its copy by a logger
LONGEST = 2_048  # characters of a line that are examined

_HEAD = "Traceback (most recent call last)"
_CHAIN = "above exception"
_SIGNS = (_HEAD, 'File "', _CHAIN)
_RAW_SIGNS = tuple(sign.encode() for sign in _SIGNS)
_HEAD_ENDS = re.compile(r":?\s*$| [─━-]{2,200}[╮┐+]\s*$")
_FRAME = re.compile(r'File "[^"\n]{1,400}", line \d{1,9}(?:, in .{1,300})?\s*$')
_EXCEPTION = re.compile(
    r"(?:(?:[A-Za-z_]\w{0,60}\.){1,8}[A-Za-z_]\w{0,80}|[A-Z]\w{0,80}|error|timeout)(?:\([\w.]{1,60}\))?(?:: |:?\s*$)"
)
_ENDS_WELL = re.compile(r"SystemExit(?:: (?:0|None))?\s*$")
_GROUP = re.compile(r"^([ |]{0,80})\+ Exception Group $")
_BOX = re.compile(r"(?:^|(?<=\s))[╭┌+][─━-]{2,200} $")
# Lines above a traceback that the program survived: raised by a destructor or by the logger itself, or quoted.
_SURVIVED = re.compile(r"\bException ignored (?:in|on|while)\b|--- Logging error ---|^\s*>>> ")
_TAG = re.compile(r"(?:rank|default|pid ?[=:]|worker|\[) ?\d{1,9}", re.IGNORECASE)

SOURCE = Mark("traceback", Severity.NONE, alarm=False)
RAISED = Mark("exception", Severity.FATAL, alarm=True)
SURVIVED = Mark("warning", Severity.WARN, alarm=False)


@dataclass(slots=True)
class _Block:
    """A traceback whose exception has not come yet. `head` and `indent` are the indentations of its first line and of
    its frames, after the prefix `before` of each line; None if no such line was seen.
    """

    before: str
    head: int | None = None
    indent: int | None = None
    box: bool = False
    survived: bool = False
    copy: bool = False  # a logger's copy of the traceback above
    framed: bool = False  # the line before was a frame
    strays: int = 0
    form: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        self.led_by(self.before)

    def led_by(self, before: str) -> None:
        """Set the prefix of each line; its digits may change, except those that name a rank."""
        form, at = "", 0
        for tag in _TAG.finditer(before):
            form += _timeless(before[at : tag.start()]) + re.escape(tag[0])
            at = tag.end()
        self.before, self.form = before, re.compile(form + _timeless(before[at:]))

    def body(self, text: str) -> str | None:
        """The line after the prefix; None if the line has another prefix."""
        found = self.form.match(text)
        return text[found.end() :] if found else None

    @property
    def stripped(self) -> bool:
        """Whether the lines came without their indentation."""
        return self.indent is not None and self.indent <= (1 if self.head is None else self.head)


class Tracebacks:
    """Reads the lines of one log in order."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._above: Sequence[str] = ()  # the last two lines
        self._raised = ("", False)  # the last exception, and whether a logger wrote it
        self._since = NEAR + 1  # lines after it

    def read(self, line: LogLine) -> LogLine:
        """The line, with its mark corrected by its position in a traceback."""
        mark = self._mark(line.text, self._above)
        self._above = (*self._above[-1:], line.text)
        return _marked(line, mark)

    def among(
        self,
        lines: list[bytes],
        read: dict[int, LogLine],
        look: Callable[[bytes], LogLine],
        show: Callable[[bytes], str],
    ) -> None:
        """Correct the marks of many lines, of which only some were `read` (among them all that alarm). Adds to `read`
        the lines whose mark changes here, and those that join two tracebacks.
        """
        for place in self._places(lines):
            raw, line = lines[place], read.get(place)
            above = self._above
            if place and _RAW_SIGNS[0] in raw:
                above = [show(one) for one in lines[max(0, place - 2) : place]]
            text = show(raw) if line is None else line.text
            mark = self._mark(text, above)
            if line is not None or mark is RAISED or _CHAIN in text:
                read[place] = _marked(line or look(raw), mark)
        self._above = [show(raw) for raw in lines[-2:]]

    def _places(self, lines: list[bytes]) -> Iterator[int]:
        """Indexes of the lines that belong to a traceback or may begin one; the others are only counted."""
        body = b"\n".join(lines)
        if not self._blocks and not any(sign in body for sign in _RAW_SIGNS):
            self._since += len(lines)
            return
        for place, raw in enumerate(lines):
            if self._blocks or any(sign in raw for sign in _RAW_SIGNS):
                yield place
            else:
                self._since += 1

    def _mark(self, text: str, above: Sequence[str]) -> Mark | None:
        """The mark of a line at this position; None if the position does not change it."""
        self._since += 1
        if not self._blocks and not any(sign in text for sign in _SIGNS):
            return None
        text = text[:LONGEST]
        if _HEAD in text:
            return self._begin(text, above)
        for block in self._blocks:
            body = block.body(text)
            if body is not None:
                return self._inside(block, body)
        return self._frame_of_another(text)

    def _begin(self, text: str, above: Sequence[str]) -> Mark | None:
        start, _, end = text.partition(_HEAD)
        box, group = _BOX.search(start), _GROUP.match(start)
        # IPython's head begins with the name of the exception, which also follows below.
        if not _HEAD_ENDS.match(end) or (not box and not group and not end.startswith(":")):
            return None
        if box:
            start = start[: box.start()]
        elif group:
            start = f"{group[1]}| "
        start = start.removesuffix("Original ")
        block = _Block(start.rstrip(), head=len(start) - len(start.rstrip()), box=box is not None)
        block.survived = any(map(_SURVIVED.search, above))
        block.copy = self._since <= NEAR and self._raised[1] is not stamped(block.before)
        self._add(block)
        if block.survived:
            return SURVIVED
        return SOURCE if block.copy else None

    def _add(self, block: _Block) -> None:
        """Add a block in place of an abandoned one; blocks with longer prefixes are tried first."""
        others = [one for one in self._blocks if one.before != block.before][1 - BLOCKS :]
        self._blocks = sorted([*others, block], key=lambda one: -len(one.before))

    def _frame_of_another(self, text: str) -> Mark | None:
        """Take a frame whose head was not seen (begins a block), or had another prefix (joins the block of that head)."""
        at = text.find('File "')
        if at < 0 or not _FRAME.match(text, at):
            return None
        start = text[:at].rstrip("> ")
        block = next((one for one in self._blocks if one.indent is None and not one.box), None)
        if block is None:
            block = _Block(start)
        else:
            self._blocks.remove(block)
            block.led_by(start)
            block.head = 0
        self._add(block)
        return self._inside(block, text[len(start) :])

    def _inside(self, block: _Block, body: str) -> Mark | None:
        bare = body.lstrip()
        if not bare:
            return None
        if block.box:
            return self._boxed(block, bare)
        bare = bare.lstrip("> ")  # loguru points to the frame that caught it
        indent = len(body) - len(bare)
        if _FRAME.match(bare):
            block.indent, block.framed, block.strays = indent, True, 0
            return SOURCE
        if block.indent is None:
            if bare == "...":  # a Python session quoted in a text
                block.indent, block.survived = indent, True
                return None
            block.indent = (block.head or 0) + 1
        elif indent > block.indent or (
            block.stripped and block.framed and not _EXCEPTION.match(bare)
        ):
            block.framed = False
            return SOURCE
        block.framed = False
        if (indent < block.indent or block.stripped) and _EXCEPTION.match(bare):
            return self._end(block, bare.rstrip())
        block.strays += 1
        if block.strays > STRAYS:
            self._blocks.remove(block)
        return None

    def _boxed(self, block: _Block, bare: str) -> Mark | None:
        if bare[0] in "╰└" or bare.startswith("+-"):
            block.box = False
        elif bare[0] not in "│|":
            self._blocks.remove(block)
            return None
        return SOURCE

    def _end(self, block: _Block, raised: str) -> Mark | None:
        """End the block with its exception and return the exception's mark."""
        self._blocks.remove(block)
        if block.survived:
            return SURVIVED
        if block.copy and raised == self._raised[0]:
            self._since = 0
            return SOURCE
        self._raised, self._since = (raised, stamped(block.before)), 0
        if _ENDS_WELL.match(raised):
            return SOURCE
        # A stack dump (faulthandler, print_stack) has frames and no exception.
        return RAISED if block.head is not None else None


def _marked(line: LogLine, mark: Mark | None) -> LogLine:
    """The line with `mark` if that changes whether it alarms; an exception with a progress report keeps its own mark."""
    if mark is None or line.mark.alarm is mark.alarm or (mark is RAISED and line.progress):
        return line
    return replace(line, mark=mark)


def _timeless(text: str) -> str:
    return r"\d{1,20}".join(map(re.escape, re.split(r"\d+", text)))
