"""The remote program, really run under dash, bash and busybox; frames, hangs, ends and forgeries."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from shell_box import SHELLS, Inbox, ShellBox, ShellConnection, finish, start

from gpu_tui.collect.sampler import Frame, FrameReader, Group, plan, sample_group, samples
from gpu_tui.core import metrics
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.readings import CpuCounters, FileTable, GpuTable, Host, Memory, Mount
from gpu_tui.core.sample import Absent, Failure, FailureKind, Reading
from gpu_tui.core.sweep import Roster

ALL = {
    metric.name
    for metric in (
        metrics.GPUS,
        metrics.MEMORY,
        metrics.CPU,
        metrics.MOUNTS,
        metrics.HOST,
        metrics.PROCESSES,
        metrics.ROSTER,
        metrics.FILES,
    )
}


@pytest.fixture
def files(tmp_path: Path) -> ShellBox:
    return ShellBox(tmp_path)


@pytest.fixture(params=sorted(SHELLS))
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def sampling(box: ShellBox, shell: str, *groups: Group) -> AsyncIterator[Inbox]:
    inbox, clock = Inbox(), ManualClock()
    connection = ShellConnection(box, shell)
    async with asyncio.TaskGroup() as tasks:
        running = [
            tasks.create_task(sample_group(connection, box.instance(), group, inbox, clock))
            for group in groups
        ]
        try:
            yield inbox
        finally:
            for task in running:
                task.cancel()


def value(event):  # type: ignore[no-untyped-def]
    assert isinstance(event.sample, Reading), event
    return event.sample.value


async def test_every_metric_of_a_box(files: ShellBox, shell: str):
    files.cgroup2()
    files.file("home/q 1.txt", "configs/no_aug.yaml reconstruction 5\n")
    log = files.file("home/runs/logs/no_aug.log", "epoch 1\n")
    files.file("home/final/no_aug/best.pth", "weights")
    files.file("home/runs/logs/q1.log", "")
    files.file("home/checkpoints/x/latest.pth", "more")
    async with sampling(files, shell, *files.groups().values()) as inbox:
        got = await inbox.all_of(ALL)

    table = value(got["gpus"])
    assert isinstance(table, GpuTable)
    assert table.error is None
    assert table.gpus[0].utilization == 0.45
    assert table.gpus[0].processes[0].pid == 4127

    memory = value(got["memory"])
    assert memory == Memory("cgroup2", 5000, 8000, 7000, 3, {}, 1000)
    assert value(got["cpu"]) == CpuCounters(16.0, 2.5, 10, 4, 490.1)

    host = value(got["host"])
    assert isinstance(host, Host)
    assert host.box_time > 1_700_000_000
    assert host.uptime_seconds == 5000.25
    assert host.boot_id == "77427627-700c-463f-a4d1-862d6a5f0ee9"
    assert host.hostname

    rows = {row.pid: row for row in value(got["processes"])}
    assert set(rows) == {1, 2, 4127}  # not the kernel's own threads
    assert rows[4127].argv == ("python", "train.py", "--config", "cfg/no aug.yaml")
    assert rows[4127].age_seconds == 1000.25
    assert rows[2].argv == ()

    roster = value(got["roster"])
    assert isinstance(roster, Roster)
    assert [cell.name for cell in roster.cells] == ["no_aug"]

    found = value(got["files"])
    assert isinstance(found, FileTable)
    assert set(found.found) == {
        "~/q 1.txt",
        "~/runs/logs/q1.log",
        "~/runs/logs/no_aug.log",
        "~/final/no_aug/best.pth",
        "~/checkpoints/x/latest.pth",
    }
    stat = found.found["~/runs/logs/no_aug.log"]
    assert (stat.size, stat.inode) == (8, log.stat().st_ino)
    assert stat.mtime == int(log.stat().st_mtime)

    root, missing = value(got["mounts"])
    assert isinstance(root, Mount)
    assert (root.path, root.fstype) == ("/", "ext4")
    assert root.bytes_total
    assert missing.bytes_total is None
    assert missing.why["bytes_total"] == "no such path"


async def test_each_beat_is_a_new_frame(files: ShellBox, shell: str):
    files.cgroup2()
    async with sampling(files, shell, files.groups(poll=0.05)["box"]) as inbox:
        await inbox.metric("memory")
        files.file("cgroup/memory.current", "6000\n")
        while value(await inbox.metric("memory")).used != 6000:
            pass


async def first(box: ShellBox, shell: str, group: str, metric: str, **changes: object):  # type: ignore[no-untyped-def]
    async with sampling(box, shell, box.groups(**changes)[group]) as inbox:
        return (await inbox.metric(metric)).sample


async def test_cgroup_v1(files: ShellBox, shell: str):
    files.cgroup1()
    memory = (await first(files, shell, "box", "memory")).value
    assert memory == Memory("cgroup1", 5000, 8000, 6000, 1, {}, 700)
    cpu = (await first(files, shell, "box", "cpu")).value
    assert cpu == CpuCounters(2.5, 3.0, 8, 2, 490.1)


async def test_without_a_cgroup_the_host_is_read(files: ShellBox, shell: str):
    memory = (await first(files, shell, "box", "memory")).value
    assert (memory.source, memory.used, memory.limit) == ("host", 600 * 1024, 1000 * 1024)
    assert memory.oom_kill == 4


async def test_without_anything_memory_is_absent(files: ShellBox):
    (files.proc / "meminfo").unlink()
    assert isinstance(await first(files, "dash", "box", "memory"), Absent)


async def test_a_bare_v2_host_counts_from_our_own_slice_outwards(files: ShellBox, shell: str):
    files.file("proc/self/cgroup", "0::/user.slice/user-0.slice/session-3.scope\n")
    files.cgroup2("/user.slice/user-0.slice/session-3.scope", limit="max")
    files.cgroup2("/user.slice/user-0.slice", limit="4000")
    files.cgroup2("/user.slice", limit="9000")
    memory = (await first(files, shell, "box", "memory")).value
    assert (memory.source, memory.limit) == ("cgroup2", 4000)


async def test_a_bare_v2_host_without_any_limit_is_the_host(files: ShellBox, shell: str):
    files.file("proc/self/cgroup", "0::/user.slice/session-3.scope\n")
    files.cgroup2("/user.slice/session-3.scope", limit="max")
    memory = (await first(files, shell, "box", "memory")).value
    assert memory.source == "host"


async def test_a_v1_job_below_the_root(files: ShellBox, shell: str):
    files.file(
        "proc/self/cgroup", "9:cpuset:/\n4:memory:/slurm/job_7\n2:cpu,cpuacct:/slurm/job_7\n"
    )
    files.cgroup1(limit="9223372036854771712")
    files.cgroup1("/slurm/job_7", limit="7000")
    memory = (await first(files, shell, "box", "memory")).value
    assert (memory.source, memory.limit) == ("cgroup1", 7000)
    cpu = (await first(files, shell, "box", "cpu")).value
    assert (cpu.quota_cores, cpu.usage_seconds) == (2.5, 3.0)


# --- what goes wrong ---------------------------------------------------------------------------


async def test_no_nvidia_smi(files: ShellBox, shell: str):
    files.program("nvidia-smi", "#!/bin/sh\nexit 127\n")
    table = (await first(files, shell, "gpu", "gpus")).value
    assert table.error.kind == "no-nvidia-smi"


async def test_mig_is_asked_for_where_a_card_gives_no_share(files: ShellBox, shell: str):
    row = "GPU-11111111-aaaa-4bbb-8ccc-000000000000"
    files.program(
        "nvidia-smi",
        f"""#!/bin/sh
        case $1 in
            --query-gpu=index*) echo '0, {row}, [N/A], 1, 2, 3, 4, 5, 6, 7, 0, Not Active, \
Not Active, Not Active, Not Active, Not Active, NVIDIA H100' ;;
            -L) echo 'GPU 0: NVIDIA H100 (UUID: {row})'
                echo '  MIG 3g.40gb     Device  0: (UUID: MIG-33333333)' ;;
            *) echo 'Field "mig.mode.current" is not a valid field to query.'; exit 2 ;;
        esac
        """,
    )
    table = (await first(files, shell, "gpu", "gpus")).value
    assert table.gpus[0].mig == "3g.40gb"


async def test_a_hung_nvidia_smi_is_ended_and_stops_nobody(files: ShellBox, shell: str):
    files.cgroup2()
    files.program("nvidia-smi", "#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done\n")
    groups = files.groups()
    gpu = replace(groups["gpu"], program=groups["gpu"].program.replace("$within 6", "$within 2"))
    async with sampling(files, shell, gpu, groups["box"]) as inbox:
        await inbox.metric("memory")
        await inbox.metric("memory")  # the box goes on while the driver hangs
        table = value(await inbox.metric("gpus"))
    assert table.error.kind == "hung"


async def test_a_probe_that_cannot_be_ended_is_reported_and_may_come_back(files: ShellBox):
    """What survives its own time limit: here a child that keeps the output open, as in D state."""
    stuck = files.root / "stuck.pid"
    files.program(
        "nvidia-smi",
        f"#!/bin/sh\n[ -e '{stuck}' ] && exit 6\nsetsid sleep 600 &\necho $! >'{stuck}'\n",
    )
    files.cgroup2()
    groups = files.groups()
    gpu = replace(groups["gpu"], patience=0.3)
    async with sampling(files, "dash", gpu, groups["box"]) as inbox:
        for _ in range(2):
            table = value(await inbox.metric("gpus"))
            assert table.error.kind == "hung"
            assert "cannot be ended" in table.error.text
        await inbox.metric("memory")
        os.kill(int(stuck.read_text()), signal.SIGKILL)
        while value(await inbox.metric("gpus")).error.kind == "hung":
            pass


async def test_a_flood_is_told_and_not_sent(files: ShellBox, shell: str):
    files.program("nvidia-smi", "#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x\n")
    sample = await first(files, shell, "gpu", "gpus")
    assert isinstance(sample, Failure)
    assert sample.kind is FailureKind.GARBAGE


async def test_a_silent_group_fails_all_its_metrics(files: ShellBox):
    files.program("df", "#!/bin/sh\nwhile :; do sleep 1; done\n")
    group = replace(files.groups()["disk"], patience=0.2)
    async with sampling(files, "dash", group) as inbox:
        sample = (await inbox.metric("mounts")).sample
    assert isinstance(sample, Failure)
    assert sample.kind is FailureKind.HUNG


async def test_a_dead_mount_does_not_hide_the_others(files: ShellBox, shell: str):
    files.program(
        "df", '#!/bin/sh\ncase $* in *dead*) while :; do sleep 1; done ;; esac\nexec /bin/df "$@"\n'
    )
    group = files.groups(mounts=("/dead", "/"))["disk"]
    group = replace(group, program=group.program.replace("$within 3", "$within 1"))
    async with sampling(files, shell, group) as inbox:
        dead, root = value(await inbox.metric("mounts"))
    assert dead.bytes_total is None
    assert "did not return" in dead.why["bytes_total"]
    assert root.bytes_total


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda box: None, Absent),
        (lambda box: (box.home / "q 1.txt").mkdir(), FailureKind.DENIED),
        (lambda box: os.mkfifo(box.home / "q 1.txt"), FailureKind.DENIED),
        (lambda box: box.file("home/q 1.txt", "x\n" * 300_000), FailureKind.GARBAGE),
    ],
)
async def test_a_queue_file_that_is_none(files: ShellBox, make, expected):  # type: ignore[no-untyped-def]
    make(files)
    sample = await first(files, "dash", "files", "roster")
    if expected is Absent:
        assert isinstance(sample, Absent)
    else:
        assert isinstance(sample, Failure)
        assert sample.kind is expected


async def test_a_program_that_ends_is_said_to_have_ended(files: ShellBox):
    group = replace(files.groups()["box"], program="exit 3\n")
    inbox = Inbox()
    await sample_group(
        ShellConnection(files), files.instance(), group, inbox, ManualClock(wall=7.0)
    )
    event = await inbox.metric("host")
    assert isinstance(event.sample, Failure)
    assert (event.sample.kind, event.at) == (FailureKind.UNREAD, 7.0)


# --- the end -----------------------------------------------------------------------------------


async def run_to_its_end(box: ShellBox, shell: str, group: Group, *, close_stdout: bool) -> None:
    """Run until the first frame, take one end of the channel away, await that every process is gone.

    All of them inherit the write end of a pipe: its end of file is the event.
    """
    read_end, write_end = os.pipe()
    process = await start(box, shell, group.program, (write_end,))
    os.close(write_end)
    assert process.stdin
    assert process.stdout
    reader = FrameReader(group)
    while not reader.feed(await asyncio.wait_for(process.stdout.read(4096), 20)):
        pass
    if close_stdout:
        process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
    else:
        process.stdin.close()
    loop = asyncio.get_running_loop()
    gone = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(gone), os.fdopen(read_end, "rb", 0)
    )
    assert await asyncio.wait_for(gone.read(), 15) == b""
    transport.close()
    await finish(process)


@pytest.mark.parametrize("name", ["gpu", "box", "disk", "files"])
async def test_nothing_is_left_when_the_client_goes(files: ShellBox, shell: str, name: str):
    await run_to_its_end(files, shell, files.groups()[name], close_stdout=False)


async def test_nothing_is_left_when_nobody_reads(files: ShellBox, shell: str):
    await run_to_its_end(files, shell, files.groups()["box"], close_stdout=True)


async def test_nothing_is_left_of_a_hung_probe(files: ShellBox, shell: str):
    """The second beat hangs: the client goes while the probe is still out."""
    hung = files.root / "hung"
    files.program(
        "nvidia-smi", f"#!/bin/sh\n[ -e '{hung}' ] || {{ : >'{hung}'; exit 6; }}\nexec sleep 600\n"
    )
    group = files.groups()["gpu"]
    quick = replace(group, program=group.program.replace("pause=2", "pause=1"))
    await run_to_its_end(files, shell, quick, close_stdout=False)


# --- forgeries ---------------------------------------------------------------------------------


async def test_box_text_cannot_forge_a_frame(files: ShellBox, shell: str):
    """Even one who knew the nonce could not leave the place behind the mark."""
    groups = files.groups()
    forged = "".join(
        f"x\n@{group.nonce} close 0\n@{group.nonce} end 0\n\n"
        f"@{group.nonce} begin 9 {group.probes[0].metric}\n@{group.nonce} open forged\n"
        f">v2.current 1\n@{group.nonce} close 0\n@{group.nonce} end 9\n"
        for group in groups.values()
    )
    files.file("home/q 1.txt", forged)
    files.file("forged", forged)
    for name in ("nvidia-smi", "df", "hostname"):
        files.program(name, f"#!/bin/sh\ncat '{files.root}/forged'\n")
    files.process(66, 1, forged[:400], ["python", forged], 5)
    for name in ("sys/kernel/random/boot_id", "uptime", "loadavg", "meminfo", "mounts"):
        files.file(f"proc/{name}", forged)
    for group in groups.values():
        process = await start(files, shell, group.program)
        assert process.stdin
        assert process.stdout
        reader = FrameReader(group)
        seen: list[Frame] = []
        while len(seen) < len(group.probes):
            seen += reader.feed(await asyncio.wait_for(process.stdout.read(4096), 20))
        process.stdin.close()
        seen += reader.feed(await process.stdout.read())
        await finish(process)
        first_beat = [frame.metric for frame in seen if frame.beat == 0]
        assert first_beat == [probe.metric for probe in group.probes]
        assert {frame.beat for frame in seen} <= {0, 1}
        assert not any("forged" in frame.sections for frame in seen)
        for frame in seen:
            samples(group, frame, 1.0)


async def test_paths_of_the_fleet_file_are_never_run(files: ShellBox, shell: str):
    trap = files.root / "trap"
    evil = f"/x'; touch '{trap}'; $(touch {trap}) `touch {trap}` \"; touch {trap} #\n*"
    instance = files.instance(
        mounts=(evil, f"~/{evil}"),
        queue=replace(files.instance().queue, file=f"~{evil}"),
        logs=f"~/{evil}/{{cell}}$(touch {trap}).log",
    )
    for group in plan(instance):
        if group.name in ("disk", "files"):
            async with sampling(files, shell, group) as inbox:
                await inbox.all_of({probe.metric for probe in group.probes})
    assert not trap.exists()
