"""Keeps when findings were first seen across starts of gpu-tui, so that a restart does not reset an age.

One small JSON object per instance, in the history; records older than a week are dropped. Of a log's text only a hash
is kept, because it may contain secrets.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from math import isfinite

from gpu_tui.core.findings import BASES, Finding
from gpu_tui.state.history import History

NAME = "findings"  # of the counter
KEPT = 300  # findings of one instance: a hostile log makes ever new ones
WEEK = 7 * 86_400.0
WRITE_EVERY = 2.0  # seconds between two writes of new records
REFRESH = 600.0  # seconds between two writes if known findings only go on
SETTLED = 60.0  # seconds of looks; a finding that is then missing has ended


@dataclass(frozen=True, slots=True)
class Record:
    """The record of one finding. `sign` distinguishes two of one kind; `last` is when it was last seen or logged."""

    sign: str
    first: float
    first_basis: str
    last: float
    last_basis: str
    at: float  # our time of this record


class SeenBefore:
    """The records of one instance, from earlier starts and from this one."""

    def __init__(self, history: History, instance: str, *, drops: bool = True) -> None:
        """`drops`: a finding missing after SETTLED seconds is dropped, also if only an earlier start has seen it."""
        self._history, self._instance, self._drops = history, instance, drops
        self._kept: dict[str, Record] | None = None
        self._mine: set[str] = set()
        self._gone: set[str] = set()
        self._new = False
        self._written = float("-inf")

    def of(self, found: Finding, now: float) -> Record | None:
        """The record of the same finding; for one from a log only if the log's text was the same."""
        kept = self._records().get(found.id)
        if kept is None or not 0 <= now - kept.at <= WEEK or kept.first > now:
            return None
        return kept if found.said is None or kept.sign in ("", sign_of(found.said)) else None

    def note(self, findings: Iterable[Finding], now: float, since: float | None) -> None:
        """Record the current findings. `since`: when the present looks without a gap began; None: there is a gap now."""
        kept, here = self._records(), set()
        for one in islice(findings, KEPT):  # the worst come first
            here.add(one.id)
            self._note(kept, one, now)
        if since is not None and now - since >= SETTLED:
            gone = [id for id in kept if id not in here and (self._drops or id in self._mine)]
            for id in gone:
                del kept[id]
                self._gone.add(id)
                self._new = True
        self._mine |= here
        self._gone -= here
        if now < self._written or now - self._written >= (WRITE_EVERY if self._new else REFRESH):
            self.keep(now)

    def _note(self, kept: dict[str, Record], one: Finding, now: float) -> None:
        old = kept.get(one.id)
        sign = "" if one.said is None else sign_of(one.said)
        made = Record(sign, one.first_seen, one.first_basis, one.last_seen, one.last_basis, now)
        self._new = self._new or old is None or (old.sign, old.first) != (made.sign, made.first)
        kept[one.id] = made

    def keep(self, now: float) -> None:
        """Write changes to the history. Records that another gpu-tui wrote meanwhile stay."""
        if not self._mine and not self._gone:
            return
        kept = self._records()
        there = {id: one for id, one in self._read().items() if id not in self._gone}
        merged = {**there, **{id: kept[id] for id in self._mine if id in kept}}
        newest = sorted(merged, key=lambda id: merged[id].at)[-KEPT:]
        rows = {id: _row(merged[id]) for id in newest}
        self._history.set_counter(self._instance, NAME, json.dumps(rows), now)
        self._written, self._new = now, False

    def _records(self) -> dict[str, Record]:
        if self._kept is None:
            self._kept = self._read()
        if len(self._kept) > 2 * KEPT:
            for id in sorted(self._kept, key=lambda id: self._kept[id].at)[:-KEPT]:  # type: ignore[index]
                del self._kept[id]
            self._mine &= self._kept.keys()
            self._gone.clear()
        return self._kept

    def _read(self) -> dict[str, Record]:
        try:
            rows = json.loads(self._history.counter(self._instance, NAME) or "{}")
        except (ValueError, RecursionError):
            return {}
        rows = rows if isinstance(rows, Mapping) else {}
        return {id: one for id, row in rows.items() if (one := _record(row)) is not None}


def sign_of(text: str) -> str:
    """A hash of a log's text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _row(one: Record) -> list[object]:
    return [one.sign, one.first, one.first_basis, one.last, one.last_basis, one.at]


def _record(row: object) -> Record | None:
    """A record from the history, whose text may be anything; None if this is no record."""
    if not isinstance(row, list) or len(row) != 6:
        return None
    sign, first, first_basis, last, last_basis, at = row
    times = all(type(one) is float and isfinite(one) for one in (first, last, at))
    known = first_basis in BASES and last_basis in BASES
    return Record(*row) if times and known and isinstance(sign, str) else None
