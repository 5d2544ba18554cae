"""What must be remembered between two readings of one box so that a verdict can rest on it.

Counters that only mean something as a difference, the last sign of life, the session that a run hung
on, the time seen idle. What a restart of the program must not lose is kept in the history.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import isfinite

from gpu_tui.core import metrics
from gpu_tui.core.fleet import Instance
from gpu_tui.core.halted import TRACED
from gpu_tui.core.idle import IdleClock
from gpu_tui.core.liveness import Run, Session, session_of
from gpu_tui.core.manifest import must_load
from gpu_tui.core.pulse import Pulse
from gpu_tui.core.queue_history import CellFinished, CellStarted, QueueDone, QueueEvent
from gpu_tui.core.readings import FileTable, Host, Memory, Process
from gpu_tui.core.sample import NO_TRACK, Reading, Track
from gpu_tui.state.history import CONTACT_EVERY, History
from gpu_tui.state.rest import Rest
from gpu_tui.state.runs_before import box_of

STAMP_SLACK = 2.0  # stamps have whole seconds, and two clocks are read at two moments
QUARTER = 900.0  # time zones differ by quarters of an hour
ZONE_SLACK = 60.0  # between a stamp and its line's arrival
LONGEST_OFFSET = 15 * 3600.0
BETWEEN_LOOKS = 1.0  # seconds: CPU time is counted in hundredths
SMOOTHED = 30.0  # seconds over which CPU use is averaged, so that gaps between bursts of work do not count as a stall
AT_WORK = 0.1  # cores: a process that waits or polls for its peers uses less

RUNNER_LAST = "runner_last"  # history counter: the box on which the queue's shell was last alive
OOM_LEVELS = "oom_levels"  # history counter: the last OOM count of each cgroup
LEVELS_KEPT = 16
PULSE = "pulse"  # what the history calls the last look at the files

Tracks = Mapping[str, Track[object]]


@dataclass(frozen=True, slots=True)
class OomRise:
    """The cgroup counted `times` kills since the baseline, the last between `after` and `at` (our time)."""

    after: float
    at: float
    times: int


class Witness:
    """Remembers; the outlook asks."""

    def __init__(self, instance: Instance, history: History) -> None:
        self._instance = instance
        self._history = history
        self.logs, self.artifacts, self.life = Pulse(), Pulse(), Pulse()
        self.words = Pulse()  # lines of the cells' logs, by our time as they came
        self.idle, self.rest = IdleClock(), Rest(instance, history)
        self.session: Session | None = None  # of the run when it was last seen alive
        self.alive_at: float | None = None  # our time
        self.gone_at: float | None = None  # our time of the first look after it that saw no run
        self.oom_base: int | None = None
        self.oom_since: float | None = None  # our time of the first look at this counter
        self.oom_rose: OomRise | None = None
        self.rebooted_at: float | None = None  # our time when another boot id was first seen
        self.runner_seen = False
        # The queue's own shell lived at the last sight of the run, also in an earlier watch.
        self.runner_last = history.counter(instance.name, RUNNER_LAST) == box_of(instance)
        self._oom_last: int | None = None
        self._oom_level = ""  # the cgroup of that counter
        self._oom_counts: dict[str, int] = {}  # by cgroup
        self._oom_looked: float | None = None
        self._oom_written: float | None = None  # when that was last put down
        self._boot_id = history.counter(instance.name, "boot_id")
        self.life.recall(_numbers(history.counter(instance.name, PULSE), box_of(instance)))
        self._pulse_written: float | None = None
        self._zone: float | None = None
        self._kept: dict[str, str] = {}  # by us, of what the history holds
        # PID in state t -> since when, and whether the first look found it so.
        self.traced: dict[int, tuple[float, bool]] = {}
        self._computed: dict[int, tuple[float, float]] = {}  # PID -> our time, its CPU seconds
        self._shares: dict[int, float] = {}  # PID -> cores that it used lately
        self._looked: float | None = None  # at the processes

    # --- readings ---------------------------------------------------------------------------

    def sampled(self, metric: str, tracks: Tracks, at: float) -> None:
        """A probe gave a value."""
        value = tracks[metric].value
        if metric == metrics.FILES.name and isinstance(value, FileTable):
            self._files(value, tracks, at)
        elif metric == metrics.MEMORY.name and isinstance(value, Memory):
            if value.oom_kill is not None:
                self._oom(value.oom_kill, value.level or "", at)
        elif metric == metrics.HOST.name and isinstance(value, Host) and value.boot_id:
            self._boot(value.boot_id, at)
        elif metric == metrics.PROCESSES.name and isinstance(value, tuple):
            self._processes(value, at)

    def _files(self, table: FileTable, tracks: Tracks, at: float) -> None:
        box_now = box_time(tracks, at)
        if box_now is None:
            return
        moving = {p: stat for p, stat in table.found.items() if p != self._instance.queue.file}
        artifacts = {path for path in moving if must_load(path)}
        self.artifacts.look(box_now, (moving[path] for path in artifacts))
        self.logs.look(box_now, (stat for path, stat in moving.items() if path not in artifacts))
        self.life.look(box_now, moving.values())
        written = self._pulse_written
        if (numbers := self.life.memory()) and (
            written is None or not 0 <= at - written < CONTACT_EVERY
        ):
            self._pulse_written = at
            told = json.dumps([box_of(self._instance), *numbers])
            self._history.set_counter(self._instance.name, PULSE, told, at)

    def _processes(self, table: tuple[Process, ...], at: float) -> None:
        """Note which processes a debugger holds, since when, and which compute, over several looks."""
        held = [process.pid for process in table if process.state == TRACED]
        self.traced = {pid: self.traced.get(pid, (at, self._looked is None)) for pid in held}
        computed, shares = {}, {}
        for process in table:
            old = self._computed.get(process.pid)
            now = old if process.cpu_seconds is None else (at, process.cpu_seconds)
            if now is None:
                continue
            pid, share = process.pid, self._shares.get(process.pid)
            if old is None or now[1] < old[1]:
                share = 1.0 if process.state == "R" else 0.0
            elif now[0] - old[0] < BETWEEN_LOOKS:
                now = old
            else:
                newest = (now[1] - old[1]) / (now[0] - old[0])
                weight = min(1.0, (now[0] - old[0]) / SMOOTHED)
                share = newest if share is None else share + weight * (newest - share)
            computed[pid], shares[pid] = now, share or 0.0
        self._computed, self._shares, self._looked = computed, shares, at

    def computes(self, pids: Collection[int]) -> bool:
        """Whether one of these processes keeps a core busy; at a first look, whether it is in state R."""
        return any(self._shares.get(pid, 0.0) >= AT_WORK for pid in pids)

    def _oom(self, count: int, level: str, at: float) -> None:
        """The first look ever is a baseline; later looks, also after a restart, give a difference.

        `level`: the cgroup whose counter it is; which of nested cgroups has the least room may change.
        """
        if self.oom_base is None:
            self._first_oom(count, level, at)
        elif level != self._oom_level:
            self._oom_last = self._oom_counts.get(level, count)
            self.oom_base = self._oom_last
        self._oom_level = level
        last = self._oom_last if self._oom_last is not None else count
        if count < last:  # another cgroup: it counts from the beginning
            self.oom_base, self.oom_since, self.oom_rose = 0, at, None
            self._keep("oom_since", f"{at}", at)
            self._keep("oom_rose", "", at)
            last = 0
        if count > last:
            looked = self._oom_looked if self._oom_looked is not None else self.oom_since
            self.oom_rose = OomRise(
                at if looked is None else looked, at, count - (self.oom_base or 0)
            )
            self._keep("oom_rose", f"{self.oom_rose.after} {at} {self.oom_rose.times}", at)
        self._oom_last, self._oom_looked = count, at
        self._keep("oom_kill", str(count), at)
        self._oom_counts[level] = count
        while len(self._oom_counts) > LEVELS_KEPT:
            del self._oom_counts[next(iter(self._oom_counts))]
        self._keep(OOM_LEVELS, json.dumps(self._oom_counts), at)
        if self._oom_written is None or not 0 <= at - self._oom_written < CONTACT_EVERY:
            self._oom_written = at
            self._keep("oom_looked", f"{at}", at)

    def _first_oom(self, count: int, level: str, at: float) -> None:
        kept = _number(self._history.counter(self._instance.name, "oom_kill"))
        self._oom_counts = _counts(self._history.counter(self._instance.name, OOM_LEVELS))
        if self._oom_counts:  # 0.1.0 kept one number, of the nearest cgroup
            kept = self._oom_counts.get(level)
        since = _number(self._history.counter(self._instance.name, "oom_since"))
        if kept is None or kept > count:
            self.oom_base, self.oom_since, self._oom_last = count, at, count
            self._keep("oom_since", f"{at}", at)
            self._keep("oom_rose", "", at)
            return
        self.oom_base, self.oom_since, self._oom_last = int(kept), since, int(kept)
        # Of the watch before this one: whatever is counted since was killed after it.
        self._oom_looked = _number(self._history.counter(self._instance.name, "oom_looked"))
        words = (self._history.counter(self._instance.name, "oom_rose") or "").split()
        numbers = [number for word in words if (number := _number(word)) is not None]
        if len(numbers) == 3 and numbers[2] <= count:  # else another cgroup's
            self.oom_rose = OomRise(numbers[0], numbers[1], int(numbers[2]))

    def _boot(self, boot_id: str, at: float) -> None:
        if self._boot_id and self._boot_id != boot_id:
            self.rebooted_at = at
            self.oom_base = self.oom_rose = None
            self._keep("oom_kill", "", at)
            self._keep(OOM_LEVELS, "", at)
        self._boot_id = boot_id
        self._keep("boot_id", boot_id, at)

    def _keep(self, name: str, value: str, at: float) -> None:
        if self._kept.get(name) == value:  # said each second
            return
        self._kept[name] = value
        if self._history.counter(self._instance.name, name) != value:
            self._history.set_counter(self._instance.name, name, value, at)

    # --- the queue's stamps -------------------------------------------------------------------

    def queue_line(self, event: QueueEvent, tracks: Tracks, at: float) -> None:
        """A stamp that has just been written tells the zone that the queue writes its stamps in.

        The zone of our own login there may be another one than that of the shell that runs the queue.
        """
        if not isinstance(event, CellStarted | CellFinished | QueueDone) or event.stamp is None:
            return
        box_now = box_time(tracks, at)
        if box_now is None:
            return
        ahead = event.stamp - box_now
        zone = round(ahead / QUARTER) * QUARTER
        if abs(ahead - zone) <= ZONE_SLACK and abs(zone) <= LONGEST_OFFSET:
            self._zone = zone

    def offset(self, tracks: Tracks, newest: float | None, now: float) -> float:
        """Seconds that the queue's stamps are ahead of UTC. A stamp never lies in the future."""
        host = tracks.get(metrics.HOST.name, NO_TRACK).value
        if self._zone is not None:
            return self._zone
        offset = float(host.utc_offset_seconds) if isinstance(host, Host) else 0.0
        box_now = box_time(tracks, now)
        if newest is not None and box_now is not None:
            over = newest - offset - box_now - ZONE_SLACK
            if 0 < over <= 2 * LONGEST_OFFSET:
                offset += QUARTER * -(-over // QUARTER)
        return offset

    # --- the run ------------------------------------------------------------------------------

    def saw_run(self, run: Run, processes: tuple[Process, ...], at: float) -> None:
        """The process table shows the run alive: remember on what session it hangs."""
        if not run.alive and self.gone_at is None:
            self.gone_at = at
        if run.alive and at != self.alive_at:
            self.alive_at, self.gone_at = at, None
            self.runner_seen = self.runner_seen or bool(run.runners)
            self.runner_last = bool(run.runners)
            self._keep(RUNNER_LAST, box_of(self._instance) if run.runners else "", at)
            self.session = session_of(processes, run)

    @property
    def typical_gap(self) -> float | None:
        """Seconds between two signs of life, as seen now or in an earlier session."""
        return self.life.typical_gap


def box_time(tracks: Tracks, at: float) -> float | None:
    """The box's clock at our time `at`; None before it was read."""
    good = tracks.get(metrics.HOST.name, NO_TRACK).good
    if not isinstance(good, Reading) or not isinstance(good.value, Host):
        return None
    return good.value.box_time + (at - good.taken_at)


def _number(text: str | None) -> float | None:
    """What the history kept; its file holds any text."""
    try:
        number = float(text) if text else None
    except ValueError:
        return None
    return number if number is not None and isfinite(number) else None


def _numbers(text: str | None, box: str) -> tuple[float, ...]:
    """The same of several that were kept of this very box."""
    try:
        whose, *told = json.loads(text) if text else ("",)
        numbers = tuple(map(float, told))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return ()
    return numbers if whose == box and all(map(isfinite, numbers)) else ()


def _counts(text: str | None) -> dict[str, int]:
    """OOM kills by cgroup, from the history; empty if its text is not valid."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {level: count for level, count in found.items() if type(count) is int}
