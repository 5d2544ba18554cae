# Programs of the box, each with a time limit. Nothing is started to keep the limit: a lane holds its fd 7 open while
# it waits for a command, the main loop looks for that fd and ends what it has seen for too long (lanes.sh).
# Only where /proc does not show file descriptors, `timeout` is put before each command.
#
# Given: missing_file, unreadable_file (exit codes of `content`).

# Run a program, its output into $out, its exit code into $code: capture SECONDS COMMAND...
# It replaces the subshell, so that it is the lane's own child.
capture() {
    limit=$1
    shift
    exec 7<&0
    out=$(exec ${within:+$within "$limit"} "$@" 2>&"$errors" 3<&- 4<&- 7<&-)
    code=$?
    exec 7<&-
    [ "$code" -lt 256 ] || code=$((code - 128)) # ksh adds 256 to the number of a signal
}

# The same as a section; its output stays in $out: ask SECTION SECONDS COMMAND...
ask() {
    section=$1
    shift
    capture "$@"
    kept=$out
    show "$section" "$code"
    out=$kept
}

# The beginning of a regular file: content SECTION BYTES FILE
content() {
    if [ -f "$3" ] && [ -r "$3" ]; then
        ask "$1" 4 head -c "$(($2 + 1))" -- "$3"
    elif [ -e "$3" ]; then
        out=
        show "$1" "$unreadable_file"
    else
        out=
        show "$1" "$missing_file"
    fi
}

now() { tell date "$(date '+%s %z')"; }

surroundings() {
    LC_ALL=C
    PATH=$PATH:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/nvidia/bin:/usr/lib/wsl/lib
    export LC_ALL PATH
    n=0 errors=1 within= awk= shows_fds=
    if exec 7<&0 && [ -e "/proc/$$/fd/7" ]; then shows_fds=1
    elif timeout -k 1 5 true; then within='timeout -k 1'
    elif timeout 5 true; then within=timeout
    elif timeout -t 5 true; then within='timeout -t'
    fi
    exec 7<&-
    ! awk 'BEGIN { fflush() }' </dev/null || awk=awk
}
