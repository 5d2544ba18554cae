"""The file of a recording: gzip of one JSON object per line, readable up to where it was cut.

    {"gpu-tui recording": 1, "at": EPOCH, "fleet": {...}}
    {"t": SECONDS, "event": {...}}                       what happened
    {"t": SECONDS, "fleet": {...}}                       the fleet file was edited
    {"t": SECONDS, "open": N, "instance": NAME, "program": TEXT}
    {"t": SECONDS, "bytes": N, "text": LATIN-1}          what channel N said
    {"t": SECONDS, "close": N}
    {"t": SECONDS, "lost": COUNT}                        records that came faster than they could be written

`t` counts from the first line and never falls.
"""

from __future__ import annotations

import json
import os
import queue
import re
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from gpu_tui.core.clock import Clock
from gpu_tui.core.events import Event, LogArrived, LogCame
from gpu_tui.core.fleet import Fleet
from gpu_tui.core.redact import redact, seam
from gpu_tui.recording.codec import CodecError, decode, encode
from gpu_tui.recording.reel import Place, Reel
from gpu_tui.recording.shape import is_time

FORMAT = 1
MAGIC = "gpu-tui recording"
WAITING = 20_000  # records that may wait for the disk
# Bytes that they may be, roughly: one flood comes faster than it is packed.
WAITING_BYTES = 33_554_432
FLUSH_SECONDS = 1.0
MOST = 1_073_741_824  # bytes of one file


class TapeError(Exception):
    """A recording that cannot be written or read."""

    def __init__(self, text: str, next: str) -> None:
        super().__init__(text)
        self.next = next


@dataclass(frozen=True, slots=True)
class Record:
    """One line after the first: its time in seconds since the start, and its words."""

    t: float
    body: dict[str, Any]

    @property
    def event(self) -> Event | None:
        """The event, where it is one. CodecError where it is nothing that happens."""
        return _read(self.body["event"], Event) if "event" in self.body else None

    @property
    def fleet(self) -> Fleet | None:
        """The fleet from here on, where it changed. CodecError where it is none."""
        return _read(self.body["fleet"], Fleet) if "fleet" in self.body else None


class TapeWriter:
    """Takes records from the event loop and writes them in a thread of its own.

    Never blocks: what the disk cannot take is counted, and the count is recorded. Stops at `most`
    bytes of file, and says so by `full`.
    """

    def __init__(
        self,
        path: Path,
        fleet: Fleet,
        clock: Clock,
        *,
        secrets: Iterable[str] = (),
        most: int = MOST,
    ) -> None:
        self._path = path
        self._clock = clock
        self._began = clock.boot()
        self._secrets = tuple(secrets)
        self._most = most
        self._lost = 0
        self._channels = 0
        self.full = False
        self.failed: Exception | None = None
        self._taken = self._done = 0  # bytes: counted by the loop, and by the thread
        self._waiting: queue.Queue[dict[str, Any] | None] = queue.Queue(WAITING)
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise TapeError(f"{path} exists already", "name a new file") from None
        self._file: BinaryIO = os.fdopen(fd, "wb")
        self._put({MAGIC: FORMAT, "at": clock.now(), "fleet": fleet})
        self._thread = threading.Thread(target=self._write, name="recording", daemon=True)
        self._thread.start()

    # --- what happens, from the event loop ------------------------------------------------------

    def event(self, event: Event) -> None:
        """Something happened. What is told again, judged, is kept then."""
        if isinstance(event, LogCame):
            return
        self._put({"t": self._now(), "event": event})

    def fleet(self, fleet: Fleet, secrets: Iterable[str] = ()) -> None:
        """The fleet file was edited; what it brought of `secrets` is hidden from now on."""
        self._secrets = tuple({*self._secrets, *secrets})
        self._put({"t": self._now(), "fleet": fleet})

    def opened(self, instance: str, program: str) -> int:
        """A channel was opened; its number."""
        self._channels += 1
        said = {"open": self._channels, "instance": instance, "program": program}
        self._put({"t": self._now(), **said})
        return self._channels

    def said(self, channel: int, data: bytes) -> None:
        """A channel brought bytes: whole lines, so that a secret is never cut in two."""
        self._put({"t": self._now(), "bytes": channel, "text": data.decode("latin-1")})

    def seam(self, data: bytes, at: int) -> int:
        """See `redact.seam`."""
        return seam(data.decode("latin-1"), self._secrets, at)

    def closed(self, channel: int) -> None:
        """A channel ended."""
        self._put({"t": self._now(), "close": channel})

    def __enter__(self) -> TapeWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what waits and close the file; TapeError if it could not all be written."""
        if self._lost and not self.full and not self.failed:
            self._waiting.put({"t": self._now(), "lost": self._lost})
        self._waiting.put(None)
        self._thread.join()
        if self.failed:
            why = getattr(self.failed, "strerror", None) or self.failed
            text = f"the recording {self._path} ends early: {why}"
            full = isinstance(self.failed, OSError)
            raise TapeError(text, "free some space and record again" if full else "record again")

    def _now(self) -> float:
        return round(self._clock.boot() - self._began, 4)

    def _put(self, body: dict[str, Any]) -> None:
        if self.full or self.failed:
            return
        if self._taken - self._done > WAITING_BYTES:
            self._lost += 1
            return
        try:
            if self._lost:
                self._waiting.put_nowait({"t": self._now(), "lost": self._lost})
                self._lost = 0
            self._waiting.put_nowait(body)
            self._taken += _weight(body)
        except queue.Full:
            self._lost += 1

    # --- the thread -----------------------------------------------------------------------------

    def _write(self) -> None:
        packer = zlib.compressobj(6, zlib.DEFLATED, 31)
        written, flushed = 0, time.monotonic()
        try:
            with self._file as file:
                while (body := self._waiting.get()) is not None:
                    self._done += _weight(body)
                    if self.full:
                        continue
                    line = json.dumps(self._plain(body), ensure_ascii=True, separators=(",", ":"))
                    packed = packer.compress(line.encode("ascii") + b"\n")
                    if self._waiting.empty() or time.monotonic() - flushed > FLUSH_SECONDS:
                        packed += packer.flush(zlib.Z_SYNC_FLUSH)
                        flushed = time.monotonic()
                    written += file.write(packed)
                    file.flush()
                    self.full = written > self._most
                file.write(packer.flush(zlib.Z_FINISH))
        except Exception as error:  # a bug of ours, too: it is told when the recording is closed
            self.failed = error
            while self._waiting.get() is not None:  # whoever closes us must not wait for ever
                pass

    def _plain(self, body: dict[str, Any]) -> dict[str, Any]:
        def clean(text: str) -> str:
            return redact(text, self._secrets)

        return {
            key: clean(value) if isinstance(value, str) else encode(value, clean)
            for key, value in body.items()
        }


def _weight(body: dict[str, Any]) -> int:
    """Roughly the bytes of one record."""
    event = body.get("event")
    if isinstance(event, LogArrived):
        return 256 + 256 * len(event.lines)
    return 256 + len(body.get("text", ""))


class TapeReader:
    """Reads a recording from its start, as often as wanted. TapeError if the file is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        head = next(self._lines(), None) or {}
        try:
            self.began, self.fleet = _head(head)
        except (CodecError, KeyError, TypeError, ValueError) as error:
            text = f"{path} is no recording of gpu-tui: {error}"
            raise TapeError(text, "make one with: gpu-tui record FILE") from None

    def records(self, place: Place | None = None, t: float = 0.0) -> Records:
        """Every record in order, from the start or from a place that `Records.place` gave at time `t`."""
        if place is not None:
            return Records(Reel(self.path, place), self.path, t)
        records = Records(Reel(self.path), self.path)
        records.skip_head()
        return records

    def length(self) -> float:
        """Seconds from the first record to the last; unpacks the whole file, and reads next to nothing of it."""
        last = 0.0
        with _readable(self.path):
            for block in Reel(self.path).blocks():
                last = max(last, _last_time(block))
        return last

    def _lines(self) -> Iterator[dict[str, Any]]:
        with _readable(self.path):
            for line in Reel(self.path):
                body = _body(line)
                if body is None and line.endswith(b"\n"):
                    raise TapeError(f"{self.path} holds a line that is no JSON", "record again")
                if body is not None:
                    yield body


class Records(Iterator[Record]):
    """The records of a recording. Unreadable lines are passed over and said in `damage`, as is a cut end."""

    def __init__(self, reel: Reel, path: Path, t: float = 0.0) -> None:
        self._reel = reel
        self._path = path
        self._bad = 0
        self.t = t  # of the last record

    def skip_head(self) -> None:
        """Pass over the first line."""
        with _readable(self._path):
            next(self._reel, None)

    def place(self) -> Place:
        """Behind the last record."""
        return self._reel.place()

    @property
    def damage(self) -> str | None:
        """What is wrong with the part that was read."""
        if self._reel.damage is not None:
            return self._reel.damage
        return f"{self._bad} lines in it cannot be read" if self._bad else None

    def __next__(self) -> Record:
        """The next record. TapeError if the file is gone."""
        with _readable(self._path):
            for line in self._reel:
                body = _body(line)
                if body is None:
                    self._bad += line.endswith(b"\n")  # else the recorder was killed in it
                elif is_time(t := body.get("t")):
                    self.t = max(self.t, float(t))
                    return Record(self.t, body)
        raise StopIteration


_T = re.compile(rb'\{"t":(\d{1,9}(?:\.\d{1,9})?)[,}]')  # how we write a record


def _last_time(block: bytes) -> float:
    """The time of the last line that has one: times never fall."""
    end = len(block)
    while end > 0:
        start = block.rfind(b"\n", 0, end - 1) + 1
        line, end = block[start:end], start
        if (found := _T.match(line)) is not None:
            return float(found[1])
        t = (_body(line) or {}).get("t")
        if is_time(t):
            return float(t)
    return 0.0


def _body(line: bytes) -> dict[str, Any] | None:
    """The object on one line; None where it holds none."""
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else {}


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TapeError(f"{path} cannot be read: {error.strerror}", "check the path") from None


def _head(words: dict[str, Any]) -> tuple[float, Fleet]:
    """What the first line says."""
    if words.get(MAGIC) != FORMAT:
        raise CodecError("its first line is another one")
    if not is_time(words["at"]):
        raise CodecError("it names no time")
    return float(words["at"]), _read(words["fleet"], Fleet)


def _read(plain: object, kind: Any) -> Any:
    """A value of one kind."""
    value = decode(plain)
    if not isinstance(value, kind):
        raise CodecError("it is of another kind")
    return value
