"""What was done and why, for ever: one JSON line per event, appended, synced, each chained to the last.

The journal explains; it never unlocks anything. A torn last line (the power went) is passed over; a
damaged line before it is a finding, and while it is there nothing may be stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from gpu_tui.core.clock import Clock, rfc3339
from gpu_tui.core.ending import OpenEnd, OwnEnd
from gpu_tui.places import user_name
from gpu_tui.teardown.journal_file import Held as Held
from gpu_tui.teardown.journal_file import Hold as Hold
from gpu_tui.teardown.journal_file import append, opened, read_all, read_file

FILE_NAME = "teardown.jsonl"
FIRST = "0" * 64  # what the first line is chained to
EVENTS = frozenset(
    {
        *("open", "plan", "manifest", "pulled", "matched", "loaded", "override", "acknowledged"),
        *("exception", "cells"),
        *("confirmed", "permit", "intent", "call", "answer", "read-back", "confirmed-gone"),
        *("still-there", "unknown", "stated", "relock", "abandon", "cancelled"),
    }
)


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
    """A line before the last does not fit the chain, or what this program wrote is not in it any more."""


class Journal:
    """One file shared by every gpu-tui of this user; writers take turns by a lock on the file."""

    def __init__(self, directory: Path, clock: Clock, actor: str | None = None) -> None:
        self.path = directory / FILE_NAME
        self._clock = clock
        self._actor = actor or f"{user_name()}@{socket.gethostname()}"
        self._wrote = (0, FIRST)  # our own last line: its number and its SHA-256

    def write(self, instance: str, event: str, evidence: str = "", **detail: object) -> Record:
        """Append one record and return once it is on the disk. OSError where that is not possible.

        Held for an intent while another call for the same instance may still have its effect: whoever
        holds the file decides, so of two that come at once one is refused.
        """
        if event not in EVENTS:
            raise ValueError(f"{event} is no journal event")
        with opened(self.path) as fd:
            found = parse(read_all(fd))
            if found.damage:
                raise JournalDamaged(f"{self.path}: {found.damage}")
            if not _holds(found, *self._wrote):
                raise JournalDamaged(
                    f"{self.path}: what was written to it is gone: see what became of it, then start again"
                )
            if event == "intent":
                _alone(found.records, instance, detail)
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
            # A torn tail is closed off by its own newline, so that it never swallows this record.
            end = b"\n" if found.torn else b""
            line = line_of(record)
            append(fd, end + line + b"\n", self.path)
            self._wrote = (record.seq, hashlib.sha256(line).hexdigest())
            return record

    def read(self) -> Reading:
        """Everything in it; an empty reading where there is no journal yet."""
        return read_journal(self.path)

    def hold(self, instance: str) -> Hold:
        """Keep this instance for one ladder. Held where another gpu-tui of this state has one open."""
        who = f"{self._actor}, pid {os.getpid()}"
        return Hold.take(self.path.parent, instance, who)

    def unresolved(self, instance: str) -> Record | None:
        """The last intent for this instance if a call may have left and nobody saw how it ended."""
        found = self.read()
        end = open_ends(found.records).get(instance)
        if end is None or not end.blocks:
            return None
        return next(record for record in found.records if record.seq == end.seq)


def _holds(found: Reading, seq: int, tip: str) -> bool:
    """The line of this number is there, as it was: a file that was cut or exchanged does not hold it."""
    if len(found.records) <= seq:
        return len(found.records) == seq and found.tip == tip
    return found.records[seq].prev == tip


def open_ends(records: Iterable[Record]) -> dict[str, OpenEnd]:
    """What was asked for and is not proven to be over, by instance."""
    ends: dict[str, OpenEnd] = {}
    for record in records:
        name, detail = record.instance, record.detail
        match record.event:
            case "intent":
                ends[name] = _end(record)
            case "still-there" if name in ends:
                if "reason" in detail:  # no call left: what was asked for never began
                    del ends[name]
                else:
                    ends[name] = replace(ends[name], outcome="still-there")
            case "stated" if name in ends and detail.get("outcome") == "still-there":
                ends[name] = replace(ends[name], outcome="still-there")
            case "confirmed-gone" | "stated":
                ends.pop(name, None)
    return ends


def own_ends(records: Iterable[Record]) -> dict[str, OwnEnd]:
    """The last destruction of each instance that is over, as proven by its provider or stated by a person.

    A verb about something beside it (a volume) ended no instance: its state never told of that verb.
    """
    asked: dict[str, OpenEnd] = {}
    ends: dict[str, OwnEnd] = {}
    for record in records:
        name = record.instance
        if record.event == "intent":
            asked[name] = _end(record)
            ends.pop(name, None)
        elif record.event in ("confirmed-gone", "stated") and name in asked:
            end = asked[name]
            typed = str(record.detail.get("typed", ""))
            over = record.event == "confirmed-gone" or typed.endswith(end.statement)
            if over and end.effect == "destroy" and end.watched:
                ends[name] = OwnEnd(end.verb, end.provider_id, _when(record.at))
    return ends


def _alone(records: Iterable[Record], instance: str, detail: Mapping[str, object]) -> None:
    """Held where a call under way is for this instance, by its name or by its id under another name."""
    for end in open_ends(records).values():
        same = end.provider_id is not None and end.place is not None
        same = same and (end.provider_id, end.place) == (
            detail.get("provider_id"),
            detail.get("place"),
        )
        if end.blocks and (end.instance == instance or same):
            raise Held(f"a call for it is under way already, as {end.instance}")


def _end(record: Record) -> OpenEnd:
    detail = record.detail
    return OpenEnd(
        instance=record.instance,
        at=_when(record.at),
        seq=record.seq,
        verb=str(detail.get("verb", "teardown")),
        effect=str(detail.get("effect", "destroy")),
        console=detail.get("console") is True,
        provider_id=id if isinstance(id := detail.get("provider_id"), str) else None,
        place=place if isinstance(place := detail.get("place"), str) else None,
        account=account if isinstance(account := detail.get("account"), str) else None,
        watched=detail.get("watched", detail.get("console") is not True) is True,
    )


def _when(text: str) -> float | None:
    try:
        at = datetime.fromisoformat(text)
        return None if at.tzinfo is None else at.timestamp()
    except (ValueError, OverflowError):
        return None


def read_journal(path: Path, *, own: bool = False) -> Reading:
    """The journal in this file; an empty reading where there is none. `own` as of `read_file`."""
    try:
        return parse(read_file(path, own=own))
    except (FileNotFoundError, NotADirectoryError):
        return Reading()


def parse(data: bytes) -> Reading:
    """The records of a journal's bytes, as far as the chain holds.

    A line that is not whole counts as torn only where a power cut can leave it: at the end, or
    before a record that was appended after it.
    """
    if not data:
        return Reading()
    lines = data.split(b"\n")
    open_end = lines.pop()  # what stands behind the last newline
    records: list[Record] = []
    tip, fragments = FIRST, 0
    for number, line in enumerate(lines, 1):
        record = _record(line)
        if record is None:
            fragments += 1
            continue
        if record.prev != tip or record.seq != len(records) + 1:
            return Reading(
                tuple(records), f"line {number} does not follow the one before", False, tip
            )
        fragments = 0
        records.append(record)
        tip = hashlib.sha256(line).hexdigest()
    # A last line with both its ends was whole once: what it said, perhaps that a call left, is not known.
    if fragments > 1 or (fragments and lines[-1].endswith(b'"}')):
        bad = len(lines) - fragments + 1
        return Reading(tuple(records), f"line {bad} is not a record", False, tip)
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
