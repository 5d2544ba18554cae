"""From the views of all instances to the view of the fleet: what only all of them together show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from gpu_tui.core import metrics
from gpu_tui.core.account import Account
from gpu_tui.core.account_rules import unlisted
from gpu_tui.core.alert_channel import AlertChannel
from gpu_tui.core.clocks import DangerClock, by_urgency
from gpu_tui.core.ending import OpenEnd
from gpu_tui.core.findings import Finding
from gpu_tui.core.fleet_now import FleetNow, Member
from gpu_tui.core.fleet_rules import fleet_conditions
from gpu_tui.core.rules import Condition
from gpu_tui.core.sample import Freshness
from gpu_tui.core.thresholds import THRESHOLDS, Threshold
from gpu_tui.state.book import Book
from gpu_tui.state.history import History, NoHistory
from gpu_tui.state.seen_before import SeenBefore
from gpu_tui.state.session import Session
from gpu_tui.state.views import FleetView, InstanceView


class FleetBooks:
    """Since when each finding of the fleet as a whole is so."""

    def __init__(self, history: History | None = None) -> None:
        self._books: dict[str, Book] = {}
        self._since: float | None = None
        # All fleets of this user share these records.
        self.seen_before = SeenBefore(history or NoHistory(), "", drops=False)

    def take(self, seen: FleetNow) -> Mapping[str, tuple[Finding, ...]]:
        """What is so now, by the name that it is about."""
        found: defaultdict[str, list[Condition]] = defaultdict(list)
        for name, condition in fleet_conditions(seen):
            found[name].append(condition)
        self._since = since = seen.now if self._since is None else self._since
        self._books = {
            name: self._books.get(name, Book(name, since, self.seen_before)) for name in found
        }
        for name, conditions in found.items():
            self._books[name].set_conditions(conditions, seen.now)
        made = {name: book.findings() for name, book in self._books.items()}
        self.seen_before.note((f for one in made.values() for f in one), seen.now, since)
        return made


def fleet_view(
    sweep: str | None,
    views: tuple[InstanceView, ...],
    accounts: tuple[Account, ...],
    books: FleetBooks,
    acknowledged: Mapping[str, float],
    notes: tuple[str, ...],
    now: float,
    unmet: frozenset[str] = frozenset(),
    thresholds: tuple[Threshold, ...] = THRESHOLDS,
    ends: Iterable[OpenEnd] = (),
    channels: tuple[AlertChannel, ...] = (),
    session: Session | None = None,
) -> FleetView:
    """The whole fleet at `now`; `acknowledged` maps the id of a finding to the time of its acknowledgement."""
    views, outliving = _outlived(views, accounts)
    strangers = unlisted(accounts, (view.instance for view in views), now)
    platforms = {view.instance.platform: view.profile.title for view in views if view.profile}
    members = tuple(_member(view, now) for view in views)
    named = {view.name for view in views}
    orphans = tuple(end for end in ends if end.instance not in named)
    seen = FleetNow(now, members, accounts, strangers, platforms, thresholds, orphans, channels)
    more = books.take(seen)
    views = tuple(
        replace(view, findings=_worst_first((*view.findings, *more[view.name])))
        if view.name in more
        else view
        for view in views
    )
    names = {view.name for view in views}
    elsewhere = [one for name, found in more.items() if name not in names for one in found]
    whole = [*(one for view in views for one in view.findings), *elsewhere]
    findings = [
        finding
        for finding in whole
        if finding.id not in acknowledged or finding.kind == "teardown"  # only an end ends that
    ]
    return FleetView(
        sweep=sweep,
        taken_at=now,
        instances=views,
        findings=_worst_first(findings),
        clocks=by_urgency((*(clock for view in views for clock in view.clocks), *outliving)),
        notes=notes,
        accounts=accounts,
        unlisted=strangers,
        unmet=unmet,
        thresholds=thresholds,
        past=() if session is None else session.look(views, whole, acknowledged, now),
    )


def _outlived(
    views: tuple[InstanceView, ...], accounts: tuple[Account, ...]
) -> tuple[tuple[InstanceView, ...], tuple[DangerClock, ...]]:
    """The clocks of an account that outlive a box which is gone are those of the boxes that are left; where none
    is, of the account itself: the views without them, and those.
    """
    account_of = {name: account for account in accounts for name in account.serves}
    gone = {v.name for v in views if v.provider.state == "gone" and v.name in account_of}
    told = {
        (account_of[view.name].key, clock.key)
        for view in views
        if view.name in account_of and view.name not in gone
        for clock in view.clocks
        if clock.ticks
    }
    left: list[InstanceView] = []
    outliving: list[DangerClock] = []
    for view in views:
        if view.name in gone:
            account, more = account_of[view.name], [c for c in view.clocks if _is_shared(c)]
            view = replace(view, clocks=tuple(c for c in view.clocks if not _is_shared(c)))
            for clock in more:
                if clock.ticks and (account.key, clock.key) not in told:
                    told.add((account.key, clock.key))
                    outliving.append(replace(clock, instance=f"{account.platform}:account"))
        left.append(view)
    return tuple(left), tuple(outliving)


def _is_shared(clock: DangerClock) -> bool:
    """It is about the account, and nobody set it for this one instance."""
    return clock.starts in ("account", "storage") and clock.started_basis != "manual"


def _worst_first(findings: tuple[Finding, ...] | list[Finding]) -> tuple[Finding, ...]:
    def loudness(found: Finding) -> tuple[int, bool, float, str]:
        # Nothing is as urgent as what bills and nobody looks at.
        stranger = found.kind == "unlisted_instance"
        return found.severity.rank, not stranger, -found.last_seen, found.instance

    return tuple(sorted(findings, key=loudness))


def _member(view: InstanceView, now: float) -> Member:
    return Member(
        instance=view.instance,
        queue=view.queue,
        roster=view.track(metrics.ROSTER).value,
        provider=view.provider,
        live=view.link.live,
        box=_box(view, now),
        own_end=view.own_end,
    )


def _box(view: InstanceView, now: float) -> tuple[str, ...] | None:
    """The identity of the box behind this connection; None where a part of it is not known."""
    link, track = view.link, view.track(metrics.HOST)
    host, good = track.value, track.good
    if host is None or good is None or good.taken_at < link.since:
        return None
    if track.freshness(now, live=link.live) is not Freshness.FRESH:
        return None
    if not (link.host_key and host.boot_id and host.machine):
        return None
    return link.host_key, host.boot_id, host.machine
