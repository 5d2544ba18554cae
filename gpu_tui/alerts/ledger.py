"""What was told, and what still has to go out: two tables beside the history, shared by every gpu-tui.

Each call is one short transaction, so of two programs that see the same news exactly one tells it. Where the
file cannot be used (a full disk, a lock that stays) the same tables go on in memory: then an alert
may come twice, but none is lost.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gpu_tui.alerts.once import Known, Sifted, sift
from gpu_tui.state.history import is_time, keep_private
from gpu_tui.state.news import News

R = TypeVar("R")

SCHEMA = """
create table if not exists news (
    sweep text not null, key text not null, place text not null, told real not null,
    rank integer not null, gone real, happened real, primary key (sweep, key));
create table if not exists looked (
    sweep text not null, place text not null, at real not null, primary key (sweep, place));
create table if not exists outbox (
    id integer primary key autoincrement, channel text not null, due real not null, made real not null,
    batch text, tries integer not null default 0, leased real not null default 0,
    body text not null);
create index if not exists outbox_due on outbox (channel, due);
"""
BUSY_SECONDS = 2.0
KEPT = 20_000  # keys of one sweep; a hostile log may name no end of cells
WAITING = 500  # items that wait for one channel; beyond it the oldest make room, and are counted
TOGETHER = 100  # items in one message at most
LEASE = 120.0  # seconds: longer than any attempt may take
OVERFLOW = "overflow"


@dataclass(frozen=True, slots=True)
class Batch:
    """Items that go out as one message. `id` stays the same however often it is tried; `made` is the oldest item's."""

    id: str
    tries: int
    made: float
    items: tuple[Mapping[str, object], ...]


class Ledger:
    """The two tables. Not thread-safe: one call at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trouble: str | None = None
        self._known: dict[str, dict[str, Known]] = {}
        self._looked: dict[str, frozenset[str]] = {}
        try:
            self._db = _open(str(path))
        except sqlite3.Error as error:
            self._db = _open(":memory:")
            self.trouble = str(error)

    def close(self) -> None:
        """Give the file back."""
        self._db.close()

    def sift(
        self,
        sweep: str,
        news: Sequence[News],
        ready: frozenset[str],
        members: frozenset[str],
        *,
        now: float,
        since: float,
    ) -> Sifted:
        """What is new of all this, and from now on known to every gpu-tui."""

        def act() -> Sifted:
            known, looked = self._read(sweep)
            found = sift(news, known, looked, ready, members, now=now, since=since)
            if found.changes or found.looked:
                self._write(sweep, found, now)
            self._known[sweep] = {**known, **found.changes}
            self._looked[sweep] = looked | found.looked
            return found

        return self._try(act)

    def put(
        self, channel: str, items: Sequence[Mapping[str, object]], *, now: float, due: float
    ) -> None:
        """Keep items for a channel until they were delivered, from `due` on."""

        def act() -> None:
            rows = [
                (channel, due, now, json.dumps(item, ensure_ascii=True, allow_nan=False))
                for item in items
            ]
            self._db.executemany(
                "insert into outbox (channel, due, made, body) values (?, ?, ?, ?)", rows
            )
            self._make_room(channel, now)

        self._try(act)

    def take(self, channel: str, now: float) -> Batch | None:
        """The next message that is due, leased to the caller for LEASE seconds; None where none is."""

        def act() -> Batch | None:
            row = self._db.execute(
                "select batch from outbox where channel = ? and batch is not null and due <= ?"
                " and leased <= ? order by id limit 1",
                (channel, now, now),
            ).fetchone()
            if row is None:
                row = (uuid.uuid4().hex,)
                self._db.execute(
                    "update outbox set batch = ? where id in (select id from outbox where channel = ?"
                    " and batch is null and due <= ? order by id limit ?)",
                    (row[0], channel, now, TOGETHER),
                )
            self._db.execute("update outbox set leased = ? where batch = ?", (now + LEASE, row[0]))
            rows = self._db.execute(
                "select tries, made, body from outbox where batch = ? order by id", row
            ).fetchall()
            if not rows:
                return None
            items = tuple(item for _, _, body in rows if (item := _item(body)) is not None)
            if not items:
                self._db.execute("delete from outbox where batch = ?", row)
                return None
            tries = max((one for one, _, _ in rows if isinstance(one, int)), default=0)
            return Batch(
                row[0], tries, min((at for _, at, _ in rows if is_time(at)), default=now), items
            )

        return self._try(act)

    def done(self, batch: Batch) -> None:
        """It arrived, or nobody will ever take it."""
        self._try(lambda: self._db.execute("delete from outbox where batch = ?", (batch.id,)))

    def again(self, batch: Batch, due: float) -> None:
        """It did not arrive: the same message, not before `due`."""
        self._try(
            lambda: self._db.execute(
                "update outbox set tries = tries + 1, due = ?, leased = 0 where batch = ?",
                (due, batch.id),
            )
        )

    def waiting(self, channel: str) -> int:
        """How many items have not arrived yet."""
        return int(
            self._try(
                lambda: self._db.execute(
                    "select count(*) from outbox where channel = ?", (channel,)
                ).fetchone()[0]
            )
        )

    # --- inside -------------------------------------------------------------------------------

    def _read(self, sweep: str) -> tuple[dict[str, Known], frozenset[str]]:
        rows = self._db.execute(
            "select key, place, told, rank, gone, happened from news where sweep = ?", (sweep,)
        )
        known = {key: Known(*rest) for key, *rest in rows if _is_known(key, *rest)}
        places = self._db.execute("select place from looked where sweep = ?", (sweep,))
        return known, frozenset(place for (place,) in places)

    def _write(self, sweep: str, found: Sifted, now: float) -> None:
        self._db.executemany(
            "insert or replace into news values (?, ?, ?, ?, ?, ?, ?)",
            [
                (sweep, key, k.place, k.told, k.rank, k.gone, k.happened)
                for key, k in found.changes.items()
            ],
        )
        self._db.executemany(
            "insert or ignore into looked values (?, ?, ?)",
            [(sweep, place, now) for place in found.looked],
        )
        self._db.execute(
            "delete from news where sweep = ? and key in (select key from news where sweep = ?"
            " order by gone is null, told limit max(0,"
            " (select count(*) from news where sweep = ?) - ?))",
            (sweep, sweep, sweep, KEPT),
        )

    def _make_room(self, channel: str, now: float) -> None:
        """Drop the oldest that nobody tries now; one item says how many were dropped."""
        count = self._db.execute(
            "select count(*) from outbox where channel = ?", (channel,)
        ).fetchone()[0]
        if count <= WAITING:
            return
        old = self._db.execute(
            "select id, body from outbox where channel = ? and batch is null order by id limit ?",
            (channel, count - WAITING + 1),
        ).fetchall()
        if not old:
            return
        dropped = sum(_dropped(body) for _, body in old)
        self._db.executemany("delete from outbox where id = ?", [(id,) for id, _ in old])
        body = json.dumps({"kind": OVERFLOW, "count": dropped})
        # The note about what was dropped stands where the dropped stood: before everything else.
        self._db.execute(
            "insert into outbox (id, channel, due, made, body) values (?, ?, ?, ?, ?)",
            (old[0][0], channel, now, now, body),
        )

    def _try(self, act: Callable[[], R]) -> R:
        try:
            with self._transaction():
                return act()
        except sqlite3.Error as error:
            self._fail_over(str(error))
            with self._transaction():
                return act()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("begin immediate")
        try:
            yield
        except BaseException:
            with suppress(sqlite3.Error):
                self._db.execute("rollback")
            raise
        self._db.execute("commit")

    def _fail_over(self, why: str) -> None:
        """Go on in memory with what is known; what waits in the file waits for the next start."""
        self.trouble = why
        with suppress(sqlite3.Error):
            self._db.close()
        self._db = _open(":memory:")
        for sweep, known in self._known.items():
            self._write(sweep, Sifted(changes=known, looked=self._looked[sweep]), 0.0)


def _open(path: str) -> sqlite3.Connection:
    # Used from worker threads, but by one at a time.
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    db.execute("pragma journal_mode=wal")
    db.execute("pragma synchronous=normal")
    db.executescript(SCHEMA)
    if path != ":memory:":
        keep_private(Path(path))
    return db


# The file takes any value in any column, and another version may have written it.


def _item(body: object) -> Mapping[str, object] | None:
    """What waits in a row; None where that is no item."""
    try:
        item = json.loads(body) if isinstance(body, str) else None
    except (ValueError, RecursionError):
        return None
    return item if isinstance(item, dict) and isinstance(item.get("kind"), str) else None


def _dropped(body: object) -> int:
    item = _item(body) or {}
    count = item.get("count")
    return count if item.get("kind") == OVERFLOW and isinstance(count, int) else 1


def _is_known(*row: object) -> bool:
    key, place, told, rank, gone, happened = row
    times = is_time(told) and all(at is None or is_time(at) for at in (gone, happened))
    return times and isinstance(key, str) and isinstance(place, str) and isinstance(rank, int)
