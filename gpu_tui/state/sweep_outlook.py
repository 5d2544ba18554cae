"""From the view of the fleet to the outlook of its sweep."""

from __future__ import annotations

from gpu_tui.core import metrics
from gpu_tui.core.campaign import Lane, Outlook, Trust, outlook_of
from gpu_tui.core.sample import Freshness
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.views import FleetView, InstanceView


def sweep_outlook(fleet: FleetView) -> Outlook:
    """The outlook over all boxes that have a queue, or should have one by the fleet file."""
    return outlook_of([_lane(view) for view in fleet.instances if _planned(view)])


def _planned(view: InstanceView) -> bool:
    of = view.instance
    return bool(of.queue.file or of.queue.log or of.scheduler or view.queue.cells)


def _lane(view: InstanceView) -> Lane:
    cost = view.cost
    seen = view.last_contact
    return Lane(
        name=view.name,
        queue=view.queue,
        trust=_trust(view),
        contact=None if seen is None else max(0.0, view.taken_at - seen),
        one_by_one=view.instance.queue.file is not None or view.instance.queue.log is not None,
        stalled=view.verdict is Verdict.STALLED,
        per_hour=cost.per_hour,
        currency=cost.currency,
        spent=cost.spent,
        spent_exact=view.provider.started_at is not None,
        basis=cost.basis,
    )


def _trust(view: InstanceView) -> Trust:
    """What its queue is worth: read at all, still read, or only remembered."""
    queue, roster = view.queue, view.freshness(metrics.ROSTER)
    if not queue.cells and not queue.total and roster is Freshness.UNKNOWN:
        return Trust.UNREAD
    if view.verdict is Verdict.OFF:
        return Trust.OFF
    if not view.link.live:
        return Trust.UNREACHABLE
    if roster is Freshness.STALE:
        return Trust.STALE
    return Trust.LIVE
