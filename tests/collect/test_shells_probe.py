"""The shells of a box, their scripts and their lists, read by every kind of sampler; and the effect of an edit on a
real shell.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import pytest
from shell_box import SHELLS, ShellBox
from test_runners import asked

from gpu_tui.collect.probe_shells import SHELLS_MOST
from gpu_tui.core.fleet import Roots
from gpu_tui.core.readings import Process
from gpu_tui.core.sample import Reading
from gpu_tui.core.script_change import changed_scripts
from gpu_tui.core.shells import Shell
from gpu_tui.parse.shells import LONGEST, parse_shells
from gpu_tui.transport.base import NONCE

LIST = "first t\nsecond t\n"
SCRIPT = """\
while read -r cell rest; do
    echo >ready
    cat gate >/dev/null
done <list.txt
echo end >>said
"""
AGED = 1_000_000_000  # an mtime of long ago


class Night:
    """A script that runs the lines of a list: it waits in the FIFO `gate`, once for each line."""

    def __init__(self, place: Path, *shell: str) -> None:
        self.place = place
        place.mkdir()
        self.script, self.list = place / "night.sh", place / "list.txt"
        self.script.write_text(SCRIPT)
        self.list.write_text(LIST)
        for file in (self.script, self.list):
            os.utime(file, (AGED, AGED))
        for name in ("ready", "gate"):
            os.mkfifo(place / name)
        words = [*shell, "night.sh"]
        self.process = subprocess.Popen(
            words, cwd=place, stdin=subprocess.DEVNULL, start_new_session=True
        )
        self.wait_ready()

    def wait_ready(self) -> None:
        """Block until the script has read a line and waits."""
        (self.place / "ready").read_text()

    def release(self) -> None:
        """Let the script go on with the next line."""
        (self.place / "gate").write_text("")

    def end(self) -> None:
        """Kill the rest of the script."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)


@pytest.fixture
def night() -> Iterator[Night]:
    """In memory: people keep scripts in /dev/shm on boxes whose disk is slow."""
    with TemporaryDirectory(dir="/dev/shm") as place:
        made = Night(Path(place) / "a night", "bash")
        yield made
        made.end()


async def seen(root: Path, shell: str, *pids: int) -> list[Shell]:
    box = ShellBox(Path(mkdtemp(dir=root)))
    async with asked(box, shell) as inbox:
        event = await inbox.metric("shells")
    assert isinstance(event.sample, Reading), event.sample
    return [one for pid in pids for one in event.sample.value if one.pid == pid]


def told(shell: Shell, argv: tuple[str, ...] = ("bash", "night.sh")) -> list[str]:
    """The findings about a shell that has run since the year 2001."""
    rows = (
        Process(shell.pid, 1, argv[0], argv, "S", 100_000.0),
        Process(2, shell.pid, "python", ("python", "train.py", "first"), "S"),
    )
    return [one.evidence for one in changed_scripts((shell,), rows, {2}, (), AGED + 100_010.0)]


@pytest.mark.parametrize("shell", sorted(SHELLS))
async def test_scripts_and_lists_that_shells_read_are_found(
    tmp_path: Path, night: Night, shell: str
) -> None:
    other = Night(tmp_path / "other", "dash")
    try:
        (bash, dash) = await seen(tmp_path, shell, night.process.pid, other.process.pid)
    finally:
        other.end()
    for one, place in ((bash, night.place), (dash, other.place)):
        assert one.cwd == str(place)
        (queue,) = one.lists
        assert (queue.path, queue.pos, queue.before) == (str(place / "list.txt"), 8, "first t\n")
        assert queue.stamp is not None
        assert (queue.stamp.size, queue.stamp.mtime) == (len(LIST), AGED)
        assert queue.stamp.id == (
            os.stat(place / "list.txt").st_dev,
            os.stat(place / "list.txt").st_ino,
        )
        word, held = one.script(("sh", "night.sh")) or ("", None)
        assert held is not None
        assert (word, held.path) == ("night.sh", str(place / "night.sh"))
        assert one.named["night.sh"] == held.stamp
        assert told(one) == []
    # bash goes on at the next command, dash after the block that it has read.
    assert [held.pos for held in (bash.reads[-1], dash.reads[-1])] == [
        SCRIPT.index("echo end"),
        len(SCRIPT),
    ]


async def test_an_edit_in_place_and_one_by_rename(tmp_path: Path, night: Night) -> None:
    box, pid = tmp_path, night.process.pid
    new = night.place / "new"
    new.write_text(SCRIPT + "# more\n")
    with night.list.open("a") as queue:
        queue.write("third t\n")
    stamp = AGED + 50_000
    os.utime(night.list, (stamp, stamp))
    (shell,) = await seen(box, "dash", pid)
    assert told(shell) == []  # whole lines that were appended are read
    night.list.write_text("a t\nother t\n")
    night.script.write_text(SCRIPT.replace("end", "done"))
    for file in (night.list, night.script):
        os.utime(file, (stamp, stamp))
    (shell,) = await seen(box, "dash", pid)
    middle, edit = sorted(told(shell))
    assert middle.endswith("reads on at byte 8, the middle of a line")
    assert f"it reads on at byte {SCRIPT.index('echo end')} of the new {len(SCRIPT) + 1}" in edit
    new.replace(night.script)
    night.list.unlink()
    (shell,) = await seen(box, "dash", pid)
    assert any("night.sh was replaced under its running shell" in one for one in told(shell))


@pytest.mark.parametrize("shell", sorted(SHELLS))
async def test_a_runner_is_found_among_the_shells_of_many_watching_clients(
    tmp_path: Path, shell: str
) -> None:
    box = ShellBox(tmp_path)
    words = {pid: ["sh", "-s", f"{NONCE}{pid:016x}"] for pid in range(100, 101 + SHELLS_MOST)}
    words[999] = ["bash", "night.sh"]
    for pid, argv in words.items():
        box.process(pid, 1, argv[0], argv, 17)
        (box.proc / f"{pid}/exe").symlink_to("/bin/dash")
        (box.proc / f"{pid}/cwd").symlink_to("/srv/night")
    async with asked(box, shell, roots=Roots(str(box.cgroup), str(box.proc))) as inbox:
        event = await inbox.metric("shells")
    assert isinstance(event.sample, Reading), event.sample
    assert event.sample.value == (Shell(999, "/srv/night"),)


@pytest.mark.parametrize("way", ["in place", "by rename"])
def test_bash_goes_on_at_that_byte_of_the_new_text(tmp_path: Path, way: str) -> None:
    night = Night(tmp_path / "night", "bash")
    try:
        place = SCRIPT.index("echo end")
        text = "#".ljust(place - 1, "-") + "\n" + "echo ghost >>said\n"
        target = night.script if way == "in place" else night.place / "new"
        target.write_text(text)
        target.replace(night.script)
        night.release()
        night.wait_ready()
        night.release()
        assert night.process.wait(60) == 0
        assert (night.place / "said").read_text() == ("ghost\n" if way == "in place" else "end\n")
    finally:
        night.end()


def test_hostile_output_is_bounded() -> None:
    junk = b"\n".join(
        [
            b"x",
            b"1/fd/3 -> ",
            b"'/proc/1/fd/3' -> '/a\x1b[2Jb'",
            b"'/proc/" + b"9" * 40 + b"/cwd' -> '/x'",
        ]
    )
    reads = b"1 3 7 0100000\n1 3 99999999999999999999999 0\n-1 3 1 0\n1 4 1 0\n" * 9
    stats = b"1 2 3 4 5 /proc/1/fd/3\n1 2 3 x 5 /a\n1 2 3 4 W /" + b"p" * 5_000
    (one,) = parse_shells(junk, reads, stats, {"before.1.3": b"no end"})
    assert {held.path for held in one.reads} == {"/a\ufffd[2Jb"}
    assert {held.before for held in one.reads} == {None}
    assert max(map(len, one.named)) <= LONGEST + 1
    assert parse_shells(b"", b"\xff\n1 2 3 0", b"\xff", {}) == ()
