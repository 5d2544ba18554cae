r"""A file's name as `stat -c %N` prints it -> the name. GNU's quotes it as a shell would want it, and where the locale
of the box is C, as it mostly is for a command by ssh, each byte of a Chinese one is an escape:
`'/root/'$'\345\270\246''.log'`. Busybox and an old one only put quotes around it.
"""

from __future__ import annotations

import re

_PIECE = re.compile(rb"'([^']*)'|\"([^\"]*)\"|\\(.)|\$'((?:[^'\\]|\\.)*)'")
_BYTE = re.compile(rb"\\([0-7]{3}|.)")
_LETTERS = {
    b"a": b"\a",
    b"b": b"\b",
    b"t": b"\t",
    b"n": b"\n",
    b"v": b"\v",
    b"f": b"\f",
    b"r": b"\r",
}
_AROUND = "`'‘\"’"


def unquoted(text: str) -> str:
    """The name that was meant."""
    raw, name, at = text.encode("utf-8", "replace"), b"", 0
    while match := _PIECE.match(raw, at):
        name += _BYTE.sub(_byte, match[4]) if match[4] is not None else match[match.lastindex or 0]
        at = match.end()
    if at == len(raw):
        return name.decode("utf-8", "replace")
    begin, end = text[:1] in _AROUND, text[-1:] in _AROUND
    return text[begin : len(text) - end]


def _byte(match: re.Match[bytes]) -> bytes:
    word = match[1]
    return bytes((int(word, 8) & 0xFF,)) if len(word) == 3 else _LETTERS.get(word, word)
