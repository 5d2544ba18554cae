"""What is judged anew only where something changed is what would be judged of all."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from test_store import CELL, OK, QUEUE, ROSTER, RUNNER, T0, Bench

from gpu_tui.core.logs import LogLine, LogSource, Progress
from gpu_tui.core.queue_history import CellFinished, CellStarted, QueueDone, QueueEvent, QueueOpened
from gpu_tui.core.readings import FileStat, FileTable, Scores
from gpu_tui.core.sweep import CellState, Roster, RosterCell
from gpu_tui.state.joined import Joined

LONG = Roster(tuple(RosterCell(i, f"c{i}", f"c{i}.yaml", "t", 9) for i in range(1, 5_001)))


def _queue(event: QueueEvent) -> tuple[str, LogSource, LogLine]:
    return "line", QUEUE, LogLine("q", OK, queue=event)


STEPS = st.one_of(
    st.builds(lambda n: ("wait", n), st.floats(0, 100)),
    st.sampled_from(
        [
            ("roster", ROSTER),
            ("roster", Roster(ROSTER.cells[:1])),
            ("processes", (RUNNER,)),
            ("processes", ()),
            ("files", FileTable()),
            ("files", FileTable({"~/out/a/best.pth": FileStat("~/out/a/best.pth", 1, 1, T0)})),
            ("scores", Scores({"a": {"psnr": 3.0}})),
            ("line", CELL, LogLine("x", OK, Progress(epoch=2, epochs=4, loss=0.5))),
            _queue(QueueOpened("q.txt", 2, 1, "box")),
            _queue(CellStarted(T0 - 9, 1, 2, "a", "t", 4)),
            _queue(CellFinished(T0, 1, 2, "a", 0)),
            _queue(CellStarted(T0, 2, 2, "b", "t", 4)),
            _queue(CellFinished(T0 + 3, 2, 2, "b", 1)),
            _queue(QueueDone(T0 + 3, "box", 1, "b")),
        ]
    ),
)


@settings(max_examples=30, deadline=None)
@given(st.lists(STEPS, max_size=12))
def test_the_rows_are_the_same_as_if_all_were_judged(steps: list[tuple[object, ...]]) -> None:
    bench = Bench()
    bench.link()
    bench.alive(RUNNER)
    kept = bench.store._states["box"]
    for step in steps:
        match step:
            case ("wait", float(seconds)):
                bench.at += seconds
            case ("line", LogSource() as source, LogLine() as line):
                bench.lines(source, line)
            case (str(metric), value):
                bench.sample(metric, value, period=10.0)
        some = bench.view().queue
        kept.joined = Joined()
        assert bench.view().queue == some


def test_five_thousand_cells_are_counted_and_only_what_runs_is_judged_again() -> None:
    bench = Bench()
    bench.link()
    bench.alive(RUNNER)
    bench.sample("roster", LONG)
    ended: list[QueueEvent] = [QueueOpened("q.txt", 5_000, 1, "box")]
    for n in range(1, 2_000):
        ended.append(CellStarted(T0 - 90_000 + n, n, 5_000, f"c{n}", "t", 9))
        ended.append(CellFinished(T0 - 90_000 + n + 1, n, 5_000, f"c{n}", 0))
    bench.queue(*ended, CellStarted(T0 - 5, 2_000, 5_000, "c2000", "t", 9), backfill=True)
    queue = bench.view().queue
    assert (queue.total, len(queue.cells)) == (5_000, 5_000)
    assert queue.count(CellState.FINISHED) == 1_999
    assert queue.count(CellState.RUNNING) == 1
    assert queue.count(CellState.PENDING) == 3_000
    bench.at += 10
    bench.alive(RUNNER)
    again = bench.view().queue
    kept = [old is new for old, new in zip(queue.cells, again.cells, strict=True)]
    assert kept.count(False) == 1
    assert again.cells[1_999].duration_seconds == 15.0


def test_a_result_that_was_read_before_its_cell_ended_is_of_an_earlier_run() -> None:
    bench = Bench()
    bench.link()
    bench.alive(RUNNER)
    bench.sample("roster", ROSTER)
    bench.sample("scores", Scores({"a": {"psnr": 28.599}}))
    bench.at += 60
    bench.lines(*_queue(QueueOpened("q.txt", 2, 1, "box"))[1:])
    bench.lines(*_queue(CellStarted(bench.at - 9, 1, 2, "a", "t", 4))[1:])
    bench.lines(CELL, LogLine("x", OK, Progress(epoch=4, epochs=4, metrics={"psnr": 31.12})))
    bench.lines(*_queue(CellFinished(bench.at, 1, 2, "a", 0))[1:])
    (cell,) = (one for one in bench.view().queue.cells if one.name == "a")
    assert cell.metrics == {"psnr": 31.12}
    bench.at += 60
    bench.sample("scores", Scores({"a": {"psnr": 31.118}}))
    (cell,) = (one for one in bench.view().queue.cells if one.name == "a")
    assert cell.metrics == {"psnr": 31.118}
