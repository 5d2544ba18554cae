"""From what is kept of one instance to its view at one moment: verdict, queue, clocks, findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpu_tui.core import metrics
from gpu_tui.core.account import Account
from gpu_tui.core.cut_short import went_last
from gpu_tui.core.ending import ending_words
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import LinkState
from gpu_tui.core.idle import gpus_idle
from gpu_tui.core.liveness import Run
from gpu_tui.core.log_cells import NOT_YET
from gpu_tui.core.losses import Plateau, Spike
from gpu_tui.core.mount_state import MountFault, fault_of
from gpu_tui.core.readings import GpuTable
from gpu_tui.core.remedies import OTHER_QUEUE
from gpu_tui.core.rules import Condition, Idle, Now, conditions, ended_at
from gpu_tui.core.sample import NO_TRACK, Failure, FailureKind
from gpu_tui.core.series import Point
from gpu_tui.core.sweep import CellState, Queue, Roster
from gpu_tui.core.thresholds import THRESHOLDS, Threshold
from gpu_tui.core.verdict import Verdict, judge
from gpu_tui.state.book import Ran
from gpu_tui.state.cell_evidence import delivered
from gpu_tui.state.cost import cost_of, lost_since, price_of
from gpu_tui.state.deadlines import clocks_at, full_in
from gpu_tui.state.deleted_logs import standing
from gpu_tui.state.facts import (
    alive_of,
    begun_at,
    evidence_of,
    log_is_newer,
    log_unread,
    read_on_box,
    run_of,
)
from gpu_tui.state.instance import InstanceState
from gpu_tui.state.oom import ONE_LOOK, oom_of
from gpu_tui.state.queue_rows import queue_rows
from gpu_tui.state.runner import runner_findings
from gpu_tui.state.stillness import stopped_runs
from gpu_tui.state.unread import SOON, awaits_ended_logs, unread_logs
from gpu_tui.state.views import Cost, InstanceView, signs_of

RESTING = frozenset({Verdict.IDLE, Verdict.FINISHED, Verdict.CRASHED, Verdict.PREEMPTED})
SILENT = frozenset({"refused", "timeout", "unreachable"})  # as a box that is off
STOPPED_NEXT = "its provider says that it is stopped: start it there, and read its port again"
UNSEEN = frozenset({Verdict.CANNOT_TELL, Verdict.UNREACHABLE})


def view_of(
    kept: InstanceState,
    now: float,
    account: Account | None = None,
    thresholds: Sequence[Threshold] = THRESHOLDS,
) -> InstanceView:
    """The frozen view at `now`, with verdict, clocks and findings judged for that moment."""
    instance = kept.instance
    run = run_of(kept, now)
    queue = queue_rows(kept, now, run)
    table = kept.fresh(metrics.GPUS, now)
    anchored = kept.history.anchors(instance.name)
    runners = runner_findings(kept, now, run, queue)
    gone = any(condition.kind == "runner_gone" for condition in runners)
    early = gone and log_is_newer(kept, now)  # the process table may be older than a new runner
    if early:
        runners, gone = tuple(one for one in runners if one.kind != "runner_gone"), False
    found = judge(evidence_of(kept, now, anchored, queue, run, table, runner_gone=gone))
    verdict, because = found.verdict, found.because
    cost = cost_of(kept, now, anchored)
    idle = _idle(kept, now, verdict, table, cost)
    alive = alive_of(kept, run, now)
    clocks = clocks_at(
        kept, now, anchored,
        account=account, queue=queue, alive=alive, idle=idle, thresholds=thresholds,
    )  # fmt: skip
    halts, all_halt = stopped_runs(kept, run, queue, now)
    mounts, faults = kept.fresh(metrics.MOUNTS, now) or (), _faults(kept, now)
    seen = Now(
        now=now,
        link=kept.link,
        verdict=verdict,
        because=because,
        blamed=_blamed(kept, queue, verdict),
        scheduler=kept.instance.scheduler,
        was_live=kept.was_live,
        gpus=table,
        memory=kept.fresh(metrics.MEMORY, now),
        oom=oom_of(kept, now, queue, run),
        mounts=mounts,
        faults=faults,
        queue=queue,
        roster=kept.value(metrics.ROSTER),
        clocks=clocks,
        hung=_hung(kept),
        idle=idle,
        trainer_alive=alive,
        losses=_losses(kept, queue),
        extras=(*_open_end(kept), *halts, *_unnamed(kept), *_useless_queue(kept), *runners),
        halted=all_halt,
        held=kept.book.standing,
    )
    kept.book.ran = {one.name: Ran(one.started_at, *ended_at(one)) for one in queue.cells}
    kept.book.set_conditions(conditions(seen), now)
    if gone:  # nothing starts the rest of it
        queue = replace(queue, eta_seconds=None)
    queue, queue_read = _as_last_read(kept, queue, verdict, now)
    box, rows = kept.value(metrics.HOST), {cell.name: cell for cell in queue.cells}
    told = kept.book.findings(
        lambda cell, alarm: lost_since(alarm, rows.get(cell or ""), cost, now)
    )
    findings = tuple(standing(kept, told, queue, now))
    kept.seen_before.note(findings, now, kept.book.since if kept.link.live else None)
    return InstanceView(
        instance=instance,
        taken_at=now,
        settling=early or SOON in queue.unread_why or _settling(kept, now, run),
        link=_link(kept),
        verdict=verdict,
        because=because,
        cause=found.cause,
        tracks=dict(kept.tracks),
        queue=queue,
        queue_read=queue_read,
        cost=cost,
        cpu=kept.cpu,
        provider=kept.provider,
        end=kept.end,
        own_end=kept.own_end,
        clocks=clocks,
        findings=findings,
        logs=kept.logs.views(),
        profile=kept.profile,
        clock_skew=kept.timeline.shown_skew,
        uptime=box.uptime_seconds if box else None,
        oom_baseline=kept.witness.oom_base,
        series=_series_view(kept),
        series_basis=kept.past.basis(kept.series),
        courses={cell: tuple(trace.by_step) for cell, trace in kept.cells.items()},
        runner=kept.runners.runner,
        full_in=full_in(kept, now),
        mount_faults=faults,
        delivered=delivered(kept, now),
    )


def _link(kept: InstanceState) -> LinkState:
    """The connection; where its provider says that the box is stopped, nobody need guess why it refuses one."""
    link = kept.link
    known = kept.provider.state == "stopped" and kept.provider.error is None
    return replace(link, next=STOPPED_NEXT) if known and link.state in SILENT else link


def _faults(kept: InstanceState, now: float) -> Mapping[str, MountFault]:
    """By path of the mount, why the runs cannot use it, as of the last reading."""
    before, mounts = kept.mounts_before.read(now), kept.value(metrics.MOUNTS) or ()
    found = ((mount.path, fault_of(mount, before.get(mount.path))) for mount in mounts)
    return {path: fault for path, fault in found if fault is not None}


def _open_end(kept: InstanceState) -> tuple[Condition, ...]:
    """A teardown whose end nobody saw stays an alarm, whatever else is or is not known of the box."""
    if kept.end is None:
        return ()
    evidence = ending_words(kept.end, kept.link, kept.provider)
    return (Condition("teardown", Severity.FATAL, evidence, "journal"),)


def _unnamed(kept: InstanceState) -> Iterator[Condition]:
    """Nobody said which platform this is, and the box shows it: what that one deletes or bills is not counted."""
    signs = signs_of(kept.value(metrics.SIGNS), kept.value(metrics.GPUS))
    if not signs or not kept.instance.signs:
        return
    names = " or ".join(dict.fromkeys(sign.platform for sign in signs))
    evidence = f"it looks like {names} ({signs[0].name}), and is watched as a bare box"
    yield Condition("platform", Severity.WARN, evidence, "probe:signs")


def _useless_queue(kept: InstanceState) -> Iterator[Condition]:
    """A finding if the queue file that the fleet file names gives no cell; runs found on the box are shown instead."""
    files, roster = kept.instance.queue, kept.tracks.get(metrics.ROSTER.name, NO_TRACK)
    if not files.useless or not kept.link.live:
        return
    why = roster.why or f"no cell is in {files.file}"
    if isinstance(roster.value, Roster) and roster.value.rejected:
        why = f"no line of {files.file} is a cell: {roster.value.rejected[0]}"
    evidence = f"{why}; what runs was looked for on the box instead"
    yield Condition(
        "missing_cell", Severity.WARN, evidence, f"queue:{files.file}", part="file",
        remedy=OTHER_QUEUE,
    )  # fmt: skip


def _series_view(kept: InstanceState) -> Mapping[str, Sequence[Point]]:
    named = {name: series.points for name, series in kept.series.items()}
    for cell, trace in kept.cells.items():
        named[f"loss:{cell}"] = trace.losses.points
    return named


def _settling(kept: InstanceState, now: float, run: Run | None) -> bool:
    """Whether the next readings will show more: a log is unread, or the queue's log is newer than an empty table."""
    if NOT_YET in unread_logs(kept, now).values():
        return True
    if awaits_ended_logs(kept, now):
        return True
    if kept.queue_history.done is not None or (run is not None and run.alive):
        return False
    return log_is_newer(kept, now)


def _hung(kept: InstanceState) -> tuple[str, ...]:
    return tuple(
        name
        for name, track in kept.tracks.items()
        if isinstance(track.latest, Failure) and track.latest.kind is FailureKind.HUNG
    )


def _idle(
    kept: InstanceState, now: float, verdict: Verdict, table: GpuTable | None, cost: Cost
) -> Idle | None:
    """The time without work while the meter runs; None where work goes on or nobody can tell."""
    if kept.instance.scheduler is not None:
        return None  # what costs money is a job on another machine, and no job costs nothing
    witness = kept.witness
    resting = verdict in RESTING
    idle = gpus_idle(table) if resting else (None if verdict in UNSEEN else False)
    seconds = witness.idle.tick(now, idle)
    if seconds is None:
        if idle is False:
            witness.rest.busy(now)
        return None
    seen, at_most, by_looks = seconds, False, False
    files_at, begun = read_on_box(kept, metrics.FILES), begun_at(kept, now)
    if files_at is not None and begun is not None:
        moved, ours = witness.life.last, kept.timeline.ours
        since = witness.rest.idle(now, ours(begun), None if moved is None else ours(moved))
        if now - since > seconds + ONE_LOOK:
            seen, at_most, by_looks = now - since, True, True
    if verdict is not Verdict.IDLE and not witness.idle.gaps and files_at is not None:
        # A run that is over, found so at first sight: its own files say since when.
        rested = witness.life.quiet(files_at)
        if rested is not None and rested > seen:
            seen, at_most, by_looks = rested, True, False
    return Idle(seen, price_of(cost, seen), at_most, by_looks)


def _as_last_read(
    kept: InstanceState, queue: Queue, verdict: Verdict, now: float
) -> tuple[Queue, float | None]:
    """The queue, and, where the box is off and it is only remembered, since when."""
    if kept.link.live and queue.cells and _read_whole(kept, now):
        kept.last_queue.keep(queue, now)
    if verdict is not Verdict.OFF or kept.link.live or queue.cells:
        return queue, None
    last = kept.last_queue.read()
    return (last.queue, last.at) if last is not None else (queue, None)


def _read_whole(kept: InstanceState, now: float) -> bool:
    """What is on the box was read: half of a queue's log makes another queue, and so does a missing process table."""
    tables = (kept.fresh(metrics.FILES, now), kept.fresh(metrics.PROCESSES, now))
    unread = kept.instance.queue.file is not None and None in tables
    return not (unread or log_unread(kept) or log_is_newer(kept, now))


def _losses(kept: InstanceState, queue: Queue) -> Mapping[str, tuple[Spike | None, Plateau | None]]:
    """What the losses of cells that run say; of a cell that diverged the NaN says it all."""
    running = {cell.name for cell in queue.cells if cell.state is CellState.RUNNING}
    if not queue.cells:
        running = set(kept.cells)
    return {
        name: (None if trace.diverged else trace.watch.spike, trace.watch.plateau)
        for name, trace in kept.cells.items()
        if name in running
    }


def _blamed(kept: InstanceState, queue: Queue, verdict: Verdict) -> str | None:
    """The cell whose end is the end of the run: the last that was started, unless it ended well. The jobs of a scheduler
    are no run, unless the last of them was preempted.
    """
    if kept.instance.scheduler is not None and verdict is not Verdict.PREEMPTED:
        return None
    if not queue.cells or queue.cells[0].job is not None:  # no cell of a queue script
        went = went_last(queue.cells)
        if went is not None:
            return went.name if verdict is Verdict.CRASHED else None
        named = [
            source.cell
            for source in kept.logs.buffers
            if kept.book.failure(source.cell, ended=True)
        ]
        if not named and verdict is Verdict.CRASHED:
            named = [name for name in kept.book.recalled if kept.book.cause(name)]
        return named[-1] if named else None
    begun = [cell for cell in queue.cells if cell.started_at is not None]
    if not begun:  # no queue's log has times: the cells' own logs give the ends
        begun = [cell for cell in queue.cells if cell.finished_at is not None]
    last = max(begun, key=lambda cell: cell.started_at or cell.finished_at or 0.0, default=None)
    return last.name if last and last.state is CellState.FAILED else None
