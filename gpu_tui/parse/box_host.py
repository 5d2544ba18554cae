"""Which boot of which host answered, and what time it thinks it is -> Host."""

from __future__ import annotations

import re

from gpu_tui.core.plain import plain
from gpu_tui.core.readings import Host


def parse_host(text: bytes) -> Host | None:
    """The host from lines of `KEY value`; None without a clock.

    Keys: `date` (epoch seconds and zone as +hhmm), `uptime`, `boot_id`, `hostname`, `machine` (the start time
    of PID 1, in ticks since the boot, and its PID namespace as the kernel's link has it).
    """
    fields: dict[str, str] = {}
    for line in text.decode("utf-8", "replace").split("\n"):
        key, _, value = line.partition(" ")
        fields.setdefault(key, value.strip())
    stamp, _, zone = fields.get("date", "").partition(" ")
    if not re.fullmatch(r"[0-9]{1,11}", stamp, re.ASCII):
        return None
    boot_id = fields.get("boot_id", "")
    return Host(
        box_time=float(stamp),
        uptime_seconds=parse_uptime(fields.get("uptime", "")),
        boot_id=boot_id if re.fullmatch(r"[0-9A-Fa-f-]{8,64}", boot_id, re.ASCII) else None,
        hostname=plain(fields.get("hostname", ""), 64) or None,
        utc_offset_seconds=_offset(zone),
        machine=parse_machine(fields.get("machine", "")),
    )


def parse_machine(text: str) -> str | None:
    """`TICKS pid:[INODE]` as it is; None where one of the two could not be read."""
    return text if re.fullmatch(r"[0-9]{1,20} pid:\[[0-9]{1,20}\]", text, re.ASCII) else None


def parse_uptime(text: str) -> float | None:
    """Seconds since boot, from the first number of /proc/uptime."""
    first = text.partition(" ")[0]
    return float(first) if re.fullmatch(r"[0-9]{1,12}(\.[0-9]+)?", first, re.ASCII) else None


def _offset(zone: str) -> int:
    match = re.fullmatch(r"([+-])([0-9]{2})([0-9]{2})", zone.strip(), re.ASCII)
    if match is None:
        return 0
    sign, hours, minutes = match.groups()
    seconds = int(hours) * 3600 + int(minutes) * 60
    return -seconds if sign == "-" else seconds
