"""One crash of one cell is one finding, with its cause and its exit code; a second crash is another one."""

from __future__ import annotations

import pytest
from test_store import CELL, QUEUE, RUNNER, T0, Bench, running_bench

from gpu_tui.core.findings import Finding, Severity
from gpu_tui.core.logs import LogSource
from gpu_tui.core.queue_history import CellFinished, CellStarted
from gpu_tui.parse.log_reader import LogReader

TRACE = 'Traceback (most recent call last):\n  File "/w/train.py", line 3, in fit\n    raise RuntimeError("CUDA out of memory")\n'
KEY = f"{TRACE}KeyError: 'lr'\n"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
STEPS = "".join(f"step {n}/1000 loss 0.5\n" for n in range(9))
MORE = "".join(f"step {n}/1000 loss 0.5\n" for n in range(9, 200))
ECHO = (
    "make: *** [Makefile:3: train] Error 1\nsrun: error: gpu01: task 0: Exited with exit code 1\n"
)


def feed(bench: Bench, source: LogSource, text: str) -> None:
    bench.lines(source, *LogReader().feed(text.encode()))


def led(before: str, text: str) -> str:
    return "".join(f"{before}{line}\n" for line in text.splitlines())


def alarms(bench: Bench) -> list[Finding]:
    return [one for one in bench.view().findings if one.severity.rank <= Severity.SERIOUS.rank]


def crashed(text: str, code: int = 1) -> Bench:
    bench = running_bench()
    feed(bench, CELL, STEPS + text)
    bench.at += 1
    bench.queue(CellFinished(bench.at, 1, 2, "a", code))
    bench.alive(RUNNER)
    return bench


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        (KEY, "crashed", "KeyError: 'lr'; exit 1"),
        (f"{TRACE}{OOM}\n", "gpu_oom", f"{OOM}; exit 1"),
        (KEY + ECHO, "crashed", "KeyError: 'lr'; exit 1"),
        # An alarm that names the exit code gets it only once.
        ("train.py exited with code 1\n", "crashed", "train.py exited with code 1"),
        (KEY + led("ERROR | 2026-05-01 10:00:00 | ", KEY), "crashed", "KeyError: 'lr'; exit 1"),
        (led("(Worker pid=7) ", KEY), "crashed", "(Worker pid=7) KeyError: 'lr'; exit 1"),
        (f"{TRACE}mylib.NoRoom: nothing left\n", "crashed", "mylib.NoRoom: nothing left; exit 1"),
    ],
)
def test_a_crash_is_one_finding_with_its_exit_code(text: str, kind: str, told: str) -> None:
    bench = crashed(text)
    (found,) = bench.view().findings
    assert (found.kind, found.cell, found.count, found.evidence) == (kind, "a", 1, told)
    bench.alive()  # the runner has ended, too: the verdict on the box adds no second finding
    assert len(alarms(bench)) == 1


@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize("before", ["", "ERROR | 2026-05-01 10:00:00 | ", "[a] "])
def test_a_crash_repeated_in_the_queues_log_is_the_same_crash(ended: bool, before: str) -> None:
    bench = running_bench()
    feed(bench, CELL, STEPS + KEY)
    events = (CellFinished(bench.at, 1, 2, "a", 1),)
    if ended:
        bench.queue(*events)
    feed(bench, QUEUE, led(before, KEY))
    if not ended:
        bench.queue(*events)
    (found,) = bench.view().findings
    assert (found.cell, found.count) == ("a", 1)
    bench.queue(CellStarted(bench.at + 1, 1, 2, "a", "t", 4))
    assert bench.view().findings == ()


def test_a_later_exception_line_renames_the_finding() -> None:
    bench = running_bench()
    feed(bench, CELL, STEPS + TRACE)
    assert [one.kind for one in alarms(bench)] == ["traceback"]
    bench.at += 1
    bench.queue(CellFinished(bench.at, 1, 2, "a", 1))
    feed(bench, CELL, f"{OOM}\n")
    assert [one.kind for one in alarms(bench)] == ["gpu_oom"]


# --- innocent twins ---------------------------------------------------------------------------------


def test_a_crash_after_a_restart_is_another_one_with_its_own_time() -> None:
    bench = crashed(KEY)
    (first,) = alarms(bench)
    bench.at += 60
    bench.queue(CellStarted(bench.at, 1, 2, "a", "t", 4))
    assert alarms(bench) == []
    bench.at += 60
    feed(bench, CELL, STEPS + f"{TRACE}ValueError: bad batch\n")
    bench.queue(CellFinished(bench.at, 1, 2, "a", 3))
    (second,) = alarms(bench)
    assert second.evidence == "ValueError: bad batch; exit 3"
    assert (first.first_seen, second.first_seen) == (T0, bench.at)


def test_a_traceback_that_the_run_survived_is_a_warning_without_an_exit_code() -> None:
    bench = running_bench()
    feed(bench, CELL, STEPS + led("ERROR:root:", KEY) + MORE)
    bench.queue(CellFinished(bench.at + 1, 1, 2, "a", 0))
    (found,) = [one for one in bench.view().findings if one.kind == "crashed"]
    assert (found.severity, found.evidence) == (
        Severity.WARN,
        "KeyError: 'lr' (the run went on)",
    )


def test_a_session_in_a_text_is_no_crash() -> None:
    bench = running_bench()
    feed(
        bench,
        CELL,
        STEPS + ">>> fit(None)\nTraceback (most recent call last):\n    ...\nValueError: x\n",
    )
    assert bench.view().findings == ()


def test_the_failures_of_two_cells_with_one_text_are_two() -> None:
    bench = crashed(KEY)
    other = LogSource("~/logs/b.log", "b")
    bench.queue(CellStarted(bench.at, 2, 2, "b", "t", 4))
    feed(bench, other, STEPS + KEY)
    bench.queue(CellFinished(bench.at, 2, 2, "b", 3))
    assert {(one.cell, one.evidence) for one in alarms(bench)} == {
        ("a", "KeyError: 'lr'; exit 1"),
        ("b", "KeyError: 'lr'; exit 3"),
    }
