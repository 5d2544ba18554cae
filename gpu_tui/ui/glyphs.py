"""Signs for terminals that have fewer of them: every drawing has a form in ASCII, and one for the Linux console.

A sign becomes another of the same width, so that no column moves; two signs that mean different things
never become the same one. A bound takes the blank before it too: `at least` is no arrow.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter


class Glyphs(StrEnum):
    """Which signs a terminal can draw."""

    ALL = "unicode"
    CONSOLE = "console"  # ASCII, and the lines and blocks of code page 437
    ASCII = "ascii"


_ASCII = {
    **dict(zip("─━═╌┄╴╶╸╺", "-=====-=-", strict=True)),
    **dict(zip("│┃║▌▐▎▏▉▊▋▍", "|||||||##||", strict=True)),
    **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼╔╗╚╝╠╣╦╩╬┏┓┗┛", "+"),
    **dict(zip("▁▂▃▄▅▆▇█", "_.-:=+*#", strict=True)),
    **dict(zip("░▒▓▀▔", ".:#^^", strict=True)),
    **dict(zip("▘▝▖▗▚▞▙▛▜▟", "''..\\/####", strict=True)),
    **dict(zip("●✗✓■◆○◌◔⊘↯▲△◐▼", "*xv#&o.c%z!^dV", strict=True)),
    **dict(zip("–—·…⋯≥≤×→←↑↓↵±≈−≡", "--.~~><x><^v<~~-=", strict=True)),
    **dict(zip("‘’“”«»‹›", "''\"\"<><>", strict=True)),
    **dict(zip("▸▶‖•★☐☑✔✘⚠␛", ">>|.@_+vx!^", strict=True)),
    **dict(zip("°µ¥€£§²³", "'uYEL$23", strict=True)),
    "🔎": "/ ",  # of the palette
}
# What every font of the Linux console has beside ASCII.
_CONSOLE = {
    **{sign: sign for sign in "─│┌┐└┘├┤┬┴┼█▄▀▌▐░▒▓°±·×¥£§µ«»"},
    **dict(zip("╭╮╰╯━╸", "┌┐└┘═─", strict=True)),
    **dict(zip("▁▂▃▅▆▇", "__▄▄██", strict=True)),
    **dict(zip("▘▝▖▗▙▛▜▟", "▀▀▄▄████", strict=True)),
    **dict(zip("▉▊▋▍", "██▌▌", strict=True)),
}
TABLES: Mapping[Glyphs, Mapping[str, str]] = {
    Glyphs.ASCII: _ASCII,
    Glyphs.CONSOLE: _ASCII | _CONSOLE | {"═": "═"},
}
BOUNDS = {"≥": ">=", "≤": "<="}  # in place of a blank; `>` alone is an arrow's
BRAILLE = range(0x2800, 0x2900)
CACHE = 4096


def glyphs_of(env: Mapping[str, str], encoding: str | None) -> Glyphs:
    """What the terminal that `env` describes can draw; `encoding` is that of what is written to it.

    A locale that names no UTF-8 gets ASCII. No locale at all says nothing: then the encoding decides.
    """
    if (encoding or "").lower().replace("-", "").replace("_", "") not in ("utf8", "cp65001"):
        return Glyphs.ASCII
    named = next((env[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if env.get(name)), None)
    # Python itself sets this one where the locale is C (PEP 538): it says nothing of the terminal.
    if named == "C.UTF-8" and not env.get("LC_ALL") and env.get("LANG") in ("C", "POSIX"):
        named = env["LANG"]
    if named is not None and "utf" not in named.lower():
        return Glyphs.ASCII
    return Glyphs.CONSOLE if env.get("TERM") == "linux" else Glyphs.ALL


class Redrawn(LineFilter):
    """Draws every line with the signs that there are."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self._table = _Table(TABLES[glyphs])

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same line, as wide as before."""
        texts = [segment.text for segment in segments]
        if any(sign in text for sign in BOUNDS for text in texts):
            texts = _with_bounds(texts)
        return [
            segment if text.isascii() and text == segment.text
            else Segment(text.translate(self._table), segment.style, segment.control)
            for segment, text in zip(segments, texts, strict=True)
        ]  # fmt: skip

    def text(self, text: str) -> str:
        """`text` redrawn."""
        return _with_bounds([text])[0].translate(self._table)


def _with_bounds(texts: list[str]) -> list[str]:
    """Parts of one line with their bounds in two signs, as wide as before: one of two blanks before them gives way,
    else one of the next two behind, else the blank before.
    """
    cells = [(sign, part) for part, text in enumerate(texts) for sign in text]
    at = 0
    while at < len(cells):
        sign, part = cells[at]
        if sign in BOUNDS and (gone := _spare(cells, at)) is not None:
            first = cells[gone][1] if gone == at - 1 else part
            cells[at : at + 1] = [(BOUNDS[sign][0], first), (BOUNDS[sign][1], part)]
            del cells[gone if gone < at else gone + 1]
        at += 1
    made = [""] * len(texts)
    for sign, part in cells:
        made[part] += sign
    return made


def _spare(cells: list[tuple[str, int]], at: int) -> int | None:
    """Where the blank stands that is given for a bound's second sign."""
    line = "".join(sign for sign, _ in cells)
    before = at > 0 and line[at - 1] == " "
    if before and (at < 2 or line[at - 2] == " "):
        return at - 1
    behind = line.find("  ", at) if before else -1
    return behind if behind >= 0 else at - 1 if before else None


class _Table(dict[int, str]):
    """A translation table that makes up what it does not hold: as many `?` as the sign is wide."""

    def __init__(self, known: Mapping[str, str]) -> None:
        super().__init__({ord(sign): other for sign, other in known.items()})

    def __missing__(self, code: int) -> str:
        if code < 0x80:
            return chr(code)
        if code in BRAILLE:
            dots = (code - BRAILLE.start).bit_count()
            other = " .::#####"[dots]
        else:
            other = "?" * cell_len(chr(code))
        if len(self) < CACHE:
            self[code] = other
        return other


class Uncoloured(LineFilter):
    """Leaves bold, underline and inversion, and no colour. A light background was an inversion."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same line in the terminal's own two colours."""
        return [
            Segment(text, _uncoloured(style) if style is not None else None, control)
            for text, style, control in segments
        ]


@lru_cache(4096)
def _uncoloured(style: Style) -> Style:
    paper = style.bgcolor.get_truecolor() if style.bgcolor is not None else (0, 0, 0)
    inverse = sum(paper) > 3 * 0x80
    return Style(
        bold=style.bold,
        underline=style.underline,
        reverse=inverse is not bool(style.reverse) or None,
        meta=style.meta or None,
    )


def filters_of(glyphs: Glyphs, *, colours: bool) -> tuple[LineFilter, ...]:
    """What every line passes on its way to such a terminal."""
    filters: list[LineFilter] = []
    if glyphs is not Glyphs.ALL:
        filters.append(Redrawn(glyphs))
    if not colours:
        filters.append(Uncoloured())
    return tuple(filters)
