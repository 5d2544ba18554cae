"""What the queue files of one sweep say of each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_tui.core.fleet import Instance, ProviderState, QueueFiles, SshAccess
from gpu_tui.core.fleet_now import FleetNow, Member
from gpu_tui.core.jobs import Job, JobTable, with_jobs
from gpu_tui.core.queue_history import (
    CellFinished,
    CellStarted,
    QueueDone,
    QueueEvent,
    QueueHistory,
    QueueOpened,
)
from gpu_tui.core.queue_join import join_queue
from gpu_tui.core.roster_rules import EACH, roster_conditions
from gpu_tui.core.sweep import CellEvidence, CellState, Roster
from gpu_tui.parse.queue_file import parse_roster


def rows(*names: str) -> Roster:
    return parse_roster("".join(f"conf/{name}.yaml t 5\n" for name in names))


def ran(name: str, index: int, code: int | None = 0) -> list[QueueEvent]:
    started = CellStarted(index * 100.0, index, 9, name, "t", 5)
    if code is None:
        return [started]
    return [started, CellFinished(index * 100.0 + 90, index, 9, name, code)]


def box(
    name: str,
    roster: Roster | None,
    *events: QueueEvent,
    start: int = 1,
    seen: dict[str, CellEvidence] | None = None,
) -> Member:
    history = QueueHistory()
    if events:
        history = history.fold(QueueOpened("q.txt", 9, start, name))
    for event in events:
        history = history.fold(event)
    alive = {run: CellEvidence(alive=True) for run in history.runs}
    queue = join_queue(
        roster, history, {**alive, **(seen or {})}, box_now=5000, file="q.txt", log="q.log"
    )
    instance = Instance(name, SshAccess(name), queue=QueueFiles("q.txt", "q.log"))
    return Member(instance, queue, roster, ProviderState(), live=True)


def found(*members: Member) -> list[tuple[str, str, str | None]]:
    seen = FleetNow(5000.0, members)
    return [(name, one.kind, one.cell) for name, one in roster_conditions(seen)]


def text(*members: Member) -> str:
    return " | ".join(one.evidence for _, one in roster_conditions(FleetNow(5000.0, members)))


def test_a_sweep_in_good_order_has_nothing_to_say() -> None:
    one = box("one", rows("a", "b"), *ran("a", 1), *ran("b", 2, None))
    assert found(one, box("two", rows("c", "d"), *ran("c", 1))) == []
    assert found(box("one", None), box("two", rows())) == []


def test_a_name_in_two_queues_is_doubled_on_both() -> None:
    members = box("one", rows("a", "b")), box("two", rows("b", "c"))
    assert found(*members) == [("one", "duplicate_cell", "b"), ("two", "duplicate_cell", "b")]
    assert "the queues of one and two" in text(*members)
    running = box("one", rows("a", "b"), *ran("b", 2, None))
    assert ("two", "duplicate_cell", "b") in found(running, members[1])


def test_a_name_that_stands_twice_in_one_file_is_told_with_its_lines() -> None:
    one = box("one", parse_roster("a.yaml t\n\nconf/a.yaml t 5\nb.yaml t\n"))
    assert found(one) == [("one", "duplicate_cell", "a")]
    assert "it stands in lines 1, 3 of one queue file" in text(one)


def test_a_cell_that_failed_here_and_stands_there_has_moved() -> None:
    origin = box("one", rows("a", "b"), *ran("a", 1), *ran("b", 2, 1))
    target = box("two", rows("b"))
    assert found(origin, target) == [("one", "moved_cell", "b")]
    assert "started on one (failed) and stands in the queue of two (pending)" in text(
        origin, target
    )
    # Taken out of the queue file of its origin, as it should be, it has moved all the same.
    assert found(box("one", rows("a"), *ran("a", 1), *ran("b", 2, 1)), target) == [
        ("one", "moved_cell", "b")
    ]


def test_a_moved_cell_that_has_ended_well_is_settled() -> None:
    origin = box("one", rows("a", "b"), *ran("a", 1), *ran("b", 2, 1))
    assert found(origin, box("two", rows("b"), *ran("b", 1))) == []


def test_a_cell_that_ended_well_and_waits_elsewhere_is_no_duplicate_but_is_told() -> None:
    done = box("one", rows("a"), *ran("a", 1))
    assert found(done, box("two", rows("a"))) == [("one", "moved_cell", "a")]
    assert found(done, box("two", rows("a"), *ran("a", 1))) == []


def test_what_only_a_log_knows_is_missing_once_every_queue_file_was_read() -> None:
    origin = box("one", rows("a"), *ran("a", 1), *ran("ghost", 2, 1))
    assert found(origin, box("two", rows("c"))) == [("one", "missing_cell", "ghost")]
    assert found(origin, box("two", None)) == []
    free = Member(
        Instance("free", SshAccess("free")), origin.queue, None, ProviderState(), live=True
    )
    assert found(free) == []


def test_cells_that_the_queue_ended_without_are_never_run() -> None:
    done = QueueDone(600.0, "one", 9, None)
    left = box("one", rows("a", "b", "late"), *ran("a", 1), *ran("b", 2), done)
    assert found(left) == [("one", "missing_cell", "late")]
    assert "run_queue.sh q.txt 3" in text(left)
    assert left.queue.cells[2].state is CellState.SKIPPED
    assert found(left, box("two", rows("late"))) == []
    kept = {"late": CellEvidence(artifact=True)}
    assert found(box("one", rows("a", "late"), *ran("a", 1), done, seen=kept)) == []


def test_a_cell_that_the_queue_went_past_is_never_run() -> None:
    past = box("one", rows("a", "b", "c"), *ran("a", 1), *ran("c", 3, None))
    assert found(past) == [("one", "missing_cell", "b")]
    assert "went past it" in text(past)


def test_a_cell_skipped_at_the_start_is_as_the_user_wants_it() -> None:
    seen = {"a": CellEvidence(artifact=False)}
    assert found(box("one", rows("a", "b"), *ran("b", 2, None), start=2, seen=seen)) == []


def test_lines_that_are_no_cell_are_quoted_with_their_numbers() -> None:
    roster = parse_roster("a.yaml t\n\n# note\nlonely\nb.yaml t many\n")
    assert found(box("one", roster)) == [("one", "missing_cell", None)]
    assert 'line 4 "lonely": the task is missing' in text(box("one", roster))
    assert 'line 5 "b.yaml t many": "many" is no number of epochs' in text(box("one", roster))


def test_a_closing_line_that_disagrees_is_a_finding() -> None:
    done = QueueDone(600.0, "one", 9, None)
    liar = box("one", rows("a"), *ran("a", 1, 1), done)
    assert found(liar) == [("one", "suspicious_end", None)]
    assert "says that all exited 0, but a did not" in text(liar)
    named = box("one", rows("a"), *ran("a", 1), QueueDone(600.0, "one", 1, "ghost"))
    assert found(named) == [("one", "missing_cell", None)]
    assert "lists ghost as failed, and no queue file has it" in text(named)
    assert found(named, box("two", rows("ghost"))) == []


def test_jobs_of_a_scheduler_are_no_cells_of_a_queue_file() -> None:
    plain = box("one", rows("a"))
    table = JobTable("slurm", (Job("17", "train", CellState.RUNNING, "RUNNING", started_at=1.0),))
    queue = with_jobs(plain.queue, (table,), {}, box_now=None)
    assert [cell.name for cell in queue.cells] == ["a", "train"]
    assert found(replace(plain, queue=queue)) == []


@pytest.mark.parametrize("extra", [0, 1, 500])
def test_many_findings_of_one_kind_are_summed_up(extra: int) -> None:
    names = [f"c{n}" for n in range(EACH + extra)]
    members = box("one", rows(*names)), box("two", rows(*names))
    seen = found(*members)
    assert len(seen) == 2 * (EACH + (extra > 0))
    if extra:
        assert f"and {extra} more cell{'s' if extra > 1 else ''}: c" in text(*members)
