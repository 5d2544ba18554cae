"""Verdicts through the real path: real processes on real sshd boxes, broken in every way that works here."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import asyncssh
import pytest
from boxes import Sshd
from faults.faulty_run import MIB, Cgroup, FaultyRun

from gpu_tui.core.fleet import Fleet, Instance, Money, QueueFiles, Results
from gpu_tui.state.contract import instance_json
from gpu_tui.state.store import Store
from gpu_tui.wiring import Room, Tap, open_fleet

ROOT = os.geteuid() == 0
LIMIT = 60.0  # a busy machine; alone each takes a few beats

MakeBox = Callable[..., Sshd]


@dataclass
class Patient:
    """One box with its run, and what must be ended afterwards."""

    box: Sshd
    run: FaultyRun
    instance: Instance
    cgroup: Cgroup | None = None

    @property
    def name(self) -> str:
        """Of its instance."""
        return self.instance.name

    def close(self) -> None:
        """End everything that has the box's home, however far it went away."""
        self.run.close()
        for pid in self.box.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def admit(make_box: MakeBox) -> Iterator[Callable[..., Patient]]:
    """Makes boxes, each with a queue of its own that runs up to its first epoch."""
    patients: list[Patient] = []

    def make(
        name: str,
        *,
        stall_after: float = 900.0,
        memory: int | None = None,
        disk: bool = False,
        start: bool = True,
    ) -> Patient:
        box = make_box(name)
        cgroup = Cgroup(memory) if memory else None
        if cgroup is not None:
            assert box._process is not None
            cgroup.members.write_text(str(box._process.pid))
        if disk:
            (box.home / "out").mkdir()
            words = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(box.home / "out")]
            subprocess.run(words, check=True)
        run = FaultyRun(box.home, (f"{name}_cell",))
        instance = box.instance(
            name,
            price=Money(2.0, "USD"),
            queue=QueueFiles(str(run.queue), str(run.log)),
            logs=str(box.home / "logs/{cell}.log"),
            results=Results(str(box.home / "out"), str(box.directory / "local")),
            mounts=(str(box.home / "out"),) if disk else (),
            stall_after=stall_after,
        )
        patients.append(Patient(box, run, instance, cgroup))
        if start:
            run.start(cgroup)
            run.answer()
        return patients[-1]

    yield make
    for patient in patients:
        patient.close()
        patient.box.stop()
        if patient.cgroup is not None:
            patient.cgroup.close()
        if os.path.ismount(patient.box.home / "out"):
            subprocess.run(["umount", "-l", str(patient.box.home / "out")], check=True)


def told(room: Room, name: str) -> dict[str, object]:
    """What `check --json` would say of one box now, with its findings by kind."""
    view = room.store.view(room.clock.now())[name]
    seen = instance_json(view)
    seen["kinds"] = {finding.kind: finding for finding in view.findings}
    seen["alive"] = alive(room.store, name)
    return seen


def alive(store: Store, name: str) -> bool:
    """The run was seen in the process table."""
    return store._states[name].witness.alive_at is not None


async def until(
    room: Room, tap: Tap, name: str, true: Callable[[dict[str, object]], bool]
) -> dict[str, object]:
    """Follow the events of a box until its view is so; the view."""
    seen: dict[str, object] = {}
    try:
        async with asyncio.timeout(LIMIT):
            while not true(seen := told(room, name)):
                await tap.next(1.0)
    except TimeoutError:
        pytest.fail(
            f"{name} is {seen['verdict']}, {seen['cause']}: {seen['because']} {seen['kinds']}"
        )
    return seen


def is_so(
    verdict: str, cause: str | None = None, *kinds: str
) -> Callable[[dict[str, object]], bool]:
    """A condition on what is told."""

    def true(seen: dict[str, object]) -> bool:
        found = seen["kinds"]
        assert isinstance(found, dict)
        return (seen["verdict"], seen["cause"]) == (verdict, cause) and set(kinds) <= set(found)

    return true


def needs_root() -> None:
    if not ROOT:
        pytest.skip("needs root: a memory cgroup and a mount of its own")
    if shutil.which("mount") is None:
        pytest.skip("needs `mount`")


async def test_runs_that_are_stalled_killed_raised_diverged_and_hung(
    admit: Callable[..., Patient], tmp_path: Path
) -> None:
    names = ("still", "killed", "raised", "diverged", "hung")
    ward = {
        name: await asyncio.to_thread(admit, name, stall_after=6.0 if name == "still" else 900.0)
        for name in names
    }
    fleet = Fleet("ward", tuple(patient.instance for patient in ward.values()))
    async with open_fleet(fleet, read_only=True, state=tmp_path / "state") as (room, tap):
        for name in names:
            await until(
                room, tap, name, lambda seen: seen["verdict"] == "running" and seen["alive"]
            )

        ward["still"].run.signal_all(signal.SIGSTOP)
        ward["killed"].run.signal_all(signal.SIGKILL)
        ward["raised"].run.tell("raise")
        ward["diverged"].run.tell("nan")
        ward["hung"].run.tell("hang")

        seen = await until(room, tap, "killed", is_so("crashed", "killed", "crashed"))
        assert seen["kinds"]["crashed"].severity == "fatal"  # type: ignore[index]

        seen = await until(room, tap, "raised", lambda s: s["verdict"] == "finished")
        crash = seen["kinds"]["crashed"]  # type: ignore[index]
        assert "KeyError: 'lr_schedule'" in crash.evidence
        assert (crash.cell, crash.count) == ("raised_cell", 1)

        seen = await until(room, tap, "diverged", is_so("running", None, "nan"))
        assert seen["kinds"]["nan"].count == 2  # type: ignore[index]
        assert set(seen["kinds"]) == {"nan"}  # type: ignore[arg-type]

        def stopped(seen: dict[str, object]) -> bool:
            return is_so("stalled", None, "stalled")(seen) and "SIGSTOP" in str(seen["because"])

        await until(room, tap, "still", stopped)
        ward["still"].run.signal_all(signal.SIGCONT)
        ward["still"].run.tell("finish")
        await until(room, tap, "still", is_so("finished"))

        seen = await until(room, tap, "hung", is_so("finished-but-hung", None, "stalled"))
        (cell,) = seen["queue"]["cells"]  # type: ignore[index]
        assert (cell["state"], cell["artifact"]) == ("finished", "present")


async def test_a_run_that_the_kernel_kills_and_one_whose_disk_fills(
    admit: Callable[..., Patient], tmp_path: Path
) -> None:
    needs_root()
    try:
        eater = await asyncio.to_thread(admit, "eater", memory=192 * MIB)
    except OSError as error:
        pytest.skip(f"no memory cgroup can be made here: {error}")
    filler = await asyncio.to_thread(admit, "filler", disk=True)
    fleet = Fleet("ward", (eater.instance, filler.instance))
    async with open_fleet(fleet, read_only=True, state=tmp_path / "state") as (room, tap):
        for name in ("eater", "filler"):
            await until(
                room, tap, name, lambda seen: seen["verdict"] == "running" and seen["alive"]
            )
        limit = told(room, "eater")["memory"]["limit"]  # type: ignore[index]
        assert limit == 192 * MIB
        for patient, command in ((eater, "eat"), (filler, "fill")):
            patient.run.tell(command)
            await asyncio.to_thread(patient.run.answer)

        seen = await until(room, tap, "eater", lambda s: "host_oom" in s["kinds"])  # type: ignore[operator]
        oom = seen["kinds"]["host_oom"]  # type: ignore[index]
        assert (oom.severity, oom.cell) == ("fatal", "eater_cell")
        assert "rose 1 time" in oom.evidence

        seen = await until(
            room,
            tap,
            "filler",
            lambda s: {"disk_full"} <= set(s["kinds"]) and s["verdict"] == "finished",  # type: ignore[arg-type]
        )
        evidence = {
            finding.evidence
            for finding in room.store.view(room.clock.now())["filler"].findings
            if finding.kind == "disk_full"
        }
        assert any("No space left on device" in text for text in evidence)


@pytest.mark.nightly
@pytest.mark.skipif(
    not os.environ.get("GPU_TUI_NIGHTLY"), reason="only in the nightly run (GPU_TUI_NIGHTLY=1)"
)
async def test_a_run_that_hangs_on_an_ssh_session_goes_with_it(
    admit: Callable[..., Patient], tmp_path: Path
) -> None:
    patient = admit("attached", start=False)
    access = patient.box.ssh_access
    async with open_fleet(
        Fleet("ward", (patient.instance,)), read_only=True, state=tmp_path / "state"
    ) as (room, tap):
        session = await asyncssh.connect(
            access.host, access.port or 22, username=access.user, client_keys=[access.identity],
            known_hosts=access.known_hosts, config=None, agent_path=None,
        )  # fmt: skip
        words = f"export PYTHON={patient.run.environment['PYTHON']}; {patient.run.command}"
        await session.create_process(f"cd {patient.box.home}; {words}", term_type="xterm")
        await asyncio.to_thread(patient.run.answer)
        await until(
            room, tap, "attached", lambda seen: seen["verdict"] == "running" and seen["alive"]
        )
        session.abort()
        seen = await until(room, tap, "attached", lambda s: s["verdict"] == "crashed")
        assert seen["cause"] == "hangup", seen["because"]
