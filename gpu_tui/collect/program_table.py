"""The process table of a box: when it is worth reading, and how, in plain sh and in bash.

stat: PID (NAME) STATE PPID and start time; for Python programs also the CPU ticks (user, system). Kernel threads
(children of 2) are left out. cmdline: headers without arguments below them are left out. Both are the most expensive
readings, so arguments are read again only if they may have changed, and now and then.
"""

from __future__ import annotations

TABLE = r"""
# Is it time for the process table? At the start, at the latest every $1 beats of its lane, and at the
# next beat once their number is another: then something began or ended. Where that is so all the time
# it is no sign of anything, and less and less is made of it.
worth() {
    latest=$1
    set -- "$proc"/[0-9]*
    number=$#
    [ ! -e "$proc/$pid_gpu/fd/7" ] || number=$((number - 1)) # a program that we started
    waited=$((waited + 1)) whole=$((whole + 1))
    [ "$number" = "$counted" ] || moved=1
    if [ "$n" -ge 3 ] && [ "$waited" -lt "$latest" ]; then
        [ "$number" != "$counted" ] && [ "$waited" -ge "$spell" ] || return 1
    fi
    if [ -z "$moved" ] || [ "$n" -lt 3 ]; then spell=1
    elif [ "$spell" -lt "$latest" ]; then spell=$((spell * 2)); fi
    counted=$number waited=0 moved= early=1
    if [ "$n" -lt 3 ] || [ "$whole" -ge "$latest" ]; then early= whole=0; fi
}

# Who has just begun may still become another program: so its arguments are read twice.
process_table() {
    open stat
    flush
    exec 7<&0
    set -- "$proc"/[0-9]*
    there=" $* "
    # The clock is a process that is always another one.
    kids=
    read -r kids <"$proc/$$/task/$$/children"
    for kid in $kids; do
        case $there in *" $proc/$kid "*) there="${there%%" $proc/$kid "*} ${there#*" $proc/$kid "}" ;; esac
    done
    [ "$there" = "$named" ] || again=0
    named=$there again=$((again + 1))
    if [ -n "$awk" ]; then
        ${within:+$within 4} awk -v m="$mark" '
            function send() { printf "%s", held; fflush(); held = "" }
            BEGIN {
                for (i = 1; i < ARGC; i++) {
                    while ((getline line <ARGV[i]) > 0) {
                        if (line ~ /\) [A-Z] 2 /) continue
                        if (match(line, /\) [A-Za-z] [-0-9 ]+$/)) {
                            split(substr(line, RSTART), at, " ")
                            ticks = line ~ /^[0-9]+ \(p[yt]/ ? " " at[13] " " at[14] : ""
                            line = substr(line, 1, RSTART) " " at[2] " " at[3] " " at[21] ticks
                        }
                        if (length(held) + length(line) > @PIECE@) send()
                        held = held ">" m " " line "\n"
                    }
                    close(ARGV[i])
                }
                send()
            }' "$proc"/[0-9]*/stat 7<&-
    else
        ${within:+$within 4} sed -e '/) [A-Z] 2 /d' \
            -e '/^[0-9]* (p[yt]/s/\() [A-Za-z] [0-9]*\)\( [-0-9]*\)\{9\}\( [0-9]* [0-9]*\)\( [-0-9]*\)\{6\} \([0-9]*\) .*/\1 \5\3/' \
            -e 's/\() [A-Za-z] [0-9]*\)\( [-0-9]*\)\{17\} \([0-9]*\) .*/\1 \3/' \
            "$proc"/[0-9]*/stat 7<&- | marked
    fi
    close 0
    if [ "$again" -gt 2 ]; then
        [ "$again" -lt 5 ] || again=1
        same cmdline
    else
        open cmdline
        flush
        ${within:+$within 4} head -c 2048 /dev/null "$proc"/[0-9]*/cmdline 7<&- | tr '\000' '\037' |
            sed -n -e '/^==> .* <==$/{h;d;}' -e '/./{x;/./{p;s/.*//;};x;p;}' | marked
        close 0
    fi
    exec 7<&-
}
"""

TABLE_FOR_BASH = r"""
declare -gA args threads row_of name_of
# Arguments are read again where a process is another, has another name, and now and then; so long,
# too, who was found to be a thread of the kernel is not looked at. Before its turn, only who is new is;
# at its turn a row is made anew only where its line has another beginning (name, state, parent) or start.
process_table() {
    local at row stat rest rows=() names=() seen=() words pid name state parent a b c d e f g start user system
    if ((++again >= 4 || ${#args[@]} > most + 64)); then args=() threads=() row_of=() name_of=() again=0 named=; fi
    open stat
    for at in "$proc"/[0-9]*; do
        [[ -z ${threads[$at]} ]] || continue
        row=${row_of[$at]}
        if [[ -n $row ]]; then
            [[ -n $early ]] || mapfile -t -n 1 stat <"$at/stat"
            if [[ -n $early || $stat == "${row% *} "*" ${row##* } "* ]]; then
                if [[ -z $early && $row == *" (p"[yt]* ]]; then
                    set -f
                    set -- ${stat##*")"}
                    set +f
                    row+=" ${12} ${13}"
                fi
                rows+=("$row")
                names+=("${name_of[$at]}")
                seen+=("$at")
                continue
            fi
        fi
        start=
        read -r pid name state parent a b c d e f g _ _ user system _ _ _ _ _ _ start _ <"$at/stat"
        # A name may hold blanks, brackets and line ends, in at most 15 bytes: then none of this fits.
        if [[ $name == *')' && -n $start && "$state$parent$a$b$c$d$e$f$g" != *[!-A-Za-z0-9]* ]]; then
            if [[ $parent == 2 ]]; then
                threads[$at]=1
                continue
            fi
            row_of[$at]="$pid $name $state $parent $start"
            name_of[$at]=$pid$name$start
            row=${row_of[$at]}
            [[ $name != "(p"[yt]* ]] || row+=" $user $system"
            rows+=("$row")
            names+=("${name_of[$at]}")
        else
            stat=
            IFS= read -r -d '' stat <"$at/stat"
            rest=${stat##*")"}
            set -f
            set -- $rest
            set +f
            [ -n "${20}" ] && [ "$2" != 2 ] || continue
            out=${stat:0:${#stat}-${#rest}}
            names+=("$out${20}")
            out+=" $1 $2 ${20}"
            text
        fi
        seen+=("$at")
    done
    for ((at = 0; at < ${#rows[@]}; at += 20)); do
        printf -v out ">$mark %s$newline" "${rows[@]:at:20}"
        flush
        held=$out
    done
    close 0
    if [ "${#names[@]}" != 0 ] && [ "${names[*]}" = "$named" ]; then
        same cmdline
        return
    fi
    named=${names[*]} most=$((2 * ${#seen[@]}))
    open cmdline
    for at in "${!seen[@]}"; do
        out=${args[${names[at]}]}
        if [ -z "$out" ]; then
            words=()
            mapfile -t -d '' -n 1000 words <"${seen[at]}/cmdline"
            [ "${#words[@]}" != 0 ] || continue
            IFS=$'\x1f'
            out="${words[*]}"
            IFS=$' \t\n'
            [ "${#out}" -le 2048 ] || out=${out:0:2048}
            if [[ $out == *"$newline"* ]]; then
                put ">$mark ==> ${seen[at]}/cmdline <=="
                text
                continue
            fi
            out=">$mark ==> ${seen[at]}/cmdline <==$newline>$mark $out$newline"
            args[${names[at]}]=$out
        fi
        ((${#out} + ${#held} < @PIECE@)) || flush
        held+=$out
    done
    close 0
}
"""
