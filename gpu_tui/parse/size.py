"""Sizes in memory as people write them, `512MB` or `1.5GiB`, to bytes. A bare number is never a size."""

from __future__ import annotations

import re

UNITS = {"MB": 10**6, "GB": 10**9, "MIB": 2**20, "GIB": 2**30}
_SIZE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?) ?(MB|GB|MiB|GiB)", re.ASCII | re.IGNORECASE)


def parse_size(text: str) -> int | None:
    """Bytes of `512MB`, `2 GB`, `1.5GiB`; None for everything else."""
    match = _SIZE.fullmatch(text.strip())
    return None if match is None else int(float(match[1]) * UNITS[match[2].upper()])
