"""What stands on the terminal while the program loads: the last picture of the cockpit, dimmed and with its
age, or a sketch of what comes.

What is loaded before the first frame takes longer than a person likes to wait. A picture is text for the eye:
no rule, no finding and no gate ever reads it. It shows nothing of a log, is for its owner only, and there is
one: that of the last cockpit left tidily, shown where the same command runs in a terminal of the same kind
and size. Imports nothing that takes time.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

from gpu_tui.core.clock import Clock
from gpu_tui.core.plain import plain
from gpu_tui.core.speech import say
from gpu_tui.places import xdg

FILE = "picture.json"
LARGEST = 256 * 1024  # bytes of a picture
OLDEST = 3 * 24 * 3600.0  # seconds; an older one says nothing
MATTERS = ("TERM", "LANG", "LC_ALL", "LC_CTYPE")  # for which signs a terminal gets
UNABLE = ("", "dumb", "linux")  # terminals without a second screen to draw on
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J\x1b[H", "\x1b[?7h\x1b[?25h\x1b[?1049l"
DIM, BANNER, PLAIN = "\x1b[2m", "\x1b[7m", "\x1b[m"
ENDINGS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class FirstSight:
    """The picture of one command in one place."""

    def __init__(
        self, words: Sequence[str], env: Mapping[str, str], cwd: Path, clock: Clock
    ) -> None:
        parts = [*words, str(cwd), *(env.get(name, "") for name in MATTERS)]
        self._key = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()
        self._able = env.get("TERM", "") not in UNABLE
        locale = next((env[name] for name in ("LC_ALL", "LANG") if env.get(name)), "")
        self._signs = "utf" in locale.lower()  # for sure; what has fewer gets no sketch
        self._file = xdg(env, "XDG_STATE_HOME", ".local/state") / "gpu-tui" / FILE
        self._clock = clock
        self._shown = False

    def show(self) -> None:
        """Draw it, if there is one for this terminal and nothing speaks against it; a broken one is none."""
        try:
            if not (self._able and sys.stdin.isatty() and sys.stdout.isatty()):
                return
            width, height = os.get_terminal_size(sys.stdout.fileno())
            lines, age = self._read(width, height)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return
        text = say("as it was {age} ago · asking the boxes", age=_age(age))
        drawn = [f"{BANNER} {text} ".replace("\n", " ")[: width + len(BANNER)] + PLAIN]
        drawn += [f"\x1b[{row};1H{DIM}{line}{PLAIN}" for row, line in enumerate(lines[1:], 2)]
        self._stand(drawn)

    def sketch(self, draw: Callable[[int, int], Sequence[str]]) -> None:
        """Where no picture stands, draw the lines for a width and a height; they may have colours."""
        if self._shown or not (self._able and self._signs):
            return
        try:
            if not (sys.stdin.isatty() and sys.stdout.isatty()):
                return
            lines = draw(*os.get_terminal_size(sys.stdout.fileno()))
        except OSError:
            return
        if lines:
            self._stand([f"\x1b[{row};1H{line}{PLAIN}" for row, line in enumerate(lines, 1)])

    def _stand(self, drawn: Sequence[str]) -> None:
        for number in ENDINGS:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _leave)
        self._shown = True
        self._write(ENTER + "".join(drawn))

    def away(self) -> None:
        """Take it away: something is to be read on the screen below, or the program ends before it drew."""
        if self._shown:
            self.taken_over()
            self._write(LEAVE)

    def taken_over(self) -> None:
        """The cockpit has drawn: from now on the terminal and the signals are its own."""
        self._shown = False
        for number in ENDINGS:
            if signal.getsignal(number) is _leave:
                signal.signal(number, signal.SIG_DFL)

    def keep(self, lines: Sequence[str], width: int) -> None:
        """Keep `lines`, a whole screen of `width` cells a line, for the next time; best effort."""
        from gpu_tui.new_file import write_whole  # when the cockpit is left

        picture = {"key": self._key, "at": self._clock.now(), "width": width, "lines": [*lines]}
        text = json.dumps(picture, ensure_ascii=False)
        with suppress(OSError, ValueError):
            write_whole(self._file, text, mode=0o600, synced=False)

    def _read(self, width: int, height: int) -> tuple[list[str], float]:
        """The lines of the kept picture and its age in seconds. Raises ValueError where it does not fit."""
        with self._file.open("rb") as file:
            raw = file.read(LARGEST + 1)
        if len(raw) > LARGEST:
            raise ValueError("too large for a picture")
        picture = json.loads(raw)
        lines, age = picture["lines"], self._clock.now() - float(picture["at"])
        fits = picture["key"] == self._key and (picture["width"], len(lines)) == (width, height)
        if not fits or not 0.0 <= age < OLDEST:  # of another time, or of a time to come
            raise ValueError("a picture of something else")
        return [plain(str(line), width) for line in lines], age

    @staticmethod
    def _write(text: str) -> None:
        try:
            sys.stdout.write(
                text.encode(sys.stdout.encoding, "replace").decode(sys.stdout.encoding)
            )
            sys.stdout.flush()
        except OSError:
            pass


def _leave(number: int, frame: FrameType | None) -> None:
    """Ended while the picture stands: the way out takes it away."""
    raise SystemExit(128 + number)


def _age(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} s"
