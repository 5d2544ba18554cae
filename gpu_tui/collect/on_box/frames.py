"""Frames, as `collect.frames` reads them, and the end of it all."""

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

PIECE = 3900  # bytes that go out at once, below PIPE_BUF: what threads and lanes say is never mixed
MOST = 1_048_576  # bytes of a section
TOO_LONG = 75

AT_END: "list[Callable[[], None]]" = []  # what ends the processes that we started


def leave(code: int) -> "NoReturn":
    """End all that we started, and us. After 0 nobody else takes over."""
    for end in AT_END:
        end()
    group = os.getpgrp()
    if not code and group in (os.getpid(), os.getppid()):
        os.killpg(group, signal.SIGKILL)
    os._exit(code)


class Frames:
    """What one thread says in its frames; lines are held until there are enough for one write."""

    def __init__(self, nonce: bytes) -> None:
        self._nonce = nonce
        self._held = b""
        self._sign = self._line = b""

    def begin(self, mark: int, beat: int) -> None:
        """A frame of the probe with this mark."""
        self._sign, self._line = b"@%s %d " % (self._nonce, mark), b"%d " % mark
        self._hold(b"\n%sbegin %d\n" % (self._sign, beat))

    def say(self, words: bytes) -> None:
        """A line that steers, such as `close 0`."""
        self._hold(self._sign + words + b"\n")

    def put(self, text: bytes) -> None:
        """A line of the section that is open."""
        while len(text) > PIECE - 16:
            self._hold(b"+" + self._line + text[: PIECE - 16] + b"\n")
            text = text[PIECE - 16 :]
        self._hold(b">" + self._line + text + b"\n")

    def show(self, section: bytes, text: bytes, code: int) -> None:
        """A section: what a program printed, and how it ended."""
        if len(text) > MOST:
            text, code = b"", TOO_LONG
        self.say(b"open " + section)
        for line in text.split(b"\n") if text else ():
            self.put(line)
        self.say(b"close %d" % code)

    def flush(self) -> None:
        """Send what is held. Where nobody listens any more, all is over."""
        if self._held:
            try:
                os.write(1, self._held)
            except OSError:
                leave(0)
            self._held = b""

    def _hold(self, line: bytes) -> None:
        if len(self._held) + len(line) > PIECE:
            self.flush()
        self._held += line
