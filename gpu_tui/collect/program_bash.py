"""What a bash does instead of what `program_prelude.PRELUDE` says: the same text, without starting programs.

Loaded only by a bash that knows all of it (4.4). Measured, after a second of sleep: a wake-up costs 70
microseconds, a small file read by a builtin 20, a fork 400 and an exec 1,000. So what is asked each
second is few files and few words: bash's operators on prefixes and suffixes are slow, and so is each
call of a function. A calm beat is therefore remembered; so what stands between two `turn`s in the rows
of the lane "box" must say the same each time, but for what `lines` reads.
"""

from __future__ import annotations

FOR_BASH = r"""
declare -gA places
learning= learnt= seldom=()
flush() {
    [ -z "$held" ] || printf '%s' "$held" || exit 0
    held= learning=
}
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
    local place= start=${#held}
    mapfile -t all <"$2" || return 0
    if [[ -n $3 ]]; then
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
    ((${#all[@]})) || return 0
    printf -v line ">$mark $1 %s$newline" "${all[@]}"
    if ((${#line} + start < @PIECE@)); then
        held+=$line
    else
        for line in "${all[@]}"; do put ">$mark $1 $line"; done
    fi
    [[ -z $learning ]] || {
        texts+=("${held:from:start-from}")
        heads+=(">$mark $1 ")
        files+=("$2")
        begins+=("${3:+$3 }")
        only+=("$place")
        from=${#held}
    }
}
rest() {
    read -t "$1" -r -u 3 line
    [[ $? -gt 128 || $clock != read ]] || leave
}
turn() {
    [[ -z $learning ]] || {
        seldom[$1]=1
        ((n % $1)) || learning=
    }
    ((n % $1 == 0))
}
# A beat in which nothing seldom is due is as every other of the kind: of the first one it is remembered
# what it says, and between that which lines of which files. From then on it is done without any call.
beat() {
    local every at due=
    for every in "${!seldom[@]}"; do
        ((n % every)) || due=1
    done
    if [[ -n $due ]]; then
        round_box
    elif [[ -z $learnt ]] || ! again; then
        held= learning=1 from=0 texts=() heads=() files=() begins=() only=()
        round_box
        texts+=("${held:from}")
        texts=("${texts[@]//" begin $n$newline"/ begin $'\1'$newline}")
        texts=("${texts[@]//" end $n$newline"/ end $'\1'$newline}")
        learnt=$learning learning=
    fi
    flush
}
again() { # fails where a line is not where it was
    for at in "${!files[@]}"; do
        if [[ -z ${only[at]} ]]; then
            mapfile -t all <"${files[at]}"
        else
            mapfile -t -s "${only[at]}" -n 1 all <"${files[at]}"
        fi || return
        [[ $all == "${begins[at]}"?* ]] || return
        printf -v line "${heads[at]}%s$newline" "${all[@]}"
        held+=${texts[at]//$'\1'/$n}$line
    done
    held+=${texts[-1]//$'\1'/$n}
    ((${#held} < @PIECE@))
}
now() {
    printf -v line '%(%s %z)T' -1
    tell date "$line"
}
"""
