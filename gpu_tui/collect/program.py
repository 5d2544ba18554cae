"""The sh program that samples one box: one main loop and, beside it, a lane for whatever may hang.

A lane is a subshell that asks its probes in turn. It waits for its command, so it never starts a
second one while the first still lives; what cannot be ended keeps its lane and nobody else. All write
into the one channel: each line bears its probe's mark and goes out in one write of less than PIPE_BUF
bytes (POSIX: never mixed with others; a socket keeps it whole too).

What it costs, apart from the probed programs themselves, in processes per second:

    bash      clock 0 (`read -t`)         stat, df: 1 each per round; head: where the file is another
    busybox   clock 0 (`read -t`)         as under dash, below
    dash      clock 1 (`sleep`, one for all: lanes are woken by a signal)
              stat, head, df as under bash; `date`; 6 for a round of the process table

Time limits cost nothing: a lane holds its fd 7 open while it waits for a command. The main loop looks
for that fd, and ends a command that it has seen too long. Only where /proc does not show it,
`timeout` is put before each command, and every lane sleeps for itself.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping

from gpu_tui.collect.frames import MAX_SECTION
from gpu_tui.collect.probe import MISSING_FILE, TOO_LONG, UNREADABLE_FILE, Probe
from gpu_tui.collect.program_bash import FOR_BASH

MOST_TICK = 2.0  # seconds between two looks at the lanes
PIECE = 3900  # bytes of a line that go out at once, with room for its mark below PIPE_BUF (4096)
MAIN_LANE = "box"
SELDOM = 10.0  # seconds between two looks whether a lane lives, where it has a clock of its own
LONGEST = 100_000  # bytes; Linux takes 131,072 in one variable

# bash where it works: it has a clock of its own. The program travels in the environment, because a
# shell reads its stdin in blocks (and stdin is our lifeline), a here-document may become a file, and
# a command line is for everybody to see and to grep. A sh that is a bash always hands over, to itself:
# an old one that evaluates this much while it reads its program from stdin may crash.
LAUNCHER = r"""
unset BASH_ENV ENV
begin() {
    bash=bash
    [ -z "$BASH_VERSION" ] || bash=${BASH:-bash}
    [ "${#sampler}" -gt @LONGEST@ ] || {
        [ -z "$BASH_VERSION" ] &&
            ! "$bash" --norc --noprofile -c '[ "${BASH_VERSINFO[0]}" -ge 4 ]' </dev/null >/dev/null 2>&1
    } || GPU_TUI_SAMPLER=$sampler exec "$bash" --norc --noprofile -c '
        sampler=$GPU_TUI_SAMPLER
        unset GPU_TUI_SAMPLER
        exec 3<&0 </dev/null 2>/dev/null
        eval "$sampler"'
    exec 3<&0 </dev/null 2>/dev/null
    eval "$sampler"
}
begin; exit # on one line: what followed would be read as if the client had sent it
"""

PRELUDE = r"""
newline='
'
held=

# Lines are held until there are enough of them for one write.
put() { # LINE
    [ "${#1}" -le @PIECE@ ] || set -- "@@NONCE@ $mark cut"
    [ $((${#held} + ${#1})) -lt @PIECE@ ] || flush
    held=$held$1$newline
}
flush() {
    [ -z "$held" ] || printf '%s' "$held" || exit 0
    held=
}
say() { put "@@NONCE@ $mark $*"; }
begin() {
    mark=$1
    held=$held$newline
    say begin "$n"
}
open() { say open "$1"; }
close() { say close "$1"; }
same() { say same "$1"; } # a section is as in this probe's last frame

# Is it this probe's turn? turn BEATS, counted in the beats of its lane.
turn() { [ $((n % $1)) = 0 ]; }

# Is it time for the process table? At the start, at the latest every $1 beats of its lane, and at the
# next beat once their number is another: then something began or ended. Where that is so all the time
# it is no sign of anything, and less and less is made of it.
worth() {
    latest=$1
    set -- "$proc"/[0-9]*
    number=$#
    [ ! -e "$proc/$pid_gpu/fd/7" ] || number=$((number - 1)) # a program that we started
    waited=$((waited + 1))
    [ "$number" = "$counted" ] || moved=1
    if [ "$n" -ge 3 ] && [ "$waited" -lt "$latest" ]; then
        [ "$number" != "$counted" ] && [ "$waited" -ge "$spell" ] || return 1
    fi
    if [ -z "$moved" ] || [ "$n" -lt 3 ]; then spell=1
    elif [ "$spell" -lt "$latest" ]; then spell=$((spell * 2)); fi
    counted=$number waited=0 moved=
}

# A small kernel file: lines KEY FILE [NAME]; with NAME only the line called so.
lines() {
    [ -r "$2" ] || return 0
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in
            ${3:+"$3 "}*)
                put ">$mark $1 $line"
                [ -z "$3" ] || break ;;
        esac
        line=
    done <"$2"
}

# One line of our own making: tell KEY TEXT, cut at the first line end of the text.
tell() { put ">$mark $1 ${2%%"$newline"*}"; }

# Run a program: its output into $out, its exit into $code. grab SECONDS COMMAND...
# It takes the place of the subshell, so that it is the lane's own child.
grab() {
    limit=$1
    shift
    exec 7<&0
    out=$(exec ${within:+$within "$limit"} "$@" 2>&"$errors" 3<&- 7<&-)
    code=$?
    exec 7<&-
}

# Send $out as a section: show SECTION EXIT.
show() {
    [ "${#out}" -le @MOST@ ] || { out=; set -- "$1" @TOO_LONG@; }
    open "$1"
    if [ "${#out}" -gt 3000 ]; then
        flush
        printf '%s\n' "$out" | marked
    else
        text
    fi
    close "$2"
}
text() { # the lines of $out
    while :; do
        case $out in
            '') return ;;
            *"$newline"*)
                put ">$mark ${out%%"$newline"*}"
                out=${out#*"$newline"} ;;
            *)
                put ">$mark $out"
                return ;;
        esac
    done
}

ask() { # SECTION SECONDS COMMAND...
    section=$1
    shift
    grab "$@"
    kept=$out
    show "$section" "$code"
    out=$kept
}

# The end of a pipe that sends its lines, each in one write.
marked() {
    [ -z "$awk" ] || exec awk -v m="$mark" '
        (sum += length($0)) > @MOST@ { print "@@NONCE@ " m " cut"; exit }
        {
            while (length($0) > @PIECE@) {
                print "+" m " " substr($0, 1, @PIECE@)
                fflush()
                $0 = substr($0, @PIECE@ + 1)
            }
            print ">" m " " $0
            fflush()
        }'
    while IFS= read -r line || [ -n "$line" ]; do
        put ">$mark $line"
        line=
    done
    flush
}

# The beginning of a regular file: content SECTION BYTES FILE.
content() {
    if [ -f "$3" ] && [ -r "$3" ]; then
        ask "$1" 4 head -c "$(($2 + 1))" -- "$3"
    elif [ -e "$3" ]; then
        out=
        show "$1" @UNREADABLE_FILE@
    else
        out=
        show "$1" @MISSING_FILE@
    fi
}

# Of the mount table: where, of what kind, and whether read-only.
mount_table() {
    open table
    [ ! -r "$proc/mounts" ] || while read -r device directory kind flags rest; do
        case ,$flags, in *,ro,*) flags=ro ;; *) flags=rw ;; esac
        [ "${#directory}" -gt 3000 ] || put ">$mark - $directory $kind $flags"
    done <"$proc/mounts"
    close 0
}

# The process table. stat: PID (NAME) STATE PPID and, of the rest, only the start time; kernel threads
# (children of 2) are left out. cmdline: headers without arguments below them are left out.
process_table() {
    open stat
    flush
    exec 7<&0
    ${within:+$within 4} sed -e '/) [A-Z] 2 /d' \
        -e 's/\() [A-Za-z] [0-9]*\)\( [-0-9]*\)\{17\} \([0-9]*\) .*/\1 \3/' \
        "$proc"/[0-9]*/stat 7<&- | marked
    close 0
    open cmdline
    flush
    ${within:+$within 4} head -c 2048 /dev/null "$proc"/[0-9]*/cmdline 7<&- | tr '\000' '\037' |
        sed -n -e '/^==> .* <==$/{h;d;}' -e '/./{x;/./{p;s/.*//;};x;p;}' | marked
    exec 7<&-
    close 0
}

# Our own path in a hierarchy, from $proc/self/cgroup: own 2, or own CONTROLLER.
own() {
    [ -r "$proc/self/cgroup" ] || return 0
    while IFS=: read -r number names path; do
        case $1:$number:,$names, in
            2:0:,, | [!2]*:*,"$1",*)
                case $path in *..* | /) ;; *) printf '%s' "$path" ;; esac
                return ;;
        esac
    done <"$proc/self/cgroup"
}

# The nearest cgroup, from ours outwards, that sets a limit in FILE; else the root as it is mounted.
bound() { # ROOT OWN FILE
    at=$2
    while :; do
        if [ -r "$1$at/$3" ] && IFS= read -r limit <"$1$at/$3"; then
            case $limit in
                '' | max* | -* | 92233720368547*) ;;
                *) printf '%s' "$1$at"; return ;;
            esac
        fi
        [ -n "$at" ] || break
        at=${at%/*}
    done
    printf '%s' "$1"
}

first() { for at in "$@"; do [ ! -d "$at" ] || break; done; printf '%s' "$at"; }

now() { tell date "$(date '+%s %z')"; }

setup() {
    LC_ALL=C
    PATH=$PATH:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/nvidia/bin:/usr/lib/wsl/lib
    export LC_ALL PATH
    n=0 mark=0 errors=1 mig= within= awk= pause=@PAUSE@ known= waited=0 spell=1 counted= moved=
    renice -n 10 -p $$ >/dev/null
    # A status over 128 is a timeout (bash, ksh); busybox gives 1, also at the end of the input. A bash
    # below 4 knows no parts of a second, and gives 1 for that too.
    clock=sleep
    case $BASH_VERSION in
        [0-3].*) ;;
        *)
            read -t 0.01 -r line <&3
            case $? in
                0 | 1) clock=poll ;;
                2 | 126 | 127) ;;
                *) clock=read ;;
            esac ;;
    esac
    if exec 7<&0 && [ -e "/proc/$$/fd/7" ]; then
        [ "$clock" != sleep ] || clock=tick
    elif timeout -k 1 5 true; then within='timeout -k 1'
    elif timeout 5 true; then within=timeout
    elif timeout -t 5 true; then within='timeout -t'
    fi
    exec 7<&-
    case $clock in
        sleep | tick)
            sleep 0.01 || pause=${pause%.*}
            [ "$pause" != 0 ] && [ -n "$pause" ] || pause=1 ;;
    esac
    ! awk 'BEGIN { fflush() }' </dev/null || awk=awk
    hostname=$(hostname || uname -n)
    mem2=$(bound "$cgroup" "$(own 2)" memory.max)
    cpu2=$(bound "$cgroup" "$(own 2)" cpu.max)
    mem1=$(bound "$cgroup/memory" "$(own memory)" memory.limit_in_bytes)
    cpu1=$(bound "$(first "$cgroup/cpu,cpuacct" "$cgroup/cpu")" "$(own cpu)" cpu.cfs_quota_us)
    acct1=$(first "$cgroup/cpu,cpuacct" "$cgroup/cpuacct")
    [ ! -r "$acct1$(own cpuacct)/cpuacct.usage" ] || acct1=$acct1$(own cpuacct)
    memory=host cpu=v1
    [ ! -r "$mem1/memory.usage_in_bytes" ] || memory=v1
    [ ! -r "$mem2/memory.current" ] || memory=v2
    [ ! -r "$cpu2/cpu.stat" ] || cpu=v2
}
"""

# The client's stdin is our lifeline: at its end (the client left, however) the whole program goes.
# The minus kills our process group where we lead one, as under sshd; else only this shell.
MAIN = r"""
leave() {
    kill -s KILL -- "-$$" || kill -s KILL "$$"
    exit 1
}

# Wait: rest SECONDS. Who can tell a timeout from the end of the input leaves at the end.
rest() {
    case $clock in
        read) read -t "$1" -r line <&3
            [ $? -gt 128 ] || leave ;;
        poll) read -t "$1" -r line <&3 ;;
        *) sleep "$1" >/dev/null || exit 1 ;;
    esac
}

# A lane's life: lane NAME SECONDS. A tick that comes just before `wait` is lost; the next one is not.
lane() {
    if [ "$clock" = tick ]; then
        trap due=1 USR1
        cat <&3 >/dev/null 7<&0 &
        lifeline=$!
    fi
    n=0
    while :; do
        due=
        "round_$1"
        flush
        n=$((n + 1))
        if [ "$clock" = tick ]; then
            while [ -z "$due" ]; do
                wait "$lifeline"
                [ -n "$due" ] || exit
            done
        else
            rest "$2"
            kill -s 0 "$$" || exit # the main loop is gone, and we were not in its process group
        fi
    done
}

# Is this pid a child of that one? Pids are used again: no signal goes to one that was not asked.
child() { # PID PARENT
    stat=
    read -r stat <"/proc/$1/stat"
    case ${stat##*") "} in [A-Za-z]" $2 "*) ;; *) return 1 ;; esac
}
commands() { # LANE: they are its children without a fd 7
    found=
    for at in /proc/[0-9]*; do
        [ -e "$at/fd/7" ] || ! child "${at#/proc/}" "$1" || found="$found ${at#/proc/} "
    done
}

# A lane waits for a command: mind NAME LIMIT, in beats. What it has been waiting for since half the
# limit, and still is at the limit, is ended.
mind() {
    eval "pid=\$pid_$1 since=\$since_$1"
    if [ -n "$within" ] || [ ! -e "/proc/$pid/fd/7" ]; then
        since=
    else
        since=$((${since:-0} + 1))
        if [ "$since" -eq $((($2 + 1) / 2)) ]; then
            commands "$pid"
            eval "old_$1=\$found"
        elif [ "$since" -gt "$2" ]; then
            commands "$pid"
            eval "old=\$old_$1"
            for at in $found; do
                case $old in *" $at "*) kill -s KILL "$at" ;; esac
            done
            since=
        fi
    fi
    eval "since_$1=\$since"
}

# Does a lane live? Then give it its tick: rouse PID STRIDE.
rouse() {
    turn "$2" && [ -e "/proc/$$" ] || return 0
    child "$1" "$$" || leave
    [ "$clock" != tick ] || [ "$n" = 0 ] || kill -s USR1 "$1"
}

main() {
    proc=@PROC@
    cgroup=@CGROUP@
    bash=
    if [ -n "$BASH_VERSION" ]; then
        case $BASH_VERSION in [0-3].* | 4.[0-3].*) ;; *) bash=1; eval @FOR_BASH@ ;; esac
    fi
    setup
    # Only a shell whose clock sees the end of the input needs no guard.
    if [ "$clock" != read ]; then ( exec >/dev/null; cat <&3; leave ) & fi
    # Until a lane listens for its ticks, they must not end it.
    trap '' USR1@LANES@
    while :; do
        round_box
        flush
        n=$((n + 1))
        rest "$pause"@MINDING@
        if [ "$clock" = tick ] || turn @SELDOM@; then
            :@ROUSING@
        fi
    done
}
main
exit
"""


def tick_of(poll: float) -> float:
    """Seconds between two beats of the main loop, which also looks after the lanes."""
    return poll / max(1, math.ceil(poll / MOST_TICK))


def stride_of(probe: Probe, poll: float) -> int:
    """Every how many beats of the main loop a probe is asked."""
    return max(1, math.floor(max(probe.every, poll) / tick_of(poll) + 0.5))


def look_of(probe: Probe, poll: float) -> int:
    """Every how many beats it is looked whether a probe is to be asked."""
    soon = max(probe.soon or probe.every, poll)
    return max(1, math.floor(soon / tick_of(poll) + 0.5))


def _turn(probe: Probe, poll: float, own: int) -> str:
    """The sh condition on which a probe is asked; its lane has a beat every `own` of the main loop's."""
    rounds = max(1, round(stride_of(probe, poll) / own))
    if probe.soon:
        return f"worth {rounds}"
    return ":" if rounds == 1 else f"turn {rounds}"


def write_program(
    snippets: Mapping[Probe, str], poll: float, nonce: str, proc: str, cgroup: str
) -> str:
    """The whole text for one start. A probe's mark is its place in `snippets`.

    `proc` and `cgroup` are shell words.
    """
    tick = tick_of(poll)
    marks = {probe: mark for mark, probe in enumerate(snippets)}
    rounds, starts, minding, rousing = [], [], [], []
    for name in dict.fromkeys((MAIN_LANE, *(probe.lane for probe in snippets))):
        mine = [probe for probe in snippets if probe.lane == name]
        own = 1 if name == MAIN_LANE else min(look_of(probe, poll) for probe in mine)
        asked = "".join(
            f"    if {_turn(probe, poll, own)}; then\n"
            f'    begin {marks[probe]}{snippets[probe]}    say end "$n"\n    fi\n'
            for probe in mine
        )
        rounds.append(f"round_{name}() {{\n    :\n{asked}}}\n")
        if name != MAIN_LANE:
            limit = max(1, round(max(probe.limit_seconds for probe in mine) / tick))
            starts.append(f"\n    lane {name} {_number(own * tick)} &")
            starts.append(f"\n    pid_{name}=$! since_{name}=")
            minding.append(
                f'\n        [ -z "$since_{name}" ] && [ ! -e "/proc/$pid_{name}/fd/7" ] ||'
                f" mind {name} {limit}"
            )
            rousing.append(f'\n            rouse "$pid_{name}" {own}')
    constants = {
        "NONCE": nonce,
        "MOST": str(MAX_SECTION),
        "PIECE": str(PIECE),
        "LONGEST": str(LONGEST),
        "TOO_LONG": str(TOO_LONG),
        "MISSING_FILE": str(MISSING_FILE),
        "UNREADABLE_FILE": str(UNREADABLE_FILE),
        "PAUSE": _number(tick),
        "LANES": "".join(starts),
        "MINDING": "".join(minding),
        "ROUSING": "".join(rousing),
        "SELDOM": str(max(1, round(SELDOM / tick))),
        "PROC": proc,
        "CGROUP": cgroup,
    }
    constants["FOR_BASH"] = shlex.quote(_filled(FOR_BASH, constants))
    sampler = _filled(PRELUDE, constants) + "".join(rounds) + _filled(MAIN, constants)
    return f"sampler={shlex.quote(sampler)}\n{_filled(LAUNCHER, constants)}"


def _filled(template: str, values: Mapping[str, str]) -> str:
    return re.sub(r"@([A-Z_]+)@", lambda match: values[match.group(1)], template)


def _number(seconds: float) -> str:
    return f"{seconds:.2f}".rstrip("0").rstrip(".")
