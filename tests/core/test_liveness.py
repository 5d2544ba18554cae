"""Alive is what a process is, not what a pattern matches."""

from __future__ import annotations

from gpu_tui.core.liveness import find_run, find_trainers
from gpu_tui.core.readings import Process
from gpu_tui.core.sweep import Roster, RosterCell

ROSTER = Roster((RosterCell(1, "baseline", "conf/baseline.yaml", "t", 20),))
QUEUE = "~/q/queue_1.txt"


def process(pid: int, ppid: int, *argv: str, state: str = "S") -> Process:
    return Process(pid, ppid, argv[0], argv, state)


def test_the_runner_and_what_is_below_it() -> None:
    table = [
        process(10, 1, "bash", "run_queue.sh", "/root/q/queue_1.txt"),
        process(11, 10, "bash", "run_one.sh", "baseline.yaml"),
        process(12, 11, "/opt/conda/bin/python", "-u", "x.py"),
        process(13, 1, "/usr/bin/python3", "/usr/bin/networkd-dispatcher"),
    ]
    run = find_run(table, QUEUE, ROSTER)
    assert [p.pid for p in run.runners] == [10]
    assert [p.pid for p in run.trainers] == [12]


def test_an_editor_or_a_grep_on_the_queue_file_is_not_a_run() -> None:
    table = [
        process(10, 1, "vim", "/root/q/queue_1.txt"),
        process(11, 1, "grep", "-n", "baseline", "/root/q/queue_1.txt"),
        process(12, 1, "tail", "-f", "/root/logs/baseline.log"),
    ]
    assert not find_run(table, QUEUE, ROSTER).alive


def test_a_trainer_without_its_runner_still_counts_and_a_zombie_does_not() -> None:
    trainer = process(20, 1, "python", "train.py", "--config=conf/baseline.yaml")
    assert find_run([trainer], QUEUE, ROSTER).trainers == (trainer,)
    dead = process(21, 1, "python", "train.py", "conf/baseline.yaml", state="Z")
    assert not find_run([dead], QUEUE, ROSTER).alive


def test_without_a_queue_gpu_users_and_training_scripts_count() -> None:
    table = [
        process(30, 1, "python", "pretrain_gpt.py"),
        process(31, 1, "python", "-m", "http.server"),
        process(32, 1, "blender", "-b"),
    ]
    assert [p.pid for p in find_trainers(table, [32])] == [30, 32]
