"""What the rules say of one of a thing, and of two full axes of one disk."""

from __future__ import annotations

import pytest

from gpu_tui.core.facts import Evidence
from gpu_tui.core.fleet import LinkState
from gpu_tui.core.halted import halted
from gpu_tui.core.readings import Gpu, GpuTable, Mount, Process
from gpu_tui.core.rules import Now, conditions
from gpu_tui.core.sweep import Cell, CellState, Queue
from gpu_tui.core.verdict import Verdict, judge

LIVE = LinkState("live")


@pytest.mark.parametrize(
    ("count", "words"), [(1, "1 uncorrectable ECC error"), (7, "7 uncorrectable ECC errors")]
)
def test_ecc_errors_are_counted_as_one_speaks(count: int, words: str) -> None:
    card = Gpu(0, "A100", "GPU-1", ecc_uncorrected=count)
    found = [*conditions(Now(0.0, LIVE, Verdict.RUNNING, gpus=GpuTable((card,))))]
    assert [one.evidence for one in found] == [f"GPU 0 counts {words}"]


@pytest.mark.parametrize(("used", "words"), [(40, ", only 40% of its bytes"), (97, "")])
def test_a_share_is_only_so_much_where_it_is_not_full_itself(used: int, words: str) -> None:
    mount = Mount("/data", "xfs", used, 100, 99, 100)
    found = [*conditions(Now(0.0, LIVE, Verdict.RUNNING, mounts=(mount,)))]
    assert found[-1].evidence == f"/data: 99% of its inodes are used{words}"


@pytest.mark.parametrize(
    ("waiting", "words"),
    [(1, "1 cell has not been started"), (2, "2 cells have not been started")],
)
def test_cells_that_wait_are_counted_as_one_speaks(waiting: int, words: str) -> None:
    ended = Cell("a", 1, "t", CellState.FAILED, exit_code=1, logged=True)
    rest = [Cell(f"c{n}", n + 2, "t", CellState.PENDING) for n in range(waiting)]
    seen = Evidence("live", queue=Queue((ended, *rest)), has_queue=True, alive=False, exit_code=1)
    assert judge(seen).because[-1] == words


def test_a_training_that_a_signal_stopped_is_told_of_beside_those_that_run() -> None:
    def row(pid: int, ppid: int, state: str, cell: str) -> Process:
        return Process(pid, ppid, "python", ("/opt/python", "t/train.py", f"--name={cell}"), state)

    queue = Queue(tuple(Cell(name, 1, name, CellState.RUNNING) for name in ("wd0", "wd1")))
    table = [
        row(5, 1, "S", "wd0"),
        row(6, 1, "T", "wd1"),
        row(7, 6, "T", "wd1"),
        row(8, 1, "t", "wd0"),
    ]
    (found,) = halted(table, queue)
    words = "PID 6 is stopped by a signal (SIGSTOP or Ctrl-Z): python train.py --name=wd1"
    assert (found.kind, found.cell, found.evidence) == ("stalled", "wd1", words)


@pytest.mark.parametrize(
    ("epoch", "epochs", "gone_at", "found"),
    [(31, 400, 9.0, ["8%"]), (31, None, 9.0, []), (400, 400, 9.0, []), (31, 400, None, [])],
)
def test_a_program_that_is_gone_before_its_counters_ended_is_worth_a_look(
    epoch: int, epochs: int | None, gone_at: float | None, found: list[str]
) -> None:
    cell = Cell("wd1", 1, None, CellState.CANNOT_TELL, epoch, epochs, finished_at=gone_at, job="7")
    told = [*conditions(Now(10.0, LIVE, Verdict.RUNNING, queue=Queue((cell,))))]
    assert [one.evidence.split(" of its way")[0].split()[-1] for one in told] == found
