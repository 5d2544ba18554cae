"""Many lines that came at once -> which of them are read at once, and how much of a log to feed.

What is read of a flood, and why, is said in `log_reader`. Of lines that differ in their numbers only, few
differ at all: what a line can be is asked of each skeleton, not of each line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property
from itertools import islice

from gpu_tui.core.findings import Severity
from gpu_tui.parse.line_kinds import Kind, is_remembered, kind_of_skeleton, skeletons
from gpu_tui.parse.progress import may_report
from gpu_tui.parse.progress_plan import may_plan
from gpu_tui.parse.triage.classify import LONGEST, classifier

FLOOD = 32  # whole lines of one feed
SAMPLED, FEW, MOST_SORTS = 1_024, 4, 8
SMALL, LARGE = 16_384, 65_536  # bytes to feed at once, at most: of unknown lines, and of a flood
LARGEST = 524_288  # of a flood that is behind, and quickly read
QUICK_SECONDS, SLOW_SECONDS = (
    0.004,
    0.008,
)  # of the processor for one feed: more may be fed, or less
MOST_READ = 32  # lines that are read before others get their turn; of a flood three times as many
DEAR = 8_192  # bytes of lines that the rules have to look at, in one feed; one line at least
MOST_LINES = 16_384  # of a flood that are fed at once
REST = 2_048  # bytes of an unfinished line that are fed with the flood before it


class Survey:
    """Whole lines of one segment each, not yet read. `body` ends with a newline."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.lines = body[:-1].split(b"\n")
        self._bones = skeletons(body[:-1])
        self._counts = Counter(self._bones)

    @property
    def unknown(self) -> int:
        """How many skeletons are seen for the first time."""
        return sum(not is_remembered(bones) for bones in self._counts)

    @property
    def heavy(self) -> int:
        """About how many bytes the rules have to look at for the first time."""
        most = sum(
            len(bones) * self._counts[bones] for bones, kind in self._kinds.items() if kind.loud
        )
        if most <= DEAR:
            return most
        loud = {self._bones[place]: self.lines[place] for place in self._loud}
        counts = {line: self._counts[bones] for bones, line in loud.items()}
        return sum(len(line) * counts[line] for line in classifier().unjudged(list(counts)))

    @cached_property
    def _kinds(self) -> dict[bytes, Kind]:
        return {bones: kind_of_skeleton(bones) for bones in self._counts}

    def _places(self, which: Callable[[Kind], bool]) -> list[int]:
        meant = {bones for bones, kind in self._kinds.items() if which(kind)}
        if not meant:
            return []
        return [place for place, bones in enumerate(self._bones) if bones in meant]

    def _warns(self, places: list[int]) -> list[int]:
        """Those of the lines that warn, and those that may be of the queue."""
        kinds = [self._kinds[self._bones[place]] for place in places]
        marks = classifier().causes([self.lines[place] for place in places])
        return [
            place
            for place, kind, mark in zip(places, kinds, marks, strict=True)
            if kind.queue or (mark is not None and mark.severity is not Severity.NONE)
        ]

    @cached_property
    def _loud(self) -> list[int]:
        return self._places(lambda kind: kind.loud)

    @cached_property
    def _warning(self) -> list[int]:
        return self._warns(self._loud)

    @property
    def dear(self) -> int:
        """About how many lines have to be read, beside a few of each sort."""
        summaries = len(self._places(lambda kind: kind.summary))
        if len(self._loud) <= 3 * MOST_READ:
            return len(self._warning) + summaries
        some = self._loud[:: 1 + len(self._loud) // 64]
        return len(self._warns(some)) * len(self._loud) // len(some) + summaries

    def _latest(self) -> dict[bytes, int]:
        """The last place of each skeleton: mostly they all stand near the end."""
        for size in (64, len(self._bones)):
            end = self._bones[-size:]
            found = dict(
                zip(end, range(len(self._bones) - len(end), len(self._bones)), strict=True)
            )
            if len(found) == len(self._counts):
                break
        return found

    def worth_reading(self, samples: int = 0) -> set[int]:
        """Places of the lines that are read at once, with so many `samples` of the reports among them."""
        latest_of = self._latest()
        counts: Counter[bytes] = Counter()
        latest: dict[bytes, int] = {}
        for bones, kind in self._kinds.items():
            counts[kind.group] += self._counts[bones]
            latest[kind.group] = max(latest_of[bones], latest.get(kind.group, 0))
        often = [place for group, place in latest.items() if counts[group] > FEW]
        rare = self._places(lambda kind: counts[kind.group] <= FEW)
        reports = (place for place in reversed(rare) if may_report(self.lines[place]))
        plans = (place for place in reversed(rare) if may_plan(self.lines[place]))
        return {
            *self._warning,
            *self._places(lambda kind: kind.summary),
            *islice(reports, MOST_SORTS),
            *islice(plans, MOST_SORTS),
            *often[-4 * MOST_SORTS :],
            *range(SAMPLED - 1, len(self.lines), SAMPLED),
            *(self._samples(latest_of, samples) if samples else ()),
        }

    def _samples(self, latest_of: dict[bytes, int], most: int) -> set[int]:
        """So many reports, evenly spread, of each sort as many."""
        reports = {bones for bones, at in latest_of.items() if may_report(self.lines[at])}
        sorts: dict[bytes, list[int]] = {}
        for place, bones in enumerate(self._bones):
            if bones in reports:
                sorts.setdefault(self._kinds[bones].group, []).append(place)
        each = max(1, most // max(1, len(sorts)))
        return {place for places in sorts.values() for place in places[:: -(-len(places) // each)]}


class Appetite:
    """How much of one log to feed at once, by what the last feeds took.

    A feed has its price, whatever it brings: where more waits than one feed takes, and it was quick, the
    next one takes twice as much. So the more a log is behind, the fewer of its reports are read.
    """

    def __init__(self) -> None:
        self._most = LARGE

    def mouthful(self, data: bytes) -> int:
        """How many of the bytes to feed before others get their turn."""
        return mouthful(data, self._most)

    def took(self, seconds: float, size: int) -> None:
        """What it took of the processor to look at `size` bytes and to feed them."""
        if seconds > SLOW_SECONDS:
            self._most = max(LARGE, self._most // 2)
        elif seconds < QUICK_SECONDS and 2 * size > self._most:
            self._most = min(LARGEST, self._most * 2)


def mouthful(data: bytes, most: int = LARGE) -> int:
    """How many of the bytes to feed before others get their turn: some milliseconds' work.

    At most `most`, and that only of a flood of which few lines have to be read.
    """
    if len(data) > SMALL and data.count(b"\n", 0, SMALL) > FLOOD:
        lines_of_most = data.count(b"\n", 0, most)
        if lines_of_most > MOST_LINES:  # each has its price, though it be empty
            most = max(REST, most * MOST_LINES // lines_of_most)
        # The first line may be the end of one that began before: it is read by itself.
        begin, end = data.find(b"\n") + 1, data.rfind(b"\n", 0, most) + 1
        survey = Survey(data[begin:end])
        few = survey.unknown <= 3 * MOST_READ and survey.heavy <= DEAR
        if few and survey.dear <= 3 * MOST_READ:
            _surveyed[:] = [survey] if b"\r" not in survey.body else []
            return len(data) if len(data) <= min(most, end + REST) else end
    some = data[: bearable(data[:SMALL])]
    lines = some.split(b"\n")
    if len(lines) <= FLOOD:
        return len(some)
    read = sorted(Survey(some + b"\n").worth_reading())
    return (
        sum(map(len, lines[: read[MOST_READ]])) + read[MOST_READ]
        if len(read) > MOST_READ
        else len(some)
    )


def bearable(some: bytes) -> int:
    """How many of these bytes hold no more than `DEAR` that the rules have to look at, and whole segments."""
    segments = some.replace(b"\r", b"\n").split(b"\n")
    size = spent = 0
    for segment, bones in zip(segments, skeletons(b"\n".join(segments)), strict=True):
        if kind_of_skeleton(bones).loud:
            spent += min(len(segment), LONGEST)
            if spent > DEAR and size:
                return size
        size += len(segment) + 1
    return len(some)


_surveyed: list[Survey] = []  # the last large mouthful


def survey_of(chunk: bytes, begin: int, end: int) -> tuple[int, Survey | None]:
    """Where in `chunk[begin:end]` the last large mouthful begins, and its survey, which is given only
    once; `begin` and None where it is something else.
    """
    if _surveyed:
        survey = _surveyed[0]
        at = end - len(survey.body)
        if begin <= at <= chunk.find(b"\n", begin) + 1 and chunk.startswith(survey.body, at):
            _surveyed.clear()
            return at, survey
    return begin, None
