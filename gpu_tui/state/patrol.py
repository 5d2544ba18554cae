"""A patrol report: a first line for the fleet, then three to five plain lines per instance, also when nothing
changed. What was seen at the patrol before is a `Tick`; without one the lines are a baseline.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpu_tui.core import metrics, units
from gpu_tui.core.account import Account
from gpu_tui.core.campaign import Trust
from gpu_tui.core.clock import rfc3339
from gpu_tui.core.clocks import BOUND_WORDS
from gpu_tui.core.findings import Finding
from gpu_tui.core.levels import share
from gpu_tui.core.listing import reason_of
from gpu_tui.core.mount_state import shown
from gpu_tui.core.plain import plain
from gpu_tui.core.queue_words import queue_words
from gpu_tui.core.speech import headed, joined, listed, say, told
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.state.contract import fleet_verdict, jobs_not_counted, logs_not_read
from gpu_tui.state.headline import cause_words, grouped_by_kind, headline
from gpu_tui.state.sweep_outlook import planned, trust_in
from gpu_tui.state.views import FleetView, InstanceView, utilization

FINDINGS_SHOWN = 2
GPU_WORDS = {"no-nvidia-smi": "– (no nvidia-smi)", "no-device": "– (no card)"}
GPU_UNREAD = {**dict.fromkeys(GPU_WORDS, "? (not read)"), "other-maker": "? (another maker's)"}
REASONS_SHOWN = 2
WAITING_SHOWN = 3
BESIDE_SHOWN = 20
LINE = 240  # characters
LINK = 1_000  # of the line that ends with a command to copy
EVIDENCE = 120
SAME = 60  # characters by which a repeated text is recognised
JOB = "job "  # begins the key of a row that something else than a queue script runs
ENDS = {
    CellState.FINISHED: "done",
    CellState.FAILED: "failed",
    CellState.SYNC_FAILED: "sync failed",
    CellState.SUSPICIOUS: "suspicious",
}
TRAINED = (CellState.FINISHED, CellState.SYNC_FAILED, CellState.SUSPICIOUS)
OPEN = (CellState.PENDING, CellState.RUNNING)


@dataclass(frozen=True, slots=True)
class Tick:
    """The counts of one patrol, of an instance that answered; None = not known. `rows`: the state of each row by its key; a
    tick of 0.1.0 has none.
    """

    at: float
    done: int
    failed: int
    cell: str | None = None
    epoch: int | None = None
    oom_kill: int | None = None
    sync_failed: int = 0
    suspicious: int = 0
    rows: Mapping[str, str] = field(default_factory=dict)

    @property
    def trained(self) -> int:
        """All that came to their end, whatever speaks against it since."""
        return self.done + self.sync_failed + self.suspicious


def tick_of(view: InstanceView) -> Tick | None:
    """What the next patrol will compare with; None where the box did not answer, or its queue was not read."""
    if view.last_contact is None or (planned(view) and trust_in(view) is Trust.UNREAD):
        return None
    scheduler = metrics.SCHEDULERS.get(view.instance.scheduler or "")
    if scheduler is not None and view.track(scheduler).value is None:
        return None
    running, memory = view.queue.place, view.track(metrics.MEMORY).value
    return Tick(
        at=view.taken_at,
        done=view.queue.count(CellState.FINISHED),
        failed=view.queue.count(CellState.FAILED),
        cell=running.name if running else None,
        epoch=running.epoch if running else None,
        oom_kill=memory.oom_kill if memory else None,
        sync_failed=view.queue.count(CellState.SYNC_FAILED),
        suspicious=view.queue.count(CellState.SUSPICIOUS),
        rows={_key(cell): str(cell.state) for cell in view.queue.cells},
    )


def _key(cell: Cell) -> str:
    """Identifies a row from one patrol to the next; short, because thousands of them are kept."""
    name = hashlib.sha256((cell.job or cell.name).encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return name if cell.job is None else f"{JOB}{name}"


def _ended_since(last: Tick, now: Tick) -> dict[CellState, int]:
    """How many rows came to each end since. A row that left a list takes nothing back."""
    counts = {
        CellState.FINISHED: now.done - last.done,
        CellState.FAILED: now.failed - last.failed,
        CellState.SYNC_FAILED: now.sync_failed - last.sync_failed,
        CellState.SUSPICIOUS: now.suspicious - last.suspicious,
    }
    if last.rows and now.rows:
        new = Counter(state for key, state in now.rows.items() if last.rows.get(key) != state)
        return {state: new[state] for state in counts}
    return {state: max(0, number) for state, number in counts.items()}


def _has_restarted(last: Tick, now: Tick) -> bool:
    """Whether cells of a queue that came to their end are to run again."""
    if now.trained >= last.trained:
        return False
    if not (last.rows and now.rows):
        return True
    again = {key for key, state in now.rows.items() if state in OPEN and not key.startswith(JOB)}
    return any(last.rows.get(key) in TRAINED for key in again)


def changes(last: Tick, now: Tick) -> str:
    """What changed between two patrols, in words."""
    said = []
    restarted = _has_restarted(last, now)
    if restarted:
        said.append(say("begun anew"))
    for state, number in _ended_since(last, now).items():
        if number and not restarted:
            said.append(f"{number:+} {say(ENDS[state])}")
    if now.cell != last.cell:
        said.append(
            say("now at {cell}", cell=now.cell) if now.cell else say("nothing runs any more")
        )
    elif (
        not restarted
        and now.epoch is not None
        and last.epoch is not None
        and now.epoch != last.epoch
    ):
        said.append(say("{number:+} epochs", number=now.epoch - last.epoch))
    if None not in (now.oom_kill, last.oom_kill) and now.oom_kill != last.oom_kill:
        rise = (now.oom_kill or 0) - (last.oom_kill or 0)
        said.append(say("{number:+} OOM kills", number=rise))
    return listed(said) or say("nothing changed")


def since_json(view: InstanceView, last: Tick | None) -> dict[str, object] | None:
    """What changed since the patrol before, as numbers; None at the first one, or where the box is away."""
    now = tick_of(view)
    if now is None or last is None:
        return None
    known = now.oom_kill is not None and last.oom_kill is not None
    ended = _ended_since(last, now)
    return {
        "at": rfc3339(last.at),
        "done": ended[CellState.FINISHED],
        "failed": ended[CellState.FAILED],
        "sync_failed": ended[CellState.SYNC_FAILED],
        "suspicious": ended[CellState.SUSPICIOUS],
        "cell": last.cell,
        "epoch": last.epoch,
        "oom_kill": (now.oom_kill or 0) - (last.oom_kill or 0) if known else None,
    }


def patrol_report(view: FleetView, last: Mapping[str, Tick]) -> list[str]:
    """The whole report: verdict and why, what is about no instance of the file, the instances, the accounts."""
    lines = [headed(say(fleet_verdict(view)), headline(view))]
    lines += [_beside_line(found) for found in view.beside[:BESIDE_SHOWN]]
    if len(view.beside) > BESIDE_SHOWN:
        more = len(view.beside) - BESIDE_SHOWN
        lines.append(say("! and {more} more of that kind: --json names all", more=more))
    for instance in view.instances:
        lines += patrol_lines(instance, view.taken_at, last.get(instance.name))
    lines += [_account_line(account) for account in view.accounts]
    return lines


def patrol_lines(view: InstanceView, now: float, last: Tick | None = None) -> list[str]:
    """Three to five lines for one instance; the first names it with its verdict and why."""
    seen = view.last_contact
    age = _unread(now, last) if seen is None else _ago(now - seen)
    because = joined(map(told, view.because[:REASONS_SHOWN]))
    lines = [
        f"{headed(view.name, say(view.verdict))} ({because}) [{listed((say(view.link.state), age))}]",
        "  "
        + joined(part for part in (_queue_line(view), _waiting(view), _since(view, last)) if part),
    ]
    more = [f"  {line}" for line in (_findings_line(view, because), _money_line(view, now)) if line]
    box = plain(f"  {_box_line(view)}", LINE if view.link.live else LINK)
    return [*(plain(line, LINE) for line in lines), box, *(plain(line, LINK) for line in more)]


def _unread(now: float, last: Tick | None) -> str:
    """It gave nothing this time; what earlier patrols had of it is another thing."""
    return say("not read") if last is None else say("last read {age}", age=_ago(now - last.at))


def _since(view: InstanceView, last: Tick | None) -> str:
    tick = tick_of(view)
    if tick is None:
        return ""
    if last is None:
        return say("first check: a baseline")
    ago, changed = _ago(tick.at - last.at), changes(last, tick)
    return say("since {ago}: {changed}", ago=ago, changed=changed)


def _ago(seconds: float) -> str:
    return say("{age} ago", age=units.spoken(max(0.0, seconds)))


def _box_line(view: InstanceView) -> str:
    """What the box shows, or why it shows nothing."""
    link = view.link
    if not link.live:
        stopped = say("marked as stopped") if link.state == "off" else say("no answer yet")
        why = told(link.error) if link.error else stopped
        return say("link: {why}", why=why) + (f" -> {told(link.next)}" if link.next else "")
    if view.instance.here:
        return say("no box of its own: its jobs are asked for")
    return _vitals_line(view)


def _findings_line(view: InstanceView, because: str) -> str | None:
    """The worst findings, one for each cause, with the remedy; a text that `because` contains is not repeated."""
    grave = [found for found in view.findings if found.severity.rank <= 1]
    groups = grouped_by_kind(grave)
    if not groups:
        warned = [_warning(group, view.taken_at) for group in grouped_by_kind(view.findings)]
        return headed(say("warn"), listed(warned)) if warned else None
    text = joined(_finding(group, view.taken_at, because) for group in groups[:FINDINGS_SHOWN])
    if remedy := groups[0][0].remedy:
        text += f" -> {plain(told(remedy), LINE)}"
    more = len(view.findings) - sum(map(len, groups[:FINDINGS_SHOWN]))
    return f"! {text}" + (say(" (+{more} more)", more=more) if more > 0 else "")


def _warning(group: Sequence[Finding], now: float) -> str:
    """Its kind and cells; where it is about no cell, its words, because the kind alone says too little."""
    words = cause_words(group, now)
    if any(found.cell for found in group):
        return words
    return headed(words, plain(told(group[0].evidence), EVIDENCE))


def _finding(group: Sequence[Finding], now: float, because: str) -> str:
    first = group[0]
    words = f"{say(first.severity)} {cause_words(group, now)}"
    evidence = plain(told(first.evidence), EVIDENCE)
    if evidence.rstrip("…")[:SAME] not in because:
        words = headed(words, evidence)
    return words


def _money_line(view: InstanceView, now: float) -> str | None:
    """What it costs, and the deadline that comes first; None where neither is known."""
    cost, parts = view.cost, []
    if cost.per_hour is not None:
        parts.append(f"{units.money(cost.per_hour, cost.currency)}/h")
        if cost.spent is not None:
            parts[0] += say(", {cost} so far", cost=view.spent_told)
    timed = [clock for clock in view.clocks if clock.ticks and clock.deadline is not None]
    if timed:
        first = min(timed, key=lambda clock: clock.deadline or 0.0)
        left = (first.deadline or 0.0) - now
        bound = f" {say(BOUND_WORDS[first.bound])}" if first.bound in BOUND_WORDS else ""
        when = say("in {span}", span=units.spoken(left)) + bound if left > 0 else _ago(-left)
        parts.append(say("next deadline {when}: {what}", when=when, what=told(first.what)))
    return joined(parts) or None


def _account_line(account: Account) -> str:
    if account.balance is None:
        why = told(account.error) if account.error else say("its API tells none")
        line = say("account {key}: balance not known ({why})", key=account.key, why=why)
        return plain(line, LINE)
    balance = units.money(account.balance.amount, account.balance.currency)
    line = say("account {key}: balance {balance}", key=account.key, balance=balance)
    if account.runway is not None:
        most = say("at most {span}", span=units.spoken(account.runway))
        lasts = most if account.spend_at_least else units.spoken(account.runway)
        line += say(", lasts {lasts}", lasts=lasts)
    if account.error:
        line += say(" (not read now: {error})", error=told(account.error))
    return plain(line, LINE)


def _beside_line(found: Finding) -> str:
    """A box that bills and that nobody named, an account that runs empty."""
    return plain(
        headed(
            f"! {say(found.severity)} {say(found.kind.replace('_', ' '))} {found.instance}",
            told(found.evidence),
        ),
        LINE,
    )


def _queue_line(view: InstanceView) -> str:
    queue = view.queue
    if not queue.cells:
        none = view.instance.queue.file is None and view.last_contact is not None
        text = say("queue: none known") if none else say("queue: not read")
        missing = jobs_not_counted(queue)
        return f"{text}, {missing}" if missing else text
    text = say("queue: {words}", words=queue_words(queue).sentence)
    if view.queue_read is not None:
        age = units.spoken(max(0.0, view.taken_at - view.queue_read))
        text += say(" (as read {age} ago, before the box was off)", age=age)
    if view.instance.queue.useless:
        text += say(" (no cell is in {file}: gpu-tui help runners)", file=view.instance.queue.file)
    for missing in (logs_not_read(queue), jobs_not_counted(queue)):
        text += f", {missing}" if missing else ""
    running = queue.place
    return text + (say(", at {cell}", cell=_cell_text(running)) if running else "")


def _waiting(view: InstanceView) -> str:
    """Why the jobs of a scheduler wait, how long the first of them has waited, and which nodes are out of service."""
    groups: dict[str, list[Cell]] = {}
    if view.instance.scheduler is not None and view.link.live:
        for cell in view.queue.cells:
            if cell.state is CellState.PENDING and cell.waited is not None:
                groups.setdefault(reason_of(cell) or "?", []).append(cell)
    ages = {why: max(cell.waited or 0.0 for cell in of) for why, of in groups.items()}
    said = []
    for why in sorted(groups, key=lambda why: -ages[why])[:WAITING_SHOWN]:
        nodes = next((cell.node_state for cell in groups[why] if cell.node_state), None)
        age = joined(filter(None, (units.spoken(ages[why]), nodes)))
        said.append(
            say("{count} for {reason} ({age})", count=len(groups[why]), reason=why, age=age)
        )
    return headed(say("waiting"), listed(said)) if said else ""


def _cell_text(cell: Cell) -> str:
    parts = [f"{cell.name} ({say(cell.state)})"]
    if cell.epoch is not None:
        parts.append(f"{say('epoch')} {cell.epoch}/{cell.epochs or '?'}")
    if cell.loss is not None:
        parts.append(f"{say('loss')} {cell.loss:g}")
    return " ".join(parts)


def _vitals_line(view: InstanceView) -> str:
    table = view.track(metrics.GPUS).value
    parts = []
    if table and table.error:
        words = GPU_UNREAD if table.unread else GPU_WORDS
        parts.append(f"gpu {say(words.get(table.error.kind, table.error.kind))}")
    elif (busy := utilization(table)) is not None:
        parts.append(f"gpu {busy:.0%}")
    else:
        parts.append("gpu ?")
    memory = view.track(metrics.MEMORY).value
    used = share(memory.used, memory.limit) if memory else None
    if memory and "limit" in memory.why:
        parts.append(f"{say('mem')} –")  # no limit is set: absent, not unknown
    else:
        parts.append(f"{say('mem')} {_percent(used)}")
    for mount in view.track(metrics.MOUNTS).value or ():
        mount = shown(mount, view.mount_faults.get(mount.path))
        size = _percent(share(*mount.counts("bytes")))
        inodes = _percent(share(mount.inodes_used, mount.inodes_total))
        if mount.lacks("inodes"):
            inodes = "–"  # absent, not unknown
        parts.append(
            say("{path} bytes {size} inodes {inodes}", path=mount.path, size=size, inodes=inodes)
        )
    return listed(parts)


def _percent(value: float | None) -> str:
    return "?" if value is None else f"{value:.0%}"
