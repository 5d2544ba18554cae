"""Where a queue goes on, in all the ways in which one can stop."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_tui.core.mask import Mask, shell_path
from gpu_tui.core.resume import resume_of
from gpu_tui.core.sweep import Cell, CellState

LETTERS = {
    "p": CellState.PENDING,
    "r": CellState.RUNNING,
    "f": CellState.FINISHED,
    "y": CellState.SYNC_FAILED,
    "x": CellState.FAILED,
    "s": CellState.SUSPICIOUS,
    "k": CellState.SKIPPED,
    "?": CellState.CANNOT_TELL,
}


def cells(states: str) -> list[Cell]:
    """One cell per letter; X is a cell that was interrupted: it failed without an end line."""
    return [
        Cell(
            f"c{n}", n, "t", LETTERS[letter.lower()],
            finished_at=1.0 if letter in "fysx" else None,
            exit_code=1 if letter == "x" else None,
        )
        for n, letter in enumerate(states, 1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("states", "start", "again", "failed"),
    [
        ("ppp", 1, "", ""),
        ("ffp", 3, "", ""),
        ("frp", 2, "", ""),
        ("f?p", 2, "", ""),
        ("fXp", 2, "", ""),
        ("fxpp", 3, "", "2"),  # the queue went on after a failure: it goes on behind it
        ("fxf", 2, "3", ""),  # it ended: only the failed one is left
        ("fxfx", 2, "3", ""),
        ("fff", None, "", ""),
        ("fyf", None, "", ""),
        ("kkfp", 4, "", ""),
        ("Xffp", 1, "23", ""),
        ("", None, "", ""),
    ],
)
def test_where_it_goes_on(states: str, start: int | None, again: str, failed: str) -> None:
    plan = resume_of(reversed(cells(states)))
    assert (plan.start.index if plan.start else None) == start
    assert "".join(str(cell.index) for cell in plan.again) == again
    assert "".join(str(cell.index) for cell in plan.failed) == failed


def test_what_the_queue_never_came_to_is_where_it_goes_on() -> None:
    """Appended when its queue was over, or passed over: no start index skipped it."""
    ended = [replace(one, never_run=one.state is CellState.SKIPPED) for one in cells("fxfkk")]
    plan = resume_of(ended)
    assert plan.start is not None
    assert (plan.start.index, [c.index for c in plan.failed]) == (4, [2])
    assert (plan.skipped, plan.missed) == ((), ())
    passed = [replace(one, never_run=one.state is CellState.SKIPPED) for one in cells("fkfrp")]
    plan = resume_of(passed)
    assert plan.start is not None
    assert (plan.start.index, [c.index for c in plan.missed]) == (4, [2])


def test_what_needs_no_training_is_not_run_again() -> None:
    plan = resume_of(cells("yrk"))
    assert (plan.running, [c.index for c in plan.unsynced], [c.index for c in plan.skipped]) == (
        True,
        [1],
        [3],
    )


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/root/q/queue_1.txt", "~/q/queue_1.txt"),
        ("~/q/queue.txt", "~/q/queue.txt"),
        ("/home/alice/q", "~/q"),
        ("/data/q 1.txt", "'/data/q 1.txt'"),
        ("/root/it's/q;x.txt", "~/'it'\\''s/q;x.txt'"),
        ("/rooted/q", "/rooted/q"),
        ("/root", "~"),
        ("$(reboot)", "'$(reboot)'"),
        ("", "''"),
    ],
)
def test_a_path_is_one_word_of_a_shell(path: str, word: str) -> None:
    assert shell_path(path) == word


def test_what_a_stranger_must_not_read() -> None:
    mask = Mask(("s3cr3t-value",), ("gpu.example.org", "box"), "/home/me")
    shown = mask(
        "ssh me@gpu.example.org -p 22; 203.0.113.7:22 refused; [2001:db8::1]:22; box:22 is off; "
        "KEY=s3cr3t-value hf_abcdefghijklmnopqrstuvwx in /home/me/x and /root/y and /home/you; boxes and root"
    )
    for word in (
        "gpu.example",
        "203.0",
        "2001:db8",
        "box:22",
        "s3cr3t",
        "hf_abc",
        "/home/",
        "/root",
    ):
        assert word not in shown
    assert "boxes and root" in shown
    open_ = Mask(hosts=("gpu.example.org",), show_hosts=True)
    assert open_("gpu.example.org 203.0.113.7") == "gpu.example.org 203.0.113.7"


def test_versions_and_times_are_no_addresses() -> None:
    said = "torch 2.13.0 at 12:30:45, loss 0.123, 1.2.3 and 10.5"
    assert Mask()(said) == said
