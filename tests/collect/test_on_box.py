"""The python that samples a box: what it says is what sh says, and where it fails, sh goes on."""

from __future__ import annotations

import ast
import asyncio
import datetime
import inspect
import os
import shutil
import signal
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from shell_box import COMMANDS, GPU_ROW, ShellBox, finish, start
from test_cards_loop import gone
from test_sampler import command_line, sampling, value

from gpu_tui.collect import program_python
from gpu_tui.collect.frames import FrameReader
from gpu_tui.collect.on_box import files as small
from gpu_tui.collect.on_box import frames as said
from gpu_tui.collect.on_box.lane import Lane
from gpu_tui.collect.probe import Section, Sections
from gpu_tui.collect.probes import PROBES
from gpu_tui.collect.program import MAIN_LANE, PATIENCE, PYTHONS
from gpu_tui.collect.sampler import Group, plan

PYTHON = Path(sys.executable).resolve()


@pytest.fixture
def files(tmp_path: Path) -> ShellBox:
    return ShellBox(tmp_path)


def child_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@asynccontextmanager
async def running(box: ShellBox, shell: str, group: Group):  # type: ignore[no-untyped-def]
    """The process of a sampler, once it has said its first frame."""
    process = await start(box, shell, group.program)
    assert process.stdout
    reader = group.reader()

    async def frame():  # type: ignore[no-untyped-def]
        while not (found := reader.feed(await asyncio.wait_for(process.stdout.read(4096), 60))):
            pass
        return found

    await frame()
    try:
        yield process, frame
    finally:
        await finish(process)


async def first_frames(box: ShellBox, shell: str, group: Group) -> dict[str, Sections]:
    """What each probe says first."""
    for name in ("python3", "bash"):  # what another shell's box did not have
        (box.bin / name).unlink(missing_ok=True)
    process = await start(box, shell, group.program)
    assert process.stdout
    reader = group.reader()
    found: dict[str, Sections] = {}
    while {probe.metric for probe in group.probes} - set(found):
        for frame in reader.feed(await asyncio.wait_for(process.stdout.read(4096), 60)):
            found.setdefault(frame.metric, frame.sections)
    await finish(process)
    return found


def test_the_text_is_for_old_pythons_and_needs_nothing_of_ours():
    text = program_python.program()
    ast.parse(text, feature_version=(3, 6))
    assert text.isascii()
    assert "gpu_tui" not in text


def test_a_lane_is_asked_by_python_or_by_sh():
    """Never by both; and no shell stands by for the lane of the main loop."""
    kinds: dict[str, set[bool]] = {}
    for probe in PROBES:
        kinds.setdefault(probe.lane, set()).add(probe.metric in program_python.NATIVE)
    assert all(len(kind) == 1 for kind in kinds.values())
    assert kinds[MAIN_LANE] == {True}


class Bare(ast.NodeTransformer):
    """Without what is for readers."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if isinstance(node.value, ast.Constant) else node

    def visit_If(self, node: ast.If) -> ast.AST | None:
        name = node.test.id if isinstance(node.test, ast.Name) else ""
        return None if name == "TYPE_CHECKING" else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | None:
        name = node.targets[0].id if isinstance(node.targets[0], ast.Name) else ""
        return None if name == "TYPE_CHECKING" else node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom | None:
        return None if (node.module or "").startswith("gpu_tui") else node


def test_what_is_sent_is_what_the_modules_say():
    sources = "".join(inspect.getsource(module) for module in program_python.MODULES)
    asked = Bare().visit(ast.parse(sources))
    assert ast.dump(ast.parse(program_python.program())) == ast.dump(asked)


async def test_python_takes_over_where_the_box_has_it(files: ShellBox):
    """And nothing of the program stands in a command line."""
    group = files.group()
    async with running(files, "python", group) as (process, _):
        (python,) = (pid for pid in child_of(process.pid) if b"python3" in command_line(pid)[0])
        assert len(b" ".join(command_line(python))) < 200
        for pid in child_of(python):
            assert group.nonce.encode() not in b" ".join(command_line(pid))


def odd(box: ShellBox) -> None:
    """Whatever a program may call itself."""
    box.process(50, 1, "a) R 1 (b", ["a b", "", "c\nd\n", "e"], 7)
    box.process(51, 1, "new\nline", ["x" * 3000, "y"], 8)
    box.process(52, 1, "z", [], 9)
    box.file("proc/52/cmdline", b"title of its own\0\0\0\0")
    box.process(53, 1, "", ["no nul"], 9)
    box.file("proc/53/cmdline", b"no nul")
    box.file("proc/54/stat", "54 (half")
    (box.proc / "55").mkdir()
    box.process(56, 1, "b\xc3", ["\xff\xfe"], 10)


def one_version(box: ShellBox) -> None:
    box.cgroup1()


def the_other_version(box: ShellBox) -> None:
    box.file("proc/self/cgroup", "0::/a/b\n")
    box.cgroup2("/a/b", limit="max")
    box.cgroup2("/a", limit="4000")


def neither(box: ShellBox) -> None:
    box.file("proc/vmstat", "nr_free_pages 5\n" * 2000 + "oom_kill 4\n")


def no_card(box: ShellBox) -> None:
    box.program("nvidia-smi", "#!/bin/sh\necho No devices were found; exit 6\n")


def half_a_card(box: ShellBox) -> None:
    rows = f"{GPU_ROW}\n\nUnable to determine the device handle\n"
    box.program("nvidia-smi", f"#!/bin/sh\ncat <<'E'\n{rows}E\nexit 15\n")


def cut_cards(box: ShellBox) -> None:
    row = GPU_ROW.replace(", 45, ", ", [N/A], ")
    box.program(
        "nvidia-smi",
        f"#!/bin/sh\ncase $1 in --query-gpu=index*) echo '{row}' ;; *) echo \"$@\" ;; esac\n",
    )


def killed(box: ShellBox) -> None:
    box.program("nvidia-smi", "#!/bin/sh\necho one\nkill -s TERM $$\n")


def long_lines(box: ShellBox) -> None:
    text = f"{'x' * 9000}\n{'y' * 3884}\n\n{'z' * 3885}\n"
    box.file("text", text)
    box.program("nvidia-smi", f"#!/bin/sh\ncat {box.root}/text\n")


@pytest.mark.parametrize(
    "make",
    [
        one_version,
        the_other_version,
        neither,
        odd,
        no_card,
        half_a_card,
        cut_cards,
        killed,
        long_lines,
    ],
)
async def test_python_says_what_sh_says(files: ShellBox, make):  # type: ignore[no-untyped-def]
    """Section by section, byte by byte, but for the clock and the order of processes."""
    files.file("home/q 1.txt", "configs/no_aug.yaml reconstruction 5\n")
    files.file("home/final/no_aug/best_metrics.json", '{"psnr": 31.5}')
    files.program("df", "#!/bin/sh\necho 'df: nowhere: No such file or directory'; exit 1\n")
    make(files)
    python, bash, dash = [
        await first_frames(files, shell, files.group()) for shell in ("python", "bash", "dash")
    ]
    for other in (bash, dash):
        assert set(other) == set(python)
        for metric in set(python) - {"host", "processes"}:
            assert python[metric] == other[metric], metric
        assert fields(python["host"]) == fields(other["host"])
    for section in ("stat", "cmdline", "uptime"):
        mine, theirs = (
            sorted(got["processes"][section].body.split(b"\n")) for got in (python, bash)
        )
        assert mine == theirs


@pytest.mark.parametrize("shell", ["dash", "bash", "python"])
async def test_where_no_process_can_be_seen_the_table_is_empty(files: ShellBox, shell: str):
    for process in files.proc.glob("[0-9]*"):
        shutil.rmtree(process)
    asked = tuple(probe for probe in PROBES if probe.metric == "processes")
    (group,) = plan(files.instance(), probes=asked)
    table = (await first_frames(files, shell, group))["processes"]
    assert table["stat"] == table["cmdline"] == Section()


def fields(host: Sections) -> dict[bytes, bytes]:
    """Without the seconds of the clock."""
    found = dict(line.split(b" ", 1) for line in host["host"].body.splitlines())
    seconds, found[b"date"] = found[b"date"].split(b" ")
    assert abs(int(seconds) - datetime.datetime.now(datetime.UTC).timestamp()) < 60  # noqa: TID251
    return found


# --- where it fails ------------------------------------------------------------------------------


async def frames_until(process, reader: FrameReader, count: int) -> list[str]:  # type: ignore[no-untyped-def]
    """The metrics of the next so many frames."""
    found: list[str] = []
    while len(found) < count:
        chunk = await asyncio.wait_for(process.stdout.read(4096), 60)
        assert chunk
        found += [frame.metric for frame in reader.feed(chunk)]
    return found


async def test_where_it_ends_before_the_client_sh_goes_on(files: ShellBox):
    files.cgroup2()
    group = files.group(poll=0.1)
    process = await start(files, "python", group.program)
    reader = group.reader()
    await frames_until(process, reader, 5)
    (python,) = (pid for pid in child_of(process.pid) if b"python3" in command_line(pid)[0])
    lanes = child_of(python)
    os.kill(python, signal.SIGKILL)
    seen: set[str] = set()
    while not {"memory", "gpus", "processes"} <= seen:
        seen.update(await frames_until(process, reader, 1))
    assert command_line(process.pid)[0] == b"dash"
    await gone(python, *lanes)
    await finish(process)


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.symlink_to("/bin/false"),
        lambda path: path.symlink_to("/nowhere"),
        lambda path: path.mkdir(),
        lambda path: path.write_text("sleep 600\n"),  # it never answers
        lambda path: path.write_text("exec 9<&-; sleep 0.1; exit 7\n"),  # it lives, and fails
    ],
)
async def test_a_python_that_is_none(files: ShellBox, make):  # type: ignore[no-untyped-def]
    make(files.bin / "python3")
    if (files.bin / "python3").is_file():
        (files.bin / "python3").chmod(0o755)
    files.cgroup2()
    group = files.group()
    quick = group.program.replace(f"( sleep {PATIENCE};", "( sleep 0.3;")
    assert quick != group.program
    quick = quick.replace(":" + ":".join(PYTHONS), "")
    async with sampling(files, "dash", replace(group, write=lambda: quick)) as inbox:
        assert value(await inbox.metric("memory")).used == 5000


async def test_a_shim_of_a_python_is_passed_over(files: ShellBox):
    """As pyenv's: a script that would start many programs at each login."""
    files.program("python3", f"#!/bin/sh\ntouch '{files.root}/run'\n")
    async with running(files, "python", files.group()) as (process, _):
        assert any(b"python3" in command_line(pid)[0] for pid in child_of(process.pid))
    assert not (files.root / "run").exists()


async def test_a_python_that_only_a_terminal_s_login_has_in_its_path(
    files: ShellBox, monkeypatch: pytest.MonkeyPatch
):
    """As on an image whose only one is a conda's in the home."""
    tools = files.root / "tools"
    tools.mkdir()
    for name in ("dash", "sh", "cat", "sleep", "kill", "true", "renice"):
        (tools / name).symlink_to(str(shutil.which(name)))
    conda = files.home / "miniconda3" / "bin"
    conda.mkdir(parents=True)
    (conda / "python3").symlink_to(PYTHON)
    monkeypatch.setenv("PATH", str(tools))
    files.cgroup2()
    group = files.group()
    system = "/usr/bin:/usr/local/bin:/opt/conda/bin:"  # this machine's own
    assert system in group.program
    without = group.program.replace(system, "")
    group = replace(group, write=lambda: without)
    async with running(files, "python", group) as (process, _):
        commands = [command_line(pid)[0] for pid in child_of(process.pid)]
        assert os.fsencode(conda / "python3") in commands


# --- its parts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ProcessLookupError, PermissionError])
def test_a_command_that_cannot_be_ended_ends_nobody(
    monkeypatch: pytest.MonkeyPatch, error: type[OSError]
):
    """It ended while it was looked for, or it runs as another user."""
    asked: list[int] = []

    def kill(pid: int, _: int) -> None:
        asked.append(pid)
        raise error

    monkeypatch.setattr(Lane, "waits", True)
    monkeypatch.setattr(Lane, "_commands", lambda _: {7})
    monkeypatch.setattr("gpu_tui.collect.on_box.lane.os.kill", kill)
    lane = Lane.__new__(Lane)
    lane._since, lane._limit = 0, 3
    for _ in range(4):
        lane._mind()
    assert asked == [7]
    assert lane._since == 0


def test_a_file_of_the_kernel_stays_open_and_is_read_anew():
    file = small.SmallFile("/proc/uptime")
    first = file.read()
    opened = len(os.listdir("/proc/self/fd"))
    while file.read() == first:
        pass
    assert len(os.listdir("/proc/self/fd")) == opened


def test_a_file_on_a_disk_is_opened_each_time(tmp_path: Path):
    path = tmp_path / "file"
    file = small.SmallFile(str(path))
    assert file.read() == b""
    path.write_text("one\n")
    assert file.read() == b"one\n"
    path.unlink()
    assert file.read() == b""


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (b"", b"", []),
        (b"a\n\nb", b"", [b"a", b"", b"b"]),
        (b"a\nb\n", b"", [b"a", b"b"]),
        (b"oom_kill 1\n", b"oom_kill ", [b"oom_kill 1"]),
        (b"x oom_kill 1\noom_kill 2", b"oom_kill ", [b"oom_kill 2"]),
        (b"x\n", b"oom_kill ", []),
    ],
)
def test_lines_of_a_text(text: bytes, name: bytes, expected: list[bytes]):
    assert small.lines_of(text, name) == expected


def test_a_long_line_comes_in_parts_that_are_each_one_write(monkeypatch: pytest.MonkeyPatch):
    writes: list[bytes] = []
    monkeypatch.setattr(os, "write", lambda _, data: writes.append(data))
    frames, reader = said.Frames(b"n"), FrameReader("n", ["m"])
    texts = [b"x" * size for size in (0, 3883, 3884, 3885, 20_000)]
    frames.begin(0, 7)
    frames.show(b"s", b"\n".join(texts), 3)
    frames.show(b"flood", b"y" * (said.MOST + 1), 0)
    frames.say(b"end 7")
    frames.flush()
    assert max(map(len, writes)) <= said.PIECE
    (frame,) = reader.feed(b"".join(writes))
    assert frame.sections["s"].body == b"".join(text + b"\n" for text in texts)
    assert frame.sections["s"].exit == 3
    assert frame.sections["flood"].exit == said.TOO_LONG


def test_on_a_narrow_line_the_text_for_python_is_not_sent(files: ShellBox):
    (wide,), (narrow,) = plan(files.instance()), plan(files.instance(), python=False)
    assert "posix_spawnp" in wide.program
    assert "posix_spawnp" not in narrow.program


async def test_without_that_text_sh_samples(files: ShellBox):
    files.cgroup2()
    (group,) = plan(files.instance(), python=False)
    async with running(files, "python", group) as (process, _):
        assert not any(b"python3" in command_line(pid)[0] for pid in child_of(process.pid))


@pytest.mark.parametrize("shell", sorted(COMMANDS))
async def test_on_a_narrow_line_a_third_of_the_text_brings_a_reading(files: ShellBox, shell: str):
    files.cgroup2()
    (group,) = plan(files.instance(), python=False)
    first, rest = group.program[: len(group.program) // 3], group.program[len(group.program) // 3 :]
    process, reader = await start(files, shell, first), group.reader()
    assert process.stdin
    assert process.stdout
    told: list[tuple[str, int]] = []
    async with asyncio.timeout(60):
        while not {"memory", "cpu", "host"}.issubset(metric for metric, _ in told):
            frames = reader.feed(await process.stdout.read(65_536))
            told += [(frame.metric, frame.beat) for frame in frames]
        process.stdin.write(rest.encode())
        while not {("gpus", 0), ("memory", 1)}.issubset(told):
            frames = reader.feed(await process.stdout.read(65_536))
            told += [(frame.metric, frame.beat) for frame in frames]
            process.stdin.write(b"\n" if reader.wants_beats else b"")
    assert told.count(("memory", 0)) == 2
    await finish(process)
