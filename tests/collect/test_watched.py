"""What is asked of a box again is asked less and less often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from shell_box import ShellBox, ShellConnection
from test_cells import finish, instance, said, start
from test_follow import Heard

from gpu_tui.collect import watched
from gpu_tui.collect.cells import Unfollowed
from gpu_tui.collect.log_end import Look
from gpu_tui.collect.watched import LONGEST_PAUSE, REFUSED_SECONDS, TWIN, Watched
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import LogArrived, LogFailed, LogOpened
from gpu_tui.core.fleet import Instance, SshAccess
from gpu_tui.core.logs import LogSource


async def test_an_ended_log_that_a_dead_mount_keeps_is_asked_for_ever_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each who asks hangs there for good: those that hang must not pile up."""
    pauses: list[float | None] = []
    answers: Iterator[bool] = iter([False] * 8 + [True, False])
    over = asyncio.Event()

    async def read_others(*_: object) -> bool:
        if (answer := next(answers, None)) is None:
            over.set()
            await asyncio.Event().wait()
        return bool(answer)

    def timeout(seconds: float | None) -> asyncio.Timeout:
        pauses.append(seconds)
        return asyncio.timeout(0)

    box = Watched(Instance("box", SshAccess("box")), lambda event: None, ManualClock())
    monkeypatch.setattr(box, "_read_others", read_others)
    monkeypatch.setattr(
        watched, "asyncio", SimpleNamespace(**{**vars(asyncio), "timeout": timeout})
    )
    connection: Any = None
    following = asyncio.create_task(box._follow_cells(connection))
    await asyncio.wait_for(over.wait(), 60)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    grown = [min(REFUSED_SECONDS * 2**n, LONGEST_PAUSE) for n in range(8)]
    assert pauses == [*grown, None, REFUSED_SECONDS]


async def test_the_log_of_another_cell_is_no_rotated_one_of_this(tmp_path: Path) -> None:
    """`seed-2.log` is called as `seed.log` may be once it is rotated by number."""
    files, heard = ShellBox(tmp_path), Heard()
    box = Watched(Instance("box", SshAccess("box")), heard, ManualClock())
    connection: Any = ShellConnection(files, "bash")
    one, two = LogSource("~/seed.log", "seed"), LogSource("~/seed-2.log", "seed-2")

    def lines(source: LogSource) -> list[str]:
        came = [e for e in heard.events if isinstance(e, LogArrived) and e.source == source]
        return [line.text for event in came for line in event.lines]

    async def follow_until(source: LogSource, last: str) -> None:
        following = asyncio.create_task(box._follow(connection, source, 1_000))
        await heard.until(lambda: lines(source)[-1:] == [last])
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)

    files.file("home/seed.log", "a 1\n")
    await follow_until(one, "a 1")
    files.file("home/seed-2.log", "RuntimeError of another\n")
    await follow_until(two, "RuntimeError of another")
    files.file("home/seed.log", "b 1\n")  # another file: the cell was begun anew
    await follow_until(one, "b 1")
    assert lines(one) == ["a 1", "b 1"]


async def test_a_cell_that_is_selected_does_not_wait_for_the_ended_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a far line each of them takes a second, and a sweep may have many."""
    done: list[str] = []
    over = asyncio.Event()

    async def read(
        _: object, logs: Mapping[LogSource, bool], __: object, ___: object, stop: Callable[[], bool]
    ) -> Look:
        look = Look()
        for source in logs:
            await asyncio.sleep(0)
            done.append(f"read {source.cell}")
            look.done.append(source)
            if source.cell == "five":
                box.select("five")
            if stop():
                break
        if source.cell == "one":
            over.set()
        return look

    async def follow(_: object, source: LogSource, __: int) -> None:
        done.append(f"tail {source.cell}")
        box._peek(LogOpened("box", 0.0, source, 1, 0, 0, resumed=False))
        await asyncio.Event().wait()

    box = Watched(instance(), lambda event: None, ManualClock())
    for cell in ("one", "two", "three", "four", "five"):
        box._cells.queue_said(said(start(cell) + finish(cell)))
    box._cells.queue_said(said(start("six")))
    monkeypatch.setattr(box._ends, "read", read)
    monkeypatch.setattr(box, "_follow", follow)
    connection: Any = None
    following = asyncio.create_task(box._follow_cells(connection))
    await asyncio.wait_for(over.wait(), 60)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    reads = [f"read {cell}" for cell in ("four", "three", "two", "one")]
    assert done == ["tail six", "read five", "tail five", *reads]


@pytest.mark.parametrize("scheduler", [None, "slurm"])
async def test_a_job_whose_log_is_a_link_to_another_one_says_so(
    tmp_path: Path, scheduler: str | None
) -> None:
    """A row that never says why its log shows nothing would hold up every check."""
    files, heard = ShellBox(tmp_path), Heard()
    box = Watched(Instance("box", SshAccess("box"), scheduler=scheduler), heard, ManualClock())
    files.file("home/a.log", "Epoch 1/2\n")
    (files.home / "b.log").symlink_to("a.log")
    logs = [Unfollowed(LogSource(f"~/{name}.log", name), over=False) for name in "ab"]
    connection: Any = ShellConnection(files, "dash")
    for _ in range(2):
        await box._read_others(connection, [], logs)
    said = [event.why for event in heard.of(LogFailed)]  # type: ignore[attr-defined]
    assert said == ([f"~/b.log {TWIN}"] if scheduler else [])
