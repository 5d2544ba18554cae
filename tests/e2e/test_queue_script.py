"""What the real queue script makes of a queue file, and what we make of the file and of its log: one count."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from sweep import SCRIPTS

from gpu_tui.core.queue_history import CellFinished, CellStarted, QueueHistory
from gpu_tui.core.queue_join import join_queue
from gpu_tui.core.sweep import CellEvidence, CellState, Queue
from gpu_tui.parse.log_reader import LogReader
from gpu_tui.parse.queue_file import decode_roster

RUN_ONE = '#!/bin/sh\ncase $1 in *bad*) exit 1 ;; *torn*) printf "Epoch 1/2:  50%%|# " ;; esac\n'


def play(path: Path, data: bytes, *starts: int) -> tuple[Queue, bytes]:
    """The script runs the file once per start; the queue as we see it afterwards, and its log."""
    shutil.copy(SCRIPTS / "run_queue.sh", path)
    (path / "run_one.sh").write_text(RUN_ONE)
    (path / "run_one.sh").chmod(0o755)
    (path / "q.txt").write_bytes(data)
    log = b""
    for start in starts or (1,):
        log += subprocess.run(
            ["bash", "run_queue.sh", "q.txt", str(start)],
            cwd=path, stdin=subprocess.DEVNULL, capture_output=True,
        ).stdout  # fmt: skip
    history = QueueHistory()
    told = [line.queue for line in LogReader().feed(log) if line.queue is not None]
    for event in told:
        history = history.fold(event)
    nameless = log.count(b"] STARTING \r ")  # a carriage return for a name
    starts_told = sum(isinstance(event, CellStarted) for event in told)
    ends_told = sum(isinstance(event, CellFinished) for event in told)
    assert starts_told == log.count(b"] STARTING ") - nameless
    assert ends_told == log.count(b"] FINISHED ") - nameless
    seen = dict.fromkeys(history.runs, CellEvidence(alive=False))
    return join_queue(decode_roster(data), history, seen, box_now=None), log


@pytest.mark.parametrize(
    ("data", "total", "names"),
    [
        (b"conf/a.yaml t 5\nconf/b.yaml t\n", 2, ["a", "b"]),
        (b"# plan\n\n  \t\nconf/a.yaml\tt\t5\n   conf/b.yaml   t\n", 2, ["a", "b"]),
        (b"conf/a.yaml t 5\r\nconf/b.yaml t\r\n", 2, ["a", "b"]),
        (b"\xef\xbb\xbfconf/a.yaml t\nconf/b.yaml t\n", 2, ["a", "b"]),
        ("conf/实验一.yaml 分割 5\nconf/café.yaml t\n".encode(), 2, ["实验一", "café"]),
        (b"conf/a.yaml t 5 # the first\nconf/b.yaml t # no epochs\n", 2, ["a", "b"]),
        (b"conf/a.yaml t\nlonely\nconf/b.yaml t\n", 3, ["a", "b", "lonely"]),
        (b"conf/torn.yaml t\nconf/b.yaml t\n", 2, ["torn", "b"]),
        (b"".join(b"c/c%d.yaml t\n" % n for n in range(60)), 60, [f"c{n}" for n in range(60)]),
    ],
)
def test_file_and_log_give_one_count(
    tmp_path: Path, data: bytes, total: int, names: list[str]
) -> None:
    queue, log = play(tmp_path, data)
    assert f": {total} ablations".encode() in log
    assert queue.total == total
    assert [cell.name for cell in queue.cells] == names
    assert queue.count(CellState.FINISHED) == total
    assert queue.doubts == ()


def test_lines_that_only_look_blank_move_every_index(tmp_path: Path) -> None:
    queue, log = play(tmp_path, b"\xef\xbb\xbf# plan\r\n\r\nconf/a.yaml t\r\n")
    assert b"[3/2] STARTING a" in log
    assert queue.total == 3
    assert next(cell for cell in queue.cells if cell.name == "a").index == 3


def test_a_last_line_without_its_end_is_never_run(tmp_path: Path) -> None:
    queue, log = play(tmp_path, b"conf/a.yaml t\nconf/b.yaml t")
    assert b"all 2 cell(s) exited 0" in log
    assert [cell.state.value for cell in queue.cells] == ["finished", "skipped"]
    assert queue.cells[1].never_run


def test_failures_a_resume_and_names_in_the_closing_line(tmp_path: Path) -> None:
    data = b"conf/a.yaml t\nconf/bad one.yaml t\nconf/bad.yaml t\nconf/c.yaml t\n"
    data = data.replace(b"bad one", b"bad_one")
    queue, log = play(tmp_path, data)
    assert b"2 cell(s) FAILED: bad_one bad ===" in log
    assert [cell.state.value for cell in queue.cells] == [
        "finished",
        "failed",
        "failed",
        "finished",
    ]
    assert (queue.doubts, queue.unplanned) == ((), ())
    queue, _ = play(tmp_path, data, 1, 3)
    assert [cell.state.value for cell in queue.cells] == [
        "finished",
        "failed",
        "failed",
        "finished",
    ]
    assert (queue.start, queue.doubts) == (3, ())
