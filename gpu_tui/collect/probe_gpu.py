"""The row of the cards: what nvidia-smi says of them, and of the programs on them.

Under python the same is done by `on_box.cards`. There and under bash, nvidia-smi goes on in its own loop
once a call went well: most of what it takes is its start (a host with many cards: seconds; netdata#14522).
A loop has faults that a call has not, each seen in the field:

- It keeps the cards open, so that none can be reset or cut anew: so only while all of them are in use anyway.
- It does not see what a new program would ("Failed to initialize NVML" in a container that lost its devices):
  the programs on the cards are asked for by a call; where that fails, so does the loop.
- It may leak (netdata#21061), and some print a good sample and then only "[Unknown Error]": it lives for
  a minute, and after anything unexpected (another line, another card, fewer numbers, nothing for
  seconds, its end) calls do the work for as long as the connection lasts.
- It outlives who started it where SIGPIPE is ignored (netdata#7143): then there is none.
"""

from __future__ import annotations

from gpu_tui.collect.probe import NOTHING, Probe, Sections, Target
from gpu_tui.collect.shell import terse
from gpu_tui.core import metrics
from gpu_tui.parse import nvidia_smi
from gpu_tui.parse.devices import LIST_DEVICES

GPU_LIMIT = 6.0
HANGS, KILLED = 124, 137  # exit codes: from here on it was ended
APPS_AGAIN = 15  # rounds after which the programs on the cards are asked for in any case
MIG_ROUNDS = 30  # rounds after which it is asked anew how cards are cut
DEVICES_ROUNDS = 15  # rounds after which the device files are listed again
LOOP_ROUNDS = 30  # rounds of one loop
LOOP_LATE = 3  # seconds after its time at which a look is missed
# Who takes a card or leaves it changes the memory in use there. While that is as it was when the programs
# were asked for, they are the same: nvidia-smi is by far the dearest program that is started here.
_GPUS = f"""{LIST_DEVICES}
    # One that a dead driver holds outlives all who asked, also us: of these there must not be ever more.
    stuck() {{
        for at in "$proc"/[0-9]*; do
            stat=
            read -r stat <"$at/stat"
            case $stat in *" (nvidia-smi) D 1 "*)
                [ "${{1:-$at}}" != "$at" ] || {{ hung=$at; return 0; }} ;;
            esac
        done
        return 1
    }}
    # What a call tells of each card: the memory in use; and how it is cut.
    weigh_cards() {{
        in_use= idle=
        [ -z "$loops" ] || expect_rows
        if [ -z "$in_use" ] && [ "${{#out}}" -lt 65536 ]; then
            IFS=$newline
            set -f
            set -- $out
            set +f
            unset IFS
            for card; do
                card=${{card#*, *, *, }} # index, uuid, share
                in_use="$in_use ${{card%%,*}}"
            done
        fi
        # A card that gives no share may be in MIG mode: then ask, now and again, how it is cut.
        case $out in
            *", GPU-"????????-????-????-????-????????????", [N/A], "*)
                if [ -z "$mig" ] || [ $((n % {MIG_ROUNDS})) = 0 ]; then
                    grab {GPU_LIMIT:.0f} nvidia-smi {nvidia_smi.MIG_QUERY} {nvidia_smi.FORMAT}
                    mig=$out
                    grab {GPU_LIMIT:.0f} nvidia-smi -L
                    mig=$mig$newline$out
                fi ;;
            *) mig= ;;
        esac
    }}
    [ "$n" -gt 0 ] || told=- rounds=0 doubt=1
    if turn {DEVICES_ROUNDS}; then
        out=$(list_devices 3<&- 7<&-)
        show devices 0
    else
        same devices
    fi
    if [ -n "$steady" ] && next_rows {nvidia_smi.GPU_QUERY} {nvidia_smi.FORMAT}; then code=0
    else
        if [ -n "$doubt" ] && stuck && sleep 1 && stuck "$hung"; then
            out= code={KILLED}
            show query "$code"
        else
            ask query {GPU_LIMIT:.0f} nvidia-smi {nvidia_smi.GPU_QUERY} {nvidia_smi.FORMAT}
        fi
        doubt=
        [ "$code" -lt {HANGS} ] || doubt=1
        asked=$code
        case $code in 0 | 14 | 15) weigh_cards ;; esac
        code=$asked
        [ "$code" = 0 ] && [ -n "$loops" ] && [ -z "$mig" ] || steady=
    fi
    case $code in 0 | 14 | 15)
        rounds=$((rounds + 1))
        if [ "$in_use" = "$told" ] && [ "$rounds" -lt {APPS_AGAIN} ]; then
            same apps
        else
            ask apps {GPU_LIMIT:.0f} nvidia-smi {nvidia_smi.APPS_QUERY} {nvidia_smi.FORMAT}
            told=$in_use rounds=0
            case $code in 0 | 14) ;; *) told=- ;; esac
        fi
        out=$mig
        [ -z "$mig" ] || show mig 0 ;;
    *) told=- ;;
    esac
    [ "$told" != - ] || steady=
    [ -n "$steady" ] || [ -z "$loop" ] || leave_loop
"""


def looped(period: float) -> str:
    """The argument that makes nvidia-smi go on. `period` in seconds."""
    return f"--loop-ms={round(period * 1000)}"


def _gpus(_: Target, sections: Sections) -> object:
    query, apps = sections.get("query", NOTHING), sections.get("apps", NOTHING)
    listing, devices = (sections.get(name, NOTHING).body for name in ("mig", "devices"))
    return nvidia_smi.parse_gpus(query.body, query.exit, apps.body, apps.exit, listing, devices)


GPU: tuple[Probe, ...] = (
    Probe(metrics.GPUS.name, "gpu", 2.0, GPU_LIMIT, lambda _: terse(_GPUS), _gpus),
)
