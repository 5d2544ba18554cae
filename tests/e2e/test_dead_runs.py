"""A box on which nothing runs any more: `check` reads its logs and agrees with the cockpit."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from boxes import Sshd

from gpu_tui.core.fleet import Fleet, Instance, QueueFiles
from gpu_tui.state.contract import check_json
from gpu_tui.state.settled import settled
from gpu_tui.state.views import FleetView, InstanceView
from gpu_tui.transport.ssh import SshTransport
from gpu_tui.wiring.clock import SystemClock
from gpu_tui.wiring.fleet import Room, Tap, open_fleet
from gpu_tui.wiring.once import collect_once

APART = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
MAY_UNSHARE = (
    shutil.which("unshare") is not None
    and subprocess.run([*APART, "true"], check=False, capture_output=True).returncode == 0
)
pytestmark = pytest.mark.skipif(not MAY_UNSHARE, reason="needs a process table of its own")
HOUR = 3600.0
TRACEBACK = """Traceback (most recent call last):
  File "/root/train.py", line 90, in <module>
    main()
  File "/root/train.py", line 71, in step
    loss.backward()
"""
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.6 GiB"
VALUE = "ValueError: Expected more than 1 value per channel when training"


def epochs(upto: int, of: int = 20) -> str:
    return "".join(f"Epoch {n}/{of} - loss: {1 / n:.4f}\n" for n in range(1, upto + 1))


FINISHED = epochs(20)
QUIET = "loading data\n" + epochs(3)
SURVIVED = epochs(9) + TRACEBACK + f"{VALUE}\nretrying\n" + epochs(20)[len(epochs(9)) :]


@pytest.fixture
def alone(make_box: Callable[..., Sshd]) -> Sshd:
    """A box on which nothing runs but sshd."""
    return make_box("alone", under=APART)


class Logs:
    """A directory of logs on a box, each with its own age."""

    def __init__(self, box: Sshd) -> None:
        self.directory = box.home / "logs"
        self.directory.mkdir()

    def write(self, name: str, text: str | bytes, age: float) -> Path:
        path = self.directory / f"{name}.log"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        at = SystemClock().now() - age
        os.utime(path, (at, at))
        return path


@pytest.fixture
def logs(alone: Sshd) -> Logs:
    return Logs(alone)


def instance(box: Sshd, **changed: object) -> Instance:
    return box.instance("lab", **{"logs": f"{box.home}/logs/{{cell}}.log", **changed})


async def seen(box: Sshd, state: Path, **changed: object) -> dict[str, object]:
    """The box in `check --json`."""
    view = await collect_once(Fleet(None, (instance(box, **changed),), None), state=state)
    (row,) = check_json(view)["instances"]  # type: ignore[misc]
    return row  # type: ignore[no-any-return]


def states(row: dict[str, object]) -> dict[str, str]:
    return {cell["name"]: cell["state"] for cell in row["queue"]["cells"]}  # type: ignore[index]


def told(row: dict[str, object]) -> dict[str, object]:
    """The parts of the JSON that must be the same at every call."""
    cells = [
        {key: cell[key] for key in ("name", "index", "state", "epoch", "epochs", "loss")}
        for cell in row["queue"]["cells"]  # type: ignore[index]
    ]
    findings = [
        (f["kind"], f["cell"], f["severity"], f["evidence"], f["source"], f["count"])
        for f in row["findings"]  # type: ignore[attr-defined]
    ]
    return {"verdict": row["verdict"], "cells": cells, "findings": findings}


async def test_one_dead_run_on_an_idle_box(alone: Sshd, logs: Logs, tmp_path: Path) -> None:
    logs.write("vit", epochs(4) + TRACEBACK + OOM, 2 * HOUR)  # no newline at its end
    row = await seen(alone, tmp_path)
    assert states(row) == {"vit": "failed"}
    assert row["verdict"] == "crashed", row["because"]
    found = row["findings"][0]  # type: ignore[index]
    assert (found["kind"], found["cell"]) == ("gpu_oom", "vit")


async def test_every_one_of_23_logs_is_judged_and_always_alike(
    alone: Sshd, logs: Logs, tmp_path: Path
) -> None:
    dead = {f"dead{n}" for n in range(5)}
    for n in range(18):
        text = (FINISHED, QUIET, SURVIVED)[n % 3]
        logs.write(f"run{n:02}", text, (n + 1) * HOUR)
    for n, name in enumerate(sorted(dead)):
        logs.write(name, epochs(4) + TRACEBACK + f"{VALUE if n % 2 else OOM}\n", (3 * n + 2) * HOUR)
    rows = [await seen(alone, tmp_path / str(n)) for n in range(3)]
    said = states(rows[0])
    assert {name for name, state in said.items() if state == "failed"} == dead
    assert {said[f"run{n:02}"] for n in range(0, 18, 3)} == {"finished"}
    assert {said[f"run{n:02}"] for n in range(1, 18, 3)} == {"cannot-tell"}
    assert {said[f"run{n:02}"] for n in range(2, 18, 3)} == {"finished"}
    bad = [f for f in rows[0]["findings"] if f["severity"] != "warn"]  # type: ignore[attr-defined]
    assert {f["cell"] for f in bad} == dead
    assert told(rows[0]) == told(rows[1]) == told(rows[2])


async def test_of_45_logs_the_older_ones_are_counted(
    alone: Sshd, logs: Logs, tmp_path: Path
) -> None:
    for n in range(45):
        logs.write(f"run{n:02}", FINISHED if n % 2 else epochs(2) + f"{VALUE}\n", (n + 1) * HOUR)
    logs.write("last_month", epochs(2) + TRACEBACK + f"{VALUE}\n", 31 * 24 * HOUR)
    row = await seen(alone, tmp_path)
    cells = {cell["name"]: cell for cell in row["queue"]["cells"]}  # type: ignore[index]
    assert row["queue"]["unread_logs"] == 6  # type: ignore[index]
    read = {f"run{n:02}" for n in range(40)}
    assert {name for name, cell in cells.items() if cell["state"] != "cannot-tell"} == read
    assert "40 newer ones of this box are" in cells["run44"]["why"]["state"]
    assert "more than 14 days" in cells["last_month"]["why"]["state"]
    assert {f["cell"] for f in row["findings"]} <= {*read, None}  # type: ignore[attr-defined]


class Watch:
    """A cockpit without a screen."""

    def __init__(self, room: Room, tap: Tap) -> None:
        self._room = room
        self._tap = tap

    @property
    def view(self) -> InstanceView:
        return self._room.store.view(self._room.clock.now())["lab"]

    async def until(self, condition: Callable[[InstanceView], bool]) -> InstanceView:
        async with asyncio.timeout(120):
            while not condition(view := self.view):
                await self._tap.next(1.0)
            return view

    async def read(self) -> InstanceView:
        return await self.until(
            lambda view: settled(view) and bool(self._room.supervisor.read_up("lab"))
        )

    def lines(self, cell: str) -> list[list[str]]:
        """The lines of each log that is kept under this name."""
        logs = (log.source for log in self.view.logs if log.source.cell == cell)
        kept = (self._room.store.log("lab", source) for source in logs)
        return [[log.text(n) for n in range(log.first, log.end)] for log in kept if log]


@asynccontextmanager
async def watching(box: Sshd, state: Path, **changed: object) -> AsyncIterator[Watch]:
    fleet = Fleet(None, (instance(box, **changed),), None)
    async with open_fleet(fleet, read_only=True, state=state) as (room, tap):
        yield Watch(room, tap)


async def test_the_cockpit_says_what_check_says(alone: Sshd, logs: Logs, tmp_path: Path) -> None:
    logs.write("lr=1e-3(bs64) #2", epochs(3) + TRACEBACK + f"{VALUE}\n", 90)
    for n in range(12):
        text = (epochs(3) + TRACEBACK + OOM, FINISHED, QUIET)[n % 3]
        logs.write(f"run{n:02}", text, (n + 1) * HOUR)
    row = await seen(alone, tmp_path / "check")
    async with watching(alone, tmp_path / "cockpit") as cockpit:
        view = await cockpit.read()
    (shown,) = check_json(FleetView(None, view.taken_at, (view,), (), ()))["instances"]  # type: ignore[misc]
    assert told(row) == told(shown)
    assert states(row)["lr=1e-3(bs64) #2"] == "failed"
    assert row["verdict"] == "crashed"


async def test_runs_that_start_and_die_between_two_looks_are_reported(
    alone: Sshd, logs: Logs, tmp_path: Path
) -> None:
    logs.write("first", FINISHED, HOUR)
    async with watching(alone, tmp_path) as cockpit:
        await cockpit.read()
        names = {f"late{n}" for n in range(9)}
        for n, name in enumerate(sorted(names)):
            logs.write(name, epochs(1) + TRACEBACK + VALUE, 200 + n)  # no newline at its end
        view = await cockpit.until(
            lambda view: {f.cell for f in view.findings if f.kind == "crashed"} == names
        )
        states = {cell.name: cell.state.value for cell in view.queue.cells}
        assert states == {"first": "finished", **dict.fromkeys(names, "failed")}
        log = logs.write("late3", epochs(1) + TRACEBACK + VALUE + f"\n{OOM}\n", 100)
        await cockpit.until(lambda view: any(f.kind == "gpu_oom" for f in view.findings))
        assert [len(lines) for lines in cockpit.lines("late3")] == [
            len(log.read_text().splitlines())
        ]


TRAINER = """
import signal, sys
print("loading data", flush=True)
for epoch in range(1, 11):
    print(f"Epoch {epoch}/400 - loss: {3 / epoch:.4f}", flush=True)
with open(sys.argv[1], "w") as pipe:
    pipe.write("ready")
signal.pause()
"""


@asynccontextmanager
async def trains(box: Sshd, log: str) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Run a training on the box that writes into this file; yields a function that kills it. It is killed at the end."""
    script, pipe = box.home / "train.py", box.home / "pipe"
    script.write_text(TRAINER)
    os.mkfifo(pipe)
    ready, written = os.open(pipe, os.O_RDWR | os.O_NONBLOCK), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(ready, written.set)
    connection = await SshTransport().connect(box.instance())
    # What ends with the channel is the process group of this program: the training must have left it before.
    own_session = "until [ \"$(cut -d' ' -f6 /proc/$!/stat)\" = $! ]; do sleep 0.1; done; echo $!\n"
    start = f"setsid python3 {script} {pipe} >{log} 2>&1 </dev/null & {own_session}"
    pid = int((await connection.run(start, limit=60.0)).stdout)

    async def kill() -> None:
        runs = f"grep -qs '^State:.[^ZX]' /proc/{pid}/status"
        gone = f"kill -s KILL {pid} 2>/dev/null; while {runs}; do sleep 0.1; done\n"
        await connection.run(gone, limit=60.0)

    try:
        async with asyncio.timeout(60):
            await written.wait()  # its log has its lines
        yield kill
    finally:
        loop.remove_reader(ready)
        os.close(ready)
        await kill()
        await connection.close()


@pytest.mark.parametrize(
    "pattern", ["{home}/logs/{{cell}}.log", "{home}/link/{{cell}}.log", "~/logs/{{cell}}.log"]
)
async def test_a_log_of_a_remembered_run_is_read_once_under_all_its_names(
    alone: Sshd, logs: Logs, tmp_path: Path, pattern: str
) -> None:
    (alone.home / "link").symlink_to("logs")
    if "link" in pattern:
        (logs.directory / "latest.log").symlink_to("big.log")
    named = pattern.format(home=alone.home)
    async with trains(alone, f"{alone.home}/logs/big.log") as kill:
        row = await seen(alone, tmp_path, logs=named)
        assert states(row) == {"big": "running"}, row["queue"]
        await kill()
        row = await seen(alone, tmp_path, logs=named)  # from now on it is remembered as gone
        assert states(row) == {"big": "cannot-tell"}
    log = logs.directory / "big.log"
    async with watching(alone, tmp_path, logs=named) as cockpit:
        view = await cockpit.read()
        assert [cell.name for cell in view.queue.cells] == ["big"]
        lines = [*cockpit.lines("big"), *cockpit.lines("latest")]
        assert lines == [log.read_text().splitlines()]
        assert len(lines[0]) == 11


@pytest.mark.parametrize("queue_log", [None, "BEGIN a\nEND a\nBEGIN b\n"])
async def test_cells_that_no_queue_log_names_are_judged_by_their_own_logs(
    alone: Sshd, logs: Logs, tmp_path: Path, queue_log: str | None
) -> None:
    queue, told_in = alone.home / "queue.txt", alone.home / "queue.log"
    queue.write_text("".join(f"{cell}.yaml t 20\n" for cell in ("a", "b", "c", "old")))
    logs.write("a", FINISHED, 3 * HOUR)
    logs.write("b", epochs(3) + TRACEBACK + OOM, HOUR)
    logs.write("old", epochs(3) + TRACEBACK + VALUE, 30 * HOUR)  # of an earlier queue
    written = queue.stat().st_mtime - 10 * HOUR
    os.utime(queue, (written, written))
    if queue_log is not None:
        told_in.write_text(queue_log)
    files = QueueFiles(str(queue), str(told_in) if queue_log is not None else None)
    row = await seen(alone, tmp_path, queue=files)
    assert states(row) == {"a": "finished", "b": "failed", "c": "pending", "old": "pending"}
    assert row["verdict"] == "crashed"
