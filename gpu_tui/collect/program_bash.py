"""What a bash does instead of what `program.PRELUDE` says: the same text, without starting programs.

Loaded only by a bash that knows all of it (4.4). Measured, after a second of sleep: a wake-up costs 70
microseconds, a small file read by a builtin 20, a fork 400 and an exec 1,000. So what is asked each
second is few files and few words: bash's operators on prefixes and suffixes are slow, and so is each
call of a function.
"""

from __future__ import annotations

FOR_BASH = r"""
declare -gA places args
named= again=0
put() {
    ((${#1} + ${#held} < @PIECE@)) || {
        [ "${#1}" -le @PIECE@ ] || set -- "@@NONCE@ $mark cut"
        flush
    }
    held+=$1$newline
}
say() {
    held+="@@NONCE@ $mark $*$newline"
    ((${#held} < @PIECE@)) || flush
}
open() { held+="@@NONCE@ $mark open $1$newline"; } # what follows looks whether it is enough
begin() {
    mark=$1
    held+="$newline@@NONCE@ $1 begin $n$newline"
}
lines() { # a line is looked for where it stood the last time
    mapfile -t all <"$2" && ((${#all[@]})) || return 0
    if [ -n "$3" ]; then
        place=${places[$2 $3]:-0}
        if [[ ${all[place]} != "$3 "* ]]; then
            for place in "${!all[@]}"; do
                [[ ${all[place]} != "$3 "* ]] || break
            done
            [[ ${all[place]} == "$3 "* ]] || return 0
            places[$2 $3]=$place
        fi
        all=("${all[place]}")
    fi
    printf -v line ">$mark $1 %s$newline" "${all[@]}"
    if ((${#line} + ${#held} < @PIECE@)); then
        held+=$line
    else
        for line in "${all[@]}"; do put ">$mark $1 $line"; done
    fi
}
now() {
    printf -v line '%(%s %z)T' -1
    tell date "$line"
}
# Arguments are read again where a process is another, has another name, and now and then.
process_table() {
    local at stat rest rows=() names=() seen=() words pid name state parent a b c d e f g start
    open stat
    for at in "$proc"/[0-9]*; do
        start=
        read -r pid name state parent a b c d e f g _ _ _ _ _ _ _ _ _ _ start _ <"$at/stat"
        # A name may hold blanks, brackets and line ends, in at most 15 bytes: then none of this fits.
        if [[ $name == *')' && -n $start && "$state$parent$a$b$c$d$e$f$g" != *[!-A-Za-z0-9]* ]]; then
            [ "$parent" != 2 ] || continue
            rows+=("$pid $name $state $parent $start")
            names+=("$pid$name$start")
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
    ((++again < 4 && ${#args[@]} <= 2 * ${#seen[@]} + 64)) || { args=() again=0 named=; }
    if [ "${names[*]}" = "$named" ]; then
        same cmdline
        return
    fi
    named=${names[*]}
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
