"""A filter over all loaded lines of a log, a mouthful at a time: the newest lines first."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from time import perf_counter

from gpu_tui.state.log_document import OLDER, Joined, LogDocument
from gpu_tui.ui.text.filters import Filter
from gpu_tui.ui.text.pattern import Look, TooSlow

MOUTHFUL = 0.008  # seconds of judging before keys get their turn
LINES = 256  # that are judged in one look
FEW = 16  # of one look after a look that took too long: those lines may have been long ones


class Sieve:
    """The keys that pass; `work` judges on. Only what is new is judged again."""

    def __init__(self, document: LogDocument, fits: Filter) -> None:
        self._document = document
        self._filter = fits
        self._word = fits.word
        self._past = document.past
        self._kept: list[int] = []
        self._low = self._high = document.tail.end
        self._low_edge = self._past_stop()
        self._lines = LINES
        self.gave_up = False

    def _past_stop(self) -> int:
        past = self._document.past
        return past.keys.stop if past is not None else 0

    @property
    def count(self) -> int:
        """How many lines passed so far."""
        return len(self._kept)

    @property
    def share(self) -> float:
        """How much of what is loaded was judged."""
        numbers = self._document.numbers
        judged = bisect_left(numbers, self._high) - bisect_left(numbers, self._low)
        return judged / len(numbers) if len(numbers) else 1.0

    @property
    def numbers(self) -> Sequence[int]:
        """What is shown: the lines that passed, behind the word on what is not loaded."""
        older = [OLDER] if self._document.start else []
        return Joined(older, self._kept) if older else self._kept

    def has(self, key: int) -> bool:
        """Whether this line passed."""
        at = bisect_left(self._kept, key)
        return at < len(self._kept) and self._kept[at] == key

    def work(self) -> bool:
        """Judge for a moment; True where there is more to judge."""
        self._forget()
        if self.gave_up:
            return False
        self._take_up()
        began = perf_counter()
        while self._has_more() and perf_counter() - began < MOUTHFUL:
            try:
                self._judge()
            except TooSlow:
                self.gave_up = self._lines == FEW
                self._lines = FEW
                break
        return self._has_more() and not self.gave_up

    def _take_up(self) -> None:
        """Go on at the live end, with the last line again, for it may have been open."""
        tail = self._document.tail
        if self._high == self._low:
            self._low = self._high = tail.end
            return
        self._high = min(max(self._high - 1, tail.first), tail.end)
        while self._kept and self._kept[-1] >= self._high:
            self._kept.pop()

    def _has_more(self) -> bool:
        return (
            self._high < self._document.tail.end
            or bisect_left(self._document.numbers, self._low) > 0
        )

    def _judge(self) -> None:
        """What came at the live end, else the lines before the oldest that was judged."""
        if (end := self._document.tail.end) > self._high:
            stop = min(self._high + self._lines, end)
            self._kept += self._pick(self._high, stop)
            self._high = stop
        else:
            numbers = self._document.numbers
            start = numbers[max(0, bisect_left(numbers, self._low) - self._lines)]
            self._kept[:0] = self._pick(start, self._low)
            self._low = start

    def _pick(self, start: int, stop: int) -> list[int]:
        look = Look()
        return self._document.pick(
            start, stop, lambda text: self._filter.keeps(text, None, look), self._word
        )

    def _forget(self) -> None:
        """Lines that are no longer loaded; another past is judged anew."""
        document = self._document
        if document.past is not self._past or self._past_stop() != self._low_edge:
            self._past, self._low_edge = document.past, self._past_stop()
            tail = bisect_left(self._kept, 0)
            del self._kept[:tail]
            self._low = max(self._low, min(document.tail.first, self._high))
        gone = bisect_left(self._kept, document.tail.first)
        from_tail = bisect_left(self._kept, 0)
        del self._kept[from_tail:gone]
