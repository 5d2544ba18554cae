"""Keeps in the history the shells that ran queues as last seen. After a shell's death nothing on the box shows its
arguments, its directory and its position in the list.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

from gpu_tui.core.fleet import Instance
from gpu_tui.state.history import History
from gpu_tui.state.runs_before import box_of

RUNNER, LOOPS, WAITS = "runner", "loops", "waits"  # counters
LOOPS_KEPT = 16
NAMES_KEPT = 8
LONGEST = 20_000  # characters of what is kept
ROUNDED = 5.0  # seconds: two clocks may give one start different times


@dataclass(frozen=True, slots=True)
class Runner:
    """A runner's arguments, its directory and the file of its own output; None if they were not read."""

    argv: tuple[str, ...]
    cwd: str | None = None
    log: str | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of `runner` that read the list `path`: `pos` of `size` bytes were read, last the `line` of the training
    with PID `trainer`, which began at `began` (box's clock).
    """

    runner: Runner
    path: str
    pos: int
    size: int
    line: str
    trainer: int
    began: float

    def is_of(self, pid: int, began: float) -> bool:
        """Whether this process is the loop's training."""
        return self.trainer == pid and abs(self.began - began) <= ROUNDED


@dataclass(frozen=True, slots=True)
class Waits:
    """Names of jobs that ran and that waited in the list of a server (task-spooler, pueue); `more` others waited."""

    runs: tuple[str, ...]
    left: tuple[str, ...]
    more: int = 0


class RunnersKept:
    """Writes the runners of one box to the history and reads them back."""

    def __init__(self, history: History, instance: Instance) -> None:
        self._history, self._name, self._box = history, instance.name, box_of(instance)
        self._runner: Runner | None = None
        self._loops: tuple[Loop, ...] = ()
        self._waits: dict[str, Waits] = {}
        self._asked = False

    @property
    def runner(self) -> Runner | None:
        """The last known runner of the named queue of this box; None if nothing valid is kept."""
        self._read()
        return self._runner

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The last known loops that no setting named."""
        self._read()
        return self._loops

    def waits(self, server: str) -> Waits | None:
        """The jobs that ran and waited when the list of `server` was last read; None if none waited."""
        self._read()
        return self._waits.get(server)

    def keep_waits(self, server: str, runs: Sequence[str], left: Sequence[str], at: float) -> None:
        """Keep the list of `server` as it was read at `at`."""
        more = max(0, len(left) - NAMES_KEPT)
        told = Waits(tuple(runs[:NAMES_KEPT]), tuple(left[:NAMES_KEPT]), more)
        if told == self.waits(server) or not (told.left or self._waits.get(server)):
            return
        waits = {**self._waits, server: told}
        if self._write(WAITS, {name: astuple(one) for name, one in waits.items()}, at):
            self._waits = waits

    def keep(self, runner: Runner, at: float) -> None:
        """Keep the runner of the named queue as it was seen at `at`."""
        if runner != self.runner and self._write(RUNNER, astuple(runner), at):
            self._runner = runner

    def keep_loops(self, loops: Sequence[Loop], at: float) -> None:
        """Keep all loops as they were seen at `at`. A loop kept before keeps the time of its start."""
        known = {(loop.trainer, loop.path): loop for loop in self.loops}
        told = []
        for loop in loops[:LOOPS_KEPT]:
            old = known.get((loop.trainer, loop.path))
            same = old is not None and old.is_of(loop.trainer, loop.began)
            told.append(replace(loop, began=old.began) if old is not None and same else loop)
        rows = tuple(told)
        if rows != self.loops and self._write(LOOPS, [astuple(loop) for loop in rows], at):
            self._loops = rows

    def _write(self, counter: str, row: object, at: float) -> bool:
        text = json.dumps([self._box, row])
        if len(text) > LONGEST:
            return False
        self._history.set_counter(self._name, counter, text, at)
        return True

    def _read(self) -> None:
        if self._asked:
            return
        self._asked = True
        self._runner = _runner(self._row(RUNNER))
        rows = self._row(LOOPS)
        loops = [_loop(row) for row in rows[:LOOPS_KEPT]] if isinstance(rows, list) else []
        self._loops = tuple(loop for loop in loops if loop is not None)
        served = self._row(WAITS)
        for name, row in (served if isinstance(served, dict) else {}).items():
            match row:
                case [[*runs], [*left], int(more)]:
                    self._waits[name] = Waits(tuple(map(str, runs)), tuple(map(str, left)), more)

    def _row(self, counter: str) -> object:
        try:
            box, row = json.loads(self._history.counter(self._name, counter) or "[]")
        except (ValueError, TypeError):
            return None
        return row if box == self._box else None


def _runner(row: object) -> Runner | None:
    match row:
        case [[_, *_] as argv, str() | None as cwd, str() | None as log]:
            return Runner(tuple(map(str, argv)), cwd, log)
    return None


def _loop(row: object) -> Loop | None:
    match row:
        case [whose, str(path), int(pos), int(size), str(line), int(pid), float(began)]:
            runner = _runner(whose)
            return None if runner is None else Loop(runner, path, pos, size, line, pid, began)
    return None
