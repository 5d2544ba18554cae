"""A whole number as a box writes it. Pure.

Python reads more digits than those of ASCII, and raises at a number of thousands of them.
"""

from __future__ import annotations

DIGITS = 18  # more than any size, time or offset has; arithmetic with floats holds
INODE_DIGITS = 20  # an inode may have all of its 64 bits


def whole(text: str | bytes, digits: int = DIGITS) -> int | None:
    """Its value where it is nothing but 1 to `digits` plain digits, else None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None
