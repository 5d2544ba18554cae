"""The sh program that reads one log on the box: which file, from where, and when to let go of it.

It reads one identity of the file per run and says on stdout, between the bytes, in marks:

    missing | denied | odd          there is nothing to read now (live: the file has lost its name)
    gone                            the file that we knew is not to be found any more
    past ID...                      rotated files that are older than the one opened next
    trial                           bytes that follow are to be held until the file is open
    open HOW INODE BORN CHANGED FROM SIZE    these are its bytes, from byte FROM on
    left SIZE                       the path is another file; ours has this size, and stood still for a moment
    done                            all of a file was read that nobody writes any more
    cut POSITION                    it was cut short; POSITION bytes of the new text were sent already
    doubt POSITION                  it may be another text, written anew before tail looked; of one that
                                    grew beyond POSITION so much was not read, else it is 0
    beat                            nothing; a dead link is noticed by who writes

HOW is `new` and `resumed` for the file at the path (where a mount makes numbers up, `resumed` may be
another file: its text tells), `rest` for one that we knew and that was renamed,
`whole` for one that came and was renamed while we were away, `trimmed` for what may be ours without
its end, which begins with the TRAIL bytes that were read last, and `copy` for what may be a copy of the
one that we knew, made before it was cut (copytruncate). All but `new` and `whole` begin with the
OVERLAP bytes that were read last.

Under bash and busybox the program starts no process while it waits: `read -t` on stdin is its clock.
Under bash GNU tail, too, speaks in marks: it is called by the sign, writes out what it has before it says that the
file was truncated, and so says it exactly where it happened. Elsewhere (busybox) the size is looked
at every few seconds. That a text was written anew, so fast that nobody saw it shorter, tells the text
before a place that was read; where it is no longer than before, its time of change, and while that is old
looking costs nothing more. What of it was read the client finds by what it has.
"""

from __future__ import annotations

import shlex

from gpu_tui.collect.follow_missed import MISSED
from gpu_tui.collect.shell import terse

MOST = 67_108_864  # bytes that are read at most of what came while we were away
OVERLAP = 256  # bytes read again at a resume, to see that it is still the same text
LOOK = 2  # seconds between looks whether the path is still our file
SELDOM = 8  # the same where each look, or each wait too, is a process
CHECK = 8  # looks, while a file grows, until one whether it is still the same text
SURE = 10  # looks, half a second each, at a renamed file that does not grow, until tail must have read all of it
MARK = 500  # files that are named in one mark
SILENT = 30  # seconds without a sign of life from a client that has given one before

# stdin is the lifeline: at its end (the client left, however) the whole process group goes. A client
# that once sent a sign of life and then none for a while is gone as well: its link may be dead for
# hours before the box notices.
#
# `tail -f` must be given a path, or it polls; between our look at the file and its own it may have
# been rotated. So its output is on trial (or waits in a pipe) until the file that it holds open, its
# fd 3, is known.
PROGRAM = r"""
say() { printf '%s %s\n' "$sign" "$*" || leave; }
leave() { kill -s KILL -- "-$$" || kill -s KILL $tail "$$"; exit 1; }

tick() { # wait $1 seconds; $2 where looking is a process
    case $clock in
        read)
            read -r -t "$1" sign_of_life <&3
            case $? in
                0) heard=$SECONDS ;;
                1) leave ;;
                *) [ -z "$heard" ] || [ $((SECONDS - heard)) -lt @SILENT@ ] || leave ;;
            esac ;;
        poll) read -r -t "$2" sign_of_life <&3 ;;
        *) sleep "$2" >/dev/null || sleep 1 >/dev/null || exit 1 ;;
    esac
}

look() { # at the file that fd 4 holds
    set -- $(stat -L -c '%i %W %Y %s %y' /proc/self/fd/4)
    inode=$1 born=$2 changed=$3 size=$4 moment=$5-$6
    [ -n "$size" ]
}

position() { # how far tail has read
    while read -r key reached; do
        [ "$key" != pos: ] || return 0
    done <"/proc/$tail/fdinfo/3"
    reached=
}

text_before() { od -v -An -tx1 -j "$(($1 > @OVERLAP@ ? $1 - @OVERLAP@ : 0))" -N @OVERLAP@ /proc/self/fd/4; }

let_go() { # of tail, which was stopped
    kill "$tail"
    kill -s CONT "$tail"
    wait "$copy"
    say "$@"
    exit
}

see_rewritten() { # another text where there was one before
    position
    [ -n "$reached" ] && [ "$reached" != "$spot" ] || return
    now=$(text_before "$spot")
    [ "${#now}" -ge "${#text}" ] || return # shorter: tail will say so
    case $now in
        "$text"*) spot=$reached text=$(text_before "$reached") ;;
        *)
            kill -s STOP "$tail"
            let_go doubt "$spot" ;;
    esac
}

see_same() { # written to since we looked, and tail has got nothing: is it still the same text?
    after=$((n + @CHECK@))
    # Who has not read all of it yet may only be slow.
    [ -n "$reached" ] && look && [ "$size" = "$reached" ] || return
    [ "$size" != "$spot" ] || [ "$(text_before "$spot")" != "$text" ] || return
    kill -s STOP "$tail"
    position
    [ "$reached" != "$size" ] || let_go doubt 0
    kill -s CONT "$tail"
}

fresh() { # fd 7 is as new as this moment: a pipe, which is no file; older ones make it by a process
    case $BASH_VERSION in
        4.* | 5.0*)
            after=$((n + @CHECK@))
            eval 'exec 7< <(:)' ;;
        *) eval 'exec 7<<<.' ;;
    esac
}

see_written() { # to our file, by who cut it and wrote it anew before tail looked
    [ "$n" -ge "$after" ] || return
    [ /proc/self/fd/7 -nt "$path" ] && return
    fresh
    position
    [ "$reached" != "$mark" ] || see_same
    mark=$reached
}

see_cut() { # smaller than it was, or another text of the same size
    written=$moment
    look || return
    if [ "$size" -lt "$seen" ]; then
        kill -s STOP "$tail"
        position
        [ "${reached:-0}" -le "$size" ] || reached=0
        let_go cut "${reached:-0}"
    elif [ "$size" = "$seen" ] && [ "$moment" != "$written" ]; then
        position
        see_same
    fi
    seen=$size
}

left_alone() { # the path is another file, and nobody has written to ours for a moment
    away=$((away + 1))
    before=$reached
    position
    look || return
    # Not every kernel tells how far tail is (gVisor does not): then some time has to do.
    [ -n "$reached" ] || { reached=$size; [ "$away" -gt @SURE@ ]; } || return
    if [ "$away" -gt 60 ] && [ -s "$path" ]; then
        say divided
        return
    fi
    [ "$reached" = "$size" ] && [ "$reached" = "$before" ] && { [ -s "$path" ] || [ "$away" -gt 10 ]; } &&
        say left "$size"
}

watch() {
    n=0 seen=$size mark=$size after=0 away=0 reached= lost=
    while kill -0 "$tail" && kill -0 "$$"; do
        if [ "$away" = 0 ]; then tick @LOOK@ @SELDOM@; else tick 0.5 1; fi
        n=$((n + 1))
        [ $((n % 15)) != 0 ] || [ -n "$heard" ] || say beat
        if [ "$path" -ef /proc/self/fd/4 ]; then
            away=0 lost=
            if [ -z "$exact" ]; then see_cut; else see_written; fi
            [ $((n % @CHECK@)) != 0 ] || see_rewritten
        elif [ -e "$path" ]; then
            ! left_alone || break
        elif [ -z "$lost" ]; then
            lost=yes
            say missing
        fi
    done
    kill "$tail"
    wait "$copy"
}

opened() { # has tail opened our file, and not the next one?
    tries=0
    until [ "/proc/$tail/fd/3" -ef /proc/self/fd/4 ]; do
        tries=$((tries + 1))
        if [ "$tries" -gt 400 ] || ! kill -0 "$tail" || {
            [ "/proc/$tail/fd/3" -ef "$real" ] && ! [ "$real" -ef /proc/self/fd/4 ]
        }; then
            kill "$tail"
            return 1
        fi
        [ "$tries" -lt 100 ] || tick 0.05 0.05
    done
    say open "$how" "$inode" "$born" "$changed" "$from" "$size"
}

pass() { # on what tail prints
    exec 5<&0
    read -r tail
    opened || exit
    cat <&5 3<&- &
    copy=$!
    exec 5<&-
    watch
}

follow() {
    [ -z "$exact" ] || fresh
    spot=$size text=$(text_before "$size")
    if [ -n "$exact" ]; then
        say trial
        exec -a "$sign" tail --pid="$$" -c "+$((from + 1))" -f -- "$real" 2>&1 3<&- 4<&- 7<&- &
        tail=$! copy=$!
        opened && watch
    else
        {
            echo "${BASHPID:-$(exec /bin/sh -c 'echo "$PPID"')}"
            exec tail -c "+$((from + 1))" -f -- "$real" 3<&- 4<&-
        } | pass
    fi
    exit
}

send() { # the rest of the file that fd 4 holds, which nobody writes any more
    say open "$how" "$inode" "$born" "$changed" "$from" "$size"
    tail -c "+$((from + 1))" <&4 && say done
    exit
}

limit() { # how much is read
    [ $((size - from)) -le "$1" ] || how=new from=$((size - $1))
}

hold() { exec 4<"$1" && look; } # fails where there is none, but the shell stays

main() {
    exec 3<&0 </dev/null 2>/dev/null
    export LC_ALL=C
    unset BASH_COMPAT # by which here-strings become files
    sign=$(printf '\037%s' @NONCE@) clock= exact= heard= tail= said=
    if [ "${BASH_VERSINFO:-0}" -ge 4 ]; then
        clock=read
        case $(exec -a "$sign" tail --version) in 'tail (GNU coreutils)'*) exact=yes ;; esac
    else
        ( exec >/dev/null; cat <&3; leave ) &
        # Who gives 1 at a timeout gives it at the end of the input, too, which `cat` sees.
        [ -n "$BASH_VERSION" ] || read -r -t 0.01 sign_of_life <&3
        case $? in 1) clock=poll ;; *) exec 3<&- ;; esac
    fi
    newest= known=@INODE@ known_born=@BORN@ at=@OFFSET@ overlap=@HAVE@ trail=@TRAIL@ cut=@CUT@ done=@DONE@ since=@SINCE@
    past=" @PAST@ $known:$known_born " path=@PATH@
    while :; do
        if [ -f "$path" ] && [ -r "$path" ]; then break
        elif [ -f "$path" ]; then now=denied
        elif [ -e "$path" ]; then now=odd
        else now=missing; fi
        [ "$now" = "$said" ] || say "$now"
        said=$now
        tick 1 2
    done
    hold "$path" || exit 1
    real=$(readlink -f -- "$path") && [ -n "$real" ] || real=$path
    same=
    [ "$inode:$born" != "$known:$known_born" ] || same=yes
    if [ -n "$same" ] && [ -z "$cut" ] && [ "$size" -ge "$at" ]; then
        how=resumed from=$((at - overlap))
        limit @MOST@
        follow
    fi
    [ -z "$same" ] || [ "$size" -ge "$at" ] || cut=${cut:-cut} # while nobody looked
    if [ -n "$same" ] && [ "$cut" = cut ] && [ "$size" -gt $((at - trail)) ]; then
        how=trimmed from=$((at - trail))
        limit @MOST@
        follow
    fi
    if [ "$known" != 0 ]; then
        next=$inode:$born
        if renumbered; then
            how=resumed from=$((at - overlap))
            limit @MOST@
            follow
        fi
        missed
        hold "$path" && [ "$inode:$born" = "$next" ] || exit 1 # it has been renamed: begin anew
    fi
    old= since=0 newest=/proc/self/fd/4 # who was renamed since we hold it is no older than it
    list_rotated
    some= count=0
    for this in $all; do # a mark has an end
        some="$some $this" count=$((count + 1))
        [ $((count % @MARK@)) != 0 ] || { say past $some; some=; }
    done
    say past $some
    how=new from=0 most=@MOST@
    [ "$known" != 0 ] || most=@HISTORY@
    limit "$most"
    follow
}
main; exit
"""

# The best shell there is runs it; the text goes by the environment, so that `ps` stays readable. All of
# this is one command: nothing of it may be left in stdin for the program to read. Without its flags a bash
# that thinks that sshd has started it (SSH_CLIENT) reads the user's .bashrc, whose options and functions
# are not for us.
START = """{
gpu_tui_follow=@PROGRAM@
unset BASH_ENV ENV
if bash --norc --noprofile -c '[ "$BASH_VERSINFO" -ge 4 ]' </dev/null >/dev/null 2>&1; then
    export gpu_tui_follow
    exec bash --norc --noprofile -c 'eval "$gpu_tui_follow"' follow ${1:+"$1"}
fi
eval "$gpu_tui_follow"
exit
}
"""


def sign(nonce: str) -> bytes:
    """What our marks begin with."""
    return b"\x1f" + nonce.encode("ascii")


def program(quoted_path: str, words: dict[str, str]) -> str:
    """The program for one start. `words` are the values of the names that stand between two @."""
    text = terse(MISSED + PROGRAM)
    fixed = {
        "MOST": str(MOST),
        "OVERLAP": str(OVERLAP),
        "SILENT": str(SILENT),
        "LOOK": str(LOOK),
        "SELDOM": str(SELDOM),
        "CHECK": str(CHECK),
        "SURE": str(SURE),
        "MARK": str(MARK),
    }
    for word, value in {**fixed, **words}.items():
        text = text.replace(f"@{word}@", value)
    text = text.replace(
        "@PATH@", quoted_path
    )  # last: nothing in it is taken for one of these names
    return terse(START).replace("@PROGRAM@", shlex.quote(text))
