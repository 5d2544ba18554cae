"""A run that is started again: by a script that hides how it fails, or by a person who tries what is better."""

from __future__ import annotations

import pytest

from gpu_tui.core.jobs import Job, JobTable
from gpu_tui.core.liveness import is_typed_at
from gpu_tui.core.readings import Process
from gpu_tui.core.sample import Reading
from gpu_tui.core.sweep import CellState
from gpu_tui.core.vanished import UNTOLD, Vanished

TYPED, SCRIPT = ("-bash",), ("bash", "run.sh")
LOOK = 30.0


def finding_after(
    starts: int, parent: tuple[str, ...], *, absent: int = 0, above: int = 30
) -> str | None:
    """Of a run that was started so often since, each time after so many looks without it."""
    vanished, at, table = Vanished(), 0.0, JobTable("nohup")
    shell = Process(above, 1, "bash", parent, "S", 9_000.0)
    for number in range(starts + 1):
        run = Job(
            str(100 + number), "a", CellState.RUNNING, "running", pids=(100 + number, above, 1), command="t.py"
        )  # fmt: skip
        for jobs in (*([()] * absent if number else []), (run,)):
            at += LOOK
            table = JobTable("nohup", jobs)
            vanished.follow(Reading(table, at))
            vanished.saw((shell,), at + 1)
    (job,) = vanished.complete(table, {}, at + 5).jobs
    assert f"started again, {starts} time" in (job.why or "")
    return job.finding


@pytest.mark.parametrize(
    ("starts", "parent", "absent", "told"),
    [
        (1, SCRIPT, 0, None),
        (2, SCRIPT, 0, UNTOLD),
        (2, SCRIPT, 1, UNTOLD),  # it sleeps between
        (3, TYPED, 0, None),
        (4, TYPED, 0, UNTOLD),  # a loop may be typed, too
        (6, TYPED, 2, None),
        (6, SCRIPT, 3, None),
    ],
)
def test_only_what_starts_by_itself_is_an_alarm(
    starts: int, parent: tuple[str, ...], absent: int, told: str | None
) -> None:
    assert finding_after(starts, parent, absent=absent) == told


def test_of_whoever_lost_its_shell_a_rush_alone_tells() -> None:
    assert finding_after(3, TYPED, above=1) is None
    assert finding_after(4, TYPED, above=1) == UNTOLD


@pytest.mark.parametrize(
    ("argv", "typed"),
    [
        (("-bash",), True), (("bash",), True), (("/bin/zsh", "-l"), True), (("bash", "--norc", "-i"), True),
        (("fish",), True), (("bash", "run.sh"), False), (("sh", "-c", "x"), False), (("bash", "-lc", "x"), False),
        (("python",), False), ((), False),
    ],
)  # fmt: skip
def test_a_shell_at_which_somebody_sits(argv: tuple[str, ...], typed: bool) -> None:
    assert is_typed_at(Process(1, 0, "x", argv, "S", 1.0)) is typed
