"""Who else runs jobs on a box: task-spooler, pueue, tmux, the user's own feed, and what `probe_detached` looks for.
Rows for the catalogue in `probes`.

Nothing is started on the box but a list command of what already runs there: `tsp` would start a server of
its own where none is, so it is asked only while one listens. Where a queue file, a feed or a
scheduler tells what runs, tmux and detached programs are not looked for: they are its vessels.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace

from gpu_tui.collect.probe import (
    MISSING_FILE,
    NOTHING,
    UNREADABLE_FILE,
    NoValue,
    Probe,
    Section,
    Sections,
    Target,
)
from gpu_tui.collect.probe_detached import DETACHED, LEFT, LIMIT, read_detached, read_left
from gpu_tui.collect.shell import quote_path, terse
from gpu_tui.core import metrics, units
from gpu_tui.core.fleet import Instance
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.number import whole
from gpu_tui.core.sample import FailureKind
from gpu_tui.core.sweep import CellState
from gpu_tui.parse.box_host import parse_host
from gpu_tui.parse.feed import FeedError, parse_feed
from gpu_tui.parse.nvidia_smi import NOT_FOUND, TIMED_OUT
from gpu_tui.parse.tmux import FORMAT as PANES
from gpu_tui.parse.tmux import parse_tmux

EVERY = 15.0  # seconds
FEED_LIMIT = 8.0  # for a command of the user's own
FEED_BYTES = 524_288


def runs_free(instance: Instance) -> bool:
    """Nothing that the fleet file names tells what runs on this box."""
    return not instance.queue.names_runs and instance.scheduler is None


# Its server listens on $TMPDIR/socket-ts.UID of whoever started it; flags 00010000 are a listening socket.
SPOOLER = f"""
    uid=
    while read -r key one rest; do
        case $key in Uid:) uid=$one; break ;; esac
    done <"/proc/$$/status"
    socket=${{TS_SOCKET:-${{TMPDIR:-/tmp}}/socket-ts.$uid}} heard=
    if [ -n "$uid" ] && [ -S "$socket" ] && command -v tsp >/dev/null; then
        while read -r a b c flags d e f path; do
            case "$flags $path" in "00010000 $socket") heard=1; break ;; esac
        done <"$proc/net/unix"
    fi
    [ -z "$heard" ] || ask list {LIMIT:.0f} env TS_SOCKET="$socket" tsp
"""

# A task's environment holds keys and tokens: it is cut out before anything leaves the box.
PUEUE = f"""
    if command -v pueue >/dev/null; then
        capture {LIMIT:.0f} pueue status --json
        kept=$code
        out=$(printf '%s\\n' "$out" | sed 's/"envs":{{\\("[^"\\\\]*\\(\\\\.[^"\\\\]*\\)*":"[^"\\\\]*\\(\\\\.[^"\\\\]*\\)*",\\{{0,1\\}}\\)*}}/"envs":{{}}/g')
        case $out in *'"envs":{{"'*) out= kept=75 ;; esac
        show list "$kept"
    fi
"""

# tmux makes the directory of its sockets whenever it is asked, also where there is none. Before 3.5 it may never learn
# that a command ended (libutempter takes its SIGCHLD): it is a zombie then, and the last field of its stat tells how,
# as waitpid(2) has it; to who may not know it says 0.
TMUX = f"""
    uid=
    while read -r key one rest; do
        case $key in Uid:) uid=$one; break ;; esac
    done <"/proc/$$/status"
    if [ -S "${{TMUX_TMPDIR:-/tmp}}/tmux-$uid/default" ] && command -v tmux >/dev/null; then
        ask panes {LIMIT:.0f} tmux -u list-panes -a -F '{PANES}'
        IFS=$newline
        set -f
        set -- $out
        set +f
        unset IFS
        open fates
        for line; do
            case $line in
                %*:*:1:::*) pid=${{line#*:}} pid=${{pid%%:*}} ;;
                *) continue ;;
            esac
            case $pid in *[!0-9]* | "") continue ;; esac
            fate=
            {{ while read -r line; do fate=$line; done <"$proc/$pid/stat"; }} 2>/dev/null
            case $fate in *") Z "*) tell "$pid" "${{fate##* }}" ;; esac
        done
        close 0
    fi
"""


def _free(snippet: str) -> Callable[[Target], str]:
    """Only where nothing else tells what runs."""
    return lambda target: terse(snippet) if runs_free(target.instance) else ""


def _unscheduled(snippet: str) -> Callable[[Target], str]:
    """Not on the login node of a cluster: what runs there is nobody's sweep."""
    return lambda target: terse(snippet) if target.instance.scheduler is None else ""


# What prints without end is cut before it lies in the memory of the box, and ends of that. The lane ends
# only its own child: where there is a `timeout`, it ends the command below it.
CAPPED = f"""\
! timeout 5 true || set -- timeout {FEED_LIMIT:.0f} "$@"
{{ code=$( {{ {{ "$@" 3>&- 4>&-; echo "$?" >&3; }} | head -c {FEED_BYTES + 1} >&4 3>&-; }} 3>&1 ); }} 4>&1
exit "$code"
"""


def _feed_snippet(target: Target) -> str:
    queue = target.instance.queue
    if queue.status:
        word = quote_path(queue.status)
        return f"""
    ask stat {LIMIT:.0f} stat -c %Y -- {word}
    open clock; now; close 0
    content file {FEED_BYTES} {word}
"""
    if queue.status_command:
        words = " ".join(quote_path(word) for word in queue.status_command)
        capped = f"sh -c {shlex.quote(CAPPED)} sh {words}"
        return f"\n    ask command {FEED_LIMIT:.0f} {capped}\n"
    return ""


def _commands_snippet(target: Target) -> str:
    path = target.instance.queue.commands
    return f"\n    content file {FEED_BYTES} {quote_path(path)}\n" if path else ""


# --- what they say ---------------------------------------------------------------------------------


def _list(sections: Sections, name: str, what: str) -> Section | NoValue:
    """A list that was printed, or why there is none: most boxes have no such program."""
    section = sections.get(name)
    if section is None:
        return NoValue(f"no {what} runs on this box")
    if section.exit in TIMED_OUT:
        return NoValue(f"{what} does not answer", FailureKind.HUNG)
    return section


def _spooler(_: Target, sections: Sections) -> object:
    seen = _list(sections, "list", "task-spooler")
    if isinstance(seen, NoValue):
        return seen
    from gpu_tui.parse.spooler import parse_spooler

    table = parse_spooler(seen.body)
    return table or NoValue("tsp prints no list of jobs", FailureKind.GARBAGE)


def _pueue(_: Target, sections: Sections) -> object:
    seen = _list(sections, "list", "pueue")
    if isinstance(seen, NoValue):
        return seen
    if seen.exit != 0:
        return NoValue("pueue's daemon does not run")
    from gpu_tui.parse.pueue import parse_pueue

    table = parse_pueue(seen.body)
    return table or NoValue("pueue prints no status that can be read", FailureKind.GARBAGE)


def _tmux(_: Target, sections: Sections) -> object:
    seen = _list(sections, "panes", "tmux")
    if isinstance(seen, NoValue):
        return seen
    fates = sections.get("fates", NOTHING).body
    return NoValue("no tmux session") if seen.exit != 0 else parse_tmux(seen.body, fates)


def _feed(target: Target, sections: Sections) -> object:
    command = sections.get("command")
    if command is not None:
        said = target.instance.queue.status_command[0]
        if command.exit in NOT_FOUND or command.exit in TIMED_OUT:
            why = "is not there" if command.exit in NOT_FOUND else "does not end"
            return NoValue(f"{said} {why}", FailureKind.HUNG if why[0] == "d" else None)
        if len(command.body) > FEED_BYTES:
            return NoValue(f"{said} prints too much", FailureKind.GARBAGE)
        if command.exit != 0:
            return NoValue(f"{said} ended with {command.exit}", FailureKind.GARBAGE)
        return _read_feed(command.body, said)
    file = f"the status file {target.instance.queue.status}"
    text = _content(sections.get("file", NOTHING), file)
    if isinstance(text, NoValue):
        return text
    table = _read_feed(text, file)
    if isinstance(table, NoValue):
        return table
    written = whole(sections.get("stat", NOTHING).body.strip())
    host = parse_host(sections.get("clock", NOTHING).body)
    if host is None or written is None:
        return table
    age = host.box_time - written
    return _aged(table, age) if age > target.instance.stall_after else table


def _aged(table: JobTable, age: float) -> JobTable:
    """A file that nobody writes any more proves what was once, not what runs now."""
    why = f"its status file stands still for {units.words(age)}: whether it still runs is not known"
    jobs = tuple(
        replace(job, state=CellState.CANNOT_TELL, why=why) if job.live else job
        for job in table.jobs
    )
    return replace(table, jobs=jobs, why=table.why or why)


def _read_feed(text: bytes, what: str) -> JobTable | NoValue:
    try:
        return parse_feed(text)
    except FeedError as error:
        return NoValue(f"{what}: {error}", FailureKind.GARBAGE)


def _commands(target: Target, sections: Sections) -> object:
    from gpu_tui.parse.command_list import parse_commands

    file = f"the list {target.instance.queue.commands}"
    text = _content(sections.get("file", NOTHING), file)
    return text if isinstance(text, NoValue) else parse_commands(text.decode("utf-8", "replace"))


def _content(section: Section, what: str) -> bytes | NoValue:
    if section.exit == MISSING_FILE:
        return NoValue(f"{what} is not there")
    if section.exit == UNREADABLE_FILE:
        return NoValue(f"{what} cannot be read", FailureKind.DENIED)
    if section.exit in TIMED_OUT:
        return NoValue(f"reading {what} does not return", FailureKind.HUNG)
    if section.exit:
        return NoValue(f"reading {what} ended with {section.exit}", FailureKind.GARBAGE)
    if len(section.body) > FEED_BYTES:
        return NoValue(f"{what} is too long", FailureKind.GARBAGE)
    return section.body


RUNNERS: tuple[Probe, ...] = (
    Probe(metrics.FEED.name, "feed", EVERY, FEED_LIMIT, _feed_snippet, _feed),
    Probe(metrics.COMMANDS.name, "files", EVERY, LIMIT, _commands_snippet, _commands),
    Probe(metrics.SPOOLER.name, "runners", EVERY, LIMIT, _unscheduled(SPOOLER), _spooler),
    Probe(metrics.PUEUE.name, "runners", EVERY, LIMIT, _unscheduled(PUEUE), _pueue),
    Probe(metrics.TMUX.name, "runners", EVERY, LIMIT, _free(TMUX), _tmux),
    Probe(
        metrics.DETACHED.name,
        "runners",
        2 * EVERY,
        LIMIT,
        _free(DETACHED),
        read_detached,
        scripts=("processes",),
    ),
    Probe(metrics.LEFT.name, "files", 2 * EVERY, LIMIT, _free(LEFT), read_left, lambda _: 2),
)
