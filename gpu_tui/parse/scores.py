"""Metrics files of finished runs, as `head` prints many -> Scores: numbers by name, nothing else is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from gpu_tui.core.plain import plain
from gpu_tui.core.readings import Scores

FILE_BYTES = 2_048
METRICS_KEPT = 32  # of one file
NAME_CHARS = 40
_HEADER = re.compile(rb"(?:^|\n)==> ([^\n]{1,4096}) <==\n")
# Progress, settings, and how fast it went: nobody compares cells by them.
_COUNTERS = re.compile(
    r"epochs?|(global_)?steps?|seed|total_flos"
    r"|(\w+_)?(runtime|samples|samples_per_second|steps_per_second|tokens_per_second)"
)


def parse_scores(
    text: bytes, patterns: Sequence[str], home: str | None = None, dropped: int = 0
) -> Scores:
    """`text` is the output of `head` over several files; `patterns` name them, the best source first.

    The first `{cell}` of a pattern is the run, a second one the test that the metrics are of. A file that
    is no JSON object, or was cut, has none.
    """
    ways = [_regex(pattern, home) for pattern in patterns]
    found: dict[str, dict[str, float]] = {}
    ranks: dict[tuple[str, str], int] = {}
    for path, body in _files(text):
        for rank, way in enumerate(ways):
            if (match := way.fullmatch(path)) is None:
                continue
            run, test = match[1], match[2] if way.groups > 1 else ""
            if rank < ranks.get((run, test), len(ways)):
                ranks[(run, test)] = rank
                found.setdefault(run, {}).update(_numbers(body, f"{test}." if test else ""))
    return Scores({run: numbers for run, numbers in found.items() if numbers}, dropped)


def _files(text: bytes) -> Iterator[tuple[str, bytes]]:
    parts = _HEADER.split(text)[1:]
    for path, body in zip(parts[::2], parts[1::2], strict=True):
        yield path.decode("utf-8", "replace"), body


def _numbers(body: bytes, prefix: str) -> dict[str, float]:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    rows = told.items() if isinstance(told, dict) else ()
    flat: dict[str, object] = {}
    for name, value in rows:
        if isinstance(value, dict):
            flat.update(value)
        else:
            flat[name] = value
    found: dict[str, float] = {}
    for name, value in flat.items():
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or _COUNTERS.fullmatch(name)
        ):
            continue
        if len(found) < METRICS_KEPT:
            try:
                found[plain(prefix + name, NAME_CHARS)] = float(value)
            except OverflowError:
                continue
    return found


def _regex(pattern: str, home: str | None) -> re.Pattern[str]:
    if pattern.startswith("~/") and home:
        pattern = f"{home.rstrip('/')}/{pattern[2:]}"
    return re.compile("([^/]+)".join(re.escape(part) for part in pattern.split("{cell}")))
