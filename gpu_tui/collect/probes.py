"""The catalogue of what is sampled, as data: one row per metric.

To add a metric: a reader in parse, a row here. A row's snippet is POSIX sh for the sampler's program; it
may call the functions of `box/frame.sh` and `box/command.sh` (`step`, `ask SECTION SECONDS COMMAND...`,
`lines KEY FILE`, `pick KEY FILE WORD...`, `tell KEY TEXT`). Rows of one lane run one after another; what can hang without being killable (a dead
driver, a dead mount) has a lane of its own, and the lane "box" starts nothing that could.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from gpu_tui.collect.probe import (
    MISSING_FILE,
    NOTHING,
    TOO_LONG,
    UNREADABLE_FILE,
    NoValue,
    Probe,
    Sample,
    Section,
    Sections,
    Target,
)
from gpu_tui.collect.probe_box import BOX
from gpu_tui.collect.probe_files import FILES_LIMIT, homes_of, patterns_of
from gpu_tui.collect.probe_files import PROBE as FILES
from gpu_tui.collect.probe_gpu import GPU
from gpu_tui.collect.probe_results import RESULTS
from gpu_tui.collect.probe_runners import RUNNERS, runs_free
from gpu_tui.collect.probe_shells import PROBE as SHELLS
from gpu_tui.collect.probe_signs import PROBE as SIGNS
from gpu_tui.collect.shell import quote_path
from gpu_tui.collect.slurm_row import PROBE as SLURM
from gpu_tui.core import metrics
from gpu_tui.core.fleet import Instance
from gpu_tui.core.levels import Level, level, share
from gpu_tui.core.readings import GpuError, GpuTable, Mount
from gpu_tui.core.sample import Absent, Failure, FailureKind, Reading
from gpu_tui.parse import nvidia_smi
from gpu_tui.parse.box_host import parse_uptime
from gpu_tui.parse.df import is_missing, mount_point, parse_mount, parse_mount_table, unasked
from gpu_tui.parse.procs import parse_processes
from gpu_tui.parse.queue_file import decode_roster

ROSTER_BYTES = 524_288


def read(
    probe: Probe,
    target: Target,
    sections: Sections,
    taken_at: float,
    period: float,
    last: tuple[Sections, Sample] | None = None,
) -> Sample:
    """The sample that came of one frame. `last` is what came of this probe before: the same bytes say the same."""
    if any(section.truncated or section.exit == TOO_LONG for section in sections.values()):
        return Failure(FailureKind.GARBAGE, "it printed more than can be read", taken_at)
    if last is not None and last[0] == sections:
        return retimed(last[1], taken_at)
    value = probe.parse(target, sections)
    if not isinstance(value, NoValue):
        return Reading(value, taken_at, period)
    if value.kind is None:
        return Absent(value.why, taken_at)
    return Failure(value.kind, value.why, taken_at)


def retimed(sample: Sample, taken_at: float) -> Sample:
    """The same answer, once more."""
    match sample:
        case Reading():
            return Reading(sample.value, taken_at, sample.period)
        case Absent():
            return Absent(sample.why, taken_at)
        case Failure():
            return Failure(sample.kind, sample.why, taken_at)


def silence(probe: Probe, taken_at: float, period: float, *, alone: bool = True) -> Sample:
    """The sample that says: this probe does not return. A card's silence is itself a reading,
    as long as it is `alone`: where nothing else answers either, nobody knows about the card.
    """
    if not alone:
        return Failure(FailureKind.HUNG, "the sampler on the box does not answer", taken_at)
    if probe.metric == metrics.GPUS.name:
        why = "nvidia-smi does not return and cannot be ended: the driver hangs"
        return Reading(GpuTable(error=GpuError("hung", why)), taken_at, period)
    why = "what is asked for this does not return and cannot be ended"
    if probe.metric == metrics.MOUNTS.name:
        why = "df does not return and cannot be ended: a mount may be dead"
    return Failure(FailureKind.HUNG, why, taken_at)


def hanging(target: Target, begun: Sections, last: Sections) -> Sections | None:
    """The sections of a blocked round of df, with the mount that it waits for marked as hung.

    None if the round has not begun, or waits for something else.
    """
    count = len(target.mounts) + len(target.written)
    waits = next((n for n in range(count) if f"bytes.{n}" not in begun), None)
    if waits is None or (waits and f"inodes.{waits - 1}" not in begun):
        return None
    table = last.get("table", NOTHING)
    return {**begun, "table": table, f"bytes.{waits}": Section(exit=HANGS)}


# --- processes ----------------------------------------------------------------------------------


def _processes(_: Target, sections: Sections) -> object:
    section = sections.get("stat", NOTHING)
    uptime = parse_uptime(sections.get("uptime", NOTHING).body.decode("ascii", "replace")[7:])
    rows = parse_processes(section.body, sections.get("cmdline", NOTHING).body, uptime)
    return rows or NoValue("no process can be seen: /proc is hidden", FailureKind.DENIED)


# --- the queue file, in the lane of `probe_files`: it may lie on a mount that died ---------------

AGAIN = 6  # rounds after which a queue file is read that seems to be as it was


def _roster_snippet(target: Target) -> str:
    file = target.instance.queue.file
    if not file:
        return ""
    return f"""
    # The first row that `stat` has just given is the queue file's, if there is one. A stamp has whole
    # seconds: now and then it is read all the same.
    row=${{out%%"$newline"*}}
    if [ -n "$row" ] && [ "$row" = "$known" ] && ! turn {AGAIN}; then
        same file
    else
        known=$row
        content file {ROSTER_BYTES} {quote_path(file)}
        [ "$code" = 0 ] || known=
    fi
"""


def _roster(target: Target, sections: Sections) -> object:
    section, file = sections.get("file", NOTHING), target.instance.queue.file
    if section.exit == MISSING_FILE:
        return NoValue(f"there is no queue file {file}")
    if section.exit == UNREADABLE_FILE:
        return NoValue(f"the queue file {file} cannot be read", FailureKind.DENIED)
    if section.exit in nvidia_smi.TIMED_OUT:
        return NoValue("reading the queue file does not return", FailureKind.HUNG)
    if section.exit:
        return NoValue(f"reading {file} ended with {section.exit}", FailureKind.GARBAGE)
    if len(section.body) > ROSTER_BYTES:
        return NoValue(f"{file} is too long for a queue file", FailureKind.GARBAGE)
    return decode_roster(section.body)


# --- disk ----------------------------------------------------------------------------------------

DISK_LIMIT = 3.0
SELDOM_ROUNDS = 3  # for the mount table, and for inodes while there are plenty


SHM = "/dev/shm"  # has a row only if it is nearly full, which kills the loader workers that fill it
HANGS = 124  # the lowest exit code of a command that was killed (124: by timeout)
FOUND_MOST = 6  # disks that runs which nobody named write to

# If no setting names the runs, their disks are those of the processes that look like trainings: of their output (a line
# that begins with =), and of their working directory, where checkpoints go. A disk that `stat` cannot reach gets a df of
# its own, which prints the reason.
FOUND = f"""
    set --
    for dir in "$proc"/[0-9]*; do
        name=
        {{ read -r name <"$dir/comm"; }} 2>/dev/null
        case $name in python* | pt_* | torchrun* | accelerate* | deepspeed*) set -- "$@" "$dir/fd/1" "$dir/cwd" ;; esac
    done
    if [ "$#" != 0 ]; then
        errors=2
        step
        capture {DISK_LIMIT:.0f} stat -L -c '%d %n' -- "$@"
        devices=" " IFS=$newline # one path of each: many programs work on one disk
        set -f
        links=$out
        for dir; do
            case $newline$links$newline in *" $dir$newline"*) ;; *) links="$links$newline$dir $dir" ;; esac
        done
        set --
        for line in $links; do
            case $devices in *" ${{line%% *}} "*) continue ;; esac
            devices="$devices${{line%% *}} "
            set -- "$@" "${{line#* }}"
        done
        set +f
        unset IFS
        step
        capture {DISK_LIMIT:.0f} stat -c %N -- "$@"
        errors=1
        dirs=$newline number=@FIRST@ IFS=$newline
        set -f
        set -- $out
        set +f
        unset IFS
        open found
        for line; do
            dir=${{line##* -> ?}}
            dir=${{dir%?}}
            out=
            case $line in */fd/1?" -> "*) dir=${{dir%/*}} out="=" ;; esac
            case $dir in
                /dev | /dev/pts | /proc/* | "" | [!/]* | *deleted* | *\\\\* | *"'"*) continue ;;
            esac
            case $dirs in *"$newline$dir$newline"*) continue ;; esac
            dirs=$dirs$dir$newline
            put ">$mark $out$dir"
            [ "$((number += 1))" -lt $((@FIRST@ + {FOUND_MOST})) ] || break
        done
        close 0
        number=@FIRST@ IFS=$newline
        set -f
        set -- $dirs
        set +f
        unset IFS
        for dir; do
            [ -n "$dir" ] || continue
            step
            ask "bytes.$number" {DISK_LIMIT:.0f} df -Pk -- "$dir"
            if [ "$code" -lt 124 ]; then
                step
                ask "inodes.$number" {DISK_LIMIT:.0f} df -Pi -- "$dir"
            fi
            number=$((number + 1))
        done
    fi
"""


def _mounts_snippet(target: Target) -> str:
    parts = []
    for number, path in enumerate((*target.mounts, *target.written)):
        word, plenty = quote_path(path), f"plenty_{number}"
        parts.append(f"""
    step
    ask bytes.{number} {DISK_LIMIT:.0f} df -Pk -- {word}
    if [ "$code" -ge 124 ]; then
        {plenty}=
    elif [ -n "${plenty}" ] && ! turn {SELDOM_ROUNDS}; then
        same inodes.{number}
    else
        step
        ask inodes.{number} {DISK_LIMIT:.0f} df -Pi -- {word}
        {plenty}=
        case $code$out in
            0*" 9"[0-9]"% "* | 0*" 100% "*) ;;
            0*) {plenty}=1 ;;
        esac
    fi""")
    if runs_free(target.instance):
        parts.append(FOUND.replace("@FIRST@", str(len(target.mounts) + len(target.written))))
    return f"""{"".join(parts)}
    if turn {SELDOM_ROUNDS}; then
        mount_table
        step
        ask shm {DISK_LIMIT:.0f} df -Pk -- "$dev/shm"
    else
        same table
        same shm
    fi
"""


def _mounts(target: Target, sections: Sections) -> object:
    table = parse_mount_table(sections.get("table", NOTHING).body)
    named, outputs = target.instance.mounts, _outputs(target.instance)
    found = sections.get("found", NOTHING).body.decode("utf-8", "replace").splitlines()
    outputs += [path[1:] for path in found if path.startswith("=")]
    written = (*target.written, *(path.removeprefix("=") for path in found[:FOUND_MOST]))
    rows: dict[str, Mount] = {}
    places: set[str | None] = set()
    filled: dict[str, str | None] = dict.fromkeys(outputs)  # path -> mount point of its disk
    for number, path in enumerate((*target.mounts, *written)):
        size = sections.get(f"bytes.{number}")
        if size is None:
            if path in target.mounts:  # df of an earlier mount hangs
                rows[path] = unasked(path)
            continue
        if size.exit in nvidia_smi.NOT_FOUND:
            return NoValue("the box has no `df` program")
        inodes = sections.get(f"inodes.{number}", NOTHING) if size.exit < HANGS else None
        mount = parse_mount(
            path, size.body, size.exit, inodes.body if inodes else None,
            inodes.exit if inodes else 0, table,
        )  # fmt: skip
        if path in outputs:
            filled[path] = mount.place
        if path not in target.mounts:
            point = mount.place or mount_point(path, table)
            # Its disk has a row already, or the run has not created the directory yet.
            if mount.place in places or (mount.place is None and mount.trouble is None):
                continue
            mount = replace(mount, path=_above(path, point), written=path in outputs)
            if any(_one_disk(mount, row) for row in rows.values() if row.trouble):
                continue
        if not target.mounts.get(path, True) and is_missing(mount):
            continue
        rows[mount.path] = replace(mount, named=path in named)
        if mount.place is not None:
            places.add(mount.place)
    shared = sections.get("shm", NOTHING)
    memory = parse_mount(SHM, shared.body, shared.exit, None, 0, table)
    packed = share(*memory.counts("bytes")) or 0.0
    own = memory.place not in places and memory.place == f"{target.instance.roots.dev}/shm"
    if own and level("bytes", packed) in (Level.WATCH, Level.ACT):
        rows.setdefault(SHM, memory)
    return tuple(
        replace(row, written=row.written or any(_takes(row, *one) for one in filled.items()))
        for row in rows.values()
    )


def _takes(row: Mount, path: str, place: str | None) -> bool:
    """Whether files written to `path`, on the disk mounted at `place`, go to this mount."""
    if place is None:  # not asked, or not created yet: judge by the path alone
        return row.path != "/" and _below(path, row.path)
    return row.place == place and (row.path == place or _below(path, row.path))


def _one_disk(mount: Mount, dead: Mount) -> bool:
    """Whether a mount is a second path on a dead disk. Of mounts that hang nothing shows which disk they are on."""
    return mount.trouble == dead.trouble == "hung" or _below(mount.path, dead.path)


def _below(path: str, above: str) -> bool:
    return f"{path.rstrip('/')}/".startswith(f"{above.rstrip('/')}/")


def _above(path: str, place: str | None) -> str:
    """The mount point, where it lies above `path`; else `path`: no box has a say in how its disks are called."""
    return place if place is not None and _below(path, place) else path


# --- the table -----------------------------------------------------------------------------------

PROBES: tuple[Probe, ...] = (
    *BOX,
    *GPU,
    Probe(
        metrics.PROCESSES.name,
        "processes",
        15.0,
        4.0,
        lambda _: "ask_processes",
        _processes,
        soon=5.0,
        scripts=("processes",),
    ),
    FILES,
    Probe(metrics.ROSTER.name, "files", 10.0, FILES_LIMIT, _roster_snippet, _roster),
    Probe(
        metrics.MOUNTS.name,
        "disk",
        20.0,
        DISK_LIMIT,
        _mounts_snippet,
        _mounts,
        scripts=("mounts",),
    ),
    *RESULTS,
    *RUNNERS,
    SHELLS,
    SIGNS,
    SLURM,
)


def target_of(instance: Instance, profile_mounts: tuple[str, ...] = ()) -> Target:
    """What to ask of `instance`. Without any known mount, the root filesystem."""
    mounts = dict.fromkeys(instance.mounts, True)
    for path in profile_mounts:
        mounts.setdefault(path, False)
    mounts = mounts or {"/": True}
    return Target(
        instance, mounts, patterns_of(instance), _written(instance, mounts), homes_of(instance)
    )


def _written(instance: Instance, mounts: Collection[str]) -> tuple[str, ...]:
    """The directories that the fleet file names for runs, without the part that is each cell's own."""
    paths = dict.fromkeys(_outputs(instance))
    if instance.queue.file:
        paths.setdefault(_home(instance.queue.file))
    return tuple(path for path in paths if path and path not in mounts)


def _outputs(instance: Instance) -> list[str]:
    """The directories that runs write to by the fleet file."""
    results = [_fixed(instance.results.remote).rstrip("/")] if instance.results.remote else []
    logs = [_home(path) for path in (instance.logs, instance.queue.log) if path]
    return [path for path in (*results, *logs) if path]


def _home(path: str) -> str:
    return _fixed(path).rpartition("/")[0].rstrip("/")


def _fixed(path: str) -> str:
    """The part of `path` that is the same for every cell; it ends in `/` where something was left out."""
    first = re.split(r"[{*?\[]", path, maxsplit=1)[0]
    return path if first == path else first[: first.rfind("/") + 1]
