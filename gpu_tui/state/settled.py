"""When an instance was looked at long enough for a first word about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpu_tui.core.fleet import Instance
from gpu_tui.core.job_scope import in_scope
from gpu_tui.core.jobs import Job
from gpu_tui.core.metrics import (
    COMMANDS,
    CPU,
    DETACHED,
    FEED,
    FILES,
    FOUND,
    GPUS,
    HOST,
    JOBS,
    KUBERNETES,
    MEMORY,
    MOUNTS,
    PROCESSES,
    PUEUE,
    ROSTER,
    SHELLS,
    SIGNS,
    SLURM,
    SPOOLER,
    Metric,
)
from gpu_tui.core.sample import Absent
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.views import InstanceView

READ_SECONDS = 120.0  # of a connection: a reading that has not come by then counts as missing
FIRST_SECONDS = 30.0  # of a connection: each probe has had its turn
_WANTED = (GPUS, MEMORY, CPU, MOUNTS, HOST, PROCESSES, FILES)


def settled(view: InstanceView) -> bool:
    """True once everything that can be known of an instance at first sight is in."""
    if view.provider.state in ("stopped", "ended", "gone"):
        return True
    if view.link.state == "connecting":
        return False
    if not view.link.live:
        asked = view.provider.read_at is not None or view.provider.error is not None
        return asked or not view.instance.provider.id
    wanted = [metric.name for metric in _WANTED]
    if view.instance.here:  # no box: nothing else is sampled
        return all(view.tracks.get(metric.name) is not None for metric in (HOST, KUBERNETES))
    wanted += [metric.name for metric in _runners(view.instance)]
    if view.instance.signs:
        wanted.append(SIGNS.name)
    queue = view.instance.queue
    if queue.file:
        wanted.append(ROSTER.name)
    answered = all(view.tracks.get(name) is not None for name in wanted)
    opened = {log.source.path for log in view.logs}
    told = queue.log is None or queue.log in opened
    writing = {job.stdout for job in _running(view) if job.stdout}
    return answered and not view.settling and told and (not writing or bool(writing & opened))


def is_fresh(view: InstanceView) -> bool:
    """The connection is so new that not everything was read yet: what nobody can tell now may be told at once."""
    new = view.link.live and view.taken_at - view.link.since < FIRST_SECONDS
    return new and not settled(view)


def is_reading(view: InstanceView) -> bool:
    """Whether readings are still to come, so that "no finding" and "no clock" cannot be said yet."""
    if view.verdict is Verdict.OFF:
        return False
    of, seconds = view.instance.provider, view.taken_at - view.link.since
    if of.id and view.provider.read_at is None and not view.provider.error:
        return view.link.live and seconds < READ_SECONDS
    return view.link.live and seconds < READ_SECONDS and not settled(view)


def roster_unread(view: InstanceView) -> bool:
    """Whether the box may run something that nobody asked it for yet; one that is off runs nothing."""
    of = view.instance
    if view.verdict is Verdict.OFF:
        return False
    if of.scheduler is not None:
        track = view.track(next(_runners(of)))
    else:
        track = view.track(ROSTER if of.queue.file is not None else DETACHED)
    return track.good is None and not isinstance(track.latest, Absent)


def _runners(instance: Instance) -> Iterator[Metric[Any]]:
    """Who is asked what runs here; each answers, if only that it is not there."""
    queue = instance.queue
    if instance.scheduler is not None:
        yield SLURM if instance.scheduler == "slurm" else KUBERNETES
        return
    yield from (SPOOLER, PUEUE, SHELLS)
    if queue.status or queue.status_command:
        yield FEED
    if queue.commands:
        yield COMMANDS
    if not queue.names_runs:
        yield from FOUND


def _running(view: InstanceView) -> Iterator[Job]:
    tables = (view.track(metric).value for metric in JOBS)
    scoped = (in_scope(table, view.instance, view.taken_at)[0] for table in tables if table)
    return (job for table in scoped for job in table.jobs if job.live)
