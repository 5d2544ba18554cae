"""Taking single fields out of an API's answer: each by its name and kind, nothing else is kept."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from datetime import datetime
from ipaddress import ip_address

from gpu_tui.core.account import Address
from gpu_tui.core.fleet import Money
from gpu_tui.core.number import whole
from gpu_tui.core.plain import plain
from gpu_tui.providers.base import BadAnswer

Row = Mapping[str, object]
HOURS_PER_MONTH = 730.0  # what providers divide a monthly price by
MOST = 1e9  # no price, balance or size in GB that is larger is believed
MOST_SECONDS, MOST_BYTES = 1e11, 1e18
MOST_ROWS = 2_000  # of one list: nobody reads more, and each of them costs the screen time


def row_of(value: object, what: str) -> Row:
    """`value` as an object; BadAnswer that says `what` was expected."""
    if not isinstance(value, dict):
        raise BadAnswer(f"the answer holds no {what}")
    return value


def rows_of(value: object, name: str) -> list[Row]:
    """The list of objects under `name`; BadAnswer where it is none."""
    rows = value.get(name) if isinstance(value, dict) else None
    if not isinstance(rows, list):
        raise BadAnswer(f"the answer holds no list of {name}")
    if len(rows) > MOST_ROWS:
        raise BadAnswer(f"the list has more than {MOST_ROWS} rows")
    return [row_of(row, f"list of {name}") for row in rows]


def add_page(found: list[Row], value: object, name: str) -> None:
    """The rows of one more page behind those before it; all of them together are one list."""
    found += rows_of(value, name)
    if len(found) > MOST_ROWS:
        raise BadAnswer(f"the list has more than {MOST_ROWS} rows")


def id_of(row: Row, name: str = "id") -> str:
    """The id of a row, a text or a whole number; without one no list can be compared with anything."""
    value = row.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value:
        raise BadAnswer("something in the list has no id")
    return plain(value, 64)


def text(row: Row, name: str, longest: int = 80) -> str | None:
    """A non-empty text, stripped and made safe to print; None otherwise. Some APIs pad texts with blanks."""
    value = row.get(name)
    value = value.strip() if isinstance(value, str) else None
    return plain(value, longest) if value else None


def status_of(row: Row, known: Container[str], what: str) -> str:
    """The `status` of `what`, one of those that are `known`: of any other nobody knows what it bills."""
    status = text(row, "status", 40)
    if status is None:
        raise BadAnswer("the answer names no status")
    if status not in known:
        raise BadAnswer(f"the {what} is in state {status}: look at the console")
    return status


def texts(row: Row, names: Iterable[str]) -> dict[str, str]:
    """The texts among `names`."""
    return {name: value for name in names if (value := text(row, name)) is not None}


def number(row: Row, name: str, *, signed: bool = False, most: float = MOST) -> float | None:
    """A number that could be a price, a size or (`signed`) a balance: finite and below `most`."""
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    least = -most if signed else 0
    return value if least <= value < most else None  # neither NaN nor infinity is


def money(
    row: Row, name: str, currency: str, *, scale: float = 1.0, signed: bool = False
) -> Money | None:
    """An amount in `currency`; `scale` is how many of the API's units make one."""
    amount = number(row, name, signed=signed)
    return None if amount is None else Money(amount / scale, currency)


def epoch(row: Row, name: str) -> float | None:
    """A time in epoch seconds."""
    return number(row, name, most=MOST_SECONDS) or None


def iso_time(value: object) -> float | None:
    """A text with date, time and zone as epoch seconds."""
    if not isinstance(value, str):
        return None
    try:
        parsed = datetime.fromisoformat(value)
        at = parsed.timestamp() if parsed.tzinfo else None
    except (ValueError, OverflowError):
        return None
    return at if at is not None and 0 <= at < MOST_SECONDS else None


def address(host: object, port: object) -> Address | None:
    """Host and port of an ssh, if they are one."""
    if isinstance(port, str):
        port = whole(port.strip())
    host = host.strip() if isinstance(host, str) else ""
    if not host or isinstance(port, bool) or not isinstance(port, int):
        return None
    return (plain(host, 253), port) if 0 < port < 65_536 else None


def addresses(row: Row, name: str) -> tuple[str, ...]:
    """The one address under `name`, if it is one in numbers."""
    value = row.get(name)
    try:
        return (str(ip_address(value.strip())),) if isinstance(value, str) else ()
    except ValueError:
        return ()
