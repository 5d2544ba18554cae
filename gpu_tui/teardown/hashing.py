"""SHA-256 of files on the box, made there with what it has and told as it is made. Nothing is written.

Every answer is hostile text: it is parsed strictly, and what does not parse counts as not known.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import shlex
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from datetime import datetime

from gpu_tui.core.plain import plain
from gpu_tui.core.transfer import Count
from gpu_tui.teardown.box import TEXT_CAP, BoxError
from gpu_tui.transport.base import Connection
from gpu_tui.transport.channels import guarded

LINE_CAP = 4_096
PATIENCE = 60.0  # seconds without a word of progress, besides those that hashing may take
SLOWEST = 20_000_000  # bytes per second that the slowest box hashes at
BIG = 256 << 20  # a file from this size on tells each second how far it is
SMALL = 4 << 20  # below, the program that starts fastest wins
STAMPS_LIMIT = 120.0  # seconds
STAMPS_CAP = 4 * TEXT_CAP
AT_ONCE = 1_000  # files that one program is told of
_DAY, _TIME = r"\d{4}-\d\d-\d\d", r"[0-2]\d:[0-5]\d:[0-5]\d"
_GNU = re.compile(
    rf"\d{{1,20}} (\d{{1,20}}) (\d{{1,18}}) \S+ \S+ \S+ ({_DAY}) ({_TIME})\.(\d{{1,9}}) ([+-]\d{{4}})",
    re.ASCII,
)
_BSD = re.compile(
    r"\d{1,20} (\d{1,20}) (\d{1,18}) (-?\d{1,12})\.\d+ (\d{1,12})\.(\d{1,9})", re.ASCII
)
_WRITTEN = re.compile(
    rf"\d{{1,20}} \d{{1,20}} \d{{1,18}} ({_DAY}) ({_TIME})(?:\.\d{{1,9}})? ([+-]\d{{4}}) \S+ \S+ \S+",
    re.ASCII,
)
YOUNG = 3  # box seconds: what changed within them may change again and look the same


class Stamps(dict[str, str]):
    """Path -> device, inode, size, mtime and ctime as one word. Two looks that differ in it saw two files.

    `young`: paths whose last change was so near to the look that a further one may not show. `newest`
    is the file that changed last, `newest_age` how long before the look, in seconds of the box.
    """

    young: frozenset[str] = frozenset()
    newest: str | None = None
    newest_age: float | None = None


async def stamps(connection: Connection, root: str) -> Stamps:
    """The stamps of everything below `root` that is no directory. BoxError where it has no such."""
    mark = secrets.token_hex(8)
    program = STAMPS_BEGIN.format(root=shlex.quote(root), mark=mark) + STAMPS_OF_FILES.format(
        mark=mark
    )
    done = await connection.run(program, limit=STAMPS_LIMIT, stdout_cap=STAMPS_CAP)
    return await asyncio.to_thread(stamps_from, done.stdout, mark)


def stamps_from(text: bytes, mark: str) -> Stamps:
    """What the program printed. Of a hundred thousand files that takes a second: not on the event loop."""
    lines = text.decode("utf-8", "surrogateescape").split("\n")
    began = re.fullmatch(rf"{mark} (\d{{1,12}})", lines[0])
    if began is None or f"{mark} end" not in lines:
        raise BoxError("the box does not say when its files were last changed (find, stat)")
    found, young = Stamps(), set()
    for line in lines:
        changed, tab, rest = line.partition("\t")
        stamp, more, path = rest.partition("\t./")
        if tab and more:
            # A name with a newline can make a second line for another file: it never takes the true one's place.
            found[path] = f"{found[path]}, {stamp}" if path in found else stamp
            age = int(began[1]) - int(changed) if re.fullmatch(r"\d{1,12}", changed) else 0
            if age < YOUNG:
                young.add(path)
            if found.newest_age is None or age < found.newest_age:
                found.newest, found.newest_age = path, float(age)
    found.young = frozenset(young)
    return found


def file_of(stamp: str) -> tuple[int, int, int] | None:
    """Inode, size and ctime (ns) in a stamp; None where it says them in no way known here.

    A file elsewhere with all three alike is no copy of it: it is the same file, seen from two sides.
    """
    if match := _GNU.fullmatch(stamp):
        inode, size, day, time, fraction, zone = match.groups()
        try:
            at = datetime.strptime(f"{day} {time} {zone}", "%Y-%m-%d %H:%M:%S %z")
            seconds = at.timestamp()
        except (ValueError, OverflowError):
            return None
        return int(inode), int(size), int(seconds) * 10**9 + int(fraction.ljust(9, "0"))
    if match := _BSD.fullmatch(stamp):
        inode, size, _, whole, fraction = match.groups()
        return int(inode), int(size), int(whole) * 10**9 + int(fraction.ljust(9, "0"))
    return None


def written_at(stamp: str) -> float | None:
    """When a file's bytes were last written, in epoch seconds; None where the stamp says it in no way known here."""
    if match := _WRITTEN.fullmatch(stamp):
        try:
            at = datetime.strptime(f"{match[1]} {match[2]} {match[3]}", "%Y-%m-%d %H:%M:%S %z")
            return at.timestamp()
        except (ValueError, OverflowError):
            return None
    match = _BSD.fullmatch(stamp)
    return float(match[3]) if match else None


def one_file(stamp: str, seen: tuple[int, ...]) -> bool:
    """A file on the box and one here are the same file: a shared disk, or this very machine. `seen` is its
    device, inode, size, mtime and ctime here, empty where there is none. Each side numbers its devices itself.
    """
    return len(seen) == 5 and file_of(stamp) == (seen[1], seen[2], seen[4])


async def hash_files(
    connection: Connection, root: str, files: Sequence[tuple[str, int]], count: Count
) -> AsyncGenerator[tuple[str, str], None]:
    """(path, SHA-256) of files (path, size) below `root` as each is done; what cannot be read is left out.

    `count` is told of the bytes. BoxError without a hash program, or where it stands still.
    """
    for first in range(0, len(files), AT_ONCE):
        some = files[first : first + AT_ONCE]
        async with aclosing(_hash_some(connection, root, some, count)) as hashes:
            async for found in hashes:
                yield found


async def _hash_some(
    connection: Connection, root: str, files: Sequence[tuple[str, int]], count: Count
) -> AsyncGenerator[tuple[str, str], None]:
    mark = secrets.token_hex(8)
    calls = "\n".join(
        f"h {number} {shlex.quote('./' + path)} {'small' if size < SMALL else 'big'}"
        f" {'tell' if size >= BIG else ''}"
        for number, (path, size) in enumerate(files)
    )
    program = _HASH.format(root=shlex.quote(root), mark=mark, calls=calls)
    done, told = 0, 0  # files that are done, bytes told of the one that is hashed now
    clock = asyncio.get_running_loop().time
    moved_at = clock()
    async with connection.stream(guarded(program)) as chunks, aclosing(_lines(chunks)) as lines:
        while True:
            path, size = files[done] if done < len(files) else ("", 0)
            try:
                async with asyncio.timeout_at(moved_at + PATIENCE + size / SLOWEST):
                    line = await anext(lines, None)
            except TimeoutError:
                raise BoxError(f"hashing on the box stands still at {plain(path)}") from None
            if line is None:
                raise BoxError("hashing on the box did not come to its end")
            match line.split(" ", 3):
                case [word, "p", which, where] if word == mark and which == str(done):
                    if re.fullmatch(r"\d{1,18}", where) and told < int(where) <= size:
                        count(int(where) - told, path)
                        told, moved_at = int(where), clock()
                case [word, "h", which, said] if word == mark and which == str(done):
                    count(size - told, path)
                    done, told, moved_at = done + 1, 0, clock()
                    if digest := re.search(r"(?:^|[ =\\])([0-9a-f]{64})(?: |$)", said):
                        yield path, digest[1]
                case [word, "end"] if word == mark:
                    return
                case [word, "none"] if word == mark:
                    raise BoxError(
                        "the box has no program that makes a SHA-256 (sha256sum, openssl, python)"
                    )
                case _:
                    pass  # noise of a login shell


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[str, None]:
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line[:LINE_CAP].decode("ascii", "replace")
        rest = rest[:LINE_CAP]


# The seconds of the last change come first, for the box alone: they are no part of the stamp.
STAMPS_BEGIN = """
cd -- {root} || exit 1
tab=$(printf '\\t')
if stat -c %i . >/dev/null 2>&1; then set -- -c "%Z${{tab}}%d %i %s %y %z${{tab}}%n"
else set -- -f "%c${{tab}}%d %i %z %Fm %Fc${{tab}}%N"; fi
printf '{mark} %s\\n' "$(date +%s)"
"""
STAMPS_OF_FILES = """
find . ! -type d -exec stat "$@" -- {{}} + && echo '{mark} end'
"""

# A program is taken that knows the hash of `x`. Of those, openssl and python are about three times
# as fast as most sha256sum, which again starts ten times as fast as python.
_HASH = """
cd -- {root} || exit 1
P='import hashlib,sys
h=hashlib.sha256()
f=getattr(sys.stdin,"buffer",sys.stdin)
for b in iter(lambda: f.read(1048576), b""): h.update(b)
print(h.hexdigest())'
o() {{ openssl dgst -sha256; }}
p() {{ python3 -c "$P"; }}
q() {{ python -c "$P"; }}
s() {{ sha256sum; }}
b() {{ busybox sha256sum; }}
first() {{
  for t in "$@"; do
    case $(printf x | $t 2>/dev/null) in
      *2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881*) echo "$t"; return ;;
    esac
  done
}}
big=$(first o p q s b); small=$(first s o b p q)
[ -n "$big" ] || {{ echo '{mark} none'; exit 0; }}
w() {{
  while sleep 1 >/dev/null 2>&1; do
    while read -r k v; do
      [ "$k" = pos: ] && printf '{mark} p %s %s\\n' "$1" "$v"
    done <"/proc/$$/fdinfo/4"
  done
}}
h() {{
  s=; r=
  if [ -f "$2" ] && [ ! -L "$2" ] && [ -r "$2" ]; then
    {{
      if [ -n "$4" ] && [ -r "/proc/$$/fdinfo/4" ]; then w "$1" & r=$!; fi
      if [ "$3" = big ]; then s=$($big <&4 2>/dev/null); else s=$($small <&4 2>/dev/null); fi || s=
      [ -z "$r" ] || kill "$r"
    }} 4<"$2"
  fi
  printf '{mark} h %s %s\\n' "$1" "$s"
}}
{calls}
echo '{mark} end'
"""
