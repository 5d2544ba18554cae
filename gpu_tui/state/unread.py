"""Lists the logs of cells that were not read, with the reason. Of many logs the newest are read, the others counted."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_tui.core import metrics
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
from gpu_tui.core.logs import READ_MOST
from gpu_tui.core.readings import FileTable
from gpu_tui.state.instance import InstanceState
from gpu_tui.state.witness import box_time

UNREAD = (OLDER, TOO_OLD, UNNAMED)


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
