"""What of a log was written while nobody followed it: the sh functions that find it on the box.

First the rest of the file that we knew, whatever it is called now, or a copy of it made before it was cut;
then the files that came and were renamed meanwhile, the oldest first. Each start of the program sends
one of them and ends; where nothing is left, it goes on to the file at the path.
"""

from __future__ import annotations

MISSED = r"""
find_rotated() { # $oldest unread file called as ours is once rotated, not older than $1; $all of them
    than=$1 oldest= all=
    sift "$real"[._-]*[0-9]*
    sift "$real".old
    sift "$real".bak
    case ${real##*/} in
        ?*.*) sift "${real%.*}"[._-][0-9]*."${real##*.}" ;;
    esac
}

sift() { # the files of one pattern; a sweep may have called thousands so, and one process looks at all
    [ -e "$1" ] || [ $# -gt 1 ] || return 0
    looked=$(stat -L -c '%i:%W %Y' -- "$@") files=$#
    for name; do
        if [ "$files" != 0 ]; then
            set -- $looked
            [ $# = $((2 * files)) ] || set -- # one is gone, or leads nowhere, or they are too many
            files=0
        fi
        this=$1 written=$2
        [ $# = 0 ] || shift 2
        case $name in *.gz | *.bz2 | *.xz | *.zst | *.lz4 | *.zip) continue ;; esac
        [ -f "$name" ] && [ -r "$name" ] && ! [ "$name" -ef "$real" ] || continue
        [ -z "$newest" ] || ! { [ "$name" -ef "$newest" ] || [ "$name" -nt "$newest" ]; } || continue
        if [ -z "$this" ]; then
            set -- $(stat -L -c '%i:%W %Y' -- "$name")
            this=$1 written=$2
            set --
        fi
        all="$all $this"
        case $past in *" $this "*) continue ;; esac
        [ "${written:-0}" -ge "$since" ] || continue
        ! [ "$name" -ef "$old" ] && ! [ "$name" -ot "$than" ] || continue
        # Of two that were written at the same moment the higher number, which comes later, is older.
        [ -z "$oldest" ] || ! [ "$oldest" -ot "$name" ] || continue
        oldest=$name id=$this
    done
}

list_rotated() { # find_rotated, twice the same: who looks while files are renamed may pass one over
    for try in 1 2 3 4 5; do
        find_rotated "$1"
        before=$all
        find_rotated "$1"
        [ "$all" != "$before" ] || return 0
    done
    exit 1
}

hold_oldest() {
    list_rotated "$1"
    while [ -n "$oldest" ]; do
        hold "$oldest" && [ "$inode:$born" = "$id" ] && return
        list_rotated "$1"
    done
    return 1
}

hold_known() { # the file that we knew, whatever it is called now
    for try in 1 2 3; do
        name=$(find "${real%/*}/" -maxdepth 1 -type f -inum "$known" | head -n 1)
        [ -n "$name" ] || name=${real%/*}/$(ls -1iA -- "${real%/*}/" | sed -n "s/^ *$known //p" | head -n 1)
        [ -r "$name" ] && hold "$name" && [ "$inode:$born" = "$known:$known_born" ] && return
    done
    return 1
}

renumbered() { # may it be the file that we knew? Where none has a birth, numbers may be made up anew
    case $known_born$same$cut$done in *[!0?W-]*) return 1 ;; esac
    [ "$size" -ge "$at" ] && ! hold_known && hold "$path" && [ "$inode:$born" = "$next" ]
}

missed() { # what has to be read before the file at the path; a name may be another file's a moment later
    old=
    if [ -z "$same" ]; then
        if hold_known; then
            exec 6<&4
            old=/proc/self/fd/6
        else
            cut=
            [ -n "$done" ] || say gone
            done=yes
        fi
    fi
    if [ -z "$done" ] && [ -z "$cut" ] && [ "$size" -ge "$at" ]; then
        how=rest from=$((at - overlap))
        limit @MOST@
        [ "$size" = "$at" ] || send
    elif [ -z "$done" ]; then
        if [ "$cut" != alone ] && hold_oldest && [ "$size" -ge "$at" ] && [ $((size - at)) -le @MOST@ ]; then
            how=copy from=$((at - overlap))
            send
        fi
        [ -z "$same" ] || return
        hold "$old" && whole
    fi
    hold_oldest "$old" && whole
    exec 6<&-
}

whole() {
    how=whole from=0
    limit @MOST@
    send
}
"""
