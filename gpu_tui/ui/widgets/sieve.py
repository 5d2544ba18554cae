"""A filter over all loaded lines of a log, a mouthful at a time: the newest lines first."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from time import perf_counter

from gpu_tui.state.log_document import OLDER, Joined, LogDocument
from gpu_tui.ui.text.filters import Filter

MOUTHFUL = 0.008  # seconds of judging before keys get their turn
LINES = 256  # that are judged between two looks at the time
TOO_SLOW = 0.4  # seconds for one such look: this expression would freeze the screen


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
        left = bisect_left(numbers, self._low)
        return 1.0 if not len(numbers) or self.gave_up else 1 - left / len(numbers)

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
        self._judge_new()
        began = perf_counter()
        numbers = self._document.numbers
        at = bisect_left(numbers, self._low)
        while at > 0 and not self.gave_up:
            look = perf_counter()
            low = max(0, at - LINES)
            self._kept[:0] = self._pick(numbers[low], self._low)
            self._low, at = numbers[low], low
            now = perf_counter()
            self.gave_up = now - look > TOO_SLOW
            if now - began > MOUTHFUL:
                break
        return at > 0 and not self.gave_up

    def _pick(self, start: int, stop: int) -> list[int]:
        return self._document.pick(start, stop, self._filter.keeps, self._word)

    def _judge_new(self) -> None:
        """What came at the live end; the last line again, for it may have been open."""
        end = self._document.tail.end
        start = max(self._high - 1, self._document.tail.first)
        if self._high > self._low and start < end:
            while self._kept and self._kept[-1] >= start:
                self._kept.pop()
            self._kept += self._pick(start, end)
        elif self._high == self._low:
            self._low = end
        self._high = end

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
