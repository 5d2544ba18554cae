"""Patterns of the user's rules. They are compiled and timed on load, and disabled after a slow search."""

from __future__ import annotations

import time
from collections.abc import Callable

import regex

from gpu_tui.parse.triage.rule import LazyPattern

LOAD_LIMIT_SECONDS = 0.010  # CPU time of one search in a line of `LINE_LENGTH`, on load
SEARCH_LIMIT_SECONDS = 0.020  # of one search later
LINE_LENGTH = 16_384
# Patterns are slow on lines that repeat a near match.
_FILLERS = ("a", " ", "1", "a ", "x=1 ", "error: ", "\u4e00", "[/.-]")


class TimedPattern(LazyPattern):
    """A pattern that matches nothing more after one search exceeded `SEARCH_LIMIT_SECONDS`.

    `on_slow` is then called once with the pattern as written. The constructor raises ValueError if the pattern does not
    compile, or if it exceeds `LOAD_LIMIT_SECONDS` on a long test line.
    """

    __slots__ = ("_compiled", "_on_slow")

    def __init__(self, written: str, expanded: str, on_slow: Callable[[str], None]) -> None:
        super().__init__(written, expanded)
        self._on_slow = on_slow
        try:
            self._compiled = regex.compile(expanded, regex.IGNORECASE)
        except (regex.error, RecursionError, OverflowError) as error:
            raise ValueError(str(error) or type(error).__name__) from error
        self.search = self._timed
        for filler in (*_FILLERS, written):
            line = (filler * (LINE_LENGTH // len(filler) + 1))[:LINE_LENGTH]
            if _seconds(self._compiled, line) > LOAD_LIMIT_SECONDS:
                raise ValueError(
                    f"takes more than {LOAD_LIMIT_SECONDS * 1e3:.0f} ms on a line of {LINE_LENGTH} characters"
                )

    def use_interpreter(self) -> None:
        """Do nothing, because a user's pattern keeps its time limit."""

    def _timed(self, text: str) -> object:
        began = time.thread_time()
        # The library's limit counts the processor time of all threads, which may be used up by others.
        while time.thread_time() - began < SEARCH_LIMIT_SECONDS:
            try:
                return self._compiled.search(text, timeout=SEARCH_LIMIT_SECONDS)
            except TimeoutError:
                continue
        self.search = _match_nothing
        self._on_slow(self.written)
        return None


def _match_nothing(text: str) -> object:
    return None


def _seconds(compiled: regex.Pattern[str], line: str) -> float:
    """CPU seconds of the faster of two searches; each is stopped after twice the limit."""
    best = float("inf")
    for _ in range(2):
        began = time.thread_time()
        try:
            compiled.search(line, timeout=2 * LOAD_LIMIT_SECONDS)
        except TimeoutError:
            continue
        best = min(best, time.thread_time() - began)
    return best
