"""Once per event: which of the news is new, given what was told before. Pure.

The rules:
- The first look at an instance tells nothing one by one: what is there is `first`, for one summary.
- Afterwards a key that was never seen is new.
- One that went and came back is new again only after it was gone for GONE seconds.
- One that got worse is new again.
- A more precise name for a crash that the last look had under a vaguer one (`News.barer`) is not new.
- One that happened again (a cell that ran again) is new again: see HAPPENED.
- News that a channel does not want (by the settings of this program) is not sent by it, and stays new for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from gpu_tui.core.findings import Severity
from gpu_tui.state.news import News

GONE = 1_800.0  # seconds
ALARM = Severity.SERIOUS.rank
HAPPENED = 10_800.0  # seconds: a box that changes its zone moves its stamps by less


@dataclass(frozen=True, slots=True)
class Known:
    """What is kept of one key. `rank` is the worst severity told, `gone` when it was first missed.

    `place` is the instance, or "" for what is about none of the fleet file.
    """

    place: str
    told: float
    rank: int
    gone: float | None = None
    happened: float | None = None


@dataclass(frozen=True, slots=True)
class Sifted:
    """`fresh` is ours to tell; `told` was told by another gpu-tui after `since`; `first` was there before us."""

    fresh: tuple[News, ...] = ()
    told: tuple[News, ...] = ()
    first: tuple[News, ...] = ()
    changes: Mapping[str, Known] = field(default_factory=dict)
    looked: frozenset[str] = frozenset()


def sift(
    news: Iterable[News],
    known: Mapping[str, Known],
    looked: frozenset[str],
    ready: frozenset[str],
    members: frozenset[str],
    *,
    now: float,
    since: float,
    wants: Callable[[News], bool] = lambda news: True,
) -> Sifted:
    """Judge the news of the places in `ready`; of the others nothing is known now, and nothing changes."""
    fresh: list[News] = []
    told: list[News] = []
    first: list[News] = []
    changes: dict[str, Known] = {}
    seen: set[str] = set()
    news = tuple(news)
    keys = {one.key for one in news}
    for one in news:
        place = one.instance if one.instance in members else ""
        if place not in ready or one.key in seen:
            continue
        seen.add(one.key)
        old = known.get(one.key)
        if (same := _barer(one, known, keys)) is not None:
            changes[one.key] = old = same
        if old is None or _again(old, one, now):
            if not wants(one):
                continue
            (first if place not in looked else fresh).append(one)
            changes[one.key] = Known(place, now, one.severity.rank, None, one.happened)
            continue
        if old.told > since:
            told.append(one)
        if old.gone is not None:
            changes[one.key] = replace(old, gone=None)
    for key, old in known.items():
        if key not in seen and old.place in ready and old.gone is None:
            changes[key] = replace(old, gone=now)
    return Sifted(tuple(fresh), tuple(told), tuple(first), changes, ready - looked)


def _barer(news: News, known: Mapping[str, Known], keys: Collection[str]) -> Known | None:
    """The known entry of the same crash under a vaguer name: an alarm at the last look, now reported under this key."""
    rows = (known[key] for key in news.barer if key in known and key not in keys)
    row = next((row for row in rows if row.gone is None and row.rank <= ALARM), None)
    return row and replace(row, rank=min(row.rank, news.severity.rank), happened=news.happened)


def _again(old: Known, news: News, now: float) -> bool:
    if old.gone is not None and now - old.gone >= GONE:
        return True
    ended = news.kind == "crashed" and news.cell is not None and old.rank <= ALARM
    if news.severity.rank < old.rank and not ended:  # one crash, whichever source reports it first
        return True
    if news.happened is None or old.happened is None:
        return False
    return news.happened - old.happened > HAPPENED
