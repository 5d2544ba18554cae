"""Small files, most of them the kernel's, and the probes that consist of nothing else."""

import os
import time

from gpu_tui.collect.on_box.frames import MOST, Frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Row = tuple[str, str, str, str]  # KEY, root, file, the name of one line: `probe_box.Lines`
    Part = tuple[str, int, str, Mapping[str, tuple[Row, ...]]]  # `probe_box.Part`

AT_ONCE = 2048  # bytes: a shorter text is whole, for the kernel fills a page with the lines it has


class SmallFile:
    """A file that is read again and again. The kernel's own (no size, and yet a text) stay open."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._kept = -1

    def read(self) -> bytes:
        """Its text; empty where there is none."""
        if self._kept >= 0:
            try:
                return self._text(self._kept)
            except OSError:
                os.close(self._kept)
                self._kept = -1
        try:
            opened = os.open(self._path, os.O_RDONLY)
        except OSError:
            return b""
        try:
            text = self._text(opened)
            if text and not os.fstat(opened).st_size:
                self._kept = opened
        except OSError:
            return b""
        finally:
            if self._kept < 0:
                os.close(opened)
        return text

    def _text(self, opened: int) -> bytes:
        text = part = os.pread(opened, 4096, 0)
        if len(text) < AT_ONCE:
            return text
        while part and len(text) < MOST:
            part = os.pread(opened, 65_536, len(text))
            text += part
        return text


def read_once(path: str, most: int = 4096) -> bytes:
    """The beginning of a file; empty where there is none."""
    try:
        opened = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(opened, most)
    except OSError:
        return b""
    finally:
        os.close(opened)


def lines_of(text: bytes, name: bytes = b"") -> "list[bytes]":
    """All lines, or the first that begins with `name`."""
    if name:
        at = 0 if text.startswith(name) else text.find(b"\n" + name) + 1
        return text[at:].split(b"\n", 1)[:1] if at or text.startswith(name) else []
    lines = text.split(b"\n")
    return lines if lines[-1] else lines[:-1]


class SmallFiles:
    """A probe whose answer is lines of small files, as `probe_box` writes them down.

    `places`: what the variables of the prelude say on this box.
    """

    def __init__(
        self, mark: int, beats: int, parts: "Iterable[Part]", places: "Mapping[str, str]"
    ) -> None:
        self._mark = mark
        self._beats = beats
        self._parts = [
            (
                section.encode(),
                every,
                _sources(lines.get(places.get(kind, ""), ()), places),
            )
            for section, every, kind, lines in parts
        ]

    def answer(self, frames: Frames, beat: int) -> None:
        """A frame, where it is this probe's turn."""
        if beat % self._beats:
            return
        frames.begin(self._mark, beat)
        for section, every, sources in self._parts:
            if beat % every:
                frames.say(b"same " + section)
                continue
            frames.say(b"open " + section)
            for key, read, name in sources:
                for line in lines_of(read(), name):
                    frames.put(key + line)
            frames.say(b"close 0")
        frames.say(b"end %d" % beat)


def _sources(
    rows: "Iterable[Row]", places: "Mapping[str, str]"
) -> "list[tuple[bytes, Callable[[], bytes], bytes]]":
    """The files to read for these rows; rows of the root `level` once for each of the nested cgroups."""
    if "level" not in (row[1] for row in rows):
        return [_source(row, places) for row in rows]
    found = []
    for number, level in enumerate(places["levels"].split("\n")):
        here = {"level": level, "number": str(number), "name": level[len(places["top"]) :] or "/"}
        found.append(_source(("level", "number", "", ""), here))
        for key, _, file, name in rows:
            found.append(_source((key, "level" if file else "name", file, name), here))
    return found


def _source(row: "Row", places: "Mapping[str, str]") -> "tuple[bytes, Callable[[], bytes], bytes]":
    """What stands before each line, what reads the text, and what its one line begins with."""
    key, root, file, name = row
    if file:
        read = SmallFile(places[root] + "/" + file).read
    elif root:
        read = os.fsencode(places[root]).strip
    else:
        read = _clock
    return key.encode() + b" ", read, name.encode() + b" " if name else b""


def _clock() -> bytes:
    """Seconds since the epoch, and the zone, as `date '+%s %z'` has them."""
    return time.strftime("%s %z").encode()
