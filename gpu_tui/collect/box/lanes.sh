# Lanes: a subshell for each group of probes that may hang. It runs in parallel with the main loop.
#
# A lane asks its probes in turn and waits for each command, so it never starts a second one while the first still
# lives. What cannot be ended keeps its own lane and no other.
#
# Given: lanes, a word NAME:EVERY:LIMIT:SECONDS for each. EVERY and LIMIT are beats of the main loop: from round to
# round, and how long a command may take. SECONDS is EVERY in seconds. loop_limit: beats that a look of nvidia-smi's loop may take.

loop= # the pid of that loop (gpu_loop.sh)

start_lanes() {
    lane_pids= minding= rousing=
    # Until a lane listens for its ticks, they must not end it.
    trap '' USR1
    for lane in $lanes; do
        IFS=:
        set -- $lane
        unset IFS
        lane "$1" "$4" &
        eval "pid_$1=\$! since_$1= waits_$1="
        lane_pids="$lane_pids $!"
        case $1 in
            gpu) ;;
            *) minding="${minding}[ -z \"\$waits_$1\" ] && [ ! -e /proc/$!/fd/7 ] || " ;; # nothing to do
        esac
        minding="${minding}mind $1 $! $3$newline"
        rousing="${rousing}rouse $! $2$newline"
    done
    eval "mind_lanes() { :$newline$minding}$newline rouse_lanes() { :$newline$rousing}"
}

# The life of one: lane NAME SECONDS. A tick that comes just before `wait` is lost; the next one is not.
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
        # The main loop may be gone without us, where we are not in its process group.
        kill -s 0 "$$" || { [ -z "$loop" ] || leave_loop; exit; }
        [ -z "$loop" ] || continue # its rows set the pace
        if [ "$clock" = tick ]; then
            while [ -z "$due" ]; do
                wait "$lifeline"
                [ -n "$due" ] || exit
            done
        else
            rest "$2"
        fi
    done
}

# Is this pid a child of that one? Pids are used again: no signal goes to one that was not checked.
child() { # PID PARENT
    stat=
    read -r stat <"/proc/$1/stat"
    case ${stat##*") "} in [A-Za-z]" $2 "*) ;; *) return 1 ;; esac
}

# The commands of a lane, into $found: its children without a fd 7. Where the kernel does not list the children of a
# process, each process is looked at, which costs as much as a reading of the process table.
commands() { # PID
    found= children='/proc/[0-9]*'
    if [ -e "/proc/$1/task/$1/children" ]; then
        children=
        read -r children <"/proc/$1/task/$1/children"
    fi
    for at in $children; do
        at=${at#/proc/}
        [ -e "/proc/$at/fd/7" ] || ! child "$at" "$1" || found="$found $at"
    done
}

# End what a lane has been waiting for since half the limit, and still is at the limit: mind NAME PID LIMIT
# It waits for a command while its fd 7 is open, for the next look of nvidia-smi's loop while its fd 8 or 9 is, by
# turns: another fd is another look.
mind() {
    was=
    if [ -e "/proc/$2/fd/7" ]; then waits=7
    elif [ "$1" != gpu ]; then waits=
    elif [ -e "/proc/$2/fd/8" ]; then waits=8
    elif [ -e "/proc/$2/fd/9" ]; then waits=9
    else waits=
    fi
    eval "was=\$waits_$1 since=\$since_$1 waits_$1=\$waits"
    [ -n "$waits" ] || return 0
    [ "$waits" = 7 ] || set -- "$1" "$2" "$loop_limit"
    [ "$waits" = "$was" ] || since=
    since=$((${since:-0} + 1))
    if [ "$since" -eq $((($3 + 1) / 2)) ]; then
        commands "$2"
        eval "old_$1=\$found"
    elif [ "$since" -gt "$3" ]; then
        eval "found=\$old_$1"
        for at in $found; do
            ! child "$at" "$2" || kill -s KILL "$at"
        done
        since=
    fi
    eval "since_$1=\$since"
}

# Does a lane live? Then give it its tick: rouse PID EVERY
# It writes into the same channel as we do, which is cheaper to see than whose child it is.
rouse() {
    turn "$2" || return 0
    [ "/proc/$1/fd/1" -ef "/proc/$$/fd/1" ] || ! [ -e "/proc/$$" ] || child "$1" "$$" || leave
    [ "$clock" != tick ] || kill -s USR1 "$1"
}
