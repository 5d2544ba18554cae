"""One instance's vital signs as lines: cards, memory, CPU, and every mount by bytes and inodes."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

from gpu_tui.core import metrics, units
from gpu_tui.core.levels import SKEW, Level, level, share
from gpu_tui.core.mount_state import shown
from gpu_tui.core.readings import Memory, Mount
from gpu_tui.core.sample import Freshness
from gpu_tui.core.speech import headed, say, told
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.views import InstanceView
from gpu_tui.ui.safe import safe
from gpu_tui.ui.text.bounds import flow
from gpu_tui.ui.text.gpus import gpus
from gpu_tui.ui.text.marks import (
    SHARE,
    believed,
    fit,
    fitted,
    gauge,
    level_mark,
    level_style,
    line,
    of_mounts,
    wrap,
)
from gpu_tui.ui.text.pods import pods
from gpu_tui.ui.text.vital_rows import (
    AMOUNT,
    LABEL,
    age_note,
    amount_of,
    bar_cells,
    label,
    past,
)

SIZE, INODES = 14, 10  # cells of ` of 50.0 GiB` and of ` of 3.2M`
LEAST_PATH = 12
_FIXED = 2 * (SHARE + 1) + 2  # the two shares of a mount, and the gap behind them
FAULTS = {  # short words for `mount_state.STATES`
    "stale": "stale handle",
    "not-connected": "not connected",
    "error": "I/O error",
    "hung": "hangs",
    "read-only": "read-only",
    "not-mounted": "not mounted",
}
MEMORY_SOURCE = {"cgroup2": "cgroup v2", "cgroup1": "cgroup v1", "host": "whole host, no cgroup"}


NO_BOX = "kubectl lists jobs and pods: there is no GPU, memory or disk to read here"
CARDS_ELSEWHERE = "The GPUs are on the nodes of the jobs. The figures below are of the login node."


def _has_cards(view: InstanceView) -> bool:
    table = view.track(metrics.GPUS).value
    return table is not None and bool(table.gpus)


def vitals(view: InstanceView, width: int, height: int) -> list[Text]:
    """Everything of one instance, `width` cells wide; without blank lines where `height` is short."""
    rows: list[Text] = []
    if not view.link.live:
        rows += _no_link(view, width)
    if view.verdict is Verdict.OFF and view.last_contact is None:
        return rows  # nothing was read, and nothing will be
    if view.instance.scheduler_scope.vitals is not None:
        rows += pods(view, width)
        if view.instance.here:
            return rows
        rows.append(line())
    if view.instance.here:
        return [*rows, *wrap(say(NO_BOX), width, "muted")]
    login = view.instance.scheduler is not None and not _has_cards(view)
    cards = wrap(say(CARDS_ELSEWHERE), width, "muted") if login else gpus(view, width)
    parts = [cards, [*_memory(view, width), *_cpu(view, width)], _mounts(view, width)]
    if login:  # jobs write to its disks, and use no memory or core of it
        parts[1:] = reversed(parts[1:])
    rows += parts[0]
    for part in parts[1:]:
        rows += [line(), *part]
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


def _memory(view: InstanceView, width: int) -> list[Text]:
    track = view.track(metrics.MEMORY)
    fresh = view.freshness(metrics.MEMORY)
    memory = track.value
    if memory is None:
        return [line(label("memory"), believed(None, fresh), age_note(view, metrics.MEMORY))]
    used = share(memory.used, memory.limit)
    size = bar_cells(width)
    amount = line(
        amount_of(units.used_of(memory.used, memory.limit), fresh),
        (say("  no limit") if memory.limit is None else "", "muted"),
        age_note(view, metrics.MEMORY) if fresh is Freshness.STALE else "",
    )
    first = line(
        label("memory"),
        gauge(used, level("memory", used), fresh, size),
        "  ",
        amount,
        past(view, "memory", width, amount) if amount.cell_len < AMOUNT else line(),
    )
    return [first, *flow(_memory_notes(view, memory), width, lead=label(""))]


def _memory_notes(view: InstanceView, memory: Memory) -> list[Text]:
    source = say(MEMORY_SOURCE.get(memory.source, memory.source))
    if memory.level not in (None, "/"):
        source += f" {safe(memory.level)}"
    notes = [line((source, "muted"))]
    if memory.soft:
        notes.append(line((say("limit: memory.high"), "muted")))
    machine = share(memory.host_room, memory.host_total)
    if memory.source != "host" and memory.limit is None and machine is not None:
        style = level_style(level("host_memory", 1 - machine))
        notes.append(
            line((say("machine {machine} used", machine=units.percent(1 - machine)), style))
        )
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
        return [line(label("cpu"), believed(None, fresh), age_note(view, metrics.CPU))]
    cpu = view.cpu
    used = share(cpu.used_cores, cpu.quota_cores)
    cores = "?" if cpu.used_cores is None else f"{cpu.used_cores:.1f}"
    quota = (
        say(" of {quota_cores:g} cores", quota_cores=cpu.quota_cores)
        if cpu.quota_cores is not None
        else say(" cores, no quota")
    )
    size = bar_cells(width)
    first = line(
        label("cpu"),
        gauge(used, Level.OK, fresh, size),
        "  ",
        amount_of(cores + quota, fresh),
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
    return [first, *flow(notes, width, lead=label(""))]


def _mounts(view: InstanceView, width: int) -> list[Text]:
    fresh = view.freshness(metrics.MOUNTS)
    mounts = view.track(metrics.MOUNTS).value
    if mounts is None:
        return [line(label("disk"), believed(None, fresh), age_note(view, metrics.MOUNTS))]
    if not mounts:
        return [line(label("disk"), (say("no mounts asked for"), "absent"))]
    ends = [_full(view, mount) for mount in mounts]
    names = [cell_len(safe(mount.path)) for mount in mounts] + [cell_len(say("mount"))]
    room = width - _FIXED - max(end.cell_len for end in ends) - LEAST_PATH
    # A column gives way whole: half of a number is another number.
    size = SIZE if room >= SIZE else 0
    inodes = INODES if room >= SIZE + INODES else 0
    name = min(max(names) + 2, room - size - inodes + LEAST_PATH)
    rows = [_mount_head(name, size, inodes)]
    for mount, end in zip(mounts, ends, strict=True):
        known = shown(mount, view.mount_faults.get(mount.path))
        rows.append(_mount(known, end, fresh, (name, size, inodes)))
    if fresh is Freshness.STALE:
        rows.append(line(label(""), age_note(view, metrics.MOUNTS)))
    return rows


def _mount_head(name: int, size: int, inodes: int) -> Text:
    first = (fit(line(say("mount")), name).plain, "faint")
    if size and inodes:
        return line(first, (say("  bytes used         inodes used     full"), "faint"))
    titles = fitted((say("disk"), "faint"), SHARE + 1, right=True)
    more = fitted((say("inod"), "faint"), SHARE + 1, right=True)
    return line(first, *titles, " " * size, *more)


def _full(view: InstanceView, mount: Mount) -> Text:
    """When the mount will be full at the present rate, or why runs cannot use it."""
    fault = view.mount_faults.get(mount.path)
    if fault is not None:
        return line((level_mark(Level.ACT) + say(FAULTS[fault.state]), level_style(Level.ACT)))
    if mount.read_only:
        return line((say("read-only"), "level-watch"))
    full = view.full_in.get(mount.path)
    if full is None:
        return line()
    near = Level.ACT if full < 3600 else Level.WATCH if full < 86400 else Level.NONE
    words = say("in {full}", full=units.age(full)) if full > 0 else say("now")
    return line((level_mark(near) + words, level_style(near)))


def _mount(mount: Mount, end: Text, fresh: Freshness, cells: tuple[int, int, int]) -> Text:
    usable = mount.counts("bytes")[1]
    used, inodes = share(*mount.counts("bytes")), share(*mount.counts("inodes"))
    total = "" if usable is None else say(" of {bytes_total}", bytes_total=units.size(usable))
    inode_total = (
        ""
        if mount.inodes_total is None
        else say(" of {inodes_total}", inodes_total=units.count(mount.inodes_total))
    )
    name, size, count = cells
    return line(
        fit(amount_of(mount.path, fresh), name),
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
