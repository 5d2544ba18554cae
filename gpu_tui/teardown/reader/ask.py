"""Which names a pickle asks for, read off its opcodes without obeying one of them."""

from __future__ import annotations

import pickletools
from typing import BinaryIO

NAMES_CAP = 64


def names_in(file: BinaryIO) -> set[str]:
    """The dotted globals of the pickle at the file's position, which is left behind it."""
    found: set[str] = set()
    texts: list[str] = []
    memo: dict[int, str | None] = {}
    last: str | None = None  # the text that the opcode before this one put on the stack
    for opcode, arg, _ in pickletools.genops(file):
        name, text = opcode.name, None
        if name in ("GLOBAL", "INST"):
            found.add(str(arg).replace(" ", "."))
        elif name == "STACK_GLOBAL":
            found.add(".".join(texts[-2:]))
        elif "UNICODE" in name or "STRING" in name:
            text = str(arg)
        elif name == "MEMOIZE":
            memo[len(memo)] = last
        elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
            memo[int(str(arg))] = text = last
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            text = memo.get(int(str(arg)))
        if text is not None and "PUT" not in name:
            texts = [*texts[-1:], text]
        if name != "MEMOIZE":
            last = text
        if len(found) > NAMES_CAP:
            break
    return found
