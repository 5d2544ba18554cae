"""Older parts of a log, and a search of the whole of it: each one short program, reading only.

What is read is a stretch of blocks that `dd` seeks to, so the middle of a file of gigabytes costs no
more than its beginning. The file is held open while it is looked at: a rotation in between mixes no
two. Whatever reads more than that runs at the lowest priority and for a limited time.
"""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Sequence

from gpu_tui.collect.shell import quote_path
from gpu_tui.core.log_range import (
    ANCHOR,
    HIT_BYTES,
    HITS_MOST,
    Hit,
    LogAsk,
    LogHits,
    LogPart,
    LogUnread,
    Term,
)
from gpu_tui.core.logs import LogLine, LogSource
from gpu_tui.core.number import INODE_DIGITS, whole
from gpu_tui.parse.lines import sanitize
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.transport.base import ChannelRefused, Connection

BLOCK = 65_536
NOISE_CAP = 65_536  # of what a login shell says before
MOST = 4_194_304  # bytes of one stretch
LIMIT = 60.0  # seconds for an answer: a slow link takes its time
WORK = 20  # seconds that a box may count lines or search
MEMORY = 524_288  # KiB that one program of it may take there: nested repeats cost grep gigabytes
MOVED = "the log was rotated or cut since: these lines are no longer in this file"

HEAD = """exec 2>/dev/null
export LC_ALL=C
[ -f @PATH@ ] && [ -r @PATH@ ] || exit 4
exec 4<@PATH@
file=/proc/self/fd/4
[ -r "$file" ] || file=@PATH@
look=$(stat -L -c '%i %s' "$file") || exit 5
ulimit -t @WORK@
ulimit -v @MEMORY@
gently=
nice -n 19 true && gently='nice -n 19'
timeout @WORK@ true && gently="$gently timeout @WORK@"
"""
READ = """line=@LINE@ at=@START@ stop=@STOP@ from=@START@
if [ -n "$line" ]; then
    from=$($gently head -n "$line" "$file" | wc -c) && from=$((from)) || exit 6
    at=$((from + at)) stop=$((from + stop))
fi
[ "$at" -gt 0 ] || at=0
block=$(((at > 0 ? at - 1 : 0) / @BLOCK@))
printf '\\n@MARK@ %s %s %s\\n' "$look" "$from" "$((block * @BLOCK@))"
dd if="$file" bs=1 skip=@KNOWN@ count=@ANCHOR@
printf '\\n@MARK@\\n'
dd if="$file" bs=@BLOCK@ skip="$block" count="$((stop > at ? (stop - 1) / @BLOCK@ + 1 - block : 0))"
exit 0
"""
# Not every grep knows bytes (busybox does not); then the number of the line has to do. Of what a
# progress bar drew over and over only the last state is told, as the log shows it.
SEARCH = """byte= text= prefix='^[0-9]+:'
if [ "$(printf 'a\\n' | grep -a -n -b a)" = 1:0:a ]; then
    byte=-b text=-a prefix='^[0-9]+:[0-9]+:'
fi
last="s/($prefix).*$(printf '\\r')(.)/\\1\\2/"
printf x | sed -E "$last" || exit 6
printf '\\n@MARK@ %s %s\\n' "$look" "${byte:+1}0"
{
    $gently grep $text -n $byte @FIRST@ "$file"
    printf '@MARK@ %s\\n' $?
} | @REST@ sed -E "$last" | cut -b 1-@WIDTH@ | head -n @MOST@
exit 0
"""


async def read_part(connection: Connection, source: LogSource, ask: LogAsk) -> LogPart:
    """The whole lines of a stretch. Raises LogUnread, and LinkError when the connection goes."""
    if not 0 < ask.stop - ask.start <= MOST:
        raise LogUnread("there is nothing to read")
    anchor = ask.anchor
    words = {
        "LINE": "" if ask.line is None else str(ask.line),
        "START": str(ask.start),
        "STOP": str(ask.stop),
        "KNOWN": str(anchor.at if anchor else 0),
        "ANCHOR": str(ANCHOR),
        "BLOCK": str(BLOCK),
    }
    cap = ask.stop - ask.start + 2 * BLOCK + NOISE_CAP
    mark, header, rest = await _answer(connection, source, READ, words, cap)
    file, size, origin, begin = _numbers(header, 4)
    known, parted, body = rest.partition(f"\n{mark}\n".encode())
    if not parted:
        raise LogUnread("the box did not answer in full")
    if ask.file and file != ask.file:
        raise LogUnread(MOVED)
    if anchor and known[: len(anchor.text)] != anchor.text:
        raise LogUnread(MOVED)
    shift = 0 if ask.line is None else origin
    start, stop = max(0, ask.start + shift), min(size, ask.stop + shift)
    start, data = _whole_lines(body, begin, start, stop, at_end=stop == size)
    number = 0 if start == 0 else None
    if number is None and ask.line is not None and start <= origin <= start + len(data):
        number = ask.line - data.count(b"\n", 0, origin - start)
    reader = LogReader()
    lines: Sequence[LogLine] = reader.feed(data)
    if lines and lines[-1].open:
        lines = (*lines[:-1], *reader.close())
    end = start + len(data)
    return LogPart(file, start, end, size, lines, number, origin, data[:ANCHOR])


def _whole_lines(
    body: bytes, begin: int, start: int, stop: int, *, at_end: bool
) -> tuple[int, bytes]:
    """The whole lines within [start, stop) of what begins at byte `begin`, and where they begin.

    A line longer than the stretch is taken as it is, and so is an unfinished one at the very end.
    """
    data = body[max(0, start - begin) : max(0, stop - begin)]
    if start > 0 and body[start - 1 - begin : start - begin] != b"\n":
        first = data.find(b"\n") + 1
        start, data = start + first, data[first:]
    last = data.rfind(b"\n") + 1
    return start, data[:last] if last and not at_end else data


async def search(
    connection: Connection, source: LogSource, terms: Sequence[Term], *, most: int = HITS_MOST
) -> LogHits:
    """The lines of the whole file that fit all terms, from its beginning. Raises as `read_part`."""
    if not terms:
        raise LogUnread("there is nothing to search for")
    first, *others = sorted(terms, key=lambda term: not term.wanted)
    words = {
        "FIRST": _grep(first),
        "REST": "".join(f"{_grep_again(term)} | " for term in others),
        "WIDTH": str(HIT_BYTES),
        "MOST": str(most + 1),
    }
    cap = (most + 2) * (HIT_BYTES + 1) + NOISE_CAP
    mark, header, body = await _answer(connection, source, SEARCH, words, cap)
    file, size, exact = _numbers(header, 3)
    hits: list[Hit] = []
    status: int | None = None
    for row in body.split(b"\n"):
        if row.startswith(mark.encode()):
            status = whole(row.partition(b" ")[2].strip())
            break
        hit = _hit(row, exact=bool(exact))
        if hit is not None:
            hits.append(hit)
    if status == 2:
        raise LogUnread("the box's grep cannot read this pattern")
    # Without a status either `head` had enough or a later grep ended early; above 2 a limit of time was reached.
    cut = len(hits) <= most if status is None else status > 2
    return LogHits(file, size, tuple(hits[:most]), more=len(hits) > most, cut=cut)


def _grep(term: Term) -> str:
    how = "-E" if term.regex else "-F"
    return f"-i {how} {'' if term.wanted else '-v '}-e {shlex.quote(term.text)}"


def _grep_again(term: Term) -> str:
    """The rows of a grep before, behind whose numbers the term stands; the last row of all stays."""
    text = term.text if term.regex else re.sub(r"([][\\.*^$+?(){}|])", r"\\\1", term.text)
    inside = text.removeprefix("^") if text.startswith("^") else f".*({text})"
    pattern = f'-e "$prefix"{shlex.quote(inside)}'
    if not term.wanted:
        return f"grep $text -i -E -v {pattern}"
    return f"grep $text -i -E -e '^@MARK@' {pattern}"


def _hit(row: bytes, *, exact: bool) -> Hit | None:
    number, _, rest = row.partition(b":")
    byte = b"0"
    if exact:
        byte, _, rest = rest.partition(b":")
    line, start = whole(number), whole(byte)
    if line is None or start is None:
        return None
    shown = rest.rstrip(b"\r").rpartition(b"\r")[2]
    if len(row) == HIT_BYTES:  # it was cut, maybe within a character
        shown = shown[: len(shown) - _torn(shown)]
    return Hit(line - 1, start if exact else None, sanitize(shown)[0])


def _torn(text: bytes) -> int:
    """How many bytes at the end are the beginning of a character."""
    for count in range(1, min(4, len(text) + 1)):
        first = text[-count]
        if first >= 0xC0:
            needs = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
            return count if count < needs else 0
        if first < 0x80:
            break
    return 0


async def _answer(
    connection: Connection, source: LogSource, program: str, words: dict[str, str], cap: int
) -> tuple[str, bytes, bytes]:
    """Run it: the mark, the words of the first line behind it, and the rest."""
    mark = secrets.token_hex(8)
    values = {"PATH": quote_path(source.path), "WORK": str(WORK), "MEMORY": str(MEMORY), **words}
    text = re.sub("@([A-Z]+)@", lambda m: values.get(m[1], m[0]), HEAD + program)
    text = text.replace("@MARK@", mark)
    try:
        done = await connection.run(text, limit=LIMIT, stdout_cap=cap)
    except TimeoutError:
        raise LogUnread(f"the box did not answer within {LIMIT:.0f} s") from None
    except ChannelRefused as error:
        raise LogUnread(f"{error}. {error.next or ''}".strip()) from None
    if done.exit == 4:
        raise LogUnread(f"{source.path} is not there or may not be read")
    _, marked, answer = done.stdout.partition(f"\n{mark} ".encode())
    if done.exit != 0 or not marked:
        raise LogUnread("the box could not read it: that needs sh, stat, dd, head, grep and sed")
    header, _, rest = answer.partition(b"\n")
    return mark, header, rest


def _numbers(header: bytes, count: int) -> list[int]:
    numbers = [whole(word, INODE_DIGITS) for word in header.split()]
    found = [number for number in numbers if number is not None]
    if len(numbers) != count or len(found) != count:
        raise LogUnread("the box gave an answer that is none")
    return found
