"""From the view of the fleet to the outlook of its sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpu_tui.core import metrics
from gpu_tui.core.account import Account
from gpu_tui.core.campaign import Lane, Outlook, Trust, outlook_of
from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.fleet import Instance
from gpu_tui.core.metrics import Metric
from gpu_tui.core.sample import Freshness
from gpu_tui.core.sweep import CellState
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.views import FleetView, InstanceView


def sweep_outlook(fleet: FleetView) -> Outlook:
    """The outlook over all boxes that have a queue, or should have one by the fleet file."""
    return outlook_of([_lane(view, fleet) for view in fleet.instances if planned(view)])


def planned(view: InstanceView) -> bool:
    """It has a queue, or should have one by the fleet file."""
    return bool(view.instance.queue.names_runs or view.instance.scheduler or view.queue.cells)


def _lane(view: InstanceView, fleet: FleetView) -> Lane:
    cost = view.cost
    accounts = [account for account in fleet.accounts if view.name in account.serves]
    seen = view.queue_read or view.last_contact
    return Lane(
        name=view.name,
        queue=view.queue,
        trust=trust_in(view),
        contact=None if seen is None else max(0.0, view.taken_at - seen),
        one_by_one=view.instance.queue.file is not None or view.instance.queue.log is not None,
        begun_only=_begun_only(view),
        stalled=view.verdict is Verdict.STALLED,
        per_hour=cost.per_hour,
        currency=cost.currency,
        spent=cost.spent,
        spent_exact=view.spent_exact,
        basis=cost.basis,
        adrift=any(found.kind == "runner_gone" for found in view.findings),
        unfit=_unfit(view, fleet, accounts),
        ends_in=_ends_in(view, accounts),
        scheduled=view.instance.scheduler is not None,
    )


def _unfit(view: InstanceView, fleet: FleetView, accounts: Sequence[Account]) -> str | None:
    """The kind of a serious finding of the box, or of the account that pays for it; None if there is none."""
    of_account = (
        found
        for found in fleet.findings
        if found.kind == "low_balance" and any(_is_of(found, account) for account in accounts)
    )
    grave = (f for f in (*view.findings, *of_account) if f.severity.rank <= Severity.SERIOUS.rank)
    found = next(grave, None)
    return None if found is None else found.kind


def _is_of(found: Finding, account: Account) -> bool:
    """Whether a finding is about the account. It carries the platform's name, and `part` begins with the account's key."""
    part = found.part or ""
    whose = part.rpartition("@")[0] or part
    return found.instance == f"{account.platform}:account" and whose in (account.key, "remark")


def _ends_in(view: InstanceView, accounts: Sequence[Account]) -> float | None:
    """Seconds until the box can work no longer: a full disk, an empty account, a deadline that does more than bill."""
    ends = [*view.full_in.values()]
    ends += [account.runway for account in accounts if account.runway is not None]
    ends += [
        clock.deadline - view.taken_at
        for clock in view.clocks
        if clock.ticks and clock.deadline is not None and clock.effect != "bills"
    ]
    return min(ends, default=None)


def _begun_only(view: InstanceView) -> bool:
    """What runs was only seen running (a pane, a detached program, a log): a shell's loop may start more."""
    if view.instance.queue.names_runs or view.instance.scheduler:
        return False
    tables = (view.track(metric).value for metric in (metrics.SPOOLER, metrics.PUEUE))
    listed = {job.name for table in tables if table for job in table.jobs}
    runs = (cell for cell in view.queue.cells if cell.state is CellState.RUNNING)
    return any(cell.name not in listed for cell in runs)


def trust_in(view: InstanceView) -> Trust:
    """What its queue is worth: read at all, still read, or only remembered."""
    told = {view.freshness(metric) for metric in _tellers(view.instance)}
    if not view.queue.cells and not view.queue.total and Freshness.UNKNOWN in told:
        return Trust.UNREAD
    if view.verdict is Verdict.OFF:
        return Trust.OFF
    if not view.link.live:
        return Trust.UNREACHABLE
    return Trust.STALE if Freshness.STALE in told else Trust.LIVE


def _tellers(instance: Instance) -> list[Metric[Any]]:
    """Who says, by the fleet file, what is to run on it."""
    queue = instance.queue
    named = (
        (instance.scheduler == "slurm", metrics.SLURM),
        (instance.scheduler == "kubernetes", metrics.KUBERNETES),
        (queue.status or queue.status_command, metrics.FEED),
        (queue.commands, metrics.COMMANDS),
        (queue.file or queue.log, metrics.ROSTER),
    )
    return [metric for there, metric in named if there]
