# Frames: how several probes answer at the same time in one channel.
#
#     @NONCE MARK begin BEAT       a frame of the probe with this mark begins
#     @NONCE MARK open SECTION     the lines of one command follow
#     >MARK ...                    a line of it, or
#     +MARK ...                    a part of a long line, which the next > of this mark ends
#     @NONCE MARK cut              something was left out
#     @NONCE MARK close EXIT       the section ends; EXIT is the exit code of its command
#     @NONCE MARK same SECTION     a section is as in the last frame of this mark
#     @NONCE MARK step             another command begins that may hang: the client's timeout starts again
#     @NONCE MARK end BEAT         the frame is whole
#     @NONCE MARK beat             this shell has no clock: the client may send a line for each beat
#
# Text of the box follows only > and +, so it cannot forge a frame. Several processes write into the channel, so
# lines are held until they fill one write of less than PIPE_BUF bytes, which POSIX never mixes with others.
#
# Given: nonce, piece (bytes of one write), most (bytes of a section), too_long (the exit code of a longer one).

newline='
'
held= mark=0 tag="@$nonce 0"

flush() {
    [ -z "$held" ] || printf '%s' "$held" || exit 0
    held=
}

put() { # LINE
    [ "${#1}" -le "$piece" ] || set -- "$tag cut"
    [ $((${#held} + ${#1})) -lt "$piece" ] || flush
    held=$held$1$newline
}

say() { # WORDS: few bytes, for which a write has room after every piece
    held="$held$tag $*$newline"
    [ "${#held}" -lt "$piece" ] || flush
}

begin() { # MARK
    mark=$1 tag="@$nonce $1"
    held="$held$newline$tag begin $n$newline"
}

finish() { say end "$n"; }

open() { held="$held$tag open $1$newline"; }

close() { say close "$1"; }

same() { say same "$1"; }

step() {
    say step
    flush
}

# One line: tell KEY TEXT. The text is cut at its first line end.
tell() { put ">$mark $1 ${2%%"$newline"*}"; }

# The first line of a small file of the kernel: value KEY FILE
value() {
    line=
    IFS= read -r line <"$2"
    [ -z "$line" ] || put ">$mark $1 $line"
}

# The lines of such a file that begin with these words, the first of each, up to the last: pick KEY FILE WORD...
# To bash a line costs a read of all that follows, to other shells a read for each byte.
pick() {
    key=$1 file=$2
    shift 2
    words=" $* " missing=$#
    while read -r word rest || [ -n "$word" ]; do
        case $words in
            *" $word "*)
                put ">$mark $key $word $rest"
                [ "$((missing -= 1))" -gt 0 ] || break ;;
        esac
        word=
    done <"$file"
}

# The lines of $out.
text() {
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

# $out as a section: show SECTION EXIT
show() {
    [ "${#out}" -le "$most" ] || { out=; set -- "$1" "$too_long"; }
    open "$1"
    if [ "${#out}" -gt 3000 ]; then
        flush
        printf '%s\n' "$out" | (marked)
    else
        text
    fi
    close "$2"
}

# The end of a pipe: sends its lines, as many in one write as fit. Called in parentheses, because ksh runs the end of
# a pipe in the shell itself.
marked() {
    [ -z "$awk" ] || exec awk -v m="$mark" -v tag="$tag" -v piece="$piece" -v most="$most" '
        function send() { if (held != "") { printf "%s", held; fflush(); held = "" } }
        (sum += length($0)) > most { send(); print tag " cut"; exit }
        {
            while (length($0) > piece) {
                send()
                held = "+" m " " substr($0, 1, piece) "\n"
                $0 = substr($0, piece + 1)
            }
            if (length(held) + length($0) > piece) send()
            held = held ">" m " " $0 "\n"
        }
        END { send() }'
    while IFS= read -r line || [ -n "$line" ]; do
        put ">$mark $line"
        line=
    done
    flush
}
