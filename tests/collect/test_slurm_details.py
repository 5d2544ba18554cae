"""How often the controller is asked for details, and of which jobs: the real program against recorded answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from shell_box import SHELLS, ShellBox
from test_sampler import Inbox, sampling

from gpu_tui.collect import probe_slurm, sampler
from gpu_tui.core import metrics
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.log_cells import NOT_YET
from gpu_tui.core.sample import Reading

SQUEUE = """#!/bin/sh
echo squeue >>"$HOME/calls"
for format; do :; done
[ ! -e "$HOME/down" ] || exit 1
while IFS= read -r row; do printf '%s|%s\\n' "${format%%|*}" "$row"; done <"$HOME/queue"
"""
SCONTROL = """#!/bin/sh
echo "scontrol $*" >>"$HOME/calls"
[ ! -e "$HOME/stuck" ] || exec sleep 60
for id; do :; done
grep -e "^JobId=$id " -e " ArrayJobId=$id " "$HOME/records" && exit
echo 'slurm_load_jobs error: Invalid job id specified' >&2
exit 1
"""


class Controller:
    """The answers of squeue and scontrol on a login node, and how often each was called."""

    def __init__(self, box: ShellBox) -> None:
        self._box = box
        self._rows: dict[str, str] = {}
        self._records: dict[str, str] = {}
        self._next = 1
        for name, text in (
            ("squeue", SQUEUE),
            ("scontrol", SCONTROL),
            ("sacct", "#!/bin/sh\nexit 1\n"),
        ):
            box.program(name, text)

    def job(self, id: str, state: str = "RUNNING", name: str = "train", exit: str = "0:0") -> None:
        """A job, or `17_3`: one task of an array. As a 22.05.8 printed them."""
        array, _, task = id.partition("_")
        own = str(int(array) + int(task or 0))
        head = f"JobId={own} ArrayJobId={array} ArrayTaskId={task} " if task else f"JobId={id} "
        self._records[id] = (
            f"{head}JobName={name} UserId=me(7) GroupId=me(7) JobState={state} Reason=None Restarts=0 "
            f"BatchFlag=1 ExitCode={exit} SubmitTime=1795276827 EndTime=1795277427 Partition=gpu "
            f"StdErr=/l/{id}.out StdIn=/dev/null StdOut=/l/{id}.out Power= "
        )
        self._rows[id] = f"{id}|{state}|1795276827|1795277427|1795276827|None|gpu|vm|(null)|{name}"
        self.save()

    def save(self) -> None:
        """Write what the programs read, whole."""
        self._box.file("home/records", "".join(f"{row}\n" for row in self._records.values()))
        self._box.file("home/queue", "".join(f"{row}\n" for row in self._rows.values()))

    def calls(self) -> list[str]:
        """The calls so far, without those of squeue."""
        file = self._box.home / "calls"
        rows = file.read_text().splitlines() if file.exists() else []
        return [row for row in rows if row != "squeue"]


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def box(tmp_path: Path) -> ShellBox:
    return ShellBox(tmp_path)


@pytest.fixture
def controller(box: ShellBox) -> Controller:
    return Controller(box)


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    probes = (
        replace(p, every=0.0) if p.metric == metrics.SLURM.name else p for p in sampler.PROBES
    )
    monkeypatch.setattr(sampler, "PROBES", tuple(probes))


@asynccontextmanager
async def watching(box: ShellBox, shell: str) -> AsyncIterator[Inbox]:
    group = box.group(scheduler="slurm", poll=0.5)
    async with sampling(box, shell, group) as inbox:
        yield inbox


async def look(inbox: Inbox) -> dict[str, Job]:
    """The jobs of the next look that ends."""
    sample = (await inbox.all_of({"slurm"}))["slurm"].sample
    assert isinstance(sample, Reading), sample
    assert isinstance(sample.value, JobTable)
    return {job.id: job for job in sample.value.jobs}


async def test_an_array_of_a_hundred_tasks_is_one_call_and_every_task_has_its_log(
    box: ShellBox, shell: str, controller: Controller
) -> None:
    for task in range(100):
        controller.job(f"40_{task}")
    controller.job("900")
    async with watching(box, shell) as inbox:
        jobs = await look(inbox)
        assert {job.stdout for job in jobs.values()} == {f"/l/{id}.out" for id in jobs}
        assert len(jobs) == 101
        asked = controller.calls()
        assert sorted(asked) == [
            "scontrol -o show job 40",
            "scontrol -o show job 900",
        ]
        controller.job("40_7", "FAILED", exit="9:0")
        while (job := (await look(inbox))["40_7"]).exit_code is None:
            pass
        assert (job.exit_code, job.stdout) == (9, "/l/40_7.out")
        assert controller.calls()[2:] == ["scontrol -o show job 40"]


async def test_of_many_single_jobs_every_one_that_changed_is_asked_about_in_one_look(
    box: ShellBox, controller: Controller
) -> None:
    for id in range(1, 31):
        controller.job(str(id), "FAILED", exit="1:0")
    for id in range(31, 61):
        controller.job(str(id))
    async with watching(box, "dash") as inbox:
        jobs = await look(inbox)
    assert len(jobs) == 60
    assert {job.exit_code for job in jobs.values() if not job.live} == {1}
    assert None not in {job.stdout for job in jobs.values()}


async def test_jobs_without_details_are_first_in_the_next_look_and_have_the_reason(
    box: ShellBox, controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_slurm, "DETAILS_ROUND", 2)
    monkeypatch.setattr(probe_slurm, "turn", lambda _: 0)
    for id in range(1, 6):
        controller.job(str(id))
    async with watching(box, "dash") as inbox:
        jobs = await look(inbox)
        assert {id for id, job in jobs.items() if job.unread == NOT_YET} == {"1", "2", "3"}
        controller.job("5", "COMPLETED")  # it changed again, and waits its turn all the same
        for _ in range(2):
            jobs = await look(inbox)
        assert {job.stdout for job in jobs.values()} == {f"/l/{n}.out" for n in range(1, 6)}
        assert {job.unread for job in jobs.values()} == {None}
    asked = [call.split()[-1] for call in controller.calls()]
    assert asked[:5] == ["5", "4", "3", "2", "1"]


@pytest.mark.parametrize("shell", ["dash", "busybox"], indirect=True)
async def test_a_slow_controller_does_not_give_every_check_the_same_records(
    box: ShellBox, shell: str, controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_slurm, "DETAILS_ROUND", 2)
    for id in range(1, 6):
        controller.job(str(id))
    known = []
    for turn in (0, 3, 7):
        monkeypatch.setattr(probe_slurm, "turn", lambda _, turn=turn: turn)
        async with watching(box, shell) as inbox:
            jobs = await look(inbox)
        known.append({id for id, job in jobs.items() if job.unread is None})
    assert known == [{"5", "4"}, {"5", "2"}, {"5", "3"}]


async def test_of_a_slow_controller_an_array_is_asked_for_before_single_jobs(
    box: ShellBox, controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_slurm, "DETAILS_ROUND", 1)
    for task in range(30):
        controller.job(f"40_{task}")
    for id in range(900, 910):
        controller.job(str(id))
    async with watching(box, "dash") as inbox:
        jobs = await look(inbox)
    assert sum(job.stdout is not None for job in jobs.values()) == 30
    assert controller.calls()[0] == "scontrol -o show job 40"


async def test_a_controller_that_was_away_is_not_asked_about_everything_again(
    box: ShellBox, controller: Controller
) -> None:
    for id in range(1, 6):
        controller.job(str(id))
    async with watching(box, "dash") as inbox:
        await look(inbox)
        box.file("home/down", "")
        while isinstance((await inbox.all_of({"slurm"}))["slurm"].sample, Reading):
            pass
        (box.home / "down").unlink()
        while not isinstance((sample := (await inbox.all_of({"slurm"}))["slurm"].sample), Reading):
            pass
    assert isinstance(sample.value, JobTable)
    assert {job.stdout for job in sample.value.jobs} == {f"/l/{n}.out" for n in range(1, 6)}
    assert len(controller.calls()) == 5


async def test_of_an_array_too_large_to_send_the_tasks_that_run_keep_their_logs(
    box: ShellBox, shell: str, controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_slurm, "UNIT_BYTES", 2_000)
    for task in range(20):
        controller.job(f"40_{task}", "COMPLETED" if task < 15 else "RUNNING")
    async with watching(box, shell) as inbox:
        jobs = await look(inbox)
    assert {id for id, job in jobs.items() if job.stdout} == {f"40_{n}" for n in range(15, 20)}
