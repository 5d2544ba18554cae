"""The modules of `on_box` as one text, with what this box is asked for."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import astuple
from functools import cache
from types import ModuleType

from gpu_tui.collect.on_box import cards, files, frames, lane, sample, table, threads
from gpu_tui.collect.probe import Probe
from gpu_tui.collect.probe_box import READ_FROM
from gpu_tui.collect.probe_gpu import (
    APPS_AGAIN,
    DEVICES_ROUNDS,
    LOOP_LATE,
    LOOP_ROUNDS,
    MIG_ROUNDS,
    looped,
)
from gpu_tui.core import metrics
from gpu_tui.core.idle import HELD_BYTES
from gpu_tui.parse.nvidia_smi import APPS_QUERY, FORMAT, GPU_QUERY, MIB, MIG_QUERY

MODULES: tuple[ModuleType, ...] = (frames, files, threads, lane, cards, table, sample)
CARDS, TABLE = metrics.GPUS.name, metrics.PROCESSES.name
NATIVE = frozenset({CARDS, TABLE, *READ_FROM})  # what python asks for itself; sh does the rest
# As `shell.terse`: what a reader needs is not sent, and a step of indentation is one blank.
_FOR_READERS = (
    re.compile(r"^ *from gpu_tui.*\n", re.MULTILINE),  # there it is one text
    re.compile(r'^ *"""[^"]*(?:"{1,2}(?!")[^"]*)*"""\n', re.MULTILINE),
    re.compile(r"^if TYPE_CHECKING:\n(?: .*\n|\n)*", re.MULTILINE),
    re.compile(r"^TYPE_CHECKING = False\n", re.MULTILINE),
    re.compile(r"^ *#.*\n|^\n", re.MULTILINE),
)
_STEP = re.compile(r"^(?: {4})+", re.MULTILINE)


@cache
def program() -> str:
    """All modules, one behind the other: what they import of each other is then there."""
    text = "".join(map(inspect.getsource, MODULES))
    for pattern in _FOR_READERS:
        text = pattern.sub("", text)
    return _STEP.sub(lambda indent: " " * (len(indent[0]) // 4), text)


def write_python(
    nonce: str,
    tick: float,
    asked: Mapping[Probe, tuple[int, int, int]],
    lanes: Mapping[str, tuple[int, int]],
) -> str:
    """The text for one start; its last line holds what `on_box.sample` is to do.

    `asked`: a probe of `NATIVE`, and its mark, the beats between two looks, and the looks between two answers.
    `lanes`: the name of one that sh looks after, the beats of its rounds, the beats its commands may take.
    """
    questions = [(query, FORMAT) for query in (GPU_QUERY, APPS_QUERY, MIG_QUERY)]
    plan: dict[str, object] = {"nonce": nonce, "tick": tick, "files": [], "tables": [], "cards": []}
    plan["files"] = [
        (mark, every * looks, [astuple(part) for part in READ_FROM[probe.metric]])
        for probe, (mark, every, looks) in asked.items()
        if probe.metric in READ_FROM
    ]
    plan["tables"] = [words for probe, words in asked.items() if probe.metric == TABLE]
    for probe, (mark, every, _) in asked.items():
        if probe.metric == CARDS:
            period = every * tick
            limits = mark, every, probe.limit_seconds, APPS_AGAIN, MIG_ROUNDS, DEVICES_ROUNDS
            loop = LOOP_ROUNDS, period, LOOP_LATE, HELD_BYTES // MIB
            asks = GPU_QUERY, FORMAT, looped(period)
            plan["cards"] = [(*limits, *loop, *questions, asks)]
    plan["lanes"] = [(name, *words) for name, words in lanes.items()]
    return f"{program()}\nrun({plan!r})\n"
