"""Keys that are equal for lines that differ in their numbers only.

Most rules match any number. A key keeps the length of each number, and whether it is zero.
"""

from __future__ import annotations

_ONES = bytes.maketrans(b"0123456789", b"0111111111")
MAX_DIGITS = 24  # of one number; a line with a longer number has no key


def number_key(line: bytes) -> bytes | None:
    """The line with every digit replaced by `1`; in a number of zeros by `0`. None where a number is too long."""
    key = line.translate(_ONES)
    for mixed in (b"10", b"01"):
        for _ in range(MAX_DIGITS):
            if mixed not in key:
                break
            key = key.replace(mixed, b"11")
        else:
            return None
    return key
