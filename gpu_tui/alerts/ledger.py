"""Records per channel which news it has delivered and which is still due: tables in the history's file, shared by
every gpu-tui of this user.

Each call is one short transaction: if two programs see the same news, exactly one puts it into a channel's outbox, and
a kill cannot separate the record from the outbox. If the file cannot be used (a full disk, a lock that stays), the same
tables go on in memory. An alert may then be sent twice, but none is lost.

0.1.0 kept one list for all channels, in `news` and `looked`. Its rows count as delivered by each channel that it had,
also while a 0.1.0 still runs.
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
create table if not exists told (
    channel text not null, sweep text not null, key text not null, place text not null, told real not null,
    rank integer not null, gone real, happened real, primary key (channel, sweep, key));
create table if not exists seen (
    channel text not null, sweep text not null, place text not null, at real not null,
    primary key (channel, sweep, place));
create table if not exists channels (
    name text primary key, ready real, failing real, refused integer, error text, next text);
create table if not exists taken_over (news integer not null, looked integer not null);
"""
SCREEN = "screen"  # toasts, bell and desktop notifications of a cockpit
OF_0_1_0 = (SCREEN, "command", "webhook")  # the channels that 0.1.0 had
BUSY_SECONDS = 2.0
KEPT = 20_000  # keys of one sweep; a hostile log may name no end of cells
WAITING = 500  # items that wait for one channel; beyond it the oldest make room, and are counted
TOGETHER = 100  # items in one message at most
LEASE = 120.0  # seconds: longer than any attempt may take
RETRY_MOST = 3_600.0  # seconds until the next attempt, at most
READY_EVERY = 60.0  # seconds between two notes that a channel can be used
SLACK = 60.0  # seconds; a time further ahead than this shows that the clock was set back
OVERFLOW = "overflow"


@dataclass(frozen=True, slots=True)
class Batch:
    """Items that go out as one message, with the `id` of the first attempt, which was at `made`."""

    id: str
    tries: int
    made: float
    items: tuple[Mapping[str, object], ...]


@dataclass(frozen=True, slots=True)
class Post:
    """One channel at one look. It gets the news that it `wants`; `items` makes outbox rows (item, due time) of them.

    `ready`: this program can use the channel now.
    """

    channel: str
    wants: Callable[[News], bool] = lambda news: True
    items: Callable[[Sifted], Sequence[tuple[Mapping[str, object], float]]] = lambda found: ()
    ready: bool = False


@dataclass(frozen=True, slots=True)
class ChannelState:
    """A channel as all programs recorded it. `ready`: when a program could last use it; `failing`: since when attempts
    have failed; `refused`: it refused the last message; `waiting`: the number of items in its outbox.
    """

    ready: float | None = None
    failing: float | None = None
    refused: bool = False
    error: str | None = None
    next: str = ""
    waiting: int = 0


class Ledger:
    """The tables. Not thread-safe: one call at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trouble: str | None = None
        self._known: dict[tuple[str, str], dict[str, Known]] = {}  # by channel and sweep
        self._looked: dict[tuple[str, str], frozenset[str]] = {}
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
        posts: Sequence[Post],
        sweep: str,
        news: Sequence[News],
        ready: frozenset[str],
        members: frozenset[str],
        *,
        now: float,
        since: float,
    ) -> dict[str, Sifted]:
        """Return the news that is new for each channel, record it for every gpu-tui, and put its items into the outbox."""

        def act() -> dict[str, Sifted]:
            self._take_over()
            return {post.channel: one(post) for post in posts}

        def one(post: Post) -> Sifted:
            of = post.channel, sweep
            known, looked = self._read(*of)
            found = sift(
                news, known, looked, ready, members, now=now, since=since, wants=post.wants
            )
            if found.changes or found.looked:
                self._write(of, found, now)
            self._known[of] = {**known, **found.changes}
            self._looked[of] = looked | found.looked
            self._put(post.channel, post.items(found), now)
            if post.ready:
                self._note_ready(post.channel, now)
            return found

        return self._try(act)

    def put(
        self, channel: str, items: Sequence[Mapping[str, object]], *, now: float, due: float
    ) -> None:
        """Keep items for a channel until they were delivered, from `due` on."""
        self._try(lambda: self._put(channel, [(item, due) for item in items], now))

    def states(self, channels: Sequence[str]) -> dict[str, ChannelState]:
        """The recorded state of each of these channels."""
        return self._try(lambda: {name: self._state(name) for name in channels})

    def failed(self, channel: str, now: float, error: str, next: str, *, refused: bool) -> None:
        """Record that a message did not arrive. The time of the first of several failures is kept."""
        self._try(
            lambda: self._db.execute(
                "insert into channels (name, failing, refused, error, next) values (?, ?, ?, ?, ?)"
                " on conflict (name) do update set failing = coalesce(failing, excluded.failing),"
                " refused = excluded.refused, error = excluded.error, next = excluded.next",
                (channel, now, refused, error, next),
            )
        )

    def arrived(self, channel: str, now: float) -> None:
        """Record that a message arrived, which clears the failure."""
        self._try(
            lambda: self._db.execute(
                "insert or replace into channels (name, ready) values (?, ?)", (channel, now)
            )
        )

    def take(self, channel: str, now: float) -> Batch | None:
        """The next message that is due, leased to the caller for LEASE seconds; None where none is."""

        def act() -> Batch | None:
            self._mend(channel, now)
            row = self._db.execute(
                "select batch from outbox where channel = ? and batch is not null and due <= ?"
                " and leased <= ? order by id limit 1",
                (channel, now, now),
            ).fetchone()
            if row is None:
                row = (uuid.uuid4().hex,)
                self._db.execute(
                    "update outbox set batch = ?, made = ? where id in (select id from outbox where"
                    " channel = ? and batch is null and due <= ? order by id limit ?)",
                    (row[0], now, channel, now, TOGETHER),
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

    def release(self, batch: Batch) -> None:
        """End the lease of a batch that this program cannot deliver, so that another gpu-tui may try it at once."""
        self._try(
            lambda: self._db.execute("update outbox set leased = 0 where batch = ?", (batch.id,))
        )

    def waiting(self, channel: str) -> int:
        """How many items have not arrived yet."""
        return self._try(lambda: self._count(channel))

    # --- inside -------------------------------------------------------------------------------

    def _take_over(self) -> None:
        """Copy the rows that 0.1.0 wrote since the last copy to each channel that it had."""
        newest = self._db.execute(
            "select coalesce((select max(rowid) from news), 0), coalesce((select max(rowid) from looked), 0)"
        ).fetchone()
        if newest == (self._db.execute("select news, looked from taken_over").fetchone() or (0, 0)):
            return
        for channel in OF_0_1_0:
            self._db.execute(
                "insert or ignore into told select ?, sweep, key, place, told, rank, gone, happened"
                " from news",
                (channel,),
            )
            self._db.execute(
                "insert or ignore into seen select ?, sweep, place, at from looked", (channel,)
            )
        self._db.execute("delete from taken_over")
        self._db.execute("insert into taken_over values (?, ?)", newest)

    def _read(self, channel: str, sweep: str) -> tuple[dict[str, Known], frozenset[str]]:
        rows = self._db.execute(
            "select key, place, told, rank, gone, happened from told where channel = ? and sweep = ?",
            (channel, sweep),
        )
        known = {key: Known(*rest) for key, *rest in rows if _is_known(key, *rest)}
        places = self._db.execute(
            "select place from seen where channel = ? and sweep = ?", (channel, sweep)
        )
        return known, frozenset(place for (place,) in places)

    def _write(self, of: tuple[str, str], found: Sifted, now: float) -> None:
        self._db.executemany(
            "insert or replace into told values (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (*of, key, k.place, k.told, k.rank, k.gone, k.happened)
                for key, k in found.changes.items()
            ],
        )
        self._db.executemany(
            "insert or ignore into seen values (?, ?, ?, ?)",
            [(*of, place, now) for place in found.looked],
        )
        self._db.execute(
            "delete from told where channel = ? and sweep = ? and key in (select key from told where"
            " channel = ? and sweep = ? order by gone is null, told limit max(0,"
            " (select count(*) from told where channel = ? and sweep = ?) - ?))",
            (*of, *of, *of, KEPT),
        )

    def _put(
        self, channel: str, rows: Sequence[tuple[Mapping[str, object], float]], now: float
    ) -> None:
        if not rows:
            return
        self._db.executemany(
            "insert into outbox (channel, due, made, body) values (?, ?, ?, ?)",
            [
                (channel, due, now, json.dumps(item, ensure_ascii=True, allow_nan=False))
                for item, due in rows
            ],
        )
        self._make_room(channel, now)

    def _count(self, channel: str) -> int:
        rows = self._db.execute("select count(*) from outbox where channel = ?", (channel,))
        return int(rows.fetchone()[0])

    def _note_ready(self, channel: str, now: float) -> None:
        self._db.execute(
            "insert into channels (name, ready) values (?, ?) on conflict (name) do update"
            " set ready = excluded.ready where ready is null or abs(ready - excluded.ready) >= ?",
            (channel, now, READY_EVERY),
        )

    def _state(self, channel: str) -> ChannelState:
        row = self._db.execute(
            "select ready, failing, refused, error, next from channels where name = ?", (channel,)
        ).fetchone()
        ready, failing, refused, error, next = row or (None, None, None, None, None)
        return ChannelState(
            ready if is_time(ready) else None,
            failing if is_time(failing) else None,
            refused == 1,
            error if isinstance(error, str) else None,
            next if isinstance(next, str) else "",
            self._count(channel),
        )

    def _mend(self, channel: str, now: float) -> None:
        """Repair times after the clock was set back: an item made later than now keeps its waiting time, and leases end."""
        self._db.execute(
            "update outbox set due = due - (made - ?), made = ? where channel = ? and made > ?"
            " and typeof(made) = 'real'",
            (now, now, channel, now + SLACK),
        )
        self._db.execute(
            "update outbox set leased = 0 where channel = ? and leased > ?",
            (channel, now + LEASE + SLACK),
        )
        self._db.execute(
            "update outbox set due = ? where channel = ? and tries > 0 and due > ?",
            (now, channel, now + RETRY_MOST + SLACK),
        )

    def _make_room(self, channel: str, now: float) -> None:
        """Drop the oldest that nobody tries now; one item says how many were dropped."""
        count = self._count(channel)
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
        for of, known in self._known.items():
            self._write(of, Sifted(changes=known, looked=self._looked[of]), 0.0)


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
