"""What the kernel says of memory and CPU -> Memory and CpuCounters, by cgroup v2, v1 or host.

The text is lines of `KEY value...`; KEY names the file that the line was read from. A file that is
not there has no lines, and its number stays unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

from gpu_tui.core.plain import plain
from gpu_tui.core.readings import CpuCounters, Memory

NO_LIMIT_FROM = 1 << 60  # v1 writes "no limit" as a huge number
KIB = 1024
MOST_LEVELS = 16
LONGEST_NAME = 200

Fields = Mapping[str, str]


def parse_memory(text: bytes) -> Memory | None:
    """Memory by the cgroup that limits the job, otherwise by the host; None if nothing was readable.

    Of nested cgroups with a limit, the one with the least room counts.
    """
    levels = _levels(text)
    fields = levels[0]
    host_room, host_total = _host(fields)
    for version, used in (("v2", "v2.current"), ("v1", "v1.usage")):
        known = [_cgroup(version, level) for level in levels if used in level]
        if known:
            if version == "v1":  # v1 counts a kill only in the victim's own cgroup
                known = _summed(known)
            binds = min(known, key=_room)
            return replace(binds, host_room=host_room, host_total=host_total)
    total, free = _kib(fields.get("meminfo.MemTotal:")), _kib(fields.get("meminfo.MemAvailable:"))
    if total is None:
        return None
    why = {"peak": "no cgroup bounds this job: these are the host's numbers"}
    taken = None if free is None else max(0, total - free)
    if taken is None:
        why["used"] = "this kernel does not report MemAvailable"
    oom_kill = _number(fields.get("vmstat.oom_kill"))
    if oom_kill is None:
        why["oom_kill"] = "this kernel does not count it"
    return Memory(
        "host", taken, total, None, oom_kill, why=why, host_room=host_room, host_total=host_total
    )


def _levels(text: bytes) -> list[Fields]:
    """The fields of each nested cgroup, from ours outwards; fields of no cgroup are in the first."""
    parts: dict[int, list[bytes]] = {0: []}
    at = 0
    for line in text.split(b"\n"):
        key, _, value = line.strip().partition(b" ")
        if key == b"level":
            at = _number(value.decode("ascii", "replace")) or 0
            if at >= MOST_LEVELS:
                break
            continue
        # In each section the lines of the cgroups come last.
        home = at if key.startswith((b"v1.", b"v2.")) else 0
        parts.setdefault(home, []).append(line)
    return [_fields(b"\n".join(parts[number])) for number in sorted(parts)]


def _host(fields: Fields) -> tuple[int | None, int | None]:
    """Room and total of the machine in bytes: its memory without huge pages, and its swap."""
    total, room = (_kib(fields.get(f"meminfo.{key}:")) for key in ("MemTotal", "MemAvailable"))
    if total is None or room is None:
        return None, None
    swap, unused, huge = (
        _kib(fields.get(f"meminfo.{key}:")) or 0 for key in ("SwapTotal", "SwapFree", "Hugetlb")
    )
    whole = max(0, total - huge) + swap
    return min(room + unused, whole), whole


def _room(memory: Memory) -> float:
    if memory.limit is None or memory.needed is None:
        return math.inf
    return memory.limit - memory.needed


def _summed(known: list[Memory]) -> list[Memory]:
    """The cgroups, each with the OOM kills of those inside it added."""
    kills: int | None = None
    found = []
    for memory in known:
        if memory.oom_kill is not None:
            kills = (kills or 0) + memory.oom_kill
        found.append(replace(memory, oom_kill=kills if memory.oom_kill is not None else None))
    return found


def _cgroup(version: str, fields: Fields) -> Memory:
    def number(name: str) -> int | None:
        return _number(fields.get(f"{version}.{name}"))

    if version == "v2":
        source, used, peak, oom = "cgroup2", "current", number("peak"), number("events.oom_kill")
        limit, soft = _least(number("max"), number("high"))
        cache = number("stat.inactive_file"), number("stat.active_file")
    else:
        source, used, peak, oom = "cgroup1", "usage", number("peak"), number("oom.oom_kill")
        limit, soft = _least(number("limit"), None)
        cache = number("stat.total_inactive_file"), number("stat.total_active_file")
    why = {} if limit is not None else {"limit": "this cgroup sets no limit"}
    taken = number(used)
    for name, value in (("used", taken), ("peak", peak), ("oom_kill", oom)):
        if value is None:
            why[name] = "this kernel does not report it"
    dropped = [part for part in cache if part is not None]
    level = fields.get(f"{version}.name")
    return Memory(
        source, taken, limit, peak, oom, why, sum(dropped) if dropped else None,
        level=None if level is None else plain(level, LONGEST_NAME) or "/", soft=soft,
    )  # fmt: skip


def _least(limit: int | None, high: int | None) -> tuple[int | None, bool]:
    """The lower of two limits, and whether it is memory.high."""
    hard, soft = (None if one is None or one >= NO_LIMIT_FROM else one for one in (limit, high))
    if soft is not None and (hard is None or soft < hard):
        return soft, True
    return hard, False


def parse_cpu(text: bytes) -> CpuCounters | None:
    """Running totals of the job's cgroup and the host's load; None where nothing was readable."""
    fields = _fields(text)
    if not fields:
        return None
    micro = _number(fields.get("v2.stat.usage_usec"))
    nano = _number(fields.get("v1.usage"))
    usage = micro / 1e6 if micro is not None else nano / 1e9 if nano is not None else None
    quota = _quota2(fields.get("v2.max")) or _cores(fields.get("v1.quota"), fields.get("v1.period"))
    version = "v2.stat" if micro is not None else "v1.stat"
    return CpuCounters(
        quota_cores=quota,
        usage_seconds=usage,
        periods=_number(fields.get(f"{version}.nr_periods")),
        throttled_periods=_number(fields.get(f"{version}.nr_throttled")),
        host_load1=_decimal((fields.get("loadavg") or "").partition(" ")[0]),
    )


def _fields(text: bytes) -> Fields:
    """KEY -> value; the lines of a file with a name per line give `KEY.name`."""
    fields: dict[str, str] = {}
    for line in text.decode("ascii", "replace").split("\n"):
        key, _, value = line.strip().partition(" ")
        if key in ("v2.events", "v2.stat", "v1.oom", "v1.stat", "meminfo", "vmstat"):
            name, _, value = value.partition(" ")
            key = f"{key}.{name}"
        if key:
            fields.setdefault(key, value.strip())
    return fields


def _number(text: str | None) -> int | None:
    plain = text is not None and len(text) <= 20 and text.isascii() and text.isdigit()
    return int(text) if text and plain else None


def _kib(text: str | None) -> int | None:
    value = _number((text or "").removesuffix(" kB").strip())
    return None if value is None else value * KIB


def _decimal(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text, re.ASCII) else None


def _quota2(text: str | None) -> float | None:
    quota, _, period = (text or "").partition(" ")
    return _cores(quota, period)


def _cores(quota: str | None, period: str | None) -> float | None:
    """Cores that a quota allows; None where there is none (`max` in v2, -1 in v1)."""
    allowed, each = _number(quota), _number(period)
    return allowed / each if allowed and each else None
