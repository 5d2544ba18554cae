"""From the views of all instances to the view of the fleet: what only all of them together show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from gpu_tui.core import metrics
from gpu_tui.core.account import Account
from gpu_tui.core.account_rules import unlisted
from gpu_tui.core.clocks import by_urgency
from gpu_tui.core.ending import OpenEnd
from gpu_tui.core.findings import Finding
from gpu_tui.core.fleet_now import FleetNow, Member
from gpu_tui.core.fleet_rules import fleet_conditions
from gpu_tui.core.rules import Condition
from gpu_tui.core.thresholds import THRESHOLDS, Threshold
from gpu_tui.state.book import Book
from gpu_tui.state.views import FleetView, InstanceView


class FleetBooks:
    """Since when each finding of the fleet as a whole is so."""

    def __init__(self) -> None:
        self._books: dict[str, Book] = {}
        self._since: float | None = None

    def take(self, seen: FleetNow) -> Mapping[str, tuple[Finding, ...]]:
        """What is so now, by the name that it is about."""
        found: defaultdict[str, list[Condition]] = defaultdict(list)
        for name, condition in fleet_conditions(seen):
            found[name].append(condition)
        self._since = since = seen.now if self._since is None else self._since
        self._books = {name: self._books.get(name, Book(name, since)) for name in found}
        for name, conditions in found.items():
            self._books[name].set_conditions(conditions, seen.now)
        return {name: book.findings() for name, book in self._books.items()}


def fleet_view(
    sweep: str | None,
    views: tuple[InstanceView, ...],
    accounts: tuple[Account, ...],
    books: FleetBooks,
    acknowledged: frozenset[str],
    notes: tuple[str, ...],
    now: float,
    unmet: frozenset[str] = frozenset(),
    thresholds: tuple[Threshold, ...] = THRESHOLDS,
    ends: Iterable[OpenEnd] = (),
) -> FleetView:
    """The whole fleet at `now`."""
    strangers = unlisted(accounts, (view.instance for view in views), now)
    platforms = {view.instance.platform: view.profile.title for view in views if view.profile}
    members = tuple(_member(view) for view in views)
    named = {view.name for view in views}
    orphans = tuple(end for end in ends if end.instance not in named)
    seen = FleetNow(now, members, accounts, strangers, platforms, thresholds, orphans)
    more = books.take(seen)
    views = tuple(
        replace(view, findings=_worst_first((*view.findings, *more[view.name])))
        if view.name in more
        else view
        for view in views
    )
    names = {view.name for view in views}
    elsewhere = [one for name, found in more.items() if name not in names for one in found]
    findings = [
        finding
        for finding in (*(one for view in views for one in view.findings), *elsewhere)
        if finding.id not in acknowledged or finding.kind == "teardown"  # only an end ends that
    ]
    return FleetView(
        sweep=sweep,
        taken_at=now,
        instances=views,
        findings=_worst_first(findings),
        clocks=by_urgency(clock for view in views for clock in view.clocks),
        notes=notes,
        accounts=accounts,
        unlisted=strangers,
        unmet=unmet,
        thresholds=thresholds,
    )


def _worst_first(findings: tuple[Finding, ...] | list[Finding]) -> tuple[Finding, ...]:
    def loudness(found: Finding) -> tuple[int, bool, float, str]:
        # Nothing is as urgent as what bills and nobody looks at.
        stranger = found.kind == "unlisted_instance"
        return found.severity.rank, not stranger, -found.last_seen, found.instance

    return tuple(sorted(findings, key=loudness))


def _member(view: InstanceView) -> Member:
    return Member(
        instance=view.instance,
        queue=view.queue,
        roster=view.track(metrics.ROSTER).value,
        provider=view.provider,
        live=view.link.live,
        own_end=view.own_end,
    )
