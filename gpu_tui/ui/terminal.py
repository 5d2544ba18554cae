"""What textual does not offer about the terminal itself. The one room that touches its private parts."""

from __future__ import annotations

import asyncio
import os
import select
import selectors
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from queue import Queue
from time import monotonic
from types import SimpleNamespace
from typing import Any, ClassVar

from textual import screen
from textual._styles_cache import StylesCache
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.color import Color
from textual.constants import ESCAPE_DELAY
from textual.driver import Driver
from textual.message import Message
from textual.style import Style

from gpu_tui.core.plain import plain
from gpu_tui.core.redact import redact

FRAMES_A_SECOND = 250
PLAIN_DRIVER = "LinuxDriver"
ESCAPE, SEQUENCES = "\x1b", "\x1b[O"
CHOKED = 6  # frames waiting to be written: the terminal does not read
TYPED = 10 * ESCAPE_DELAY  # seconds after a key in which it may still be a part of a sequence
SILENCE = 60.0  # seconds between two looks of the thread that reads keys, where nobody types
ENDINGS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def draw_on_the_terminal() -> None:
    """Let textual draw on stdout where stderr leads elsewhere: it draws on stderr, which people send into files."""
    if sys.__stderr__ is None or not sys.__stderr__.isatty():
        sys.__stderr__ = sys.__stdout__  # type: ignore[misc]


def calm_driver(base: type[Driver]) -> type[Driver]:
    """Textual's driver for a Unix terminal, told of clicks and the wheel, and not of each move of the mouse.

    Every move would be a report up a slow line, and nothing here looks at them.
    """
    if base.__name__ != PLAIN_DRIVER:
        return base

    class CalmDriver(base):  # type: ignore[misc, valid-type]
        def _enable_mouse_support(self) -> None:
            if self._mouse:
                self.write("\x1b[?1000h\x1b[?1006h")

        def disable_input(self) -> None:
            """Let the thread that reads keys end now, and not when its wait is over."""
            Ear.wake_all()
            super().disable_input()

        def _sigcont_application(self, *_: object) -> None:
            """Start anew only if we were stopped: a hangup comes with a SIGCONT, too.

            textual 8.2.8 starts a second thread that reads keys; the first one never ends, nor does the program.
            """
            if self._must_signal_resume:
                super()._sigcont_application()

    return CalmDriver


class Ear(selectors.SelectSelector):
    """What the thread that reads keys waits with. It can be woken; textual's own sleeps out its time.

    That was a fifth of a second at each end and before each shell: a tenth until the thread looks whether it
    should end, and another one in which it waits for nothing at all. So where nobody types it need not look
    ten times a second: it does only for a moment after a key, which may be the first part of another. And it
    knows when the terminal has gone, which not everybody is sent a SIGHUP for: textual reads nothing then, again
    and again, and never ends.
    """

    _all: ClassVar[set[Ear]] = set()

    def __init__(self) -> None:
        super().__init__()
        self._woken, self._waker = os.pipe()
        self.register(self._woken, selectors.EVENT_READ)
        self._gone = False
        self._heard = monotonic()
        self._all.add(self)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What was typed; nothing, and at once, when it was woken. Of a terminal that has gone, nothing any more."""
        if monotonic() - self._heard > TYPED:
            timeout = SILENCE
        if self._gone:
            select.select([self._woken], [], [], timeout)
            return []
        ready = [(key, mask) for key, mask in super().select(timeout) if key.fd != self._woken]
        if ready:
            self._heard = monotonic()
        if any(_hung_up(key.fd) for key, _ in ready):
            self._gone = True
            os.kill(os.getpid(), signal.SIGHUP)
            return []
        return ready

    def close(self) -> None:
        """Let go of the pipe, too."""
        self._all.discard(self)
        super().close()
        os.close(self._woken)
        os.close(self._waker)

    @classmethod
    def wake_all(cls) -> None:
        """From now on nobody waits."""
        for ear in list(cls._all):
            with suppress(OSError):  # it was closed meanwhile
                os.write(ear._waker, b"x")


def _hung_up(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return any(event & select.POLLHUP for _, event in poll.poll(0))


@lru_cache(1024)
def _grounds(base: Color, background: Color) -> tuple[Style, Style]:
    return Style(background=base + background), Style(background=base)


def forget_what_was_closed() -> None:
    """Let the painted lines of a widget go with it.

    textual 8.2.8 keeps the inner and outer ground of widgets in an `lru_cache` whose key is the widget's whole
    cache of lines: with each screen that was opened and closed the last thousand of them stay, some 100 MB.
    """

    def get_inner_outer(
        self: StylesCache, base_background: Color, background: Color
    ) -> tuple[Style, Style]:
        return _grounds(base_background, background)

    StylesCache.get_inner_outer = get_inner_outer  # type: ignore[method-assign, assignment]


class PromptParser(XTermParser):
    """Textual's parser of what comes from a terminal, for which an escape that came alone is a key of its own.

    textual 8.2.8 waits 100 ms for what may follow an escape and takes the next key for a part of it: `esc q`
    becomes alt+q, and `esc tab` becomes shift+tab. A terminal sends a sequence in one piece; one that came in
    two goes on with `[` or `O`.
    """

    _alone = False

    def feed(self, data: str) -> Iterable[Message]:
        """Parse one piece of what was read; empty data ends it."""
        waits = self._alone and self._timeout_time is not None  # it was not told as a key yet
        if waits and data and data[0] not in SEQUENCES:
            self._timeout_time = 0.0
            yield from self.tick()
        yield from super().feed(data)
        self._alone = data == ESCAPE


def take_keys_apart() -> None:
    """Read the terminal with this parser, and wait for it with this ear."""
    with suppress(ImportError):  # where there is no such terminal
        from textual.drivers import linux_driver

        vars(linux_driver)["XTermParser"] = PromptParser
        vars(linux_driver)["selectors"] = SimpleNamespace(
            SelectSelector=Ear, EVENT_READ=selectors.EVENT_READ
        )


def paint_soon() -> None:
    """Let a frame begin at once: textual starts one on a grid of 1/60 s, so that a key waits half of that and more.

    Nothing here moves by itself: there are as many frames as there are changes, whatever the grid.
    """
    screen.UPDATE_PERIOD = 1 / FRAMES_A_SECOND  # type: ignore[misc]


def choked(app: App[Any]) -> bool:
    """True while the terminal does not read: drawing more would freeze the whole event loop."""
    queue = _writes(app)
    return queue is not None and queue.qsize() > CHOKED


def release(app: App[Any]) -> None:
    """Let the last writes never block: the terminal may be gone, and leaving must not wait for it."""
    queue = _writes(app)
    if queue is not None:
        queue.maxsize = 0


def _writes(app: App[Any]) -> Queue[str | None] | None:
    writer = getattr(app._driver, "_writer_thread", None)
    queue = getattr(writer, "_queue", None)
    return queue if isinstance(queue, Queue) else None


def on_endings(leave: Callable[[int], None]) -> Callable[[], None]:
    """Call `leave` with 128+n on SIGTERM, SIGHUP and SIGQUIT, which textual leaves to break the terminal.

    Returns what takes the handlers away again. Where a loop takes no handlers nothing happens.
    """
    loop = asyncio.get_running_loop()
    taken = []
    for number in ENDINGS:
        try:
            loop.add_signal_handler(number, leave, 128 + number)
        except (NotImplementedError, RuntimeError, ValueError):
            continue
        taken.append(number)

    def give_back() -> None:
        for number in taken:
            loop.remove_signal_handler(number)

    return give_back


@contextmanager
def lent(app: App[Any]) -> Iterator[None]:
    """The terminal is somebody else's for this block: what we would draw meanwhile is dropped.

    Raises SuspendNotSupported where the terminal is not ours to lend.
    """
    with app.suspend():
        driver: Any = app._driver
        driver.write = lambda data: None
        driver.flush = lambda: None
        try:
            yield
        finally:
            del driver.write, driver.flush


def send(app: App[Any], sequence: str) -> bool:
    """Send a sequence that draws nothing; False where there is no terminal, or one that does not read."""
    driver = app._driver
    if driver is None or app.is_headless or choked(app):
        return False
    driver.write(sequence)
    driver.flush()
    return True


# --- desktop notifications ------------------------------------------------------------------------

OSC9, OSC777 = "osc9", "osc777"
TEXT_WIDTH = 200  # characters of one notification
# Terminals that say who they are, and the form that each of them shows once. Elsewhere both are sent:
# one that knows neither ignores them, one that knows both shows two.
KNOWN_FORMS = {"iTerm.app": (OSC9,), "WezTerm": (OSC777,), "ghostty": (OSC777,)}
MUTE = frozenset({"linux", "dumb"})


def desktop_forms(wish: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """The forms to send for a wish of the user's settings (auto, osc9, osc777, both, off)."""
    if wish != "auto":
        return {"off": (), "both": (OSC9, OSC777)}.get(wish, (wish,))
    if env.get("TERM", "") in MUTE:
        return ()
    if not (env.get("TMUX") or env.get("STY")):
        known = KNOWN_FORMS.get(env.get("TERM_PROGRAM", ""))
        if known is not None:
            return known
        if env.get("TERM", "").startswith(("foot", "rxvt")) or "VTE_VERSION" in env:
            return (OSC777,)
        if env.get("TERM") == "xterm-kitty":
            return (OSC9,)
    return (OSC9, OSC777)


def desktop_bytes(text: str, forms: tuple[str, ...], env: Mapping[str, str]) -> str:
    """The sequences that show `text`, freed of secrets: a desktop shows it over other windows, and keeps it.

    Nothing in it can end a sequence or begin another.
    Inside tmux they pass only where the user has `set -g allow-passthrough on`.
    """
    shown = plain(redact(text), TEXT_WIDTH).replace(";", ",")
    made = {
        OSC9: f"\x1b]9;gpu-tui: {shown}\x07",
        OSC777: f"\x1b]777;notify;gpu-tui;{shown}\x07",
    }
    return "".join(_through(made[form], env) for form in forms)


def notify_desktop(app: App[Any], text: str, forms: tuple[str, ...]) -> None:
    """Send it, unless the terminal does not read or there is none."""
    if forms:
        send(app, desktop_bytes(text, forms, os.environ))


def _through(sequence: str, env: Mapping[str, str]) -> str:
    """Wrapped so that tmux or screen hands it to the terminal outside."""
    if env.get("TMUX"):
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if env.get("STY"):
        return "\x1bP" + sequence + "\x1b\\"
    return sequence
