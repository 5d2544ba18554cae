"""One simulated box: a tree of its own with home, bin, kernel files, cards and disks.

A box is only files. What happens on it is written by its story; what is asked of it is answered by
real programs over those files.
"""

from __future__ import annotations

import errno
import os
import shlex
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from random import Random

from gpu_tui.demo import shims
from gpu_tui.demo.kernel import Proc, Vitals, write_atomic, write_cgroup, write_proc

GIB = 1 << 30
MIB = 1 << 20
IDLE_WATTS_SHARE = 0.14


@dataclass(frozen=True, slots=True)
class Card:
    """A model of GPU: memory in MiB, power in W, clocks in MHz."""

    name: str
    memory: int
    watts: int
    clock: int
    memory_clock: int


@dataclass(frozen=True, slots=True)
class Disk:
    """One mount of a box, relative to its home. `size` in bytes; `inodes` None = not reported."""

    path: str
    fstype: str
    source: str
    size: int
    inodes: int | None


@dataclass(frozen=True, slots=True)
class Hardware:
    """What was rented. `utc_offset` is how many hours the box's local time is ahead of UTC."""

    card: Card
    cards: int = 1
    memory: int = 64 * GIB
    cores: float = 16.0
    host_load: float = 40.0
    disks: tuple[Disk, ...] = ()
    cgroup: int = 2
    driver: str = "550.163.01"
    utc_offset: int = 0
    uptime: float = 180_000.0


@dataclass(slots=True)
class Load:
    """What the run asks of the box now: shares 0–1, bytes, cores."""

    gpu: float = 0.0
    gpu_memory: float = 0.0
    memory: float = 2.0 * GIB
    cores: float = 0.3


@dataclass(slots=True)
class CardState:
    """One card between two beats."""

    uuid: str
    share: float = 0.0
    memory: float = 0.0
    celsius: float = 31.0


@dataclass(slots=True)
class Box:
    """A box in the directory `place`; `booted_at` is epoch seconds."""

    name: str
    place: Path
    hardware: Hardware
    random: Random
    booted_at: float
    hostname: str
    user: str = "root"
    load: Load = field(default_factory=Load)
    cards: list[CardState] = field(default_factory=list)
    vitals: Vitals = field(init=False)
    boot_id: str = field(init=False)
    trainer: int | None = None
    _procs: dict[int, Proc] = field(default_factory=dict)
    _next_pid: int = 0
    _inodes: dict[str, int] = field(default_factory=dict)
    _logs: dict[str, FileIO] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Build the tree."""
        rigged = self.hardware
        self.boot_id = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        self.vitals = Vitals(2 * GIB, rigged.memory, rigged.cores, rigged.host_load)
        self._next_pid = self.random.randrange(900, 9000)
        self.cards = [
            CardState(f"GPU-{uuid.UUID(int=self.random.getrandbits(128), version=4)}")
            for _ in range(rigged.cards)
        ]
        for folder in (self.home, self.bin, self.state, self.cgroup, self.proc):
            folder.mkdir(parents=True, exist_ok=True)
        for disk in rigged.disks:
            (self.home / disk.path).mkdir(parents=True, exist_ok=True)
        self._write_programs()
        self._write_mounts()
        self._procs[1] = Proc(1, 0, "bash", ("bash", "/init/boot/boot.sh"), 0.0)
        self._procs[58] = Proc(58, 1, "sshd", ("sshd: /usr/sbin/sshd -D [listener]",), 1.0)

    @property
    def home(self) -> Path:
        """The login directory."""
        return self.place / "home"

    @property
    def bin(self) -> Path:
        """The box's own programs, first on its PATH."""
        return self.place / "bin"

    @property
    def state(self) -> Path:
        """What the box's programs read; a person who logs in has no need of it."""
        return self.place / "state"

    @property
    def cgroup(self) -> Path:
        """In place of /sys/fs/cgroup."""
        return self.place / "cgroup"

    @property
    def proc(self) -> Path:
        """In place of /proc."""
        return self.place / "proc"

    def environment(self) -> dict[str, str]:
        """What a login on this box has in its environment; nothing of the user's own leaks in."""
        system = os.environ.get("PATH", os.defpath)
        return {
            "HOME": str(self.home),
            "PATH": f"{self.bin}{os.pathsep}{system}",
            "USER": self.user,
            "LOGNAME": self.user,
            "SHELL": "/bin/sh",
            "LANG": "C.UTF-8",
            "TZ": f"BOX{-self.hardware.utc_offset}",
            "PS1": f"{self.user}@{self.hostname}:$PWD# ",
        }

    # --- files ---------------------------------------------------------------------------------

    def write(self, path: str, data: str | bytes, at: float | None = None) -> Path:
        """Put a file into the home, its folders with it; `at` sets its mtime (epoch seconds).

        OSError with ENOSPC where the disk has no inodes left for it, as the kernel has it.
        """
        target = self.home / path
        self._claim(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, data)
        if at is not None:
            os.utime(target, (at, at))
        return target

    def write_hollow(self, path: str, size: int) -> None:
        """A file of `size` bytes that takes no room on this machine (a hole); df counts its size."""
        target = self.home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            file.truncate(size)

    def append(self, path: str, data: str, at: float | None = None) -> None:
        """Add to a log; one write, so that a reader never sees a torn character."""
        log = self._logs.get(path)
        if log is None:
            target = self.home / path
            target.parent.mkdir(parents=True, exist_ok=True)
            log = self._logs[path] = target.open("ab", buffering=0)
        log.write(data.encode())
        if at is not None:
            os.utime(log.fileno(), (at, at))

    def close(self) -> None:
        """Let go of the logs that are still open."""
        while self._logs:
            self._logs.popitem()[1].close()

    def inodes_used(self, disk: Disk) -> int:
        """Files and folders that really lie below a mount, itself included."""
        found = os.walk(self.home / disk.path)
        self._inodes[disk.path] = 1 + sum(len(folders) + len(files) for _, folders, files in found)
        return self._inodes[disk.path]

    def _claim(self, path: str) -> None:
        """Take the inodes that a new file and its missing folders need, or refuse."""
        disk = next((row for row in self.hardware.disks if path.startswith(f"{row.path}/")), None)
        if disk is None or disk.inodes is None:
            return
        target = self.home / path
        new = sum(not place.exists() for place in (target, *target.parents))
        used = self._inodes.get(disk.path) or self.inodes_used(disk)
        if used + new > disk.inodes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._inodes[disk.path] = used + new

    # --- processes -----------------------------------------------------------------------------

    def spawn(self, comm: str, argv: tuple[str, ...], now: float, parent: int = 1) -> int:
        """A new row in the process table; returns its pid."""
        self._next_pid += self.random.randrange(3, 40)
        started = max(0.0, now - self.booted_at)
        self._procs[self._next_pid] = Proc(self._next_pid, parent, comm, argv, started, "R")
        return self._next_pid

    def reap(self, pid: int | None) -> None:
        """A process is gone; its children with it."""
        for child in [row.pid for row in self._procs.values() if pid and row.ppid == pid]:
            self.reap(child)
        if pid is not None:
            self._procs.pop(pid, None)

    # --- the beat ------------------------------------------------------------------------------

    def beat(self, now: float, seconds: float) -> None:
        """Let `seconds` pass at the present load, then write every state file of the box."""
        ease = min(1.0, seconds / 2.0)
        jitter = self.random.gauss
        busy = self.load.gpu > 0
        for card in self.cards:
            aim = min(1.0, max(0.0, self.load.gpu + jitter(0, 0.035))) if busy else 0.0
            card.share += (aim - card.share) * ease
            used = self.load.gpu_memory * self.hardware.card.memory
            card.memory += (used - card.memory) * ease
            warm = 30 + 44 * card.share + jitter(0, 0.4)
            card.celsius += (warm - card.celsius) * min(1.0, seconds / 9.0)
        vitals = self.vitals
        drift = 1 + (jitter(0, 0.004) if busy else 0.0)
        limit = self.hardware.memory
        vitals.memory = min(limit, round(self.load.memory * drift))
        vitals.at_limit += vitals.memory == limit
        vitals.pass_time(seconds, max(0.05, self.load.cores * (1 + jitter(0, 0.05))))
        vitals.uptime = now - self.booted_at
        vitals.host_load = max(0.5, vitals.host_load + jitter(0, 0.3))
        vitals.processes = dict(self._procs)
        self._write_cards()
        write_cgroup(self.cgroup, self.hardware.cgroup, vitals)
        write_proc(self.proc, vitals, self.boot_id, self.booted_at)

    def _write_cards(self) -> None:
        rows = [gpu_row(self.hardware, n, card) for n, card in enumerate(self.cards)]
        lines = [tuple(rows[0]), tuple(unit for _, unit in rows[0].values())]
        lines += [tuple(value for value, _ in row.values()) for row in rows]
        write_atomic(self.state / "gpu.tsv", _table(lines))
        apps = [("gpu_uuid", "pid", "process_name", "used_gpu_memory", "used_memory")]
        apps.append(("", "", "", "MiB", "MiB"))
        if self.trainer is not None:
            for card in self.cards:
                used = str(max(0, round(card.memory) - 10))
                apps.append((card.uuid, str(self.trainer), "python", used, used))
        write_atomic(self.state / "apps.tsv", _table(apps))

    def _write_programs(self) -> None:
        state = str(self.state)
        programs = {
            "nvidia-smi": shims.nvidia_smi(state),
            "df": shims.df(state),
            "hostname": shims.hostname(self.hostname),
            **dict.fromkeys(shims.NOT_HERE, shims.NOTHING_RUNS),
        }
        for name, text in programs.items():
            write_atomic(self.bin / name, text)
            (self.bin / name).chmod(0o755)
        self.write(".profile", f"cd {shlex.quote(str(self.home))}\n")

    def _write_mounts(self) -> None:
        system = Disk("", "overlay", "overlay", 30 * GIB, None)
        rows = [
            (
                str(self.home / disk.path),
                disk.fstype,
                disk.source,
                str(disk.size // 1024),
                "-" if disk.inodes is None else str(disk.inodes),
            )
            for disk in (system, *self.hardware.disks)
        ]
        write_atomic(self.state / "mounts.tsv", _table(rows))
        mounts = "".join(f"{row[2]} {row[0]} {row[1]} rw,relatime 0 0\n" for row in rows)
        for place in (self.proc / "self", self.proc / "sys/kernel"):
            place.mkdir(parents=True)
        write_atomic(self.proc / "mounts", mounts)
        write_atomic(self.proc / "self/mounts", mounts)
        write_atomic(self.proc / "self/cgroup", "0::/\n")
        write_atomic(self.proc / "sys/kernel/hostname", f"{self.hostname}\n")


def gpu_row(hardware: Hardware, index: int, card: CardState) -> dict[str, tuple[str, str]]:
    """One card as field -> (value, unit), in nvidia-smi's own names."""
    model = hardware.card
    watts = model.watts * (IDLE_WATTS_SHARE + (0.93 - IDLE_WATTS_SHARE) * card.share)
    busy = card.share > 0.05
    clock = str(round(model.clock * (0.94 + 0.04 * card.share)) if busy else 210)
    used = round(card.memory) + (0 if busy else 3)
    bus = f"00000000:{7 + 8 * index:02X}:00.0"
    reasons = {
        "gpu_idle": not busy,
        "sw_power_cap": False,
        "hw_slowdown": False,
        "hw_thermal_slowdown": False,
        "hw_power_brake_slowdown": False,
        "sw_thermal_slowdown": False,
        "sync_boost": False,
        "applications_clocks_setting": False,
    }
    active = "0x0000000000000000" if busy else "0x0000000000000001"
    values = {
        "index": (str(index), ""),
        "count": (str(hardware.cards), ""),
        "name": (model.name, ""),
        "gpu_name": (model.name, ""),
        "uuid": (card.uuid, ""),
        "gpu_uuid": (card.uuid, ""),
        "pci.bus_id": (bus, ""),
        "gpu_bus_id": (bus, ""),
        "driver_version": (hardware.driver, ""),
        "utilization.gpu": (str(round(card.share * 100)), "%"),
        "utilization.memory": (str(round(card.share * 54)), "%"),
        "memory.total": (str(model.memory), "MiB"),
        "memory.used": (str(used), "MiB"),
        "memory.free": (str(max(0, model.memory - used)), "MiB"),
        "temperature.gpu": (str(round(card.celsius)), ""),
        "temperature.memory": ("N/A", ""),
        "power.draw": (f"{watts:.2f}", "W"),
        "power.limit": (f"{model.watts:.2f}", "W"),
        "enforced.power.limit": (f"{model.watts:.2f}", "W"),
        "power.max_limit": (f"{model.watts:.2f}", "W"),
        "pstate": ("P0" if busy else "P8", ""),
        "clocks.sm": (clock, "MHz"),
        "clocks.current.sm": (clock, "MHz"),
        "clocks.gr": (clock, "MHz"),
        "clocks.current.graphics": (clock, "MHz"),
        "clocks.mem": (str(model.memory_clock), "MHz"),
        "clocks.current.memory": (str(model.memory_clock), "MHz"),
        "clocks.max.sm": (str(model.clock), "MHz"),
        "clocks.max.gr": (str(model.clock), "MHz"),
        "clocks.max.mem": (str(model.memory_clock), "MHz"),
        "persistence_mode": ("Enabled", ""),
        "compute_mode": ("Default", ""),
        "mig.mode.current": ("Disabled" if "100" in model.name else "[N/A]", ""),
        "ecc.mode.current": ("Enabled", ""),
        "ecc.errors.corrected.volatile.total": ("0", ""),
        "ecc.errors.uncorrected.volatile.total": ("0", ""),
        "ecc.errors.uncorrected.aggregate.total": ("0", ""),
    }
    for family in ("clocks_throttle_reasons", "clocks_event_reasons"):
        values[f"{family}.active"] = (active, "")
        for name, on in reasons.items():
            values[f"{family}.{name}"] = ("Active" if on else "Not Active", "")
    return values


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)
