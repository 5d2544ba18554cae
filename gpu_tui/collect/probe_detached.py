"""Programs that no list of jobs tells of: those whose output goes into a file, and a nohup.out that was left behind.
Rows for the catalogue in `probes`; asked only where nothing else tells what runs (`probe_runners`).
"""

from __future__ import annotations

from gpu_tui.collect.probe import NOTHING, NoValue, Sections, Target
from gpu_tui.core.sample import FailureKind
from gpu_tui.parse.box_host import parse_host, parse_uptime
from gpu_tui.parse.detached import parse_detached
from gpu_tui.parse.left_over import FILE, parse_left_over
from gpu_tui.parse.nvidia_smi import TIMED_OUT

LIMIT = 4.0

# As /proc/PID/comm has them: what starts trainings, and what torch calls itself there.
PROGRAMS = "python*|pt_main_thread|torchrun*|accelerate*|deepspeed*|mpirun*"
HELD = 1_500  # open files that are looked at, of all programs together: workers hold what the first one does

# What stands between a program and its log, and passes on what it reads.
FILTERS = "sed|awk|gawk|mawk|grep|egrep|cat|tr|ts|perl|col|colrm|uniq"
# Of a program that pipes its output into `tee LOG`, the file of that tee is the log, and so is the one that a single
# filter writes to; other ends of pipes tell nothing, but a log that the program holds open does, wherever its output
# goes.
DETACHED = f"""
    fed() {{
        pipe="pipe:[$1]" file=$2 IFS=$newline
        set -f
        set -- $seen
        set +f
        unset IFS
        for row; do
            case $row in
                *" -> "*"$pipe"*)
                    pid=${{row%%/fd/1*}}
                    put ">$mark ${{row%% -> *}} -> $file"; pids="$pids ${{pid##*/}}" ;;
            esac
        done
    }}
    capture {LIMIT:.0f} stat -c %N -- "$proc"/[0-9]*/fd/1
    [ "$code" -ge 124 ] || code=0
    open outputs
    seen=$out kept=$code pids= programs= others= IFS=$newline
    set -f
    set -- $out # a line each: to cut them off one by one takes the square of their number
    set +f
    unset IFS
    for line; do
        case $line in
            */fd/1*" -> "*) pid=${{line%%/fd/1*}} pid=${{pid##*/}} name= ;;
            *) continue ;;
        esac
        case $pid in *[!0-9]* | "") continue ;; esac
        {{ read -r name <"$proc/$pid/comm"; }} 2>/dev/null
        case $name in
            {PROGRAMS}) programs="$programs $pid" ;;
            *) name= ;;
        esac
        case $line in
            *" -> "?/dev/* | *" -> "/dev/* | *pipe:* | *socket:* | *anon_inode* | *deleted*)
                [ -z "$name" ] || {{ others="$others$line$newline"; pids="$pids $pid"; }} ;;
            *) put ">$mark $line"; pids="$pids $pid" ;;
        esac
    done
    set --
    case $seen in
        *"pipe:["*)
            for dir in "$proc"/[0-9]*; do
                name=
                {{ read -r name <"$dir/comm"; }} 2>/dev/null
                case $name in
                    tee) set -- "$@" "$dir/fd/0" "$dir/fd/3" ;;
                    {FILTERS}) set -- "$@" "$dir/fd/0" "$dir/fd/1" ;;
                esac
            done ;;
    esac
    if [ "$#" != 0 ]; then
        errors=2
        capture {LIMIT:.0f} stat -c %N -- "$@"
        errors=1
        from= IFS=$newline
        set -f
        set -- $out
        set +f
        unset IFS
        for line; do
            case $line in
                */fd/0*" -> "*"pipe:["*) from=${{line##*"pipe:["}}; from=${{from%%"]"*}} ;;
                */fd/0*) from= ;;
                *" -> "?/dev/* | *" -> "/dev/* | *pipe:* | *socket:* | *anon_inode* | *deleted*) ;;
                */fd/[13]*" -> "*) [ -z "$from" ] || fed "$from" "${{line##* -> }}" ;;
            esac
        done
    fi
    close "$kept"
    if [ -n "$programs" ]; then
        set --
        for pid in $programs; do
            [ "$#" -lt {HELD} ] || break
            set -- "$@" "$proc/$pid"/fd/[3-9] "$proc/$pid"/fd/[1-9][0-9]
        done
        errors=2
        capture {LIMIT:.0f} stat -c %N -- "$@"
        errors=1
        IFS=$newline
        set -f
        set -- $others $out
        set +f
        unset IFS
        open held
        for line; do
            case $line in
                */fd/1[!0-9]*" -> "* | */fd/1" -> "* | *.log* | *.out* | *.txt* | *.err* | *tfevents* | *.wandb* | */dev/nvidia[0-9]*) put ">$mark $line" ;;
            esac
        done
        close "$code"
    fi
    if [ -n "$pids" ]; then
        open uptime; value uptime "$proc/uptime"; close 0
        open clock; now; close 0
        process_table
    fi
"""


# A home may lie on a mount that died: this is asked in the lane of such files.
LEFT = f"""
    errors=2
    capture {LIMIT:.0f} stat -c '%Y %n' -- "$HOME"/{FILE} "$HOME"/*/{FILE}
    errors=1
    if [ "$code" -ge 124 ]; then
        show left "$code"
    elif [ -n "$out" ]; then
        show left 0
        open clock; now; close 0
        errors=2
        capture {LIMIT:.0f} stat -c %N -- "$proc"/[0-9]*/fd/1
        errors=1
        [ "$code" -lt 124 ] || out=
        seen=$out IFS=$newline
        set -f
        set -- $out
        set +f
        unset IFS
        open writers
        for line; do
            case $line in *{FILE}*) put ">$mark $line" ;; esac
        done
        close $((${{#seen}} == 0))
    fi
"""


def read_detached(target: Target, sections: Sections) -> object:
    """A `JobTable` of the programs whose output goes into a file."""
    if code := sections.get("outputs", NOTHING).exit:
        kind = FailureKind.HUNG if code in TIMED_OUT else FailureKind.UNREAD
        return NoValue("where processes write to cannot be read", kind)
    names = ("outputs", "stat", "cmdline", "held")
    outputs, stat, cmdline, held = (sections.get(name, NOTHING).body for name in names)
    host = parse_host(sections.get("clock", NOTHING).body)
    uptime = sections.get("uptime", NOTHING).body.decode("ascii", "replace")[7:]
    return parse_detached(
        outputs,
        stat,
        cmdline,
        parse_uptime(uptime),
        host.box_time if host else None,
        held=held,
        logs=target.instance.logs,
    )


def read_left(_: Target, sections: Sections) -> object:
    """What a nohup.out tells that nobody writes any more."""
    if sections.get("left", NOTHING).exit in TIMED_OUT:
        return NoValue("looking for a nohup.out does not return", FailureKind.HUNG)
    if sections.get("writers", NOTHING).exit:  # not even we ourselves are among them
        return NoValue("who writes the nohup.out that is there cannot be seen", FailureKind.DENIED)
    host = parse_host(sections.get("clock", NOTHING).body)
    left, writers = (sections.get(name, NOTHING).body for name in ("left", "writers"))
    return parse_left_over(left, writers, host.box_time if host else None)
