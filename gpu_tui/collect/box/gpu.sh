# The cards and the programs on them, from nvidia-smi: by far the most expensive program that is started here.
#
# Sections: `devices`; `query`, a row for each card; `apps`, a row for each program on a card; `mig`, how cards are
# cut, only where one may be in MIG mode. A program that takes a card or leaves it changes the memory in use there.
# While that is as it was when the programs were asked for, they are the same.
#
# Given: gpu_query, apps_query, mig_query, csv (arguments of nvidia-smi), gpu_limit (seconds of a call), hangs (the
# lowest exit code of a killed command), killed; apps_rounds, mig_rounds, devices_rounds (from one question to the next).

mig= asked_for=- rounds=0 doubt=1 stuck= in_use= steady=

ask_gpus() {
    if turn "$devices_rounds"; then
        out=$(list_devices 3<&- 4<&- 7<&-)
        show devices 0
    else
        same devices
    fi
    if next_look; then
        code=0
    else
        call_for_cards
    fi
    case $code in
        0 | 14 | 15) # 14: an infoROM is corrupted; 15: a card is lost. The rows are good.
            ask_apps
            out=$mig
            [ -z "$mig" ] || show mig 0 ;;
        *) asked_for=- ;;
    esac
    # A loop goes on as if nothing were where a new program finds no driver.
    [ "$asked_for" != - ] || steady=
    [ -n "$steady" ] || leave_loop
}

call_for_cards() {
    if [ -n "$doubt" ] && driver_holds_one; then
        out= code=$killed
        show query "$code"
    else
        ask query "$gpu_limit" nvidia-smi "$gpu_query" "$csv"
    fi
    doubt= called=$code
    [ "$code" -lt "$hangs" ] || doubt=1
    case $code in
        0 | 14 | 15)
            weigh_cards
            ask_mig ;;
    esac
    code=$called
    [ "$code" = 0 ] && [ -z "$mig" ] || steady=
}

# A program that a dead driver holds outlives every process that asked, also us: of these there must not be ever more.
# Its pid stays in $stuck.
driver_holds_one() {
    ! is_stuck || return 0
    stuck=$(cat "$proc"/[0-9]*/stat | sed -n '/ (nvidia-smi) D 1 /{s/ .*//p;q;}')
    [ -n "$stuck" ] && sleep 1 && is_stuck
}

is_stuck() {
    stat=
    read -r stat <"$proc/$stuck/stat"
    case $stat in *" (nvidia-smi) D 1 "*) ;; *) return 1 ;; esac
}

ask_apps() {
    rounds=$((rounds + 1))
    if [ "$in_use" = "$asked_for" ] && [ "$rounds" -lt "$apps_rounds" ]; then
        same apps
        return
    fi
    ask apps "$gpu_limit" nvidia-smi "$apps_query" "$csv"
    asked_for=$in_use rounds=0
    case $code in 0 | 14) ;; *) asked_for=- ;; esac
}

# A card that gives no share of its time may be in MIG mode.
ask_mig() {
    case $out in
        *", GPU-"????????-????-????-????-????????????", [N/A], "*) ;;
        *)
            mig=
            return ;;
    esac
    [ -z "$mig" ] || turn "$mig_rounds" || return
    capture "$gpu_limit" nvidia-smi "$mig_query" "$csv"
    mig=$out
    capture "$gpu_limit" nvidia-smi -L
    mig=$mig$newline$out
}

# Of the rows in $out: the memory in use on each card, into $in_use, and into $steady the $kind of each row.
# $steady is empty where a card is not in use.
weigh_cards() {
    in_use= steady= idle=
    [ "${#out}" -lt 65536 ] || return 0
    IFS=$newline
    set -f
    for row in $out; do
        IFS=,
        set -- $row
        index=$1 uuid=$2 share=$3 used=$4 rest=${row#*,*,*,*,}
        weigh
        steady=$steady$kind$newline
    done
    set +f
    unset IFS
    [ -z "$idle" ] || steady=
}

# A row, in fields. Its $kind is how it begins, and how many of its fields hold no number. Changes IFS.
weigh() {
    kind=$index,$uuid in_use="$in_use $used"
    case $used in
        ' ' | *[!\ 0-9]* | ???????????* | '') idle=1 ;;
        *) [ "$used" -gt "$in_use_least" ] || idle=1 ;;
    esac
    case $share$rest in
        *'['*)
            IFS=[
            set -- $share,$rest
            kind=${kind}[$# ;;
    esac
}
