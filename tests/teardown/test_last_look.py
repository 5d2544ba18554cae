"""The last look at a box: what changes while its one program runs, and what it says of itself."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from ladder_fuzz import QUICK_CARDS, TrueClock, ride
from rented import RentedBox, Scene
from wire import Wire, behind

from gpu_tui.core.ladder import Rung
from gpu_tui.teardown import last_look as module
from gpu_tui.teardown.box import BoxError
from gpu_tui.teardown.last_look import last_look
from gpu_tui.teardown.mounts import Mount, from_mount_table, without_ctime
from gpu_tui.transport.ssh import SshTransport

NIGHTLY = bool(os.environ.get("GPU_TUI_NIGHTLY"))
# What happens between the two passes of the program; R is the results on the box, H their copy here.
DURING: dict[str, str] = {
    "a file with an old time": "cp -p $R/wide/best.pth $R/wide/final.pth",
    "a file moved in": "mv $R/../outside.pth $R/wide/final.pth",
    "rewritten, its time kept": (
        "printf x | dd of=$R/wide/best.pth bs=1 seek=9 conv=notrunc status=none; "
        "touch -d @1600000000 $R/wide/best.pth"
    ),
    "a file less": "rm $R/wide/best_metrics.json",
    "renamed": "mv $R/wide/best.pth $R/wide/better.pth",
    "a directory": "mkdir $R/third",
    "a directory less": "mv $R/wide $R/../gone",
    "there and gone again": "touch $R/wide/tmp; rm $R/wide/tmp",
    "a link": "ln -s /etc $R/elsewhere",
    "a hard link": "ln $R/wide/best.pth $R/wide/twin.pth",
    "its mode": "chmod 600 $R/wide/best.pth",
}
HARMLESS: dict[str, str] = {
    "nothing": ":",
    "files are read": "cat $R/wide/best.pth $R/base/best.pth >/dev/null",
    "a file beside the results": "touch $R/../beside.pth",
    "the copy is read": "cat $H/wide/best.pth >/dev/null",
}
DAMAGE: dict[str, str] = {
    "the copy rewritten, its time kept": (
        "printf x | dd of=$H/wide/best.pth bs=1 seek=9 conv=notrunc status=none; "
        "touch -d @1600000000 $H/wide/best.pth"
    ),
    "the copy gone": "rm $H/wide/best.pth",
    "one file more here": "cp -p $H/wide/best.pth $H/wide/final.pth",
}
BETWEEN = 2  # the program asks for the time as it begins, between its passes, and as it ends


def _armed(scene: Scene, what: str) -> Callable[[], None]:
    """A `date` on the box that does `what` when the program that looks last asks between its passes."""
    state, real = (
        scene.state.parent / "dates",
        subprocess.check_output(["which", "date"], text=True),
    )
    outside = scene.box.results.parent / "outside.pth"
    outside.write_bytes(b"epoch 9")
    os.utime(outside, (1_600_000_000, 1_600_000_000))
    scene.box.sshd.program(
        "date",
        f"#!/bin/sh\nR={scene.box.results} H={scene.local}\n"
        f"if [ -e {state} ]; then echo >>{state}; "
        f'if [ "$(wc -l <{state})" = {BETWEEN} ]; then {what}\nfi; fi\nexec {real.strip()} "$@"\n',
    )
    return state.touch


async def _with(scene: Scene, what: str, monkeypatch: pytest.MonkeyPatch) -> object:
    """A ladder in whose last look `what` happens between the two passes."""
    arm, real = _armed(scene, what), module._program

    def program(*about: object) -> str:
        arm()
        return real(*about)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_program", program)
    return await ride(scene, None, 0)


@pytest.mark.parametrize("what", [*DURING, *DAMAGE])
async def test_what_changes_during_the_last_look_is_not_destroyed(
    what: str, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await _with(scene, (DURING | DAMAGE)[what], monkeypatch)
    assert found.lost is None
    assert (scene.state.parent / "dates").read_text().count("\n") >= BETWEEN
    assert found.view.state == "closed"
    assert any(word in found.view.closed_because for word in ("changed", "came or went"))


@pytest.mark.parametrize("what", HARMLESS)
async def test_what_changes_no_result_opens(
    what: str, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await _with(scene, HARMLESS[what], monkeypatch)
    assert found.lost == {}, found.view


async def test_it_writes_nothing_on_the_box(scene: Scene) -> None:
    before = _every(scene.box.sshd.home)
    link = scene.connection
    assert link is not None
    look = await last_look(link, scene.instance, str(scene.box.results), TrueClock().boot)
    assert look.stamps is not None
    assert set(look.stamps) == {
        str(path.relative_to(scene.box.results))
        for path in scene.box.results.rglob("*")
        if path.is_file()
    }
    assert look.changing == ()
    assert _every(scene.box.sshd.home) == before


def _every(root: Path) -> dict[str, tuple[int, int]]:
    rows = ((path, path.lstat()) for path in root.rglob("*"))
    return {str(path): (row.st_mtime_ns, row.st_ctime_ns) for path, row in rows}


async def test_names_with_line_ends_and_tabs_are_looked_at(scene: Scene) -> None:
    for name in ("a\nb", "tab\there", "-rf", " blank ", "é", "@mark"):
        (scene.box.results / name).write_bytes(b"x")
    link = scene.connection
    assert link is not None
    look = await last_look(link, scene.instance, str(scene.box.results), TrueClock().boot)
    assert look.changing == ()
    assert look.stamps is not None
    assert {"tab\there", "-rf", " blank ", "é"} <= set(look.stamps)


async def test_a_directory_that_cannot_be_read_whole_is_no_answer(scene: Scene) -> None:
    link = scene.connection
    assert link is not None
    scene.box.sshd.program("stat", "#!/bin/sh\nexit 1\n")
    with pytest.raises(BoxError):
        await last_look(link, scene.instance, str(scene.box.results), TrueClock().boot)


async def test_one_that_takes_too_long_says_so(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LAST_LOOK_SECONDS", 0.2)
    scene.box.sshd.program("find", "#!/bin/sh\nexec sleep 60\n")
    link = scene.connection
    assert link is not None
    with pytest.raises(BoxError, match="took longer"):
        await last_look(link, scene.instance, str(scene.box.results), TrueClock().boot)


async def test_an_answer_without_end_is_bounded(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_ANSWER_BYTES", 1 << 20)
    scene.box.sshd.program("find", "#!/bin/sh\nexec yes\n")
    link = scene.connection
    assert link is not None
    with pytest.raises(BoxError, match=r"more than 1\.0 MiB"):
        await last_look(link, scene.instance, str(scene.box.results), TrueClock().boot)


async def test_results_that_lead_elsewhere_by_now_are_refused(scene: Scene) -> None:
    link = scene.connection
    assert link is not None
    other = scene.box.results.parent / "other"
    other.mkdir()
    with pytest.raises(BoxError, match="another directory"):
        await last_look(link, scene.instance, str(other), TrueClock().boot)


def test_file_systems_that_may_lack_a_change_time() -> None:
    table = from_mount_table(
        "/dev/vda / ext4 rw 0 0\n"
        "box:/data /my\\040results fuse.sshfs rw 0 0\n"
        "tmpfs /my\\040results/sub tmpfs rw 0 0\n"
        "/dev/sdb1 /usb vfat rw 0 0\n"
        "none\n"
    )
    assert table[1] == Mount("/my results", "fuse.sshfs", "box:/data")
    assert without_ctime(Path("/my results/run"), table) == (("/my results", "fuse.sshfs"),)
    assert without_ctime(Path("/my results/sub/x"), table) == ()
    assert without_ctime(Path("/root"), table) == ()
    assert {kind for _, kind in without_ctime(Path("/"), table)} == {"fuse.sshfs", "vfat"}


async def test_the_rung_says_where_change_times_may_not_move(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The box's own table of mounts, as a box with its results on sshfs shows it."""
    mounts = scene.box.results.parent / "mounts"
    mounts.write_text(f"/dev/vda / ext4 rw 0 0\nx:/ {scene.box.results} fuse.sshfs rw 0 0\n")
    monkeypatch.setattr(
        module, "_MOUNTS", module._MOUNTS.replace("/proc/self/mounts", shlex.quote(str(mounts)))
    )
    found = await ride(scene, None, 0)
    assert found.lost == {}
    assert found.view is not None
    (act,) = [row for row in found.view.rungs if row.rung is Rung.ACT]
    assert any("made without them" in line and "fuse.sshfs" in line for line in act.lines)


@pytest.mark.nightly
@pytest.mark.skipif(not NIGHTLY, reason="takes minutes: GPU_TUI_NIGHTLY=1")
async def test_ten_thousand_files_over_a_far_link_open(scene: Scene) -> None:
    """200 ms there and back: the two seconds are for the call, not for the program that looks."""
    many(scene.box, 10_000)
    async with Wire(scene.box.sshd.port, delay=0.1) as wire:
        far = await SshTransport().connect(behind(scene.box.sshd, wire))
        scene.connection = far
        try:
            found = await ride(scene, None, 0, cards=QUICK_CARDS, limit=1_800.0)
        finally:
            await far.close()
    assert found.lost == {}, found.view


def many(box: RentedBox, count: int) -> None:
    """So many small results more."""
    for number in range(count):
        box.write(f"base/samples/{number // 1_000}/{number}.txt", b"sample %d\n" % number)
