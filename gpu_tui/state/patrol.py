"""A patrol report in three to five plain lines per instance, also when nothing changed."""

from __future__ import annotations

from gpu_tui.core import metrics
from gpu_tui.core.levels import share
from gpu_tui.core.sweep import Cell
from gpu_tui.state.contract import queue_done, queue_failed
from gpu_tui.state.views import InstanceView, utilization

FINDINGS_SHOWN = 2
REASONS_SHOWN = 2


def patrol_lines(view: InstanceView, now: float) -> list[str]:
    """The lines for one instance; the first names it with its verdict."""
    age = view.last_contact
    seen = "never read" if age is None else f"{now - age:.0f} s ago"
    lines = [
        f"{view.name}: {view.verdict} ({'; '.join(view.because[:REASONS_SHOWN])}) [{view.link.state}, {seen}]"
    ]
    if view.link.error and not view.link.live:
        lines.append(
            f"  link: {view.link.error}" + (f" -> {view.link.next}" if view.link.next else "")
        )
    lines.append("  " + _queue_line(view))
    if view.link.live and not view.instance.here:
        lines.append("  " + _vitals_line(view))
    shown = [f for f in view.findings if f.severity.rank <= 1][:FINDINGS_SHOWN]
    if shown:
        text = "; ".join(f"{f.kind}{f' {f.cell}' if f.cell else ''}: {f.evidence}" for f in shown)
        more = len(view.findings) - len(shown)
        lines.append(f"  ! {text}" + (f" (+{more} more)" if more > 0 else ""))
    return lines


def _queue_line(view: InstanceView) -> str:
    queue = view.queue
    if not queue.cells:
        return "queue: none known" if view.instance.queue.file is None else "queue: not read"
    failed = queue_failed(queue.cells)
    text = f"queue: {queue_done(queue.cells)}/{queue.total} done, {failed} failed"
    running = queue.running
    return text + (f", at {_cell_text(running)}" if running else "")


def _cell_text(cell: Cell) -> str:
    parts = [f"{cell.name} ({cell.state})"]
    if cell.epoch is not None:
        parts.append(f"epoch {cell.epoch}/{cell.epochs or '?'}")
    if cell.loss is not None:
        parts.append(f"loss {cell.loss:g}")
    return " ".join(parts)


def _vitals_line(view: InstanceView) -> str:
    table = view.track(metrics.GPUS).value
    parts = []
    if table and table.error:
        parts.append(f"gpu {table.error.kind}")
    elif (busy := utilization(table)) is not None:
        parts.append(f"gpu {busy:.0%}")
    else:
        parts.append("gpu ?")
    memory = view.track(metrics.MEMORY).value
    used = share(memory.used, memory.limit) if memory else None
    parts.append("mem ?" if used is None else f"mem {used:.0%}")
    for mount in view.track(metrics.MOUNTS).value or ():
        size = _percent(share(mount.bytes_used, mount.bytes_total))
        inodes = _percent(share(mount.inodes_used, mount.inodes_total))
        if "inodes_total" in mount.why:
            inodes = "–"  # this file system reports none: absent, not unknown
        parts.append(f"{mount.path} bytes {size} inodes {inodes}")
    return ", ".join(parts)


def _percent(value: float | None) -> str:
    return "?" if value is None else f"{value:.0%}"
