"""The sh program that samples one box: one main loop and, beside it, a lane for whatever may hang.

Its text is in `box/*.sh`, which run under any POSIX sh. This module puts together the files that a box needs: first the
settings as assignments of quoted words, then the files, then the rounds of each lane, which say which
probes are asked at which beats.

What it costs, apart from the probed programs themselves, in processes per second: 0 for the clock where `read` has a
time limit or the client gives the beat, otherwise 1 (`sleep`); 1 for each `stat`, `df`, `head`, `date` per round; 1 for a round of
the process table, and 4 for the arguments where processes came or went.

Nothing is written on the box. ksh keeps the output of a command substitution in a file of /dev/shm that it unlinks at once.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from gpu_tui.collect.frames import MAX_SECTION
from gpu_tui.collect.probe import MISSING_FILE, TOO_LONG, UNREADABLE_FILE, Probe
from gpu_tui.collect.probe_gpu import loop_settings
from gpu_tui.collect.shell import quote_path, terse
from gpu_tui.core import metrics
from gpu_tui.core.fleet import Roots
from gpu_tui.parse.devices import list_devices

TICK_MAX_SECONDS = 2.0  # between two looks at the lanes
PIECE_BYTES = 3900  # of a line that go out at once, with room for its mark below PIPE_BUF (4096)
MAIN_LANE = "box"
SELDOM_SECONDS = 10.0  # between two looks whether a lane lives, where it has a clock of its own
QUIET = 30  # seconds between two signs of life where only the client gives beats
LEVELS = 8  # nested cgroups with a limit of their own

FIRST = ("frame", "command", "cgroup", "vitals")  # what the first look needs
REST = ("clock", "lanes", "main")


@cache
def script(name: str) -> str:
    """The text of one file of the program, without what is for readers."""
    if name == "devices":  # the teardown's, too
        return terse(list_devices())
    return terse((files("gpu_tui.collect") / "box" / f"{name}.sh").read_text("utf-8"))


def tick_of(poll: float) -> float:
    """Seconds between two beats of the main loop, which also looks after the lanes."""
    return poll / max(1, math.ceil(poll / TICK_MAX_SECONDS))


def stride_of(probe: Probe, poll: float) -> int:
    """Every how many beats of the main loop a probe is asked."""
    return max(1, math.floor(max(probe.every, poll) / tick_of(poll) + 0.5))


def look_of(probe: Probe, poll: float) -> int:
    """Every how many beats it is looked whether a probe is to be asked."""
    soon = max(probe.soon or probe.every, poll)
    return max(1, math.floor(soon / tick_of(poll) + 0.5))


def _turn(probe: Probe, poll: float, own: int) -> str:
    """The sh condition on which a probe is asked; its lane has a beat every `own` of the main loop's."""
    rounds = max(1, round(stride_of(probe, poll) / own))
    if probe.soon:
        return f"worth {rounds}"
    return ":" if rounds == 1 else f"turn {rounds}"


def write_program(snippets: Mapping[Probe, str], poll: float, nonce: str, roots: Roots) -> str:
    """The whole text for one start. A probe's mark is its place in `snippets`.

    Its first third looks at the box once before the rest has come: on a far and narrow line that takes seconds.
    """
    tick = tick_of(poll)
    marks = {probe: mark for mark, probe in enumerate(snippets)}
    rounds: dict[str, str] = {}
    lanes = []
    for name in dict.fromkeys((MAIN_LANE, *(probe.lane for probe in snippets))):
        mine = [probe for probe in snippets if probe.lane == name]
        own = 1 if name == MAIN_LANE else min(look_of(probe, poll) for probe in mine)
        asked = "".join(
            f"if {_turn(probe, poll, own)}; then\n"
            f"begin {marks[probe]}\n{snippets[probe].strip()}\nfinish\nfi\n"
            for probe in mine
        )
        rounds[name] = f"round_{name}() {{\n:\n{asked}}}\n"
        if name != MAIN_LANE:
            limit = max(1, round(max(probe.limit_seconds for probe in mine) / tick))
            lanes.append(f"{name}:{own}:{limit}:{_number(own * tick)}")
    values: dict[str, object] = {
        "nonce": nonce,
        "piece": PIECE_BYTES,
        "most": MAX_SECTION,
        "too_long": TOO_LONG,
        "missing_file": MISSING_FILE,
        "unreadable_file": UNREADABLE_FILE,
        "levels_most": LEVELS,
        "tick": _number(tick),
        "seldom": max(1, round(SELDOM_SECONDS / tick)),
        "quiet": QUIET,
        "lanes": " ".join(lanes),
    }
    for probe in snippets:
        if probe.metric == metrics.GPUS.name:
            values |= loop_settings(stride_of(probe, poll) * tick, tick)
    places = {"proc": roots.proc, "cgroup": roots.cgroup, "sys": roots.sys, "dev": roots.dev}
    names = dict.fromkeys(name for probe in snippets for name in probe.scripts)
    return "".join(
        (
            "unset BASH_ENV ENV\n",
            *(f"{name}={shlex.quote(str(value))}\n" for name, value in values.items()),
            *(f"{name}={quote_path(path)}\n" for name, path in places.items()),
            *map(script, FIRST),
            rounds.pop(MAIN_LANE),
            "first_look </dev/null 2>/dev/null\n",
            *map(script, (*names, *REST)),
            *rounds.values(),
            "main; exit\n",  # one line: what followed would be read as if the client had sent it
        )
    )


def _number(seconds: float) -> str:
    return f"{seconds:.2f}".rstrip("0").rstrip(".")
