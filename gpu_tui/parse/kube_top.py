"""`kubectl top pod --containers --no-headers` -> what each container uses. Shapes: kubectl 1.20 to 1.36.

A row is `POD CONTAINER 250m 1234Mi`; CPU is in cores or thousandths, memory in units of 1,024.
"""

from __future__ import annotations

import re

from gpu_tui.core.plain import plain
from gpu_tui.core.readings import PodUse

ROWS_MOST = 500
_ROW = re.compile(r"(\S{1,253})\s+(\S{1,63})\s+(\d{1,9})(m?)\s+(\d{1,12})([KMGT]i)?\s*")
_UNITS = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}


def parse_top(text: str) -> tuple[PodUse, ...]:
    """The first ROWS_MOST rows; a line that is not one is passed over."""
    found: list[PodUse] = []
    for line in text.splitlines():
        match = _ROW.fullmatch(line)
        if match is None or len(found) >= ROWS_MOST:
            continue
        pod, container, cpu, milli, memory, unit = match.groups()
        cores = int(cpu) / (1000 if milli else 1)
        size = int(memory) << _UNITS.get(unit or "", 0)
        found.append(PodUse(plain(pod, 253), plain(container, 63), cores, size))
    return tuple(found)
