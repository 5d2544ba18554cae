"""nvidia-smi goes on in its own loop where that is safe, and is called again wherever one does what it should not.

The stand-in's loop does what the real one's does: the first rows at once, each look flushed, no header between.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import shell_box
from shell_box import GPU_ROW, Inbox, ShellBox, gone, in_all_at_once
from test_sampler import hurried, sampling, value

from gpu_tui.collect import probe_gpu
from gpu_tui.collect.probe_box import BOX
from gpu_tui.collect.probe_gpu import GPU
from gpu_tui.collect.sampler import Group, plan

CALLED, LOOPED = GPU_ROW, GPU_ROW.replace(", 45, ", ", 46, ")  # the share tells who said it
SECOND = GPU_ROW.replace("0, GPU-1", "1, GPU-2")
NVIDIA_SMI = """#!/bin/sh
echo "$$ $*" >>'{root}/asked'
case $* in
    --query-gpu=index*--loop-ms=*) . '{root}/loop' ;;
    --query-gpu=index*) cat '{root}/call' ;;
    --query-compute-apps*) . '{root}/apps' ;;
esac
"""
GOOD = "while cat '{root}/rows'; do sleep 0.1; done"
APPS = "echo 'GPU-11111111-aaaa-4bbb-8ccc-000000000000, 4127, 9000, python'"


def box_at(root: Path) -> ShellBox:
    """A box whose nvidia-smi does what the files `loop`, `call` and `apps` say, and keeps who was asked for what."""
    root.mkdir()
    box = ShellBox(root)
    box.program("nvidia-smi", NVIDIA_SMI.format(root=root))
    box.file("call", CALLED + "\n")
    box.file("rows", LOOPED + "\n")
    box.file("apps", APPS)
    box.file("asked", "")
    loops(box, GOOD)
    return box


every_shell_that_loops = in_all_at_once(("dash", "bash", "busybox"), box_at)


@pytest.fixture
def box(tmp_path: Path) -> ShellBox:
    return box_at(tmp_path / "box")


def loops(box: ShellBox, how: str) -> None:
    """What a loop does from now on, in sh."""
    box.file("loop", how.format(root=box.root))


def group_of(box: ShellBox, limit: int = 60) -> Group:
    """The cards and what gives the beat, ten times a second; `limit`: beats that a call may take."""
    (group,) = plan(box.instance(poll=0.1), probes=(*BOX, *GPU))
    return hurried(group, "gpu", 1, limit)


def asked(box: ShellBox, what: str) -> list[int]:
    """The pids of the programs so asked."""
    words = (line.split(" ", 1) for line in (box.root / "asked").read_text().splitlines())
    return [int(pid) for pid, question in words if what in question]


async def share(inbox: Inbox) -> float:
    """What the next table says of the first card."""
    table = value(await inbox.metric("gpus"))
    assert table.error is None
    return float(table.gpus[0].utilization)


async def until(inbox: Inbox, wanted: float) -> None:
    while await share(inbox) != wanted:
        pass


@every_shell_that_loops
async def test_it_is_started_once_for_many_looks(box: ShellBox, shell: str):
    async with sampling(box, shell, group_of(box)) as inbox:
        assert await share(inbox) == 0.45
        for _ in range(12):
            assert await share(inbox) == 0.46
    assert len(asked(box, "--query-gpu=index")) == 2


@every_shell_that_loops
async def test_several_cards_are_one_look(box: ShellBox, shell: str):
    box.file("call", f"{CALLED}\n{SECOND}\n")
    box.file("rows", f"{LOOPED}\n{SECOND}\n")
    async with sampling(box, shell, group_of(box)) as inbox:
        await until(inbox, 0.46)
        for _ in range(5):
            assert len(value(await inbox.metric("gpus")).gpus) == 2
    assert len(asked(box, "--loop-ms")) == 1


@every_shell_that_loops
async def test_a_loop_lives_for_a_while(box: ShellBox, shell: str, monkeypatch: pytest.MonkeyPatch):
    """It may leak, and it does not see what a program that starts now would."""
    monkeypatch.setattr(probe_gpu, "LOOP_ROUNDS", 4)
    async with sampling(box, shell, group_of(box)) as inbox:
        await until(inbox, 0.46)
        while len(asked(box, "--loop-ms")) < 3:
            assert await share(inbox) == 0.46
        await gone(*asked(box, "--loop-ms")[:-1])


@pytest.mark.skipif("ksh" not in shell_box.SHELLS, reason="there is no ksh")
async def test_a_shell_whose_pipes_are_sockets_calls(box: ShellBox):
    async with sampling(box, "ksh", group_of(box)) as inbox:
        for _ in range(4):
            assert await share(inbox) == 0.45


UNUSED = CALLED.replace(", 9216, ", ", 900, ")


@pytest.mark.parametrize(
    "rows",
    [
        UNUSED,
        f"{CALLED}\n{UNUSED.replace('0, GPU-1', '1, GPU-2')}",
        CALLED.replace(", 9216, ", ", [N/A], "),
    ],
)
@every_shell_that_loops
async def test_a_card_that_nobody_uses_is_not_held_open(box: ShellBox, shell: str, rows: str):
    """It could not be reset, nor cut anew, nor would it sleep."""
    box.file("call", rows + "\n")
    async with sampling(box, shell, group_of(box)) as inbox:
        for _ in range(5):
            assert await share(inbox) == 0.45
    assert not asked(box, "--loop-ms")


@every_shell_that_loops
async def test_who_lets_go_of_a_card_ends_the_loop(box: ShellBox, shell: str):
    async with sampling(box, shell, group_of(box)) as inbox:
        await until(inbox, 0.46)
        box.file("call", UNUSED + "\n")
        box.file("rows", UNUSED.replace(", 45, ", ", 46, ") + "\n")
        await until(inbox, 0.45)
        await gone(*asked(box, "--loop-ms"))
        for name, row in (("call", CALLED), ("rows", LOOPED)):
            box.file(name, row + "\n")
        await until(inbox, 0.46)  # it did nothing wrong


WRONG = "[Unknown Error], [Unknown Error], [Unknown Error]"
LOST = "Unable to determine the device handle for GPU0000:02:00.0: Unknown Error"


@pytest.mark.parametrize(
    "how",
    {
        "option unknown": "echo 'ERROR: Option --loop-ms=200 is not recognized.'; exit 2",
        "ends": "cat '{root}/rows'",
        "ends at once": "exit 0",
        "errors": f"cat '{{root}}/rows'; while :; do echo '0, {WRONG}'; sleep 0.1; done",
        "less is told": "cat '{root}/rows'; sed 's/ 62,/ [Unknown Error],/' '{root}/rows'; sleep 60",
        "a card is lost": f"cat '{{root}}/rows'; echo '{LOST}'; sleep 60",
        "another card": f"cat '{{root}}/rows'; echo '{SECOND}'; sleep 60",
        "an empty line": "cat '{root}/rows'; echo; sleep 60",
        "a part": f"cat '{{root}}/rows'; printf '%s' '{LOOPED[:60]}'; exit",
        "kept back": "exec sleep 60",
        "hangs": "cat '{root}/rows'; trap '' TERM; kill -s STOP $$",
        "never waits": f"while :; do echo '{LOOPED}'; done",
    }.items(),
    ids=lambda item: item[0],
)
@every_shell_that_loops
async def test_what_a_loop_should_not_do_a_call_makes_good(
    box: ShellBox, shell: str, how: tuple[str, str], monkeypatch: pytest.MonkeyPatch
):
    """No look is lost, nothing wrong is shown, and there is no second loop."""
    monkeypatch.setattr(probe_gpu, "LOOP_LATE_SECONDS", 0.4)
    loops(box, how[1])
    async with sampling(box, shell, group_of(box)) as inbox:
        while not asked(box, "--loop-ms"):
            await share(inbox)
        await until(inbox, 0.45)
        while len(asked(box, "--query-gpu=index")) < 5:
            await share(inbox)
        for _ in range(4):
            assert await share(inbox) == 0.45
        (loop,) = asked(box, "--loop-ms")
        await gone(loop)


@every_shell_that_loops
async def test_a_part_of_a_row_is_waited_for_no_longer_than_a_look(
    box: ShellBox, shell: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(probe_gpu, "LOOP_LATE_SECONDS", 0.4)
    seen = "while ! [ -e '{root}/seen' ]; do sleep 0.05; done"  # of several looks only the last is told
    part = f"printf '%s' '{LOOPED[:60]}'; trap '' TERM; kill -s STOP $$"
    loops(box, f"cat '{{root}}/rows'; {seen}; {part}")
    async with sampling(box, shell, group_of(box, limit=5)) as inbox:
        await until(inbox, 0.46)
        box.file("seen", "")
        await until(inbox, 0.45)
        await gone(*asked(box, "--loop-ms"))


@every_shell_that_loops
async def test_new_programs_that_find_no_driver_end_it(box: ShellBox, shell: str):
    """As in a container that lost its devices: who has them open goes on as if nothing were."""
    lost = "echo 'Failed to initialize NVML: Unknown Error'; exit 255"
    async with sampling(box, shell, group_of(box)) as inbox:
        await until(inbox, 0.46)
        box.program("nvidia-smi", NVIDIA_SMI.format(root=box.root) + lost)
        box.file("call", "")
        box.file("apps", lost)
        while (error := value(await inbox.metric("gpus")).error) is None:
            pass
        assert "Failed to initialize NVML" in error.text
        await gone(*asked(box, "--loop-ms"))


@every_shell_that_loops
async def test_it_ends_with_us(box: ShellBox, shell: str):
    async with sampling(box, shell, group_of(box)) as inbox:
        await until(inbox, 0.46)
        (loop,) = asked(box, "--loop-ms")
        assert alive(loop)
    await gone(loop)


def alive(pid: int) -> bool:
    """A process that has ended but is not yet waited for counts as gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] != "Z"
    except OSError:
        return False


def lane_of(loop: int) -> int:
    """Who started it."""
    return int(Path(f"/proc/{loop}/stat").read_text().rpartition(") ")[2].split()[1])


@every_shell_that_loops
async def test_it_ends_though_who_reads_it_is_killed(box: ShellBox, shell: str):
    async with sampling(box, shell, group_of(box)) as inbox:
        await until(inbox, 0.46)
        (loop,) = asked(box, "--loop-ms")
        os.kill(lane_of(loop), signal.SIGKILL)
        await gone(loop)


async def test_there_is_none_where_it_would_not_notice_our_end(
    box: ShellBox, monkeypatch: pytest.MonkeyPatch
):
    """A login that ignores broken pipes hands that on to all that it starts."""
    words = ("sh", "-c", "trap '' PIPE; exec bash -s")
    monkeypatch.setitem(shell_box.SHELLS, "bash", words)
    async with sampling(box, "bash", group_of(box)) as inbox:
        for _ in range(5):
            assert await share(inbox) == 0.45
    assert not asked(box, "--loop-ms")
