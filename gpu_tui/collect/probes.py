"""The catalogue of what is sampled, as data: one row per metric.

To add a metric: a reader in parse, a row here. A row's snippet is POSIX sh for the sampler's program; it
may call what `program_prelude.PRELUDE` defines (`step`, `ask SECTION SECONDS COMMAND...`, `lines KEY FILE [NAME]`,
`tell KEY TEXT`). Rows of one lane run one after another; what can hang without being killable (a dead
driver, a dead mount) has a lane of its own, and the lane "box" starts nothing that could.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from gpu_tui.collect.probe import (
    MISSING_FILE,
    NOTHING,
    TOO_LONG,
    UNREADABLE_FILE,
    NoValue,
    Probe,
    Sample,
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
from gpu_tui.collect.probe_slurm import PROBE as SLURM
from gpu_tui.collect.shell import quote_path
from gpu_tui.core import metrics
from gpu_tui.core.fleet import Instance
from gpu_tui.core.readings import GpuError, GpuTable, Mount
from gpu_tui.core.sample import Absent, Failure, FailureKind, Reading
from gpu_tui.parse import nvidia_smi
from gpu_tui.parse.box_host import parse_uptime
from gpu_tui.parse.df import is_missing, mounted_at, parse_mount, parse_mount_table
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


# --- processes ----------------------------------------------------------------------------------

_PROCESSES = """
    open uptime; lines uptime "$proc/uptime"; close 0
    process_table
"""


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


FOUND_MOST = 6  # disks that runs which nobody named write to

# Where nothing names the runs, their disks are those of what looks like a training: of its output, and of where
# it works, which its checkpoints go to.
FOUND = f"""
    set --
    for dir in "$proc"/[0-9]*; do
        name=
        {{ read -r name <"$dir/comm"; }} 2>/dev/null
        case $name in python* | pt_* | torchrun* | accelerate* | deepspeed*) set -- "$@" "$dir/cwd" "$dir/fd/1" ;; esac
    done
    if [ "$#" != 0 ]; then
        errors=2
        step
        grab {DISK_LIMIT:.0f} stat -L -c '%d %n' -- "$@"
        devices=" " IFS=$newline # one path of each: many programs work on one disk
        set -f
        links=$out
        set --
        for line in $links; do
            case $devices in *" ${{line%% *}} "*) continue ;; esac
            devices="$devices${{line%% *}} "
            set -- "$@" "${{line#* }}"
        done
        set +f
        unset IFS
        step
        grab {DISK_LIMIT:.0f} stat -c %N -- "$@"
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
            case $line in */fd/1?" -> "*) dir=${{dir%/*}} ;; esac
            case $dir in
                /dev | /dev/pts | /proc/* | "" | [!/]* | *deleted* | *\\\\* | *"'"*) continue ;;
            esac
            case $dirs in *"$newline$dir$newline"*) continue ;; esac
            dirs=$dirs$dir$newline
            put ">$mark $dir"
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
            step
            ask "inodes.$number" {DISK_LIMIT:.0f} df -Pi -- "$dir"
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
    return (
        "".join(parts) + f"\n    if turn {SELDOM_ROUNDS}; then mount_table; else same table; fi\n"
    )


def _mounts(target: Target, sections: Sections) -> object:
    table = parse_mount_table(sections.get("table", NOTHING).body)
    mounts: list[Mount] = []
    seen: set[str | None] = set()  # None: a disk that hangs
    found = sections.get("found", NOTHING).body.decode("utf-8", "replace").splitlines()
    written = (*target.written, *found[:FOUND_MOST])
    for number, path in enumerate((*target.mounts, *written)):
        size = sections.get(f"bytes.{number}", NOTHING)
        inodes = sections.get(f"inodes.{number}")
        if size.exit in nvidia_smi.NOT_FOUND:
            return NoValue("the box has no `df` program")
        place = mounted_at(size.body, size.exit)
        hangs = size.exit in nvidia_smi.TIMED_OUT
        if number >= len(target.mounts) and (place in seen or (place is None and not hangs)):
            continue  # its disk has a row already, or the run has yet to make it
        mount = parse_mount(
            path if path in target.mounts else _above(path, place),
            size.body,
            size.exit,
            inodes.body if inodes else None,
            inodes.exit if inodes else 0,
            table,
        )
        if target.mounts.get(path, True) or not is_missing(mount):
            mounts.append(mount)
            if place or hangs:
                seen.add(place)
    return tuple(mounts)


def _above(path: str, place: str | None) -> str:
    """The mount point, where it lies above `path`; else `path`: no box has a say in how its disks are called."""
    above = place is not None and f"{path}/".startswith(f"{place.rstrip('/')}/")
    return place if place and above else path


# --- the table -----------------------------------------------------------------------------------

PROBES: tuple[Probe, ...] = (
    *BOX,
    *GPU,
    Probe(
        metrics.PROCESSES.name, "processes", 15.0, 4.0, lambda _: _PROCESSES, _processes, soon=5.0
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
    """The directories that the fleet file says are written to. Without what stands for a cell's own name."""
    files = (instance.logs, instance.queue.file, instance.queue.log)
    homes = [_fixed(path).rpartition("/")[0] for path in files if path]
    results = [_fixed(instance.results.remote)] if instance.results.remote else []
    paths = dict.fromkeys(path.rstrip("/") for path in (*results, *homes))
    return tuple(path for path in paths if path and path not in mounts)


def _fixed(path: str) -> str:
    """The part of `path` that is the same for every cell; it ends in `/` where something was left out."""
    first = re.split(r"[{*?\[]", path, maxsplit=1)[0]
    return path if first == path else first[: first.rfind("/") + 1]
