"""What was done and why, for ever: one JSON line per event, appended, synced, each chained to the last.

The journal explains; it never unlocks anything. A torn last line (the power went) is passed over; a
damaged line before it is a finding, and while it is there nothing may be stopped.
"""

from __future__ import annotations

import fcntl
import getpass
import hashlib
import json
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpu_tui.core.clock import Clock, rfc3339

FILE_NAME = "teardown.jsonl"
FIRST = "0" * 64  # what the first line is chained to
EVENTS = frozenset(
    {
        *("open", "plan", "manifest", "pulled", "matched", "loaded", "confirmed"),
        *("permit", "intent", "call", "answer", "read-back", "confirmed-gone", "still-there"),
        *("unknown", "relock", "abandon", "cancelled"),
    }
)
RESOLVING = frozenset({"confirmed-gone", "still-there"})  # an earlier call whose end was seen


@dataclass(frozen=True, slots=True)
class Record:
    """One line. `evidence` is the digest of what was on screen; `prev` the SHA-256 of the line before."""

    seq: int
    at: str
    actor: str
    instance: str
    event: str
    evidence: str
    detail: Mapping[str, object]
    prev: str


@dataclass(frozen=True, slots=True)
class Reading:
    """The journal as found. `damage` names the first bad line, `torn` a last line without its end."""

    records: tuple[Record, ...] = ()
    damage: str | None = None
    torn: bool = False
    tip: str = field(default=FIRST, repr=False)  # what the next line is chained to


class JournalDamaged(Exception):
    """A line before the last does not fit the chain."""


class Journal:
    """One file shared by every gpu-tui of this user; writers take turns by a lock on the file."""

    def __init__(self, directory: Path, clock: Clock, actor: str | None = None) -> None:
        self.path = directory / FILE_NAME
        self._clock = clock
        self._actor = actor or f"{getpass.getuser()}@{socket.gethostname()}"

    def write(self, instance: str, event: str, evidence: str = "", **detail: object) -> Record:
        """Append one record and return once it is on the disk. OSError where that is not possible."""
        if event not in EVENTS:
            raise ValueError(f"{event} is no journal event")
        fd = self._open()
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            found = parse(_read_all(fd))
            if found.damage:
                raise JournalDamaged(f"{self.path}: {found.damage}")
            record = Record(
                seq=found.records[-1].seq + 1 if found.records else 1,
                at=rfc3339(self._clock.now()) or "",
                actor=self._actor,
                instance=instance,
                event=event,
                evidence=evidence,
                detail=detail,
                prev=found.tip,
            )
            line = line_of(record)
            # A torn tail is closed off by its own newline, so that it never swallows this record.
            data = (b"\n" if found.torn else b"") + line + b"\n"
            if os.write(fd, data) != len(data):
                raise OSError(f"{self.path}: the record was cut short (is the disk full?)")
            os.fsync(fd)
            return record
        finally:
            os.close(fd)

    def read(self) -> Reading:
        """Everything in it; an empty reading where there is no journal yet."""
        return read_journal(self.path)

    def unresolved(self, instance: str) -> Record | None:
        """The last intent for this instance if nobody saw how its call ended."""
        pending = None
        for record in self.read().records:
            if record.instance != instance:
                continue
            if record.event == "intent" and not record.detail.get("console"):
                pending = record
            elif record.event in RESOLVING:
                pending = None
        return pending

    def _open(self) -> int:
        directory = self.path.parent
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = not self.path.exists()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self.path, flags, 0o600)
        if new:
            held = os.open(directory, os.O_RDONLY)
            try:
                os.fsync(held)
            finally:
                os.close(held)
        return fd


def read_journal(path: Path) -> Reading:
    """The journal in this file; an empty reading where there is none."""
    try:
        return parse(path.read_bytes())
    except FileNotFoundError:
        return Reading()


def parse(data: bytes) -> Reading:
    """The records of a journal's bytes, as far as the chain holds.

    A line that is not whole counts as torn only where a power cut can leave it: at the end, or
    directly before the record that was appended after it.
    """
    if not data:
        return Reading()
    lines = data.split(b"\n")
    open_end = lines.pop()  # what stands behind the last newline
    records: list[Record] = []
    tip, fragment = FIRST, False
    for number, line in enumerate(lines, 1):
        record = _record(line)
        if record is None:
            if fragment:
                return Reading(tuple(records), f"line {number} is not a record", False, tip)
            fragment = True
            continue
        if record.prev != tip or record.seq != len(records) + 1:
            return Reading(
                tuple(records), f"line {number} does not follow the one before", False, tip
            )
        fragment = False
        records.append(record)
        tip = hashlib.sha256(line).hexdigest()
    whole = _record(open_end) if open_end else None
    if whole is not None and whole.prev == tip and whole.seq == len(records) + 1:
        records.append(whole)
        tip = hashlib.sha256(open_end).hexdigest()
    return Reading(tuple(records), None, bool(open_end), tip)


def line_of(record: Record) -> bytes:
    """The record as its line, without the newline."""
    fields = {name: getattr(record, name) for name in Record.__slots__}
    return json.dumps(fields, ensure_ascii=True, separators=(",", ":")).encode()


def _record(line: bytes) -> Record | None:
    try:
        fields = json.loads(line)
        if not isinstance(fields, dict) or not isinstance(fields["detail"], dict):
            return None
        record = Record(**{name: fields[name] for name in Record.__slots__})
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    strings = (record.at, record.actor, record.instance, record.event, record.evidence, record.prev)
    if not all(isinstance(text, str) for text in strings) or not isinstance(record.seq, int):
        return None
    return record


def _read_all(fd: int) -> bytes:
    size = os.fstat(fd).st_size
    os.lseek(fd, 0, os.SEEK_SET)
    parts, left = [], size
    while left and (part := os.read(fd, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
