"""The cards of one instance as lines."""

from __future__ import annotations

from rich.text import Text

from gpu_tui.core import metrics, units
from gpu_tui.core.idle import NO_CARD
from gpu_tui.core.levels import Level, level, share
from gpu_tui.core.readings import Gpu, GpuTable
from gpu_tui.core.sample import Freshness
from gpu_tui.core.speech import listed, say
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.text.bounds import flow
from gpu_tui.ui.text.marks import ABSENT, believed, gauge, level_mark, level_style, line, wrap
from gpu_tui.ui.text.vital_rows import (
    LABEL,
    age_note,
    amount_of,
    bar_cells,
    history,
    label,
    past,
    past_room,
)

# A card that works as hard as it can stands at its cap: an H100 said so at 454 of 700 W and 86 % of its clock.
POWER_CAP = "sw_power_cap"
GPU_ERRORS = {
    "no-device": "no GPU here",
    "no-driver": "the NVIDIA driver is not loaded",
    "lost": "a GPU fell off the bus",
    "hung": "nvidia-smi does not return",
    "no-nvidia-smi": "no nvidia-smi on this box",
    "other-maker": "another maker's card, not read",
    "unknown-error": "nvidia-smi failed",
}


def _utilization(view: InstanceView, width: int) -> Text:
    """How busy the card was; beside other histories in their column, with how long it looks back."""
    if not (room := past_room(width)):
        room = width - LABEL - 5 - bar_cells(width) - 2
        return history(view, "gpu", room, "history", 1.0)
    points = view.series.get("gpu", ())[-room:]
    seen = points[-1][0] - points[0][0] if points else 0.0
    words = line((say("last {span}", span=units.age(seen)) if seen >= 1 else "", "faint"))
    return line(words, past(view, "gpu", width, words))


def gpus(view: InstanceView, width: int) -> list[Text]:
    """Every card; before them why one cannot be read, and after them what nvidia-smi warns of."""
    track = view.track(metrics.GPUS)
    fresh = view.freshness(metrics.GPUS)
    table = track.value
    if table is None:
        return [line(label("gpu"), believed(None, fresh), age_note(view, metrics.GPUS))]
    rows = []
    if table.error:
        none = table.error.kind in NO_CARD and not table.unread
        style = "absent" if none else "level-act"
        what = GPU_ERRORS.get(table.error.kind, table.error.kind)
        rows = [line(label("gpu"), (say(what), style), age_note(view, metrics.GPUS))]
        if table.error.text and what not in table.error.text:
            rows += wrap(table.error.text, width, "muted", indent=LABEL, most=3)
    for gpu in table.gpus:
        rows += _gpu(view, gpu, table, fresh, width)
    for note in table.notes:
        rows += wrap(note, width, "level-watch", indent=LABEL, most=2)
    return rows or [line(label("gpu"), (say("no GPU here"), "absent"))]


def _gpu(view: InstanceView, gpu: Gpu, table: GpuTable, fresh: Freshness, width: int) -> list[Text]:
    size = bar_cells(width)
    mig = say("  MIG {mig}", mig=gpu.mig) if gpu.mig else ""
    title = line(label(f"gpu {gpu.index}"), (gpu.name + mig, "strong"))
    if fresh is not Freshness.FRESH:
        title.append_text(age_note(view, metrics.GPUS))
    used = share(gpu.memory_used, gpu.memory_total)
    utilization = line(
        label("  util"),
        gauge(gpu.utilization, Level.OK, fresh, size),
        "  ",
        _utilization(view, width) if len(table.gpus) == 1 else line(),
    )
    amount = amount_of(units.used_of(gpu.memory_used, gpu.memory_total), fresh)
    vram = line(
        label("  vram"),
        gauge(used, level("gpu_memory", used), fresh, size),
        "  ",
        amount,
        past(view, "gpu_memory", width, amount) if len(table.gpus) == 1 else line(),
    )
    return [
        title,
        utilization,
        vram,
        *flow(_state(gpu, fresh), width, lead=label("  state")),
        *flow(_processes(gpu, table), width, lead=label("  procs")),
    ]


def _state(gpu: Gpu, fresh: Freshness) -> list[Text]:
    parts: list[Text] = []
    if gpu.temperature is not None:
        heat = level("temperature", gpu.temperature)
        parts.append(line((f"{level_mark(heat)}{gpu.temperature:.0f} °C", level_style(heat))))
    else:
        parts.append(line((say("temp {absent}", absent=ABSENT), "absent")))
    if gpu.power is not None:
        limit = say(" of {power_limit:.0f}", power_limit=gpu.power_limit) if gpu.power_limit else ""
        parts.append(line((f"{gpu.power:.0f}{limit} W", "text")))
    if gpu.sm_clock_hz is not None:
        parts.append(line((units.hertz(gpu.sm_clock_hz), "text")))
    if slowed := [reason for reason in gpu.throttle if reason != POWER_CAP]:
        parts.append(line((say("throttled: {throttle}", throttle=listed(slowed)), "level-watch")))
    elif gpu.throttle:
        parts.append(line((say("at its power cap"), "muted")))
    if gpu.ecc_uncorrected:
        parts.append(
            line(
                (
                    say(
                        "1 ECC error" if gpu.ecc_uncorrected == 1 else "{number} ECC errors",
                        number=gpu.ecc_uncorrected,
                    ),
                    "level-act",
                )
            )
        )
    if fresh is Freshness.STALE:
        parts = [line((part.plain, "stale")) for part in parts]
    return parts


def _processes(gpu: Gpu, table: GpuTable) -> list[Text]:
    if gpu.processes:
        shown = [
            line(
                (f"{process.pid} {process.name}", "text"),
                (
                    f" {units.size(process.memory_used)}"
                    if process.memory_used is not None
                    else "",
                    "muted",
                ),
            )
            for process in gpu.processes[:3]
        ]
        more = len(gpu.processes) - 3
        return [*shown, line((say("+{more} more", more=more), "muted"))] if more > 0 else shown
    if table.processes_hidden:
        return [line((say("PIDs hidden by the container"), "muted"))]
    return [line((say("no process"), "muted"))]
