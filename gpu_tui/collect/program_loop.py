"""nvidia-smi in its own loop, as a bash reads it. Why, and what may go wrong with one: `probe_gpu`."""

from __future__ import annotations

from gpu_tui.collect.probe_gpu import LOOP_LATE, LOOP_ROUNDS, looped
from gpu_tui.core.idle import HELD_BYTES
from gpu_tui.parse.nvidia_smi import MIB

LOOP_FOR_BASH = r"""
loops=1 left=0
# Who ignores a broken pipe hands that on: a loop would outlive us.
[[ -z $(trap -p PIPE) ]] || loops=
# The rows in $out are a call's: so has each of a loop to begin, and as many of its fields to tell nothing.
# There is nothing to expect where a card is not in use: a loop would keep it open.
expect_rows() {
    local row rows
    steady=() unknown=()
    ((${#out} < 65536)) || return
    IFS=$newline
    set -f
    rows=($out)
    for row in "${rows[@]}"; do
        look_at "$row"
        steady+=("$begin")
        unknown+=("$untold")
    done
    set +f
    unset IFS
    [[ -z $idle ]] || steady=()
}
look_at() { # ROW: how it begins, its fields that tell nothing, and, more and more, the memory in use
    IFS=,
    cells=($1)
    begin="${cells[0]},${cells[1]}," used=${cells[3]# }
    IFS=[
    cells=($1)
    untold=${#cells[@]} in_use+=" $used"
    [[ $used != *[!0-9]* && ${#used} -lt 10 ]] && ((10#0$used > @IN_USE@)) || idle=1
}
# Say what the loop prints next; of several looks the last. It fails where a call has to tell. next_rows ARGUMENTS...
next_rows() {
    local at row rows first
    if ((left <= 0)); then
        # One that came round too fast does not wait between two looks.
        [[ -z $loop ]] || ((SECONDS - began >= @LOOP_LEAST@)) || loops=
        leave_loop
        [[ -n $loops ]] || return
        left=@LOOP_ROUNDS@ began=$SECONDS
        coproc LOOP { exec nvidia-smi "$@" @LOOP@ </dev/null 2>&1 3<&- 7<&-; }
        loop=$LOOP_PID
    fi
    while :; do
        # A limit is dear to bash, so it stands before the first byte; from then on we wait as for a command.
        IFS= read -r -t @LOOP_PATIENCE@ -N 1 -u "${LOOP[0]}" first && [[ $first != "$newline" ]] || break
        exec 7<&0
        rows=() in_use= idle=
        set -f
        for at in "${!steady[@]}"; do
            IFS= read -r -u "${LOOP[0]}" row || break
            row=$first$row first=
            look_at "$row"
            [[ $begin == "${steady[at]}" && $untold == "${unknown[at]}" ]] || break
            rows+=("$row")
        done
        set +f
        unset IFS
        exec 7<&-
        ((${#rows[@]} == ${#steady[@]})) || break
        ((--left > 0)) && read -t 0 -u "${LOOP[0]}" && continue
        open query
        for row in "${rows[@]}"; do put ">$mark $row"; done
        close 0
        [[ -z $idle ]] || steady=
        return
    done
    loops=
    leave_loop
    return 1
}
leave_loop() {
    [[ -n $loop ]] || return 0
    kill -s KILL "$loop"
    exec 7<&0
    wait "$loop"
    exec 7<&-
    loop= left=0
}
"""


def loop_words(period: float) -> dict[str, str]:
    """What stands between two @ in `LOOP_FOR_BASH`. `period` in seconds from look to look."""
    return {
        "LOOP": looped(period),
        "LOOP_ROUNDS": str(LOOP_ROUNDS),
        "LOOP_PATIENCE": f"{period + LOOP_LATE:.2f}",
        "LOOP_LEAST": str(int(LOOP_ROUNDS * period / 2)),
        "IN_USE": str(HELD_BYTES // MIB),
    }
