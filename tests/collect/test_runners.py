"""Who else runs jobs on a box, asked under three shells: real task-spooler, tmux and detached programs."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from shell_box import SHELLS, Inbox, ShellBox, ShellConnection

from gpu_tui.collect.sampler import sample_group
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import Sampled
from gpu_tui.core.fleet import QueueFiles, Roots
from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.sample import Absent, Failure, Reading
from gpu_tui.core.sweep import CellState

TRAINER = "import sys, time\nprint('epoch 1', flush=True)\ntime.sleep(600)\n"


class RunnerBox(ShellBox):
    """A box with the machine's own /proc, and sockets of its own."""

    @property
    def places(self) -> dict[str, str]:
        """Where its sockets and outputs are."""
        return {"TMPDIR": str(self.root), "TMUX_TMPDIR": str(self.root), "HOME": str(self.home)}

    def environment(self, shell: str) -> dict[str, str]:
        """As a login there."""
        return super().environment(shell) | self.places

    def run(self, *argv: str) -> None:
        """A person's command on the box."""
        env = os.environ | self.places
        subprocess.run(argv, env=env, cwd=self.home, check=True, stdin=subprocess.DEVNULL)

    def said(self, *argv: str) -> str:
        """What a command on the box prints."""
        env = os.environ | self.places
        return subprocess.run(argv, env=env, check=True, capture_output=True, text=True).stdout

    def end(self) -> None:
        """Whatever a test left running is ended."""
        env = os.environ | self.places
        if next(self.root.glob("socket-ts.*"), None):
            listed = subprocess.run(["tsp"], env=env, capture_output=True, text=True, check=True)
            for row in listed.stdout.splitlines():
                if " running " in row:
                    subprocess.run(["tsp", "-k", row.split()[0]], env=env, check=True)
            self.run("tsp", "-K")
        if next(self.root.glob("tmux-*/default"), None):
            self.run("tmux", "kill-server")


@pytest.fixture(params=sorted(SHELLS))
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def box(tmp_path: Path) -> Iterator[RunnerBox]:
    made = RunnerBox(tmp_path)
    yield made
    made.end()


@asynccontextmanager
async def asked(box: ShellBox, shell: str, **changes: object) -> AsyncIterator[Inbox]:
    """What the sampler says of the box for as long as the block lasts."""
    row = {"queue": QueueFiles(), "roots": Roots(str(box.cgroup), "/proc"), **changes}
    inbox = Inbox()
    connection = ShellConnection(box, shell)
    sampler = sample_group(
        connection,  # type: ignore[arg-type]
        box.instance(**row),
        box.group(**row),
        inbox,
        ManualClock(),
    )
    task = asyncio.create_task(sampler)
    try:
        yield inbox
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def table(event: Sampled) -> JobTable:
    assert isinstance(event.sample, Reading), event.sample
    assert isinstance(event.sample.value, JobTable)
    return event.sample.value


async def so(inbox: Inbox, metric: str, true: Callable[[tuple[Job, ...]], bool]) -> tuple[Job, ...]:
    """The first jobs for which `true` holds: a program that was just started is not yet what it becomes."""
    jobs: tuple[Job, ...] = ()
    try:
        async with asyncio.timeout(90):
            while not true(jobs):
                jobs = table(await inbox.metric(metric)).jobs
    except TimeoutError:
        pytest.fail(f"never told so: {jobs}")
    return jobs


def needs(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


async def test_a_spooler_tells_its_jobs_and_where_they_write(box: RunnerBox, shell: str) -> None:
    needs("tsp")
    box.run("tsp", "-L", "no_aug", "sh", "-c", "exit 3")
    box.run("tsp", "true")
    box.run("tsp", "-w", "1")
    box.run("tsp", "sleep", "600")
    box.run("tsp", "python3", "train.py", "--config", "configs/later.yaml")
    async with asked(box, shell) as inbox:
        jobs = await so(inbox, "task-spooler", lambda jobs: bool(jobs and jobs[0].stdout))
    assert [(job.name, job.state, job.exit_code) for job in jobs] == [
        ("sleep", CellState.RUNNING, None),
        ("later", CellState.PENDING, None),
        ("no_aug", CellState.FAILED, 3),
        ("true", CellState.FINISHED, 0),
    ]
    assert os.path.dirname(jobs[0].stdout or "") == str(box.root)


async def test_no_spooler_is_started_by_asking(box: RunnerBox, shell: str) -> None:
    needs("tsp")
    async with asked(box, shell) as inbox:
        event = await inbox.metric("task-spooler")
    assert isinstance(event.sample, Absent)
    assert list(box.root.glob("socket-ts.*")) == []


async def test_no_directory_of_tmux_is_made_by_asking(box: RunnerBox, shell: str) -> None:
    needs("tmux")
    async with asked(box, shell) as inbox:
        event = await inbox.metric("tmux")
    assert isinstance(event.sample, Absent)
    assert list(box.root.glob("tmux-*")) == []


async def test_panes_of_tmux_and_how_they_ended(box: RunnerBox, shell: str) -> None:
    needs("tmux")
    script = box.file("home/train.py", TRAINER)
    box.run(
        "tmux", "-f", "/dev/null", "new-session", "-d", "-s", "大 lr", sys.executable, str(script)
    )
    box.run("tmux", "set-option", "-g", "remain-on-exit", "on")
    box.run("tmux", "new-session", "-d", "-s", "broken", "sh -c 'read line; exit 7'")
    box.run("tmux", "send-keys", "-t", "broken", "Enter")
    box.run("tmux", "new-session", "-d", "-s", "idle")
    async with asked(box, shell) as inbox:

        def whole(jobs: tuple[Job, ...]) -> bool:
            """tmux knows for a moment that a pane is dead, and not yet how; nor yet that a shell is one."""
            known = {job.name: job for job in jobs}
            if {"大 lr", "broken", "idle"} - set(known):
                return False
            return known["broken"].exit_code is not None and known["idle"].word == "shell"

        known = {job.name: job for job in await so(inbox, "tmux", whole)}
    assert set(known) == {"大 lr", "broken", "idle"}
    assert known["idle"].word == "shell"  # what is below it the process table tells
    assert known["大 lr"].state is CellState.RUNNING
    assert (known["broken"].state, known["broken"].exit_code) == (CellState.FAILED, 7)


async def test_a_killed_pane_is_told_also_where_tmux_lost_its_end(
    box: RunnerBox, shell: str
) -> None:
    needs("tmux")
    script = box.file("home/train.py", TRAINER)
    names = [f"seed_{n}" for n in range(8)]  # tmux 3.3a of Debian never learns of about every third
    box.run(
        "tmux", "-f", "/dev/null", "new-session", "-d", "-s", "here", sys.executable, str(script)
    )
    box.run("tmux", "set-option", "-g", "remain-on-exit", "on")
    for name in names:
        box.run("tmux", "new-session", "-d", "-s", name, sys.executable, str(script))
    pids = box.said(
        "tmux", "list-panes", "-a", "-f", "#{m:seed_*,#{session_name}}", "-F", "#{pane_pid}"
    )
    for pid in pids.split():
        os.kill(int(pid), signal.SIGKILL)
    async with asked(box, shell) as inbox:

        def whole(jobs: tuple[Job, ...]) -> bool:
            known = {job.name: job for job in jobs}
            return all(name in known and known[name].exit_code is not None for name in names)

        known = {job.name: job for job in await so(inbox, "tmux", whole)}
    ends = {(job.state, job.exit_code, job.signal, job.why) for job in map(known.get, names) if job}
    assert ends == {(CellState.FAILED, 137, 9, "by signal 9")}


async def test_no_tmux_server_is_started_by_asking(box: RunnerBox, shell: str) -> None:
    needs("tmux")
    async with asked(box, shell) as inbox:
        event = await inbox.metric("tmux")
    assert isinstance(event.sample, Absent)
    assert list(box.root.glob("tmux-*/default")) == []


async def test_a_detached_program_is_named_and_its_log_is_known(box: RunnerBox, shell: str) -> None:
    script = box.file("home/train_vit.py", TRAINER)
    log = box.root / "home" / "nohup.out"
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(script), "--exp_name", "nobodys_vit"),
            stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    try:
        async with asked(box, shell) as inbox:
            jobs = table(await inbox.metric("nohup")).jobs
    finally:
        process.kill()
        await process.wait()
    (job,) = [job for job in jobs if job.id == str(process.pid)]
    assert (job.name, job.state, job.stdout) == ("nobodys_vit", CellState.RUNNING, str(log))
    assert job.started_at is not None


@pytest.mark.parametrize("through", ["tee", "sed -u s/a/b/ >", "grep --line-buffered . >>"])
async def test_a_program_whose_output_goes_through_tee_or_a_filter_has_the_log_behind_it(
    box: RunnerBox, shell: str, through: str
) -> None:
    script = box.file("home/train_vit.py", TRAINER)
    line = f"'{sys.executable}' '{script}' 2>&1 | {through} '{box.root}/home/vit b16.log'"
    process = await asyncio.create_subprocess_exec(
        "sh",
        "-c",
        line,
        stdout=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asked(box, shell) as inbox:
            jobs = await so(
                inbox,
                "nohup",
                lambda jobs: any(process.pid in job.pids and job.stdout for job in jobs),
            )
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    (job,) = [job for job in jobs if process.pid in job.pids]
    assert (job.name, job.state) == ("vit b16", CellState.RUNNING)
    assert job.stdout == f"{box.root}/home/vit b16.log"


@pytest.mark.parametrize("output", ["/dev/null", "pipe"])
async def test_a_program_whose_output_nobody_keeps_has_the_log_that_it_holds_open(
    box: RunnerBox, shell: str, output: str
) -> None:
    log = box.file("home/runs/vit.log", "")
    script = box.file(
        "home/fit.py", f"import time\nlog = open({str(log)!r}, 'a')\ntime.sleep(600)\n"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(script)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if output == "/dev/null" else subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asked(box, shell, logs=f"{box.root}/home/runs/{{cell}}.log") as inbox:
            jobs = await so(
                inbox, "nohup", lambda jobs: any(process.pid in job.pids for job in jobs)
            )
    finally:
        process.kill()
        await process.wait()
    found = [(job.name, job.stdout) for job in jobs if process.pid in job.pids]
    assert found == [("vit", str(log))]


async def test_the_disk_that_a_run_nobody_named_writes_to_is_watched(
    box: RunnerBox, shell: str
) -> None:
    if os.stat("/dev/shm").st_dev == os.stat("/dev").st_dev:
        pytest.skip("no disk here besides the one of all")
    script = box.file("home/train_vit.py", TRAINER)
    with TemporaryDirectory(dir="/dev/shm") as there:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(script)),
            cwd=there,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        # It alone of all that runs here: of many disks only the first few are told.
        (box.proc / str(process.pid)).symlink_to(f"/proc/{process.pid}")
        where = {"mounts": ("/",), "roots": Roots(str(box.cgroup), str(box.proc))}
        try:
            async with asked(box, shell, **where) as inbox:
                mounts = (await inbox.metric("mounts")).sample
            async with asked(
                box, shell, **where, logs="/nowhere/{cell}.log", queue=QueueFiles("/q")
            ) as inbox:
                named = (await inbox.metric("mounts")).sample
        finally:
            process.kill()
            await process.wait()
    assert isinstance(mounts, Reading)
    assert isinstance(named, Reading)
    shm = next(mount for mount in mounts.value if mount.path == "/dev/shm")
    assert shm.bytes_total == os.statvfs("/dev/shm").f_blocks * os.statvfs("/dev/shm").f_frsize
    assert len({mount.path for mount in mounts.value}) == len(mounts.value)
    assert [mount.path for mount in named.value] == ["/"]


async def test_the_output_of_a_program_that_is_gone_is_found_and_one_that_is_written_is_not(
    box: RunnerBox, shell: str
) -> None:
    gone = box.file("home/exp/nohup.out", "Epoch 3/20\n")
    with box.file("home/nohup.out", "").open("wb") as out:
        process = await asyncio.create_subprocess_exec("sleep", "60", stdout=out)
    try:
        async with asked(box, shell) as inbox:
            (job,) = table(await inbox.metric("left")).jobs
    finally:
        process.kill()
        await process.wait()
    assert (job.name, job.stdout, job.live) == ("exp/nohup.out", str(gone), False)


async def test_nothing_is_called_left_where_nobody_can_see_who_writes_it(
    box: RunnerBox, shell: str
) -> None:
    box.file("home/nohup.out", "Epoch 3/20\n")
    unseen = f'#!/bin/sh\ncase "$*" in *%N*) exit 126 ;; esac\nexec {shutil.which("stat")} "$@"\n'
    box.program("stat", unseen)
    async with asked(box, shell) as inbox:
        said = await inbox.all_of({"left", "nohup"})
    left, running = said["left"].sample, said["nohup"].sample
    assert isinstance(left, Failure)
    assert isinstance(running, Failure)  # who ran is not gone because of it
    assert "cannot be seen" in left.why


PUEUE = {
    "tasks": {
        "0": {"id": 0, "command": "python t.py --name a", "envs": {"KEY": 'se"cr{et}', "B": "x\\y"}, "group": "default",
              "label": None, "status": {"Done": {"enqueued_at": "2026-03-04T10:00:00+01:00", "start": "2026-03-04T10:00:00.123456789+01:00", "end": "2026-03-04T11:00:00+01:00", "result": {"Failed": 2}}}},
        "1": {"id": 1, "command": "python t.py --name b", "envs": {}, "group": "gpu", "label": "second", "status": {"Running": {"enqueued_at": "2026-03-04T10:00:00+01:00", "start": "2026-03-04T11:00:00+01:00"}}},
        "10": {"id": 10, "command": "x", "envs": {"TOKEN": "hush"}, "group": "default", "label": None, "status": "Queued"},
    }
}  # fmt: skip


async def test_the_environment_of_a_pueue_task_never_leaves_the_box(
    box: RunnerBox, shell: str
) -> None:
    text = json.dumps(PUEUE, separators=(",", ":"))
    box.program("pueue", f"#!/bin/sh\ncat <<'EOF'\n{text}\nEOF\n")
    connection = ShellConnection(box, shell)
    seen = bytearray()
    program = box.group(queue=QueueFiles()).program
    async with connection.stream(program) as chunks:
        async for chunk in chunks:
            seen += chunk
            if b"second" in seen and b'"Queued"' in seen:
                break
    assert b"hush" not in seen
    assert b"cr{et}" not in seen
    async with asked(box, shell) as inbox:
        jobs = table(await inbox.metric("pueue")).jobs
    assert [(job.name, job.state, job.exit_code, job.task) for job in jobs] == [
        ("a", CellState.FAILED, 2, None),
        ("second", CellState.RUNNING, None, "gpu"),
        ("x", CellState.PENDING, None, None),
    ]
    assert jobs[0].finished_at == 1_772_618_400.0


async def test_a_feed_is_a_file_or_a_command(box: RunnerBox, shell: str) -> None:
    rows: list[dict[str, object]] = [
        {"name": "no_aug", "state": "running", "epoch": 3, "epochs": 20, "loss": 0.41},
        {"name": "base line", "state": "done", "exit_code": 0},
    ]
    file = box.file("home/status.json", json.dumps({"jobs": rows}))
    box.file("home/tell.sh", f"cat '{file}'\n")

    def told(jobs: tuple[Job, ...]) -> list[tuple[object, ...]]:
        return [(job.name, job.state, job.epoch, job.loss) for job in jobs]

    wanted = [("no_aug", CellState.RUNNING, 3, 0.41), ("base line", CellState.FINISHED, None, None)]
    async with asked(box, shell, queue=QueueFiles(status="~/status.json")) as inbox:
        assert told(table(await inbox.metric("feed")).jobs) == wanted
    command = ("sh", str(box.home / "tell.sh"))
    async with asked(box, shell, queue=QueueFiles(status_command=command)) as inbox:
        assert told(table(await inbox.metric("feed")).jobs) == wanted

    command = ("sh", "-c", "exit 3")
    async with asked(box, shell, queue=QueueFiles(status_command=command)) as inbox:
        event = await inbox.metric("feed")
    assert isinstance(event.sample, Failure)
    assert event.sample.why == "sh ended with 3"

    os.utime(file, (1_700_000_000, 1_700_000_000))
    async with asked(box, shell, queue=QueueFiles(status="~/status.json")) as inbox:
        old = table(await inbox.metric("feed"))
    assert [job.state for job in old.jobs] == [CellState.CANNOT_TELL, CellState.FINISHED]
    assert "stands still" in (old.jobs[0].why or "")

    file.write_text("{not json")
    async with asked(box, shell, queue=QueueFiles(status="~/status.json")) as inbox:
        event = await inbox.metric("feed")
    assert isinstance(event.sample, Failure)
    assert "line 1" in event.sample.why


async def test_a_command_that_prints_without_end_fills_no_memory_of_the_box(
    box: RunnerBox, shell: str
) -> None:
    box.file("home/line", "epoch 1 loss 0.4\n" * 60_000)
    loop = "while [ $n -lt 40 ]; do cat line || exit; n=$((n + 1)); echo $n >told; done"
    script = box.file("home/tell.sh", f"cd '{box.home}'\nn=0; echo 0 >told\n{loop}\n")
    command = ("sh", str(script))
    async with asked(box, shell, queue=QueueFiles(status_command=command)) as inbox:
        event = await inbox.metric("feed")
    assert isinstance(event.sample, Failure)
    assert event.sample.why == "sh prints too much"
    assert int((box.home / "told").read_text()) < 4  # MB of 40
