"""Lists the logs of cells that were not read, with the reason. Of many logs the newest are read, the others counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

from gpu_tui.core import metrics
from gpu_tui.core.job_scope import in_scope
from gpu_tui.core.jobs import Job
from gpu_tui.core.log_cells import (
    LONG_AGO,
    NO_WORDS,
    NOT_YET,
    OLDER,
    TOO_OLD,
    UNNAMED,
    cell_logs,
    worth_reading,
)
from gpu_tui.core.logs import READ_MOST, READ_OF_JOBS, one_spelling
from gpu_tui.core.readings import FileTable
from gpu_tui.state.instance import InstanceState
from gpu_tui.state.witness import box_time

UNREAD = (OLDER, TOO_OLD, UNNAMED)
FULL = (
    f"its log is not read: {READ_OF_JOBS} others of this box are; choose this row to have it read"
)
SHARED = "its log is shared, and is read as that of "
# The end or a part of a reason -> its word where rows are counted.
SOON = "not yet"
BRIEF = (
    (NOT_YET, SOON),
    ("is not there", "not there"),
    ("is another name of a log that is read", "read under another name"),
    (SHARED, "read under another name"),
    ("may not be read", "no permission"),
    (": its mount may be dead", "its mount does not answer"),
    ("its log is not known", "not known"),
    ("is not read:", "over the limit"),
)
UNREADABLE = "cannot be read"


def unread_logs(kept: InstanceState, now: float) -> Mapping[str, str]:
    """By path, why a log that the pattern names was not read; NOT_YET if it will be."""
    files, pattern = kept.value(metrics.FILES), kept.instance.logs
    if files is None or not pattern or kept.instance.scheduler is not None:
        return NO_WORDS
    known = kept.joined.unread
    opened = kept.logs.paths
    failed = kept.logs.failed
    if known is not None and known[0] is files and known[1] == (opened, failed):
        return known[2]
    logs, box_now = cell_logs(files, pattern), box_time(kept.tracks, now)
    named, twins = {log.path for log in logs}, other_names(kept, files)
    most = READ_MOST - len(_running(kept) - named)
    newest = {log.path for log in worth_reading(logs, box_now, most)}
    told = {}
    for log in logs:
        if log.path in failed:
            told[log.path] = failed[log.path]
        elif log.path in opened or log.path in twins:
            continue
        elif not log.has_plain_name:
            told[log.path] = UNNAMED
        elif log.path in newest:
            if not kept.instance.queue.names_runs:  # then only the logs of its cells are read
                told[log.path] = NOT_YET
        else:
            old = box_now is not None and log.mtime < box_now - LONG_AGO
            told[log.path] = TOO_OLD if old else OLDER
    kept.joined.unread = files, (opened, failed), told
    return told


def unread_count(kept: InstanceState, now: float) -> int:
    """The number of logs that are not read because newer ones are, because they are old, or because of their names."""
    return sum(why in UNREAD for why in unread_logs(kept, now).values())


def unread_jobs(kept: InstanceState, now: float) -> Mapping[str, str]:
    """By name of a scheduler's running job, why its log is not read; NOT_YET if it will be. A job without a log of its
    own (an interactive one, one that writes to /dev/null) is left out.
    """
    failed, opened = kept.logs.failed, kept.logs.paths
    live = [job for job in _jobs_in_scope(kept, now) if job.live]
    shared = _readers(kept, {job.name for job in live})
    full = len({job.stdout or job.stderr for job in live} & opened) >= READ_OF_JOBS
    whys = {}
    for job in live:
        why = _unread(job, failed, opened)
        readers = shared.get(job.stdout or job.stderr or "", [])
        if why is None and readers and job.name not in readers:
            why = f"{SHARED}{readers[0]}"
        if why is not None:
            whys[job.name] = FULL if why == NOT_YET and full else why
    return whys


def _readers(kept: InstanceState, names: Collection[str]) -> Mapping[str, list[str]]:
    """By path of a log, those of the named jobs for which it is read."""
    readers = defaultdict[str, list[str]](list)
    for source, log in kept.logs.buffers.items():
        if source.cell in names and log.end:
            readers[source.path].append(source.cell or "")
    return readers


def awaits_ended_logs(kept: InstanceState, now: float) -> bool:
    """Whether the log of a scheduler's job that does not run any more is still to be read."""
    unread = unread_ends(kept, now)
    most = READ_OF_JOBS if kept.instance.scheduler == "slurm" else READ_MOST
    return bool(unread) and len(kept.logs.paths) < most


def unread_ends(kept: InstanceState, now: float) -> frozenset[str]:
    """The readable logs of a scheduler's stopped jobs that are not read: of too many the oldest, or those that no look has
    reached so far.
    """
    logs = {one_spelling(job.stdout) for job in _stopped(kept, now) if job.stdout}
    return frozenset(logs.difference(map(one_spelling, kept.logs.paths)))


def unknown_ends(kept: InstanceState, now: float) -> int:
    """The number of stopped jobs whose log has an unknown path."""
    opened = kept.logs.paths
    return sum(
        job.unread is not None and job.stdout is None and opened.isdisjoint(job.logs)
        for job in _stopped(kept, now)
        if not job.interactive
    )


def _stopped(kept: InstanceState, now: float) -> list[Job]:
    return [job for job in _jobs_in_scope(kept, now) if job.has_stopped]


def _jobs_in_scope(kept: InstanceState, now: float) -> tuple[Job, ...]:
    """The scheduler's jobs that are cells, with those that left its list; none without a fresh list."""
    metric = metrics.SCHEDULERS.get(kept.instance.scheduler or "")
    table = kept.fresh(metric, now) if metric is not None else None
    if metric is None or table is None or not kept.link.live:
        return ()
    table = kept.left[metric.name].complete(table, {}, now)
    return in_scope(table, kept.instance, box_time(kept.tracks, now))[0].jobs


def _unread(job: Job, failed: Mapping[str, str], opened: Collection[str]) -> str | None:
    path = job.stdout or job.stderr
    if job.unread is not None:
        return None if path in opened and path not in failed else job.unread
    if path is not None:
        return failed.get(path) or (None if path in opened else NOT_YET)
    whys = (failed.get(log) or (None if log in opened else NOT_YET) for log in job.pod_logs)
    return next((why for why in whys if why is not None), None)


def counted_reasons(unread: Mapping[str, str]) -> Mapping[str, int]:
    """How many logs are not read for which reason, in few words, the most frequent first."""
    words = (
        next((word for part, word in BRIEF if part in why), UNREADABLE) for why in unread.values()
    )
    return dict(Counter(words).most_common())


def other_names(kept: InstanceState, files: FileTable) -> frozenset[str]:
    """Paths of files that are read under another name, for example links."""
    opened = kept.logs.paths
    read: set[tuple[int, float, int] | int] = set()
    for source, log in kept.logs.buffers.items():
        stat = files.found.get(source.path)
        if stat is None:
            read.add(log.file)
        elif log.file == stat.inode:
            read.add((stat.size, stat.mtime, stat.inode))
    read.discard(0)
    return frozenset(
        path
        for path, stat in files.found.items()
        if path not in opened
        and (stat.inode in read or (stat.size, stat.mtime, stat.inode) in read)
    )


def _running(kept: InstanceState) -> set[str]:
    tables = (kept.value(metric) for metric in metrics.JOBS)
    jobs = (job for table in tables if table for job in table.jobs if job.live)
    return {path for job in jobs for path in (job.stdout, job.stderr) if path}
