"""Clocks that no platform's fact sheet holds: what the readings, the schedulers and a person say of one box. Pure.

A disk or the memory that fills at the present rate, a job's own limit, a checkpoint that grows old, a date
that somebody set.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from gpu_tui.core import units
from gpu_tui.core.anchors import RATE
from gpu_tui.core.checkpoint import Checkpoint
from gpu_tui.core.clocks import DangerClock
from gpu_tui.core.in_time import REMEDY, Pace, falls_short
from gpu_tui.core.jobs import Job
from gpu_tui.core.profile import ClockFact, Profile, fact_is_stale

JOBS_SHOWN = 20  # of one box, soonest first, and as many that do not end in time
HORIZON = 7 * 86400.0  # beyond it a rate says nothing
EXTRAPOLATED = 20.0  # a rate is believed for this many times as long as it was watched
WATCHED = 300.0  # seconds that it must have been watched
NAMES = {"bytes": "disk-full", "inodes": "inodes-full", "memory": "memory-full"}


@dataclass(frozen=True, slots=True)
class Fill:
    """Something that grows towards its limit: full at `at` (epoch seconds) if the rate stays.

    `axis` is bytes, inodes or memory; `path` the mount; `watched` the seconds that the rate was watched.
    """

    axis: str
    path: str
    at: float
    watched: float

    def believed(self, now: float) -> bool:
        """Whether the rate was watched long enough to say so much of the future."""
        left = self.at - now
        return self.watched >= WATCHED and left <= min(HORIZON, EXTRAPOLATED * self.watched)


@dataclass(frozen=True, slots=True)
class Seen:
    """The inputs of the clocks. Times are our epoch seconds; `paces` are by job name.

    `short`: the jobs that, at the last look, did not come to their end before their limit.
    """

    fills: tuple[Fill, ...] = ()
    jobs: tuple[Job, ...] = ()
    paces: Mapping[str, Pace] = field(default_factory=dict)
    short: Collection[str | None] = ()
    run_ends: float | None = None  # the queue's own end, as far as it can be told
    checkpoint: Checkpoint | None = None
    dates: Mapping[str, float] = field(default_factory=dict)  # a person's own, by name


def own_clocks(
    profile: Profile | None, instance: str, seen: Seen, now: float
) -> tuple[DangerClock, ...]:
    """All of them."""
    return (
        *_fills(profile, instance, seen, now),
        *_jobs(profile, instance, seen, now),
        *_checkpoint(instance, seen.checkpoint, now),
        *(_date(name, at, instance, now) for name, at in seen.dates.items()),
    )


def _own(id: str, instance: str, at: float, now: float, avoid: str) -> DangerClock:
    """A clock whose source is what is read here and now."""
    today = datetime.fromtimestamp(now, UTC)
    return DangerClock(
        id=id,
        instance=instance,
        state="running" if at > now else "fired",
        starts="reading",
        started_at=None,
        started_basis="reading",
        fires_at=at,
        earliest_fires_at=at,
        latest_fires_at=at,
        loses=None,
        bills=None,
        severity="medium",
        avoid=avoid,
        source="readings of the box",
        verified=f"{today:%Y-%m}",
        confidence="medium",
        stale_fact=False,
    )


def _fills(profile: Profile | None, instance: str, seen: Seen, now: float) -> Iterator[DangerClock]:
    told: set[str] = set()
    for fill in sorted(seen.fills, key=lambda fill: fill.at):
        if fill.believed(now):
            clock = _fill(fill, instance, seen, now)
            fact = next((f for f in _full_facts(profile, fill) if f.id not in told), None)
            if fact is not None:
                told.add(fact.id)
                clock = _by(clock, fact, now)
            yield clock


FULL_WORDS = {"bytes": ("disk-full", "quota"), "inodes": ("inode",), "memory": ("memory",)}


def _full_facts(profile: Profile | None, fill: Fill) -> Iterator[ClockFact]:
    """The platform's own facts of something that fills: of the tier that the id names, else of any."""
    for fact in profile.clocks if profile else ():
        reads = fact.anchor == "reading" and fact.effect != "bills"
        if profile and reads and any(word in fact.id for word in FULL_WORDS[fill.axis]):
            tiers = [tier.path for tier in profile.storage if tier.id in fact.id.split("-")]
            if not tiers or fill.path in tiers:
                yield fact


def _fill(fill: Fill, instance: str, seen: Seen, now: float) -> DangerClock:
    memory = fill.axis == "memory"
    if memory:
        note = "the cgroup's memory limit is reached and the kernel kills the run"
        avoid = "Fewer DataLoader workers, smaller caches; look for what grows."
    elif fill.axis == "inodes":
        note = f"{fill.path} has no inode left: no new file, whatever df says of bytes"
        avoid = "Pack or delete small files; a bigger disk does not help."
    else:
        note = f"{fill.path} is full: the next checkpoint is cut off"
        avoid = "Prune scratch, or grow the disk, before that."
    clock = _own(NAMES[fill.axis], instance, fill.at, now, avoid)
    ends = seen.run_ends
    if ends is not None and not memory:
        note += ", before the run ends" if fill.at < ends else ", after the run should have ended"
    return replace(
        clock,
        kind="mem_pressure" if memory else "disk_soon",
        subject=None if memory else fill.path,
        bound=RATE,
        started_basis="rate",
        note=note,
        severity="high" if ends is not None and fill.at < ends else "medium",
        early=ends is None or fill.at < ends,
    )


def _jobs(profile: Profile | None, instance: str, seen: Seen, now: float) -> Iterator[DangerClock]:
    ends = sorted((j.ends_by, j.name, j) for j in seen.jobs if j.live and j.ends_by is not None)
    for at, name, job in ends:
        pace = seen.paces.get(name)
        short = falls_short(pace, at - now, before=name in seen.short)
        fits = pace is not None and pace.left <= at - now
        begun = job.started_at
        clock = replace(
            _own("job-time-limit", instance, at, now, "Let a checkpoint land before it; requeue."),
            starts="running",
            started_at=begun,
            started_basis="api",
            subject=name,
            kind="time_limit",
            loses=f"{name}'s work since its last checkpoint",
            after=None if begun is None or begun >= at else at - begun,
            source=f"the scheduler's own end of {job.id}",
            confidence="high",
            severity="medium" if pace is None else "low" if fits else "high",
            early=not fits,
            why="it should end before that" if fits else short,
            short=short,
        )
        clock = _told_by(clock, profile, ("walltime", "deadline"), now)
        yield replace(clock, avoid=REMEDY) if short else clock
    gone = sorted((j.removed_at, j.name, j) for j in seen.jobs if j.removed_at is not None)
    for at, name, job in gone[:JOBS_SHOWN]:
        begun = job.finished_at
        clock = replace(
            _own("job-removal", instance, at, now, "Copy its logs before that."),
            starts="storage",
            started_at=begun,
            started_basis="api",
            subject=name,
            effect="destroys",
            loses=f"{name}, its pods and their logs",
            after=None if begun is None or begun >= at else at - begun,
            source=f"the scheduler's own removal of {job.id}",
            confidence="high",
        )
        yield _told_by(clock, profile, ("ttl",), now)


def _told_by(
    clock: DangerClock, profile: Profile | None, words: Iterable[str], now: float
) -> DangerClock:
    """The clock under the name that the platform's own facts have for it, with their words."""
    fact = job_fact(profile, words)
    return clock if fact is None else _by(clock, fact, now)


def _by(clock: DangerClock, fact: ClockFact, now: float) -> DangerClock:
    """The clock under the name of a platform's fact, with what that says of it."""
    today = datetime.fromtimestamp(now, UTC).date()
    return replace(
        clock,
        id=fact.id,
        avoid=fact.avoid,
        source=fact.source,
        verified=fact.verified,
        confidence=fact.confidence,
        stale_fact=fact_is_stale(fact.verified, today),
    )


def job_fact(profile: Profile | None, words: Iterable[str]) -> ClockFact | None:
    """The fact of a scheduler's platform that one of these words of its id names."""
    if profile is None or profile.kind not in ("slurm", "kubernetes"):
        return None
    return next(
        (fact for word in words for fact in profile.clocks if word in fact.id.split("-")), None
    )


def _checkpoint(instance: str, found: Checkpoint | None, now: float) -> Iterator[DangerClock]:
    """Fired once the newest one is too old; armed, and not counting down on the screen, before that."""
    if found is None:
        return
    old = found.oldest <= now
    avoid = "Save more often, or find out why nothing is saved."
    clock = _own("checkpoint-age", instance, found.oldest, now, avoid)
    age, bound = units.words(max(0.0, now - found.at)), units.words(2 * found.interval)
    yield replace(
        clock,
        state="fired" if old else "armed",
        starts="running",
        started_at=found.at,
        fires_at=found.oldest if old else None,
        earliest_fires_at=found.oldest if old else None,
        latest_fires_at=found.oldest if old else None,
        after=2 * found.interval,
        note=f"the newest checkpoint is {age} old, more than {bound}"
        if old
        else f"the newest checkpoint is {age} old; more than {bound} would be too old",
        why=found.assumption,
        confidence="low",
        early=False,
        off=not old,
    )


def _date(name: str, at: float, instance: str, now: float) -> DangerClock:
    return replace(
        _own(name, instance, at, now, "Be ready before it; clocks unmark takes it away."),
        starts="account",
        started_basis="manual",
        anchor="manual",
        severity="high",
        note="a date that you set",
        source="you",
        confidence="high",
    )
