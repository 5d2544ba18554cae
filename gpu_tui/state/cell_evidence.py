"""What the box shows of each cell besides the queue's log: processes, logs, files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu_tui.core import metrics
from gpu_tui.core.artifact import Found, Layout, Shelf, layout_of
from gpu_tui.core.cut_short import COMPLETE
from gpu_tui.core.liveness import Run
from gpu_tui.core.readings import FileTable
from gpu_tui.core.sweep import CellEvidence
from gpu_tui.state.facts import cells_alive_of, offset_of, read_on_box
from gpu_tui.state.instance import InstanceState
from gpu_tui.state.job_tables import ending_of
from gpu_tui.state.traces import CellTrace
from gpu_tui.state.witness import STAMP_SLACK


def cell_evidence(
    kept: InstanceState, now: float, run: Run | None, names: set[str] | None = None
) -> Mapping[str, CellEvidence]:
    """By name, of every cell that the queue file, the log or a log of its own names, or of `names`."""
    roster = kept.value(metrics.ROSTER)
    epochs = {cell.name: cell.epochs for cell in roster.cells} if roster else {}
    if names is None:
        names = {*epochs, *kept.queue_history.runs, *kept.cells}
    artifacts = _artifacts(kept, now, names)
    scores = kept.value(metrics.SCORES)
    by_run = scores.by_run if scores else {}
    scored_at, offset = read_on_box(kept, metrics.SCORES) or 0.0, offset_of(kept, now)
    bare = CellEvidence(alive=cells_alive_of(kept, run, now))
    common: dict[tuple[bool | None, str | None], CellEvidence] = {(None, None): bare}
    listed = kept.value(metrics.KUBERNETES)
    lost = kept.diverged_logs()
    diverged = (
        {j.name for j in listed.jobs if not lost.isdisjoint(j.pod_logs)} if listed and lost else ()
    )
    evidence = {}
    for name, (there, found) in artifacts.items():
        why = found.why if found and there is False else None
        if (there, why) not in common:
            common[(there, why)] = replace(bare, artifact=there, artifact_why=why)
        seen = common[(there, why)]
        best = by_run.get((found.run if found else None) or name)
        if best is not None and scored_at > _ended(kept, name, offset):
            seen = replace(seen, best=best)  # what was read before is of an earlier run or epoch
        trace = kept.cells.get(name)
        seen = seen if trace is None else _traced(seen, trace, epochs.get(name), now)
        if name in diverged:
            seen = replace(seen, diverged=True)
        evidence[name] = _with_end(kept, name, seen, found, offset)
    return evidence


def delivered(kept: InstanceState, now: float) -> Mapping[str, bool | None]:
    """Of each cell that the fleet file names: whether the results on the box hold all that it must leave."""
    names = kept.instance.results.cells
    told = _artifacts(kept, now, set(names)) if names else {}
    return {name: told[name][0] for name in names}


def _artifacts(
    kept: InstanceState, now: float, names: set[str]
) -> Mapping[str, tuple[bool | None, Found | None]]:
    """Whether each artifact is there; None where nobody knows."""
    files = kept.fresh(metrics.FILES, now)
    if files is None or kept.instance.results.remote is None:
        return dict.fromkeys(names, (None, None))
    shelf = _shelf(kept, files)
    read_at = read_on_box(kept, metrics.FILES) or 0.0
    offset = offset_of(kept, now)
    told: dict[str, tuple[bool | None, Found | None]] = {}
    for name in names:
        found = shelf.find(name)
        there = found.there if found else None
        if there is False:
            # A table that was read before the cell ended cannot tell that it left nothing.
            there = None if read_at <= _ended(kept, name, offset) else False
        told[name] = (there, found)
    return told


def _ended(kept: InstanceState, name: str, offset: float) -> float:
    """When its queue's log says that it ended, by the box's clock and a little later; 0 where it does not."""
    run = kept.queue_history.runs.get(name)
    return run.finished - offset + STAMP_SLACK if run and run.finished else 0.0


def _with_end(
    kept: InstanceState, name: str, seen: CellEvidence, found: Found | None, offset: float
) -> CellEvidence:
    """Add the end that the cell's own log reports, for an attempt of which the queue's log has only the start."""
    run = kept.queue_history.runs.get(name)
    if run is None or run.ended or not (seen.alive is False or run.interrupted):
        return seen
    end = ending_of(kept, name)
    counted = seen.part is not None and seen.part >= COMPLETE
    if end.failure is not None or not (counted or end.good or run.synced):
        return seen
    old = False
    if found is not None and found.there and run.started is not None:
        begun = run.started - offset - STAMP_SLACK
        home = f"{(kept.instance.results.remote or '').rstrip('/')}/{found.run}/"
        table = kept.value(metrics.FILES)
        files = table.found.items() if table else ()
        old = not any(path.startswith(home) and one.mtime >= begun for path, one in files)
    return replace(seen, ended_by_log=True, artifact_old=old)


def _shelf(kept: InstanceState, files: FileTable) -> Shelf:
    """Looked through once for each table: there may be tens of thousands of files in it."""
    layout, known = layout_of(kept.instance), kept.joined.shelf
    if not files.unseen.keys().isdisjoint(layout.patterns()):
        layout = Layout()  # nobody knows what is there
    if known is None or known[0] != layout or known[1] is not files:
        kept.joined.shelf = known = (layout, files, layout.look(files.found))
    return known[2]


def _begun(trace: CellTrace, planned: int | None) -> float | None:
    """Where its log shows the run first; None where another one is before it in that log, which took part of the time."""
    first = trace.course.first
    return None if first is None or trace.course.restarts else first.share(planned)


def _traced(seen: CellEvidence, trace: CellTrace, planned: int | None, now: float) -> CellEvidence:
    progress, place = trace.progress, trace.course.place
    return replace(
        seen,
        diverged=trace.diverged,
        epoch=progress.epoch,
        epochs=progress.epochs,
        step=progress.step,
        steps=progress.steps,
        loss=progress.loss,
        metrics=progress.metrics,
        eta=trace.eta.estimate(now, planned),
        stalled=trace.eta.stalled(now),
        part=place.share(planned) if place else None,
        reached=trace.course.reached,
        begun=_begun(trace, planned),
    )
