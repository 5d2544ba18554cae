"""The remote program, really run under dash, bash and busybox; frames, hangs, ends and forgeries."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from shell_box import (
    GPU_ROW,
    NVIDIA_SMI,
    SHELLS,
    TAIL,
    Inbox,
    ShellBox,
    ShellConnection,
    finish,
    gone,
    in_all_at_once,
    start,
)

from gpu_tui.collect.frames import Frame
from gpu_tui.collect.probe_gpu import APPS_ROUNDS
from gpu_tui.collect.program import MAIN_LANE, QUIET, look_of, tick_of
from gpu_tui.collect.sampler import Group, _Patience, plan, sample_group, samples
from gpu_tui.core import metrics
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.fleet import QueueFiles, Results
from gpu_tui.core.idle import gpus_idle
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


every_shell = in_all_at_once(sorted(SHELLS))
# ksh reads no further from a command that has ended, so what keeps its output open does not stand for one in D state.
every_shell_that_waits = in_all_at_once(sorted(SHELLS.keys() - {"ksh"}))


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


HOST = {"host_room": 400 * 1024, "host_total": 1000 * 1024}  # as the box's meminfo has it


async def test_every_metric_of_a_box(files: ShellBox, shell: str):
    files.cgroup2()
    files.file("home/q 1.txt", "configs/no_aug.yaml reconstruction 5\n")
    log = files.file("home/runs/logs/no_aug.log", "epoch 1\n")
    files.file("home/final/no_aug/best.pth", "weights")
    files.file("home/runs/logs/q1.log", "")
    files.file("home/checkpoints/x/latest.pth", "more")
    async with sampling(files, shell, files.group()) as inbox:
        got = await inbox.all_of(ALL)

    table = value(got["gpus"])
    assert isinstance(table, GpuTable)
    assert table.error is None
    assert table.gpus[0].utilization == 0.45
    assert table.gpus[0].processes[0].pid == 4127

    memory = value(got["memory"])
    assert memory == Memory("cgroup2", 5000, 8000, 7000, 3, {}, 1000, "/", **HOST)
    assert value(got["cpu"]) == CpuCounters(16.0, 2.5, 10, 4, 490.1)

    host = value(got["host"])
    assert isinstance(host, Host)
    assert host.box_time > 1_700_000_000
    assert host.uptime_seconds == 5000.25
    assert host.boot_id == "77427627-700c-463f-a4d1-862d6a5f0ee9"
    assert host.hostname
    assert host.machine == "17 pid:[4026532178]"

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


@pytest.mark.parametrize("shell", ["dash"])
async def test_the_disk_that_the_results_lie_on_is_watched_though_no_mount_is_named(
    files: ShellBox, shell: str
):
    files.cgroup2()
    files.program(
        "df",
        """#!/bin/sh
case $3 in /data/out) set -- 100 /data ;; /data/logs) set -- 100 /data ;; /q) set -- 3 /other ;; /) set -- 7 / ;; *) exit 1 ;; esac
printf 'Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/x 500 %s 9 9%% %s\n' "$@"
""",
    )
    group = files.group(
        mounts=(),
        results=Results("/data/out"),
        logs="/data/logs/{cell}/train.log",
        queue=QueueFiles("/q/a.txt", "/not/yet/there.log"),
    )
    async with sampling(files, shell, group) as inbox:
        mounts = value(await inbox.metric("mounts"))
    assert [(mount.path, mount.bytes_used) for mount in mounts] == [
        ("/", 7168),
        ("/data", 102400),
        ("/q", 3072),  # it leads to a disk elsewhere: it keeps the name that the fleet file has
    ]


async def test_each_beat_is_a_new_frame(files: ShellBox, shell: str):
    files.cgroup2()
    async with sampling(files, shell, files.group(poll=0.05)) as inbox:
        await inbox.metric("memory")
        files.file("cgroup/memory.current", "6000\n")
        while value(await inbox.metric("memory")).used != 6000:
            pass


@pytest.fixture
def slept(files: ShellBox) -> Callable[[], int]:
    """How often a shell started a program to wait."""
    files.program("sleep", f"#!/bin/sh\necho $1 >>'{files.root}/slept'\nexec /bin/sleep $1\n")
    return lambda: len((files.root / "slept").read_text().split())


async def test_a_shell_without_a_clock_takes_the_beat_of_its_client(
    files: ShellBox, slept: Callable[[], int]
):
    """And starts nothing any more to wait; with nobody to give a beat it goes on by itself."""
    files.cgroup2()
    files.program("nvidia-smi", NO_SMI)  # or its loop would begin with a short wait
    group = files.group(poll=0.1)
    async with sampling(files, "dash", group) as inbox:
        for _ in range(20):
            await inbox.metric("memory")
        before = slept()
        for _ in range(20):
            await inbox.metric("memory")
        assert slept() == before
    process = await start(files, "dash", group.program)
    assert process.stdout
    reader, beats = group.reader(), 0
    while beats < 20:
        frames = reader.feed(await asyncio.wait_for(process.stdout.read(4096), 60))
        beats += sum(frame.metric == "memory" for frame in frames)
    assert slept() > before
    await finish(process)


async def test_who_is_given_no_further_beat_writes_all_the_same(files: ShellBox):
    """Or the box would not notice for hours that the link is dead."""
    group = files.group()
    quick = group.program.replace(f"quiet={QUIET}\n", "quiet=0.1\n")
    assert quick != group.program
    process = await start(files, "dash", quick)
    assert process.stdin
    assert process.stdout
    await process.stdout.readuntil(b" 0 beat\n")
    process.stdin.write(b"\n")
    while (await asyncio.wait_for(process.stdout.read(65_536), 60)).strip():
        pass
    await finish(process)


async def test_no_beat_is_given_before_the_last_one_was_answered(files: ShellBox):
    """What a box that stood still was sent meanwhile would seem time that passed on it."""
    group = files.group(poll=0.05)
    program = f"""
    echo '@{group.nonce} 0 beat'
    while read -r line; do
        n=$((n + 1))
        echo "$n" >'{files.root}/beats'
        [ "$n" -gt 5 ] || printf '%s\\n' '@{group.nonce} 0 begin 0' '@{group.nonce} 0 end 0'
    done
    """
    group = replace(group, write=lambda: f"main() {{ {program} }}\nmain; exit\n")
    group = replace(group, patience={**group.patience, "memory": 2.0})
    async with sampling(files, "dash", group) as inbox:
        while not isinstance((await inbox.metric("memory")).sample, Failure):
            pass
    assert (files.root / "beats").read_text() == "6\n"


async def test_nobody_is_silent_before_the_program_is_there(files: ShellBox):
    """On a narrow line its first part may have answered, and the rest still be on its way."""
    there, group = asyncio.Event(), files.group()

    class Chunks:
        async def arrived(self) -> None:
            await there.wait()

        def __aiter__(self) -> AsyncIterator[bytes]:
            async def ever() -> AsyncIterator[bytes]:
                yield f"@{group.nonce} 0 begin 0\n@{group.nonce} 0 end 0\n".encode()
                await asyncio.Event().wait()

            return ever()

    class Connection:
        @asynccontextmanager
        async def stream(self, _: str) -> AsyncIterator[Chunks]:
            yield Chunks()

    hasty = replace(group, patience=dict.fromkeys(group.patience, 0.02))
    inbox = Inbox()
    running = asyncio.create_task(
        sample_group(Connection(), files.instance(), hasty, inbox, ManualClock())  # type: ignore[arg-type]
    )
    await inbox.metric("memory")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(inbox.metric("gpus"), 0.1)
    there.set()
    assert isinstance((await inbox.metric("gpus")).sample, Failure)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def first(box: ShellBox, shell: str, metric: str, **changes: object):  # type: ignore[no-untyped-def]
    async with sampling(box, shell, box.group(**changes)) as inbox:
        return (await inbox.metric(metric)).sample


async def test_cgroup_v1(files: ShellBox, shell: str):
    files.cgroup1()
    memory = (await first(files, shell, "memory")).value
    assert memory == Memory("cgroup1", 5000, 8000, 6000, 1, {}, 700, "/", **HOST)
    cpu = (await first(files, shell, "cpu")).value
    assert cpu == CpuCounters(2.5, 3.0, 8, 2, 490.1)


async def test_without_a_cgroup_the_host_is_read(files: ShellBox, shell: str):
    memory = (await first(files, shell, "memory")).value
    assert (memory.source, memory.used, memory.limit) == ("host", 600 * 1024, 1000 * 1024)
    assert memory.oom_kill == 4


async def test_without_anything_memory_is_absent(files: ShellBox):
    (files.proc / "meminfo").unlink()
    assert isinstance(await first(files, "dash", "memory"), Absent)


async def test_a_bare_v2_host_counts_from_our_own_slice_outwards(files: ShellBox, shell: str):
    files.file("proc/self/cgroup", "0::/user.slice/user-0.slice/session-3.scope\n")
    files.cgroup2("/user.slice/user-0.slice/session-3.scope", limit="max")
    files.cgroup2("/user.slice/user-0.slice", limit="4000")
    files.cgroup2("/user.slice", limit="9000")
    memory = (await first(files, shell, "memory")).value
    assert (memory.source, memory.limit) == ("cgroup2", 4000)


async def test_a_bare_v2_host_without_any_limit_is_the_host(files: ShellBox, shell: str):
    files.file("proc/self/cgroup", "0::/user.slice/session-3.scope\n")
    files.cgroup2("/user.slice/session-3.scope", limit="max")
    memory = (await first(files, shell, "memory")).value
    assert memory.source == "host"


async def test_a_v1_job_below_the_root(files: ShellBox, shell: str):
    files.file(
        "proc/self/cgroup", "9:cpuset:/\n4:memory:/slurm/job_7\n2:cpu,cpuacct:/slurm/job_7\n"
    )
    files.cgroup1(limit="9223372036854771712")
    files.cgroup1("/slurm/job_7", limit="7000")
    memory = (await first(files, shell, "memory")).value
    assert (memory.source, memory.limit) == ("cgroup1", 7000)
    cpu = (await first(files, shell, "cpu")).value
    assert (cpu.quota_cores, cpu.usage_seconds) == (2.5, 3.0)


@every_shell
async def test_the_process_table_is_read_anew_when_something_began_or_ended(
    files: ShellBox, shell: str
):
    """Long before its turn; and not at each beat while nothing does."""
    group = hurried(files.group(poll=0.1), "processes", 1, 40, latest=100.0)
    async with sampling(files, shell, group) as inbox:
        for _ in range(3):  # at the start, in any case
            table = value(await inbox.metric("processes"))
        assert {row.pid for row in table} == {1, 2, 4127}
        for _ in range(30):
            assert (await inbox.metric_of("memory", "processes")).metric == "memory"
        files.process(5000, 1, "python", ["python", "next.py"], 500_000)
        looks = 0
        while (event := await inbox.metric_of("memory", "processes")).metric == "memory":
            looks += 1
        assert looks < 30
        rows = {row.pid: row for row in value(event)}
        assert rows[5000].argv == ("python", "next.py")
        assert rows[4127].argv[:2] == ("python", "train.py")


@pytest.mark.parametrize("awk", ["awk", "mawk", "none"])
async def test_a_process_that_ends_while_it_is_read_hides_no_other(files: ShellBox, awk: str):
    """The read of its file fails then, as that of a directory does."""
    found = shutil.which(awk)
    if found:
        (files.bin / "awk").symlink_to(found)
    else:
        files.program("awk", "#!/bin/sh\nexit 1\n")
    (files.proc / "300/stat").mkdir(parents=True)
    async with sampling(files, "dash", files.group(poll=0.1)) as inbox:
        rows = value(await inbox.metric("processes"))
    assert {row.pid for row in rows} == {1, 2, 4127}


@every_shell
async def test_where_processes_always_come_and_go_the_table_is_not_read_at_every_look(
    files: ShellBox, shell: str
):
    group = hurried(files.group(poll=0.05), "processes", 1, 40, latest=0.4)
    async with sampling(files, shell, group) as inbox:
        tables = 0
        for pid in range(5000, 5064):
            files.process(pid, 1, "p", ["p"], 500_000)
            while (await inbox.metric_of("memory", "processes")).metric == "processes":
                tables += 1
    assert tables < 24


async def test_arguments_are_not_read_again_because_of_our_own_clock(files: ShellBox):
    """Plain sh sleeps in a process, which is another one each time."""
    group = hurried(files.group(poll=0.2), "processes", 1, 40, latest=0.2)
    process = await start(files, "dash", group.program)
    assert process.stdout
    clocks = range(7_000_000, 7_000_020)  # no real process has such a number
    children = f"proc/{process.pid}/task/{process.pid}/children"
    files.file(children, " ".join(map(str, clocks)))
    reader, text, tables = group.reader(), b"", 0
    while b" same cmdline\n" not in text:
        chunk = await asyncio.wait_for(process.stdout.read(65_536), 60)
        text += chunk
        if any(frame.metric == "processes" for frame in reader.feed(chunk)):
            shutil.rmtree(files.proc / str(clocks[tables]), ignore_errors=True)
            tables += 1
            files.process(clocks[tables], process.pid, "sleep", ["sleep", "1"], 9)
    assert tables < 8
    await finish(process)


@every_shell
async def test_what_seldom_changes_is_seen_to_change(files: ShellBox, shell: str):
    files.cgroup2()
    files.file("home/q 1.txt", "configs/a.yaml reconstruction 5\n")
    group = hurried(files.group(poll=0.1), "files", 1, 40)
    async with sampling(files, shell, group) as inbox:
        for _ in range(3):
            assert len(value(await inbox.metric("roster")).cells) == 1
        files.file("cgroup/memory.max", "9000\n")
        files.file("home/q 1.txt", "configs/a.yaml x 5\nconfigs/b.yaml x 5\n")
        while value(await inbox.metric("memory")).limit != 9000:
            pass
        while len(value(await inbox.metric("roster")).cells) != 2:
            pass


CARDS = """#!/bin/sh
case $1 in
    --query-gpu=index*) sed "s/, 9216, /, $(cat '{root}/in_use'), /" '{root}/row' ;;
    --query-compute-apps*)
        echo asked >>'{root}/asked'
        echo "GPU-11111111-aaaa-4bbb-8ccc-000000000000, $(cat '{root}/pid'), 9000, python" ;;
esac
"""


@every_shell
async def test_programs_on_a_card_are_asked_for_when_the_memory_in_use_moves_and_now_and_then(
    files: ShellBox, shell: str
):
    files.file("row", GPU_ROW + "\n")
    files.file("in_use", "9216")
    files.file("pid", "4127")
    files.program("nvidia-smi", CARDS.format(root=files.root))
    asked = files.file("asked", "")
    group = hurried(files.group(poll=0.1), "gpu", 1, 60)

    async with sampling(files, shell, group) as inbox:

        async def cards(count: int) -> tuple[set[int], int]:
            """The programs that so many tables show, and how often they were asked for."""
            before = len(asked.read_text().split())
            tables = [value(await inbox.metric("gpus")) for _ in range(count)]
            seen = {
                row.pid for table in tables for card in table.gpus for row in card.processes or ()
            }
            return seen, len(asked.read_text().split()) - before

        assert (await cards(1))[0] == {4127}
        seen, times = await cards(2 * APPS_ROUNDS)
        assert seen == {4127}
        assert 1 <= times <= 4  # two, and what is under way at both ends
        files.file("pid", "5000")
        files.file("in_use", "1024")
        while 5000 not in (await cards(1))[0]:
            pass
        files.file("pid", "6000")  # in as much memory as the one before
        while 6000 not in (await cards(1))[0]:
            pass


async def test_a_calm_beat_is_read_anew(files: ShellBox, shell: str):
    """Also where a file has other lines than before, or is gone."""
    files.cgroup2()
    async with sampling(files, shell, files.group(poll=0.05)) as inbox:
        for _ in range(8):
            assert value(await inbox.metric("memory")).oom_kill == 3
        files.file("cgroup/memory.events", "low 0\nlocal 9\noom_kill 7\nhigh 5\n")
        while value(await inbox.metric("memory")).oom_kill != 7:
            pass
        files.file("cgroup/memory.events", "oom_kill 8")
        while value(await inbox.metric("memory")).oom_kill != 8:
            pass
        (files.cgroup / "memory.events").unlink()
        while value(await inbox.metric("memory")).oom_kill is not None:
            pass
        for used in (6000, 6001):
            files.file("cgroup/memory.current", f"{used}\n")
            while value(await inbox.metric("memory")).used != used:
                pass


# --- what goes wrong ---------------------------------------------------------------------------


async def test_no_nvidia_smi(files: ShellBox, shell: str):
    files.program("nvidia-smi", "#!/bin/sh\nexit 127\n")
    table = (await first(files, shell, "gpus")).value
    assert table.error.kind == "no-nvidia-smi"


NO_SMI = "#!/bin/sh\nexit 127\n"


async def test_a_card_of_another_maker_is_named_and_makes_idle_unknown(files: ShellBox, shell: str):
    files.program("nvidia-smi", NO_SMI)
    files.file("dev/kfd", "")
    files.render_node(128, "amdgpu")
    table = (await first(files, shell, "gpus")).value
    assert table.error.kind == "other-maker"
    assert "AMD: /dev/dri/renderD128, /dev/kfd" in table.error.text
    assert gpus_idle(table) is None


async def test_cards_of_both_makers_are_read_as_far_as_they_can_be(files: ShellBox, shell: str):
    files.render_node(129, "i915", "0000:3a:00.0")
    table = (await first(files, shell, "gpus")).value
    assert [gpu.name for gpu in table.gpus] == ["NVIDIA L40S"]
    assert table.error.kind == "other-maker"
    assert "Intel: /dev/dri/renderD129" in table.error.text


async def test_a_screen_and_a_program_in_the_path_are_no_card(files: ShellBox, shell: str):
    files.program("nvidia-smi", NO_SMI)
    files.program("rocm-smi", "#!/bin/sh\necho 100%\n")
    for number, driver in enumerate(("virtio-pci", "ast", "vgem"), 128):
        files.render_node(number, driver, f"0000:00:0{number - 120:x}.0")
    files.render_node(140, "i915", "0000:00:02.0", PCI_ID="8086:A780")
    table = (await first(files, shell, "gpus")).value
    assert table.error.kind == "no-nvidia-smi"
    assert gpus_idle(table) is True


async def test_a_card_without_nvidia_smi_is_not_idle(files: ShellBox, shell: str):
    files.program("nvidia-smi", NO_SMI)
    files.file("dev/nvidia0", "")
    table = (await first(files, shell, "gpus")).value
    assert (table.error.kind, table.unread) == ("no-nvidia-smi", True)
    assert gpus_idle(table) is None


async def test_a_warning_beside_rows_is_a_note(files: ShellBox, shell: str):
    """nvidia-smi ends with 14 where an infoROM is corrupted, and reports all the same."""
    warned = "WARNING: infoROM is corrupted at gpu 0000:00:1E.0"
    files.program("nvidia-smi", NVIDIA_SMI.replace("esac", f"esac\necho '{warned}'\nexit 14"))
    table = (await first(files, shell, "gpus")).value
    assert table.error is None
    assert table.notes == (warned,)
    assert [process.pid for process in table.gpus[0].processes] == [4127]


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
    table = (await first(files, shell, "gpus")).value
    assert table.gpus[0].mig == "3g.40gb"


def hurried(group: Group, lane: str, beats: int, limit: int, latest: float = 0.0) -> Group:
    """The same group with one lane asked every so many beats, and its commands' limit in beats.

    Of the process table, `latest` is the seconds between two readings if nothing began or ended.
    """
    poll = group.target.instance.poll
    own = min(look_of(probe, poll) for probe in group.probes if probe.lane == lane)
    probes = tuple(
        replace(
            probe,
            every=latest or probe.every * beats / own,
            soon=probe.soon * beats / own,
            limit_seconds=limit * tick_of(poll),
        )
        if probe.lane == lane
        else probe
        for probe in group.probes
    )
    return plan(group.target.instance, probes=probes)[0]


HANGS = "#!/bin/sh\necho $$ >>'{root}/started'\ntrap '' TERM\nkill -s STOP $$\n"


def started(box: ShellBox) -> list[int]:
    return [int(line) for line in (box.root / "started").read_text().split()]


@pytest.mark.parametrize(
    "first", ["", "exec >&- 2>&-\n"]
)  # as it is; once it has let go of its output
@every_shell
async def test_a_hung_nvidia_smi_is_ended_stops_nobody_and_piles_nothing_up(
    files: ShellBox, shell: str, first: str
):
    files.cgroup2()
    files.program("nvidia-smi", HANGS.format(root=files.root).replace("trap", f"{first}trap"))
    group = hurried(files.group(poll=0.1), "gpu", 1, 5)
    async with sampling(files, shell, group) as inbox:
        for _ in range(3):
            beats = 0
            while (event := await inbox.metric_of("gpus", "memory")).metric == "memory":
                beats += 1
            assert value(event).error.kind == "hung"
            assert beats >= 4  # of five: the box goes on while the driver hangs
            await gone(*started(files)[:-1])
    assert len(started(files)) >= 3


@every_shell
async def test_no_further_nvidia_smi_joins_one_that_a_dead_driver_holds(
    files: ShellBox, shell: str
):
    """Each connection, and each tick of cron, would leave one more that nothing can end. It is looked for once."""
    files.cgroup2()
    files.file("proc/77/stat", "77 (nvidia-smi) D 1 " + TAIL.format(start=9))
    files.program("nvidia-smi", f"#!/bin/sh\necho >>{files.root}/asked\n{NVIDIA_SMI}")
    files.program(
        "cat",
        f'#!/bin/sh\ncase $* in */77/stat*) echo >>{files.root}/searched ;; esac\nexec /bin/cat "$@"\n',
    )
    group = files.group(poll=0.1)
    probes = tuple(probe for probe in group.probes if probe.lane in (MAIN_LANE, "gpu"))
    (group,) = plan(group.target.instance, probes=probes)
    async with sampling(files, shell, group) as inbox:
        for _ in range(3):
            assert value(await inbox.metric_of("gpus")).error.kind == "hung"
        assert not (files.root / "asked").exists()
        assert (files.root / "searched").read_text() == "\n"
        files.file("proc/77/stat", "77 (nvidia-smi) Z 1 " + TAIL.format(start=9))
        while value(await inbox.metric_of("gpus")).error is not None:
            pass


@every_shell
async def test_a_hung_df_is_one_finding_and_stops_nobody(files: ShellBox, shell: str):
    files.cgroup2()
    files.program("df", HANGS.format(root=files.root))
    group = hurried(files.group(poll=0.1, mounts=("/dead",)), "disk", 1, 5)
    async with sampling(files, shell, group) as inbox:
        for _ in range(2):
            beats = 0
            while (event := await inbox.metric_of("mounts", "memory")).metric == "memory":
                beats += 1
            (mount,) = value(event)
            assert "did not return" in mount.why["bytes_total"]
            assert beats >= 4
            await gone(*started(files)[:-1])


@every_shell_that_waits
async def test_a_df_that_cannot_be_ended_is_told_by_the_time_of_one_df(files: ShellBox, shell: str):
    """What survives it keeps its output open; nobody waits for as long as all disks together might take."""
    files.cgroup2()
    files.program(
        "df",
        f"#!/bin/sh\necho $$ >>'{files.root}/started'\n"
        f"setsid sleep 600 &\necho $! >'{files.root}/stuck'\ntrap '' TERM\nwait\n",
    )
    group = hurried(files.group(poll=0.1, mounts=("/dead", "/")), "disk", 100, 3)
    group = replace(group, pace={**group.pace, "mounts": 0.8})
    assert group.patience["mounts"] > 10
    try:
        async with sampling(files, shell, group) as inbox:
            dead, root = value(await inbox.metric("mounts"))
        assert (dead.path, dead.trouble) == ("/dead", "hung")
        assert (root.path, root.trouble, root.bytes_total) == ("/", None, None)
        assert "df of another mount does not return" in root.why["bytes_total"]
        assert len(started(files)) == 1
    finally:
        os.kill(int((files.root / "stuck").read_text()), signal.SIGKILL)


@every_shell
async def test_many_disks_that_are_slow_are_no_df_that_hangs(files: ShellBox, shell: str):
    files.cgroup2()
    files.program("df", '#!/bin/sh\nsleep 0.15\nexec /bin/df "$@"\n')
    group = hurried(files.group(poll=0.1, mounts=("/", *"abcdefg")), "disk", 100, 60)
    group = replace(group, pace={**group.pace, "mounts": 1.0})
    async with sampling(files, shell, group) as inbox:
        mounts = value(await inbox.metric("mounts"))
    assert len(mounts) == 8


@pytest.mark.parametrize("poll", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("disks", [1, 9])
def test_a_df_that_never_returns_is_told_soon_after_it_began(
    files: ShellBox, poll: float, disks: int
):
    group = files.group(poll=poll, mounts=tuple(f"/{at}" for at in range(disks)))
    patience, beat, told = _Patience(group, 0.0), tick_of(poll), []
    limit = group.named["mounts"][0].limit_seconds + 2 * beat  # of a df that could be ended
    steps = [1.0 + at * limit for at in range(2 * disks)]
    for round in range(1, 400):
        now = round * beat
        while steps and steps[0] <= now:
            patience.step("mounts", last := steps.pop(0))
        for probe in group.probes:
            if probe.metric != "mounts" and now % group.beat_of(probe) < beat:
                patience.hear(probe.metric, now)
        told += [(now, p.metric, alone) for p, alone in patience.silent(now).items()]
    assert {(metric, alone) for _, metric, alone in told} == {("mounts", True)}
    assert last + limit < told[0][0] < last + 15


@every_shell_that_waits
async def test_a_lane_is_never_asked_twice_while_its_command_lives(files: ShellBox, shell: str):
    """What survives its own time limit: here a child that keeps the output open, as in D state."""
    files.program(
        "nvidia-smi",
        f"#!/bin/sh\necho $$ >>'{files.root}/started'\n[ -e '{files.root}/free' ] && exit 6\n"
        f"setsid sleep 600 &\necho $! >'{files.root}/stuck'\n",
    )
    files.cgroup2()
    group = hurried(files.group(poll=0.1), "gpu", 1, 3)
    group = replace(group, patience={**group.patience, "gpus": 0.5})
    async with sampling(files, shell, group) as inbox:

        async def cards() -> GpuTable:
            """What is said of them; where nobody answers, as before all has begun, nothing is."""
            while isinstance((told := await inbox.metric("gpus")).sample, Failure):
                pass
            table: GpuTable = value(told)
            return table

        for _ in range(3):
            table = await cards()
            assert table.error.kind == "hung"
            assert "cannot be ended" in table.error.text
            await inbox.metric("memory")
        assert len(started(files)) == 1
        files.file("free", "")
        os.kill(int((files.root / "stuck").read_text()), signal.SIGKILL)
        while (await cards()).error.kind == "hung":
            pass


async def test_a_flood_is_told_and_not_sent(files: ShellBox, shell: str):
    files.program("nvidia-smi", "#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x\n")
    sample = await first(files, shell, "gpus")
    assert isinstance(sample, Failure)
    assert sample.kind is FailureKind.GARBAGE


async def test_a_box_that_says_nothing_at_all_says_nothing_of_its_cards(files: ShellBox):
    group = files.group()
    group = replace(group, write=lambda: "exec cat\n", patience=dict.fromkeys(group.patience, 0.2))
    async with sampling(files, "dash", group) as inbox:
        got = await inbox.all_of({probe.metric for probe in group.probes})
    for event in got.values():
        assert isinstance(event.sample, Failure)
        assert event.sample.kind is FailureKind.HUNG


@pytest.mark.parametrize(
    "poll", [1.0, 3.0, 5.0]
)  # of a slower one the line itself is found dead first
def test_a_line_that_was_cut_says_nothing_of_the_cards(files: ShellBox, poll: float):
    """The cards are heard a little before the rest: when the line goes, all fall silent, and they are late first."""
    group = files.group(poll=poll)
    patience, cut = _Patience(group, 0.0), 60.0
    for probe in group.probes:
        last = cut - cut % group.beat_of(probe) - (0.9 if probe.metric == "gpus" else 0.1)
        patience.hear(probe.metric, last)
    told: dict[str, set[bool]] = {}
    while told.keys() != {probe.metric for probe in group.probes}:
        for probe, alone in patience.silent(patience.next).items():
            told.setdefault(probe.metric, set()).add(alone)
    assert set.union(*told.values()) == {False}


@pytest.mark.parametrize("poll", [0.1, 1.0, 5.0, 60.0])
def test_cards_that_alone_fall_silent_are_told(files: ShellBox, poll: float):
    group = files.group(poll=poll)
    patience, beat, told = _Patience(group, 0.0), tick_of(poll), []
    for round in range(1, 400):
        for probe in group.probes:
            if probe.metric != "gpus" and round * beat % group.beat_of(probe) < beat:
                patience.hear(probe.metric, round * beat)
        told += [(p.metric, alone) for p, alone in patience.silent(round * beat).items()]
    assert set(told) == {("gpus", True)}


@every_shell
async def test_a_dead_mount_does_not_hide_the_others(files: ShellBox, shell: str):
    files.program(
        "df", '#!/bin/sh\ncase $* in *dead*) while :; do sleep 1; done ;; esac\nexec /bin/df "$@"\n'
    )
    group = hurried(files.group(poll=0.1, mounts=("/dead", "/")), "disk", 1, 5)
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
    sample = await first(files, "dash", "roster")
    if expected is Absent:
        assert isinstance(sample, Absent)
    else:
        assert isinstance(sample, Failure)
        assert sample.kind is expected


async def test_a_program_that_ends_is_said_to_have_ended(files: ShellBox):
    group = replace(files.group(), write=lambda: "exit 3\n")
    inbox = Inbox()
    await sample_group(
        ShellConnection(files), files.instance(), group, inbox, ManualClock(wall=7.0)
    )
    event = await inbox.metric("host")
    assert isinstance(event.sample, Failure)
    assert (event.sample.kind, event.at) == (FailureKind.UNREAD, 7.0)


# --- the end -----------------------------------------------------------------------------------


async def run_to_its_end(
    box: ShellBox, shell: str, group: Group, *, ends: str, beats: int = 0
) -> None:
    """Run until the first frame and for so many `beats` that the client gives, then take away what `ends`:
    stdin, stdout or the main loop. Await that every process is gone.

    All of them inherit the write end of a pipe: its end of file is the event.
    """
    read_end, write_end = os.pipe()
    process = await start(box, shell, group.program, (write_end,))
    os.close(write_end)
    assert process.stdin
    assert process.stdout
    reader = group.reader()
    while not reader.feed(await asyncio.wait_for(process.stdout.read(4096), 60)):
        pass
    for _ in range(beats):
        process.stdin.write(b"\n")
        while not reader.feed(await asyncio.wait_for(process.stdout.read(4096), 60)):
            pass
    if ends == "main":
        process.kill()
    elif ends == "stdout":
        process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
    else:
        process.stdin.close()
    loop = asyncio.get_running_loop()
    gone = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(gone), os.fdopen(read_end, "rb", 0)
    )
    assert await asyncio.wait_for(gone.read(), 60) == b""
    transport.close()
    await finish(process)


async def test_nothing_is_left_when_the_client_goes(files: ShellBox, shell: str):
    await run_to_its_end(files, shell, files.group(), ends="stdin")


@every_shell
async def test_nothing_is_left_when_nobody_reads(files: ShellBox, shell: str):
    await run_to_its_end(files, shell, files.group(poll=0.1), ends="stdout")


@pytest.mark.parametrize("ends", ["stdin", "main"])
async def test_nothing_is_left_where_the_client_gave_the_beat(files: ShellBox, ends: str):
    await run_to_its_end(files, "dash", files.group(poll=0.1), ends=ends, beats=5)


@every_shell
async def test_nothing_is_left_where_the_client_went_before_the_start(files: ShellBox, shell: str):
    """Its input ends behind the program, and it does not lead its process group."""
    text = files.file("program.sh", files.group(poll=0.2).program)
    read_end, write_end = os.pipe()
    with text.open("rb") as program:
        process = await asyncio.create_subprocess_exec(
            *SHELLS[shell],
            stdin=program, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL, cwd=files.home, pass_fds=(write_end,),
            env=files.environment(shell),
        )  # fmt: skip
    os.close(write_end)
    loop = asyncio.get_running_loop()
    gone = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(gone), os.fdopen(read_end, "rb", 0)
    )
    assert await asyncio.wait_for(gone.read(), 60) == b""
    transport.close()
    await process.wait()


@pytest.mark.parametrize("name", ["nvidia-smi", "df", "stat"])
async def test_nothing_is_left_of_a_hung_probe(files: ShellBox, shell: str, name: str):
    files.program(name, HANGS.format(root=files.root))
    await run_to_its_end(files, shell, files.group(), ends="stdin")


async def test_an_old_bash_is_a_plain_sh(files: ShellBox):
    """Nothing is asked of it that came later, such as parts of a second in `read -t`."""
    files.cgroup2()
    group = files.group(poll=0.2)
    old = group.program.replace("\nmain; exit\n", "\nBASH_VERSION=3.2.57\nmain; exit\n")
    assert old != group.program
    async with sampling(files, "bash", replace(group, write=lambda: old)) as inbox:
        got = await inbox.all_of(ALL)
        assert all(isinstance(event.sample, Reading | Absent) for event in got.values()), got
        for _ in range(3):
            assert value(await inbox.metric("memory")).used == 5000


# --- many writers ------------------------------------------------------------------------------


async def test_lines_of_many_writers_never_mix(files: ShellBox, shell: str):
    """Every lane at once and at full speed, long lines, a reader that is late: no byte is displaced."""
    dice = random.Random(7)

    def lines(count: int, longest: int, mark: str) -> str:
        return "".join(mark * dice.randrange(1, longest) + "\n" for _ in range(count))

    queue, cards, sizes = lines(60, 6000, "q"), lines(40, 9000, "g"), lines(30, 5000, "d")
    files.cgroup2()
    files.file("home/q 1.txt", queue)
    files.file("cards", cards)
    files.file("sizes", sizes)
    files.program("nvidia-smi", f"#!/bin/sh\nexec cat '{files.root}/cards'\n")
    files.program("df", f"#!/bin/sh\nexec cat '{files.root}/sizes'\n")
    for pid in range(100, 140):
        files.process(pid, 1, "p", ["a" * dice.randrange(1, 1900)], 5)
    group = files.group(poll=0.05, mounts=("/",))
    for lane in ("gpu", "processes", "files", "disk"):
        group = hurried(group, lane, 1, 200)
    expected = {
        ("gpus", "query"): cards,
        ("gpus", "apps"): cards,
        ("mounts", "bytes.0"): sizes,
        ("mounts", "inodes.0"): sizes,
        ("roster", "file"): queue,
    }
    process = await start(files, shell, group.program)
    assert process.stdin
    assert process.stdout
    reader = group.reader()
    seen = dict.fromkeys(ALL, 0)
    seen["host"] = 8  # of few lines, and seldom
    first: dict[tuple[str, str], bytes] = {}
    while min(seen.values()) < 8:
        for frame in reader.feed(await asyncio.wait_for(process.stdout.read(20_000), 60)):
            seen[frame.metric] = seen.get(frame.metric, 8) + 1
            for name, section in frame.sections.items():
                assert not section.truncated
                body = section.body.decode()
                if (frame.metric, name) in expected:
                    assert body == expected[frame.metric, name]
                elif name in ("stat", "cmdline", "memory", "cpu", "table"):
                    assert section.body == first.setdefault((frame.metric, name), section.body)
    assert len(first[("processes", "cmdline")].split(b"==>")) == 43
    process.stdin.close()
    await process.stdout.read()
    await finish(process)


# --- forgeries ---------------------------------------------------------------------------------


async def test_box_text_cannot_forge_a_frame(files: ShellBox, shell: str):
    """Even one who knew the nonce could not leave the place behind the mark."""
    group = files.group()
    forged = "x\n" + "".join(
        f"@{group.nonce} {mark} close 0\n@{group.nonce} {mark} end 0\n\n"
        f"@{group.nonce} {mark} begin 999\n@{group.nonce} {mark} open forged\n"
        f">{mark} v2.current 1\n@{group.nonce} {mark} close 0\n@{group.nonce} {mark} end 999\n"
        for mark in range(len(group.probes))
    )
    files.file("home/q 1.txt", forged)
    files.file("forged", forged)
    for name in ("nvidia-smi", "df", "hostname", "date"):
        files.program(name, f"#!/bin/sh\ncat '{files.root}/forged'\n")
    files.process(66, 1, forged[:400], ["python", forged], 5)
    for name in ("sys/kernel/random/boot_id", "uptime", "loadavg", "meminfo", "mounts"):
        files.file(f"proc/{name}", forged)
    process = await start(files, shell, group.program)
    assert process.stdin
    assert process.stdout
    reader = group.reader()
    seen: list[Frame] = []
    while not {frame.metric for frame in seen} >= ALL:
        seen += reader.feed(await asyncio.wait_for(process.stdout.read(4096), 60))
    process.stdin.close()
    seen += reader.feed(await process.stdout.read())
    await finish(process)
    first = [frame.metric for frame in seen if frame.beat == 0]
    assert len(first) == len(set(first))
    assert set(first) >= ALL
    assert 999 not in {frame.beat for frame in seen}
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
    (group,) = plan(instance)
    async with sampling(files, shell, group) as inbox:
        await inbox.all_of(ALL)
    assert not trap.exists()
