"""Ends that take Slurm itself half a minute, and a controller that goes away: the nightly part."""

from __future__ import annotations

import asyncio
import os
import pwd
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from boxes import Sshd
from slurm_accounts import AccountingSlurm
from slurm_lab import CONF, Slurm, pause, started

from gpu_tui.collect import probe_slurm
from gpu_tui.core.findings import Severity
from gpu_tui.core.fleet import Fleet, ProviderAccess, SchedulerScope
from gpu_tui.core.mask import Mask
from gpu_tui.core.sweep import Cell, CellState
from gpu_tui.core.verdict import Verdict
from gpu_tui.providers.base import Means
from gpu_tui.providers.slurm import Slurm as Provided
from gpu_tui.state.patrol import since_json
from gpu_tui.state.report import handover
from gpu_tui.state.views import InstanceView
from gpu_tui.wiring import Room, Tap, open_fleet
from gpu_tui.wiring.once import collect_once
from gpu_tui.wiring.patrol import turn_over
from gpu_tui.wiring.programs import on_box

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(
        not os.environ.get("GPU_TUI_NIGHTLY"), reason="only in the nightly run (GPU_TUI_NIGHTLY=1)"
    ),
    pytest.mark.usefixtures("hurried"),
    pytest.mark.timeout(180),
]
EAT = "python3 -c 'b = []\nwhile True: b.append(bytearray(1 << 24)); __import__(\"time\").sleep(0.05)'"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Slurm]:
    """A cluster of the test's own, which it may break."""
    conf = CONF.replace("CR_Core", "CR_Core_Memory\nDefMemPerCPU=500") + "SlurmdTimeout=8\n"
    yield from started(Slurm(tmp_path / "own", conf))


@pytest.fixture
def booked(tmp_path: Path) -> Iterator[Slurm]:
    """A cluster that keeps accounts."""
    yield from started(AccountingSlurm(tmp_path / "booked"))


@asynccontextmanager
async def watched(box: Sshd, state: Path) -> AsyncIterator[tuple[Room, Tap]]:
    login = box.instance("login", platform="slurm", scheduler="slurm")
    async with open_fleet(Fleet(None, (login,)), state=state) as (room, tap):
        yield room, tap


async def until(
    room: Room, tap: Tap, fits: Callable[[InstanceView], bool], name: str = "login"
) -> InstanceView:
    view = room.store.view(room.clock.now())[name]
    try:
        async with asyncio.timeout(90):
            while not fits(view):
                await tap.next(1.0)
                view = room.store.view(room.clock.now())[name]
    except TimeoutError:
        cells = [f"{cell.name} {cell.state} {cell.why}" for cell in view.queue.cells]
        raise AssertionError(f"{view.because} {cells}") from None
    return view


def cell_of(view: InstanceView, job: str) -> Cell | None:
    return next((cell for cell in view.queue.cells if cell.job == job), None)


def ended(job: str, state: CellState = CellState.FAILED) -> Callable[[InstanceView], bool]:
    return lambda view: (cell := cell_of(view, job)) is not None and cell.state is state


def kinds(view: InstanceView, job: str) -> set[str]:
    cell = cell_of(view, job)
    return {one.kind for one in view.findings if cell is not None and one.cell == cell.name}


def evidence(view: InstanceView, job: str) -> str:
    cell = cell_of(view, job)
    return " ".join(one.evidence for one in view.findings if cell and one.cell == cell.name)


async def test_a_time_limit_a_preemption_and_too_much_memory(
    own: Slurm, make_box: Callable[..., Sshd], tmp_path: Path
) -> None:
    late = own.submit("echo 'Epoch 7/60'; sleep 300", "-t", "1", name="late")
    eats = own.submit(f"{EAT} 2>&1", "--mem", "64", "-t", "5", name="eats")
    async with watched(make_box("login", env=own.env), tmp_path / "state") as (room, tap):
        await until(room, tap, ended(late, CellState.RUNNING))
        own.run("scontrol", "update", f"JobId={late}", "EndTime=now")
        view = await until(room, tap, ended(eats))
        assert "signal 9" in (getattr(cell_of(view, eats), "why", None) or "")
        view = await until(room, tap, lambda view: "host_oom" in kinds(view, eats))  # its stderr
        spot = own.submit("sleep 300", "-p", "spot", "-n", "7", "--no-requeue", name="spot")
        await until(room, tap, ended(spot, CellState.RUNNING))
        own.submit("sleep 300", "-n", "8", name="first")
        view = await until(room, tap, ended(late))
        view = await until(room, tap, lambda view: "DUE TO TIME LIMIT" in evidence(view, late))
        assert kinds(view, late) == {"time_limit"}
        view = await until(room, tap, ended(spot))
        assert kinds(view, spot) == {"preempted"}


async def test_a_controller_that_goes_and_comes_back(
    own: Slurm, make_box: Callable[..., Sshd], tmp_path: Path
) -> None:
    job = own.submit("sleep 300", name="runs")
    async with watched(make_box("login", env=own.env), tmp_path / "state") as (room, tap):
        view = await until(room, tap, ended(job, CellState.RUNNING))
        own.stop_controller()
        view = await until(room, tap, lambda view: "does not answer" in view.because[0])
        assert view.verdict is Verdict.CANNOT_TELL
        cell = cell_of(view, job)
        assert cell is not None
        assert cell.state is CellState.CANNOT_TELL
        assert "not heard of" in (cell.why or "")
        own.start_controller()
        await until(room, tap, ended(job, CellState.RUNNING))


async def test_a_node_that_dies(own: Slurm, make_box: Callable[..., Sshd], tmp_path: Path) -> None:
    job = own.submit("sleep 300", "--no-requeue", name="runs")
    async with watched(make_box("login", env=own.env), tmp_path / "state") as (room, tap):
        await until(room, tap, ended(job, CellState.RUNNING))
        own.kill_node()
        view = await until(room, tap, ended(job))
        assert kinds(view, job) == {"hardware"}


async def test_jobs_that_left_the_queue_are_known_from_the_accounts(
    booked: Slurm, make_box: Callable[..., Sshd], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_slurm, "ACCOUNT_BEATS", 1)
    failed = booked.submit("exit 3", name="a@b|c\nd")
    array = booked.submit("true", "--array=1-2", name="tasks")
    dropped = booked.submit("sleep 300", name="dropped")
    while booked.run("squeue", "-h", "-j", dropped, "-o", "%T") != "RUNNING":
        pass
    booked.run("scancel", dropped)
    while booked.run("squeue", "-h", "-t", "all", "-o", "%i"):
        pause()  # MinJobAge is two seconds here
    async with watched(make_box("login", env=booked.env), tmp_path / "state") as (room, tap):
        view = await until(room, tap, ended(failed))
        cell = cell_of(view, failed)
        assert cell is not None
        assert (cell.exit_code, cell.why) == (3, "FAILED: exit 3")
        assert {f"{array}_1", f"{array}_2"} <= {c.job for c in view.queue.cells}
        gone = cell_of(view, dropped)
        assert gone is not None
        assert gone.state is CellState.SKIPPED
        assert "by user" in (gone.why or "")
        assert view.verdict is Verdict.FINISHED
        means = Means({}, room.clock, on_box(lambda: room.supervisor.connection("login"), "login"))
        box = replace(view.instance, provider=ProviderAccess(id=dropped))
        state = await Provided(box, means).read(dropped)
        assert (state.state, state.facts["status"]) == ("gone", "CANCELLED")


RUNS = "while ! [ -e go ]; do sleep 0.1; done"
ENDS = {
    "raises": f"echo Epoch 4/20 loss: 0.5; {RUNS}; echo 'RuntimeError: shape mismatch'; exit 1",
    "nans": f"echo Epoch 1/5 loss: nan; {RUNS}; for n in 2 3 4 5; do echo Epoch $n/5 loss: nan; done",
    "well": f"echo Epoch 1/2 loss: 0.5; {RUNS}; echo Epoch 2/2 loss: 0.4",
}


async def test_the_log_of_a_job_that_the_controller_forgot_is_read_to_its_end(
    booked: AccountingSlurm, make_box: Callable[..., Sshd], tmp_path: Path
) -> None:
    """Cron's `check`, with accounts: what it saw once stays known, also while the accounts do not answer."""
    login = make_box("login", env=booked.env).instance("login", platform="slurm", scheduler="slurm")
    fleet, state = Fleet(None, (login,)), tmp_path / "state"
    ids = {name: booked.submit(script, name=name) for name, script in ENDS.items()}
    while booked.run("squeue", "-h", "-t", "R", "-o", "%i").count("\n") < len(ids) - 1:
        pause()
    view = await collect_once(fleet, state=state)
    assert view["login"].queue.count(CellState.RUNNING) == len(ids)
    turn_over(view, state=state)
    (booked.root / "go").touch()
    while booked.run("squeue", "-h", "-t", "all", "-o", "%i"):
        pause()
    for accounts in (True, True, False):
        if not accounts:
            booked.stop_accounts()
        view = await collect_once(fleet, state=state)
        cells = {name: cell_of(view["login"], id) for name, id in ids.items()}
        told = {
            name: (cell.state, cell.epoch, cell.exit_code) for name, cell in cells.items() if cell
        }
        assert told == {
            "raises": (CellState.FAILED, 4, 1),
            "nans": (CellState.SUSPICIOUS, 5, 0),
            "well": (CellState.FINISHED, 2, 0),
        }, accounts
        assert kinds(view["login"], ids["raises"]) == {"crashed"}
        assert kinds(view["login"], ids["nans"]) == {"nan", "suspicious_end"}
        assert kinds(view["login"], ids["well"]) == set()
        text = handover(view, {}, Mask(), version="1", fleet=None)
        assert "RuntimeError: shape mismatch" in text
        last = turn_over(view, state=state)["login"]
        since = since_json(view["login"], last)
        assert since is not None
        ended = [since[name] for name in ("done", "failed", "suspicious")]
        assert ended == ([1, 1, 1] if last.done == 0 else [0, 0, 0])


TRAIN = """
for n in $(seq 7); do echo "Epoch $n/60"; done
exec sleep 300
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root submits a job as another user")
async def test_the_accounts_name_who_ended_each_attempt(
    booked: Slurm, make_box: Callable[..., Sshd], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_slurm, "ACCOUNT_BEATS", 1)
    nobody = pwd.getpwnam("nobody").pw_uid
    out = tmp_path / "out"
    out.mkdir()
    out.chmod(0o1777)
    for above in (tmp_path, *tmp_path.parents[:2]):  # pytest's own
        above.chmod(0o755)
    train = booked.root / "train.sh"
    spot = booked.submit(TRAIN, "-p", "spot", "-o", f"{out}/%j.out", name="spot")
    array = booked.submit("sleep 300", "--array=1-4", "-o", f"{out}/%A_%a.out", name="array")
    train.write_text(f"#!/bin/sh\n{TRAIN}")
    words = ("sbatch", "--parsable", f"--uid={nobody}", "-D", "/tmp", "-o", f"{out}/%j.out")
    removed = booked.run(*words, str(train))
    for job in (spot, f"{array}_4", removed):
        while booked.run("squeue", "-h", "-j", job, "-o", "%T") != "RUNNING":
            pause()
    booked.run("scancel", array, removed)
    first = booked.submit("sleep 300", "-n", "8", name="first")
    while booked.run("squeue", "-h", "-j", spot, "-o", "%T") != "PENDING":
        pause()
    # A credential of the second in which the first attempt was revoked is refused: let three seconds of Slurm's pass.
    while booked.run("squeue", "-h", "-j", first, "-o", "%M") not in ("0:03", "0:04", "0:05"):
        pause()
    booked.run("scancel", first)
    booked.run("scontrol", "update", f"JobId={spot}", "StartTime=now")
    while booked.run("squeue", "-h", "-j", spot, "-o", "%T") != "RUNNING":
        pause()
    # Its log was truncated: only the accounts have the preemption.
    async with watched(make_box("login", env=booked.env), tmp_path / "state") as (room, tap):
        view = await until(room, tap, lambda view: "preempted" in kinds(view, spot))
        cell = cell_of(view, spot)
        assert cell is not None
        assert (cell.state, cell.restarts) == (CellState.RUNNING, 1)
        assert {one.severity for one in view.findings} <= {Severity.WARN}
        tasks = [cell_of(view, f"{array}_{task}") for task in range(1, 5)]
        assert {task.state for task in tasks if task} == {CellState.SKIPPED}
        assert not any(kinds(view, f"{array}_{task}") for task in range(1, 5))
    theirs = make_box("theirs", env=booked.env).instance(
        "theirs", scheduler="slurm", scheduler_scope=SchedulerScope(user="nobody")
    )
    async with open_fleet(Fleet(None, (theirs,)), state=tmp_path / "state") as (room, tap):
        view = await until(room, tap, ended(removed), "theirs")
        assert kinds(view, removed) == {"crashed"}
        assert "by user 0 (root), not by its own user" in evidence(view, removed)
