"""What the rows of the catalogue call: the sh functions that frame, read files and start programs."""

from __future__ import annotations

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
say() { # few bytes: there is room for them behind every piece
    held="$held@@NONCE@ $mark $*$newline"
    [ "${#held}" -lt @PIECE@ ] || flush
}
begin() {
    mark=$1
    held="$held$newline@@NONCE@ $1 begin $n$newline"
}
open() { held="$held@@NONCE@ $mark open $1$newline"; }
close() { say close "$1"; }
step() { say step; flush; } # another command begins that may hang: the client's timeout starts again
same() { say same "$1"; } # a section is as in this probe's last frame

beat() { # of the main loop
    round_box
    flush
}

# Is it this probe's turn? turn BEATS, counted in the beats of its lane.
turn() { [ $((n % $1)) = 0 ]; }

# A small kernel file: lines KEY FILE [NAME]; with NAME only the line called so.
lines() {
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

# The end of a pipe that sends its lines, as many as go into one write.
marked() {
    [ -z "$awk" ] || exec awk -v m="$mark" '
        function send() { if (held != "") { printf "%s", held; fflush(); held = "" } }
        (sum += length($0)) > @MOST@ { send(); print "@@NONCE@ " m " cut"; exit }
        {
            while (length($0) > @PIECE@) {
                send()
                held = "+" m " " substr($0, 1, @PIECE@) "\n"
                $0 = substr($0, @PIECE@ + 1)
            }
            if (length(held) + length($0) > @PIECE@) send()
            held = held ">" m " " $0 "\n"
        }
        END { send() }'
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

# The mount table: path, kind, rw or ro. A mount that the kernel turned read-only has a second line, with a !
# in front.
mount_table() {
    open table
    [ ! -r "$proc/mounts" ] || while read -r device directory kind flags rest; do
        device=-
        case ,$flags, in
            *,emergency_ro,* | *,shutdown,*) device=! flags=ro ;;
            *,ro,*) flags=ro ;;
            *) flags=rw ;;
        esac
        [ "${#directory}" -gt 3000 ] || put ">$mark $device $directory $kind $flags"
    done <"$proc/mounts"
    [ ! -r "$proc/self/mountinfo" ] || while read -r number above device root directory flags rest; do
        rest=${rest#*- }
        case ${rest%% *}:,$flags,:${rest##* } in
            *,ro,*) ;;
            ext[234]:*:ro* | btrfs:*:ro* | xfs:*:ro* | f2fs:*:ro* | *fat:*:ro*)
                put ">$mark ! $directory ${rest%% *} ro" ;;
        esac
    done <"$proc/self/mountinfo"
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

# Put the cgroups that limit memory, from ours outwards, into $levels; without any, the root as it is mounted.
# Fails if memory is not counted there.
nested() { # ROOT OWN USED LIMIT...
    top=$1 above=$2 used=$3 levels= count=0
    shift 3
    while [ "$count" -lt @LEVELS@ ]; do
        if [ -r "$top$above/$used" ]; then
            for file; do
                limit=
                { read -r limit <"$top$above/$file"; } 2>/dev/null
                case $limit in '' | max* | -* | 92233720368547*) continue ;; esac
                levels=$levels${levels:+$newline}$top$above
                count=$((count + 1))
                break
            done
        fi
        [ -n "$above" ] || break
        above=${above%/*}
    done
    [ -n "$levels" ] || levels=$top
    [ -r "${levels%%"$newline"*}/$used" ]
}

first() { for at in "$@"; do [ ! -d "$at" ] || break; done; printf '%s' "$at"; }

now() { tell date "$(date '+%s %z')"; }

surroundings() {
    LC_ALL=C
    PATH=$PATH:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/nvidia/bin:/usr/lib/wsl/lib
    export LC_ALL PATH
    n=0 mark=0 errors=1 mig= within= awk= pause=@PAUSE@ led= lifeline=3 known= waited=0 whole=0 early= spell=1 counted= moved= named= again=0
    clock=sleep
    if exec 7<&0 && [ -e "/proc/$$/fd/7" ]; then clock=tick
    elif timeout -k 1 5 true; then within='timeout -k 1'
    elif timeout 5 true; then within=timeout
    elif timeout -t 5 true; then within='timeout -t'
    fi
    exec 7<&-
    ! awk 'BEGIN { fflush() }' </dev/null || awk=awk
}

# A status over 128 is a timeout (bash, ksh); busybox gives 1, also at the end of the input. A bash
# below 4 knows no parts of a second, and gives 1 for that too.
find_clock() {
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
    case $clock in
        sleep | tick)
            sleep 0.01 || pause=${pause%.*}
            [ "$pause" != 0 ] && [ -n "$pause" ] || pause=1 ;;
    esac
    [ "$clock" != tick ] || find_lifeline
}

# To take beats from the client's stdin, lanes must live by something else: a pipe that nobody writes
# into, and that ends with us. Only who leads its process group can end all of it. An old bash would
# keep these lines in a file.
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

bearings() {
    hostname=$(hostname || uname -n)
    cpu2=$(bound "$cgroup" "$(own 2)" cpu.max)
    cpu1=$(bound "$(first "$cgroup/cpu,cpuacct" "$cgroup/cpu")" "$(own cpu)" cpu.cfs_quota_us)
    acct1=$(first "$cgroup/cpu,cpuacct" "$cgroup/cpuacct")
    [ ! -r "$acct1$(own cpuacct)/cpuacct.usage" ] || acct1=$acct1$(own cpuacct)
    memory=host cpu=v1
    if nested "$cgroup" "$(own 2)" memory.current memory.max memory.high; then memory=v2
    elif nested "$cgroup/memory" "$(own memory)" memory.usage_in_bytes memory.limit_in_bytes; then memory=v1
    fi
    [ ! -r "$cpu2/cpu.stat" ] || cpu=v2
    machine= stat=
    read -r stat <"$proc/1/stat"
    set -- ${stat##*") "}
    [ -z "${20}" ] || machine="${20} $(readlink "$proc/self/ns/pid")"
}

setup() {
    surroundings
    renice -n 10 -p $$ >/dev/null
    find_clock
    bearings
}
"""
