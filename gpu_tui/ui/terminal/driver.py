"""textual's driver for a Unix terminal, but it never waits for the terminal and sleeps until a key comes."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any

from textual import events
from textual.constants import ESCAPE_DELAY
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message
from textual.messages import TerminalSupportsSynchronizedOutput

from gpu_tui.ui.terminal.textual_private import key_parser

CHOKED = 6  # writes that wait: the terminal does not read
LEAVING = 1.0  # seconds for the last writes to a terminal that may be gone
MOVES = frozenset({"\x1b[?1003h", "\x1b[?1015h"})  # ask for a report of each move of the mouse
ESCAPE = "\x1b"
TICKS = 2  # moments without input after a key, for the parser to decide that its sequence has ended


class TerminalDriver(LinuxDriver):
    """Writes in a thread of its own, reads keys when they come, and asks for clicks but not for moves of the mouse."""

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        app.terminal = self
        self.output: Output | None = None  # another one each time the terminal was taken
        self.synchronized = False  # the terminal knows the marks of where a frame ends
        self.lent = False  # another program draws: what is written is dropped
        self._join_timeout: float | None = None
        self._waker: socket.socket | None = None  # closed to end the thread that reads keys
        self._woken: socket.socket | None = None
        self._parser: Any = None

    # --- writing ------------------------------------------------------------------------------

    @property
    def choked(self) -> bool:
        """True while the terminal does not read."""
        return self.output is not None and self.output.waiting.qsize() > CHOKED

    def release(self) -> None:
        """From now on do not wait for the terminal to read: it may be gone."""
        self._join_timeout = LEAVING

    def start_application_mode(self) -> None:
        """Take the terminal, once: a hangup comes with a SIGCONT, on which textual takes it again."""
        if self.output is None:
            self._waker, self._woken = socket.socketpair()
            self._parser = key_parser()
            super().start_application_mode()  # type: ignore[no-untyped-call]

    def write(self, data: str) -> None:
        """Queue `data` for the terminal."""
        if self.lent or data in MOVES:
            return
        if self.output is None:
            self.output = Output()
            self.output.start()
        self.output.waiting.put(data)

    def close(self) -> None:
        """Wait until everything is written."""
        super().close()
        if self.output is not None:
            self.output.waiting.put(None)
            self.output.join(self._join_timeout)
            self.output = None

    # --- reading ------------------------------------------------------------------------------

    def process_message(self, message: Message) -> None:
        """Note what the terminal can do."""
        if isinstance(message, TerminalSupportsSynchronizedOutput):
            self.synchronized = True
        super().process_message(message)

    def disable_input(self) -> None:
        """End the thread that reads keys."""
        if self._waker is not None:
            self._waker.close()
            self._waker = None
        super().disable_input()

    def run_input_thread(self) -> None:
        """Read keys. textual's own loop wakes ten times a second, and never ends where the terminal has gone."""
        assert self._woken is not None
        with self._woken as woken:
            if self._parser is None:
                super().run_input_thread()
                return
            for message in parse_input(read_input(self.fileno, woken.fileno()), self._parser):
                self.process_message(message)


class Output(Thread):
    """Writes to the terminal, so that one that does not read holds up this thread alone."""

    def __init__(self) -> None:
        super().__init__(name="terminal-output", daemon=True)
        self.waiting: SimpleQueue[str | None] = SimpleQueue()
        # As textual on stderr, unless that leads elsewhere.
        usual, other = sys.__stderr__, sys.__stdout__
        self._file = usual if usual is not None and usual.isatty() else other

    def run(self) -> None:
        """Write until None comes."""
        if self._file is None:
            return
        terminal, encoding = self._file.fileno(), self._file.encoding
        with suppress(OSError):  # the terminal has gone
            while (text := self.waiting.get()) is not None:
                data = text.encode(encoding, "backslashreplace")
                while data:
                    data = data[os.write(terminal, data) :]


# --- keys -----------------------------------------------------------------------------------------


def parse_input(pieces: Iterable[str], parser: Any) -> Iterator[Message]:
    """Turns pieces of input into messages; "" is a moment without input. An escape in a piece of its own is a key.

    textual joins it with the next key: `esc q` becomes alt+q, and `esc tab` shift+tab. A terminal sends a sequence
    in one piece. Where it comes in two, the second begins with `[` or `O`.
    """
    held = ""
    for piece in pieces:
        text, alone = held + piece, held and not piece.startswith(("[", "O"))
        held = ""
        if alone:
            yield events.Key("escape", ESCAPE)
            text = piece
        if text == ESCAPE:
            held = text
        else:
            yield from parser.feed(text) if text else parser.tick()


def read_input(terminal: int, woken: int) -> Iterator[str]:
    """Yields the input of the terminal until `woken` is readable, and "" for a few moments without input after it.

    Sends SIGHUP to this process when the terminal has gone: the kernel does not send it to every program.
    """
    decode = getincrementaldecoder("utf-8")("replace").decode
    ticks = 0
    while True:
        ready, _, _ = select.select([terminal, woken], [], [], ESCAPE_DELAY if ticks else None)
        if woken in ready:
            return
        data = b""
        if ready:
            data = b"" if _hung_up(terminal) else os.read(terminal, 4096)
            if not data:
                os.kill(os.getpid(), signal.SIGHUP)
                return
        ticks = TICKS if ready else ticks - 1
        yield decode(data)


def _hung_up(terminal: int) -> bool:
    poll = select.poll()
    poll.register(terminal, select.POLLIN)
    return any(event & select.POLLHUP for _, event in poll.poll(0))
