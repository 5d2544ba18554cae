"""The row of the cards: what nvidia-smi says of them, and of the programs on them."""

from __future__ import annotations

from gpu_tui.collect.probe import NOTHING, Probe, Sections, Target
from gpu_tui.core import metrics
from gpu_tui.core.idle import HELD_BYTES
from gpu_tui.parse import nvidia_smi

GPU_LIMIT = 6.0
HANGS, KILLED = 124, 137  # exit codes: from here on it was ended
APPS_ROUNDS = 15  # rounds after which the programs on the cards are asked for in any case
MIG_ROUNDS = 30  # rounds after which it is asked again how cards are cut
DEVICES_ROUNDS = 15  # rounds after which the device files are listed again
LOOP_ROUNDS = 30  # rounds of one loop
LOOP_LATE_SECONDS = 3.0  # after its time, when a look of a loop is missed


def loop_settings(period: float, tick: float) -> dict[str, object]:
    """The settings of `box/gpu.sh` and `box/gpu_loop.sh`. `period`: seconds from look to look; `tick`: from beat to beat."""
    return {
        "gpu_query": nvidia_smi.GPU_QUERY,
        "apps_query": nvidia_smi.APPS_QUERY,
        "mig_query": nvidia_smi.MIG_QUERY,
        "csv": nvidia_smi.FORMAT,
        "gpu_limit": round(GPU_LIMIT),
        "hangs": HANGS,
        "killed": KILLED,
        "apps_rounds": APPS_ROUNDS,
        "mig_rounds": MIG_ROUNDS,
        "devices_rounds": DEVICES_ROUNDS,
        "loop_argument": f"--loop-ms={round(period * 1000)}",
        "loop_rounds": LOOP_ROUNDS,
        "loop_least": int(LOOP_ROUNDS * period / 2),
        "loop_limit": max(1, round((period + LOOP_LATE_SECONDS) / tick)),
        "in_use_least": HELD_BYTES // nvidia_smi.MIB,
    }


def _gpus(_: Target, sections: Sections) -> object:
    query, apps = sections.get("query", NOTHING), sections.get("apps", NOTHING)
    listing, devices = (sections.get(name, NOTHING).body for name in ("mig", "devices"))
    return nvidia_smi.parse_gpus(query.body, query.exit, apps.body, apps.exit, listing, devices)


GPU: tuple[Probe, ...] = (
    Probe(
        metrics.GPUS.name,
        "gpu",
        2.0,
        GPU_LIMIT,
        lambda _: "ask_gpus",
        _gpus,
        scripts=("devices", "gpu", "gpu_loop"),
    ),
)
