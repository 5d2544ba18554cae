"""The kernel's files of one box as they stand in its own tree: cgroup v1 or v2, and /proc.

Nothing here decides what happens; it writes down, in the kernel's formats, what a `Vitals` says.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpu_tui.new_file import write_whole

TICKS = 100  # USER_HZ on every Linux that rents GPUs
PERIOD_USEC = 100_000
UNLIMITED_V1 = 9_223_372_036_854_771_712
PAGE = 4096


@dataclass(frozen=True, slots=True)
class Proc:
    """One row of the process table. `started` is seconds after boot, `rss` bytes."""

    pid: int
    ppid: int
    comm: str
    argv: tuple[str, ...]
    started: float
    state: str = "S"
    rss: int = 8 << 20


@dataclass(slots=True)
class Vitals:
    """What the kernel of one box would know now. Bytes, seconds, cores; counters only rise."""

    memory: int
    memory_limit: int | None
    cores: float
    host_load: float
    host_cores: int = 128
    host_memory: int = 1007 << 30
    memory_peak: int = 0
    oom_kill: int = 0
    at_limit: int = 0
    cpu_used: float = 0.0
    periods: int = 0
    throttled: int = 0
    uptime: float = 0.0
    processes: Mapping[int, Proc] = field(default_factory=dict)

    def pass_time(self, seconds: float, busy_cores: float) -> None:
        """Let the counters run for `seconds` at `busy_cores`."""
        used = min(busy_cores, self.cores)
        self.cpu_used += used * seconds
        periods = round(seconds * 1_000_000 / PERIOD_USEC)
        self.periods += periods
        self.throttled += round(periods * max(0.0, busy_cores - 0.9 * self.cores) / self.cores)
        self.memory_peak = max(self.memory_peak, self.memory)


def write_atomic(path: Path, data: str | bytes) -> None:
    """As fast as it can be: a demo that a power cut ends begins again."""
    write_whole(path, data, mode=0o644, synced=False)


def write_cgroup(root: Path, version: int, now: Vitals) -> None:
    """Write the job's cgroup files as version 1 or 2 lays them out."""
    files = _cgroup2(now) if version == 2 else _cgroup1(now)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, text)


def _cgroup2(now: Vitals) -> dict[str, str]:
    limit = "max" if now.memory_limit is None else str(now.memory_limit)
    usec = round(now.cpu_used * 1_000_000)
    return {
        "cgroup.controllers": "cpuset cpu io memory pids\n",
        "memory.current": f"{now.memory}\n",
        "memory.max": f"{limit}\n",
        "memory.peak": f"{now.memory_peak}\n",
        "memory.events": (
            f"low 0\nhigh 0\nmax {now.at_limit}\noom {now.oom_kill}\n"
            f"oom_kill {now.oom_kill}\noom_group_kill 0\n"
        ),
        "memory.stat": f"anon {now.memory * 9 // 10}\nfile {now.memory // 10}\ninactive_file {now.memory // 40}\n",
        "cpu.max": f"{round(now.cores * PERIOD_USEC)} {PERIOD_USEC}\n",
        "cpu.stat": (
            f"usage_usec {usec}\nuser_usec {usec * 9 // 10}\nsystem_usec {usec // 10}\n"
            f"nr_periods {now.periods}\nnr_throttled {now.throttled}\n"
            f"throttled_usec {now.throttled * PERIOD_USEC // 4}\n"
        ),
    }


def _cgroup1(now: Vitals) -> dict[str, str]:
    limit = UNLIMITED_V1 if now.memory_limit is None else now.memory_limit
    return {
        "memory/memory.usage_in_bytes": f"{now.memory}\n",
        "memory/memory.limit_in_bytes": f"{limit}\n",
        "memory/memory.max_usage_in_bytes": f"{now.memory_peak}\n",
        "memory/memory.failcnt": f"{now.at_limit}\n",
        "memory/memory.oom_control": (
            f"oom_kill_disable 0\nunder_oom 0\noom_kill {now.oom_kill}\n"
        ),
        "memory/memory.stat": f"cache {now.memory // 10}\ntotal_inactive_file {now.memory // 40}\n",
        "cpu/cpu.cfs_quota_us": f"{round(now.cores * PERIOD_USEC)}\n",
        "cpu/cpu.cfs_period_us": f"{PERIOD_USEC}\n",
        "cpu/cpu.stat": (
            f"nr_periods {now.periods}\nnr_throttled {now.throttled}\n"
            f"throttled_time {now.throttled * PERIOD_USEC * 250}\n"
        ),
        "cpuacct/cpuacct.usage": f"{round(now.cpu_used * 1_000_000_000)}\n",
    }


def write_proc(root: Path, now: Vitals, boot_id: str, booted_at: float) -> None:
    """Write /proc: the host's load and memory (as a container really shows them), and the processes."""
    (root / "sys/kernel/random").mkdir(parents=True, exist_ok=True)
    load, cores = now.host_load, now.host_cores
    busy = round(now.uptime * min(load, cores) * TICKS)
    idle = round(now.uptime * max(0.0, cores - load) * TICKS)
    free_kib = (now.host_memory - now.memory) // 3 // 1024
    count = len(now.processes)
    write_atomic(root / "sys/kernel/random/boot_id", f"{boot_id}\n")
    write_atomic(root / "uptime", f"{now.uptime:.2f} {now.uptime * 0.4 * cores:.2f}\n")
    write_atomic(
        root / "loadavg", f"{load:.2f} {load * 0.98:.2f} {load * 0.95:.2f} {count}/4211 99231\n"
    )
    write_atomic(
        root / "meminfo",
        f"MemTotal:       {now.host_memory // 1024} kB\nMemFree:        {free_kib} kB\n"
        f"MemAvailable:   {free_kib * 2} kB\n",
    )
    write_atomic(
        root / "stat",
        f"cpu  {busy * 9 // 10} 0 {busy // 10} {idle} 0 0 0 0 0 0\n"
        f"ctxt 9912345\nbtime {round(booted_at)}\nprocesses 99231\nprocs_running 2\n",
    )
    for pid, process in now.processes.items():
        if not (root / str(pid)).exists():  # a row never changes while its process lives
            _write_process(root / str(pid), process)
    for entry in os.scandir(root):
        if entry.name.isdigit() and int(entry.name) not in now.processes:
            shutil.rmtree(entry.path, ignore_errors=True)


def _write_process(place: Path, process: Proc) -> None:
    place.mkdir(exist_ok=True)
    started, pages = round(process.started * TICKS), process.rss // PAGE
    fields = (
        f"{process.pid} ({process.comm}) {process.state} {process.ppid} {process.pid} {process.pid}"
    )
    write_atomic(
        place / "stat",
        f"{fields} 0 -1 4194304 0 0 0 0 120 30 0 0 20 0 1 0 {started} {process.rss * 3} {pages} "
        "18446744073709551615 " + "0 " * 26 + "0\n",
    )
    write_atomic(place / "cmdline", "".join(f"{word}\0" for word in process.argv))
    write_atomic(place / "comm", f"{process.comm}\n")
