"""What to do next, where a rung is shut."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from gpu_tui.core.evidence import Cells, Inventory, Loaded
from gpu_tui.core.gate import NOWHERE, Gate
from gpu_tui.core.ladder import Rung
from gpu_tui.core.plain import plain
from gpu_tui.core.proof import NO_COPY, ended_ill, holds_weights, some
from gpu_tui.teardown.roster import NO_LOG
from gpu_tui.teardown.words_plan import uncopied

CELLS_MOST = 12  # names of cells in a command that a person is shown
NEXT = {
    Rung.PLAN: "correct it, then open the ladder again",
    Rung.QUIESCE: "wait for it or end it, then open the ladder again",
    Rung.MANIFEST: "look at these files on the box, or abandon them",
    Rung.PULL: "open the ladder again: what is here already is kept",
    Rung.MATCH: "open the ladder again to pull the rest, or abandon what is missing",
    Rung.LOAD: "keep the file, look for the checkpoint before it, or abandon it",
    Rung.CONFIRM: "open the ladder again",
    Rung.ACT: "look at the provider's console, then open the ladder again",
    Rung.READ_BACK: "look at the provider's console",
}
READER = (
    "install what reads them where gpu-tui runs (in a checkout: make demo-verify, or "
    "pip install '.[verify]'), then open the ladder again: what is here is kept"
)
ALLOW = (
    "if you know who wrote the file, allow by hand what it names; or keep it, look for the checkpoint "
    "before it, or abandon it"
)


def unread(loaded: Loaded | None) -> int:
    """Checkpoints that nothing here could read."""
    if loaded is None:
        return 0
    return sum(v.load == "skipped" and holds_weights(v) for v in loaded.verdicts)


def next_step(gate: Gate, rung: Rung, unread: int) -> str:
    """What a person can do about `rung`, which is shut. `unread` checkpoints could not be read here."""
    if rung is Rung.LOAD and gate.override_phrase:
        return READER if gate.offer and gate.offer.unread else ALLOW
    if rung is Rung.LOAD and unread:
        return READER
    pull = gate.kind == "pull"
    again = "pull again: what is here is kept" if pull else "open the ladder again"
    inventory, report = gate.of(Inventory), gate.report
    nowhere = rung is Rung.PLAN and gate.because == NOWHERE
    nothing = inventory and not (inventory.manifest.files or inventory.refused)
    if nowhere or (rung is Rung.MANIFEST and nothing):
        return (
            f"correct results.remote in the fleet file or wait for the first result, then {again}"
        )
    if rung is Rung.MATCH and report and report.ok:
        give_up = "" if pull else "; or abandon them"
        return f"{_next_cells(inventory.cells if inventory else None, gate, again)}{give_up}"
    if rung is Rung.MATCH and report and report.unexpected:
        return f"move what is not on the box out of results.local, then {again}"
    return f"correct it and {again}" if pull else NEXT[rung]


def _next_cells(cells: Cells | None, gate: Gate, again: str) -> str:
    """What lets the roster show that every cell is among the files."""
    covered = gate.covered
    if cells is None or covered is None:
        return f"name the cells as results.cells in the fleet file, or a queue file on the box that lists them as queue.file (gpu-tui help fleet), then {again}"
    lacking = {name for name, _ in covered.incomplete}
    not_done = {name for name, state in cells.unfinished if state != NO_LOG}
    if cells.names and not lacking and not cells.doubtful:
        return f"name every cell as results.cells in the fleet file (gpu-tui help fleet), or move what is none out of results.remote, then {again}"
    if cells.names and not lacking:
        return (
            f"name every cell as results.cells in the fleet file (gpu-tui help fleet), then {again}"
        )
    if lacking and lacking == set(cells.names) and not not_done:
        return f"name what your cells leave as results.artifacts (gpu-tui help fleet), or let them leave those files, then {again}"
    if lacking and not lacking & not_done:
        step = f"let these cells leave those files, or name what yours leave as results.artifacts (gpu-tui help fleet), then {again}"
    elif unsynced := [n for n, state in cells.unfinished if state == NO_COPY and n in lacking]:
        step = f"{uncopied(cells, unsynced)}; then {again}"
        if rest := lacking - set(unsynced):
            step = f"{step}. The others ({some(sorted(rest))}): let them end well"
    elif gate.kind == "pull" and ended_ill(cells, covered):
        step = f"let those cells end well, then {again}; a teardown (t) lets you accept by name that they left nothing"
    else:
        step = f"let those cells end well, then {again}"
    return _with_others(step, gate, [name for name in cells.names if name not in lacking])


def _with_others(step: str, gate: Gate, whole: Sequence[str]) -> str:
    """The step, and the command for the cells that lack nothing; a teardown takes all or none."""
    if gate.kind != "pull" or gate.only or not whole:
        return step
    named = ",".join(whole) if len(whole) <= CELLS_MOST else ",".join([*whole[:2], "…"])
    command = shlex.join(["gpu-tui", "pull", gate.instance, "--cells", named])
    return f"{step}; or pull the others alone: {plain(command, 300)}"
