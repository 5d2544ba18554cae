# How a shell waits, and how everything ends when the client leaves.
#
# `clock` is one of
#     read     `read -t` tells a timeout from the end of the input (bash, ksh)
#     poll     `read -t` gives 1 for both (busybox)
#     tick     no `read -t` (dash): the main loop waits with `sleep`, or for a line of the client where it sends one
#              for each beat, and wakes the lanes by a signal
#     sleep    as tick, where /proc does not show file descriptors: every lane sleeps for itself
#
# The client's stdin, fd 3, is our lifeline: at its end, however the client left, everything here ends. A shell that
# cannot see that end while it waits has a guard, a process that reads fd 3.
#
# Given: tick (seconds between two beats), quiet (seconds between two signs of life of the guard).

find_clock() {
    clock=sleep pause=$tick led= lifeline=3
    [ -z "$shows_fds" ] || clock=tick
    case $BASH_VERSION in
        [0-3].*) ;; # knows no parts of a second, and gives 1 for that too
        *)
            read -t 0.01 -r line <&3
            case $? in
                0 | 1) clock=poll ;;
                2 | 126 | 127) ;;
                *) clock=read ;;
            esac ;;
    esac
    case $clock in
        sleep | tick)
            sleep 0.01 || pause=${pause%.*}
            [ "$pause" != 0 ] && [ -n "$pause" ] || pause=1 ;;
    esac
    [ "$clock" != tick ] || find_lifeline
}

# Where the client's lines are its beats, lanes need another end of life: a pipe that no process writes into, and
# that ends with us. Only the leader of a process group can end all of it. An old bash would keep these lines in a file.
find_lifeline() {
    [ -z "$BASH_VERSION" ] && read -r stat <"/proc/$$/stat" || return
    set -- ${stat##*") "}
    [ "$3" = "$$" ] || return
    exec 5<<.
.
    if [ -p "/proc/$$/fd/5" ] && ( : 6>"/proc/$$/fd/5" ); then
        exec 6>"/proc/$$/fd/5"
        lifeline=5
    fi
}

# Wait: rest SECONDS
rest() {
    case $clock in
        read)
            read -t "$1" -r line <&3
            [ $? -gt 128 ] || leave ;;
        poll) read -t "$1" -r line <&3 ;;
        "$led") read -r line <&3 || leave ;;
        *) sleep "$1" >/dev/null || exit 1 ;;
    esac
}

# The client's first line, if any, means that it gives the beat; from then on the main loop reads its lines.
# A dead link is noticed only by a process that writes.
guard() {
    exec 6>&-
    if [ "$lifeline" = 3 ] || ! read -r line <&3; then
        lifeline=3
    else
        kill -s USR1 "$$"
        while sleep "$quiet" >/dev/null; do echo; done &
    fi
    exec >/dev/null
    cat <&"$lifeline"
    leave
}

# Under sshd we lead our process group. Elsewhere the lanes are ended one by one.
leave() {
    kill -s KILL -- "-$$" || { kill -s TERM $lane_pids; kill -s KILL "$$"; }
    exit 1
}
