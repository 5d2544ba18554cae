"""The ends of many logs, read by one program in each shell that a box may have."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from boxes import Sshd
from shell_box import ShellBox, ShellConnection
from test_follow import Heard

from gpu_tui.collect import log_end
from gpu_tui.collect.log_end import ALL, HUNG, MOST, EndReader, Look
from gpu_tui.collect.tail_memory import TailMemory
from gpu_tui.core.clock import ManualClock
from gpu_tui.core.events import LogArrived, LogFailed, LogOpened, Noted
from gpu_tui.core.fleet import Instance, SshAccess
from gpu_tui.core.logs import LogSource
from gpu_tui.transport.ssh import SshTransport


class Ends:
    """Reads logs below a home, and returns their lines and errors."""

    def __init__(self, files: ShellBox, shell: str) -> None:
        self.files = files
        self.heard = Heard()
        self.memories: dict[LogSource, TailMemory] = {}
        instance = Instance("box", SshAccess("box"))
        self._reader = EndReader(instance, self.heard, ManualClock(), self.memories)
        self._connection = ShellConnection(files, shell)

    async def read(self, *names: str, over: bool = True) -> Look:
        sources = [LogSource(f"~/{name}", name) for name in names]
        return await self._reader.read(
            self._connection,
            dict.fromkeys(sources, over),  # type: ignore[arg-type]
        )

    def lines(self, name: str) -> list[str]:
        return [
            line.text
            for event in self.heard.events
            if isinstance(event, LogArrived) and event.source.cell == name
            for line in event.lines
        ]

    def why(self, name: str) -> list[str]:
        failed = (event for event in self.heard.events if isinstance(event, LogFailed))
        return [event.why for event in failed if event.source.cell == name]


@pytest.fixture(params=["dash", "bash", "busybox"])
def ends(request: pytest.FixtureRequest, tmp_path: Path) -> Ends:
    return Ends(ShellBox(tmp_path), request.param)


async def test_logs_of_any_kind_name_and_encoding_are_read(ends: Ends) -> None:
    home = ends.files.home
    names = ["-dash.log", "two\nlines.log", "a'b\"$(touch x)`.log", "sp ace*.log"]
    for n, name in enumerate(names):
        (home / name).write_text(f"first\nlast of {n}")
    (home / "empty.log").touch()
    (home / "binary.log").write_bytes(bytes(range(256)) + b"\nend\n")
    (home / "utf16.log").write_text("Epoch 1/2\n", "utf-16")
    (home / "bar.log").write_bytes(b"\r".join(b"step %d/900000" % n for n in range(9_000)))
    os.mkfifo(home / "fifo.log")
    (home / "folder.log").mkdir()
    (home / "huge.log").touch()
    os.truncate(home / "huge.log", 1 << 36)  # a hole, which takes no room
    with (home / "huge.log").open("a") as log:
        log.write("\nRuntimeError\n")
    others = ["empty.log", "binary.log", "utf16.log", "bar.log", "huge.log"]
    none = ["fifo.log", "folder.log", "gone.log"]
    look = await ends.read(*names, *others, *none)
    assert [source.cell for source in look.done] == [*names, *others, *none]
    for n, name in enumerate(names):
        assert ends.lines(name) == ["first", f"last of {n}"]
    assert ends.lines("huge.log")[-1] == "RuntimeError"
    assert ends.lines("bar.log")[-1].endswith("step 8999/900000")
    assert ends.lines("binary.log")[-1] == "end"
    assert [len(ends.why(name)) for name in none] == [1, 1, 1]
    assert not (home / "x").exists()
    assert sum(ends.memories[source].offset > 0 for source in ends.memories) == 8


async def test_a_second_look_reads_only_new_bytes(ends: Ends) -> None:
    log = ends.files.home / "a.log"
    log.write_text("one\ntwo\nthr")
    await ends.read("a.log", over=False)
    with log.open("a") as file:
        file.write("ee\nfour")
    for _ in range(2):  # twice is as once
        await ends.read("a.log")
    with log.open("a") as file:
        file.write("\nfive\n")
    await ends.read("a.log")
    texts = [text for text in ends.lines("a.log") if text != "thr"]
    assert texts == ["one", "two", "three", "four", "five"]
    assert [event.resumed for event in ends.heard.of(LogOpened)] == [False]  # type: ignore[attr-defined]
    assert not ends.heard.of(Noted)


async def test_a_truncated_or_replaced_log_is_read_from_its_start(ends: Ends) -> None:
    log = ends.files.home / "a.log"
    log.write_text("first run 1\nfirst run 2\n")
    await ends.read("a.log")
    with log.open("w") as file:  # the same file, and longer than before
        file.write("second run 1\nsecond run 2\nsecond run 3\n")
    await ends.read("a.log")
    log.rename(log.with_name("a.log.1"))
    log.write_text("third\n")
    await ends.read("a.log")
    assert ends.lines("a.log")[2:] == ["second run 1", "second run 2", "second run 3", "third"]
    assert len(ends.heard.of(Noted)) == 2
    assert len(ends.heard.of(LogOpened)) == 3


async def test_one_look_at_many_large_logs_is_bounded(ends: Ends) -> None:
    names = [f"{n}.log" for n in range(40)]
    for name in names:
        (ends.files.home / name).write_text("step 1 loss 0.5\n" * 20_000)
    await ends.read(*names)
    sizes = [memory.offset - memory.skipped for memory in ends.memories.values()]
    assert len(sizes) == 40
    assert 20_000 < min(sizes) <= max(sizes) < MOST
    assert sum(sizes) <= ALL


async def test_a_hundred_logs_share_the_bytes_of_one_look(ends: Ends) -> None:
    names = [f"{n}.log" for n in range(100)]
    for n, name in enumerate(names):
        (ends.files.home / name).write_text(f"loss 0.5 of {n}\n" * (5_000 if n >= 80 else 3))
    await ends.read(*names, over=False)
    for n, name in enumerate(names):
        assert ends.lines(name)[-1] == f"loss 0.5 of {n}"
    sizes = [memory.offset - memory.skipped for memory in ends.memories.values()]
    assert min(sizes[80:]) > ALL // 100 + 20_000  # the 80 small ones left nearly all of theirs
    assert sum(sizes) <= ALL
    # A second look at unchanged logs costs nothing, and no line comes twice.
    before = len(ends.heard.of(LogArrived))
    await ends.read(*names, over=False)
    assert len(ends.heard.of(LogArrived)) == before


async def test_a_file_with_several_names_is_read_once(ends: Ends) -> None:
    home = ends.files.home
    (home / "run3.log").write_text("Epoch 1/2\n")
    (home / "latest.log").symlink_to("run3.log")
    (home / "copy.log").write_text("Epoch 1/2\n")
    look = await ends.read("run3.log", "latest.log", "copy.log")
    assert {source.cell for source in look.twins} == {"latest.log"}
    assert [ends.lines(f"{name}.log") for name in ("run3", "latest", "copy")] == [
        ["Epoch 1/2"],
        [],
        ["Epoch 1/2"],
    ]


async def test_logs_are_read_on_a_box_without_stat(ends: Ends) -> None:
    ends.files.program("stat", "#!/bin/sh\nexit 127\n")
    (ends.files.home / "a.log").write_text("x\n" * 50_000 + "ValueError: y\n")
    await ends.read("a.log")
    assert ends.lines("a.log")[-1] == "ValueError: y"


@pytest.fixture
def hangs(monkeypatch: pytest.MonkeyPatch, ends: Ends) -> Iterator[None]:
    """Make a reader of the log `hung` wait for ever."""
    monkeypatch.setattr(log_end, "HANGS", 1.0)
    ends.files.program(
        "dd",
        "#!/bin/sh\ncase $(readlink /proc/$$/fd/0) in *hung*) exec sleep 600 ;; esac\n"
        f'exec {shutil.which("dd")} "$@"\n',
    )
    return


@pytest.mark.usefixtures("hangs")
async def test_a_log_that_hangs_is_named_and_leaves_no_process(ends: Ends) -> None:
    for name in ("a", "hung", "b"):
        (ends.files.home / f"{name}.log").write_text(f"{name}\n")
    look = await ends.read("a.log", "hung.log", "b.log")
    assert [source.cell for source in look.done] == ["a.log"]
    assert look.hung == LogSource("~/hung.log", "hung.log")
    (why,) = ends.why("hung.log")
    assert why.endswith(HUNG)
    look = await ends.read("b.log")
    assert ends.lines("b.log") == ["b"]


async def test_nothing_is_left_on_the_box_when_the_client_is_killed(box: Sshd) -> None:
    (box.home / "hung.log").write_text("x\n")
    began = box.home / "began"
    os.mkfifo(began)
    box.program("dd", f"#!/bin/sh\necho >{began}\nexec sleep 600\n")
    connection = await SshTransport().connect(box.instance())
    reader = EndReader(box.instance(), Heard(), ManualClock(), {})
    reading = asyncio.create_task(reader.read(connection, {LogSource("~/hung.log", "x"): True}))
    await asyncio.to_thread(began.read_bytes)
    assert box.processes()
    box.kill_sessions()
    await asyncio.gather(reading, return_exceptions=True)
    assert await asyncio.to_thread(box.wait_idle) == {}
    await connection.close()
