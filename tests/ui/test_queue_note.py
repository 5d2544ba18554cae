"""Why there is no queue to show: never "not yet" of a file that was read, or that is not there."""

from __future__ import annotations

import pytest

from gpu_tui.core.sample import Absent, Failure, FailureKind, Reading, Track
from gpu_tui.core.sweep import RejectedLine, Roster
from gpu_tui.core.verdict import Verdict
from gpu_tui.ui.text.sweep import queue_note
from screenshots.builders import NOW, instance, tracks, view

BAD = RejectedLine(1, 1, "big python train.py", "it is not CONFIG TASK [EPOCHS]")


@pytest.mark.parametrize(
    ("sample", "said"),
    [
        (None, "? the queue file was not read yet"),
        (Absent("no such file", NOW), "/root/q/queue_1.txt: no such file"),
        (Failure(FailureKind.HUNG, "cat hangs", NOW), "? the queue file was not read: cat hangs"),
        (Reading(Roster(), NOW), "the queue file names no cell"),
        (
            Reading(Roster(rejected=(BAD,)), NOW),
            'no line of the queue file is a cell: line 1 "big python train.py": it is not CONFIG TASK [EPOCHS]',
        ),
    ],
)
def test_what_is_said_of_a_queue_file_without_cells(sample: object, said: str) -> None:
    track: Track[object] = Track().follow(sample) if sample else Track()  # type: ignore[arg-type]
    box = view(instance("box", "autodl", None), Verdict.CANNOT_TELL, tracks=tracks(roster=track))
    assert queue_note(box).plain == said
