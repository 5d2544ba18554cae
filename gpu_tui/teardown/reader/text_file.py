"""Metrics: JSON, lines of JSON, tables. What a strict reader would stumble over is said."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import Any, BinaryIO

from gpu_tui.core.plain import plain
from gpu_tui.teardown.reader.outcome import Failed, Seen

CAP = 64 << 20  # bytes of one file that is read whole
csv.field_size_limit(1 << 20)


class _Strict:
    """What Python's reader accepts and JSON does not know."""

    def __init__(self) -> None:
        self.odd: list[str] = []
        self.twice: list[str] = []
        self.numbers = 0

    def loads(self, data: bytes) -> Any:
        """Failed for what is no JSON at all."""
        try:
            return json.loads(
                data,
                parse_constant=self._constant,
                parse_float=self._float,
                object_pairs_hook=self._object,
            )
        except (ValueError, RecursionError):
            raise Failed("it is no JSON") from None

    def warnings(self) -> list[str]:
        """Said once each."""
        notes = []
        if self.odd:
            notes.append(
                f"{len(self.odd)} value{'s are' if len(self.odd) > 1 else ' is'} NaN or infinite"
            )
        if self.twice:
            notes.append(f"{plain(self.twice[0], 60)} stands twice: the last one counts")
        return notes

    def _constant(self, text: str) -> float:
        self.odd.append(text)
        return float(text)

    def _float(self, text: str) -> float:
        number = float(text)
        if not math.isfinite(number):
            self.odd.append(text)
        return number

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            seen: set[str] = set()
            self.twice += [key for key, _ in pairs if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
        return found


def read_json(file: BinaryIO, name: str) -> Seen:
    """One JSON value; best_metrics.json must be an object."""
    data = _whole(file)
    reader = _Strict()
    value = reader.loads(data)
    if name == "best_metrics.json" and not isinstance(value, dict):
        raise Failed("metrics must be an object")
    return Seen(warnings=reader.warnings())


def read_lines(file: BinaryIO) -> Seen:
    """One JSON value per line. A torn last line is what a killed writer leaves: said, not held against it."""
    lines = [line for line in _whole(file).split(b"\n") if line.strip()]
    reader, torn = _Strict(), 0
    for line in lines:
        try:
            reader.loads(line)
        except Failed:
            torn += 1
    if lines and torn == len(lines):
        raise Failed("not one line of it is JSON")
    notes = reader.warnings()
    if torn:
        notes.append(f"{torn} of {len(lines)} lines are no JSON")
    if not lines:
        notes.append("there is no line in it")
    return Seen(warnings=notes)


def read_table(file: BinaryIO, name: str) -> Seen:
    """A table of text; rows of another width and holes are said."""
    data = _whole(file)
    if b"\0" in data:
        raise Failed("it has holes of zero bytes")
    try:
        text = data.decode("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text), delimiter="\t" if name.endswith(".tsv") else ","))
    except (UnicodeDecodeError, csv.Error) as error:
        raise Failed(f"it is no table ({type(error).__name__})") from None
    filled = [row for row in rows if row]
    odd = sum(len(row) != len(filled[0]) for row in filled)
    notes = [f"{odd} of {len(filled)} rows are of another width"] if odd else []
    return Seen(warnings=notes if filled else ["there is no row in it"])


def _whole(file: BinaryIO) -> bytes:
    data = file.read(CAP + 1)
    if len(data) > CAP:
        raise Failed(
            f"more than {CAP >> 20} MiB, the most that is read of such a file: keep it compressed on the box"
            " (as .gz), and its hash is enough"
        )
    return data
