"""What the kernel says of memory and CPU -> Memory and CpuCounters, by cgroup v2, v1 or host.

The text is lines of `KEY value...`; KEY names the file that the line was read from. A file that is
not there has no lines, and its number stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpu_tui.core.readings import CpuCounters, Memory

NO_LIMIT_FROM = 1 << 60  # v1 writes "no limit" as a huge number
KIB = 1024

Fields = Mapping[str, str]


def parse_memory(text: bytes) -> Memory | None:
    """Memory by the cgroup that bounds the job, else by the host; None where nothing was readable."""
    fields = _fields(text)
    if "v2.current" in fields:
        return _memory(
            "cgroup2",
            used=_number(fields.get("v2.current")),
            limit=_number(fields.get("v2.max")),
            peak=_number(fields.get("v2.peak")),
            oom_kill=_number(fields.get("v2.events.oom_kill")),
            cache=_number(fields.get("v2.stat.inactive_file")),
        )
    if "v1.usage" in fields:
        return _memory(
            "cgroup1",
            used=_number(fields.get("v1.usage")),
            limit=_number(fields.get("v1.limit")),
            peak=_number(fields.get("v1.peak")),
            oom_kill=_number(fields.get("v1.oom.oom_kill")),
            cache=_number(fields.get("v1.stat.total_inactive_file")),
        )
    total, free = _kib(fields.get("meminfo.MemTotal:")), _kib(fields.get("meminfo.MemAvailable:"))
    if total is None:
        return None
    why = {"peak": "no cgroup bounds this job: these are the host's numbers"}
    used = None if free is None else max(0, total - free)
    if used is None:
        why["used"] = "this kernel does not report MemAvailable"
    oom_kill = _number(fields.get("vmstat.oom_kill"))
    if oom_kill is None:
        why["oom_kill"] = "this kernel does not count it"
    return Memory("host", used, total, None, oom_kill, why=why)


def _memory(
    source: str,
    *,
    used: int | None,
    limit: int | None,
    peak: int | None,
    oom_kill: int | None,
    cache: int | None,
) -> Memory:
    why = {}
    if limit is None or limit >= NO_LIMIT_FROM:
        limit = None
        why["limit"] = "this cgroup sets no limit"
    for name, value in (("used", used), ("peak", peak), ("oom_kill", oom_kill)):
        if value is None:
            why[name] = "this kernel does not report it"
    return Memory(source, used, limit, peak, oom_kill, why, cache)


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
