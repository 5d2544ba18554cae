"""Running jobs of a scheduler whose logs are not read: each row says why, and the text counts them."""

from __future__ import annotations

import pytest
from test_scheduled import END, RUN, T0, WAIT, Node, job

from gpu_tui.core.events import LogArrived, LogFailed, LogOpened
from gpu_tui.core.log_cells import NOT_YET
from gpu_tui.core.logs import READ_OF_JOBS, LogSource
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.parse.slurm import NO_RECORD, NO_ROOM
from gpu_tui.state.contract import instance_json
from gpu_tui.state.patrol import patrol_report
from gpu_tui.state.settled import settled
from gpu_tui.state.views import FleetView, InstanceView


class Logged(Node):
    """A login node whose logs are read, or fail."""

    def read(self, *ids: str) -> None:
        for id in ids:
            source = LogSource(f"/l/{id}.out", f"{id}·a")
            self.store.apply(LogOpened("login", self.at, source, int(id), 0, 0, resumed=False))
            lines = LogReader().feed(b"Epoch 3/20 loss: 0.5\n")
            self.store.apply(LogArrived("login", self.at, source, lines, backfill=True))

    def fails(self, id: str, why: str) -> None:
        source = LogSource(f"/l/{id}.out", f"{id}·a")
        self.store.apply(LogFailed("login", self.at, source, f"{source.path} {why}"))


def runs(id: str, **more: object):  # type: ignore[no-untyped-def]
    return job(id, RUN, **{"stdout": f"/l/{id}.out", "started_at": T0 - 60.0, **more})


def whys(view: InstanceView) -> dict[str | None, str | None]:
    return {cell.job: cell.why for cell in view.queue.cells}


def text(node: Node) -> str:
    view: FleetView = node.store.view(node.at)
    return "\n".join(patrol_report(view, {}))


def test_each_row_has_its_reason_and_all_are_counted() -> None:
    node = Logged()
    node.jobs(
        *(runs(id) for id in ("1", "2", "3", "4", "5")),
        job("6", RUN, unread=NO_RECORD),
        job("7", RUN, unread=NO_ROOM),
        job("8", RUN),  # an interactive one: it has no log
        job("9", WAIT),
        job("10", END, stdout="/l/10.out"),
    )
    node.read("1")
    node.fails("2", "is not there")
    node.fails("3", "may not be read by this login")
    node.fails("4", "does not answer: its mount may be dead")
    view = node.view()
    told = whys(view)
    assert told["1"] is None
    assert "is not there" in (told["2"] or "")
    assert "may not be read by this login" in (told["3"] or "")
    assert told["5"] == NOT_YET
    assert told["6"] == NO_RECORD
    assert told["8"] is None
    assert instance_json(view)["queue"]["unread_logs"] == 6  # type: ignore[index]
    assert (
        "6 of 8 running logs not read (2 not known, 1 not there, 1 no permission, "
        "1 its mount does not answer, 1 not yet)" in text(node)
    )


def test_a_look_is_not_over_while_a_running_log_will_still_be_read() -> None:
    node = Logged()
    node.jobs(runs("1"), runs("2"))
    node.read("1")
    assert node.view().settling
    node.read("2")
    assert not node.view().settling
    assert "not read" not in text(node)
    assert not settled(node.view())  # the box's own probes are another matter
    node.jobs(runs("1"), runs("2"), job("3", RUN, unread=NOT_YET))
    assert node.view().settling  # its log is not known so far


def test_a_log_that_cannot_be_read_does_not_hold_a_look_up() -> None:
    node = Logged()
    node.jobs(runs("1"), job("2", RUN, unread=NO_RECORD))
    node.fails("1", "is not there")
    assert not node.view().settling


@pytest.mark.parametrize("read", [READ_OF_JOBS, READ_OF_JOBS - 50])
def test_beyond_the_most_that_is_read_a_row_says_how_to_have_it_read(read: int) -> None:
    node = Logged()
    ids = [str(id) for id in range(1, READ_OF_JOBS + 3)]
    node.jobs(*map(runs, ids))
    node.read(*ids[:read])
    why = whys(node.view())[ids[-1]]
    if read == READ_OF_JOBS:
        assert (
            why
            == f"its log is not read: {READ_OF_JOBS} others of this box are; choose this row to have it read"
        )
        assert "2 over the limit" in text(node)
    else:
        assert why == NOT_YET


def ended(id: str, **more: object):  # type: ignore[no-untyped-def]
    return job(id, END, stdout=f"/l/{id}.out", **more)


def test_a_look_waits_for_the_logs_of_all_jobs_that_ended_and_counts_those_not_read() -> None:
    node = Logged()
    ids = [str(id) for id in range(1, 101)]
    node.jobs(*map(ended, ids))
    node.read(*ids[:40])
    assert node.view().settling
    assert "60 logs of ended jobs not read" in text(node)
    node.read(*ids[40:98])
    node.fails("99", "is not there")
    assert node.view().settling
    assert "1 log of an ended job not read" in text(node)
    node.read("100")
    assert not node.view().settling
    assert "not read" not in text(node)


def test_a_look_does_not_wait_for_more_ended_logs_than_are_read() -> None:
    node = Logged()
    ids = [str(id) for id in range(1, READ_OF_JOBS + 31)]
    node.jobs(*map(ended, ids))
    node.read(*ids[30:])
    assert not node.view().settling
    assert "30 logs of ended jobs not read" in text(node)


def test_a_look_waits_for_the_logs_of_jobs_that_left_the_queue() -> None:
    node = Logged()
    node.jobs(runs("1"), runs("2"))
    node.read("1", "2")
    node.jobs(runs("1"), runs("2"), runs("3"))
    node.jobs(runs("1"))
    assert node.view().settling
    node.read("3")
    assert not node.view().settling


def test_a_job_whose_log_is_read_for_another_job_says_so() -> None:
    node = Logged()
    node.jobs(*(runs(id, stdout="/l/1.out") for id in ("1", "2")), runs("3"))
    node.read("1", "3")
    assert whys(node.view()) == {
        "1": None,
        "2": "its log is shared, and is read as that of 1·a",
        "3": None,
    }
    assert "1 of 3 running logs not read (1 read under another name)" in text(node)


def test_a_look_is_not_over_while_the_log_of_a_job_that_left_will_be_read() -> None:
    node = Logged()
    ids = [str(id) for id in range(1, 62)]
    node.jobs(*map(runs, ids))
    node.jobs(runs("1"))
    node.read(*ids[:-1])
    assert node.view().settling
    node.read(ids[-1])
    assert not node.view().settling


def test_rows_of_unknown_state_are_not_counted() -> None:
    node = Logged()
    node.jobs(runs("1"), period=10.0)
    node.at += 400.0
    assert node.view().queue.unread_logs == 0
