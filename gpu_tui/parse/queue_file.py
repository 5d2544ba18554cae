"""The queue file -> the roster: `<config.yaml> <task> [epochs]`, one cell a line.

The queue script reads line by line, splits at spaces and tabs, passes over blank lines and those that
begin with `#`, and counts every other line as a cell. So do we: what is no cell is kept with its line.
It knows neither byte-order marks nor carriage returns: we read past them where a cell stands, and count
the lines that are only passed over without them.
"""

from __future__ import annotations

import re

from gpu_tui.core.plain import plain
from gpu_tui.core.sweep import RejectedLine, Roster, RosterCell

DEFAULT_EPOCHS = 20
LONGEST = 4096  # characters of a line that can be a cell
CELLS_READ = 10_000  # of one file; the others are counted
REJECTED_KEPT = 100
REJECTED_CAP = 120  # characters of a rejected line that are kept

# A config path may hold spaces only when it ends in `.yaml`: then the end of the path is certain.
_CELL = re.compile(
    r"(?P<config>\S[^\n]*?\.yaml|\S+)[ \t]+(?P<task>\S+)(?:[ \t]+(?P<epochs>[0-9]{1,6}))?"
)
_NOTE = re.compile(r"[ \t]#.*$")
_SPACE = " \t\r"


def decode_roster(data: bytes) -> Roster:
    """The roster of a file's bytes: UTF-8; a line that is not is refused, the others are read."""
    return parse_roster(data.decode("utf-8", "replace"))


def parse_roster(text: str) -> Roster:
    """Cells in order. Blank lines and `#` lines are not counted; every other line takes an index,
    as the wrapper counts them, also one that is no cell (it is kept in `rejected`, with its line).
    """
    cells: list[RosterCell] = []
    rejected: list[RejectedLine] = []
    names: dict[str, int] = {}
    index = dropped = 0
    for number, raw in enumerate(text.split("\n"), 1):
        words = raw.strip(" \t")
        if not words or words.startswith("#"):
            continue
        index += 1
        line = words.removeprefix("\ufeff") if number == 1 else words
        line = _NOTE.sub("", line.strip(_SPACE)).strip(_SPACE)
        cell = _cell(line, index, number)
        if isinstance(cell, RosterCell) and len(cells) < CELLS_READ:
            cells.append(cell)
            names[cell.name] = names.get(cell.name, 0) + 1
        elif isinstance(cell, RejectedLine) and len(rejected) < REJECTED_KEPT:
            rejected.append(cell)
        else:
            dropped += 1
    return Roster(
        cells=tuple(cells),
        duplicates=tuple(name for name, count in names.items() if count > 1),
        rejected=tuple(rejected),
        dropped=dropped,
    )


def _cell(line: str, index: int, number: int) -> RosterCell | RejectedLine:
    why = _broken(line)
    match = None if why or line.startswith("#") else _CELL.fullmatch(line)
    name = match["config"].rsplit("/", 1)[-1].removesuffix(".yaml") if match else ""
    if match is None or not name or match["task"].startswith("-"):
        return RejectedLine(number, index, plain(line, REJECTED_CAP), why or _why(line))
    epochs = int(match["epochs"]) if match["epochs"] else DEFAULT_EPOCHS
    return RosterCell(index, name, match["config"], match["task"], epochs, number)


def _broken(line: str) -> str | None:
    """Why no line like this can be a cell, whatever its words are."""
    if len(line) > LONGEST:
        return f"longer than {LONGEST} characters"
    if "\ufffd" in line:
        return "it is not UTF-8"
    if "\0" in line:
        return "it holds a NUL byte"
    if "\r" in line:
        return "it holds a carriage return: lines end with \\n"
    odd = next((char for char in line if not char.isprintable() and char != "\t"), None)
    if odd is not None:
        return f"it holds U+{ord(odd):04X}: only spaces and tabs part its words"
    return None


def _why(line: str) -> str:
    """What is wrong with the words of a line."""
    words = line.split()
    if not words:
        return "nothing but a carriage return or a byte-order mark, and so no blank line"
    if words[0].startswith("#"):
        return "a byte-order mark stands before the #, and so it is no comment"
    if len(words) == 1:
        return "the task is missing: CONFIG TASK [EPOCHS]"
    if words[1].startswith("-"):
        return f'an option, "{plain(words[1], 40)}", is no task: CONFIG TASK [EPOCHS]'
    if len(words) == 3 and not words[2].isdigit():
        return f'"{plain(words[2], 40)}" is no number of epochs'
    return "it is not CONFIG TASK [EPOCHS]"
