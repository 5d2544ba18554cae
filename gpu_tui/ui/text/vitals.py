"""One instance's vital signs as lines: cards, memory, CPU, and every mount by bytes and inodes."""

from __future__ import annotations

from typing import TypeVar

from rich.cells import cell_len
from rich.text import Text

from gpu_tui.core import metrics
from gpu_tui.core.levels import SKEW, Level, level, share
from gpu_tui.core.readings import Gpu, GpuTable, Memory, Mount
from gpu_tui.core.sample import Freshness
from gpu_tui.core.speech import headed, listed, say, told
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.safe import safe
from gpu_tui.ui.text import units
from gpu_tui.ui.text.bounds import flow
from gpu_tui.ui.text.marks import (
    ABSENT,
    SHARE,
    believed,
    fit,
    fitted,
    gauge,
    level_mark,
    level_style,
    line,
    of_mounts,
    spark,
    wrap,
)

LABEL = 8
AMOUNT = 22  # cells of `300.0 MiB / 24.0 GiB`, where histories stand in one column behind it
LEAST_PAST = 20  # cells of a history; with fewer it is left out
SIZE, INODES = 14, 10  # cells of ` of 50.0 GiB` and of ` of 3.2M`
LEAST_PATH = 12
_FIXED = 2 * (SHARE + 1) + 2  # the two shares of a mount, and the gap behind them
# A card that works as hard as it can stands at its cap: an H100 said so at 454 of 700 W and 86 % of its clock.
POWER_CAP = "sw_power_cap"
T = TypeVar("T")
MEMORY_SOURCE = {"cgroup2": "cgroup v2", "cgroup1": "cgroup v1", "host": "whole host, no cgroup"}
GPU_ERRORS = {
    "no-device": "no GPU here",
    "no-driver": "the NVIDIA driver is not loaded",
    "lost": "a GPU fell off the bus",
    "hung": "nvidia-smi does not return",
    "no-nvidia-smi": "no nvidia-smi on this box",
    "unknown-error": "nvidia-smi failed",
}


def vitals(view: InstanceView, width: int, height: int) -> list[Text]:
    """Everything of one instance, `width` cells wide; without blank lines where `height` is short."""
    rows: list[Text] = []
    if not view.link.live:
        rows += _no_link(view, width)
    if view.verdict is Verdict.OFF and view.last_contact is None:
        return rows  # nothing was read, and nothing will be
    rows += _gpus(view, width)
    rows.append(line())
    rows += _memory(view, width)
    rows += _cpu(view, width)
    rows.append(line())
    rows += _mounts(view, width)
    if view.clock_skew is not None and abs(view.clock_skew) >= SKEW:
        text = say("the box's clock is off by {clock_skew:+.0f} s", clock_skew=view.clock_skew)
        rows += [
            line(),
            line((fit(line(say("clock   ")), LABEL).plain, "muted"), (text, "level-watch")),
        ]
    if view.link.via:
        rows += [
            line(),
            line(
                (fit(line(say("link")), LABEL).plain, "muted"),
                (say("via {via}", via=view.link.via), "text"),
            ),
        ]
    return rows if len(rows) <= height else [row for row in rows if row.plain]


def _no_link(view: InstanceView, width: int) -> list[Text]:
    link = view.link
    if link.state == "off":
        rows = wrap(say("◌ off: nothing runs, so nothing is measured"), width, "muted")
        rows += wrap(
            say("→ its disks may still cost or expire: Danger clocks (2) shows which"),
            width,
            "accent",
        )
        return [*rows, line()] if view.last_contact is not None else rows
    if link.state == "connecting" and link.error is None:
        rows = wrap(say("◔ connecting: the first numbers come in a few seconds"), width, "muted")
        return [*rows, line()]
    rows = wrap(
        headed(f"⊘ {say(link.state)}", told(link.error or "no connection")), width, "level-act"
    )
    if link.next:
        rows += wrap(f"→ {told(link.next)}", width, "accent")
    elif link.state != "live":
        rows += wrap(say("→ it is tried again by itself; r tries at once"), width, "accent")
    if view.last_contact is not None:
        rows.append(line((say("What follows is what was last seen."), "stale")))
    rows.append(line())
    return rows


def _label(word: str) -> Text:
    return line((fit(line(say(word)), LABEL).plain, "muted"))


def _age_note(view: InstanceView, metric: metrics.Metric[T]) -> Text:
    """How old a stale value is, or why there is none."""
    track = view.track(metric)
    fresh = view.freshness(metric)
    age = track.age(view.taken_at)
    if fresh is Freshness.STALE and age is not None:
        why = say(", {why}", why=told(track.why)) if track.why else ""
        return line((say("  {age} old{why}", age=units.age(age), why=why), "stale"))
    if fresh is Freshness.UNKNOWN:
        return line((f"  {told(track.why)}", "muted"))
    if fresh is Freshness.ABSENT:
        return line((f"  {told(track.why)}", "absent"))
    return line()


def _history(view: InstanceView, name: str, width: int, style: str, top: float | None) -> Text:
    values = [value for _, value in view.series.get(name, ())[-width:]] if width > 0 else []
    return spark(values, width, style, top) if values else line()


def _graph(width: int) -> int:
    """Cells of a bar."""
    return max(6, min(18, (width - LABEL - 5) // 3))


def _past_room(width: int) -> int:
    """Cells of the histories that stand behind what is used; none where that would leave too few."""
    room = width - LABEL - 5 - _graph(width) - 2 - AMOUNT
    return room if room >= LEAST_PAST else 0


def _past(view: InstanceView, name: str, width: int, before: Text) -> Text:
    """The history behind a line of which `before` has been written since its bar."""
    room = _past_room(width)
    drawn = _history(view, name, room, "history", 1.0)
    return line(" " * max(1, AMOUNT - before.cell_len), drawn) if drawn.plain else line()


def _utilization(view: InstanceView, width: int) -> Text:
    """How busy the card was; beside other histories in their column, with how long it looks back."""
    if not (room := _past_room(width)):
        room = width - LABEL - 5 - _graph(width) - 2
        return _history(view, "gpu", room, "history", 1.0)
    points = view.series.get("gpu", ())[-room:]
    seen = points[-1][0] - points[0][0] if points else 0.0
    words = line((say("last {span}", span=units.age(seen)) if seen >= 1 else "", "faint"))
    return line(words, _past(view, "gpu", width, words))


def _gpus(view: InstanceView, width: int) -> list[Text]:
    track = view.track(metrics.GPUS)
    fresh = view.freshness(metrics.GPUS)
    table = track.value
    if table is None:
        return [line(_label("gpu"), believed(None, fresh), _age_note(view, metrics.GPUS))]
    if table.error:
        style = "absent" if table.error.kind in ("no-device", "no-nvidia-smi") else "level-act"
        what = GPU_ERRORS.get(table.error.kind, table.error.kind)
        rows = [line(_label("gpu"), (say(what), style), _age_note(view, metrics.GPUS))]
        if table.error.text and what not in table.error.text:
            rows += wrap(table.error.text, width, "muted", indent=LABEL, most=3)
        return rows
    rows = []
    for gpu in table.gpus:
        rows += _gpu(view, gpu, table, fresh, width)
    return rows or [line(_label("gpu"), (say("no GPU here"), "absent"))]


def _gpu(view: InstanceView, gpu: Gpu, table: GpuTable, fresh: Freshness, width: int) -> list[Text]:
    graph = _graph(width)
    mig = say("  MIG {mig}", mig=gpu.mig) if gpu.mig else ""
    title = line(_label(f"gpu {gpu.index}"), (gpu.name + mig, "strong"))
    if fresh is not Freshness.FRESH:
        title.append_text(_age_note(view, metrics.GPUS))
    used = share(gpu.memory_used, gpu.memory_total)
    utilization = line(
        _label("  util"),
        gauge(gpu.utilization, Level.OK, fresh, graph),
        "  ",
        _utilization(view, width) if len(table.gpus) == 1 else line(),
    )
    amount = _plain(units.used_of(gpu.memory_used, gpu.memory_total), fresh)
    vram = line(
        _label("  vram"),
        gauge(used, level("gpu_memory", used), fresh, graph),
        "  ",
        amount,
        _past(view, "gpu_memory", width, amount) if len(table.gpus) == 1 else line(),
    )
    return [
        title,
        utilization,
        vram,
        *flow(_state(gpu, fresh), width, lead=_label("  state")),
        *flow(_processes(gpu, table), width, lead=_label("  procs")),
    ]


def _plain(text: str, fresh: Freshness) -> Text:
    return line((text, "stale" if fresh is Freshness.STALE else "text"))


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


def _memory(view: InstanceView, width: int) -> list[Text]:
    track = view.track(metrics.MEMORY)
    fresh = view.freshness(metrics.MEMORY)
    memory = track.value
    if memory is None:
        return [line(_label("memory"), believed(None, fresh), _age_note(view, metrics.MEMORY))]
    used = share(memory.used, memory.limit)
    graph = _graph(width)
    amount = line(
        _plain(units.used_of(memory.used, memory.limit), fresh),
        (say("  no limit") if memory.limit is None else "", "muted"),
        _age_note(view, metrics.MEMORY) if fresh is Freshness.STALE else "",
    )
    first = line(
        _label("memory"),
        gauge(used, level("memory", used), fresh, graph),
        "  ",
        amount,
        _past(view, "memory", width, amount) if amount.cell_len < AMOUNT else line(),
    )
    return [first, *flow(_memory_notes(view, memory), width, lead=_label(""))]


def _memory_notes(view: InstanceView, memory: Memory) -> list[Text]:
    notes = [line((say(MEMORY_SOURCE.get(memory.source, memory.source)), "muted"))]
    if memory.peak is not None:
        notes.append(line((say("peak {peak}", peak=units.size(memory.peak)), "muted")))
    if memory.oom_kill is None:
        notes.append(line(("oom_kill –", "absent")))
    else:
        rise = memory.oom_kill - (
            view.oom_baseline if view.oom_baseline is not None else memory.oom_kill
        )
        style = "level-act" if rise > 0 else "muted"
        seen = say(" (+{rise} since first seen)", rise=rise) if rise > 0 else ""
        notes.append(
            line((say("oom_kill {oom_kill}{seen}", oom_kill=memory.oom_kill, seen=seen), style))
        )
    return notes


def _cpu(view: InstanceView, width: int) -> list[Text]:
    fresh = view.freshness(metrics.CPU)
    if view.track(metrics.CPU).value is None:
        return [line(_label("cpu"), believed(None, fresh), _age_note(view, metrics.CPU))]
    cpu = view.cpu
    used = share(cpu.used_cores, cpu.quota_cores)
    cores = "?" if cpu.used_cores is None else f"{cpu.used_cores:.1f}"
    quota = (
        say(" of {quota_cores:g} cores", quota_cores=cpu.quota_cores)
        if cpu.quota_cores is not None
        else say(" cores, no quota")
    )
    graph = _graph(width)
    first = line(
        _label("cpu"),
        gauge(used, Level.OK, fresh, graph),
        "  ",
        _plain(cores + quota, fresh),
    )
    notes: list[Text] = []
    if cpu.throttled_share is not None:
        style = "level-watch" if cpu.throttled_share > 0.1 else "muted"
        notes.append(
            line(
                (
                    say(
                        "throttled {throttled_share}",
                        throttled_share=units.percent(cpu.throttled_share),
                    ),
                    style,
                )
            )
        )
    if cpu.host_load1 is not None:
        load = say("host load {host_load1:.0f}", host_load1=cpu.host_load1)
        noisy = cpu.quota_cores and cpu.host_load1 > 4 * cpu.quota_cores
        hint = say(" (the whole host's: noisy neighbours)") if noisy else say(" (the whole host's)")
        notes.append(line((load, "muted"), (hint, "faint")))
    return [first, *flow(notes, width, lead=_label(""))]


def _mounts(view: InstanceView, width: int) -> list[Text]:
    fresh = view.freshness(metrics.MOUNTS)
    mounts = view.track(metrics.MOUNTS).value
    if mounts is None:
        return [line(_label("disk"), believed(None, fresh), _age_note(view, metrics.MOUNTS))]
    if not mounts:
        return [line(_label("disk"), (say("no mounts asked for"), "absent"))]
    ends = [_full(view, mount) for mount in mounts]
    names = [cell_len(safe(mount.path)) for mount in mounts] + [cell_len(say("mount"))]
    room = width - _FIXED - max(end.cell_len for end in ends) - LEAST_PATH
    # A column gives way whole: half of a number is another number.
    size = SIZE if room >= SIZE else 0
    inodes = INODES if room >= SIZE + INODES else 0
    name = min(max(names) + 2, room - size - inodes + LEAST_PATH)
    rows = [_mount_head(name, size, inodes)]
    for mount, end in zip(mounts, ends, strict=True):
        rows.append(_mount(mount, end, fresh, (name, size, inodes)))
    if fresh is Freshness.STALE:
        rows.append(line(_label(""), _age_note(view, metrics.MOUNTS)))
    return rows


def _mount_head(name: int, size: int, inodes: int) -> Text:
    first = (fit(line(say("mount")), name).plain, "faint")
    if size and inodes:
        return line(first, (say("  bytes used         inodes used     full"), "faint"))
    titles = fitted((say("disk"), "faint"), SHARE + 1, right=True)
    more = fitted((say("inod"), "faint"), SHARE + 1, right=True)
    return line(first, *titles, " " * size, *more)


def _full(view: InstanceView, mount: Mount) -> Text:
    """When it is full at the present rate, or that nothing can be written there."""
    if mount.read_only:
        return line((say("read-only"), "level-watch"))
    full = view.full_in.get(mount.path)
    if full is None:
        return line()
    near = Level.ACT if full < 3600 else Level.WATCH if full < 86400 else Level.NONE
    words = say("in {full}", full=units.age(full)) if full > 0 else say("now")
    return line((level_mark(near) + words, level_style(near)))


def _mount(mount: Mount, end: Text, fresh: Freshness, cells: tuple[int, int, int]) -> Text:
    used = share(mount.bytes_used, mount.bytes_total)
    inodes = share(mount.inodes_used, mount.inodes_total)
    total = (
        ""
        if mount.bytes_total is None
        else say(" of {bytes_total}", bytes_total=units.size(mount.bytes_total))
    )
    inode_total = (
        ""
        if mount.inodes_total is None
        else say(" of {inodes_total}", inodes_total=units.count(mount.inodes_total))
    )
    name, size, count = cells
    return line(
        fit(_plain(mount.path, fresh), name),
        gauge(
            used, level("bytes", used), of_mounts((mount,), "bytes", fresh), cells=SHARE + 1
        ),  # `100 of 2.0k` were a count
        fit(line((total, "muted")), size) if size else "",
        gauge(
            inodes, level("inodes", inodes), of_mounts((mount,), "inodes", fresh), cells=SHARE + 1
        ),
        fit(line((inode_total, "muted")), count) if count else "",
        "  ",
        end,
    )
