"""Probes size and time of the files that show whether runs move and have results: one `stat` per look. Results may lie
on a mount that died.

Runs write checkpoints and trackers' files under names of their own. Only the newest of each directory goes into that
`stat`: the shell's `test` picks it, by usual names and folders, among a limited number of names.
"""

from __future__ import annotations

from dataclasses import replace

from gpu_tui.collect.probe import NOTHING, NoValue, Probe, Sections, Target
from gpu_tui.collect.shell import CELL, quote_path, quote_pattern
from gpu_tui.core import metrics
from gpu_tui.core.artifact import layout_of
from gpu_tui.core.fleet import Instance
from gpu_tui.core.sample import FailureKind
from gpu_tui.parse import nvidia_smi, stat

FILES_LIMIT = 4.0
# Bytes of one look's rows, below MAX_SECTION and what the kernel takes as arguments.
FILES_ROOM = 900_000
NEWEST_ROOM = 90_000  # bytes more, for the rows of the newest checkpoints
NAMES_MOST = 4_000  # checkpoints that are weighed against each other in one look
# Looks from one in which the newest are picked to the next; between them these are looked at.
SELDOM = 6
ROW = 48  # bytes of a row beside the name

NOT_STARTED = 126  # what a shell says of a program with more arguments than the kernel takes

# Names that trainers give their checkpoints, also half written, and the folders that they use. Each pattern reads the
# directory once more: pt, pth, ckpt and pkl; safetensors; bin, h5, keras and msgpack. Then the files of metrics next to a
# log: TensorBoard's events, Lightning's and ultralytics' tables. The file of wandb is left out: a thread of its own
# writes the state of the machine there, also while the training hangs.
_KINDS = ("[pc][tk]*", "safetensors*", "[bhkm][i5es]*")
_FOLDERS = ("ckpt", "ckpts", "checkpoint", "checkpoints", "weights", "models")
_CHECKPOINTS = " ".join(
    (
        *(f'"${place}"*.{kind}' for place in ("1", "folder") for kind in _KINDS),
        *(f'"$1"{folder}/*' for folder in _FOLDERS),
        '"$1"lightning_logs/*/checkpoints/*',
        *(f'"$1"{place}*tfevents*' for place in ("", "*/", "runs/*/", "lightning_logs/*/")),
        *(
            f'"$1"{place}'
            for place in ("metrics.csv", "results.csv", "lightning_logs/*/metrics.csv")
        ),
    )
)
# newer NAME: is it there, and was it written after $last? A folder with a number, as checkpoint-500, is a
# checkpoint itself; in the newest of them one may be under way.
_NEWEST = f"""
    newer() {{
        [ "$left" -gt 0 ] && [ -e "$1" ] || return
        left=$((left - 1))
        [ -z "$last" ] || [ "$1" -nt "$last" ]
    }}
    newest() {{ # DIRECTORY/ of a cell
        last=
        for name in "$1"*[0-9]/; do ! newer "$name" || last=${{name%/}}; done
        folder=${{last:-/dev/null}}/
        for name in {_CHECKPOINTS}; do ! newer "$name" || last=$name; done
        [ -z "$last" ] || [ $((room -= ${{#last}} + {ROW})) -lt 0 ] || found=$found$last$newline
    }}
"""


def _newest_snippet(target: Target) -> str:
    """Puts the newest checkpoint of every directory into the words that `stat` is given."""
    if not target.homes:
        return ""
    homes = " ".join(f"{quote_path(home)}/*/" for home in target.homes)
    return f"""{_NEWEST}
    if turn {SELDOM}; then
        found= left={NAMES_MOST} room={NEWEST_ROOM}
        for dir in {homes}; do
            [ "$left" -gt 0 ] || break
            newest "$dir"
        done
    fi
    set -f
    IFS=$newline
    set -- "$@" $found
    unset IFS
    set +f
"""


def _snippet(target: Target) -> str:
    if not target.files:
        return "\n    :\n"  # it is answered all the same: who waits for a first look waits for this
    words = [quote_pattern(pattern) for pattern in target.files]
    each = "".join(
        f"""
        weigh {word}
        if [ "$size" -le "$room" ]; then
            room=$((room - size))
            set -- "$@" {word}
        else
            tell unseen "{number} $number"
        fi"""
        for number, word in enumerate(words)
    )
    return f"""
    weigh() {{ number=$# names="$*"; size=$((${{#names}} + {ROW} * number)) names=; }}
    open home; tell home "$HOME"; close 0
    set -- {" ".join(words)}
    weigh "$@"
    if [ "$size" -gt {FILES_ROOM} ]; then
        # Of a pattern that names too many their number is told; who fits beside it is looked at.
        open unseen
        room={FILES_ROOM}
        set --{each}
        close 0
    fi
{_newest_snippet(target)}
    errors=2
    ask files {FILES_LIMIT:.0f} stat -L -c '{stat.FORMAT}' -- "$@"
    errors=1
"""


def _files(target: Target, sections: Sections) -> object:
    if not target.files:
        return NoValue("no queue, log or result is named whose files could be watched")
    section = sections.get("files", NOTHING)
    if section.exit in nvidia_smi.TIMED_OUT:
        return NoValue("stat does not return: a mount may be dead", FailureKind.HUNG)
    if section.exit == NOT_STARTED:
        return NoValue("there are more result files than one `stat` can take", FailureKind.UNREAD)
    if section.exit in nvidia_smi.NOT_FOUND:
        return NoValue("the box has no `stat` program")
    home = sections.get("home", NOTHING).body.decode("utf-8", "replace").strip("\n")
    unseen = stat.parse_unseen(sections.get("unseen", NOTHING).body, target.files)
    for pattern in _moving(target.instance):
        if pattern in unseen:  # whether anything moves stands in these
            return NoValue(
                f"{pattern} names {unseen[pattern]} files: more than can be looked at",
                FailureKind.UNREAD,
            )
    table = stat.parse_files(
        section.body, target.files, home.removeprefix("home ") or None, target.homes
    )
    return replace(table, unseen=unseen) if unseen else table


def patterns_of(instance: Instance) -> tuple[str, ...]:
    """The files whose size and mtime tell whether anything moves, and which artifacts exist."""
    return tuple(dict.fromkeys([*_moving(instance), *layout_of(instance).patterns()]))


def _moving(instance: Instance) -> list[str]:
    """Those of them that are written as long as anything runs."""
    return [path for path in (instance.queue.file, instance.queue.log, instance.logs) if path]


def homes_of(instance: Instance) -> tuple[str, ...]:
    """The directories in which a cell that runs has one of its own, called by its name."""
    logs = (instance.logs or "").split(f"/{CELL}/")[0]
    beside = [logs] if logs and logs != instance.logs and CELL not in logs else []
    return tuple(dict.fromkeys([*layout_of(instance).homes, *beside]))


PROBE = Probe(metrics.FILES.name, "files", 10.0, FILES_LIMIT, _snippet, _files)
