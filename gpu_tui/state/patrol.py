"""A patrol report: a first line for the fleet, then three to five plain lines per instance, also when nothing
changed. What was seen at the patrol before is a `Tick`; without one the lines are a baseline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from gpu_tui.core import metrics
from gpu_tui.core.account import Account
from gpu_tui.core.campaign import Trust
from gpu_tui.core.clock import rfc3339
from gpu_tui.core.clocks import BOUND_WORDS
from gpu_tui.core.facts import span
from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.levels import share
from gpu_tui.core.plain import plain
from gpu_tui.core.sweep import Cell
from gpu_tui.core.verdict import ESCALATES
from gpu_tui.state.contract import fleet_verdict, queue_done, queue_failed
from gpu_tui.state.sweep_outlook import planned, trust_in
from gpu_tui.state.views import FleetView, InstanceView, utilization

FINDINGS_SHOWN = 2
GPU_WORDS = {"no-nvidia-smi": "– (no nvidia-smi)", "no-device": "– (no card)"}
REASONS_SHOWN = 2
CULPRITS_SHOWN = 4
BESIDE_SHOWN = 20
LINE = 240  # characters
EVIDENCE = 120


@dataclass(frozen=True, slots=True)
class Tick:
    """What one patrol saw of an instance that answered; None = not known."""

    at: float
    done: int
    failed: int
    cell: str | None = None
    epoch: int | None = None
    oom_kill: int | None = None


def tick_of(view: InstanceView) -> Tick | None:
    """What the next patrol will compare with; None where the box did not answer, or its queue was not read."""
    if view.last_contact is None or (planned(view) and trust_in(view) is Trust.UNREAD):
        return None
    running, memory = view.queue.running, view.track(metrics.MEMORY).value
    return Tick(
        at=view.taken_at,
        done=queue_done(view.queue.cells),
        failed=queue_failed(view.queue.cells),
        cell=running.name if running else None,
        epoch=running.epoch if running else None,
        oom_kill=memory.oom_kill if memory else None,
    )


def changes(last: Tick, now: Tick) -> str:
    """What changed between two patrols, in words."""
    said = []
    for word, before, after in (("done", last.done, now.done), ("failed", last.failed, now.failed)):
        if after != before:
            said.append(f"{after - before:+} {word}")
    if now.cell != last.cell:
        said.append(f"now at {now.cell}" if now.cell else "nothing runs any more")
    elif now.epoch is not None and last.epoch is not None and now.epoch != last.epoch:
        said.append(f"{now.epoch - last.epoch:+} epochs")
    if None not in (now.oom_kill, last.oom_kill) and now.oom_kill != last.oom_kill:
        said.append(f"{(now.oom_kill or 0) - (last.oom_kill or 0):+} OOM kills")
    return ", ".join(said) or "nothing changed"


def since_json(view: InstanceView, last: Tick | None) -> dict[str, object] | None:
    """What changed since the patrol before, as numbers; None at the first one, or where the box is away."""
    now = tick_of(view)
    if now is None or last is None:
        return None
    known = now.oom_kill is not None and last.oom_kill is not None
    return {
        "at": rfc3339(last.at),
        "done": now.done - last.done,
        "failed": now.failed - last.failed,
        "cell": last.cell,
        "epoch": last.epoch,
        "oom_kill": (now.oom_kill or 0) - (last.oom_kill or 0) if known else None,
    }


def patrol_report(view: FleetView, last: Mapping[str, Tick]) -> list[str]:
    """The whole report: verdict and why, what is about no instance of the file, the instances, the accounts."""
    lines = [f"{fleet_verdict(view)}: {_why(view)}"]
    lines += [_beside_line(found) for found in view.beside[:BESIDE_SHOWN]]
    if len(view.beside) > BESIDE_SHOWN:
        lines.append(f"! and {len(view.beside) - BESIDE_SHOWN} more of that kind: --json names all")
    for instance in view.instances:
        lines += patrol_lines(instance, view.taken_at, last.get(instance.name))
    lines += [_account_line(account) for account in view.accounts]
    return lines


def _why(view: FleetView) -> str:
    """Who escalates; else how many do what."""
    culprits: dict[str, str] = {}
    for found in view.findings:
        if found.severity.rank <= Severity.SERIOUS.rank:
            words = f"{found.cell} {_kind(found)}" if found.cell else _kind(found)
            culprits.setdefault(found.instance, f"{found.instance} {words}")
    for one in view.instances:
        if one.verdict in ESCALATES:
            culprits.setdefault(one.name, f"{one.name} {one.verdict}")
    if culprits:
        named = list(culprits.values())
        more = f" and {len(named) - CULPRITS_SHOWN} more" if len(named) > CULPRITS_SHOWN else ""
        return plain(", ".join(named[:CULPRITS_SHOWN]), LINE) + more
    counted = Counter(str(one.verdict) for one in view.instances)
    return ", ".join(f"{number} {verdict}" for verdict, number in counted.most_common())


def patrol_lines(view: InstanceView, now: float, last: Tick | None = None) -> list[str]:
    """Three to five lines for one instance; the first names it with its verdict and why."""
    seen = view.last_contact
    age = "never read" if seen is None else f"{span(max(0.0, now - seen))} ago"
    because = "; ".join(view.because[:REASONS_SHOWN])
    lines = [
        f"{view.name}: {view.verdict} ({because}) [{view.link.state}, {age}]",
        f"  {_queue_line(view)}{_since(view, last)}",
        f"  {_box_line(view)}",
    ]
    lines += [f"  {line}" for line in (_findings_line(view), _money_line(view, now)) if line]
    return [plain(line, LINE) for line in lines]


def _since(view: InstanceView, last: Tick | None) -> str:
    tick = tick_of(view)
    if tick is None:
        return ""
    if last is None:
        return "; first check: a baseline"
    return f"; since {span(max(0.0, tick.at - last.at))} ago: {changes(last, tick)}"


def _box_line(view: InstanceView) -> str:
    """What the box shows, or why it shows nothing."""
    link = view.link
    if not link.live:
        why = link.error or {"off": "marked as stopped"}.get(link.state, "no answer yet")
        return f"link: {why}" + (f" -> {link.next}" if link.next else "")
    return "no box of its own: its jobs are asked for" if view.instance.here else _vitals_line(view)


def _findings_line(view: InstanceView) -> str | None:
    shown = [f for f in view.findings if f.severity.rank <= 1][:FINDINGS_SHOWN]
    if not shown:
        warned = Counter(_kind(found) for found in view.findings)
        return f"warn: {', '.join(warned)}" if warned else None
    text = "; ".join(
        f"{f.severity} {_kind(f)}{f' {f.cell}' if f.cell else ''}: {plain(f.evidence, EVIDENCE)}"
        for f in shown
    )
    more = len(view.findings) - len(shown)
    return f"! {text}" + (f" (+{more} more)" if more > 0 else "")


def _kind(found: Finding) -> str:
    return found.kind.replace("_", " ")


def _money_line(view: InstanceView, now: float) -> str | None:
    """What it costs, and the deadline that comes first; None where neither is known."""
    cost, parts = view.cost, []
    if cost.per_hour is not None:
        parts.append(f"{cost.per_hour:.2f} {cost.currency or ''}/h".replace(" /h", "/h"))
        if cost.spent is not None:
            parts[0] += f", {cost.spent:.2f} so far"
    timed = [clock for clock in view.clocks if clock.ticks and clock.deadline is not None]
    if timed:
        first = min(timed, key=lambda clock: clock.deadline or 0.0)
        left = (first.deadline or 0.0) - now
        bound = f" {BOUND_WORDS[first.bound]}" if first.bound in BOUND_WORDS else ""
        when = f"in {span(left)}{bound}" if left > 0 else f"{span(-left)} ago"
        parts.append(f"next deadline {when}: {first.what}")
    return "; ".join(parts) or None


def _account_line(account: Account) -> str:
    if account.balance is None:
        why = account.error or "its API tells none"
        return plain(f"account {account.key}: balance not known ({why})", LINE)
    most = "at most " if account.spend_at_least else ""
    lasts = f", lasts {most}{span(account.runway)}" if account.runway is not None else ""
    stale = f" (not read now: {account.error})" if account.error else ""
    balance = f"{account.balance.amount:.2f} {account.balance.currency}"
    return plain(f"account {account.key}: balance {balance}{lasts}{stale}", LINE)


def _beside_line(found: Finding) -> str:
    """A box that bills and that nobody named, an account that runs empty."""
    return plain(f"! {found.severity} {_kind(found)} {found.instance}: {found.evidence}", LINE)


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
        parts.append(f"gpu {GPU_WORDS.get(table.error.kind, table.error.kind)}")
    elif (busy := utilization(table)) is not None:
        parts.append(f"gpu {busy:.0%}")
    else:
        parts.append("gpu ?")
    memory = view.track(metrics.MEMORY).value
    used = share(memory.used, memory.limit) if memory else None
    if memory and "limit" in memory.why:
        parts.append("mem –")  # no limit is set: absent, not unknown
    else:
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
