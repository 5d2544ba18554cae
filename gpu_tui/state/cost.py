"""What an instance costs per hour now, and what its run has cost so far. Unknown is never zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_tui.core import units
from gpu_tui.core.alarms import Alarm
from gpu_tui.core.fleet import Money
from gpu_tui.core.nonfinite import share_since
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.state.history import Anchored
from gpu_tui.state.paid import Paid
from gpu_tui.state.timeline import last_alive, stop_mark
from gpu_tui.state.views import Cost

if TYPE_CHECKING:
    from gpu_tui.state.instance import InstanceState

NO_PRICE = "no price in the fleet file, and none from an API"
LOST_REPORTS = 3  # NaN or Inf reports in a row; fewer may be one odd batch
OVER = ("stopped", "ended", "gone")
STORAGE = "it is stopped: what its storage costs is not known, and not zero"
ENDED = "it ended for ever: whether anything of it still bills is not known"


def cost_of(kept: InstanceState, now: float, anchored: Anchored) -> Cost:
    """The instance's cost at `now`: by the API's price, else by the one in the fleet file."""
    told, typed = kept.provider.price, kept.instance.price
    price = told or typed
    currency = price.currency if price else None
    since = _since(kept, anchored)
    if kept.provider.state in OVER:
        # What is typed is the price of a box that runs.
        stored = told.amount if told else None
        rate = 0.0 if kept.provider.state == "gone" else stored
        unknown = ENDED if kept.provider.state == "ended" else STORAGE
        return _over(rate, currency, since, kept.paid, unknown)
    if _said_off(kept, anchored):
        return _over(None, currency, since, paid_until_now(kept), STORAGE)
    if price is None:
        return Cost(why={"per_hour": NO_PRICE})
    spent, why = None, {}
    if since is not None:
        spent = _spent(kept, since, _until(kept, now, anchored), price)
        if told is not None and kept.meter.changed:
            why["spent"] = "the price changed meanwhile: each hour at the price it had"
    return Cost(price.amount, currency, spent, since, "api" if told else "fleet-file", why)


def _over(
    rate: float | None, currency: str | None, since: float | None, paid: Paid | None, unknown: str
) -> Cost:
    """Of a box that runs no more: what it had cost stays, where that is in the same money."""
    why = {"per_hour": unknown} if rate is None else {}
    basis = "unknown" if rate is None else "api"
    if paid is None or (rate and currency != paid.money.currency):
        return Cost(rate, currency, None, since, basis, why)
    return Cost(rate, paid.money.currency, paid.money.amount, paid.since, basis, why)


def paid_until_now(kept: InstanceState) -> Paid | None:
    """What it has cost until it was last known to run; None where price or beginning are not known."""
    anchored = kept.history.anchors(kept.instance.name)
    price, since = kept.provider.price or kept.instance.price, _since(kept, anchored)
    seen = [kept.provider.read_at, last_alive(_times(anchored))]
    until = max((at for at in seen if at is not None), default=None)
    if price is None or since is None or until is None:
        return None
    amount = _spent(kept, since, until, price)
    return None if amount is None else Paid(Money(amount, price.currency), since)


def _since(kept: InstanceState, anchored: Anchored) -> float | None:
    """When the bill of the present run began, else since when it is known to run: since the box was first seen,
    or since it was switched on after that. Nobody knows how long it was off between the two.
    """
    if kept.provider.started_at:
        return kept.provider.started_at
    seen = [anchored[kind][0] for kind in ("first_seen", "begun_at") if kind in anchored]
    return max(seen) if "first_seen" in anchored else None


def _until(kept: InstanceState, now: float, anchored: Anchored) -> float:
    """Until when it is known to run: while it does not answer, and no API calls it running, it may be off."""
    told = kept.provider.state == "running" and not kept.provider.error
    alive = last_alive(_times(anchored))
    return now if kept.link.live or told or alive is None else min(now, alive)


def _said_off(kept: InstanceState, anchored: Anchored) -> bool:
    """A person says that it was stopped, and nothing was heard of it since."""
    heard = kept.link.live or kept.provider.state != "unknown"
    return not heard and stop_mark(_times(anchored)) is not None


def _times(anchored: Anchored) -> dict[str, float]:
    return {kind: at for kind, (at, _) in anchored.items()}


def _spent(kept: InstanceState, since: float, until: float, price: Money) -> float | None:
    if kept.provider.price is not None and kept.meter.changed:
        return kept.meter.spent(since, until)
    return max(0.0, until - since) / 3600 * price.amount


def price_of(cost: Cost, seconds: float) -> str | None:
    """What `seconds` cost, as text; None where that is not known."""
    if cost.per_hour is None:
        return None
    return units.money(cost.per_hour * seconds / 3600, cost.currency)


def lost_since(alarm: Alarm, cell: Cell | None, cost: Cost, now: float) -> str | None:
    """Time and money spent since a metric became NaN or Inf, in words, from the third report in a row on.

    If the reports were there before we looked, the time is estimated from the share of the run that they cover
    ("about"); without counters it is at most the time that the cell has run ("up to").
    """
    lost = alarm.lost
    if lost is None or lost.reports < LOST_REPORTS:
        return None
    words = f"{lost.reports} reports in a row"
    if lost.since is not None:
        over = cell is not None and cell.state is not CellState.RUNNING
        seconds, how = (alarm.last_seen if over else now) - lost.since, ""
    elif cell is not None and cell.duration_seconds is not None:
        part = share_since(lost)
        seconds = cell.duration_seconds * (1.0 if part is None else part)
        how = "up to " if part is None else "about "
    else:
        return words
    price = price_of(cost, seconds)
    return f"{words}, {how}{units.words(seconds)}" + (f" and {price}" if price else "") + " since"
