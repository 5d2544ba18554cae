# nvidia-smi in its own loop, once a call went well: most of what a call takes is its start (seconds on a host with many
# cards; netdata#14522). A loop has faults that a call has not, each seen in the field:
#
# - It keeps the cards open, so that none can be reset or cut again: so there is one only while all of them are in use
#   anyway.
# - It does not see what a new program would ("Failed to initialize NVML" in a container that lost its devices): the
#   programs on the cards are asked for by a call; where that fails, the loop ends.
# - It may leak (netdata#21061), and some print a good sample and then only "[Unknown Error]": it lives for a minute,
#   and after anything unexpected (another line, another card, fewer numbers, nothing for seconds, its end) calls do
#   the work for as long as the connection lasts.
# - It outlives its parent where SIGPIPE is ignored (netdata#7143): then there is none.
#
# The loop writes into a pipe of its own, of which fd 4 is the other end: when that is closed, whatever still writes ends
# of SIGPIPE. The lane waits in `read` without a limit: it marks each look by another fd (8 or 9), so that the main loop
# sees a look that is late, and ends the loop.
#
# Given: loop_argument, loop_rounds (looks of one loop), loop_least (seconds for these, or it does not wait between two),
# in_use_least (MiB above which a card is in use).

loops=untested left=0 odd=

# May there be one? `loops` is empty where calls have to do the work.
find_loop() {
    loops=
    [ -n "$shows_fds" ] || return 0
    while read -r key mask; do
        case $key$mask in
            SigIgn:*[13579bdf]???) return ;; # SIGPIPE, the 13th signal
            SigIgn:*) break ;;
        esac
    done <"/proc/$$/status"
    loops=1
}

# Open fd 4, the end of a new pipe that no other process reads. Fails where a shell has sockets instead of pipes (ksh).
open_pipe() {
    : | sleep 9 &
    holder=$! opened=
    for try in 1 2 3 4 5 6 7 8 9; do
        [ ! -p "/proc/$holder/fd/0" ] || break
        sleep 0.1 || sleep 1
    done
    if [ -p "/proc/$holder/fd/0" ] && true 4<"/proc/$holder/fd/0"; then
        exec 4<"/proc/$holder/fd/0"
        opened=1
    fi
    kill -s KILL "$holder"
    wait "$holder"
    [ -n "$opened" ] && true 6>/proc/self/fd/4
}

start_loop() {
    open_pipe || return
    exec 6>/proc/self/fd/4
    [ "$clock" != tick ] || trap '' USR1 # it would break a `read`
    nvidia-smi "$gpu_query" "$csv" "$loop_argument" >&6 2>&1 3<&- 4<&- 6>&- 7<&- &
    loop=$!
    exec 6>&-
    trap 'kill -s KILL "$loop"; exit' TERM
    left=$loop_rounds
    read_clock
    began=$up
}

leave_loop() {
    [ -n "$loop" ] || return 0
    kill -s KILL "$loop"
    exec 7<&0
    wait "$loop"
    exec 7<&- 4<&-
    trap - TERM
    [ "$clock" != tick ] || trap due=1 USR1
    loop= left=0
}

read_clock() { # seconds since the machine started
    read -r up rest </proc/uptime
    up=${up%.*}
}

put_rows() {
    if [ $((${#held} + ${#rows})) -lt "$piece" ]; then
        held=$held$rows # up to some 20 cards
        return
    fi
    IFS=$newline
    set -f
    for row in $rows; do put "$row"; done
    set +f
    unset IFS
}

# The next look of the loop as section `query`. Fails where a call is needed instead.
next_look() {
    [ -n "$steady" ] || return
    if [ "$left" -le 0 ]; then
        if [ -n "$loop" ]; then
            read_clock
            [ $((up - began)) -ge "$loop_least" ] || loops=
            leave_loop
        elif [ "$loops" = untested ]; then
            find_loop
        fi
        [ -n "$loops" ] && start_loop || { loops= steady=; return 1; }
    fi
    rows= expected=$steady in_use= idle=
    if [ -z "$odd" ]; then
        odd=1
        exec 8</dev/null
    else
        odd=
        exec 9</dev/null
    fi
    set -f
    IFS=,
    while [ -n "$expected" ] && read -r index uuid share used rest; do
        weigh
        case $expected in
            "$kind$newline"*) expected=${expected#"$kind$newline"} ;;
            *) break ;;
        esac
        rows="$rows>$mark $index,$uuid,$share,$used,$rest$newline"
        IFS=,
    done <&4
    set +f
    unset IFS
    if [ -n "$odd" ]; then exec 8<&-; else exec 9<&-; fi
    if [ -n "$expected" ]; then
        loops= steady=
        leave_loop
        return 1
    fi
    left=$((left - 1))
    open query
    put_rows
    close 0
    [ -z "$idle" ] || steady=
}
