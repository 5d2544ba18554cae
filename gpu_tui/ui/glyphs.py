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
BOUNDS = {"≥": ">=", "≤": "<="}  # with the blank before them; `>` alone is an arrow's
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
        made: list[Segment] = []
        for segment in segments:
            text = segment.text
            if text[:1] in BOUNDS and made and made[-1].text.endswith(" "):
                pair, before = BOUNDS[text[0]], made[-1]
                made[-1] = Segment(before.text[:-1] + pair[0], before.style, before.control)
                text = pair[1] + text[1:]
            made.append(
                segment if text.isascii() and text == segment.text
                else Segment(self.text(text), segment.style, segment.control)
            )  # fmt: skip
        return made

    def text(self, text: str) -> str:
        """`text` redrawn."""
        for sign, pair in BOUNDS.items():
            text = text.replace(f" {sign}", pair)
        return text.translate(self._table)


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
