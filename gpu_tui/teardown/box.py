"""What the box says of itself at one moment, asked with one small sh program each. Nothing is written there.

Every answer is hostile text: it is parsed strictly, and what does not parse counts as not known.
"""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpu_tui.core.evidence import Identity
from gpu_tui.core.fleet import Instance
from gpu_tui.core.liveness import find_run
from gpu_tui.core.number import whole
from gpu_tui.core.plain import plain
from gpu_tui.core.readings import Process
from gpu_tui.core.sweep import Roster
from gpu_tui.teardown.idle import DEAD, IDLE, Image, fits, program_of, watches, working
from gpu_tui.teardown.logins import LOGINS_MOST, logins
from gpu_tui.teardown.own import UNSEEN, Own, own_processes
from gpu_tui.transport.base import Connection, nonce_of

SURVEY_LIMIT = 30.0  # seconds
SURVEY_PARTS = 8
SETTLE = 5.0  # a file younger than this many box seconds may still be written
RECENT_MOST = 500  # more files of the last minute than this are not looked at one by one
TEXT_CAP = 16 << 20
CAP_SYS_PTRACE = 19  # its bit, capability.h: who has it sees every process in spite of hidepid
HIDDEN = (
    "the box hides other people's processes from this login (/proc is mounted with hidepid), so who else "
    "works there is not known: log in as root, or ask its administrator for the group that may see them"
)


class BoxError(Exception):
    """The box answered, and what it said is of no use."""


class NotConnected(BoxError):
    """Nothing leads to the box now."""


@dataclass(frozen=True, slots=True)
class Survey:
    """One look. `processes` None: no table. `root`: the results directory as the box resolves it,
    None where there is none. `busy`: files below it that changed within SETTLE seconds, None where
    the box cannot say (no `stat`, too many of them). `writers`: (pid, path) of files there that are
    open for writing; `on_gpu`: pids that hold a GPU device; `asked_by`: the
    pids of the shell that looked and of its parent, where the table is of the same machine.
    `hidden`: the kernel leaves other people's processes out of the table (proc(5), hidepid). `logins`:
    who has a terminal there, by `who` and by the table; None where neither can tell. `opened`: pid -> the
    numbers N of the /dev/nvidiaN that it holds. `images`: the kernel's word on each process's program.
    `nonce` is the connection's.
    """

    boot_id: str | None
    processes: tuple[Process, ...] | None
    root: str | None
    busy: tuple[str, ...] | None
    writers: tuple[tuple[int, str], ...]
    on_gpu: frozenset[int] = frozenset()
    asked_by: tuple[int, int] | None = None
    hidden: bool = False
    logins: tuple[str, ...] | None = None
    opened: Mapping[int, frozenset[int]] = field(default_factory=dict)
    images: Mapping[int, Image] = field(default_factory=dict)
    nonce: str = ""

    @property
    def own(self) -> Own:
        """The processes of the table that belong to this connection."""
        if self.asked_by is None:
            return Own()
        return own_processes(self.processes or (), self.asked_by, self.nonce, self.images)

    @property
    def unseen(self) -> str | None:
        """Why it is not known who works there, though a table was read; None where it is known."""
        if self.hidden:
            return HIDDEN
        return UNSEEN if self.processes is not None and self.own.unseen else None

    def identity(self, instance: Instance, connection: Connection) -> Identity:
        """Which machine this is, as far as it is known."""
        return Identity(instance.provider.id, connection.host_key or None, self.boot_id)


def shell_path(path: str) -> str:
    """`path` as one word of a sh program; `~/` is the home of whoever is logged in there."""
    if path == "~":
        return '"$HOME"'
    if path.startswith("~/"):
        return '"$HOME"/' + shlex.quote(path[2:])
    return shlex.quote(path)


async def survey(connection: Connection, instance: Instance) -> Survey:
    """Look once. BoxError where the program did not run to its end; LinkError and TimeoutError pass."""
    mark = secrets.token_hex(8)
    program = survey_program(instance, mark) + "echo end\n"
    done = await connection.run(program, limit=SURVEY_LIMIT, stdout_cap=TEXT_CAP)
    *parts, end = done.stdout.decode("utf-8", "surrogateescape").split(f"@{mark}\n")
    if len(parts) != SURVEY_PARTS or end.strip() != "end":
        raise BoxError("the box did not answer a small sh program to its end")
    return survey_of(parts, instance, nonce_of(connection))


def survey_program(instance: Instance, mark: str) -> str:
    """The sh program of one look. It prints SURVEY_PARTS parts, `@mark` on a line of its own after each."""
    root = instance.results.remote
    return _SURVEY.format(
        mark=mark,
        proc=shlex.quote(instance.roots.proc),
        root=shell_path(root) if root else "''",
        settle=int(SETTLE),
        most=RECENT_MOST,
        sees_all=CAP_SYS_PTRACE,
        logins=LOGINS_MOST,
    )


def survey_of(parts: Sequence[str], instance: Instance, nonce: str) -> Survey:
    """Parses the SURVEY_PARTS parts of a look. `nonce`: the connection's."""
    boot, asked, people, table, programs, *rest = (p.strip("\n") for p in parts)
    where, recent, open_files = rest
    writers, opened = _holders(open_files, where)
    processes = _processes(table)
    pids = re.fullmatch(r"(\d{1,9}) (\d{1,9})( hidden)?", asked)
    return Survey(
        boot_id=boot if re.fullmatch(r"[A-Za-z0-9-]{8,64}", boot) else None,
        processes=processes,
        root=where if where.startswith("/") and "\n" not in where else None,
        busy=_busy(recent),
        writers=writers,
        on_gpu=frozenset(opened),
        opened=opened,
        asked_by=(int(pids[1]), int(pids[2])) if pids and instance.roots.proc == "/proc" else None,
        hidden=pids is None or pids[3] is not None,
        logins=logins(people, processes or ()),
        images=_images(programs),
        nonce=nonce,
    )


def work(seen: Survey, queue_file: str | None, roster: Roster | None) -> tuple[str, ...] | None:
    """The running work, named for a person, or None where no process table was read, or only a part.

    Stricter than the verdict: whatever is not known to be idle counts, because what is not understood
    must not be torn down.
    """
    if seen.processes is None or seen.unseen:
        return None
    own = seen.own
    busy = working(seen.processes, seen.on_gpu, own.pids, seen.images)
    found = {process.pid: process for process in busy}
    found |= {p.pid: p for p in find_run(seen.processes, queue_file, roster).runners}
    writing = {pid for pid, _ in seen.writers}
    found |= {p.pid: p for p in seen.processes if p.pid in writing and p.state not in DEAD}
    lines = [
        _named(process, seen, own, harmless=pid not in writing | seen.on_gpu)
        for pid, process in sorted(found.items())
    ]
    lines += [
        f"pid {pid} writes {plain(path, 60)}" for pid, path in seen.writers if pid not in found
    ]
    return tuple(lines)


def _named(process: Process, seen: Survey, own: Own, *, harmless: bool) -> str:
    """`harmless`: it neither writes results nor holds a card, so its command may be taken at its word."""
    command, pid = " ".join(process.argv) or process.name, process.pid
    if harmless and pid in own.doubtful:
        return f"may be this gpu-tui's own, but {own.why}: {plain(command, 24)} (pid {pid})"
    if harmless and watches(process):
        return f"another gpu-tui watches this box, by its command: {plain(command, 24)} (pid {pid})"
    if program_of(process) in IDLE and not fits(process, seen.images.get(pid)):
        return f"{plain(command, 80)} (pid {pid}, its program is {plain(process.name, 20)})"
    return f"{plain(command, 80)} (pid {pid})"


async def read_text(connection: Connection, path: str, limit: float = SURVEY_LIMIT) -> bytes | None:
    """A small remote file, whole; None where it is not there or longer than TEXT_CAP."""
    mark = secrets.token_hex(8)
    word = shell_path(path)
    program = f'[ -f {word} ] && cat -- {word} && printf "%s" {mark}\n'
    done = await connection.run(program, limit=limit, stdout_cap=TEXT_CAP)
    end = mark.encode()
    return done.stdout[: -len(end)] if done.stdout.endswith(end) else None


def _processes(table: str) -> tuple[Process, ...] | None:
    """Rows `pid<TAB>command line, words parted by 0x1f<TAB>stat line`.

    None where there is no row, or one that cannot be understood: what it hides may be work.
    """
    rows: list[Process] = []
    for line in table.split("\n"):
        if not line:
            continue
        pid, _, rest = line.partition("\t")
        command, _, stat = rest.partition("\t")
        match = re.match(r"\d+ \((.*)\) (\S) ([0-9]{1,18}) ", stat)
        number = whole(pid)
        if match is None or number is None:
            return None
        words = tuple(word for word in command.split("\x1f") if word)
        rows.append(Process(number, int(match[3]), match[1], words, match[2]))
    return tuple(rows) or None


def _images(listing: str) -> Mapping[int, Image]:
    """`ls -ln` of the links `/proc/PID/exe`. One that is listed twice is a forged name: it fits no title."""
    found: dict[int, Image] = {}
    for line in listing.split("\n"):
        row = re.fullmatch(r"l\S+ +\d+ +(\d{1,18}) .*/([0-9]{1,18})/exe(?: -> (.+))?", line)
        if row is not None:
            pid = int(row[2])
            found[pid] = Image(None, "?") if pid in found else Image(int(row[1]), row[3])
    return found


def _busy(recent: str) -> tuple[str, ...] | None:
    """The lines, or None where one is `/`: the program's word for "I cannot tell"."""
    lines = [line for line in recent.split("\n") if line]
    return None if "/" in lines else tuple(lines)


def _holders(
    listing: str, root: str
) -> tuple[tuple[tuple[int, str], ...], Mapping[int, frozenset[int]]]:
    """`ls -l` of fd directories, lines `/proc/PID/fd:` and links `l-wx… N -> PATH`: who writes below
    `root`, and who holds a GPU device, with the numbers of the cards.
    """
    writers: list[tuple[int, str]] = []
    opened: dict[int, frozenset[int]] = {}
    pid: int | None = None
    for line in listing.split("\n"):
        if head := re.fullmatch(r".*/([0-9]{1,18})/fd:?", line):
            pid = int(head[1])
        elif pid is not None and line.startswith("l"):
            path = line.partition(" -> ")[2]
            if path.startswith("/dev/nvidia"):
                card = re.fullmatch(r"/dev/nvidia([0-9]{1,3})", path)
                opened[pid] = opened.get(pid, frozenset()) | ({int(card[1])} if card else set())
            elif root and path.startswith(f"{root}/") and line[2:3] == "w":
                writers.append((pid, path))
    return tuple(dict.fromkeys(writers)), opened


_SURVEY = """
proc={proc}; root={root}
m() {{ printf '@{mark}\\n'; }}
cat "$proc/sys/kernel/random/boot_id" 2>/dev/null
m
h=
while read -r _ at kind with _; do
  if [ "$at $kind" = "$proc proc" ]; then
    case ",$with," in *,hidepid=*) h=' hidden' ;; *) h= ;; esac
  fi
done 2>/dev/null </proc/self/mounts
if [ -n "$h" ]; then
  # Whoever sees the first of all processes, and could not as its owner alone, sees everybody's.
  c=
  while read -r key value _; do [ "$key" = CapEff: ] && c=$value; done 2>/dev/null </proc/self/status
  me=$(id -u); set -- $(ls -ldn "$proc/1" 2>/dev/null)
  if [ -r "$proc/1/stat" ]; then
    [ "${{3:-$me}}" != "$me" ] || [ $((0x${{c:-0}} >> {sees_all} & 1)) = 1 ] && h=
  fi
fi
printf '%s %s%s\\n' "$$" "$PPID" "$h"
m
if [ "$proc" != /proc ] || [ -r /var/run/utmp ] || [ -r /run/utmp ]; then echo known; fi
[ "$proc" != /proc ] || who 2>/dev/null | head -n {logins}
m
for p in "$proc"/[0-9]*; do
  [ -r "$p/stat" ] || continue
  s=
  IFS= read -r s 2>/dev/null <"$p/stat" || [ -n "$s" ] || continue
  c=$(tr '\\000\\n\\t' '\\037  ' 2>/dev/null <"$p/cmdline")
  printf '%s\\t%s\\t%s\\n' "${{p##*/}}" "$c" "$s"
done
m
ls -ln "$proc"/[0-9]*/exe 2>/dev/null
m
r=
if [ -n "$root" ] && cd -- "$root" 2>/dev/null; then r=$(pwd -P); printf '%s\\n' "$r"; fi
m
if [ -n "$r" ]; then
  now=$(date +%s)
  t() {{ stat -c %Y -- "$1" 2>/dev/null || stat -f %m -- "$1" 2>/dev/null; }}
  {{ find . -type f -mmin -1 2>/dev/null || echo /; }} | {{
    n=0
    while IFS= read -r f; do
      n=$((n + 1))
      [ "$f" != / ] && [ $n -le {most} ] && [ "$now" -gt 0 ] && a=$(t "$f") || {{ echo /; break; }}
      a=$((now - a))
      [ $a -lt {settle} ] && [ $a -gt -60 ] && printf '%s\\n' "${{f#./}}"
    done
  }}
fi
m
ls -l "$proc"/[0-9]*/fd /dev/null 2>/dev/null | grep -F -e '/fd:' -e ' -> /dev/nvidia' -e " -> ${{r:-/dev/nvidia}}/"
m
"""
