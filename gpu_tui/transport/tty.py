"""Asks on a plain terminal, for the commands that have no screen. Never where there is none."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gpu_tui.core.prompts import Prompts

LONGEST = 4096  # bytes of one answer; a terminal gives no more in one line


class TtyPrompter:
    """Reads answers from the terminal `fd`, one line each, unseen where the field says so."""

    def __init__(self, fd: int, write: Callable[[str], object]) -> None:
        self._fd = fd
        self._write = write
        self.asking = False

    @classmethod
    def here(cls) -> TtyPrompter | None:
        """The terminal of this process, or None: cron and pipes are never asked."""
        try:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                return None
            fd = sys.stdin.fileno()
        except (AttributeError, OSError, ValueError):
            return None
        return cls(fd, _say)

    async def ask(self, prompts: Prompts) -> tuple[str, ...] | None:
        """One answer per field; None at the end of input (Ctrl-D)."""
        self.asking = True
        try:
            hop = f"jump host {prompts.hop}, " if prompts.hop else ""
            self._write(f"{prompts.instance}: {hop}{prompts.who} asks for {prompts.title}\n")
            if prompts.note:
                self._write(f"It says: {prompts.note}\n")
            answers: list[str] = []
            for field in prompts.fields:
                with _echo(self._fd, on=field.echo):
                    self._write(f"{field.text} ")
                    answer = await self._line()
                if not field.echo:
                    self._write("\n")
                if answer is None:
                    return None
                answers.append(answer)
            return tuple(answers)
        finally:
            self.asking = False

    async def _line(self) -> str | None:
        """The next line. On the loop, not in a thread: it can be given up at any time."""
        loop = asyncio.get_running_loop()
        came: asyncio.Future[bytes] = loop.create_future()

        def read() -> None:
            if not came.done():
                try:
                    came.set_result(os.read(self._fd, LONGEST))
                except OSError:
                    came.set_result(b"")

        loop.add_reader(self._fd, read)
        try:
            data = await came
        finally:
            loop.remove_reader(self._fd)
        return data.decode("utf-8", "surrogateescape").rstrip("\r\n") if data else None


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


@contextmanager
def _echo(fd: int, *, on: bool) -> Iterator[None]:
    """The terminal shows what is typed, or not; what was typed before does not count."""
    before = termios.tcgetattr(fd)
    during = termios.tcgetattr(fd)
    during[3] = during[3] | termios.ECHO if on else during[3] & ~termios.ECHO
    termios.tcsetattr(fd, termios.TCSAFLUSH, during)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
