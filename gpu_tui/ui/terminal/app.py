"""The base of every app here: what it draws, how it ends, and how it lends the terminal."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rich.color import ColorSystem
from rich.console import COLOR_SYSTEMS
from textual.app import ReturnType
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.widgets import Input

from gpu_tui.ui.terminal.cell_diff import Cells
from gpu_tui.ui.terminal.driver import Output, TerminalDriver
from gpu_tui.ui.terminal.textual_private import FrameHook, tune

SWITCH = "GPU_TUI_PAINT"  # `stock` in the environment: textual paints by itself
SETTLE_SECONDS = 0.1  # between two looks whether a terminal reads again
SYNC_FROM = 512  # bytes: a smaller frame is one write, which a terminal never shows half
SYNC_START, SYNC_END = "\x1b[?2026h", "\x1b[?2026l"
KEYS = (
    signal.SIGINT,
    signal.SIGQUIT,
)  # of a terminal; another program that draws there gets them too
ENDINGS = (*KEYS, signal.SIGTERM, signal.SIGHUP)


class TerminalApp(FrameHook[ReturnType]):
    """Writes only the cells that changed, and nothing while the terminal does not read."""

    terminal: TerminalDriver | None = None  # None without a Unix terminal

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tune()
        self._stock = os.environ.get(SWITCH) == "stock"
        self._shown: Cells | None = None
        self._shown_by: Output | None = None
        self._shown_cursor = (0, 0)
        self._owed = False

    def get_driver_class(self) -> type[Driver]:
        """`TerminalDriver` in place of textual's driver for a Unix terminal."""
        usual = super().get_driver_class()
        return TerminalDriver if usual is LinuxDriver else usual

    # --- frames -------------------------------------------------------------------------------

    @property
    def choked(self) -> bool:
        """True while the terminal does not read."""
        return self.terminal is not None and self.terminal.choked

    def drop_shown(self) -> None:
        """Forget what the terminal shows: the next frame is a whole one."""
        self._shown = None

    def _settle(self) -> None:
        """Repaint what the terminal missed, once it reads again."""
        if self.choked:
            self.set_timer(SETTLE_SECONDS, self._settle)
        else:
            self._owed = False
            if self.screen_stack:
                self.screen.refresh()

    def write_frame(self, update: Iterable[object]) -> bool:
        """Write the cells that changed; False where textual has to."""
        driver = self.terminal
        if driver is None or self._stock:
            return False
        if driver.choked:
            if not self._owed:  # it would be late: the last state is enough
                self._owed = True
                self.set_timer(SETTLE_SECONDS, self._settle)
            return True
        size = self.screen.outer_size
        if self._shown_by is not driver.output or self._shown is None or self._shown.size != size:
            self._shown, self._shown_by = Cells(*size), driver.output
        cells = self._shown
        depth = COLOR_SYSTEMS.get(self.console.color_system or "", ColorSystem.TRUECOLOR)
        text = cells.lead_to(update, depth)
        x, y = size.clamp_offset(self.cursor_position)
        if isinstance(self.focused, Input) and (text or (x, y) != self._shown_cursor):
            text += f"\x1b[{y + 1};{x + 1}H"  # an input method opens there
        self._shown_cursor = (x, y)
        if text:
            if driver.synchronized and len(text) >= SYNC_FROM:
                text = f"{SYNC_START}{text}{SYNC_END}"
            driver.write(text)
        if not cells.whole:
            self.call_later(self.screen.refresh)
        return True

    # --- everything else that is written ------------------------------------------------------

    def send(self, sequence: str) -> bool:
        """Send a sequence that draws nothing; False where there is no terminal, or one that does not read."""
        if self.terminal is None or self.choked:
            return False
        self.terminal.write(sequence)
        return True

    def bell(self) -> None:
        """Ring, unless the terminal does not read."""
        if not self.choked:
            super().bell()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Leave the terminal to another program for this block. Raises SuspendNotSupported without a terminal."""
        failed: Exception | None = None
        with self.suspend():
            driver = self.terminal
            if driver is not None:
                driver.lent = True
            try:
                yield
            except Exception as error:  # textual would not take the terminal again
                failed = error
            finally:
                if driver is not None:
                    driver.lent = False
        if failed is not None:
            raise failed

    # --- the end ------------------------------------------------------------------------------

    async def on_load(self) -> None:
        """Handle the signals that end a program: with textual alone the terminal would stay broken.

        asyncio's way with SIGINT is no better: textual swallows some cancellations, and a second one ends all at once.
        """
        for number in ENDINGS:
            # Outside the main thread a loop takes no signals.
            with suppress(NotImplementedError, RuntimeError, ValueError):
                asyncio.get_running_loop().add_signal_handler(number, self._end, number)
        await asyncio.sleep(
            0
        )  # a SIGINT that came earlier ends it here, while the terminal is untouched

    def on_mount(self) -> None:
        """Without a terminal there is nothing to restore."""
        if self.is_headless:
            self.on_unmount()

    def on_unmount(self) -> None:
        """Give the signals back."""
        for number in ENDINGS:
            with suppress(NotImplementedError, RuntimeError, ValueError):
                asyncio.get_running_loop().remove_signal_handler(number)

    def _end(self, number: signal.Signals) -> None:
        if self.terminal is not None:
            if self.terminal.lent and number in KEYS:
                return
            self.terminal.release()
        self.exit(return_code=128 + number)
