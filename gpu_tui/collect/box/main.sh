# The main loop: reads what cannot hang, and looks after the lanes. It runs while this text is read from stdin,
# which it then owns: the line that calls it must be the last.
#
# Given: seldom (beats between two looks whether lanes live, where they have a clock of their own).

main() {
    exec 3<&0 </dev/null 2>/dev/null
    renice -n 10 -p $$ >/dev/null
    find_clock
    start_lanes
    trap led=tick USR1
    if [ "$clock" != read ]; then guard & fi
    [ "$lifeline" = 3 ] || put "@$nonce 0 beat"
    while :; do
        flush
        rest "$pause"
        [ -n "$within" ] || mind_lanes
        if [ "$clock" = tick ] || turn "$seldom"; then rouse_lanes; fi
        beat
        n=$((n + 1))
    done
}
