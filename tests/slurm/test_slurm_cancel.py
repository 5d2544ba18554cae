"""scancel of a real job: the provider against real daemons, and the whole ladder up to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from boxes import Sshd
from rented import RentedBox, rest, until
from slurm_lab import Slurm

from gpu_tui.core import gate
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.command import CommandFailed, Completed
from gpu_tui.core.fleet import Instance, LinkState, ProviderAccess, ProviderState
from gpu_tui.core.gate import DWELL, GateShut, StopPermit
from gpu_tui.core.ladder import GateView, RungState
from gpu_tui.core.sweep import Queue
from gpu_tui.core.verdict import Verdict
from gpu_tui.providers.base import AnswerKind, Means, Provider, WorksElsewhere
from gpu_tui.providers.manual import Manual
from gpu_tui.providers.registry import provider_for
from gpu_tui.providers.slurm import CHANGED
from gpu_tui.providers.slurm import Slurm as Provided
from gpu_tui.resources import load_profiles
from gpu_tui.state.views import Cost, CpuUse, InstanceView
from gpu_tui.teardown.act import Pace
from gpu_tui.teardown.climb import Climb
from gpu_tui.teardown.runner import Runner
from gpu_tui.transport.base import Connection
from gpu_tui.transport.ssh import SshTransport
from gpu_tui.wiring.programs import on_box

PROFILES = load_profiles()


class Desk:
    """A login node with results on it, and the ladder of one job there."""

    def __init__(self, box: RentedBox, connection: Connection, here: Path) -> None:
        self.box, self.connection, self.here = box, connection, here
        self.clock = ManualClock()
        self.asked: list[Sequence[str]] = []  # every program
        self.sent: list[Sequence[str]] = []  # those that ran scancel
        self.silent = False  # the connection breaks while scancel is under way
        self.login: tuple[str, ...] = ()  # what the login shell exports
        self._provider: Provider | None = None
        self._instance: Instance | None = None

    async def on_box(self, argv: Sequence[str], *, limit: float) -> Completed:
        """Over the real connection; every scancel that ran is counted."""
        cancels = any("exec scancel" in word for word in argv)
        argv = ("env", *self.login, *argv) if self.login else argv
        self.asked.append(argv)
        done = await on_box(lambda: self.connection, "login")(argv, limit=limit)
        if cancels and done.exit != CHANGED:
            self.sent.append(argv)
        if self.silent and cancels:
            raise CommandFailed("the connection broke")
        return done

    def job(self, id: str) -> Desk:
        """The fleet file names this job."""
        self._instance = self.box.instance(
            self.here / "results",
            platform="slurm",
            scheduler="slurm",
            provider=ProviderAccess(id=id),
        )
        means = Means({}, self.clock, on_box=self.on_box)
        self._provider = provider_for(self._instance, PROFILES, means)
        return self

    @property
    def provider(self) -> Provider:
        assert self._provider is not None
        return self._provider

    @property
    def instance(self) -> Instance:
        assert self._instance is not None
        return self._instance

    def permit(self) -> StopPermit:
        """As the gate would mint it: what the provider does behind the gate is looked at here."""
        id, until = self.instance.provider.id, self.clock.boot() + 15.0
        return StopPermit("pod", id, "scancel", "destroy", "e", until, token=gate._MINT)

    async def ended(self) -> ProviderState:
        """The first reading that is not `running`."""
        while (
            state := await self.provider.read(self.instance.provider.id or "")
        ).state == "running":
            pass  # each look is a question to the controller, which takes its time
        return state

    def climb(self) -> Climb:
        """The ladder of scancel."""
        runner = Runner(
            view=self._view,
            connection=lambda _: self.connection,
            providers=lambda _: self.provider,
            profiles=PROFILES,
            journal_dir=self.here / "journal",
            clock=self.clock,
            pace=Pace(pulse=0.01, poll=0.2, poll_most=0.5, give_up=5.0),
        )
        return runner.open("pod", "scancel:ssh")

    def _view(self, name: str) -> InstanceView:
        return InstanceView(
            instance=self.instance,
            taken_at=self.clock.now(),
            link=LinkState("live"),
            verdict=Verdict.RUNNING,
            because=(),
            tracks={},
            queue=Queue(),
            cost=Cost(),
            cpu=CpuUse(),
            provider=ProviderState(),
            clocks=(),
            findings=(),
            logs=(),
        )


@pytest.fixture
async def desk(login_node: Sshd, tmp_path: Path) -> AsyncIterator[Desk]:
    box = RentedBox(login_node)
    connection = await SshTransport().connect(box.instance(tmp_path / "results"))
    try:
        yield Desk(box, connection, tmp_path)
    finally:
        await connection.close()


async def test_a_running_job_is_work_and_shuts_the_gate(slurm: Slurm, desk: Desk) -> None:
    job = slurm.submit("sleep 300", name="trains")
    desk.job(job)
    while (await desk.provider.read(job)).facts["status"] != "RUNNING":
        pass
    climb = desk.climb()

    def waits(view: GateView) -> bool:
        return any(
            f"job {job} trains is RUNNING" in line for row in view.rungs for line in row.lines
        )

    view, _ = await until(climb, waits)
    assert view.state == "blocked"
    await climb.close()
    assert desk.sent == []
    slurm.run("scancel", job)


async def test_a_suspended_job_has_not_ended_its_work(slurm: Slurm, desk: Desk) -> None:
    job = slurm.submit("sleep 300", name="halted")
    provider = desk.job(job).provider
    while (await provider.read(job)).facts["status"] != "RUNNING":
        pass
    slurm.run("scontrol", "suspend", job)
    assert (await provider.read(job)).facts["status"] == "SUSPENDED"
    assert isinstance(provider, WorksElsewhere)
    assert await provider.at_work(job) == (f"job {job} halted is SUSPENDED",)
    slurm.run("scancel", job)


async def test_a_waiting_job_is_cancelled_once_and_proven_gone(slurm: Slurm, desk: Desk) -> None:
    job = slurm.submit("sleep 300", "--hold", name="doomed")
    other = slurm.submit("sleep 300", name="stays")
    desk.job(job)
    state = await desk.provider.read(job)
    assert (state.state, state.facts["job"]) == ("running", "doomed")
    climb = desk.climb()
    _, views = await until(climb, lambda view: view.state == "ready")
    desk.clock.advance(DWELL)
    async for view in views:
        if view.ready:
            break
    assert desk.sent == []
    await climb.confirm(f"pod-{job}")
    last = await rest(views)
    assert last.outcome == "gone"
    assert all(row.state is RungState.PASSED for row in last.rungs)
    assert len(desk.sent) == 1
    assert slurm.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%T") == "CANCELLED"
    assert slurm.run("squeue", "-h", "-t", "all", "-j", other, "-o", "%T") in ("RUNNING", "PENDING")
    slurm.run("scancel", other)


async def test_one_task_of_an_array_is_cancelled_and_the_others_stay(
    slurm: Slurm, desk: Desk
) -> None:
    array = slurm.submit("sleep 300", "--array=1-3")
    desk.job(f"{array}_2")
    while (await desk.provider.read(f"{array}_2")).facts["status"] != "RUNNING":
        pass
    answer = await desk.provider.stop(desk.permit())
    assert answer.kind is AnswerKind.ACCEPTED
    assert (await desk.ended()).facts["status"] == "CANCELLED"
    left = slurm.run("squeue", "-h", "-r", "-j", array, "-o", "%i").split()
    assert {f"{array}_1", f"{array}_3"} <= set(left)
    slurm.run("scancel", array)


async def test_a_task_that_never_began_is_gone_once_it_was_cancelled(
    slurm: Slurm, desk: Desk
) -> None:
    array = slurm.submit("sleep 300", "--array=1-3", "--hold")
    desk.job(f"{array}_2")
    assert (await desk.provider.read(f"{array}_2")).facts["status"] == "PENDING"
    assert (await desk.provider.stop(desk.permit())).kind is AnswerKind.ACCEPTED
    assert (await desk.ended()).state == "gone"
    assert (await desk.job(f"{array}_3").provider.read(f"{array}_3")).state == "running"
    slurm.run("scancel", array)


async def test_a_broken_connection_is_unknown_until_the_job_is_read_again(
    slurm: Slurm, desk: Desk
) -> None:
    job = slurm.submit("sleep 300", name="doomed")
    desk.job(job).silent = True
    assert (await desk.provider.read(job)).state == "running"
    permit = desk.permit()
    assert (await desk.provider.stop(permit)).kind is AnswerKind.UNKNOWN
    assert (await desk.ended()).state == "gone"  # it had its effect, and reading shows it
    with pytest.raises(GateShut):
        await desk.provider.stop(permit)
    assert len(desk.sent) == 1


async def test_between_permit_and_scancel_the_login_node_is_asked_nothing(
    slurm: Slurm, desk: Desk
) -> None:
    job = slurm.submit("sleep 300", "--hold", name="doomed")
    desk.job(job)
    assert (await desk.provider.read(job)).state == "running"
    before = len(desk.asked)
    assert (await desk.provider.stop(desk.permit())).kind is AnswerKind.ACCEPTED
    assert len(desk.asked) == before + 1 == before + len(desk.sent)


async def test_a_lid_that_closes_before_scancel_calls_it_off(slurm: Slurm, desk: Desk) -> None:
    job = slurm.submit("sleep 300", "--hold", name="doomed")
    desk.job(job)
    assert (await desk.provider.read(job)).state == "running"
    permit, before = desk.permit(), len(desk.asked)
    desk.clock.advance(60.0)
    with pytest.raises(gate.PermitExpired):
        await desk.provider.stop(permit)
    assert len(desk.asked) == before
    slurm.run("scancel", job)


async def test_a_job_that_was_requeued_meanwhile_is_not_cancelled(slurm: Slurm, desk: Desk) -> None:
    job = slurm.submit("sleep 300", name="doomed")
    desk.job(job)
    while (await desk.provider.read(job)).facts["status"] != "RUNNING":
        pass  # only what runs can be put back
    slurm.run("scontrol", "requeue", job)
    answer = await desk.provider.stop(desk.permit())
    assert answer.kind is AnswerKind.REFUSED
    assert "requeued" in answer.text
    assert desk.sent == []
    assert (await desk.provider.read(job)).state == "running"  # the same job: it waits again
    slurm.run("scancel", job)


async def test_an_id_that_became_another_job_is_not_cancelled(slurm: Slurm, desk: Desk) -> None:
    job = slurm.submit("sleep 300", name="doomed")
    desk.job(job)
    assert (await desk.provider.read(job)).state == "running"
    slurm.run("scontrol", "update", f"JobId={job}", "JobName=somebody-elses")
    assert (await desk.provider.read(job)).state == "unknown"
    answer = await desk.provider.stop(desk.permit())
    assert (answer.kind, desk.sent) == (AnswerKind.REFUSED, [])
    slurm.run("scancel", job)


async def test_a_login_that_points_to_another_cluster_changes_nothing(
    slurm: Slurm, desk: Desk
) -> None:
    """The table of jobs is of the cluster that this node belongs to: so is the id."""
    job = slurm.submit("sleep 300", "--hold", name="doomed")
    desk.job(job).login = ("SLURM_CLUSTERS=elsewhere",)
    assert (await desk.provider.read(job)).facts["job"] == "doomed"
    slurm.run("scancel", job)


async def test_what_is_no_job_of_ours_is_never_called_gone(slurm: Slurm, desk: Desk) -> None:
    assert isinstance(desk.job("17; rm -rf ~").provider, Manual)
    unknown = desk.job("99999")
    state = await unknown.provider.read("99999")
    assert (state.state, state.error) == (
        "unknown",
        "no such job was ever seen here: check provider.id",
    )
    unknown.provider.remember("99999")
    assert (await unknown.provider.read("99999")).state == "gone"
    assert isinstance(unknown.provider, Provided)
    climb = desk.job("99999").climb()
    view, _ = await until(climb, lambda view: view.state == "closed")
    assert "no such job" in " ".join(line for row in view.rungs for line in row.lines)
