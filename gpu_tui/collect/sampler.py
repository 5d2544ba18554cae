"""The remote sampler: one POSIX sh program per group of probes, and the reader of its frames.

The program runs for as long as its stdin is open and prints one frame per probe and beat:

    @NONCE begin BEAT METRIC
    @NONCE open SECTION        what follows are the lines of one command, each behind a ">"
    >...
    @NONCE close EXIT
    @NONCE end BEAT

Box text stands only behind ">", so it cannot forge a frame; lines before the first frame, and any
that fit nowhere (a message of the day, a chatty shell), are noise and skipped.
"""

from __future__ import annotations

import asyncio
import math
import re
import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field

from gpu_tui.collect.probes import (
    PROBES,
    PROCESS_FUNCTIONS,
    TOO_LONG,
    Probe,
    Section,
    Sections,
    Target,
    read,
    silence,
    target_of,
)
from gpu_tui.collect.shell import quote_path
from gpu_tui.core.clock import Clock
from gpu_tui.core.events import Sampled
from gpu_tui.core.fleet import Instance
from gpu_tui.core.ports import Sink
from gpu_tui.core.sample import Failure, FailureKind
from gpu_tui.transport.base import Connection

MAX_LINE = 65_536
MAX_SECTION = 1_048_576
MAX_SECTIONS = 256
GRACE = 4.0  # seconds of slowness (a busy box, a slow link) that are not yet a hang

PRELUDE = r"""
say() { printf '\n@NONCE %s\n' "$*" || exit 0; }
open() { say open "$1"; }
close() { say close "$1"; }

# Run a command and send what it prints: ask NAME COMMAND... Leaves its text in $out, its exit in $code.
ask() {
    section=$1
    shift
    out=$("$@" 2>&1)
    code=$?
    [ ${#out} -le MOST ] || { out= code=TOO_LONG; }
    open "$section"
    [ -z "$out" ] || printf '%s\n' "$out" | sed 's/^/>/'
    close "$code"
}

# Send a small kernel file without a fork: lines KEY FILE [NAME]; with NAME only the line called so.
lines() {
    [ -r "$2" ] || return 0
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in
            ${3:+"$3 "}*)
                printf '>%s %s\n' "$1" "$line"
                [ -z "$3" ] || break ;;
        esac
        line=
    done <"$2"
}

# One line of our own making: tell KEY TEXT, cut at the first line end of the text.
newline='
'
tell() { printf '>%s %s\n' "$1" "${2%%"$newline"*}"; }

quiet() { "$@" 2>/dev/null; }
untimed() { shift; "$@"; }

# The beginning of a regular file: content BYTES FILE.
content() {
    if [ -f "$2" ] && [ -r "$2" ]; then
        $within 4 head -c "$(($1 + 1))" -- "$2"
    elif [ -e "$2" ]; then
        return 77
    else
        return 66
    fi
}

# Our own path in a hierarchy, from $proc/self/cgroup: own 2, or own CONTROLLER.
own() {
    [ -r "$proc/self/cgroup" ] || return 0
    while IFS=: read -r number names path; do
        case $1:$number:,$names, in
            2:0:,, | [!2]*:*,"$1",*)
                case $path in *..* | /) ;; *) printf '%s' "$path" ;; esac
                return ;;
        esac
    done <"$proc/self/cgroup"
}

# The nearest cgroup, from ours outwards, that sets a limit in FILE; else the root as it is mounted.
bound() { # ROOT OWN FILE
    at=$2
    while :; do
        if [ -r "$1$at/$3" ] && IFS= read -r limit <"$1$at/$3"; then
            case $limit in
                '' | max* | -* | 92233720368547*) ;;
                *) printf '%s' "$1$at"; return ;;
            esac
        fi
        [ -n "$at" ] || break
        at=${at%/*}
    done
    printf '%s' "$1"
}

first() { for at in "$@"; do [ ! -d "$at" ] || break; done; printf '%s' "$at"; }

setup() {
    LC_ALL=C
    PATH=$PATH:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/nvidia/bin:/usr/lib/wsl/lib
    export LC_ALL PATH
    renice -n 10 -p $$ >/dev/null
    if timeout -k 1 5 true; then within='timeout -k 1'
    elif timeout 5 true; then within=timeout
    elif timeout -t 5 true; then within='timeout -t'
    else within=untimed; fi
    sleep 0.01 || pause=${pause%.*}
    [ "$pause" != 0 ] && [ -n "$pause" ] || pause=1
}
"""
CGROUP_SETUP = r"""
    hostname=$(hostname || uname -n)
    mem2=$(bound "$cgroup" "$(own 2)" memory.max)
    cpu2=$(bound "$cgroup" "$(own 2)" cpu.max)
    mem1=$(bound "$cgroup/memory" "$(own memory)" memory.limit_in_bytes)
    cpu1=$(bound "$(first "$cgroup/cpu,cpuacct" "$cgroup/cpu")" "$(own cpu)" cpu.cfs_quota_us)
    acct1=$(first "$cgroup/cpu,cpuacct" "$cgroup/cpuacct")
    [ ! -r "$acct1$(own cpuacct)/cpuacct.usage" ] || acct1=$acct1$(own cpuacct)
"""
# The client's stdin is our lifeline: at its end (the client left, however) the whole program goes.
# The minus kills our process group where we lead one, as under sshd; else only this shell.
MAIN = r"""
main() {
    exec 3<&0 </dev/null 2>/dev/null
    ( exec >/dev/null; cat <&3; kill -s KILL -- "-$$" || kill -s KILL "$$" ) &
    exec 3<&-
    pause=@PAUSE@
    proc=@PROC@
    cgroup=@CGROUP@
    mig=
    setup@SETUP@
    n=0
    while :; do@BEATS@
        n=$((n + 1))
        sleep "$pause" >/dev/null || exit 1
    done
}
main; exit
"""


@dataclass(frozen=True, slots=True)
class Group:
    """One program for one start. `period` is the beat in seconds; `patience` how long it may be silent."""

    name: str
    program: str
    nonce: str
    period: float
    patience: float
    target: Target
    probes: tuple[Probe, ...]

    def beat_of(self, probe: Probe) -> float:
        """The seconds between two answers of a probe."""
        return _stride(probe, self.period) * self.period


@dataclass(frozen=True, slots=True)
class Frame:
    """One probe's answer, whole. `beat` counts from 0 since the program started."""

    beat: int
    metric: str
    sections: Sections


def plan(instance: Instance, profile_mounts: tuple[str, ...] = ()) -> tuple[Group, ...]:
    """The programs to run on this box, one channel each, with a fresh nonce each."""
    target = target_of(instance, profile_mounts)
    groups = dict.fromkeys(probe.group for probe in PROBES)
    planned = (_group(name, target) for name in groups)
    return tuple(group for group in planned if group is not None)


def _group(name: str, target: Target) -> Group | None:
    snippets = {p: p.snippet(target) for p in PROBES if p.group == name}
    snippets = {probe: text for probe, text in snippets.items() if text}
    if not snippets:
        return None
    nonce = secrets.token_hex(8)
    fastest = min(probe.every for probe in snippets)
    period = max(target.instance.poll, fastest)
    functions = "".join(
        f"\nprobe_{p.metric}() {{\n    say begin $n {p.metric}{text}    say end $n\n}}\n"
        for p, text in snippets.items()
    )
    beats = "".join(
        f"\n        [ $((n % {_stride(p, period)})) != 0 ] || probe_{p.metric}" for p in snippets
    )
    main = (
        MAIN.replace("@PAUSE@", f"{period:.2f}".rstrip("0").rstrip("."))
        .replace("@SETUP@", CGROUP_SETUP if name == "box" else "")
        .replace("@BEATS@", beats)
        .replace("@PROC@", quote_path(target.instance.roots.proc))
        .replace("@CGROUP@", quote_path(target.instance.roots.cgroup))
    )
    prelude = PRELUDE.replace("NONCE", nonce).replace("MOST", str(MAX_SECTION))
    prelude = prelude.replace("TOO_LONG", str(TOO_LONG))
    program = prelude + PROCESS_FUNCTIONS + functions + main
    slowest = max(probe.limit_seconds for probe in snippets)
    longest = min(_stride(p, period) for p in snippets) * period
    return Group(name, program, nonce, period, longest + slowest + GRACE, target, tuple(snippets))


def _stride(probe: Probe, period: float) -> int:
    """Every how many beats a probe is asked."""
    return max(1, math.floor(probe.every / period + 0.5))


@dataclass(slots=True)
class _Draft:
    """A frame while its lines come in."""

    beat: int
    metric: str
    sections: dict[str, Section] = field(default_factory=dict)
    open: str | None = None
    body: bytearray = field(default_factory=bytearray)
    truncated: bool = False


class FrameReader:
    """Bytes in any chunks -> whole frames. Holds at most one line and one frame of bounded size."""

    _BEGIN = re.compile(rb"begin ([0-9]{1,12}) ([a-z]{1,32})")
    _OPEN = re.compile(rb"open ([a-z0-9.]{1,32})")
    _CLOSE = re.compile(rb"close ([0-9]{1,3})")

    def __init__(self, group: Group) -> None:
        self._mark = f"@{group.nonce} ".encode()
        self._known = {probe.metric for probe in group.probes}
        self._line = bytearray()
        self._cut = False  # the rest of an overlong line is being skipped
        self._draft: _Draft | None = None

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that this chunk completes, in order."""
        frames = []
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._collect(chunk[start:end])
            frame = self._take(bytes(self._line))
            if frame is not None:
                frames.append(frame)
            self._line.clear()
            self._cut = False
            start = end + 1
        self._collect(chunk[start:])
        return frames

    def _collect(self, part: bytes) -> None:
        room = MAX_LINE - len(self._line)
        self._line += part[:room]
        self._cut = self._cut or len(part) > room

    def _take(self, line: bytes) -> Frame | None:
        draft = self._draft
        if line.startswith(b">"):
            if draft is not None and draft.open is not None:
                self._append(draft, line[1:])
            return None
        if not line.startswith(self._mark):
            return None
        word = line[len(self._mark) :]
        if match := self._BEGIN.fullmatch(word):
            metric = match.group(2).decode()
            self._draft = _Draft(int(match.group(1)), metric) if metric in self._known else None
        elif draft is None:
            return None
        elif match := self._OPEN.fullmatch(word):
            draft.open, draft.body, draft.truncated = match.group(1).decode(), bytearray(), False
        elif match := self._CLOSE.fullmatch(word):
            if draft.open is not None and len(draft.sections) < MAX_SECTIONS:
                done = Section(bytes(draft.body), int(match.group(1)), draft.truncated)
                draft.sections[draft.open] = done
            draft.open = None
        elif word == f"end {draft.beat}".encode():
            self._draft = None
            return Frame(draft.beat, draft.metric, draft.sections)
        return None

    def _append(self, draft: _Draft, text: bytes) -> None:
        if self._cut or len(draft.body) + len(text) + 1 > MAX_SECTION:
            draft.truncated = True
        else:
            draft.body += text + b"\n"


def samples(group: Group, frame: Frame, taken_at: float) -> list[Sampled]:
    """The events that one frame stands for."""
    name = group.target.instance.name
    return [
        Sampled(
            name,
            taken_at,
            probe.metric,
            read(probe, group.target, frame.sections, taken_at, group.beat_of(probe)),
        )
        for probe in group.probes
        if probe.metric == frame.metric
    ]


async def sample_group(
    connection: Connection, instance: Instance, group: Group, sink: Sink, clock: Clock
) -> None:
    """Run one group until its program on the box ends; what it says becomes events.

    Silence longer than the group's patience is reported for each of its metrics, again and again;
    the channel stays open, because a driver or a mount may come back. A lost connection raises
    LinkError.
    """
    name = instance.name
    async with (
        connection.stream(group.program) as chunks,
        aclosing(_frames(chunks, group)) as beats,
    ):
        async for frames in beats:
            now = clock.now()
            for frame in frames or ():
                for event in samples(group, frame, now):
                    sink(event)
            if frames is None:
                for probe in group.probes:
                    sink(
                        Sampled(name, now, probe.metric, silence(probe, now, group.beat_of(probe)))
                    )
    ended = Failure(
        FailureKind.UNREAD, "the sampler on the box ended; it is started again", clock.now()
    )
    for probe in group.probes:
        sink(Sampled(name, ended.taken_at, probe.metric, ended))


async def _frames(
    chunks: AsyncIterator[bytes], group: Group
) -> AsyncGenerator[list[Frame] | None, None]:
    """Frames as they come; None each time that `patience` passed without one."""
    reader = FrameReader(group)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + group.patience
    pending = asyncio.ensure_future(anext(chunks))
    try:
        while True:
            await asyncio.wait({pending}, timeout=max(0.0, deadline - loop.time()))
            frames: list[Frame] = []
            if pending.done():
                try:
                    frames = reader.feed(pending.result())
                except StopAsyncIteration:
                    return
                pending = asyncio.ensure_future(anext(chunks))
            if frames:
                deadline = loop.time() + group.patience
                yield frames
            elif loop.time() >= deadline:
                deadline = loop.time() + group.patience
                yield None
    finally:
        pending.cancel()
        await asyncio.gather(pending, return_exceptions=True)
