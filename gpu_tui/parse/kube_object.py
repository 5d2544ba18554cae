"""Reading a Kubernetes object that kubectl printed as JSON. Nothing of its shape is believed.

Every reader answers None (or nothing) for what is missing or of another type; texts are cut and made harmless.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from gpu_tui.core.plain import plain
from gpu_tui.parse.instants import epoch_of

Object = Mapping[str, object]
WORD, SENTENCE = 80, 240  # characters that are kept
ROWS_READ = 1_000  # of a list within one object
LARGEST = 10**11  # of a count, or of seconds: a time that they make is one of the calendar
NOTHING: Object = {}


class NotKubernetes(ValueError):
    """Not what `kubectl get -o json` prints."""


def items_of(data: bytes) -> list[Object]:
    """The objects of a List. Raises NotKubernetes."""
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        raise NotKubernetes("kubectl printed something else than JSON") from None
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(items, list):
        raise NotKubernetes("kubectl printed no list")
    return [item for item in items if isinstance(item, dict)]


def part(value: object, *path: str) -> Object:
    """The mapping at a path; empty where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else NOTHING


def rows(value: Object, key: str) -> Iterator[Object]:
    """The first mappings of a list."""
    found = value.get(key)
    kept = found[:ROWS_READ] if isinstance(found, list) else ()
    yield from (row for row in kept if isinstance(row, dict))


def text(value: Object, key: str, most: int = WORD) -> str | None:
    """A text in one line."""
    found = value.get(key)
    return (
        plain(" ".join(found[: 4 * most].split()), most)
        if isinstance(found, str) and found
        else None
    )


def raw(value: Object, key: str, most: int = 253) -> str | None:
    """A name as the API has it, unchanged; None where it is longer than a name may be, or holds what none may.

    JSON can spell halves of characters that no encoding takes.
    """
    found = value.get(key)
    named = isinstance(found, str) and 0 < len(found) <= most and found.isprintable()
    return found if named and isinstance(found, str) else None


def clauses(*parts: str | None) -> str | None:
    """Several sentences as the clauses of one, each once; None where there is none."""
    found = [part for part in dict.fromkeys(parts) if part]
    return "; ".join([*(part.rstrip(". ") for part in found[:-1]), *found[-1:]]) or None


def number(value: Object, key: str) -> int | None:
    """A whole number."""
    found = value.get(key)
    if not isinstance(found, int) or isinstance(found, bool) or abs(found) > LARGEST:
        return None
    return found


def flag(value: Object, key: str) -> bool:
    """True only where it says true."""
    return value.get(key) is True


def time(value: Object, key: str) -> float | None:
    """Epoch seconds of an RFC 3339 time."""
    found = value.get(key)
    return epoch_of(found) if isinstance(found, str) and len(found) <= 40 else None


def condition(status: Object, kind: str, *, holds: bool = True) -> Object | None:
    """The condition of one type, if it is known to hold (or not to)."""
    wanted = "True" if holds else "False"
    return next(
        (
            row
            for row in rows(status, "conditions")
            if (row.get("type"), row.get("status")) == (kind, wanted)
        ),
        None,
    )
