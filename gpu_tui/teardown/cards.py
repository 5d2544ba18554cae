"""Cards that work for somebody who is not among the box's processes: a container has its own table of them, and
the machine below it, with all that others run there, ends as a whole.
"""

from __future__ import annotations

import re
import secrets

from gpu_tui.core.evidence import Cards
from gpu_tui.core.idle import BUSY_SHARE, HELD_BYTES, NO_CARD
from gpu_tui.core.readings import Gpu, GpuTable
from gpu_tui.parse.nvidia_smi import FORMAT, GPU_QUERY, HUNG, parse_gpus
from gpu_tui.teardown.box import Survey
from gpu_tui.teardown.idle import working
from gpu_tui.transport.base import Connection

LIMIT = 12.0  # seconds
ASKED = 8  # seconds after which nvidia-smi is ended
CONTEXT = (
    128 << 20
)  # bytes; no program that computes holds less, and a driver by itself often reports a share
TEXT_CAP = 1 << 20
ASKING = "nvidia-smi"
UNASKED = ("no-driver", "no-nvidia-smi")  # whether a card is there only its device file tells


async def unseen_cards(connection: Connection, seen: Survey) -> Cards:
    """The cards in use where no process of `seen` holds one; nvidia-smi itself where it does not say. LinkError
    passes.
    """
    processes = seen.processes or ()
    if any(process.pid in seen.on_gpu for process in working(processes, seen.on_gpu)):
        return ()  # that one is work, and named as it
    if any(p.name == ASKING and p.state == "D" and p.ppid == 1 for p in processes):
        return ((ASKING, HUNG),)  # a dead driver holds it, and would hold another
    mark = secrets.token_hex(8)
    program = _PROGRAM.format(mark=mark, query=GPU_QUERY, form=FORMAT, seconds=ASKED)
    try:
        done = await connection.run(program, limit=LIMIT, stdout_cap=TEXT_CAP)
    except TimeoutError:
        return ((ASKING, HUNG),)
    before, _, said = done.stdout.rpartition(b"\n" + mark.encode() + b" ")
    match = re.fullmatch(rb"(\d{1,3}) (card|none)\n?", said)
    if match is None:
        return ((ASKING, "it gave no answer"),)
    return _in_use(parse_gpus(before, int(match[1]), b"", 0), any_card=match[2] == b"card")


def _in_use(table: GpuTable, *, any_card: bool) -> Cards:
    found = [(f"GPU-{gpu.index}", why) for gpu in table.gpus if (why := _why(gpu)) is not None]
    error = table.error
    if error is not None and (any_card if error.kind in UNASKED else error.kind not in NO_CARD):
        found.append((ASKING, error.text))
    return tuple(found)


def _why(gpu: Gpu) -> str | None:
    """What shows that somebody uses it; None where nothing does."""
    held, share = gpu.memory_used, gpu.utilization
    if held is None and share is None:
        return "it does not say whether it is in use"
    works = share is not None and share > BUSY_SHARE and (held is None or held >= CONTEXT)
    if not works and (held is None or held < HELD_BYTES):
        return None
    return "it is in use, and nobody who is seen on the box holds it"


# No card is there without its device file, whatever is installed.
_PROGRAM = """
code=127
if command -v nvidia-smi >/dev/null 2>&1; then
  if command -v timeout >/dev/null 2>&1; then
    timeout -k 1 {seconds} nvidia-smi {query} {form} 2>&1 </dev/null
  else
    nvidia-smi {query} {form} 2>&1 </dev/null
  fi
  code=$?
fi
card=none
for d in /dev/nvidia[0-9]* /dev/dxg; do [ -e "$d" ] && card=card; done
printf '\\n{mark} %s %s\\n' "$code" "$card"
"""
