"""Rows of `rich`: a bar among columns that each program chooses and orders as it likes.

Which of two plain times is the one that is left, and whether a pair of numbers counts steps or is a word of
the description, only the columns' company says. What it leaves open is not told.

Every pattern has bounded repeats, so its time is linear in the line.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from gpu_tui.parse import progress_words as words
from gpu_tui.parse.progress_draft import Draft
from gpu_tui.parse.progress_words import CLOCK

_BAR = re.compile(r"(?<![\u2500-\u257f])[━╸╺][━╸╺ ]{0,400}+(?![\u2500-\u257f])")
_PLAIN_BAR = re.compile(r"(?:^|(?<=\s))-{3,400}+(?: -{1,400}+| {1,400}+(?=\S))(?![-+|])")  # ASCII
_NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{1,12}(?:\.[0-9]{1,3})?)"
_COLUMN = re.compile(
    rf"\s{{0,400}}+(?:(?P<percent>[0-9]{{1,3}}(?:\.[0-9]{{1,4}})?) ?%(?![\w|…])"
    rf"|(?P<step>{_NUMBER})(?:/| of {{0,12}})(?P<steps>{_NUMBER}|\?|--)(?![\w.%/,…])(?: (?P<size>bytes|[kKMGTPEZY]i?B?|B)(?![\w/]))?"
    rf"|(?P<clock>{CLOCK})(?![\w:.…])|(?P<unknown>-:--:--|--:--)(?![\w:.…])"
    rf"|(?P<label>eta|elapsed|remaining|left)\b:?|(?P<rate>{_NUMBER}|\?) ?(?P<unit>(?:[kKMGT]i?)?[A-Za-z]{{1,12}}/s|s/[a-z]{{1,9}})\b"
    rf"|{_NUMBER} (?:bytes|[kKMGTPEZY]i?B)(?![\w/])|(?P<mark>[<•])|[·|\[\](),\u2800-\u28ff](?=\s|$)|[\[(](?=[0-9]{{1,3}} ?%|{CLOCK}|-:))",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    rf"(?:^|\s)(?:(?P<percent>[0-9]{{1,3}}(?:\.[0-9]{{1,4}})?)%|(?P<step>{_NUMBER})/(?P<steps>{_NUMBER}))\s{{0,3}}$"
)
_COUNTS_OTHERS = re.compile(
    r"(?i)\b(?:epochs?|ep|fold|stage|phase|round|run|trial|part|task|seed|rank|worker|shard|file|chunk|split|cycle)"
    r"[\s:=#\[(]{0,4}$"
)
MOST_BARS, MOST_COLUMNS = 4, 24
NEAR = 1.5  # percent that a rounded share may be off


@dataclass(slots=True)
class _Row:
    """The columns beside one bar."""

    percent: str | None = None
    step: str | None = None
    steps: str | None = None
    endless: bool = False
    size: bool = False  # it counts bytes
    rate: str | None = None
    unit: str = ""
    times: list[tuple[str | None, str]] = field(default_factory=list)  # and what stands before it
    columns: int = 0

    @property
    def known(self) -> bool:
        return self.percent is not None or self.step is not None or "/" in self.unit


def read_rich(draft: Draft) -> int | None:
    """Read the last bar with columns beside it; returns where it begins."""
    text = draft.text
    form = _BAR if "━" in text or "╸" in text else _PLAIN_BAR if "---" in text else None
    if form is None:
        return None
    for bar in list(form.finditer(text))[: -MOST_BARS - 1 : -1]:
        row = _columns(text, bar.end())
        if form is _PLAIN_BAR and (row.columns < 2 or not (row.times or row.rate)):
            continue
        _columns_before(text[: bar.start()], row, _drawn(bar[0]))
        if row.known:
            _tell(row, draft, titled=any(map(str.isalpha, text[: bar.start()][-200:])))
            return bar.start()
    return None


def _columns(text: str, at: int) -> _Row:
    """The columns that follow the bar, up to the first word of something else."""
    row = _Row()
    before = ""
    for _ in range(MOST_COLUMNS):
        column = _COLUMN.match(text, at)
        if column is None:
            break
        at = column.end()
        if column["percent"] and row.percent is None:
            row.percent = column["percent"]
        elif column["step"] and row.step is None and not row.endless:
            row.endless, row.size = not column["steps"][0].isdigit(), bool(column["size"])
            row.step, row.steps = column["step"], column["steps"]
        elif column["clock"] or column["unknown"]:
            row.times.append((column["clock"], before))
        elif column["unit"] and not row.unit:
            row.rate, row.unit = column["rate"], column["unit"]
        before = (column["label"] or column["mark"] or "").lower()
        row.columns += column["mark"] is None and column["label"] is None
    return row


def _columns_before(text: str, row: _Row, drawn: float | None) -> None:
    """A share or a counter that ends where the bar begins. A description may end with two numbers as well."""
    share = row.percent or None
    for _ in range(2):
        found = _BEFORE.search(text, max(0, len(text) - 48))
        if found is None:
            return
        text = text[: found.start()]
        if found["percent"]:
            row.percent = row.percent or found["percent"]
            share = row.percent
        elif row.step is None and not _COUNTS_OTHERS.search(text[-16:]):
            shown = float(share) if share else drawn
            part = _share(found["step"], found["steps"])
            if shown is not None and part is not None and abs(part - shown) <= NEAR + (not share):
                row.step, row.steps = found["step"], found["steps"]


def _drawn(bar: str) -> float | None:
    """How many percent of a coloured bar are full, None where only its colour says it."""
    bar = bar.rstrip()
    at = max(bar.find("╸"), bar.find("╺"))
    return 100.0 * (at + 0.5) / len(bar) if 0 < at < len(bar) - 1 and len(bar) >= 20 else None


def _share(step: str, steps: str) -> float | None:
    whole = float(steps.replace(",", ""))
    return 100.0 * float(step.replace(",", "")) / whole if whole else None


def _tell(row: _Row, draft: Draft, *, titled: bool) -> None:
    draft.report = True
    low = row.unit.lower()
    moves = row.size or low.endswith("b/s")
    if moves:
        draft.phase = "load"
    whole = all(n is None or n[-1:] in "?-" or _is_whole(n) for n in (row.step, row.steps))
    share = float(row.percent) if row.percent and not row.endless else None
    if row.step and row.steps and not row.endless:
        part = _share(row.step, row.steps)
        if not row.size and share is not None and part is not None and abs(part - share) > NEAR:
            row.step = None  # it counts something else
        else:
            share = part
    if row.step and not row.size and whole:
        over_epochs = low.startswith(("epoch", "s/epoch"))
        draft.count("epoch" if over_epochs else "step", row.step)
        draft.count("epochs" if over_epochs else "steps", row.steps)
    if not row.endless:
        draft.value("percent", row.percent, float)
    if row.rate and not moves and low != "bytes/s":
        inverse = row.unit.startswith("s/")
        draft.value("rate", row.rate, _pace if inverse else words.number)
    for name, time in _times(row, share, titled=titled):
        draft.value(name, time, words.seconds)


def _times(row: _Row, share: float | None, *, titled: bool) -> list[tuple[str, str | None]]:
    """Which time is which. A plain time beside another one, or beside a counter, may be either."""
    times = row.times
    labelled = [
        ("elapsed" if label == "elapsed" else "eta", time)
        for time, label in times
        if label in ("eta", "elapsed", "remaining", "left")
    ]
    if labelled:
        return labelled
    if len(times) == 2:
        (one, _), (other, between) = times
        if between == "<" or (
            (between == "•" or row.unit.endswith(("it/s", "s/it")))
            and not _turned(one, other, share)
        ):
            return [("elapsed", one), ("eta", other)]
    if (
        len(times) == 1 and titled and row.percent and not row.step and row.columns == 2
    ):  # rich's own columns
        time = times[0][0]
        ended, zero = float(row.percent) >= 100.0, not time or not words.seconds(time)
        if ended is zero:
            return [("eta", time)]
    return []


def _turned(one: str | None, other: str | None, share: float | None) -> bool:
    """Whether the first one is rather what is left: the two agree with the share the other way round only."""
    first, second = (words.seconds(time) if time else None for time in (one, other))
    if not first or not second or share is None or not 0.0 < share < 100.0:
        return False
    off, odds = math.log(second / first), math.log((100.0 - share) / share)
    return abs(off + odds) < 0.5 and abs(off - odds) > 0.7


def _is_whole(number: str) -> bool:
    return float(number.replace(",", "")).is_integer()


def _pace(text: str) -> float | None:
    value = words.number(text)
    return 1.0 / value if value else None
