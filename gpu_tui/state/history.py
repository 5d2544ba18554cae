"""What must outlive the program: when a box was first and last seen, its counters, typed deadlines.

A small SQLite file in the state directory, shared by the cockpit and cron's `check`.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.parse import quote

SCHEMA = """
create table if not exists anchors (
    instance text not null, kind text not null, at real not null, basis text not null,
    primary key (instance, kind));
create table if not exists counters (
    instance text not null, name text not null, value text not null, at real not null,
    primary key (instance, name));
"""
OPEN_SECONDS, BUSY_MILLISECONDS = (
    5.0,
    50,
)  # opening may wait for a neighbour, a living screen may not
CONTACT_EVERY = 30.0  # seconds between two writes of "last contact" for one box


Anchored = Mapping[str, tuple[float, str]]  # kind -> time and basis, of one instance


class History(Protocol):
    """Anchors are times with a basis (api, last-contact, manual); counters are the last value seen."""

    def anchor(self, instance: str, kind: str) -> tuple[float, str] | None:
        """The time kept under `kind`, with its basis."""
        ...

    def anchors(self, instance: str) -> dict[str, tuple[float, str]]:
        """All anchors of one instance."""
        ...

    def set_anchor(self, instance: str, kind: str, at: float, basis: str) -> None:
        """Keep a time."""
        ...

    def forget_anchor(self, instance: str, kind: str) -> None:
        """Drop a time."""
        ...

    def counter(self, instance: str, name: str) -> str | None:
        """The value kept under `name`."""
        ...

    def set_counter(self, instance: str, name: str, value: str, at: float) -> None:
        """Keep a value."""
        ...


class NoHistory:
    """Keeps everything in memory: for replays and tests."""

    def __init__(self) -> None:
        self._anchors: dict[tuple[str, str], tuple[float, str]] = {}
        self._counters: dict[tuple[str, str], str] = {}

    def anchor(self, instance: str, kind: str) -> tuple[float, str] | None:
        """The time kept under `kind`, with its basis."""
        return self._anchors.get((instance, kind))

    def anchors(self, instance: str) -> dict[str, tuple[float, str]]:
        """All anchors of one instance."""
        return {kind: kept for (owner, kind), kept in self._anchors.items() if owner == instance}

    def set_anchor(self, instance: str, kind: str, at: float, basis: str) -> None:
        """Keep a time."""
        self._anchors[(instance, kind)] = (at, basis)

    def forget_anchor(self, instance: str, kind: str) -> None:
        """Drop a time."""
        self._anchors.pop((instance, kind), None)

    def counter(self, instance: str, name: str) -> str | None:
        """The value kept under `name`."""
        return self._counters.get((instance, name))

    def set_counter(self, instance: str, name: str, value: str, at: float) -> None:
        """Keep a value."""
        self._counters[(instance, name)] = value


class SqliteHistory:
    """The history in a file; every call is one short statement.

    It is asked while the screen lives, so it never waits for long and never raises: a write that
    finds the file locked or the disk full is left out and comes again with the next reading.

    A file that cannot be written at all keeps nobody from watching: `trouble` says why, what can be read
    of it is taken, and what comes is kept in memory alone.
    """

    def __init__(self, path: Path) -> None:
        self.trouble: str | None = None
        try:
            self._db = _opened(path)
        except (sqlite3.Error, OSError) as error:
            self.trouble = f"{path}: {error}"
            self._db = _in_memory(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._db.close()

    def anchor(self, instance: str, kind: str) -> tuple[float, str] | None:
        """The time kept under `kind`, with its basis."""
        return self.anchors(instance).get(kind)

    def anchors(self, instance: str) -> dict[str, tuple[float, str]]:
        """All anchors of one instance."""
        rows = self._ask("select kind, at, basis from anchors where instance = ?", (instance,))
        return {kind: (at, basis) for kind, at, basis in rows if _is_anchor(kind, at, basis)}

    def set_anchor(self, instance: str, kind: str, at: float, basis: str) -> None:
        """Keep a time."""
        self._ask("insert or replace into anchors values (?, ?, ?, ?)", (instance, kind, at, basis))

    def forget_anchor(self, instance: str, kind: str) -> None:
        """Drop a time."""
        self._ask("delete from anchors where instance = ? and kind = ?", (instance, kind))

    def counter(self, instance: str, name: str) -> str | None:
        """The value kept under `name`."""
        rows = self._ask(
            "select value from counters where instance = ? and name = ?", (instance, name)
        )
        return str(rows[0][0]) if rows else None

    def set_counter(self, instance: str, name: str, value: str, at: float) -> None:
        """Keep a value."""
        self._ask(
            "insert or replace into counters values (?, ?, ?, ?)", (instance, name, value, at)
        )

    def _ask(self, statement: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        """The rows of one statement, none where the file cannot be used now."""
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.Error:
            return []


def _opened(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=OPEN_SECONDS, isolation_level=None)
    try:
        keep_private(path)
        db.execute("pragma journal_mode=wal")
        db.execute("pragma synchronous=normal")
        db.executescript(SCHEMA)
        db.execute(f"pragma busy_timeout={BUSY_MILLISECONDS}")
    except BaseException:
        db.close()
        raise
    return db


def keep_private(path: Path) -> None:
    """Nobody else reads a file of ours. Where a link stands in its place, the file is another's."""
    if not path.is_symlink():
        path.chmod(0o600)


def _in_memory(path: Path) -> sqlite3.Connection:
    """A copy of what the file held when it was last put in order, without a byte being written beside it."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    if path.is_file():
        with suppress(sqlite3.Error):
            there = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
            with closing(sqlite3.connect(there, uri=True)) as old:
                old.backup(db)
    try:
        db.executescript(SCHEMA)
    except sqlite3.Error:  # what was copied is no database
        db.close()
        db = sqlite3.connect(":memory:", isolation_level=None)
        db.executescript(SCHEMA)
    return db


def _is_anchor(kind: object, at: object, basis: object) -> bool:
    """The file takes any value in any column."""
    return isinstance(kind, str) and isinstance(basis, str) and is_time(at)


def is_time(at: object) -> bool:
    """A time, and no other value that a column of a file may hold."""
    return isinstance(at, float) and math.isfinite(at)
