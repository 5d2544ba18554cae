"""Probes the shells of a box and the files that they read: their scripts and the lists that loops read line by line;
also the configs in the arguments of Python programs. A row for the catalogue in `probes`.

A shell is recognised by its executable, because `comm` of a script that was started by its own name is that name. Only
`stat` of a file can hang, so the probe runs in the lane for files that may lie on a dead mount.
"""

from __future__ import annotations

from gpu_tui.collect.probe import NOTHING, NoValue, Probe, Sections, Target
from gpu_tui.collect.shell import terse
from gpu_tui.core import metrics
from gpu_tui.core.sample import FailureKind
from gpu_tui.parse.nvidia_smi import TIMED_OUT
from gpu_tui.parse.shells import parse_shells
from gpu_tui.transport.base import NONCE

EVERY = 30.0  # seconds
LIMIT = 4.0
SHELLS_MOST = 60  # shells that are probed
SHELLS_SEEN = 600  # among which these are found
PYTHONS_MOST = 100  # Python programs whose arguments are read
LISTS_MOST = 8  # lists of which the text before the reading position is read
NEAR = 300  # bytes of that text
FARTHEST = 1_000_000  # bytes: some versions of `tail` read all that they skip

# Sections: `links`, the targets of descriptors (stat -c %N); `stats`, `DEVICE INODE SIZE MTIME BIRTH NAME` of these
# files and of those that the arguments name; `reads`, `PID FD POS FLAGS` from fdinfo; `before.PID.FD`, the text before
# POS, with a full stop after it.
SHELLS = f"""
    errors=2
    capture {LIMIT:.0f} stat -c %N -- "$proc"/[0-9]*/exe
    errors=1
    dirs= pythons= shells= count=0 many=0 IFS=$newline
    set -f
    set -- $out
    set +f
    unset IFS
    for line; do
        case $line in
            */exe?" -> "*[/akdz]sh? | */exe?" -> "*/busybox?) ;;
            */exe?" -> "*/python*)
                at=${{line%%/exe*}}
                [ "$((many += 1))" -gt {PYTHONS_MOST} ] || pythons="$pythons $proc/${{at##*/}}"
                continue ;;
            *) continue ;;
        esac
        at=${{line%%/exe*}} at=${{at##*/}}
        [ "$at" = "$$" ] || [ "$((count += 1))" -gt {SHELLS_SEEN} ] || shells="$shells $proc/$at/cmdline"
    done
    if [ "$count" -gt {SHELLS_MOST} ]; then
        # Each client that watches the box has some ten shells, one for each lane.
        step
        errors=2
        capture {LIMIT:.0f} grep -L -z -x -e '{NONCE}[0-9a-f]*' -- $shells
        errors=1
        shells=${{out:-$shells}}
    fi
    set -- $shells
    count=0
    for at; do
        [ "$((count += 1))" -le {SHELLS_MOST} ] || break
        dirs="$dirs ${{at%/cmdline}}"
    done
    set --
    for at in $dirs; do set -- "$@" "$at/cwd" "$at"/fd/[0-9]*; done
    if [ "$#" = 0 ]; then
        show links "$code"
    else
        step
        errors=2
        capture {LIMIT:.0f} stat -c %N -- "$@"
        errors=1
        IFS=$newline
        set -f
        set -- $out
        set +f
        unset IFS
        open links
        files= gone=
        for line; do
            case $line in
                *" -> "?/dev/shm/*) ;;
                *" -> "?/dev/* | *" -> "?/proc/* | *" -> "?/sys/* | *" -> "?[!/]*) continue ;;
            esac
            put ">$mark $line"
            case $line in */fd/*" -> "*) at=${{line%%" -> "*}} at=${{at%?}} files="$files ${{at#?}}" ;; esac
            case $line in */fd/*" (deleted)"?) at=${{line##*" -> "?}} gone=$gone${{at%" (deleted)"?}}$newline ;; esac
        done
        close 0
        set --
        lists= count=0
        open reads
        for at in $files; do
            pos= flags=
            {{ read -r key pos; read -r key flags; }} <"${{at%/fd/*}}/fdinfo/${{at##*/}}"
            case $pos$flags in *[!0-9]* | "") continue ;; esac
            name=${{at%/fd/*}} name=${{name##*/}}
            put ">$mark $name ${{at##*/}} $pos $flags"
            case $flags in *0) set -- "$@" "$at" ;; *) continue ;; esac
            case ${{at##*/}} in [0-9]) [ "$pos" = 0 ] || [ "$pos" -gt {FARTHEST} ] || lists="$lists $at:$pos" ;; esac
        done
        close 0
        if [ "$#" != 0 ] || [ -n "$pythons" ]; then
            files=$*
            set --
            for at in $dirs $pythons; do set -- "$@" "$at/cmdline"; done
            capture {LIMIT:.0f} sh -c 'head -c 1024 /dev/null "$@" | tr "\\000" "\\n"' sh "$@"
            IFS=$newline
            set -f
            set -- $out
            set +f
            unset IFS
            at= words=$newline$gone
            for line; do
                case $line in
                    "==> $proc/"*"/cmdline <==") at=${{line#"==> "}} at=${{at%/cmdline*}} count=0 ;;
                    "") ;;
                    *)
                        case " $pythons " in
                            *" $at "*)
                                line=${{line##*=}}
                                case $line in *.y*ml | *.toml | *[cC]onf*.json | *cfg*.json) ;; *) continue ;; esac ;;
                            *) case $line in -*) continue ;; esac ;;
                        esac
                        [ "$((count += 1))" -le 6 ] || continue
                        case $line in /*) words="$words$line$newline" ;; *) words="$words$at/cwd/$line$newline" ;; esac ;;
                esac
            done
            IFS=$newline
            set -f
            set -- $words
            set +f
            unset IFS
            for at in $files; do set -- "$@" "$at"; done
            step
            errors=2
            capture {LIMIT:.0f} stat -L -c '%d %i %s %Y %W %n' -- "$@"
            errors=1
            [ "$code" -ge 124 ] || code=0
            show stats "$code"
        fi
        count=0
        for at in $lists; do
            [ "$((count += 1))" -le {LISTS_MOST} ] || break
            pos=${{at##*:}} at=${{at%:*}} name=${{at%/fd/*}} first=$((pos - {NEAR}))
            [ "$first" -gt 0 ] || first=0
            step
            ask "before.${{name##*/}}.${{at##*/}}" {LIMIT:.0f} sh -c 'tail -c "+$(($1 + 1))" "$3" | head -c "$(($2 - $1))"; echo .' sh "$first" "$pos" "$at"
        done
    fi
"""


def _snippet(target: Target) -> str:
    """The probe's shell text; empty on the login node of a cluster, where the shells are other people's."""
    return terse(SHELLS) if target.instance.scheduler is None else ""


def _shells(_: Target, sections: Sections) -> object:
    links, stats = sections.get("links", NOTHING), sections.get("stats", NOTHING)
    if links.exit in TIMED_OUT or stats.exit in TIMED_OUT:
        return NoValue("stat of the files of shells does not return", FailureKind.HUNG)
    before = {name: one.body for name, one in sections.items() if name.startswith("before.")}
    return parse_shells(links.body, sections.get("reads", NOTHING).body, stats.body, before)


PROBE = Probe(metrics.SHELLS.name, "files", EVERY, LIMIT, _snippet, _shells, lambda _: 4)
