"""A box that lies in numbers: thousands of digits, digits of other scripts. None of it ends the watch."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from boxes import Sshd
from test_follow import sign

from gpu_tui.collect.log_range import read_part, search
from gpu_tui.collect.probe import NoValue, Section, Target
from gpu_tui.collect.probe_results import RESULTS
from gpu_tui.collect.probe_runners import RUNNERS
from gpu_tui.collect.probe_slurm import read_jobs
from gpu_tui.collect.supervisor import Supervisor
from gpu_tui.collect.tail import Tail
from gpu_tui.collect.tail_memory import TailMemory
from gpu_tui.core import metrics
from gpu_tui.core.clock import ManualClock, rfc3339
from gpu_tui.core.events import Event, Sampled
from gpu_tui.core.fleet import Fleet, QueueFiles, SshAccess
from gpu_tui.core.fleet import Instance as Box
from gpu_tui.core.jobs import JobTable
from gpu_tui.core.log_range import LogAsk, LogUnread, Term
from gpu_tui.core.logs import LogSource
from gpu_tui.core.number import whole
from gpu_tui.core.sample import Reading
from gpu_tui.parse.kube_object import time
from gpu_tui.parse.slurm import _order
from gpu_tui.parse.tmux import parse_tmux
from gpu_tui.providers.fields import address, iso_time
from gpu_tui.teardown.box import _holders, _processes
from gpu_tui.teardown.hashing import file_of
from gpu_tui.teardown.inventory import _size
from gpu_tui.transport.ssh import SshTransport

HUGE = "9" * 5_000
ODD = (HUGE, "²", "٣", "-1", "1e400", "")
TARGET = Target(Box("box", SshAccess("box"), queue=QueueFiles(status="/s.json")), {}, ())


def test_only_plain_digits_make_a_number() -> None:
    assert [whole(text) for text in ("0", "007", "9" * 18, *ODD)] == [0, 7, 10**18 - 1, *[None] * 6]
    assert whole(b"12") == 12
    assert whole(HUGE.encode()) is None


@pytest.mark.parametrize("odd", ODD)
def test_no_probe_raises_at_a_number_that_is_none(odd: str) -> None:
    scores = next(probe for probe in RESULTS if probe.metric == metrics.SCORES.name)
    scores.parse(TARGET, {"scores": Section(), "count": Section(f"count {odd}\n".encode())})
    feed = next(probe for probe in RUNNERS if probe.metric == "feed")
    clock = Section(b"date 1767261600 +0000\n")
    feed.parse(TARGET, {"file": Section(b"[]"), "stat": Section(odd.encode()), "clock": clock})
    line = f"%1:7:1:{odd}:{odd}:{odd}:train:bash:python train.py"
    (job,) = parse_tmux(line.encode()).jobs
    assert job.exit_code is None
    assert job.submitted_at is None
    assert rfc3339(job.submitted_at) is None


@pytest.mark.parametrize("odd", ODD)
def test_no_rung_of_a_teardown_raises_at_it_either(odd: str) -> None:
    assert _processes(f"{odd}\tpython\t1 (python) S 1 0") is None
    assert _processes(f"1\tpython\t1 (python) S {odd} 0") is None
    assert _holders(f"/proc/{odd}/fd:\nl-wx 1 -> /r/x", "/r") == ((), {})
    assert file_of(f"{odd} {odd} 2026-03-04 10:00:00.0 +0000 2026-03-04 10:00:00.0 +0000") is None
    assert _size(f"1 {odd} x") == -1
    assert address("1.2.3.4", odd) is None


def test_a_file_from_before_1970_has_its_inode_all_the_same() -> None:
    assert file_of("2049 12 34 -1.000000000 1700000000.123456789") == (12, 34, 1700000000123456789)


def test_no_job_of_a_cluster_does() -> None:
    assert _order("12_3") == (12, 3)
    assert _order(HUGE)


@pytest.mark.parametrize("about", [b"mark \nuser me\n", b"mark\n", b""])
def test_no_table_of_a_cluster_that_has_lost_its_mark_does(about: bytes) -> None:
    sections = {"about": Section(about), "accounts": Section(b"120|COMPLETED\n")}
    assert isinstance(read_jobs(TARGET, sections), NoValue)


@pytest.mark.parametrize("words", [b"cut", b"doubt"])
async def test_no_tail_does(words: bytes) -> None:
    huge = HUGE.encode()

    async def said() -> AsyncIterator[bytes]:
        yield sign("00") + b" open new " + huge + b" 1-a " + huge + b" 0 " + huge + b"\n"
        yield sign("00") + b" open new 7 1-a 5 0 9\n"
        yield sign("00") + b" " + words + b" " + huge + b"\n"

    heard: list[Event] = []
    tail = Tail("a", LogSource("/x"), heard.append, ManualClock(), TailMemory(), "00")
    await tail.take(said())
    assert tail.opened


async def test_a_real_box_whose_programs_lie_is_watched_on(
    make_box: Callable[..., Sshd], tmp_path: Path
) -> None:
    """Its tmux, and its stat when a part of a log is asked for."""
    box = make_box(env={"TMUX_TMPDIR": str(tmp_path)})
    (tmp_path / f"tmux-{os.geteuid()}").mkdir()
    ear = socket.socket(socket.AF_UNIX)
    ear.bind(str(tmp_path / f"tmux-{os.geteuid()}/default"))
    (box.home / "a.log").write_text("one\ntwo\n")
    row = f"%1:7:1:{HUGE}:{HUGE}:train:bash:python train.py"
    box.program("tmux", f"#!/bin/sh\necho '{row}'\n")
    instance = box.instance()
    heard: list[Event] = []
    came = asyncio.Event()

    def hear(event: Event) -> None:
        heard.append(event)
        if isinstance(event, Sampled) and event.metric == "tmux":
            came.set()

    transport = SshTransport()
    running = asyncio.create_task(
        Supervisor(Fleet("s", (instance,)), transport, hear, ManualClock()).run()
    )
    waiting = asyncio.create_task(came.wait())
    await asyncio.wait({running, waiting}, timeout=60, return_when=asyncio.FIRST_COMPLETED)
    assert not running.done(), running.result()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    sample = next(e.sample for e in heard if isinstance(e, Sampled) and e.metric == "tmux")
    assert isinstance(sample, Reading)
    assert isinstance(sample.value, JobTable)
    box.program("stat", f"#!/bin/sh\necho {HUGE} {HUGE} {HUGE}\n")
    connection = await transport.connect(instance)
    source = LogSource("~/a.log")
    with pytest.raises(LogUnread):
        await read_part(connection, source, LogAsk(0, 8))
    with pytest.raises(LogUnread):
        await search(connection, source, (Term("one"),))
    await connection.close()
    await transport.close()
    ear.close()


@pytest.mark.parametrize(
    "text", ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+23:59"]
)
def test_a_time_at_the_end_of_the_calendar_is_none(text: str) -> None:
    """One zone further east, or a clock of fifteen days later, no calendar has it."""
    assert time({"at": text}, "at") is None
    assert iso_time(text) is None


@pytest.mark.parametrize("at", [253_402_300_800.0, 1e300, float("inf"), float("nan"), -1e12])
def test_what_no_calendar_names_is_not_written(at: float) -> None:
    assert rfc3339(at) is None
