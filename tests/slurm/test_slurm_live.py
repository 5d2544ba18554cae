"""The cockpit's own watching of a real Slurm, through a real sshd: jobs, logs, findings, verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from boxes import Sshd
from slurm_lab import Slurm

from gpu_tui.core.fleet import Fleet, SchedulerScope
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.core.verdict import Verdict
from gpu_tui.state.settled import settled
from gpu_tui.state.views import InstanceView
from gpu_tui.wiring import Room, Tap, open_fleet

pytestmark = pytest.mark.usefixtures("hurried")

TRAIN = """
echo "Epoch 3/20 loss: 0.512"
while sleep 1; do printf ' 45%%|####      | 450/1000 [00:45<00:55, 10.00it/s]\\r' >&2; done
"""


async def until(room: Room, tap: Tap, fits: Callable[[InstanceView], bool]) -> InstanceView:
    """The first view that fits; the last one is told where none does."""
    view = room.store.view(room.clock.now())["login"]
    try:
        async with asyncio.timeout(60):
            while not fits(view):
                await tap.next(1.0)
                view = room.store.view(room.clock.now())["login"]
    except TimeoutError:
        cells = [
            f"{cell.name} {cell.state} {cell.epoch} {cell.step} {cell.why}"
            for cell in view.queue.cells
        ]
        logs = [f"{log.source} {log.end} {log.error}" for log in view.logs]
        raise AssertionError(f"{view.because} {cells} {logs}") from None
    return view


def rows(view: InstanceView) -> dict[str, Cell]:
    return {cell.job or "": cell for cell in view.queue.cells}


async def test_a_login_node_shows_the_jobs_their_logs_and_what_befell_them(
    slurm: Slurm, login_node: Sshd, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    out, err = f"{logs}/%x-%j.out", f"{logs}/%x-%j.err"
    train = slurm.submit(TRAIN, "-t", "10", "-o", out, "-e", err, name="train a|b ü")
    twin = slurm.submit(TRAIN, "-t", "10", "-o", out, name="train a|b ü")
    array = slurm.submit(TRAIN, "-t", "5", "--array=3-9%2", "-o", f"{logs}/arr-%A_%a.out")
    waits = slurm.submit(TRAIN, f"--dependency=afterok:{train}", name="waits")
    held = slurm.submit(TRAIN, "--hold", name="held")
    fails = slurm.submit("echo 'RuntimeError: no'; exit 3", "-o", out, name="fails")
    never = slurm.submit("true", f"--dependency=afterok:{fails}", name="never")
    killed = slurm.submit("kill -9 $$", "-o", out, name="two\nlines")

    def told_of_all(view: InstanceView) -> bool:
        seen = rows(view)
        if not {train, fails, killed, never} <= seen.keys():
            return False
        told = seen[train].loss is not None and seen[train].steps is not None
        tasks = [cell for id, cell in seen.items() if id.startswith(f"{array}_")]
        begun = sum(cell.state is CellState.RUNNING for cell in tasks) == 2
        over = seen[killed].state is CellState.FAILED and seen[never].finding is not None
        return told and begun and over and view.verdict is Verdict.RUNNING

    fleet = Fleet("sweep", (login_node.instance("login", platform="slurm", scheduler="slurm"),))
    async with open_fleet(fleet, read_only=True, state=tmp_path / "state") as (room, tap):
        view = await until(room, tap, told_of_all)
        seen = rows(view)
        assert seen[train].state is CellState.RUNNING
        # Epochs from stdout, steps from stderr: one job, two logs.
        assert (seen[train].epoch, seen[train].epochs, seen[train].loss) == (3, 20, 0.512)
        assert (seen[train].step, seen[train].steps) == (450, 1000)
        assert seen[train].name != seen[twin].name  # two jobs of one name stay two rows
        tasks = {id: cell for id, cell in seen.items() if id.startswith(f"{array}_")}
        assert {id.partition("_")[2] for id in tasks} == {"3", "4", "5", "6", "7", "8", "9"}
        assert "no more tasks" in (tasks[f"{array}_9"].why or "")
        assert (seen[waits].state, seen[held].state) == (CellState.PENDING, CellState.PENDING)
        assert f"afterok:{train}" in (seen[waits].why or "")
        assert "held by its user" in (seen[held].why or "")
        assert (seen[never].state, seen[never].finding) == (CellState.SKIPPED, "missing_cell")
        assert (seen[fails].state, seen[fails].exit_code) == (CellState.FAILED, 3)
        assert "signal 9" in (seen[killed].why or "")
        assert "\n" not in seen[killed].name
        # Its log's name has a line end in it: it is not followed, and no other file in its place.
        assert seen[killed].name not in {log.source.cell for log in view.logs}
        assert view.verdict is Verdict.RUNNING
        assert {"idle_billing", "stalled"}.isdisjoint(finding.kind for finding in view.findings)
        crashes = {finding.cell for finding in view.findings if finding.kind == "crashed"}
        assert {seen[fails].name, seen[killed].name} <= crashes
        paths = {log.source.path for log in view.logs if log.source.cell == seen[train].name}
        assert paths == {f"{logs}/train a|b ü-{train}.out", f"{logs}/train a|b ü-{train}.err"}

        # It is put back and may not start at once: it waits, and says how often it was put back.
        slurm.run("scontrol", "requeuehold", train)
        view = await until(room, tap, lambda view: "restarted" in (rows(view)[train].why or ""))
        assert rows(view)[train].state is CellState.PENDING

        # A file that grows is tailed as it grows.
        with (logs / f"arr-{array}_3.out").open("a") as log:
            log.write("Epoch 4/20 loss: 0.4\n")
        view = await until(room, tap, lambda view: rows(view)[f"{array}_3"].epoch == 4)

        slurm.run("scancel", twin)
        view = await until(room, tap, lambda view: rows(view)[twin].state is CellState.SKIPPED)
        assert "CANCELLED" in (rows(view)[twin].why or "")
        slurm.run("scancel", train, array, waits, held, never)


async def test_the_jobs_of_another_user_are_shown_by_name_alone(
    slurm: Slurm, login_node: Sshd, tmp_path: Path
) -> None:
    job = slurm.submit("sleep 300", name="mine")
    scope = SchedulerScope(user="nobody")
    box = login_node.instance("login", scheduler="slurm", scheduler_scope=scope)
    async with open_fleet(Fleet(None, (box,)), state=tmp_path / "state") as (room, tap):
        view = await until(room, tap, lambda view: "lists no job" in view.because[0])
        assert (view.verdict, view.queue.cells) == (Verdict.IDLE, ())
        assert {finding.kind for finding in view.findings} == set()
    slurm.run("scancel", job)


async def test_a_box_without_slurm_says_so(make_box: Callable[..., Sshd], tmp_path: Path) -> None:
    plain = make_box("plain")
    plain.program("squeue", "#!/bin/sh\nexit 127\n")
    box = plain.instance("login", scheduler="slurm")
    async with open_fleet(Fleet(None, (box,)), state=tmp_path / "state") as (room, tap):
        view = await until(room, tap, lambda view: "login node" in view.because[0])
        # With no file named to watch, one look at it comes to its end all the same.
        view = await until(room, tap, settled)
        assert view.verdict is Verdict.CANNOT_TELL
