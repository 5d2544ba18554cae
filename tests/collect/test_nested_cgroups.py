"""Of nested cgroups the one with the least room is shown, whichever program reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell_box import SHELLS, ShellBox
from test_sampler import sampling, value

from gpu_tui.core.readings import Memory

JOB, STEP = "/slurm/job_7", "/slurm/job_7/step 0"


@pytest.fixture
def files(tmp_path: Path) -> ShellBox:
    return ShellBox(tmp_path)


def level2(
    box: ShellBox, where: str, used: int, limit: str, kills: int = 0, high: str = "max"
) -> None:
    box.cgroup2(where, limit)
    box.file(f"cgroup{where}/memory.current", f"{used}\n")
    box.file(f"cgroup{where}/memory.high", f"{high}\n")
    box.file(f"cgroup{where}/memory.events", f"low 0\noom_kill {kills}\n")
    box.file(f"cgroup{where}/memory.stat", "anon 1\ninactive_file 0\nactive_file 0\n")


async def memory_of(box: ShellBox, shell: str) -> Memory:
    async with sampling(box, shell, box.group(poll=0.1)) as inbox:
        found = value(await inbox.metric("memory"))
    assert isinstance(found, Memory)
    return found


@pytest.mark.parametrize("shell", SHELLS)
async def test_the_outer_cgroup_binds_where_it_has_less_room(files: ShellBox, shell: str) -> None:
    files.file("proc/self/cgroup", f"0::{STEP}\n")
    level2(files, JOB, 990, "1000", kills=2)
    level2(files, STEP, 980, "4000")
    async with sampling(files, shell, files.group(poll=0.1)) as inbox:
        outer = value(await inbox.metric("memory"))
        assert (outer.level, outer.used, outer.limit, outer.oom_kill) == (JOB, 990, 1000, 2)
        files.file(f"cgroup{JOB}/memory.current", "100\n")
        files.file(f"cgroup{STEP}/memory.current", "3999\n")
        inner = outer
        while inner.used == 990 or inner.level == JOB:
            inner = value(await inbox.metric_of("memory"))
    assert (inner.level, inner.used, inner.limit, inner.oom_kill) == (STEP, 3999, 4000, 0)


@pytest.mark.parametrize("shell", ["dash", "bash"])
async def test_version_1_counts_a_kill_in_the_victims_cgroup(files: ShellBox, shell: str) -> None:
    files.file("proc/self/cgroup", f"4:memory:{STEP}\n0::/\n")
    files.cgroup1(JOB, "6000")
    files.cgroup1(STEP, "9000")
    files.cgroup1("", "9223372036854771712")
    memory = await memory_of(files, shell)
    assert (memory.source, memory.level, memory.limit) == ("cgroup1", JOB, 6000)
    assert memory.oom_kill == 2  # of both


@pytest.mark.parametrize("shell", sorted(SHELLS.keys() & {"busybox", "ksh"}))
async def test_memory_high_is_a_limit_where_it_is_the_lower(files: ShellBox, shell: str) -> None:
    files.file("proc/self/cgroup", f"0::{JOB}\n")
    level2(files, JOB, 700, "1000", high="800")
    memory = await memory_of(files, shell)
    assert (memory.limit, memory.soft) == (800, True)


async def test_a_cgroup_without_any_limit_has_the_machine_around_it(files: ShellBox) -> None:
    files.cgroup2("", "max")
    memory = await memory_of(files, "dash")
    assert (memory.level, memory.limit) == ("/", None)
    assert (memory.host_room, memory.host_total) == (400 * 1024, 1000 * 1024)
