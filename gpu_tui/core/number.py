"""A whole number as a box writes it. Pure.

Python reads more digits than those of ASCII, and raises at a number of thousands of them.
"""

from __future__ import annotations

import math

DIGITS = 18  # more than any size, time or offset has; arithmetic with floats holds
INODE_DIGITS = 20  # an inode may have all of its 64 bits


def whole(text: str | bytes, digits: int = DIGITS) -> int | None:
    """Its value where it is nothing but 1 to `digits` plain digits, else None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def told_amount(amount: float, *, exact: bool) -> str:
    """Money to the cent: `12.40`; where it is the least there can be `≥12.40`, and `?` below a cent."""
    if exact:
        return f"{amount:.2f}"
    known = floored(amount, 2)
    return f"≥{known:.2f}" if known > 0 else "?"


def floored(number: float, digits: int) -> float:
    """Rounded down to `digits` behind the point: what stands behind `≥` is never more than what is known."""
    ten = 10.0**digits
    return math.floor(number * ten + 1e-6) / ten
