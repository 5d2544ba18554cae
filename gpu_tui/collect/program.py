"""The sh program that samples one box: one main loop and, beside it, a lane for whatever may hang.

A lane is a subshell that asks its probes in turn. It waits for its command, so it never starts a
second one while the first still lives; what cannot be ended keeps its lane and nobody else. All write
into the one channel: each line bears its probe's mark and goes out in one write of less than PIPE_BUF
bytes (POSIX: never mixed with others; a socket keeps it whole too).

What it costs, apart from the probed programs themselves, in processes per second:

    python    0 (`on_box`)                stat, df, head as under bash
    bash      clock 0 (`read -t`)         stat, df: 1 each per round; head: where the file is another
    busybox   clock 0 (`read -t`)         as under dash, below
    dash      clock 0 where the client gives the beat, else 1 (`sleep`, one for all: lanes are woken by
              a signal)
              stat, head, df as under bash; `date`; 1 for a round of the process table, and 4 for
              the arguments where processes came or went

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
from gpu_tui.collect.on_box.lane import PLAY
from gpu_tui.collect.probe import MISSING_FILE, TOO_LONG, UNREADABLE_FILE, Probe
from gpu_tui.collect.program_bash import FOR_BASH
from gpu_tui.collect.program_loop import LOOP_FOR_BASH, loop_words
from gpu_tui.collect.program_prelude import PRELUDE
from gpu_tui.collect.program_python import CARDS, NATIVE, write_python
from gpu_tui.collect.program_table import TABLE, TABLE_FOR_BASH
from gpu_tui.collect.shell import quote_path, terse
from gpu_tui.core.fleet import Roots

MOST_TICK = 2.0  # seconds between two looks at the lanes
PIECE = 3900  # bytes of a line that go out at once, with room for its mark below PIPE_BUF (4096)
MAIN_LANE = "box"
SELDOM = 10.0  # seconds between two looks whether a lane lives, where it has a clock of its own
QUIET = 30  # seconds between two signs of life where only the client gives beats
LEVELS = 8  # nested cgroups with a limit of their own
PATIENCE = 5  # seconds in which a python has to live
LONGEST = 100_000  # bytes; Linux takes 131,072 in one variable

# Where pythons are that a login without a terminal does not have in its PATH: rented boxes' images put
# theirs there in files that only a person's shell reads (AutoDL and Matpool in the home, Featurize below
# /environment, vast.ai below /venv, most of the others in /opt/conda).
PYTHONS = (
    "/usr/bin",
    "/usr/local/bin",
    "/opt/conda/bin",
    *(f"$HOME/{name}/bin" for name in ("miniconda3", "anaconda3", "miniforge3", "mambaforge")),
    "/venv/main/bin",
    "/environment/miniconda3/bin",
    "/usr/local/miniconda3/bin",
)

# bash where it works: it has a clock of its own. The program travels in the environment, because a
# shell reads its stdin in blocks (and stdin is our lifeline), a here-document may become a file, and
# a command line is for everybody to see and to grep. A sh that is a bash always hands over, to itself:
# an old one that evaluates this much while it reads its program from stdin may crash.
LAUNCHER = r"""
unset BASH_ENV ENV
begin() {
    [ -z "$on_box" ] || try_python 2>/dev/null
    bash=bash
    [ -z "$BASH_VERSION" ] || bash=${BASH:-bash}
    [ "${#sampler}" -gt @LONGEST@ ] || {
        [ -z "$BASH_VERSION" ] &&
            ! "$bash" --norc --noprofile -c '[ "${BASH_VERSINFO[0]}" -ge 4 ]' </dev/null >/dev/null 2>&1
    } || GPU_TUI_ROLE= GPU_TUI_SAMPLER=$sampler exec "$bash" --norc --noprofile -c @PLAY@ sampler ${1:+"$1"}
    exec 3<&0 </dev/null 2>/dev/null
    role=
    eval "$sampler"
}
begin "$1"; exit # on one line: what followed would be read as if the client had sent it
"""

# Before all, python where it works: the first in the PATH or PYTHONS that is no script (such shims are slow). It has
# let go of its fd 9 once it lives. It is a child: where it ends before the client leaves, we go on here.
FOR_PYTHON = r"""
find_python() {
    python=
    places=$PATH:@PYTHONS@ # only what a variable holds is split
    IFS=:
    set -f
    for at in $places; do
        [ -f "$at/python3" ] && [ -x "$at/python3" ] || continue
        head=
        IFS= read -r head <"$at/python3" || [ -n "$head" ] || continue
        case $head in
            '#!'*) ;;
            *)
                python=$at/python3
                break ;;
        esac
    done
    set +f
    unset IFS
    [ -n "$python" ]
}
try_python() {
    [ "${#sampler}" -le @LONGEST@ ] && [ "${#on_box}" -le @LONGEST@ ] &&
        [ -e "/proc/$$/fd/0" ] && find_python || return
    exec 3<&0
    GPU_TUI_ROLE=python GPU_TUI_WITH=$python GPU_TUI_PYTHON=$on_box GPU_TUI_SAMPLER=$sampler \
        sh -c @PLAY@ <&3 3<&- 9</dev/null &
    tried=$!
    # Pids are used again: no signal goes to one that is not our child.
    ( sleep @PATIENCE@; [ "/proc/$tried/fd/9" -ef /dev/null ] && IFS= read -r stat <"/proc/$tried/stat" &&
        case ${stat##*") "} in [A-Za-z]" $$ "*) kill -s KILL "$tried" ;; esac ) >/dev/null 3<&- &
    ! wait "$tried" || exit
    exec <&3 3<&-
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
        "$led") read -r line <&3 || leave ;;
        *) sleep "$1" >/dev/null || exit 1 ;;
    esac
}

# A lane's life: lane NAME SECONDS. A tick that comes just before `wait` is lost; the next one is not.
lane() {
    if [ "$clock" = tick ]; then
        trap due=1 USR1
        exec 6>&-
        cat <&"$lifeline" >/dev/null 7<&0 &
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
            [ -n "$loop" ] || rest "$2" # whose rows say when
            kill -s 0 "$$" || exit # the main loop is gone, and we were not in its process group
        fi
    done
}

# The client's first line, if any, says that it gives the beat; from then on the main loop reads its
# lines. Without them nothing is said, and only who writes notices that a link is dead.
guard() {
    exec 6>&-
    if [ "$lifeline" = 3 ] || ! read -r line <&3; then lifeline=3
    else
        kill -s USR1 "$$"
        while sleep @QUIET@ >/dev/null; do echo; done &
    fi
    exec >/dev/null
    cat <&"$lifeline"
    leave
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

# Does a lane live? Then give it its tick. It writes into the same channel as we do, which is seen
# sooner than whose child it is.
rouse() { # PID
    [ "/proc/$1/fd/1" -ef "/proc/$$/fd/1" ] || ! [ -e "/proc/$$" ] || child "$1" "$$" || leave
    [ "$clock" != tick ] || [ "$n" = 0 ] || kill -s USR1 "$1"
}

main() {
    bash= loops= loop= steady=
    if [ -n "$BASH_VERSION" ]; then
        case $BASH_VERSION in [0-3].* | 4.[0-3].*) ;; *) bash=1; eval @FOR_BASH@ ;; esac
    fi
    setup
    # Until a lane listens for its ticks, they must not end it.
    trap '' USR1@LANES@
    trap led=tick USR1
    # Only who sees the end of the input while it waits needs no guard.
    if [ "$clock" != read ]; then guard & fi
    [ "$lifeline" = 3 ] || say beat
    while :; do
        beat
        n=$((n + 1))
        rest "$pause"
        if [ -n "@WAITING@" ]@BUSY@; then
            :@MINDING@
        fi
        if [ "$clock" = tick ] || turn @SELDOM@; then
            :@ROUSING@
        fi
    done
}
"""

ROLES = r"""
# A lane of a sampler that is no shell: a round for each line that it sends, and a line when it is done.
serve() {
    surroundings
    while read -r line <&3; do
        "round_$role"
        flush
        n=$((n + 1))
        echo >&3
    done
}

as_python() {
    surroundings
    bearings
    renice -n 10 -p $$ >/dev/null
    export proc sys dev levels top cpu2 cpu1 acct1 memory cpu hostname machine
    python=$GPU_TUI_WITH
    unset GPU_TUI_WITH
    GPU_TUI_SAMPLER=$sampler exec "$python" -I -S -B \
        -c 'import os; exec(os.environ.pop("GPU_TUI_PYTHON"))' <&3 3<&-
}

case $role in
    python) as_python; exit 1 ;;
    ?*) serve; exit ;;
esac
"""

END = """
main
exit
"""

WHERE = """
proc=@PROC@
cgroup=@CGROUP@
sys=@SYS@
dev=@DEV@
"""

# On a far and narrow line most of the text is seconds away when this much of it is there: the kernel's own
# numbers are told once meanwhile.
FIRST_LOOK = """
( eval "$sampler"; surroundings; bearings; round_box; flush ) </dev/null 2>/dev/null
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
    snippets: Mapping[Probe, str],
    poll: float,
    nonce: str,
    roots: Roots,
    *,
    python: bool = True,
) -> str:
    """The whole text for one start. A probe's mark is its place in `snippets`.

    Without `python` it is half as long, and looks at the box before
    all of it has come.
    """
    tick = tick_of(poll)
    marks = {probe: mark for mark, probe in enumerate(snippets)}
    rounds: dict[str, str] = {}
    starts, waiting, busy, minding, rousing = [], [], [], [], []
    native: dict[Probe, tuple[int, int, int]] = {}
    lanes: dict[str, tuple[int, int]] = {}
    for name in dict.fromkeys((MAIN_LANE, *(probe.lane for probe in snippets))):
        mine = [probe for probe in snippets if probe.lane == name]
        own = 1 if name == MAIN_LANE else min(look_of(probe, poll) for probe in mine)
        asked = "".join(
            f"if {_turn(probe, poll, own)}; then\n"
            f'begin {marks[probe]}\n{snippets[probe]}say end "$n"\nfi\n'
            for probe in mine
        )
        rounds[name] = f"round_{name}() {{\n    :\n{asked}}}\n"
        looks = {probe: max(1, round(stride_of(probe, poll) / own)) for probe in mine}
        native |= {p: (marks[p], own, looks[p]) for p in mine if p.metric in NATIVE}
        if name != MAIN_LANE:
            limit = max(1, round(max(probe.limit_seconds for probe in mine) / tick))
            if not NATIVE.issuperset(probe.metric for probe in mine):
                lanes[name] = own, limit
            starts.append(f"\n    lane {name} {_number(own * tick)} &")
            starts.append(f"\n    pid_{name}=$! since_{name}=")
            waiting.append(f"$since_{name}")
            busy.append(f' || [ -e "/proc/$pid_{name}/fd/7" ]')
            minding.append(f"\n            mind {name} {limit}")
            rousing.append(f'\n            [ $((n % {own})) != 0 ] || rouse "$pid_{name}"')
    constants = {
        "NONCE": nonce,
        "MOST": str(MAX_SECTION),
        "PIECE": str(PIECE),
        "LONGEST": str(LONGEST),
        "TOO_LONG": str(TOO_LONG),
        "LEVELS": str(LEVELS),
        "MISSING_FILE": str(MISSING_FILE),
        "UNREADABLE_FILE": str(UNREADABLE_FILE),
        "PAUSE": _number(tick),
        "LANES": "".join(starts),
        "WAITING": "".join(waiting),
        "BUSY": "".join(busy),
        "MINDING": "".join(minding),
        "ROUSING": "".join(rousing),
        "SELDOM": str(max(1, round(SELDOM / tick))),
        "QUIET": str(QUIET),
        "PLAY": shlex.quote(PLAY),
        "PATIENCE": str(PATIENCE),
        "PYTHONS": ":".join(PYTHONS),
        "PROC": quote_path(roots.proc),
        "CGROUP": quote_path(roots.cgroup),
        "SYS": quote_path(roots.sys),
        "DEV": quote_path(roots.dev),
    }
    for probe in snippets:
        if probe.metric == CARDS:
            constants |= loop_words(stride_of(probe, poll) * tick)
    # Without the text for python this is not sent, either.
    for_bash = FOR_BASH + TABLE_FOR_BASH + (LOOP_FOR_BASH if python and "LOOP" in constants else "")
    constants["FOR_BASH"] = shlex.quote(_filled(for_bash, constants))
    first = _filled(PRELUDE + WHERE, constants) + rounds.pop(MAIN_LANE)
    rest = _filled(TABLE, constants) + "".join(rounds.values())
    if not python:
        rest += _filled(MAIN + END, constants)
        return (
            f"sampler={shlex.quote(first)}\n{terse(FIRST_LOOK)}sampler=$sampler{shlex.quote(rest)}\n"
            f"on_box=\n{_filled(LAUNCHER, constants)}"
        )
    sampler = first + rest + _filled(MAIN + ROLES + END, constants)
    on_box = write_python(nonce, tick, native, lanes)
    return (
        f"sampler={shlex.quote(sampler)}\non_box={shlex.quote(on_box)}\n"
        f"{_filled(FOR_PYTHON + LAUNCHER, constants)}"
    )


def _filled(template: str, values: Mapping[str, str]) -> str:
    return re.sub(r"@([A-Z_]+)@", lambda match: values[match.group(1)], terse(template))


def _number(seconds: float) -> str:
    return f"{seconds:.2f}".rstrip("0").rstrip(".")
