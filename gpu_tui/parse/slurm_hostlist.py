"""Expands a hostlist expression as Slurm prints it: `gpu[01-04,07],login`. Source: slurm.schedmd.com/scontrol.html."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

# A long list may be cut off within its brackets.
_HOSTS = re.compile(
    r"([^\[\],\s]{1,100})(?:\[([\d,-]{1,2000})(?:\]|\Z)([^\[\],\s]{0,100}))?(?:,|\Z)"
)


def expand_hostlist(text: str, most: int) -> Iterator[str]:
    """The first `most` names, in order. It ends where the text is no hostlist."""
    return islice(_expanded(text, most), most)


def _expanded(text: str, most: int) -> Iterator[str]:
    at = 0
    while found := _HOSTS.match(text, at):
        at = found.end()
        stem, packed, tail = found.groups()
        if packed is None:
            yield stem
            continue
        for part in packed.split(","):
            first, _, last = part.partition("-")
            if first.isdigit() and len(first) < 10 and (last or first).isdigit():
                for number in islice(range(int(first), int(last or first) + 1), most):
                    yield f"{stem}{number:0{len(first)}}{tail}"
