"""Cards that work for somebody who is not among the box's processes: a container has its own table of them, and
the machine below it, with all that others run there, ends as a whole. Work that is seen speaks for its own card
alone: for the one where nvidia-smi lists it, else for the only one that it opened.
"""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Mapping, Set
from types import MappingProxyType

from gpu_tui.core.evidence import Cards
from gpu_tui.core.fleet import Roots
from gpu_tui.core.idle import BUSY_SHARE, HELD_BYTES, NO_CARD
from gpu_tui.core.number import whole
from gpu_tui.core.readings import Gpu, GpuTable
from gpu_tui.parse.devices import list_devices, parse_devices
from gpu_tui.parse.nvidia_smi import APPS_QUERY, FORMAT, GPU_QUERY, HUNG, parse_gpus
from gpu_tui.teardown.box import Survey
from gpu_tui.teardown.idle import working
from gpu_tui.transport.base import Connection

LIMIT = 12.0  # seconds
ASKED, ASKED_MORE = 8, 2  # seconds after which nvidia-smi is ended, and its list of processes
CONTEXT = (
    128 << 20
)  # bytes; no program that computes holds less, and a driver by itself often reports a share
TEXT_CAP = 1 << 20
ASKING = "nvidia-smi"
# After these, only a device file shows whether a card is there: nvidia-smi does not list a card that failed to start.
UNASKED = NO_CARD | {"no-driver"}


async def unseen_cards(connection: Connection, seen: Survey, roots: Roots) -> Cards:
    """The cards in use that no work of `seen` accounts for, and those that nothing reads; nvidia-smi itself where it
    does not say. LinkError passes.
    """
    processes = seen.processes or ()
    works = {
        p.pid for p in working(processes, seen.on_gpu, images=seen.images) if p.pid in seen.on_gpu
    }
    if any(p.name == ASKING and p.state == "D" and p.ppid == 1 for p in processes):
        return ((ASKING, HUNG),)  # a dead driver holds it, and would hold another
    mark = secrets.token_hex(8)
    program = list_devices() + _PROGRAM.format(
        mark=mark,
        proc=shlex.quote(roots.proc),
        sys=shlex.quote(roots.sys),
        dev=shlex.quote(roots.dev),
        query=GPU_QUERY,
        apps=APPS_QUERY,
        form=FORMAT,
        seconds=ASKED,
        seconds_more=ASKED_MORE,
    )
    try:
        done = await connection.run(program, limit=LIMIT, stdout_cap=TEXT_CAP)
    except TimeoutError:
        return ((ASKING, HUNG),)
    parts = done.stdout.split(b"\n" + mark.encode() + b" ")
    ends = [re.match(rb"(\d{1,3})\n", part) for part in parts[1:]]
    if len(ends) != 4 or not all(ends):
        return ((ASKING, "it gave no answer"),)
    code, listed, *_ = (end[1] for end in ends if end)
    apps, minors, files = (part.partition(b"\n")[2] for part in parts[1:4])
    table, devices = parse_gpus(parts[0], int(code), apps, int(listed)), parse_devices(files)
    others = devices.unread(cards_read=bool(table.gpus))
    ours = _ours(table, works, seen.opened, _minors(minors))
    return (*_in_use(table, ours, any_card=bool(devices.nvidia)), *others)


def _ours(
    table: GpuTable,
    works: Set[int],
    opened: Mapping[int, frozenset[int]],
    minors: Mapping[str, int],
) -> Mapping[str, bool]:
    """Card uuid -> whether work that is seen there accounts for it; False where it only may."""
    listed = {gpu.uuid for gpu in table.gpus if any(row.pid in works for row in gpu.processes)}
    if listed or not works:  # the list speaks of these processes, by these numbers
        return dict.fromkeys(listed, True)
    if len(table.gpus) == 1:
        return {table.gpus[0].uuid: True}
    held = [opened.get(pid, frozenset()) for pid in works]
    alone = {min(cards) for cards in held if len(cards) == 1}
    any_of = frozenset[int]().union(*held)
    ours = {gpu.uuid: minors.get(gpu.uuid) for gpu in table.gpus}
    return {uuid: at in alone for uuid, at in ours.items() if at is None or at in any_of}


def _minors(said: bytes) -> Mapping[str, int]:
    """Card uuid -> N of its /dev/nvidiaN, as the driver says of each of its cards."""
    found: dict[str, int] = {}
    uuid = None
    for line in said.decode("ascii", "replace").splitlines():
        name, _, value = (part.strip() for part in line.partition(":"))
        if name == "GPU UUID":
            uuid = value
        elif name == "Device Minor" and uuid and (number := whole(value)) is not None:
            found[uuid], uuid = number, None
    return found


def _in_use(
    table: GpuTable, ours: Mapping[str, bool] = MappingProxyType({}), *, any_card: bool
) -> Cards:
    found = [
        (f"GPU-{gpu.index}", why)
        for gpu in table.gpus
        if not ours.get(gpu.uuid) and (why := _why(gpu, may_be=gpu.uuid in ours)) is not None
    ]
    error = table.error
    if error is not None and (any_card if error.kind in UNASKED else error.kind not in NO_CARD):
        found.append((ASKING, error.text))
    return tuple(found)


def _why(gpu: Gpu, *, may_be: bool) -> str | None:
    """What shows that somebody uses it; None where nothing does. `may_be`: seen work has it open."""
    held, share = gpu.memory_used, gpu.utilization
    if held is None and share is None:
        return "it does not say whether it is in use"
    works = share is not None and share > BUSY_SHARE and (held is None or held >= CONTEXT)
    if not works and (held is None or held < HELD_BYTES):
        return None
    if may_be:
        return "it is in use, and nothing tells whether by what is seen on the box"
    return "it is in use, and nobody who is seen on the box holds it"


_PROGRAM = """
ask() {{
  command -v nvidia-smi >/dev/null 2>&1 || return 127
  if command -v timeout >/dev/null 2>&1; then
    timeout -k 1 "$1" nvidia-smi "$2" {form} 2>&1 </dev/null
  else
    nvidia-smi "$2" {form} 2>&1 </dev/null
  fi
}}
ask {seconds} {query}; printf '\\n{mark} %s\\n' "$?"
ask {seconds_more} {apps}; printf '\\n{mark} %s\\n' "$?"
cat {proc}/driver/nvidia/gpus/*/information 2>/dev/null
printf '\\n{mark} 0\\n'
sys={sys}; dev={dev}; list_devices
printf '\\n{mark} 0\\n'
"""
