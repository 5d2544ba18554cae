"""The text of the sampler: sh that shellcheck accepts, settings that are only words, and all files in the wheel."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest
from shell_box import SHELLS, ShellBox, finish, start

from gpu_tui.collect import program
from gpu_tui.collect.sampler import plan

# What the files do on purpose: 2086 split words, 2317 call functions by name, 1007 assign nothing, 2015 `A && B || C`
# where B cannot fail, 2209 a word that is also a program's name, 2216 a pipe into `sleep`, 2016 text for another shell, 2034
# fields that are read and not used, 3045 and 3013 what not every sh has.
ON_PURPOSE = "2086,2317,1007,2015,2209,2216,2016,2034,3045,3013"
BOX = Path(str(files("gpu_tui.collect"))) / "box"
DEVICES = Path(str(files("gpu_tui.parse"))) / "devices.sh"


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="there is no shellcheck")
@pytest.mark.parametrize("file", [*sorted(BOX.glob("*.sh")), DEVICES], ids=lambda file: file.stem)
def test_shellcheck_accepts_each_file(file: Path) -> None:
    words = ["shellcheck", "--shell=sh", f"--exclude={ON_PURPOSE},2154", "--format=gcc", str(file)]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    assert found.stdout == ""
    assert found.returncode == 0


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="there is no shellcheck")
def test_shellcheck_accepts_all_that_is_sent(tmp_path: Path) -> None:
    """With the text of the probes; 2154: every setting that a file uses is there."""
    text = ShellBox(tmp_path).group().program
    words = ["shellcheck", "--shell=sh", f"--exclude={ON_PURPOSE}", "--format=gcc", "-"]
    found = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    assert found.stdout == ""


def test_every_file_is_sent_to_some_box(tmp_path: Path) -> None:
    (group,) = plan(ShellBox(tmp_path).instance())
    for file in BOX.glob("*.sh"):
        assert program.script(file.stem) in group.program, file


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_third_of_the_text_brings_a_reading(tmp_path: Path, shell: str) -> None:
    """On a far and narrow line the rest is seconds away."""
    box = ShellBox(tmp_path)
    box.cgroup2()
    group = box.group()
    first, rest = group.program[: len(group.program) // 3], group.program[len(group.program) // 3 :]
    process, reader = await start(box, shell, first), group.reader()
    assert process.stdin
    assert process.stdout
    seen: list[tuple[str, int]] = []
    for text, wanted in (
        ("", {("memory", 0), ("cpu", 0), ("host", 0)}),
        (rest, {("gpus", 0), ("memory", 1)}),
    ):
        process.stdin.write(text.encode())
        while not wanted.issubset(seen):
            frames = reader.feed(await asyncio.wait_for(process.stdout.read(65_536), 60))
            seen += [(frame.metric, frame.beat) for frame in frames]
    assert len(seen) == len(set(seen))  # what was answered is not asked again
    await finish(process)
