"""From what is kept of one instance to its danger clocks at one moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from itertools import takewhile

from gpu_tui.core import metrics
from gpu_tui.core.account import Account
from gpu_tui.core.anchors import Anchors
from gpu_tui.core.checkpoint import Checkpoint
from gpu_tui.core.clocks import DangerClock, clocks_of, staged
from gpu_tui.core.fleet import ProviderState
from gpu_tui.core.growth import steady_rate
from gpu_tui.core.in_time import Pace, falls_short
from gpu_tui.core.job_scope import in_scope
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.mount_state import fault_of
from gpu_tui.core.own_clocks import JOBS_SHOWN, Fill, Seen, own_clocks
from gpu_tui.core.rules import Idle
from gpu_tui.core.series import Series
from gpu_tui.core.sweep import Queue
from gpu_tui.core.thresholds import THRESHOLDS, Threshold
from gpu_tui.state.history import Anchored
from gpu_tui.state.instance import InstanceState
from gpu_tui.state.timeline import MARKED, last_alive, stop_mark

READING_KEPT = 600.0  # a rate whose last point is older says nothing of now
IDLE_AFTER = 600.0
AUTO_OFF_HOURS = "autoShutdownTimeout"  # Paperspace: hours by the wall clock from the last start
NEWEST = ("latest.pth", "best.pth", "last.pth", ".pt", ".ckpt", ".safetensors")


def clocks_at(
    kept: InstanceState,
    now: float,
    anchored: Anchored,
    *,
    account: Account | None,
    queue: Queue,
    alive: bool | None,
    idle: Idle | None,
    thresholds: Sequence[Threshold] = THRESHOLDS,
) -> tuple[DangerClock, ...]:
    """All clocks of the instance at `now`: the platform's, and those that its readings make."""
    fills = tuple(_fills(kept, now))
    profile, name = kept.profile, kept.instance.name
    found: tuple[DangerClock, ...] = ()
    if profile is not None:
        anchors = anchors_of(kept, now, anchored, account=account, idle=idle)
        found = clocks_of(profile, name, anchors, now, kept.instance.provider.variant, thresholds)
    seen = _seen(kept, now, anchored, fills, queue, alive=alive)
    own = staged(own_clocks(profile, name, seen, now), now, thresholds, kept.timeline.held)
    told = {clock.id for clock in own}
    clocks = (*(clock for clock in found if clock.id not in told), *own)
    kept.timeline.held = {clock.key: clock.stage for clock in clocks if clock.stage}
    kept.timeline.short = frozenset(clock.subject for clock in clocks if clock.short)
    return clocks


def anchors_of(
    kept: InstanceState,
    now: float,
    anchored: Anchored,
    *,
    account: Account | None = None,
    idle: Idle | None = None,
) -> Anchors:
    """What was observed of the instance that a clock of its platform may start from."""
    times = {kind: at for kind, (at, _) in anchored.items()}
    contact = last_alive(times)
    stopped, stopped_basis = _stopped(kept, times)
    created, created_basis = _created(kept, times)
    rental, rental_basis = kept.provider.ends_at, "api"
    if "rental_end" in times:
        rental, rental_basis = times["rental_end"], "manual"
    elif rental is None:
        rental, rental_basis = _switched_off(kept, times, now), "reading"
    balance, balance_basis = _balance(kept, account)
    return Anchors(
        power=_power(kept, stopped),
        stopped_at=stopped,
        stopped_basis=stopped_basis,
        created_at=created,
        created_basis=created_basis,
        last_contact=contact,
        manual_deadlines=_named(times, "deadline:"),
        told_deadlines=_to_come(kept.provider, now),
        manual_starts=_named(times, "since:"),
        rental_end=rental,
        rental_basis=rental_basis if rental is not None else "unknown",
        balance_at=balance,
        balance_basis=balance_basis,
        idle_since=now - idle.seconds if idle is not None and idle.seconds >= IDLE_AFTER else None,
        lost=kept.timeline.lost,
        stored=tuple(sorted({one.kind for one in account.stored if one.used is not True}))
        if account
        else (),
    )


def _named(times: Mapping[str, float], prefix: str) -> dict[str, float]:
    return {kind.removeprefix(prefix): at for kind, at in times.items() if kind.startswith(prefix)}


def _to_come(told: ProviderState, now: float) -> dict[str, float]:
    """What the provider says of the clocks of an instance that runs; one that is over said nothing."""
    if told.state != "running":
        return {}
    return {clock: at for clock, at in told.deadlines.items() if at > now}


def _power(kept: InstanceState, stopped: float | None) -> str:
    if kept.provider.state != "unknown":
        return kept.provider.state
    if kept.link.live:
        return "running"
    return "stopped" if stopped is not None else "unknown"


def _stopped(kept: InstanceState, times: Mapping[str, float]) -> tuple[float | None, str]:
    """Since when it is off: as the provider says, else as a person typed since we last reached it."""
    if kept.provider.state == "stopped" and kept.provider.stopped_at is not None:
        return kept.provider.stopped_at, "api"
    typed = stop_mark(times)
    return (None, "unknown") if typed is None else (typed, "manual")


def _created(kept: InstanceState, times: Mapping[str, float]) -> tuple[float | None, str]:
    """When the present session began: typed, from the provider, from its first process, else first seen."""
    begun, typed = times.get("begun_at"), times.get("created_at")
    if typed is not None and (begun is None or begun <= typed + MARKED):
        return typed, "manual"
    if kept.provider.started_at is not None:
        return kept.provider.started_at, "api"
    if begun is not None:
        return begun, "reading"
    return times.get("first_seen"), "first-seen"


def _switched_off(kept: InstanceState, times: Mapping[str, float], now: float) -> float | None:
    """When the platform's own timer ends a box that runs: it counts from the last start."""
    begun, hours = times.get("begun_at"), kept.provider.facts.get(AUTO_OFF_HOURS)
    if begun is None or hours is None or kept.provider.state != "running":
        return None
    try:
        at = begun + float(hours) * 3600
    except ValueError:
        return None
    # A start that we saw before the present one would have ended by now.
    return at if now < at < begun + 366 * 86400 else None


def _balance(kept: InstanceState, account: Account | None) -> tuple[float | None, str]:
    """When the account is empty; its own first sight where it is empty already."""
    if account is None or account.balance is None or account.read_at is None:
        return None, "unknown"
    if account.balance.amount <= 0:
        empty = kept.history.anchor(account.key, "balance_empty")
        return (empty[0] if empty else account.read_at), "first-seen"
    runway = account.runway
    if runway is None:
        return None, "unknown"
    return account.read_at + runway, "part-rate" if account.spend_at_least else "rate"


# --- readings ----------------------------------------------------------------------------------


def full_in(kept: InstanceState, now: float) -> dict[str, float]:
    """Seconds until each mount is full at the present rate, by path: the sooner of bytes and inodes."""
    left: dict[str, float] = {}
    for path, _, seconds, _ in _mount_rates(kept, now):
        left[path] = max(0.0, min(seconds, left.get(path, seconds)))
    return left


def _fills(kept: InstanceState, now: float) -> Iterator[Fill]:
    track = kept.tracks.get(metrics.MOUNTS.name)
    if track is not None and track.good is not None:
        read_at = track.good.taken_at
        if now - read_at <= READING_KEPT:
            for path, axis, seconds, watched in _mount_rates(kept, now):
                yield Fill(axis, path, read_at + seconds, watched)
    memory, series = kept.fresh(metrics.MEMORY, now), kept.series.get("memory_needed")
    if memory is None or memory.source == "host" or not memory.limit or series is None:
        return
    # What only rose at the start is no leak, nor a run that began just now: the newest third must rise as
    # well, and in both its halves.
    whole, newest, known = series.rate(), series.rate(share=1 / 3), series.points.known()
    if whole is None or newest is None or known is None:
        return
    halves = series.rate(share=1 / 3, until=1 / 6), series.rate(share=1 / 6)
    rate = min(whole, newest, *(half for half in halves if half is not None))
    (began, _), (at, used) = known
    if rate > 0 and used is not None:
        left = max(0.0, (memory.limit - used) / rate)
        yield Fill("memory", "", at + left, at - began)


def _mount_rates(kept: InstanceState, now: float) -> Iterator[tuple[str, str, float, float]]:
    """Path, axis, seconds to full (below 0: since then it is) and seconds watched, of everything that grows."""
    before = kept.mounts_before.read(now)
    for mount in kept.value(metrics.MOUNTS) or ():
        if mount.read_only or fault_of(mount, before.get(mount.path)) is not None:
            continue
        for axis in ("bytes", "inodes"):
            used, total = mount.counts(axis)
            series = kept.series.get(f"{axis}:{mount.path}")
            found = _time_to_full(series, used, total)
            if found is not None and not (found[0] > 0 and _at_rest(kept, series)):
                yield mount.path, axis, *found


def _at_rest(kept: InstanceState, series: Series | None) -> bool:
    """The queue has ended, and nothing was written for the newest third of what was seen: the rate is over."""
    if kept.queue_history.done is None or series is None:
        return False
    return (series.rate(share=1 / 3) or 0.0) <= 0


def _time_to_full(
    series: Series | None, used: int | None, total: int | None
) -> tuple[float, float] | None:
    if series is None or used is None or not total or len(series) < 2:
        return None
    known = series.points.known()
    if known is None:
        return None
    (began, _), (ended, _) = known
    if used >= total:
        grew = (series.rate() or 0.0) > 0
        return (_full_since(series, total) - ended, ended - began) if grew else None
    rate = steady_rate(series.points, used, total)
    return None if rate is None else ((total - used) / rate, ended - began)


def _full_since(series: Series, total: int) -> float:
    """When the newest stretch without room began, as far as it was seen."""
    points = series.points
    full = takewhile(lambda point: point[1] is not None and point[1] >= total, reversed(points))
    return min((at for at, _ in full), default=points[-1][0])


def _seen(
    kept: InstanceState,
    now: float,
    anchored: Anchored,
    fills: tuple[Fill, ...],
    queue: Queue,
    *,
    alive: bool | None,
) -> Seen:
    known = {fact.id for fact in kept.profile.clocks} if kept.profile else set()
    dates = {
        kind.removeprefix("deadline:"): at
        for kind, (at, _) in anchored.items()
        if kind.startswith("deadline:") and kind.removeprefix("deadline:") not in known
    }
    eta = queue.eta_seconds
    paces = kept.paces.update(queue.cells, now)
    short = kept.timeline.short
    return Seen(
        fills=fills,
        jobs=tuple(_jobs(kept, now, paces)),
        paces=paces,
        short=short,
        run_ends=None if eta is None else now + eta,
        checkpoint=_checkpoint(kept, now) if alive else None,
        dates=dates,
    )


def _jobs(kept: InstanceState, now: float, paces: Mapping[str, Pace]) -> Iterator[Job]:
    """The jobs of every scheduler that end or go soonest, and those that do not end in time, by our clock."""
    tables = [table for metric in metrics.JOBS if (table := kept.value(metric)) is not None]
    jobs = [job for table in tables for job in _with_clocks(kept, table)]
    ours, late = kept.timeline.ours, kept.timeline.short
    ends = [(job.ends_by, n) for n, job in enumerate(jobs) if job.live and job.ends_by is not None]
    short = (
        (at, n)
        for at, n in ends
        if falls_short(paces.get(jobs[n].name), ours(at) - now, before=jobs[n].name in late)
    )
    gone = ((job.removed_at, n) for n, job in enumerate(jobs) if job.removed_at is not None)
    firsts = (nsmallest(JOBS_SHOWN, rows) for rows in (ends, short, gone))
    soon = {n for rows in firsts for _, n in rows}
    for job in (jobs[n] for n in sorted(soon)):
        yield replace(
            job,
            started_at=None if job.started_at is None else ours(job.started_at),
            finished_at=None if job.finished_at is None else ours(job.finished_at),
            ends_by=None if job.ends_by is None else ours(job.ends_by),
            removed_at=None if job.removed_at is None else ours(job.removed_at),
        )


def _with_clocks(kept: InstanceState, table: JobTable) -> Iterator[Job]:
    """The jobs whose ends are reported: those of the sweep, and this user's interactive jobs, which hold a node."""
    cells = {job.id for job in in_scope(table, kept.instance, None)[0].jobs}
    return (job for job in table.jobs if job.id in cells or job.interactive)


def _checkpoint(kept: InstanceState, now: float) -> Checkpoint | None:
    """The newest checkpoint among the files that are looked at."""
    table = kept.fresh(metrics.FILES, now)
    if table is None:
        return None
    saved = [stat for path, stat in table.found.items() if path.endswith(NEWEST) and stat.size]
    newest = max(saved, key=lambda stat: stat.mtime, default=None)
    if newest is None:
        return None
    at = min(now, kept.timeline.ours(newest.mtime))
    return Checkpoint(at, newest.size, newest.path, spot=_is_spot(kept))


def _is_spot(kept: InstanceState) -> bool:
    """Whether this instance's variant is one that may be taken away without being asked."""
    variant, profile = kept.instance.provider.variant, kept.profile
    if variant is None or profile is None:
        return False
    return any(fact.anchor == "signal" and variant in fact.applies_to for fact in profile.clocks)
