# The process table: when to read it, and how.
#
# Section `stat`: PID (NAME) STATE PPID START, and for Python programs the CPU ticks (user, system), from /proc/PID/stat;
# without kernel threads (children of 2). Section `cmdline`: a line `==> FILE <==` and the arguments, where there are any.
# Both are the most expensive readings, so arguments are read again only if they may have changed, and now and then.

pid_gpu= # of the lane of the cards, if there is one
waited=0 since_whole=0 spell=1 counted= moved= listed= alike=0

ask_processes() {
    open uptime
    value uptime "$proc/uptime"
    close 0
    process_table
}

# Is it time? At the start, at the latest every $1 beats of the lane, and at the next beat once the number of processes
# is another: then something began or ended. Where that is so all the time it means nothing, and the spell between two
# early readings doubles.
worth() {
    latest=$1
    set -- "$proc"/[0-9]*
    number=$#
    [ ! -e "$proc/$pid_gpu/fd/7" ] || number=$((number - 1)) # a program that we started
    waited=$((waited + 1)) since_whole=$((since_whole + 1))
    [ "$number" = "$counted" ] || moved=1
    if [ "$n" -ge 3 ] && [ "$waited" -lt "$latest" ]; then
        [ "$number" != "$counted" ] && [ "$waited" -ge "$spell" ] || return 1
    fi
    if [ -z "$moved" ] || [ "$n" -lt 3 ]; then spell=1
    elif [ "$spell" -lt "$latest" ]; then spell=$((spell * 2)); fi
    counted=$number waited=0 moved=
    if [ "$n" -lt 3 ] || [ "$since_whole" -ge "$latest" ]; then since_whole=0; fi
}

# The end of a pipe: what is kept of each line of /proc/PID/stat.
stat_rows() {
    [ -z "$awk" ] || exec awk -v m="$mark" -v piece="$piece" '
        function send() { printf "%s", held; fflush(); held = "" }
        /\) [A-Z] 2 / { next }
        {
            if (match($0, /\) [A-Za-z] [-0-9 ]+$/)) {
                split(substr($0, RSTART), at, " ")
                ticks = $0 ~ /^[0-9]+ \(p[yt]/ ? " " at[13] " " at[14] : ""
                $0 = substr($0, 1, RSTART) " " at[2] " " at[3] " " at[21] ticks
            }
            if (length(held) + length($0) > piece) send()
            held = held ">" m " " $0 "\n"
        }
        END { send() }'
    sed -e '/) [A-Z] 2 /d' \
        -e '/^[0-9]* (p[yt]/s/\() [A-Za-z] [0-9]*\)\( [-0-9]*\)\{9\}\( [0-9]* [0-9]*\)\( [-0-9]*\)\{6\} \([0-9]*\) .*/\1 \5\3/' \
        -e 's/\() [A-Za-z] [0-9]*\)\( [-0-9]*\)\{17\} \([0-9]*\) .*/\1 \3/' | (marked)
}

process_table() {
    open stat
    flush
    exec 7<&0
    set -- "$proc"/[0-9]*
    there=" $* "
    # Our own clock may be a process, which is always another one.
    kids=
    case $clock in sleep | tick) read -r kids <"$proc/$$/task/$$/children" ;; esac
    for kid in $kids; do
        case $there in *" $proc/$kid "*) there="${there%%" $proc/$kid "*} ${there#*" $proc/$kid "}" ;; esac
    done
    # A process that has just begun may still become another program: so its arguments are read twice.
    [ "$there" = "$listed" ] || alike=0
    listed=$there alike=$((alike + 1))
    # `cat` goes on after a process that ends while it is read; mawk and GNU sed would end there.
    ${within:+$within 4} cat "$proc"/[0-9]*/stat 4<&- 7<&- | (stat_rows 4<&- 7<&-)
    close 0
    if [ "$alike" -gt 2 ]; then
        [ "$alike" -lt 5 ] || alike=1
        same cmdline
    else
        open cmdline
        flush
        ${within:+$within 4} head -c 2048 /dev/null "$proc"/[0-9]*/cmdline 4<&- 7<&- | tr '\000' '\037' |
            sed -n -e '/^==> .* <==$/{h;d;}' -e '/./{x;/./{p;s/.*//;};x;p;}' | (marked)
        close 0
    fi
    exec 7<&-
}
