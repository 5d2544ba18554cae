"""A program in a pty of a fixed size: what it writes, how soon, and what it costs.

Answers what programs ask a terminal (attributes, cursor, synchronised output, colours), so that none waits.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

ANSWERS = {
    b"\x1b[c": b"\x1b[?62;22c",
    b"\x1b[0c": b"\x1b[?62;22c",
    b"\x1b[>c": b"\x1b[>0;95;0c",
    b"\x1b[5n": b"\x1b[0n",
    b"\x1b[6n": b"\x1b[1;1R",
    b"\x1b[?2026$p": b"\x1b[?2026;2$y",
    b"\x1b[?2048$p": b"\x1b[?2048;0$y",
    b"\x1b]10;?": b"\x1b]10;rgb:cccc/cccc/cccc\x1b\\",
    b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\",
}
LONGEST = max(map(len, ANSWERS))
TICKS = os.sysconf("SC_CLK_TCK")
KEPT = 1 << 20  # bytes of output that can still be searched


class Program:
    """One program in a terminal of its own, read by a thread; a context manager that ends it."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], width: int = 160, height: int = 48
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self._lock = threading.Condition()
        self._reading = threading.Event()
        self._reading.set()
        self._data = bytearray()  # the latest output, and where it begins
        self._from = 0
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            list(argv), stdin=slave, stdout=slave, stderr=slave, env=dict(env),
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(slave)
        self._over = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._reading.set()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._over = True
        self._thread.join()
        os.close(self._master)

    def _read(self) -> None:
        tail = b""
        while not self._over:
            self._reading.wait(0.5)
            if not self._reading.is_set() or not select.select([self._master], [], [], 0.2)[0]:
                continue
            try:
                part = os.read(self._master, 1 << 16)
            except OSError:
                return
            with self._lock:
                self._data += part
                if len(self._data) > KEPT:
                    cut = len(self._data) - KEPT
                    self._from += cut
                    del self._data[:cut]
                self._lock.notify_all()
            seen = tail + part
            for question, answer in ANSWERS.items():
                for _ in range(seen.count(question) - tail.count(question)):
                    os.write(self._master, answer)
            tail = seen[-LONGEST:]

    # --- what it writes -----------------------------------------------------------------------

    @property
    def written(self) -> int:
        """Bytes so far."""
        with self._lock:
            return self._from + len(self._data)

    def text(self) -> str:
        """What it wrote, as far as that is kept."""
        with self._lock:
            return self._data.decode("utf-8", "replace")

    def rate(self, seconds: float) -> float:
        """Bytes per second over the next `seconds`."""
        before, began = self.written, time.monotonic()
        time.sleep(seconds)
        return (self.written - before) / (time.monotonic() - began)

    def until(self, *words: str, limit: float = 60.0) -> float:
        """Seconds from the start until all words were written."""
        wanted = [word.encode() for word in words]
        return self._wait(lambda: all(word in self._data for word in wanted), limit, words)

    def _wait(self, fits, limit: float, what: object) -> float:  # type: ignore[no-untyped-def]
        with self._lock:
            if not self._lock.wait_for(fits, limit):
                end = bytes(self._data[-400:])
                raise TimeoutError(f"never written: {what}; {self.process.args} wrote {end!r}")
            return time.monotonic() - self.began

    # --- keys ---------------------------------------------------------------------------------

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._master, keys.encode())

    def echo(self, char: str, limit: float = 20.0) -> float:
        """Seconds from typing a character until it is drawn; it must be one that stands nowhere else."""
        want = char.encode()
        with self._lock:
            start = self._from + len(self._data)
        began = time.monotonic()
        os.write(self._master, want)
        self._wait(lambda: want in self._data[max(0, start - self._from) :], limit, char)
        return time.monotonic() - began

    # --- a terminal that does not read --------------------------------------------------------

    def stop_reading(self) -> None:
        """As a terminal behind a dead link: the pty fills up."""
        self._reading.clear()

    def read_again(self) -> None:
        """The link is back."""
        self._reading.set()

    # --- what it costs ------------------------------------------------------------------------

    def cpu(self) -> float:
        """Seconds of processor time of it and all its children, also of those that ended."""
        return sum(_times(pid) for pid in _tree(self.process.pid))

    def cpu_share(self, seconds: float) -> float:
        """Share of one core over the next `seconds`."""
        before, began = self.cpu(), time.monotonic()
        time.sleep(seconds)
        return (self.cpu() - before) / (time.monotonic() - began)

    def rss(self) -> float:
        """Resident memory of it and its children in MB."""
        return sum(_rss(pid) for pid in _tree(self.process.pid))

    def descriptors(self) -> int:
        """Open file descriptors of the program itself."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def _tree(root: int) -> list[int]:
    found = [root]
    for pid in found:
        for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                found += [int(child) for child in tasks.read_text().split()]
            except OSError:
                continue
    return found


def _times(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(fields[place]) for place in (11, 12, 13, 14)) / TICKS


def _rss(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))
