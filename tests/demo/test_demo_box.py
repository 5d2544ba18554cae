from __future__ import annotations

import errno
from pathlib import Path
from random import Random

import pytest

from gpu_tui.demo.box import GIB, Box
from gpu_tui.demo.cast import SEATS, STARS, cast

NOW = 1_763_700_000.0


def test_a_disk_refuses_the_file_that_would_pass_its_inodes(box: Box) -> None:
    disk = box.hardware.disks[1]
    for number in range(2046):
        (box.home / "autodl-fs" / str(number)).touch()
    assert box.inodes_used(disk) == 2047
    box.write("autodl-fs/last", b"x")
    with pytest.raises(OSError, match="No space left") as refused:
        box.write("autodl-fs/one/too/many", b"x")
    assert refused.value.errno == errno.ENOSPC
    assert not (box.home / "autodl-fs/one").exists()
    box.write("autodl-fs/last", b"rewriting takes no inode")
    box.write("autodl-tmp/other", b"another disk has room")


def test_the_kernel_files_say_what_the_run_uses(box: Box) -> None:
    box.load.memory = 200 * GIB
    box.beat(NOW + 60, 60.0)
    limit = (box.cgroup / "memory.max").read_text()
    assert (box.cgroup / "memory.current").read_text() == limit == f"{90 * GIB}\n"
    assert (box.cgroup / "memory.peak").read_text() == limit
    stat = dict(line.split() for line in (box.cgroup / "cpu.stat").read_text().splitlines())
    assert int(stat["nr_periods"]) == 610
    assert float((box.proc / "uptime").read_text().split()[0]) == NOW + 60 - box.booted_at


def test_version_1_has_its_own_layout(tmp_path: Path) -> None:
    sirius = next(part for part in STARS if part.hardware.cgroup == 1)
    box = Box("sirius", tmp_path, sirius.hardware, Random(2), NOW - 9, "sirius")
    box.vitals.oom_kill = 3
    box.beat(NOW, 1.0)
    assert "oom_kill 3\n" in (box.cgroup / "memory/memory.oom_control").read_text()
    assert not (box.cgroup / "memory.events").exists()


def test_a_process_is_in_proc_from_its_start_to_its_end(box: Box) -> None:
    runner = box.spawn("bash", ("bash", "run_queue.sh", "q/queue_1.txt"), NOW)
    child = box.spawn("python", ("python", "train.py"), NOW, runner)
    box.beat(NOW, 1.0)
    place = box.proc / str(child)
    assert (place / "cmdline").read_bytes() == b"python\0train.py\0"
    fields = (place / "stat").read_text().split()
    assert (fields[0], fields[1], fields[3]) == (str(child), "(python)", str(runner))
    assert len(fields) == 52
    assert int(fields[21]) == round((NOW - box.booted_at) * 100)
    box.reap(runner)
    box.beat(NOW + 1, 1.0)
    assert not place.exists()
    assert (box.proc / "1" / "stat").exists()


def test_the_cast_has_the_promised_breadth() -> None:
    stars = cast(8)
    assert {part.scene for part in stars} == {
        "healthy", "nan", "cuda_oom", "cgroup_oom", "inodes", "stopped", "link_drop", "finished",
    }  # fmt: skip
    assert len({part.platform for part in cast(6)}) >= 4
    everyone = cast(SEATS)
    assert len({part.name for part in everyone}) == SEATS
    with pytest.raises(ValueError, match="not 25"):
        cast(25)
